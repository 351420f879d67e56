//! How a search fails (F133).

use std::fmt;

use dsh_tools::ToolError;
use dsh_workspace::{FsError, FsErrorCode};

/// The stable code of a [`SearchError`] (F133). Finding nothing is no failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SearchErrorCode {
    /// The pattern is not a regular expression, or not a glob.
    InvalidPattern,
    /// There is nothing to search at the path, or it cannot be searched.
    Failed,
    /// The complete result has more bytes than a result may have.
    RawOutputOverflow,
    /// The time was over, or the call was cancelled.
    Aborted,
}

impl SearchErrorCode {
    /// The code as it appears in outcomes and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidPattern => "SEARCH_INVALID_PATTERN",
            Self::Failed => "SEARCH_FAILED",
            Self::RawOutputOverflow => "SEARCH_RAW_OUTPUT_OVERFLOW",
            Self::Aborted => "SEARCH_ABORTED",
        }
    }
}

impl fmt::Display for SearchErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A search that failed.
///
/// The display text is what a model reads.
#[derive(Debug)]
pub struct SearchError {
    kind: Kind,
    message: String,
}

#[derive(Debug)]
enum Kind {
    Search(SearchErrorCode, Option<FsError>),
    /// The path lies outside. That is the workspace's refusal and keeps its name and code, so that
    /// it is told apart from a search that went wrong.
    Denied(FsError),
}

impl SearchError {
    /// The name under which outcomes report errors of this type (F133).
    pub const NAME: &'static str = "SearchError";

    pub(crate) fn new(code: SearchErrorCode, message: impl Into<String>) -> Self {
        Self {
            kind: Kind::Search(code, None),
            message: message.into(),
        }
    }

    pub(crate) fn invalid_pattern(message: impl Into<String>) -> Self {
        Self::new(SearchErrorCode::InvalidPattern, message)
    }

    pub(crate) fn aborted() -> Self {
        Self::new(SearchErrorCode::Aborted, "search aborted")
    }

    pub(crate) fn overflow(max_bytes: u64) -> Self {
        Self::new(
            SearchErrorCode::RawOutputOverflow,
            format!(
                "the complete result is larger than {max_bytes} bytes; narrow the search with a \
                 more specific pattern or path"
            ),
        )
    }

    /// What went wrong at the place where a search was to start.
    pub(crate) fn at_start(error: FsError) -> Self {
        let message = error.to_string();
        let kind = match error.code() {
            FsErrorCode::SandboxDenied => Kind::Denied(error),
            FsErrorCode::Aborted => return Self::aborted(),
            _ => Kind::Search(SearchErrorCode::Failed, Some(error)),
        };
        Self { kind, message }
    }

    /// The stable code: one of [`SearchErrorCode`], or that of the workspace's refusal.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match &self.kind {
            Kind::Search(code, _) => code.as_str(),
            Kind::Denied(error) => error.code().as_str(),
        }
    }

    /// The name under which outcomes report the error: [`SearchError::NAME`], or that of the
    /// workspace's refusal.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match &self.kind {
            Kind::Search(..) => Self::NAME,
            Kind::Denied(error) => error.name(),
        }
    }

    /// Whether the search was given up.
    #[must_use]
    pub fn is_aborted(&self) -> bool {
        matches!(self.kind, Kind::Search(SearchErrorCode::Aborted, _))
    }

    pub(crate) fn into_tool_error(self) -> ToolError {
        ToolError::coded(self.name(), self.code(), self.to_string()).with_source(self)
    }
}

impl fmt::Display for SearchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SearchError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            Kind::Search(_, source) => source.as_ref().map(|error| error as _),
            Kind::Denied(error) => Some(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f133_names_and_codes() {
        let code = |error: SearchError| (error.name(), error.code());
        let fs = |code| SearchError::at_start(FsError::new(code, "text"));
        assert_eq!(
            code(SearchError::invalid_pattern("p")),
            ("SearchError", "SEARCH_INVALID_PATTERN")
        );
        assert_eq!(
            code(SearchError::overflow(7)),
            ("SearchError", "SEARCH_RAW_OUTPUT_OVERFLOW")
        );
        assert_eq!(
            code(fs(FsErrorCode::NotFound)),
            ("SearchError", "SEARCH_FAILED")
        );
        assert_eq!(
            code(fs(FsErrorCode::Aborted)),
            ("SearchError", "SEARCH_ABORTED")
        );
        assert_eq!(
            code(fs(FsErrorCode::SandboxDenied)),
            ("FsError", "FS_SANDBOX_DENIED")
        );
        assert!(fs(FsErrorCode::Aborted).is_aborted());
        assert!(SearchError::overflow(7).to_string().contains("narrow"));
    }
}
