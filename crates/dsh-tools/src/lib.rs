//! Tools for models: definitions, a registry with scopes, and the one guarded pipeline that every call takes.
//!
//! ```text
//! model call (name + raw JSON text)
//!   └─ Tools::execute ─ admission ─ pre-execute ─ approval ─ guards ─ around ─ body
//!                                                                               │
//!   caller, log, wire ◄─ observers ◄─ finalizer ◄─ post-execute ◄─ output contract
//! ```
//!
//! What this crate owns:
//!
//! - [`Tool`]: a definition, made with [`Tool::new`] or the `#[tool]` attribute.
//! - [`Tools`]: registry and pipeline. Registrations are made through a [`Receiver`] of the global layer or of a
//!   [`Scope`](dsh_context::Scope), and end with its lifetime.
//! - [`Outcome`]: the one result of a call. [`Settled`] is a finished [`Execution`] with its outcome.
//! - [`lane`]: batches in a fixed order whose bodies overlap.
//! - The seams: [`Approver`], [`CallJournal`], [`Host`], [`Spawner`].
//!
//! What holds:
//!
//! 1. There is exactly one function that reaches a body, and it is private to [`pipeline`](Tools::execute).
//! 2. A call has one outcome, whatever fails or panics, and observers see that same one once.
//! 3. No lock is held while user code runs; every callback may call back into the registry.
//! 4. A started body is never dropped. Dropping a call's future cancels it and drains it.
//! 5. Cancellation replaces successes only.
//! 6. Nothing here reads a clock, draws a random number or needs an executor.
//!
//! Panics of user code are caught where they happen, which needs `panic = "unwind"`.
//!
//! Start reading at [`Tools::execute`]; each phase of the pipeline is a file of its own.

mod approval;
mod attribute;
mod block;
mod call;
pub mod card;
mod chain;
pub mod codes;
mod contain;
mod decision;
mod error;
mod execution;
mod host;
mod id;
mod journal;
pub mod lane;
mod mode;
mod outcome;
mod pipeline;
mod record;
mod registry;
mod registry_error;
mod run;
mod signal;
mod tool;

pub use approval::{
    AnswerError, ApprovalAnswer, ApprovalOutcome, ApprovalPolicy, ApprovalRequest, ApprovalSink,
    ApprovalTicket, Approvals, Approver, PendingApprovals,
};
pub use block::{
    Block, Content, ContextMessage, ContextSource, Image, MalformedBlock, ToolCallBlock,
    ToolResultBlock, UserRole,
};
pub use call::{Arguments, Call};
pub use chain::{AroundNext, PostNext, PreNext};
pub use decision::{Around, Attempt, Denial, IntoVerdict, PostDecision, PreDecision, Replacement};
pub use dsh_tools_macros::tool;
pub use error::{ErrorInfo, ToolError};
pub use execution::{Execution, Settled};
#[cfg(feature = "tokio")]
pub use host::TokioSpawner;
pub use host::{BoxFuture, Host, Spawner, ThreadSpawner};
pub use id::{CallId, Token};
pub use journal::{CallJournal, JournalEntry, JournalError, Start};
pub use mode::{ExecutionMode, Mode};
pub use outcome::{DurableResult, Failure, FailureError, Outcome, Success};
pub use pipeline::Execute;
pub use record::{CallRecord, Envelope, RECORD_VERSION};
pub use registry::{
    Receiver, Registration, Restriction, ScopedReceiver, Tools, ToolsConfig, Update, View,
};
pub use registry_error::{RegistryError, RegistryErrorKind};
pub use run::{Progress, RunContext, TaskHandle};
pub use signal::{Canceller, Reason, Signal};
pub use tool::{
    Access, Checking, Effect, IntoContent, Program, RUN_CODE, Tool, ToolBuilder, ToolSchema,
    Undeclared,
};

/// What the expansion of [`macro@tool`] names. Not part of the public interface.
#[doc(hidden)]
pub mod __private {
    pub use crate::attribute::{argument, output, presentation_meta, render, settle, state};
    pub use schemars;
    pub use serde;
}

/// The guides, whose code runs with the documentation tests.
#[cfg(doctest)]
mod guides {
    #[doc = include_str!("../../../docs/guides/build-a-tool.md")]
    struct BuildATool;

    #[doc = include_str!("../../../docs/guides/build-a-policy.md")]
    struct BuildAPolicy;
}
