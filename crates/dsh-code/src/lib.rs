//! Code Mode: a model writes a program, and the program calls the tools.
//!
//! ```text
//! run_code ── bridge ── CodeRuntime::run(program, bindings)
//!               │                │ await tools.x(args)
//!               └── ordered lane ◄┘── the whole pipeline for each call
//! ```
//!
//! What this crate owns:
//!
//! - [`CodeMode`]: the transport `run_code` in a registry, the prompt sections that go with it, and how a scope chooses
//!   between native calls, programs, or both.
//! - The dispatch bridge: calls of a program become executions, in the order of submission on one lane.
//! - [`CodeRuntime`]: the seam to whatever runs programs. No engine is known here.
//! - [`ledger`]: the output cap that both sides of a runtime count by.
//! - [`RunEnvelope`]: what an operator sees of a run and a model does not.
//!
//! What holds:
//!
//! 1. A call of a program passes the whole pipeline; that `run_code` was allowed allows none of its calls.
//! 2. A program reaches what its agent sees, never `run_code` itself.
//! 3. Whatever a program started is settled, committed and logged before `run_code` is over, also when the program fails, is
//!    killed, or does not await it.
//! 4. A program gets canonical values and messages; nothing it left behind reaches the model's text.
//! 5. The same visible tools give the same section, byte for byte.
//!
//! Start reading at `bridge`, which is the whole of it; `transport` is the tool around it and `code_mode` the wiring.

mod binding;
mod bridge;
mod call_book;
mod code_mode;
pub mod codes;
mod dispatch;
mod doorbell;
mod envelope;
mod error;
mod instructions;
mod language;
pub mod ledger;
mod limits;
mod log_tasks;
mod misuse;
mod render;
mod runtime;
mod transport;

pub use binding::validate;
pub use code_mode::{CodeConfig, CodeMode, Registration};
pub use dispatch::{CodeDispatchSink, DispatchLog, DispatchLogNext};
pub use dsh_session::{CodeDispatch, CodeDispatchStart};
pub use envelope::{RunEnvelope, RunObserver, SubCall, SubCallOutcome};
pub use error::CodeError;
pub use language::Language;
pub use limits::Limits;
pub use misuse::Misuse;
pub use runtime::{
    Binding, BoxFuture, CodeRuntime, ErrorClass, ErrorKind, Limit, LogSink, Namespace, Phase,
    RunError, RunReport, RunRequest, RunResult, SandboxLayer, Signal, Timings,
};
