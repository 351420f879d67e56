//! How a contribution, an assembly or a rendering fails.

use std::error::Error;
use std::fmt;

use dsh_context::InactiveEffect;

use crate::codes;

/// A failure of this crate: a stable code and a message.
#[derive(Debug)]
pub struct PromptError {
    code: &'static str,
    message: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl PromptError {
    /// The failure of a provider or a listener; the assembly fails with it.
    pub fn new(message: impl Into<String>) -> Self {
        Self::of(codes::PROMPT_ASSEMBLY_FAILED, message)
    }

    pub(crate) fn of(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            source: None,
        }
    }

    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self::of(codes::PROMPT_CONTRIBUTION_REFUSED, message)
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
}

impl fmt::Display for PromptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for PromptError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

impl From<InactiveEffect> for PromptError {
    fn from(error: InactiveEffect) -> Self {
        Self::refused(error.to_string()).with_source(error)
    }
}
