//! The body keeps something across an await that cannot move to another thread.

use std::rc::Rc;

use dsh_tools::{RunContext, tool};

/// Wait.
#[tool(read_only)]
async fn wait(cx: RunContext) -> String {
    let reason = Rc::new(cx.signal().cancelled().await);
    cx.signal().cancelled().await;
    reason.to_string()
}

fn main() {
    let _ = wait();
}
