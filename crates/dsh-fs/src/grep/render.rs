//! The text that a model reads (F122).

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write;

use crate::search::{Rest, footer_end};

/// A matching line as it is shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shown<'a> {
    pub(super) path: &'a str,
    pub(super) line_number: u64,
    pub(super) line: &'a str,
}

/// The lines of one file.
pub(super) type Group<'a> = (&'a str, Vec<Shown<'a>>);

/// Lines by file, files in the order in which they first occur.
pub(super) fn by_file<'a>(matches: impl IntoIterator<Item = Shown<'a>>) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for found in matches {
        let index = *known.entry(found.path).or_insert(groups.len());
        if index == groups.len() {
            groups.push((found.path, Vec::new()));
        }
        if let Some((_, lines)) = groups.get_mut(index) {
            lines.push(found);
        }
    }
    groups
}

/// A line cut to `max` bytes, at the end of a character.
pub(super) fn cut(line: &str, max: u64) -> Cow<'_, str> {
    let max = usize::try_from(max).unwrap_or(usize::MAX);
    if line.len() <= max {
        return Cow::Borrowed(line);
    }
    let mut end = max;
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    Cow::Owned(format!("{} (line truncated)", &line[..end]))
}

/// Renders the first of `total` matches.
pub(super) fn render<'a>(
    kept: impl ExactSizeIterator<Item = Shown<'a>>,
    total: usize,
    max_line_bytes: u64,
    rest: Rest<'_>,
) -> String {
    if total == 0 {
        return "No matches found".to_owned();
    }
    let shown = kept.len();
    let noun = if total == 1 { "match" } else { "matches" };
    let mut text = if shown < total {
        format!("Found {shown} of {total} {noun}\n")
    } else {
        format!("Found {total} {noun}\n")
    };
    for (path, lines) in by_file(kept) {
        // Writing to a string does not fail.
        let _ = write!(text, "\n{path}\n");
        for found in lines {
            let line = cut(found.line, max_line_bytes);
            let _ = writeln!(text, "Line {}: {line}", found.line_number);
        }
    }
    if shown < total {
        let end = footer_end(rest);
        let _ = write!(text, "\n(Showing {shown} of {total} matches. {end})");
    } else {
        text.pop();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown<'a>(path: &'a str, line_number: u64, line: &'a str) -> Shown<'a> {
        Shown {
            path,
            line_number,
            line,
        }
    }

    fn text(all: &[Shown<'_>], total: usize) -> String {
        render(all.iter().copied(), total, 5, Rest::Lost)
    }

    #[test]
    fn f122_the_text() {
        assert_eq!(text(&[], 0), "No matches found");
        assert_eq!(
            text(&[shown("a.rs", 3, "x")], 1),
            "Found 1 match\n\na.rs\nLine 3: x"
        );
        assert_eq!(
            text(
                &[shown("b", 1, "x"), shown("b", 2, ""), shown("a", 9, "z")],
                3
            ),
            "Found 3 matches\n\nb\nLine 1: x\nLine 2: \n\na\nLine 9: z"
        );
        // In the order in which files first occur, each once.
        assert_eq!(
            text(
                &[shown("b", 1, "x"), shown("a", 1, "y"), shown("b", 2, "z")],
                3
            ),
            "Found 3 matches\n\nb\nLine 1: x\nLine 2: z\n\na\nLine 1: y"
        );
    }

    #[test]
    fn f122_more_than_is_shown() {
        assert_eq!(
            text(&[shown("a", 1, "x")], 2),
            "Found 1 of 2 matches\n\na\nLine 1: x\n\n(Showing 1 of 2 matches. The complete result \
             could not be saved; narrow the search with a more specific pattern or path.)"
        );
    }

    #[test]
    fn f122_lines_are_cut_on_a_character_boundary() {
        for (line, max, wanted) in [
            ("abcde", 5, "abcde"),
            ("abcdef", 5, "abcde (line truncated)"),
            ("abcdé", 5, "abcd (line truncated)"),
            ("abcdé", 6, "abcdé"),
            ("😀", 3, " (line truncated)"),
            ("", 1, ""),
        ] {
            assert_eq!(cut(line, max), wanted, "{line}");
        }
        assert_eq!(cut("abc", u64::MAX), "abc");
    }
}
