//! Code Mode programs in sandboxed, single-use QuickJS worker processes.
//!
//! What this crate owns:
//!
//! - [`QuickJs`], a [`CodeRuntime`](dsh_code::CodeRuntime): a pool of workers started ahead, the service of each run, its
//!   budgets, and the kill that every one of them ends in.
//! - [`UnsandboxedInProcess`], the same engine on a thread of the host, for trusted programs and tests. It has no sandbox.
//! - The worker, hidden behind [`worker_entry`]: sandbox, engine, event loop, and the only code that sees a program.
//! - [`strip`]: from TypeScript to JavaScript with every position kept.
//!
//! What must stay true, of [`QuickJs`]:
//!
//! - A program runs outside of the host's process, and nothing of the host is reachable from there: no file, socket,
//!   environment, descriptor or process.
//! - Every budget ends in a kill, and no process outlives its run: not on success, failure, cancellation or drop.
//! - Whatever a worker sends is taken apart field by field; it can end its own run and nothing else.
//! - No byte of a program is parsed in the host.
//!
//! Start reading at `host/serve.rs` for one run as the host sees it, at `worker/run.rs` for the worker's half, and at
//! `frame.rs` for what passes between them.

#[cfg(unix)]
mod frame;
#[cfg(unix)]
mod host;
#[cfg(unix)]
mod start;
pub mod strip;
#[cfg(unix)]
mod worker;

#[cfg(unix)]
pub use host::{Config, Executable, Isolation, QuickJs, UnsandboxedInProcess};

/// Exit code of a worker that was not started by a host.
pub const WORKER_MISUSE: i32 = 64;

/// Serves as a worker if this process was started as one, and then never returns; returns at once otherwise.
///
/// An embedding program calls this first in `main`, before it starts a thread or opens a file: the runtime starts the same
/// program again for each worker, with a marker as its first argument. A program that never calls it cannot configure
/// [`Executable::Current`].
///
/// # Examples
///
/// ```
/// // The first line of `main`:
/// dsh_code_quickjs::worker_entry();
/// // The program proper follows.
/// ```
pub fn worker_entry() {
    #[cfg(unix)]
    {
        worker::entry();
        host::entry_was_called();
    }
}
