//! What policy decides. Closed unions: a decision that does not exist cannot be made (T27, T28, D7).

use std::sync::Arc;

use compact_str::CompactString;
use dsh_schema::Document;
use serde::{Deserialize, Serialize};

use crate::{Content, ContextMessage, Failure, Outcome, Success, Token, ToolError};

/// What a pre-execute listener says of a call. There is no decision that rewrites arguments (T27).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum PreDecision {
    /// Go on to guards and body.
    Allow,
    /// Refuse, with the reason that the model reads.
    Deny {
        /// The reason; an empty one still denies (T176).
        reason: String,
    },
    /// Ask the approver.
    Ask {
        /// Why; told to the approver, and to the model only where nobody can be asked (T265, T273).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

impl PreDecision {
    /// A refusal.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self::Deny {
            reason: reason.into(),
        }
    }

    /// A question.
    pub fn ask(reason: impl Into<String>) -> Self {
        Self::Ask {
            reason: Some(reason.into()),
        }
    }
}

/// A guard's refusal: the reason that the model reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    reason: CompactString,
}

impl Denial {
    /// Refuses with a reason; an empty one still denies (T176).
    pub fn new(reason: impl Into<CompactString>) -> Self {
        Self {
            reason: reason.into(),
        }
    }

    pub(crate) fn into_reason(self) -> CompactString {
        self.reason
    }
}

/// What a guard may return: an optional denial, or the guard's own failure.
pub trait IntoVerdict {
    /// The denial, if there is one.
    ///
    /// # Errors
    ///
    /// The guard itself failed; the call fails with it and its body does not run (T184).
    fn into_verdict(self) -> Result<Option<Denial>, ToolError>;
}

impl IntoVerdict for Option<Denial> {
    fn into_verdict(self) -> Result<Option<Denial>, ToolError> {
        Ok(self)
    }
}

impl IntoVerdict for Result<Option<Denial>, ToolError> {
    fn into_verdict(self) -> Self {
        self
    }
}

/// What a post-execute listener says of a result (T28).
#[derive(Clone, Debug, PartialEq)]
pub enum PostDecision {
    /// Keep the result, perhaps with a part replaced.
    Accept {
        /// What is replaced.
        replace: Option<Replacement>,
        /// Messages to add behind the earlier ones (T229).
        contexts: Vec<ContextMessage>,
    },
    /// Make it a failure whose content is exactly the feedback (T224).
    Block {
        /// What the model reads instead.
        feedback: Content,
        /// The only messages that survive (T230).
        contexts: Vec<ContextMessage>,
    },
}

/// The part of a result that is replaced: never both.
#[derive(Clone, Debug, PartialEq)]
pub enum Replacement {
    /// The model's text; value and meta stay (T217).
    Content(Content),
    /// The value, which passes the output contract again (T219).
    Value(Box<Document>),
}

impl PostDecision {
    /// Keeps the result unchanged.
    #[must_use]
    pub fn accept() -> Self {
        Self::Accept {
            replace: None,
            contexts: Vec::new(),
        }
    }

    /// Replaces the model's text.
    pub fn content(content: impl Into<Content>) -> Self {
        Self::Accept {
            replace: Some(Replacement::Content(content.into())),
            contexts: Vec::new(),
        }
    }

    /// Replaces the value.
    #[must_use]
    pub fn value(value: Document) -> Self {
        Self::Accept {
            replace: Some(Replacement::Value(Box::new(value))),
            contexts: Vec::new(),
        }
    }

    /// Blocks the result.
    pub fn block(feedback: impl Into<Content>) -> Self {
        Self::Block {
            feedback: feedback.into(),
            contexts: Vec::new(),
        }
    }

    /// Adds messages behind those the decision has.
    #[must_use]
    pub fn with_contexts(mut self, more: impl IntoIterator<Item = ContextMessage>) -> Self {
        match &mut self {
            Self::Accept { contexts, .. } | Self::Block { contexts, .. } => contexts.extend(more),
        }
        self
    }
}

/// The outcome of one run of the inner chain and body, bound to the execution that produced it (T193).
///
/// A wrapper hands it back with [`Around::Keep`]. Handed to another execution, it counts as that wrapper's own work and
/// passes the output contract again.
#[derive(Clone, Debug)]
pub struct Attempt {
    token: Token,
    outcome: Arc<Outcome>,
}

impl Attempt {
    pub(crate) fn new(token: Token, outcome: Arc<Outcome>) -> Self {
        Self { token, outcome }
    }

    /// What came of it.
    #[must_use]
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    pub(crate) fn into_parts(self) -> (Token, Arc<Outcome>) {
        (self.token, self.outcome)
    }
}

/// What an around listener returns.
#[derive(Clone, Debug)]
pub enum Around {
    /// The attempt as it is.
    Keep(Attempt),
    /// An outcome of the wrapper's own. Of a success only the value and the contexts are taken, and the value passes the
    /// output contract (T191); a failure is taken as it is (T192).
    Own(Box<Outcome>),
}

impl Around {
    /// A success of the wrapper's own, with messages that follow the result.
    pub fn success(value: Document, contexts: impl Into<Vec<ContextMessage>>) -> Self {
        let mut success = Success::new(value, Content::new());
        success.contexts = contexts.into();
        Self::Own(Box::new(Outcome::Success(success)))
    }
}

impl From<Attempt> for Around {
    fn from(attempt: Attempt) -> Self {
        Self::Keep(attempt)
    }
}

impl From<Failure> for Around {
    fn from(failure: Failure) -> Self {
        Self::Own(Box::new(Outcome::Failure(failure)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// T178: a decision from outside the process fails closed.
    #[test]
    fn a_malformed_decision_does_not_decode() {
        let decode = |text: &str| serde_json::from_str::<PreDecision>(text);
        assert_eq!(decode(r#"{"kind":"allow"}"#).unwrap(), PreDecision::Allow);
        assert_eq!(
            decode(r#"{"kind":"deny","reason":"no"}"#).unwrap(),
            PreDecision::deny("no")
        );
        for text in [
            r#"{"kind":"bogus"}"#,
            r#"{"kind":"deny"}"#,
            r#"{"kind":"deny","reason":7}"#,
            r#"{"kind":"deny","reason":"no","extra":1}"#,
            r#"{"kind":"ask","reason":1}"#,
            "{}",
            "null",
            "\"allow\"",
        ] {
            assert!(decode(text).is_err(), "{text}");
        }
    }
}
