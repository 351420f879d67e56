//! Programs and what they see: chapters 8.3 to 8.5 and 8.8 of the Code Mode specification.

mod support;

use support::*;

#[tokio::test]
async fn smoke() {
    eprintln!("{:?}", run("console.log('point', {x: 1}); return await tools.echo({a: 1})").await);
    eprintln!("{:?}", run("throw new TypeError('x')").await);
}
