//! How setting up Code Mode fails.

use std::error::Error;
use std::fmt;

use dsh_prompt::PromptError;
use dsh_tools::RegistryError;

use crate::{Misuse, codes};

/// A configuration or a registration that is refused.
#[derive(Debug)]
pub struct CodeError {
    code: String,
    message: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl CodeError {
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self {
            code: codes::CODE_MODE_REFUSED.to_owned(),
            message: message.into(),
            source: None,
        }
    }

    /// The stable code; that of the registry or the prompt when one of them refused.
    #[must_use]
    pub fn code(&self) -> &str {
        &self.code
    }
}

impl fmt::Display for CodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for CodeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

impl From<RegistryError> for CodeError {
    fn from(error: RegistryError) -> Self {
        Self {
            code: error.code().to_owned(),
            message: error.to_string(),
            source: Some(Box::new(error)),
        }
    }
}

impl From<PromptError> for CodeError {
    fn from(error: PromptError) -> Self {
        Self {
            code: error.code().to_owned(),
            message: error.to_string(),
            source: Some(Box::new(error)),
        }
    }
}

impl From<Misuse> for CodeError {
    fn from(error: Misuse) -> Self {
        Self {
            source: Some(Box::new(error.clone())),
            ..Self::refused(error.to_string())
        }
    }
}

impl From<dsh_context::InactiveEffect> for CodeError {
    fn from(error: dsh_context::InactiveEffect) -> Self {
        Self {
            source: Some(Box::new(error)),
            ..Self::refused(error.to_string())
        }
    }
}
