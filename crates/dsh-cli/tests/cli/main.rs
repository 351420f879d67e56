//! Drives the real binary. Status, stdout and stderr are shown together in the snapshots.
//!
//! Linux only: what happens inside a process is seen through `/proc` there.
#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

mod arbitrary;
mod arguments;
mod call;
mod code;
mod code_process;
mod examples;
mod files;
mod fixture;
mod generated;
mod guide;
mod interrupt;
mod logging;
mod schema;
mod streams;
mod surface;
mod terminal;
