//! The write-ahead seam around a body, for engines that kill and resume workers.
//!
//! The journal is asked directly before the first invocation of a body, after approval, guards and the wrappers around
//! it, and told the final outcome directly before it is published, after capping, spilling and every other post-execute
//! step. A call whose body never starts has no entry. Sub-calls pass it like everybody.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::record::CallRecord;
use crate::{BoxFuture, Effect, Outcome, ToolError};

/// What a journal knows of a call that is about to start.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "one exists for a moment, for each journaled call"
)]
pub enum Start {
    /// Nothing: run the body.
    Run,
    /// It ran to its end: this is the outcome. It is published as it is, without post-execute and finalizer, both of
    /// which it has passed.
    Replay(Outcome),
    /// It started and nobody knows what came of it. The body does not run again; the call fails with
    /// `OUTCOME_UNKNOWN`.
    Unknown,
}

/// One entry: which call, and what running it twice would do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JournalEntry {
    /// The call.
    pub call: CallRecord,
    /// The key under which a receiver recognises the call, the same over all attempts.
    pub idempotency_key: String,
    /// What the tool declares of itself.
    pub effect: Effect,
}

/// A durable record of started and settled bodies.
pub trait CallJournal: Send + Sync {
    /// Records that the body is about to start.
    ///
    /// # Errors
    ///
    /// The record could not be made; the body does not run and the call fails with `JOURNAL_FAILED`.
    fn started(&self, entry: JournalEntry) -> BoxFuture<'static, Result<Start, JournalError>>;

    /// Records what came of it.
    ///
    /// # Errors
    ///
    /// The record could not be made. The outcome that is published then is `OUTCOME_UNKNOWN`, since that is what a
    /// resumed worker would have to say.
    fn settled(
        &self,
        entry: JournalEntry,
        outcome: &Outcome,
    ) -> BoxFuture<'static, Result<(), JournalError>>;
}

/// A journal that could not record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalError {
    message: String,
}

impl JournalError {
    /// Says why.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }
}

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for JournalError {}

/// What was made of a journal's answer, for the rest of the call.
#[expect(
    clippy::large_enum_variant,
    reason = "it is boxed with what few calls need"
)]
pub(crate) enum Verdict {
    /// The body may run; this entry waits for the outcome.
    Run(JournalEntry),
    /// It ran before, and this came of it.
    Replay(Arc<Outcome>),
    /// It started before, and nobody knows what came of it.
    Unknown,
}

pub(crate) fn start_failed(tool: &str, error: &ToolError) -> ToolError {
    ToolError::coded(
        "JournalError",
        crate::codes::JOURNAL_FAILED,
        format!("tool \"{tool}\" did not run: its start could not be recorded: {error}"),
    )
    .retryable()
}

pub(crate) fn unknown(tool: &str) -> ToolError {
    ToolError::coded(
        "OutcomeUnknownError",
        crate::codes::OUTCOME_UNKNOWN,
        format!("tool \"{tool}\" was started before and what came of it is not known"),
    )
}

pub(crate) fn settle_failed(tool: &str, error: &ToolError) -> ToolError {
    ToolError::coded(
        "OutcomeUnknownError",
        crate::codes::OUTCOME_UNKNOWN,
        format!("tool \"{tool}\" ran, but its outcome could not be recorded: {error}"),
    )
}
