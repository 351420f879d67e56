//! From text to nodes, in one pass.

use smallvec::SmallVec;

use super::error::{self, DocumentError, DocumentErrorKind};
use super::node::{Node, Nodes, Tag};
use super::number::{Decimal, Literal};
use super::scan::plain_end;
use super::tree::Tree;

/// Nodes reserved at most before the first one is known.
const MOST_RESERVED: usize = 256;

type Next = Result<usize, DocumentError>;

/// Parses a whole text into nodes and the side buffer of escaped strings.
pub(super) fn parse(text: &str) -> Result<(Nodes, String), DocumentError> {
    if u32::try_from(text.len()).is_err() {
        return Err(error::too_large());
    }
    // A typical call has five or six bytes a node.
    let nodes = SmallVec::with_capacity((text.len() / 5).min(MOST_RESERVED));
    let mut parser = Parser {
        text,
        bytes: text.as_bytes(),
        tree: Tree::new(nodes),
    };
    parser.document()?;
    Ok((parser.tree.nodes, parser.tree.side))
}

struct Parser<'t> {
    text: &'t str,
    bytes: &'t [u8],
    tree: Tree,
}

impl<'t> Parser<'t> {
    fn document(&mut self) -> Result<(), DocumentError> {
        let mut position = 0;
        'value: loop {
            position = self.skip_space(position);
            match self.byte(position) {
                b'"' => {
                    let (node, next) = self
                        .string(position)
                        .map_err(|error| self.placed(error, true))?;
                    self.tree.scalar(node);
                    position = next;
                }
                b'-' | b'0'..=b'9' => position = self.number(position)?,
                b'{' => {
                    self.open(Tag::Object, position)?;
                    position = self.skip_space(position + 1);
                    if self.byte(position) != b'}' {
                        position = self.key(position)?;
                        continue 'value;
                    }
                    self.tree.close();
                    position += 1;
                }
                b'[' => {
                    self.open(Tag::Array, position)?;
                    position = self.skip_space(position + 1);
                    if self.byte(position) != b']' {
                        continue 'value;
                    }
                    self.tree.close();
                    position += 1;
                }
                b't' => position = self.word(position, "true", Tag::True)?,
                b'f' => position = self.word(position, "false", Tag::False)?,
                b'n' => position = self.word(position, "null", Tag::Null)?,
                _ => return Err(self.expected_value(position)),
            }
            loop {
                position = self.skip_space(position);
                if self.tree.is_at_root() {
                    if position != self.bytes.len() {
                        return Err(self.syntax(position, "unexpected text after the JSON value"));
                    }
                    return Ok(());
                }
                match (self.byte(position), self.tree.in_object) {
                    (b',', false) => {
                        position += 1;
                        continue 'value;
                    }
                    (b',', true) => {
                        position = self.skip_space(position + 1);
                        position = self.key(position)?;
                        continue 'value;
                    }
                    (b'}', true) | (b']', false) => {
                        self.tree.close();
                        position += 1;
                    }
                    (_, true) => return Err(self.expected(position, "`,` or `}`")),
                    (_, false) => return Err(self.expected(position, "`,` or `]`")),
                }
            }
        }
    }

    /// The byte at a position; 0, which is legal nowhere, at the end.
    #[inline]
    fn byte(&self, position: usize) -> u8 {
        self.bytes.get(position).copied().unwrap_or(0)
    }

    #[inline]
    fn skip_space(&self, mut position: usize) -> usize {
        while matches!(self.byte(position), b' ' | b'\n' | b'\r' | b'\t') {
            position += 1;
        }
        position
    }

    #[inline]
    fn open(&mut self, tag: Tag, position: usize) -> Result<(), DocumentError> {
        if self.tree.open(tag) {
            Ok(())
        } else {
            Err(self.lossy(position, error::too_deep()))
        }
    }

    /// A key and its colon.
    #[inline]
    fn key(&mut self, position: usize) -> Next {
        if self.byte(position) != b'"' {
            let what = if self.tree.count() == 0 {
                "a key in double quotes or `}`"
            } else {
                "a key in double quotes"
            };
            return Err(self.expected(position, what));
        }
        let (node, next) = self
            .string(position)
            .map_err(|error| self.placed(error, false))?;
        if !self.tree.key(node, self.bytes) {
            return Err(self.duplicate(node, position));
        }
        let colon = self.skip_space(next);
        if self.byte(colon) != b':' {
            return Err(self.expected(colon, "`:` after a key"));
        }
        Ok(colon + 1)
    }

    #[inline]
    fn word(&mut self, position: usize, word: &str, tag: Tag) -> Next {
        let end = position + word.len();
        if self.bytes.get(position..end) != Some(word.as_bytes()) {
            return Err(self.expected_value(position));
        }
        self.tree.scalar(Node::new(tag));
        Ok(end)
    }

    /// A string, given the position of its first quote; also the position after its last.
    #[inline]
    fn string(&mut self, quote: usize) -> Result<(Node, usize), DocumentError> {
        let start = quote + 1;
        let end = plain_end(self.bytes, start);
        if self.byte(end) == b'"' {
            Ok((Node::string(Tag::Plain, start, end - start), end + 1))
        } else {
            self.escaped_string(start, end)
        }
    }

    /// A string with escapes: decoded into the side buffer. Its first special byte is at `position`.
    #[inline(never)]
    fn escaped_string(
        &mut self,
        start: usize,
        mut position: usize,
    ) -> Result<(Node, usize), DocumentError> {
        let begin = self.tree.side.len();
        let mut run = start;
        loop {
            // Runs end at an ASCII byte, hence at character boundaries.
            self.tree
                .side
                .push_str(self.text.get(run..position).unwrap_or(""));
            match self.byte(position) {
                b'"' => break,
                b'\\' => position = self.escape(position)?,
                _ if position >= self.bytes.len() => {
                    return Err(self.syntax(position, "the text ends inside a string"));
                }
                control => {
                    let message = format!(
                        "control character U+{control:04X} in a string; write it as an escape"
                    );
                    return Err(self.syntax(position, &message));
                }
            }
            run = position;
            position = plain_end(self.bytes, position);
        }
        let node = Node::string(Tag::Escaped, begin, self.tree.side.len() - begin);
        Ok((node, position + 1))
    }

    /// One escape, given the position of its backslash.
    fn escape(&mut self, backslash: usize) -> Next {
        let decoded = match self.byte(backslash + 1) {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode_escape(backslash),
            _ => return Err(self.syntax(backslash, "invalid escape in a string")),
        };
        self.tree.side.push(decoded);
        Ok(backslash + 2)
    }

    fn unicode_escape(&mut self, backslash: usize) -> Next {
        let unit = self.code_unit(backslash)?;
        if let Some(decoded) = char::from_u32(unit) {
            self.tree.side.push(decoded);
            return Ok(backslash + 6);
        }
        // Only surrogates are left: a high one must be followed by a low one.
        if unit < 0xDC00 && self.byte(backslash + 6) == b'\\' && self.byte(backslash + 7) == b'u' {
            let low = self.code_unit(backslash + 6)?;
            if (0xDC00..0xE000).contains(&low)
                && let Some(decoded) =
                    char::from_u32(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00))
            {
                self.tree.side.push(decoded);
                return Ok(backslash + 12);
            }
        }
        let message = format!("escape `\\u{unit:04x}` is half of a surrogate pair");
        Err(
            DocumentError::new(DocumentErrorKind::UnpairedSurrogate, message)
                .at_offset(self.text, backslash),
        )
    }

    /// The four hexadecimal digits after `\u`.
    fn code_unit(&self, backslash: usize) -> Result<u32, DocumentError> {
        let digits = self.bytes.get(backslash + 2..backslash + 6).unwrap_or(b"");
        let unit = digits
            .iter()
            .try_fold(0, |unit, digit| {
                Some(unit << 4 | char::from(*digit).to_digit(16)?)
            })
            .filter(|_| !digits.is_empty());
        unit.ok_or_else(|| {
            self.syntax(
                backslash,
                "`\\u` must be followed by four hexadecimal digits",
            )
        })
    }

    #[inline]
    fn number(&mut self, start: usize) -> Next {
        let negative = self.byte(start) == b'-';
        let first = start + usize::from(negative);
        let mut value: u64 = 0;
        let mut position = first;
        loop {
            let digit = self.byte(position).wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            // Wraps for long literals only, which are looked at again.
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            position += 1;
        }
        let digits = position - first;
        let next = self.byte(position);
        let plain = digits.wrapping_sub(1) < 19 && !matches!(next, b'.' | b'e' | b'E');
        if !plain || (self.byte(first) == b'0' && digits > 1) {
            return self.long_number(start, first, position, value);
        }
        let node = if !negative {
            Node::unsigned(value)
        } else if value == 0 {
            return Err(self.lossy_number(start, position, error::negative_zero));
        } else if let Some(value) = 0_i64.checked_sub_unsigned(value) {
            Node::int(value)
        } else {
            return Err(self.lossy_number(start, position, error::integer_range));
        };
        self.tree.scalar(node);
        Ok(position)
    }

    /// Every number that is not a short integer literal, malformed ones among them. Its leading digits, whose value is given,
    /// end at `dot`.
    #[inline(never)]
    fn long_number(&mut self, start: usize, first: usize, dot: usize, mut value: u64) -> Next {
        if dot == first {
            return Err(self.expected(first, "a digit"));
        }
        if self.byte(first) == b'0' && dot > first + 1 {
            return Err(self.syntax(first, "a number must not begin with a superfluous zero"));
        }
        let is_negative = start != first;
        let mut position = dot;
        let mut fraction: &[u8] = &[];
        if self.byte(position) == b'.' {
            fraction = self.digits(position + 1)?;
            position += 1 + fraction.len();
            // Wraps for long literals only, which do not use it.
            value = fraction.iter().fold(value, |value, digit| {
                value.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'))
            });
        }
        let mut exponent = 0;
        if matches!(self.byte(position), b'e' | b'E') {
            let sign = self.byte(position + 1);
            position += 1 + usize::from(matches!(sign, b'+' | b'-'));
            let digits = self.digits(position)?;
            position += digits.len();
            // Far beyond every double; exact enough to meet any number of digits in the fraction.
            exponent = digits.iter().fold(0_i64, |value, digit| {
                (value * 10 + i64::from(digit - b'0')).min(1 << 50)
            });
            if sign == b'-' {
                exponent = -exponent;
            }
        }
        let text = self.text.get(start..position).unwrap_or("");
        let node = if position == dot {
            match text.parse() {
                Ok(value) => Node::unsigned(value),
                // Negative ones are too long as well.
                Err(_) => return Err(self.lossy_number(start, position, error::integer_range)),
            }
        } else {
            let whole = self.bytes.get(first..dot).unwrap_or(b"");
            match (Literal {
                text,
                is_negative,
                whole,
                fraction,
                digits: value,
                exponent,
            })
            .evaluate()
            {
                Decimal::Number(number) => number.to_node(),
                Decimal::NegativeZero => {
                    return Err(self.lossy_number(start, position, error::negative_zero));
                }
                Decimal::Overflow => {
                    return Err(self.lossy_number(start, position, error::number_overflow));
                }
            }
        };
        self.tree.scalar(node);
        Ok(position)
    }

    /// One or more digits.
    fn digits(&self, start: usize) -> Result<&'t [u8], DocumentError> {
        let rest = self.bytes.get(start..).unwrap_or(b"");
        let length = rest
            .iter()
            .position(|byte| !byte.is_ascii_digit())
            .unwrap_or(rest.len());
        match rest.get(..length) {
            Some(digits) if length > 0 => Ok(digits),
            _ => Err(self.expected(start, "a digit")),
        }
    }

    #[cold]
    #[inline(never)]
    fn syntax(&self, position: usize, message: &str) -> DocumentError {
        DocumentError::new(DocumentErrorKind::Syntax, message).at_offset(self.text, position)
    }

    #[cold]
    #[inline(never)]
    fn expected(&self, position: usize, what: &str) -> DocumentError {
        let found = match self
            .text
            .get(position..)
            .and_then(|rest| rest.chars().next())
        {
            None => "the end of the text".to_owned(),
            Some(found) if found.is_control() => format!("U+{:04X}", u32::from(found)),
            Some(found) => format!("`{found}`"),
        };
        self.syntax(position, &format!("expected {what}, found {found}"))
    }

    #[cold]
    fn expected_value(&self, position: usize) -> DocumentError {
        self.expected(position, "a JSON value")
    }

    #[cold]
    #[inline(never)]
    fn lossy(&self, position: usize, error: DocumentError) -> DocumentError {
        self.placed(error.at_offset(self.text, position), true)
    }

    /// Adds the path to an error of a value, or of a key of the current object.
    #[cold]
    #[inline(never)]
    fn placed(&self, error: DocumentError, is_value: bool) -> DocumentError {
        if error.kind().is_lossy() {
            error.at_path(|| self.tree.path(self.text, is_value))
        } else {
            error
        }
    }

    #[cold]
    #[inline(never)]
    fn lossy_number(
        &self,
        start: usize,
        end: usize,
        error: fn(&str) -> DocumentError,
    ) -> DocumentError {
        self.lossy(start, error(self.text.get(start..end).unwrap_or("")))
    }

    #[cold]
    #[inline(never)]
    fn duplicate(&self, key: Node, position: usize) -> DocumentError {
        let name = super::node::string_of(key, self.text, &self.tree.side);
        self.placed(
            error::duplicate_key(name).at_offset(self.text, position),
            false,
        )
    }
}
