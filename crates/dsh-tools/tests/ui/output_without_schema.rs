//! The output derives nothing.

use dsh_tools::{ToolError, tool};

struct Page {
    text: String,
}

/// Read a page.
#[tool(read_only)]
async fn read() -> Result<Page, ToolError> {
    Ok(Page {
        text: String::new(),
    })
}

fn main() {
    let _ = read();
}
