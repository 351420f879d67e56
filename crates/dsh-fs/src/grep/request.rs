//! From arguments to a request (F120).

use std::error::Error;
use std::fmt;

/// What one call asks for, its values checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrepRequest {
    pattern: String,
    path: Option<String>,
    include: Option<String>,
}

/// An argument whose value is not acceptable although its type is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GrepArgumentError {
    /// The pattern is empty. One of blanks is a regular expression like any other.
    EmptyPattern,
    /// There is a path and it is blank.
    BlankPath,
    /// There is an `include` and it is blank.
    BlankInclude,
    /// `include` begins with `!`.
    NegatedInclude,
    /// `include` is a list of globs.
    SeveralIncludes,
}

impl fmt::Display for GrepArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EmptyPattern => "pattern must be a non-empty string",
            Self::BlankPath => "path must be a non-empty string when given",
            Self::BlankInclude => "include must be a non-empty string when given",
            Self::NegatedInclude => {
                "include must be a glob of files to search, it must not start with \"!\""
            }
            Self::SeveralIncludes => {
                "include must be one glob; write alternatives in braces, such as \"*.{ts,tsx}\""
            }
        })
    }
}

impl Error for GrepArgumentError {}

impl GrepRequest {
    /// Checks the arguments of a call.
    ///
    /// # Errors
    ///
    /// The first argument that is not acceptable, in the order pattern, path, include.
    pub fn new(
        pattern: &str,
        path: Option<&str>,
        include: Option<&str>,
    ) -> Result<Self, GrepArgumentError> {
        if pattern.is_empty() {
            return Err(GrepArgumentError::EmptyPattern);
        }
        if path.is_some_and(|path| path.trim().is_empty()) {
            return Err(GrepArgumentError::BlankPath);
        }
        if let Some(include) = include {
            if include.trim().is_empty() {
                return Err(GrepArgumentError::BlankInclude);
            }
            if include.starts_with('!') {
                return Err(GrepArgumentError::NegatedInclude);
            }
            if has_bare_comma(include) {
                return Err(GrepArgumentError::SeveralIncludes);
            }
        }
        Ok(Self {
            pattern: pattern.to_owned(),
            path: path.map(str::to_owned),
            include: include.map(str::to_owned),
        })
    }

    /// The regular expression.
    #[must_use]
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// The file or directory to search, as the caller spelled it; nothing for the working directory.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    /// The glob of the files to search, if there is one.
    #[must_use]
    pub fn include(&self) -> Option<&str> {
        self.include.as_deref()
    }
}

/// Whether there is a comma that stands neither in braces nor in a character class, nor behind a
/// backslash.
fn has_bare_comma(glob: &str) -> bool {
    let mut depth = 0_usize;
    let mut class = false;
    let mut characters = glob.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => {
                characters.next();
            }
            '[' => class = true,
            ']' => class = false,
            '{' if !class => depth += 1,
            '}' if !class => depth = depth.saturating_sub(1),
            ',' if !class && depth == 0 => return true,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f120_values_that_are_refused() {
        let text = |pattern, path, include| {
            let request = GrepRequest::new(pattern, path, include);
            request.unwrap_err().to_string()
        };
        assert_eq!(
            text("", Some(""), None),
            "pattern must be a non-empty string"
        );
        assert_eq!(
            text("a", Some(" "), None),
            "path must be a non-empty string when given"
        );
        let include = |include| text("a", None, Some(include));
        assert_eq!(include(""), "include must be a non-empty string when given");
        assert_eq!(
            include(" "),
            "include must be a non-empty string when given"
        );
        assert_eq!(
            include("!*.ts"),
            "include must be a glob of files to search, it must not start with \"!\""
        );
        for several in ["*.ts,*.tsx", "{a,b},c", "a,", "{a},b"] {
            assert_eq!(
                include(several),
                "include must be one glob; write alternatives in braces, such as \"*.{ts,tsx}\"",
                "{several}"
            );
        }
    }

    #[test]
    fn f120_values_that_are_fine() {
        let request = GrepRequest::new("  ", Some("a"), Some("*.{ts,tsx}")).unwrap();
        assert_eq!(
            (request.pattern(), request.path(), request.include()),
            ("  ", Some("a"), Some("*.{ts,tsx}"))
        );
        for include in ["{a,{b,c}}.d", "a\\,b", "[,]", "*.rs"] {
            GrepRequest::new("a", None, Some(include)).unwrap();
        }
    }
}
