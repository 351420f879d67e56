//! Several mistakes at once, each at its place, and none of them in `main`.

use dsh_tools::tool;

/// Read a page.
#[tool(read_only, timeout = "30")]
pub fn read(&self, path: &str) -> String {
    path.to_owned()
}

/// Read a page.
#[tool(readonly)]
async fn misspelled(path: String) -> String {
    path
}

#[tool]
async fn unexplained(path: String) -> String {
    path
}

fn main() {
    let _ = (read(), misspelled(), unexplained());
}
