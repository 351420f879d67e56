//! Just enough of Rust's lexical structure to tell code from comments, literals and tests.
//!
//! A check that searches plain text would trip over its own documentation. [`Source`] blanks comments and the insides of
//! literals, byte for byte, so that offsets and lines stay true, and can blank test-only items too.

/// A Rust file with comments and literals told apart from code.
#[derive(Debug)]
pub struct Source {
    code: String,
    literals: Vec<Literal>,
}

/// A string literal: where its contents start, and what they are, escapes left as written.
#[derive(Debug, PartialEq, Eq)]
pub struct Literal {
    /// Byte offset of the contents in the file.
    pub offset: usize,
    /// The contents.
    pub text: String,
}

impl Source {
    /// Lexes a file.
    pub fn new(text: &str) -> Self {
        Lexer {
            bytes: text.as_bytes(),
            at: 0,
            code: text.as_bytes().to_vec(),
            literals: Vec::new(),
        }
        .run(text)
    }

    /// The code, comments and contents of literals replaced by spaces.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// The string literals, in order.
    pub fn literals(&self) -> &[Literal] {
        &self.literals
    }

    /// Drops items under `#[cfg(test)]`, and their literals.
    #[must_use]
    pub fn without_tests(mut self) -> Self {
        let mut spans = Vec::new();
        let mut from = 0;
        while let Some(found) = self.code[from..].find("#") {
            let start = from + found;
            from = start + 1;
            let inner = self.code[from..].starts_with('!');
            let open = from + usize::from(inner);
            if !self.code[open..].starts_with('[') {
                continue;
            }
            let Some(close) = matching(&self.code, open) else {
                break;
            };
            let attribute: String = self.code[open + 1..close].split_whitespace().collect();
            from = close + 1;
            if !is_test_attribute(&attribute) {
                continue;
            }
            let end = if inner {
                self.code.len()
            } else {
                end_of_item(&self.code, from)
            };
            spans.push((start, end));
            from = end;
        }
        for &(start, end) in &spans {
            blank(&mut self.code, start, end);
        }
        self.literals.retain(|literal| {
            !spans
                .iter()
                .any(|&(start, end)| (start..end).contains(&literal.offset))
        });
        self
    }

    /// Names of the modules that are declared here and live in files of their own.
    pub fn modules(&self) -> Vec<&str> {
        let declared = self.mentions("mod").into_iter().filter_map(|at| {
            let name = self.code[at + 3..].split_once(';')?.0.trim();
            (!name.is_empty() && name.bytes().all(is_word)).then_some(name)
        });
        declared.collect()
    }

    /// The byte range of the first block in braces that starts behind `offset`.
    pub fn block_after(&self, offset: usize) -> Option<std::ops::Range<usize>> {
        let open = offset + self.code[offset..].find('{')?;
        Some(open..matching(&self.code, open)?)
    }

    /// The line of a byte offset, counted from 1.
    pub fn line(&self, offset: usize) -> usize {
        self.code[..offset]
            .bytes()
            .filter(|&byte| byte == b'\n')
            .count()
            + 1
    }

    /// Offsets at which a path such as `Instant::now` stands in the code, as whole identifiers; imports are unfolded, so
    /// that `use std::{thread::sleep, fs}` holds `thread::sleep`.
    pub fn mentions(&self, path: &str) -> Vec<usize> {
        let mut offsets: Vec<usize> = self
            .code
            .match_indices(path)
            .map(|(at, _)| at)
            .filter(|&at| whole(&self.code, at, at + path.len()))
            .collect();
        for (at, import) in imports(&self.code) {
            let found = import
                .match_indices(path)
                .any(|(at, _)| whole(&import, at, at + path.len()));
            // An import that was found in full above would count twice.
            let end = at + self.code[at..].find(';').unwrap_or(0);
            if found && !offsets.iter().any(|offset| (at..end).contains(offset)) {
                offsets.push(at);
            }
        }
        offsets.sort_unstable();
        offsets
    }
}

fn is_test_attribute(attribute: &str) -> bool {
    matches!(attribute, "cfg(test)" | "test" | "tokio::test")
        || attribute.starts_with("cfg(all(test,")
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn whole(text: &str, start: usize, end: usize) -> bool {
    let bytes = text.as_bytes();
    !(start > 0 && is_word(bytes[start - 1]) || end < bytes.len() && is_word(bytes[end]))
}

fn blank(text: &mut String, start: usize, end: usize) {
    let mut bytes = std::mem::take(text).into_bytes();
    for byte in &mut bytes[start..end] {
        if *byte != b'\n' {
            *byte = b' ';
        }
    }
    // Spans start and end at ASCII characters, so that no character was cut.
    *text = String::from_utf8_lossy(&bytes).into_owned();
}

/// The offset of the bracket that closes the one at `open`.
fn matching(code: &str, open: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (at, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// Where the item that starts at `from` ends: behind its `;` or its closing brace.
fn end_of_item(code: &str, mut from: usize) -> usize {
    while from < code.len() {
        match code.as_bytes()[from] {
            b';' => return from + 1,
            // The enclosing block ends: a field or a match arm was meant.
            b'}' | b')' => return from,
            b'{' => return matching(code, from).map_or(code.len(), |close| close + 1),
            b'(' | b'[' => match matching(code, from) {
                Some(close) => from = close + 1,
                None => return code.len(),
            },
            _ => from += 1,
        }
    }
    code.len()
}

/// Every imported path in full, with the offset of its `use`.
fn imports(code: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("use ") {
        if !whole(code, at, at + 3) {
            continue;
        }
        let tree = code[at + 4..].split(';').next().unwrap_or_default();
        let tree: String = tree.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut paths = Vec::new();
        unfold("", &tree, &mut paths);
        found.extend(paths.into_iter().map(|path| (at, path)));
    }
    found
}

fn unfold(prefix: &str, tree: &str, paths: &mut Vec<String>) {
    let tree = tree.trim();
    let Some(open) = tree.find('{') else {
        paths.push(format!("{prefix}{tree}"));
        return;
    };
    let Some(close) = matching(tree, open) else {
        return;
    };
    let prefix = format!("{prefix}{}", tree[..open].trim());
    let (mut depth, mut start) = (0usize, open + 1);
    for (at, byte) in tree.bytes().enumerate().take(close).skip(open + 1) {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                unfold(&prefix, &tree[start..at], paths);
                start = at + 1;
            }
            _ => {}
        }
    }
    unfold(&prefix, &tree[start..close], paths);
}

struct Lexer<'a> {
    bytes: &'a [u8],
    at: usize,
    code: Vec<u8>,
    literals: Vec<Literal>,
}

impl Lexer<'_> {
    fn run(mut self, text: &str) -> Source {
        while self.at < self.bytes.len() {
            match self.bytes[self.at] {
                b'/' if self.next_is(1, b'/') => self.line_comment(),
                b'/' if self.next_is(1, b'*') => self.block_comment(),
                b'"' => self.string(text, self.at + 1),
                b'\'' => self.character(text),
                byte if is_word(byte) => self.word(text),
                _ => self.at += 1,
            }
        }
        // Only whole characters were blanked, so this never replaces anything.
        Source {
            code: String::from_utf8_lossy(&self.code).into_owned(),
            literals: self.literals,
        }
    }

    fn next_is(&self, ahead: usize, byte: u8) -> bool {
        self.bytes.get(self.at + ahead) == Some(&byte)
    }

    fn blank_to(&mut self, end: usize) {
        for byte in &mut self.code[self.at..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        self.at = end;
    }

    fn line_comment(&mut self) {
        let length = self.bytes[self.at..].iter().position(|&byte| byte == b'\n');
        self.blank_to(length.map_or(self.bytes.len(), |length| self.at + length));
    }

    fn block_comment(&mut self) {
        let (mut depth, mut at) = (0usize, self.at);
        while at < self.bytes.len() {
            if self.bytes[at..].starts_with(b"/*") {
                depth += 1;
                at += 2;
            } else if self.bytes[at..].starts_with(b"*/") {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    break;
                }
            } else {
                at += 1;
            }
        }
        self.blank_to(at);
    }

    /// A string whose contents start at `start`; escapes are skipped, not read.
    fn string(&mut self, text: &str, start: usize) {
        let mut end = start;
        while end < self.bytes.len() && self.bytes[end] != b'"' {
            end += if self.bytes[end] == b'\\' { 2 } else { 1 };
        }
        self.literal(text, start, end.min(self.bytes.len()), 1);
    }

    fn raw_string(&mut self, text: &str, hashes: usize, start: usize) {
        let mut close = vec![b'"'];
        close.resize(hashes + 1, b'#');
        let length = self.bytes[start..]
            .windows(close.len())
            .position(|window| window == close);
        let end = length.map_or(self.bytes.len(), |length| start + length);
        self.literal(text, start, end, close.len());
    }

    fn literal(&mut self, text: &str, start: usize, end: usize, close: usize) {
        self.literals.push(Literal {
            offset: start,
            text: text.get(start..end).unwrap_or_default().to_owned(),
        });
        self.at = start;
        self.blank_to(end);
        self.at = (end + close).min(self.bytes.len());
    }

    /// A character literal or a lifetime; only the former has a closing quote right behind one character.
    fn character(&mut self, text: &str) {
        let start = self.at + 1;
        let Some(first) = text[start..].chars().next() else {
            self.at = start;
            return;
        };
        if first == '\\' {
            let mut end = start + 2;
            while end < self.bytes.len() && self.bytes[end] != b'\'' {
                end += 1;
            }
            self.at = start;
            self.blank_to(end.min(self.bytes.len()));
            self.at = (end + 1).min(self.bytes.len());
        } else if self.bytes.get(start + first.len_utf8()) == Some(&b'\'') {
            self.at = start;
            self.blank_to(start + first.len_utf8());
            self.at += 1;
        } else {
            self.at = start;
        }
    }

    /// An identifier, a number, or the prefix of a string.
    fn word(&mut self, text: &str) {
        let start = self.at;
        while self.at < self.bytes.len() && is_word(self.bytes[self.at]) {
            self.at += 1;
        }
        if !matches!(&self.bytes[start..self.at], b"r" | b"br" | b"cr") {
            return;
        }
        let hashes = self.bytes[self.at..]
            .iter()
            .take_while(|&&byte| byte == b'#')
            .count();
        // `r#name` is an identifier, not a string.
        if self.next_is(hashes, b'"') {
            self.raw_string(text, hashes, self.at + hashes + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &Source) -> Vec<&str> {
        source
            .literals()
            .iter()
            .map(|literal| literal.text.as_str())
            .collect()
    }

    #[test]
    fn comments_and_literals_are_no_code() {
        let text = "// Instant::now\n/* a /* nested */ Instant::now */ let a = \"Instant::now \\\" x\"; Instant::now();";
        let source = Source::new(text);
        assert_eq!(source.code().len(), text.len());
        assert_eq!(source.mentions("Instant::now").len(), 1);
        assert_eq!(texts(&source), ["Instant::now \\\" x"]);
    }

    #[test]
    fn raw_strings_characters_and_lifetimes() {
        let source = Source::new(
            "fn f<'a>(x: &'a str) { g(r#\"a \" b\"#, b\"c\", '\"', '\\'', '\\u{22}', 'é', r#type); h(\"d\") }",
        );
        assert_eq!(texts(&source), ["a \" b", "c", "d"]);
        assert!(source.code().contains("r#type"));
    }

    #[test]
    fn a_broken_file_is_lexed_to_its_end() {
        for text in [
            "\"",
            "/*",
            "r#\"",
            "'",
            "'\\",
            "'\\u",
            "\"\\",
            "#[cfg(test)]",
            "#[cfg(test",
            "use a::{b",
            "é'",
        ] {
            let source = Source::new(text).without_tests();
            assert_eq!(source.mentions("x").len(), 0, "{text}");
        }
    }

    #[test]
    fn test_items_can_be_dropped() {
        let text = "fn a() { one() }\n#[cfg(test)]\n#[allow(x)]\nmod tests { fn b() { two(\"lit\") } }\n#[cfg( test )]\nuse c;\n\
                    #[cfg(all(test, unix))] fn d([x]: [u8; 1]) { two() }\n#[cfg(not(test))] fn e() { three() }";
        let source = Source::new(text).without_tests();
        assert!(source.code().contains("one"));
        assert!(source.code().contains("three"));
        assert!(!source.code().contains("two"));
        assert!(!source.code().contains("use c"));
        assert!(source.literals().is_empty());
        assert_eq!(source.line(source.code().find("three").expect("kept")), 8);
    }

    #[test]
    fn a_file_that_is_all_test_has_no_code() {
        let source = Source::new("#![cfg(test)]\nfn a() {}").without_tests();
        assert_eq!(source.code().trim(), "");
    }

    #[test]
    fn whole_identifiers_only() {
        let source = Source::new("MyInstant::now(); Instant::nowhere(); time::Instant::now()");
        assert_eq!(source.mentions("Instant::now").len(), 1);
    }

    #[test]
    fn imports_are_unfolded() {
        let source =
            Source::new("use std::{fs, thread::{self, sleep}};\nuse std::thread::sleep;\n");
        assert_eq!(
            source.mentions("thread::sleep"),
            [0, source.code().rfind("thread").expect("there")]
        );
    }
}
