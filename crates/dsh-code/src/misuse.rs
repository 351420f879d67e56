//! How a host misuses a runtime.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

/// A request that a runtime does not take: the host's mistake, never the program's (C183).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misuse {
    message: Cow<'static, str>,
}

impl Misuse {
    /// A mistake, in words.
    pub fn new(message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            message: message.into(),
        }
    }

    /// A run on a runtime that was disposed (C187).
    #[must_use]
    pub fn after_disposal() -> Self {
        Self::new("code runtime cannot run a program after disposal")
    }
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Misuse {}
