//! From arguments to a request (F110).

use std::error::Error;
use std::fmt;

/// What one call asks for, its values checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlobRequest {
    pattern: String,
    path: Option<String>,
}

/// An argument whose value is not acceptable although its type is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GlobArgumentError {
    /// The pattern is blank.
    BlankPattern,
    /// There is a path and it is blank.
    BlankPath,
}

impl fmt::Display for GlobArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BlankPattern => "pattern must be a non-empty string",
            Self::BlankPath => "path must be a non-empty string when given",
        })
    }
}

impl Error for GlobArgumentError {}

impl GlobRequest {
    /// Checks the arguments of a call.
    ///
    /// # Errors
    ///
    /// The first argument that is not acceptable, in the order pattern, path.
    pub fn new(pattern: &str, path: Option<&str>) -> Result<Self, GlobArgumentError> {
        if pattern.trim().is_empty() {
            return Err(GlobArgumentError::BlankPattern);
        }
        if path.is_some_and(|path| path.trim().is_empty()) {
            return Err(GlobArgumentError::BlankPath);
        }
        Ok(Self {
            pattern: pattern.to_owned(),
            path: path.map(str::to_owned),
        })
    }

    /// The glob.
    #[must_use]
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// The directory to search, as the caller spelled it; nothing for the working directory.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f110_blank_values_are_refused() {
        let text = |pattern, path| {
            let request = GlobRequest::new(pattern, path);
            request.unwrap_err().to_string()
        };
        assert_eq!(text("", None), "pattern must be a non-empty string");
        assert_eq!(
            text(" \t\n", Some("")),
            "pattern must be a non-empty string"
        );
        assert_eq!(
            text("a", Some("")),
            "path must be a non-empty string when given"
        );
        assert_eq!(
            text("a", Some("  ")),
            "path must be a non-empty string when given"
        );
        assert_eq!(GlobRequest::new("a", None).unwrap().path(), None);
    }
}
