//! The output cannot be read back, which `render` needs.

use dsh_tools::{ToolError, tool};

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Page {
    text: String,
}

/// Read a page.
#[tool(read_only, render = |_, page| page.text.clone())]
async fn read() -> Result<Page, ToolError> {
    Ok(Page {
        text: String::new(),
    })
}

fn main() {
    let _ = read();
}
