//! A callback names an argument that the tool does not have.

use dsh_tools::{Access, tool};

/// Read a page.
#[tool(read_only, access = |args| [Access::read(&args.file)])]
async fn read(file_path: String) -> String {
    file_path
}

fn main() {
    let _ = read();
}
