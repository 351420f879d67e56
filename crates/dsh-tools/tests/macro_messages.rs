//! What the compiler says where `#[tool]` cannot judge by itself: messages that rest on the types.
//!
//! What the attribute refuses from the source alone is tested beside its code. Record the messages again with
//! `TRYBUILD=overwrite cargo test -p dsh-tools --test macro_messages`, and read them before committing.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

#[test]
fn compile_errors_say_what_to_do() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
