//! A window of lines over a stream of text (F64–F67).

use serde::{Deserialize, Serialize};

/// Which lines are wanted and how much of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowLimits {
    /// The first line, from 1.
    pub offset: u64,
    /// How many lines at most.
    pub limit: u64,
    /// Characters (Unicode scalar values) of a line that are kept.
    pub max_line_length: u64,
    /// Bytes of all kept lines together, a line break between two of them counting as one (F67).
    pub max_bytes: u64,
}

/// One kept line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Its number in the file, from 1.
    pub number: u64,
    /// Its text without the line break, cut if it was too long.
    pub text: String,
}

/// What a [`Windower`] has seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// The kept lines, numbered without gaps.
    pub lines: Vec<Line>,
    /// How many lines the text has.
    pub total_lines: u64,
}

/// Takes text in chunks and keeps the lines of a window.
///
/// Lines end at LF; one CR before it, or at the end of the text, belongs to the line break (F65).
/// Lines before and after the window are counted and never copied. Of a line in the window at most
/// `max_line_length` characters are held, however long it is.
///
/// Chunks may be cut anywhere, also inside a character. The text has to be UTF-8; bytes that are
/// not come out as replacement characters.
#[derive(Debug)]
pub struct Windower {
    limits: WindowLimits,
    /// Line breaks seen.
    breaks: u64,
    /// Whether bytes came after the last line break.
    open: bool,
    line: PartialLine,
    lines: Vec<Line>,
    bytes: u64,
    /// Set when a line did not fit into the byte budget.
    full: bool,
}

impl Windower {
    /// A windower that has seen nothing yet.
    #[must_use]
    pub fn new(limits: WindowLimits) -> Self {
        Self {
            limits,
            breaks: 0,
            open: false,
            line: PartialLine::default(),
            lines: Vec::new(),
            bytes: 0,
            full: false,
        }
    }

    /// Takes the next chunk.
    pub fn push(&mut self, mut chunk: &[u8]) {
        if chunk.is_empty() {
            return;
        }
        let ends_open = chunk.last() != Some(&b'\n');
        // Lines before the window.
        let before = self.limits.offset.saturating_sub(1);
        if self.breaks < before {
            let skip = before - self.breaks;
            let here = count_breaks(chunk);
            if here < skip {
                self.breaks += here;
                self.open = ends_open;
                return;
            }
            // `skip` is at least 1 and at most `here`, which fits a slice.
            let nth = usize::try_from(skip - 1).unwrap_or(usize::MAX);
            let end = memchr::memchr_iter(b'\n', chunk)
                .nth(nth)
                .map_or(chunk.len(), |at| at + 1);
            self.breaks = before;
            chunk = &chunk[end..];
        }
        while self.wants_more() && !chunk.is_empty() {
            if let Some(end) = memchr::memchr(b'\n', chunk) {
                self.line.push(&chunk[..end], self.limits.max_line_length);
                self.keep_line();
                self.breaks += 1;
                chunk = &chunk[end + 1..];
            } else {
                self.line.push(chunk, self.limits.max_line_length);
                chunk = &[];
            }
        }
        self.breaks += count_breaks(chunk);
        self.open = ends_open;
    }

    /// The end of the text.
    #[must_use]
    pub fn finish(mut self) -> Window {
        if self.open && self.breaks >= self.limits.offset.saturating_sub(1) && self.wants_more() {
            self.keep_line();
        }
        Window {
            lines: self.lines,
            total_lines: self.breaks + u64::from(self.open),
        }
    }

    fn wants_more(&self) -> bool {
        !self.full && (self.lines.len() as u64) < self.limits.limit
    }

    fn keep_line(&mut self) {
        let text = self.line.take(self.limits.max_line_length);
        let cost = text.len() as u64 + u64::from(!self.lines.is_empty());
        if self.bytes + cost > self.limits.max_bytes {
            self.full = true;
            return;
        }
        self.bytes += cost;
        self.lines.push(Line {
            number: self.breaks + 1,
            text,
        });
    }
}

fn count_breaks(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// The start of a line whose end has not come yet.
#[derive(Debug, Default)]
struct PartialLine {
    /// At most as many characters as are kept.
    kept: Vec<u8>,
    characters: u64,
    /// A CR came where the line is full. It may belong to the line break.
    held_return: bool,
    /// More came than is kept.
    cut: bool,
}

impl PartialLine {
    fn push(&mut self, mut bytes: &[u8], cap: u64) {
        if self.cut || bytes.is_empty() {
            return;
        }
        // No character is longer than four bytes, so this bound only ever cuts what is not UTF-8.
        let room = cap.saturating_mul(4).saturating_sub(self.kept.len() as u64);
        let room = usize::try_from(room).map_or(bytes.len(), |room| room.min(bytes.len()));
        let mut end = 0;
        for &byte in &bytes[..room] {
            // Continuation bytes belong to the character before them.
            if byte & 0b1100_0000 != 0b1000_0000 {
                if self.characters == cap {
                    break;
                }
                self.characters += 1;
            }
            end += 1;
        }
        self.kept.extend_from_slice(&bytes[..end]);
        bytes = &bytes[end..];
        if !self.held_return && bytes.first() == Some(&b'\r') {
            self.held_return = true;
            bytes = &bytes[1..];
        }
        self.cut = !bytes.is_empty();
    }

    fn take(&mut self, cap: u64) -> String {
        let Self {
            mut kept,
            held_return,
            cut,
            ..
        } = std::mem::take(self);
        if !cut && !held_return && kept.last() == Some(&b'\r') {
            kept.pop();
        }
        let mut text = String::from_utf8(kept)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        if cut {
            text.push_str(&format!("... (line truncated to {cap} chars)"));
        }
        text
    }
}
