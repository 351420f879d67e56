//! Globs that say which files count.

use std::borrow::Cow;

use ignore::overrides::{Override, OverrideBuilder};

use super::error::SearchError;

/// Longer patterns are refused: nobody writes them, and compiling them takes time that no signal
/// can interrupt.
const MAX_PATTERN_BYTES: usize = 64 * 1024;

/// Refuses a pattern that no compiler should see.
pub(crate) fn check_text(what: &str, pattern: &str) -> Result<(), SearchError> {
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err(SearchError::invalid_pattern(format!(
            "{what} is longer than {MAX_PATTERN_BYTES} bytes"
        )));
    }
    Ok(())
}

/// A matcher of files as `ripgrep --glob` has it: the last component if there is no `/` in the glob,
/// otherwise the whole path as it is shown (F111, F120).
pub(crate) fn only(what: &str, glob: &str) -> Result<Override, SearchError> {
    check_text(what, glob)?;
    let invalid = |error: ignore::Error| {
        SearchError::invalid_pattern(format!(
            "{what} \"{glob}\" is not a glob: {}",
            reason(&error)
        ))
    };
    // A line of an ignore file that begins with `#` is a comment; a pattern is data (F130).
    let line = match glob.strip_prefix('#') {
        Some(_) => Cow::Owned(format!("\\{glob}")),
        None => Cow::Borrowed(glob),
    };
    let mut builder = OverrideBuilder::new(".");
    builder.add(&line).map_err(invalid)?;
    let matcher = builder.build().map_err(invalid)?;
    if matcher.is_empty() {
        // Such as `/` or `!`: without a glob in it a matcher would let everything pass.
        return Err(SearchError::invalid_pattern(format!(
            "{what} \"{glob}\" is not a glob: it names no file"
        )));
    }
    Ok(matcher)
}

fn reason(error: &ignore::Error) -> String {
    match error {
        ignore::Error::Glob { err, .. } => err.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(glob: &str, path: &str) -> bool {
        only("pattern", glob)
            .unwrap()
            .matched(path, false)
            .is_whitelist()
    }

    #[test]
    fn f111_globs_are_those_of_ripgrep() {
        for (glob, path, wanted) in [
            ("*.rs", "a.rs", true),
            ("*.rs", "a/b/c.rs", true),
            ("*.rs", "a.rs/b", false),
            ("a/*.rs", "a/b.rs", true),
            ("a/*.rs", "a/b/c.rs", false),
            ("a/*.rs", "x/a/b.rs", false),
            ("a/**", "a/b/c", true),
            ("**/a/*", "x/y/a/b", true),
            ("/*.rs", "a.rs", true),
            ("/*.rs", "a/a.rs", false),
            ("*.{ts,tsx}", "x/a.tsx", true),
            ("[ab].c", "x/b.c", true),
            ("A.C", "a.c", false),
            ("src/", "src", false),
            ("-v", "-v", true),
            ("--pre=sh", "x/--pre=sh", true),
            ("#a#", "x/#a#", true),
            ("#a#", "b", false),
            ("\\!a", "!a", true),
        ] {
            assert_eq!(matches(glob, path), wanted, "{glob} {path}");
        }
    }

    #[test]
    fn f133_what_is_no_glob_is_refused() {
        for (glob, text) in [
            (
                "[a",
                "pattern \"[a\" is not a glob: unclosed character class; missing ']'",
            ),
            (
                "{a",
                "pattern \"{a\" is not a glob: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)",
            ),
            ("/", "pattern \"/\" is not a glob: it names no file"),
            ("!", "pattern \"!\" is not a glob: it names no file"),
        ] {
            let error = only("pattern", glob).unwrap_err();
            assert_eq!(error.code(), "SEARCH_INVALID_PATTERN");
            assert_eq!(error.to_string(), text);
        }
        let long = "a".repeat(MAX_PATTERN_BYTES + 1);
        let error = only("pattern", &long).unwrap_err();
        assert_eq!(error.to_string(), "pattern is longer than 65536 bytes");
        only("pattern", &long[1..]).unwrap();
    }
}
