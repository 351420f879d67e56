//! How a tool, a listener or an approver fails.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

use compact_str::CompactString;
use dsh_context::Panicked;
use serde::{Deserialize, Serialize};

/// What a value that cannot be printed is called in a message (T205).
pub(crate) const UNPRINTABLE: &str = "<unprintable thrown value>";

/// The class name and code of a structured failure (T22, T24). Routing is done on the code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorInfo {
    /// The class name, such as `FsError`.
    pub name: Cow<'static, str>,
    /// The stable code, such as `FS_NOT_FOUND`.
    pub code: Cow<'static, str>,
}

/// A failure of user code: a message, and for structured failures a class name and a code.
///
/// Any error converts with `?` and keeps only its message and its source; use [`ToolError::coded`] for a failure that
/// programs route on. The text of sources is for logs and never joins the model's text (T453).
///
/// # Examples
///
/// ```
/// use dsh_tools::ToolError;
/// fn parse(text: &str) -> Result<u32, ToolError> {
///     Ok(text.parse::<u32>()?)
/// }
/// assert_eq!(parse("x").unwrap_err().message(), "invalid digit found in string");
/// let error = ToolError::coded("QuotaError", "QUOTA", "no calls left").retryable();
/// assert_eq!(error.code(), Some("QUOTA"));
/// ```
pub struct ToolError(Box<Repr>);

struct Repr {
    message: CompactString,
    info: Option<ErrorInfo>,
    violations: Vec<String>,
    retryable: bool,
    panicked: bool,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl ToolError {
    /// A plain failure.
    pub fn new(message: impl Into<CompactString>) -> Self {
        Self(Box::new(Repr {
            message: message.into(),
            info: None,
            violations: Vec::new(),
            retryable: false,
            panicked: false,
            source: None,
        }))
    }

    /// A structured failure with the class `name` and the stable `code`.
    pub fn coded(
        name: impl Into<Cow<'static, str>>,
        code: impl Into<Cow<'static, str>>,
        message: impl Into<CompactString>,
    ) -> Self {
        let mut error = Self::new(message);
        error.0.info = Some(ErrorInfo {
            name: name.into(),
            code: code.into(),
        });
        error
    }

    /// The failure of arguments that break their schema (T343).
    #[must_use]
    pub fn invalid_arguments(violations: Vec<String>) -> Self {
        let message = format!("invalid arguments: {}", violations.join("; "));
        let mut error = Self::coded("ToolArgsError", crate::codes::INVALID_ARGS, message);
        error.0.violations = violations;
        error
    }

    /// The failure of a name that no visible tool has (T440).
    #[must_use]
    pub fn unknown_tool(name: &str) -> Self {
        Self::coded(
            "ToolNotFoundError",
            crate::codes::UNKNOWN_TOOL,
            format!("unknown tool \"{name}\""),
        )
    }

    /// The failure of a value that breaks the output contract (T389).
    #[must_use]
    pub(crate) fn invalid_output(tool: &str, violations: Vec<String>) -> Self {
        let message = format!(
            "tool \"{tool}\" returned invalid output: {}",
            violations.join("; ")
        );
        let mut error = Self::coded(
            "ToolOutputError",
            crate::codes::INVALID_TOOL_OUTPUT,
            message,
        );
        error.0.violations = violations;
        error
    }

    /// Marks the failure as one that may succeed when tried again.
    #[must_use]
    pub fn retryable(mut self) -> Self {
        self.0.retryable = true;
        self
    }

    /// Keeps the error that caused this one, for logs.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// The failure that a panic amounts to (T206).
    pub(crate) fn from_panic(panicked: &Panicked) -> Self {
        let mut error = Self::new(panicked.message().unwrap_or(UNPRINTABLE));
        error.0.panicked = true;
        error
    }

    /// The bare message, without any prefix (T23).
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The class name and code of a structured failure.
    #[must_use]
    pub fn info(&self) -> Option<&ErrorInfo> {
        self.0.info.as_ref()
    }

    /// The code of a structured failure.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.0.info.as_ref().map(|info| &*info.code)
    }

    /// The violations that the message lists, for argument and output failures.
    #[must_use]
    pub fn violations(&self) -> &[String] {
        &self.0.violations
    }

    /// Whether trying again may succeed.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.0.retryable
    }

    /// Whether the failure was a panic.
    #[must_use]
    pub fn is_panic(&self) -> bool {
        self.0.panicked
    }

    /// The error that caused this one.
    #[must_use]
    pub fn source(&self) -> Option<&(dyn Error + Send + Sync + 'static)> {
        self.0.source.as_deref()
    }

    pub(crate) fn into_parts(self) -> (CompactString, Option<ErrorInfo>, bool) {
        let repr = *self.0;
        // A source is user code too: dropping it must not unwind into the pipeline.
        if let Some(source) = repr.source {
            crate::contain::discard(source);
        }
        (repr.message, repr.info, repr.retryable)
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for ToolError {
    fn from(error: E) -> Self {
        // Printing is user code; a message that cannot be had never fails the failure (T205).
        let message =
            dsh_context::contain(|| error.to_string()).unwrap_or_else(|_| UNPRINTABLE.to_owned());
        Self::new(message).with_source(error)
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolError")
            .field("message", &self.0.message)
            .field("info", &self.0.info)
            .field("retryable", &self.0.retryable)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::panic::panic_any;

    use super::*;

    #[derive(Debug)]
    struct Unprintable;
    impl fmt::Display for Unprintable {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            panic!("no text")
        }
    }
    impl Error for Unprintable {}

    #[test]
    fn a_message_that_cannot_be_had_is_named_as_such() {
        assert_eq!(ToolError::from(Unprintable).message(), UNPRINTABLE);
    }

    #[test]
    fn a_panic_keeps_its_text() {
        let thrown = |panic: fn()| crate::contain::contain(panic).unwrap_err();
        assert_eq!(thrown(|| panic!("a")).message(), "a");
        assert_eq!(thrown(|| panic!("{}", 'b')).message(), "b");
        assert_eq!(thrown(|| panic_any(7)).message(), UNPRINTABLE);
        assert!(thrown(|| panic!("a")).info().is_none());
    }

    #[test]
    fn the_constructors_of_t440() {
        let unknown = ToolError::unknown_tool("ghost");
        assert_eq!(
            (unknown.message(), unknown.code()),
            ("unknown tool \"ghost\"", Some("UNKNOWN_TOOL"))
        );
        let args = ToolError::invalid_arguments(vec!["a".into(), "b".into()]);
        assert_eq!(args.message(), "invalid arguments: a; b");
        assert_eq!(args.violations(), ["a", "b"]);
    }
}
