//! The matching lines of one file (F120, F121).

use std::io;

use dsh_workspace::{FsError, Interrupt, OpenedFile};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};

use crate::search::{SearchError, check_text};

/// What stands for a line that is no text (F121).
const NOT_TEXT: &str = "(line is not valid UTF-8)";

/// The longest line that is looked into, in bytes. A line is searched as a whole, so it has to be in
/// memory as a whole.
const MAX_LINE_BYTES: usize = 32 * 1024 * 1024;

/// The largest compiled expression, in bytes. Compiling takes time that no signal can interrupt.
const MAX_COMPILED_BYTES: usize = 10 * 1024 * 1024;

/// The memory that an expression may use for its states while it searches, in bytes. With less it is
/// slower and finds the same.
const MAX_STATE_BYTES: usize = 32 * 1024 * 1024;

/// Finds lines by a regular expression, with the defaults of `ripgrep`.
#[derive(Debug)]
pub(super) struct LineFinder {
    matcher: RegexMatcher,
    searcher: Searcher,
}

/// Why a file was not searched to its end.
#[derive(Debug)]
pub(super) enum Stop {
    /// The file could not be read.
    Unreadable(FsError),
    /// It has a line longer than what is looked into.
    LongLine,
    /// The receiver of the lines wants no more.
    Enough,
    Aborted,
}

impl LineFinder {
    /// Compiles the expression.
    pub(super) fn new(pattern: &str) -> Result<Self, SearchError> {
        check_text("pattern", pattern)?;
        let matcher = RegexMatcherBuilder::new()
            .multi_line(true)
            .unicode(true)
            .octal(false)
            .line_terminator(Some(b'\n'))
            .dot_matches_new_line(false)
            .ban_byte(Some(0))
            .size_limit(MAX_COMPILED_BYTES)
            .dfa_size_limit(MAX_STATE_BYTES)
            .build(pattern)
            .map_err(|error| {
                SearchError::invalid_pattern(format!("invalid regular expression: {error}"))
            })?;
        let searcher = SearcherBuilder::new()
            .line_number(true)
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(MAX_LINE_BYTES))
            .build();
        Ok(Self { matcher, searcher })
    }

    /// Hands every matching line to `keep`, with its number and without its end, until that says no.
    ///
    /// A NUL ends the search of a file, as `ripgrep` does it for files that it finds by itself: the
    /// piece that holds the NUL, of 64 KiB or more, is not looked into any more. Text in UTF-16 with a byte-order mark is converted.
    pub(super) fn search(
        &mut self,
        file: OpenedFile,
        interrupt: Interrupt<'_>,
        keep: &mut dyn FnMut(u64, String) -> bool,
    ) -> Result<(), Stop> {
        let mut reader = Reader {
            file,
            interrupt,
            failure: None,
        };
        let mut lines = Lines {
            keep,
            interrupt,
            is_enough: false,
        };
        let searched = self
            .searcher
            .search_reader(&self.matcher, &mut reader, &mut lines);
        match (searched, reader.failure) {
            _ if interrupt() => Err(Stop::Aborted),
            (Ok(()), _) if lines.is_enough => Err(Stop::Enough),
            (Ok(()), _) => Ok(()),
            (Err(_), Some(error)) => Err(Stop::Unreadable(error)),
            // The reader did its part, so it is the searcher that gave up.
            (Err(_), None) => Err(Stop::LongLine),
        }
    }
}

/// A file of the workspace as a byte stream that ends when nobody waits any more.
struct Reader<'a> {
    file: OpenedFile,
    interrupt: Interrupt<'a>,
    failure: Option<FsError>,
}

impl io::Read for Reader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file
            .read_chunk(buffer, self.interrupt)
            .map_err(|error| {
                self.failure = Some(error);
                io::Error::other("unreadable")
            })
    }
}

struct Lines<'a> {
    keep: &'a mut dyn FnMut(u64, String) -> bool,
    interrupt: Interrupt<'a>,
    is_enough: bool,
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let line = without_end(found.bytes());
        let text = std::str::from_utf8(line).unwrap_or(NOT_TEXT).to_owned();
        let number = found.line_number().unwrap_or_default();
        self.is_enough = !(self.keep)(number, text);
        Ok(!self.is_enough && !(self.interrupt)())
    }
}

/// The line without its LF or CRLF.
fn without_end(line: &[u8]) -> &[u8] {
    match line.strip_suffix(b"\n") {
        Some(line) => line.strip_suffix(b"\r").unwrap_or(line),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f121_only_the_end_of_a_line_is_removed() {
        for (line, wanted) in [
            ("a\n", "a"),
            ("a\r\n", "a"),
            ("a\r\r\n", "a\r"),
            ("a\r", "a\r"),
            ("a", "a"),
            ("\n", ""),
        ] {
            assert_eq!(without_end(line.as_bytes()), wanted.as_bytes(), "{line:?}");
        }
    }

    #[test]
    fn f133_what_is_no_regular_expression_is_refused() {
        for pattern in [
            "(",
            "a{2,1}",
            "[z-a]",
            "\\",
            "(?P<n",
            "a\\nb",
            "(a{1000}){1000}{1000}",
        ] {
            let error = LineFinder::new(pattern).unwrap_err();
            assert_eq!(error.code(), "SEARCH_INVALID_PATTERN", "{pattern}");
            assert!(
                error
                    .to_string()
                    .starts_with("invalid regular expression: "),
                "{error}"
            );
        }
        let error = LineFinder::new(&"a".repeat(70_000)).unwrap_err();
        assert_eq!(error.to_string(), "pattern is longer than 65536 bytes");
        for pattern in ["--pre=sh", "-e", "a|b", "\\bfoo\\b", " ", "$HOME", "`id`"] {
            LineFinder::new(pattern).unwrap();
        }
    }
}
