//! The error is no `std::error::Error`.

use dsh_tools::tool;

enum Trouble {
    Missing,
}

/// Read a page.
#[tool(read_only)]
async fn read() -> Result<String, Trouble> {
    Err(Trouble::Missing)
}

fn main() {
    let _ = read();
}
