//! What a caller asks for.

use std::fmt;

use compact_str::CompactString;
use dsh_context::Scope;
use dsh_schema::{Document, DocumentError, DocumentErrorKind};

use crate::{CallId, Signal, Token};

/// One call, as its caller hands it over (T9).
///
/// The signal is required: whoever starts a call says what cancels it, if only with [`Signal::never`].
///
/// # Examples
///
/// ```
/// use dsh_tools::{Call, Signal};
/// let call = Call::new("call-1", "read", r#"{"file_path":"a.txt"}"#, Signal::never());
/// assert_eq!(call.name, "read");
/// ```
#[derive(Clone, Debug)]
pub struct Call {
    /// The caller's id for this call.
    pub id: CallId,
    /// The tool's name as the model wrote it.
    pub name: CompactString,
    /// The arguments.
    pub arguments: Arguments,
    /// What cancels the call; owned by the caller (T286).
    pub signal: Signal,
    /// The scope on whose behalf the call is made; `None` sees the global layer only.
    pub agent: Option<Scope>,
    /// The token of the enclosing execution, for a call made by a tool or a program (T14).
    pub parent: Option<Token>,
    /// The model-requested call at the root of a nested tree; defaults to [`Call::id`] (T11).
    pub root: Option<CallId>,
    /// How often this call was started before, by a durable engine; 1 is the first time.
    pub attempt: u32,
    /// When the call has to be over, in milliseconds on the clock of the [`Host`](crate::Host).
    pub deadline_ms: Option<u64>,
}

impl Call {
    /// A call without agent, parent and deadline.
    pub fn new(
        id: impl Into<CallId>,
        name: impl Into<CompactString>,
        arguments: impl Into<Arguments>,
        signal: Signal,
    ) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            arguments: arguments.into(),
            signal,
            agent: None,
            parent: None,
            root: None,
            attempt: 1,
            deadline_ms: None,
        }
    }

    /// Makes the call on behalf of `scope`.
    #[must_use]
    pub fn agent(mut self, scope: &Scope) -> Self {
        self.agent = Some(scope.clone());
        self
    }

    /// Makes the call a nested one.
    #[must_use]
    pub fn parent(mut self, token: Token) -> Self {
        self.parent = Some(token);
        self
    }

    /// Names the model-requested call this call belongs to.
    #[must_use]
    pub fn root(mut self, root: CallId) -> Self {
        self.root = Some(root);
        self
    }
}

/// Arguments on their way in: text of a model, or a document that is known to be lossless.
#[derive(Clone)]
pub enum Arguments {
    /// Raw text. Empty text is `{}`; text that is not JSON becomes a JSON string (T260), which no object schema
    /// accepts; text that is JSON but not lossless fails the call (T166).
    Text(String),
    /// A document.
    Document(Document),
}

impl Arguments {
    /// Crosses the lossless boundary (chapter 1.6 of the registry specification).
    pub(crate) fn materialise(self) -> Result<Document, DocumentError> {
        match self {
            Self::Document(document) => Ok(document),
            Self::Text(text) if text.is_empty() => Document::parse("{}"),
            Self::Text(text) => {
                Document::parse_owned(text).or_else(|(error, text)| match error.kind() {
                    DocumentErrorKind::Syntax => Ok(Document::string(text)),
                    _ => Err(error),
                })
            }
        }
    }
}

impl Default for Arguments {
    /// `{}`.
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl fmt::Debug for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Document(document) => f.write_str(document.text()),
        }
    }
}

impl From<&str> for Arguments {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Arguments {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Document> for Arguments {
    fn from(document: Document) -> Self {
        Self::Document(document)
    }
}
