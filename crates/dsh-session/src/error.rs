//! How an append or a decoding fails.

use std::error::Error;
use std::fmt;

use dsh_context::InactiveEffect;
use dsh_tools::ToolError;

use crate::codes;

/// A failure of this crate: a stable code and a message.
#[derive(Debug)]
pub struct SessionError {
    code: &'static str,
    message: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl SessionError {
    fn of(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            source: None,
        }
    }

    /// An append that is refused, for instance by a gate.
    pub fn refused(message: impl Into<String>) -> Self {
        Self::of(codes::SESSION_APPEND_REFUSED, message)
    }

    pub(crate) fn malformed(message: impl Into<String>) -> Self {
        Self::of(codes::SESSION_EVENT_MALFORMED, message)
    }

    pub(crate) fn disordered(message: impl Into<String>) -> Self {
        Self::of(codes::SESSION_ORDER_VIOLATED, message)
    }

    /// Keeps the error that caused this one, for logs.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &str {
        self.code
    }

    /// The failure of a call whose record the log does not take.
    pub(crate) fn into_tool_error(self) -> ToolError {
        ToolError::coded("SessionError", self.code, self.message.clone()).with_source(self)
    }
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for SessionError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

impl From<InactiveEffect> for SessionError {
    fn from(error: InactiveEffect) -> Self {
        Self::refused(error.to_string()).with_source(error)
    }
}
