//! What a call comes to.

use std::sync::Arc;

use compact_str::CompactString;
use dsh_schema::{Document, ValueRef};
use serde::{Deserialize, Deserializer, Serialize};

use crate::{Block, Content, ContextMessage, ErrorInfo, ToolError, codes};

/// The one result of one execution: a success with its value or a failure with its error (T18, T19).
///
/// The serialised form is `{isError, value?, error?, content, meta?, additionalContexts?, concludesTurn?}`; members that
/// do not apply are absent (T20). It holds no call identity; that stays on the [`Execution`](crate::Execution) (T21).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Outcome {
    /// The tool delivered a value that satisfies its output contract.
    Success(Success),
    /// Anything else.
    Failure(Failure),
}

/// A success: the canonical value, the model's text and the card's data, three things that are never confused.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Success {
    is_error: False,
    /// The canonical value, for programs. It stays inside the execution and is never logged (T26).
    pub value: Document,
    /// What the model reads.
    pub content: Content,
    /// What a card needs beyond arguments and content; `Some(null)` differs from `None` (T395).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<Document>>,
    /// Messages that follow the result in the history, in order (T228).
    #[serde(rename = "additionalContexts", skip_serializing_if = "Vec::is_empty")]
    pub contexts: Vec<ContextMessage>,
    /// Whether the agent's turn ends with this call (T233).
    #[serde(skip_serializing_if = "is_false")]
    pub concludes_turn: bool,
}

/// A failure. It has no value and cannot conclude a turn (T19).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    is_error: True,
    /// What went wrong.
    pub error: FailureError,
    /// What the model reads.
    pub content: Content,
    /// What a card needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<Document>>,
    /// Messages that follow the result in the history, in order.
    #[serde(rename = "additionalContexts", skip_serializing_if = "Vec::is_empty")]
    pub contexts: Vec<ContextMessage>,
}

/// The error of a [`Failure`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureError {
    /// The bare message, without the `Error: ` that the content has (T23).
    pub message: CompactString,
    /// Class name and code, present exactly for structured failures (T22).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub info: Option<ErrorInfo>,
    /// Whether trying the same call again may succeed; everything else is final.
    #[serde(default, skip_serializing_if = "is_false")]
    pub retryable: bool,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature serde asks for"
)]
fn is_false(flag: &bool) -> bool {
    !*flag
}

/// `isError` of a success; the type has one value, so the two cannot be mixed up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct False;

/// `isError` of a failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct True;

impl Serialize for False {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(false)
    }
}

impl Serialize for True {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(true)
    }
}

impl Outcome {
    /// Whether the call failed.
    #[must_use]
    pub fn is_error(&self) -> bool {
        matches!(self, Self::Failure(_))
    }

    /// What the model reads.
    #[must_use]
    pub fn content(&self) -> &Content {
        match self {
            Self::Success(success) => &success.content,
            Self::Failure(failure) => &failure.content,
        }
    }

    /// The canonical value of a success.
    #[must_use]
    pub fn value(&self) -> Option<&Document> {
        match self {
            Self::Success(success) => Some(&success.value),
            Self::Failure(_) => None,
        }
    }

    /// The error of a failure.
    #[must_use]
    pub fn error(&self) -> Option<&FailureError> {
        match self {
            Self::Success(_) => None,
            Self::Failure(failure) => Some(&failure.error),
        }
    }

    /// The code of a structured failure.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        Some(&self.error()?.info.as_ref()?.code)
    }

    /// The card's data.
    #[must_use]
    pub fn meta(&self) -> Option<&Document> {
        match self {
            Self::Success(success) => success.meta.as_deref(),
            Self::Failure(failure) => failure.meta.as_deref(),
        }
    }

    /// The messages that follow the result.
    #[must_use]
    pub fn contexts(&self) -> &[ContextMessage] {
        match self {
            Self::Success(success) => &success.contexts,
            Self::Failure(failure) => &failure.contexts,
        }
    }

    /// Whether the agent's turn ends with this call.
    #[must_use]
    pub fn concludes_turn(&self) -> bool {
        matches!(self, Self::Success(success) if success.concludes_turn)
    }

    /// The part that a log keeps: no value, no message, no contexts (T26, T455).
    #[must_use]
    pub fn durable(&self) -> DurableResult {
        DurableResult {
            content: self.content().clone(),
            is_error: self.is_error(),
            error: self.error().and_then(|error| error.info.clone()),
            meta: self.meta().cloned(),
        }
    }

    // The pipeline makes an outcome once and then hands the handle on: an outcome is some hundred bytes.

    pub(crate) fn failure(error: ToolError) -> Arc<Self> {
        Arc::new(Self::Failure(Failure::from(error)))
    }

    pub(crate) fn denied(reason: impl Into<CompactString>) -> Arc<Self> {
        Arc::new(Self::Failure(Failure::new(reason)))
    }

    pub(crate) fn aborted(invoked: bool) -> Arc<Self> {
        let (code, message) = if invoked {
            (codes::ABORTED, "tool call aborted")
        } else {
            (
                codes::ABORTED_BEFORE_DISPATCH,
                "tool call aborted before dispatch",
            )
        };
        Self::failure(ToolError::coded("AbortError", code, message))
    }

    pub(crate) fn contexts_mut(&mut self) -> &mut Vec<ContextMessage> {
        match self {
            Self::Success(success) => &mut success.contexts,
            Self::Failure(failure) => &mut failure.contexts,
        }
    }

    pub(crate) fn set_content(&mut self, content: Content) {
        match self {
            Self::Success(success) => success.content = content,
            Self::Failure(failure) => failure.content = content,
        }
    }
}

impl Success {
    /// A success with a value and content, and nothing else.
    #[must_use]
    pub fn new(value: Document, content: Content) -> Self {
        Self {
            is_error: False,
            value,
            content,
            meta: None,
            contexts: Vec::new(),
            concludes_turn: false,
        }
    }
}

impl Failure {
    /// A failure whose content is `Error: ` and the message.
    pub fn new(message: impl Into<CompactString>) -> Self {
        Self::of(message.into(), None, false)
    }

    fn of(message: CompactString, info: Option<ErrorInfo>, retryable: bool) -> Self {
        let mut text = CompactString::with_capacity("Error: ".len() + message.len());
        text.push_str("Error: ");
        text.push_str(&message);
        Self::with_content(
            FailureError {
                message,
                info,
                retryable,
            },
            Content::text(text),
        )
    }

    /// A failure with content of its own.
    #[must_use]
    pub fn with_content(error: FailureError, content: Content) -> Self {
        Self {
            is_error: True,
            error,
            content,
            meta: None,
            contexts: Vec::new(),
        }
    }
}

impl From<ToolError> for Failure {
    fn from(error: ToolError) -> Self {
        let (message, info, retryable) = error.into_parts();
        Self::of(message, info, retryable)
    }
}

impl From<Success> for Outcome {
    fn from(success: Success) -> Self {
        Self::Success(success)
    }
}

impl From<Failure> for Outcome {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

/// What a log keeps of an outcome, and what a card is redrawn from (T25, T26).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DurableResult {
    /// What the model read.
    pub content: Content,
    /// Whether the call failed.
    pub is_error: bool,
    /// Class name and code of a structured failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorInfo>,
    /// The card's data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meta: Option<Document>,
}

/// Members shared by the two serialised forms; read by hand because a present `meta: null` is not an absent one.
fn member(root: ValueRef<'_>, name: &str) -> Option<Document> {
    root.get(name).map(ValueRef::to_document)
}

fn decode<T: for<'a> Deserialize<'a>, E: serde::de::Error>(
    root: ValueRef<'_>,
    name: &'static str,
) -> Result<T, E> {
    root.get(name)
        .ok_or_else(|| E::missing_field(name))?
        .decode()
        .map_err(E::custom)
}

fn decode_or_default<T: for<'a> Deserialize<'a> + Default, E: serde::de::Error>(
    root: ValueRef<'_>,
    name: &'static str,
) -> Result<T, E> {
    root.get(name).map_or_else(
        || Ok(T::default()),
        |value| value.decode().map_err(E::custom),
    )
}

impl<'de> Deserialize<'de> for Outcome {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let document = Document::deserialize(deserializer)?;
        let root = document.root();
        let content = decode::<Vec<Block>, D::Error>(root, "content")?.into();
        let contexts = decode_or_default(root, "additionalContexts")?;
        let meta = member(root, "meta").map(Box::new);
        Ok(if decode::<bool, D::Error>(root, "isError")? {
            let error = decode(root, "error")?;
            Self::Failure(Failure {
                is_error: True,
                error,
                content,
                meta,
                contexts,
            })
        } else {
            let value =
                member(root, "value").ok_or_else(|| serde::de::Error::missing_field("value"))?;
            let concludes_turn = decode_or_default(root, "concludesTurn")?;
            Self::Success(Success {
                is_error: False,
                value,
                content,
                meta,
                contexts,
                concludes_turn,
            })
        })
    }
}

impl<'de> Deserialize<'de> for DurableResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let document = Document::deserialize(deserializer)?;
        let root = document.root();
        Ok(Self {
            content: decode::<Vec<Block>, D::Error>(root, "content")?.into(),
            is_error: decode_or_default(root, "isError")?,
            error: decode_or_default(root, "error")?,
            meta: member(root, "meta"),
        })
    }
}
