//! Stable machine codes of this crate. One page each under `docs/errors/`.

/// The log does not take an event: a gate refused it, its place on the surface is wrong, or another is being published.
pub const SESSION_APPEND_REFUSED: &str = "SESSION_APPEND_REFUSED";
/// An event is not what its type says.
pub const SESSION_EVENT_MALFORMED: &str = "SESSION_EVENT_MALFORMED";
/// An event stands where it may not: outside its turn or step, or without what it answers.
pub const SESSION_ORDER_VIOLATED: &str = "SESSION_ORDER_VIOLATED";
