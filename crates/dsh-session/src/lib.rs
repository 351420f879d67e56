//! Sessions: what happened, in order, and what of it a model sees.
//!
//! What this crate owns:
//!
//! - [`Payload`]: the event vocabulary, with an open tail that survives a round trip.
//! - [`Session`]: the append-only log in memory, its gates and its sinks.
//! - [`Order`]: the ordering invariants, as a checker of any log.
//! - [`Surface`]: which events the model sees, and the history that comes of them.
//! - [`Agent`] and [`Agents`]: on whose behalf something runs, and in which open turn.
//!
//! What holds:
//!
//! 1. A place in the log is its index; what is in the log never changes.
//! 2. No log of this crate breaks the ordering invariants, whoever appends.
//! 3. Everything up to the push may fail and leaves the log as it was; nothing after it fails.
//! 4. Observers see events in the order of the log, each once, before the append returns.
//! 5. Nothing here reads a clock, draws a random number or does I/O; time comes from the host.
//!
//! Start reading at [`Session::append`].

mod agent;
pub mod codes;
mod error;
mod event;
mod message;
mod order;
mod payload;
mod session;
mod surface;

pub use agent::{Agent, Agents};
pub use error::SessionError;
pub use event::{Draft, Event, SurfaceOp};
pub use message::{Message, Role, Source};
pub use order::Order;
pub use payload::{
    ApprovalAsked, ApprovalDecided, ApprovalPolicyChange, AssistantChunk, AssistantMessage,
    CancelCause, CodeDispatch, CodeDispatchStart, EndSeed, Envelope, FailureRecord, HeaderReason,
    HookInvoked, HookResult, InboxSpliced, InboxTarget, LlmRetry, LlmRetryStarted, Payload,
    PolicySource, RequestContext, RequestHeader, SpliceOutcome, StepEnd, StepStart, TodoWrite,
    ToolCall, ToolResult, TurnEnd, TurnEnding, TurnStart, Usage,
};
pub use session::{FORMAT_VERSION, Header, Session, SessionGate, SessionSink};
pub use surface::Surface;
