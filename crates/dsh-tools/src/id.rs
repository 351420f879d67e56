//! Identity of calls and executions.

use std::fmt;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};

use compact_str::CompactString;
use serde::{Deserialize, Serialize};

/// The caller's name for a call, opaque to the registry and never indexed by it (T35).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(CompactString);

impl CallId {
    /// Wraps any text; uniqueness is the caller's business.
    pub fn new(id: impl Into<CompactString>) -> Self {
        Self(id.into())
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The id of the `ordinal`-th call (from 1) that the program of this call makes.
    ///
    /// Deterministic, so that a resumed program names its sub-calls as it did before.
    #[must_use]
    pub fn sub_call(&self, ordinal: u64) -> Self {
        Self(compact_str::format_compact!("{}:code:{ordinal}", self.0))
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for CallId {
    fn from(id: &str) -> Self {
        Self(id.into())
    }
}

impl From<String> for CallId {
    fn from(id: String) -> Self {
        Self(id.into())
    }
}

/// The identity of one execution: comparable, and nothing else (T13).
///
/// A token gives no access to the execution it names and has no serialised form. It is what a nested call passes as
/// its parent.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Token(NonZeroU64);

impl Token {
    pub(crate) fn mint() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(NonZeroU64::new(id).unwrap_or(NonZeroU64::MAX))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_distinct_and_print_nothing() {
        let (a, b) = (Token::mint(), Token::mint());
        assert_ne!(a, b);
        assert_eq!(format!("{a:?}"), "Token");
    }

    #[test]
    fn sub_calls_are_numbered_under_their_root() {
        assert_eq!(CallId::new("c1").sub_call(3).as_str(), "c1:code:3");
    }
}
