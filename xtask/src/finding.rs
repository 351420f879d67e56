//! What a check reports: a place, what is wrong there, and what to do about it.

use std::fmt;

/// One violation of a repository rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Path relative to the repository's root, with `/` as separator.
    pub path: String,
    /// Line counted from 1, or 0 when the whole file is meant.
    pub line: usize,
    /// Name of the rule, as `xtask tidy` lists it.
    pub rule: &'static str,
    /// What is wrong and how to put it right.
    pub message: String,
}

impl Finding {
    /// A finding about one line, counted from 1.
    pub fn at(path: &str, line: usize, rule: &'static str, message: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            rule,
            message: message.into(),
        }
    }

    /// A finding about a whole file.
    pub fn file(path: &str, rule: &'static str, message: impl Into<String>) -> Self {
        Self::at(path, 0, rule, message)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        write!(f, ": [{}] {}", self.rule, self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_prints_place_rule_and_message() {
        let at = Finding::at("crates/a/src/lib.rs", 3, "size", "too long");
        assert_eq!(at.to_string(), "crates/a/src/lib.rs:3: [size] too long");
        let whole = Finding::file("deny.toml", "licence", "missing");
        assert_eq!(whole.to_string(), "deny.toml: [licence] missing");
    }
}
