//! Code Mode: a model writes a program, and the program calls the tools.

mod binding;
pub mod codes;
pub mod ledger;
mod limits;
mod misuse;
mod runtime;

pub use binding::validate;
pub use limits::Limits;
pub use misuse::Misuse;
pub use runtime::{
    Binding, BoxFuture, CodeRuntime, ErrorClass, ErrorKind, Limit, LogSink, Namespace, Phase,
    RunError, RunReport, RunRequest, RunResult, SandboxLayer, Signal, Timings,
};
