//! The type of an argument derives nothing.

use dsh_tools::tool;

enum Order {
    Name,
    Size,
}

/// List files.
#[tool(read_only)]
async fn list(order: Order) -> String {
    match order {
        Order::Name => "by name".to_owned(),
        Order::Size => "by size".to_owned(),
    }
}

fn main() {
    let _ = list();
}
