//! Stable machine codes of failures and host errors. One page each under `docs/errors/`.

/// The call was cancelled after its body had been invoked; side effects may exist (T283).
pub const ABORTED: &str = "ABORTED";
/// The call was cancelled before its body was invoked (T283).
pub const ABORTED_BEFORE_DISPATCH: &str = "ABORTED_BEFORE_DISPATCH";
/// A granted approval no longer describes the call that is about to run.
pub const APPROVAL_STALE: &str = "APPROVAL_STALE";
/// Reserved for durable engines: the call was cancelled by its engine.
pub const CANCELLED: &str = "CANCELLED";
/// The arguments do not satisfy the tool's schema (T343).
pub const INVALID_ARGS: &str = "INVALID_ARGS";
/// A tool definition is malformed: its name, timeout, output or schema.
pub const INVALID_DEFINITION: &str = "INVALID_DEFINITION";
/// A restriction that does nothing, names something unknown or names the transport.
pub const INVALID_RESTRICTION: &str = "INVALID_RESTRICTION";
/// The tool's value, or what it was rendered to, breaks the output contract (T389).
pub const INVALID_TOOL_OUTPUT: &str = "INVALID_TOOL_OUTPUT";
/// The journal could not record that the body starts, so the body did not run.
pub const JOURNAL_FAILED: &str = "JOURNAL_FAILED";
/// A scope declares its presentation mode twice (T118).
pub const MODE_CONFLICT: &str = "MODE_CONFLICT";
/// The body started once and what became of it is not known.
pub const OUTCOME_UNKNOWN: &str = "OUTCOME_UNKNOWN";
/// The reserved name of the Code Mode transport (T58).
pub const RESERVED_NAME: &str = "RESERVED_NAME";
/// A tool of that name already exists in the layer (T59).
pub const TOOL_EXISTS: &str = "TOOL_EXISTS";
/// No tool of that name is visible to the caller (T202).
pub const UNKNOWN_TOOL: &str = "UNKNOWN_TOOL";
