//! The state cannot be used from several threads.

use std::cell::Cell;

use dsh_tools::tool;

/// Count up.
#[tool]
async fn count(#[state] total: Cell<u64>, by: u64) -> u64 {
    total.set(total.get() + by);
    total.get()
}

fn main() {
    let _ = count(Cell::new(0));
}
