//! A scan for nesting that no parser on a normal stack survives.
//!
//! The parser recurses for everything that nests: brackets, but also `!!!x`, `a ? b : c ? d : e`,
//! `a => b => c` or `if (a) if (b) c`. The scan knows just enough of the lexical grammar to count such
//! levels in code and not in strings, comments and regular expressions. Where the text alone does not
//! tell (a `/` after `)`), it guesses, so the count is an estimate: good enough to answer nesting by
//! accident or by habit with a diagnostic, and far enough from what real programs contain.

use super::trivia;

/// How many levels may be open at one place.
pub(super) const MAX_LEVELS: usize = 256;

pub(super) const MESSAGE: &str = "the program is nested too deeply, more than 256 levels: use \
                                  variables, functions or loops to flatten it";

/// The offset at which the program first opens more than [`MAX_LEVELS`] levels.
pub(super) fn too_deep(program: &str) -> Option<usize> {
    Scan {
        program,
        offset: 0,
        frames: vec![Frame::new(Opener::Brace)],
        levels: 0,
        last: Last::Operator,
        line_break: false,
    }
    .run()
}

/// What the previous token means for the next one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    /// The end of an expression: a `/` divides, and a word begins something new.
    Operand,
    /// A binary or prefix operator, or an opening bracket.
    Operator,
    /// A `;`.
    Semicolon,
    /// A `.`: whatever word follows is a name.
    Dot,
    /// `if`, `while`, `for`, `with`: the bracket that follows is not an operand.
    Control,
    /// `else`, `do` or the bracket of a control statement: a statement follows that is part of it.
    Nested,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Opener {
    Parenthesis,
    ControlParenthesis,
    Bracket,
    Brace,
    /// `${` in a template.
    Template,
    /// `<`, which may be a comparison.
    Angle,
}

/// An open bracket, and the levels opened without brackets inside it.
struct Frame {
    opener: Opener,
    /// Operators and keywords in the current statement that nest to the right.
    pending: usize,
    /// The length of the current `else if` chain.
    elses: usize,
}

impl Frame {
    fn new(opener: Opener) -> Self {
        Self {
            opener,
            pending: 0,
            elses: 0,
        }
    }
}

struct Scan<'t> {
    program: &'t str,
    offset: usize,
    frames: Vec<Frame>,
    /// All frames and everything counted in them.
    levels: usize,
    last: Last,
    /// Whether a line break came before the current token.
    line_break: bool,
}

impl Scan<'_> {
    fn run(mut self) -> Option<usize> {
        let bytes = self.program.as_bytes();
        while let Some(&byte) = bytes.get(self.offset) {
            if self.levels > MAX_LEVELS {
                return Some(self.offset);
            }
            let next = bytes.get(self.offset + 1).copied().unwrap_or(0);
            match byte {
                b'\n' | b'\r' => self.skip_space(true),
                b' ' | b'\t' | 0x0B | 0x0C => self.skip_space(false),
                b'/' if next == b'/' => self.offset = trivia::line_end(self.program, self.offset),
                b'/' if next == b'*' => self.skip_comment(),
                b'"' | b'\'' => {
                    self.begin_operand();
                    self.skip_string(byte);
                }
                b'`' => {
                    self.offset += 1;
                    self.skip_template();
                }
                b'/' if self.last != Last::Operand => self.skip_regex(),
                b'(' if self.last == Last::Control => self.open(Opener::ControlParenthesis),
                b'(' => self.open(Opener::Parenthesis),
                b'[' => self.open(Opener::Bracket),
                b'{' => self.open(Opener::Brace),
                b')' | b']' | b'}' => self.close(),
                b';' | b',' => self.end_statement(byte == b';'),
                b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' | b'\\' | b'0'..=b'9' | 0x80.. => {
                    self.word();
                }
                _ => self.operator(byte, next),
            }
        }
        (self.levels > MAX_LEVELS).then_some(self.offset)
    }

    fn top(&mut self) -> &mut Frame {
        if self.frames.is_empty() {
            // More brackets were closed than opened: a syntax error that the parser will report.
            self.frames.push(Frame::new(Opener::Brace));
        }
        let top = self.frames.len() - 1;
        &mut self.frames[top]
    }

    fn pend(&mut self) {
        self.top().pending += 1;
        self.levels += 1;
    }

    /// Forgets what the current statement or list item has opened.
    fn reset(&mut self) {
        self.close_angles();
        let pending = std::mem::take(&mut self.top().pending);
        self.levels -= pending;
    }

    fn end_statement(&mut self, statement: bool) {
        if statement || self.top().opener != Opener::Angle {
            self.reset();
        } else {
            let pending = std::mem::take(&mut self.top().pending);
            self.levels -= pending;
        }
        self.last = if statement {
            Last::Semicolon
        } else {
            Last::Operator
        };
        self.advance(1);
    }

    /// An expression begins; right after another one, that means that a new statement does.
    fn begin_operand(&mut self) {
        if self.last == Last::Operand {
            self.reset();
        }
        self.last = Last::Operand;
        self.line_break = false;
    }

    fn advance(&mut self, bytes: usize) {
        self.offset += bytes;
        self.line_break = false;
    }

    fn open(&mut self, opener: Opener) {
        self.frames.push(Frame::new(opener));
        self.levels += 1;
        self.last = Last::Operator;
        self.advance(1);
    }

    /// Removes the innermost frame and everything counted in it.
    fn pop(&mut self) -> Option<Opener> {
        // The outermost frame stands for the program; it was not counted as a level.
        if self.frames.len() < 2 {
            self.reset_frame();
            return None;
        }
        let frame = self.frames.pop()?;
        self.levels -= 1 + frame.pending + frame.elses;
        Some(frame.opener)
    }

    fn reset_frame(&mut self) {
        let frame = self.top();
        let counted = std::mem::take(&mut frame.pending) + std::mem::take(&mut frame.elses);
        self.levels -= counted;
    }

    fn close_angles(&mut self) {
        while self.frames.len() > 1 && self.top().opener == Opener::Angle {
            self.pop();
        }
    }

    fn close(&mut self) {
        self.close_angles();
        let opener = self.pop();
        self.last = match opener {
            Some(Opener::ControlParenthesis) => Last::Nested,
            _ => Last::Operand,
        };
        self.advance(1);
        if opener == Some(Opener::Template) {
            self.skip_template();
        }
    }

    fn word(&mut self) {
        let word = trivia::word(self.program, self.offset);
        let length = word.len().max(
            self.program[self.offset..]
                .chars()
                .next()
                .map_or(1, char::len_utf8),
        );
        if self.last == Last::Dot {
            self.last = Last::Operand;
            return self.advance(length);
        }
        let after_operand = self.last == Last::Operand;
        let begins_statement = after_operand || self.last == Last::Semicolon;
        match word {
            "else" => {
                // An `else` continues the statement before it, whatever that ended with.
                self.top().elses += 1;
                self.levels += 1;
                self.last = Last::Nested;
                return self.advance(length);
            }
            "as" | "satisfies" | "in" | "of" | "instanceof" | "is" if after_operand => {
                self.last = Last::Operator;
            }
            "extends" | "implements" => {
                self.pend();
                self.last = Last::Operator;
            }
            "if" | "for" | "while" | "with" => {
                if begins_statement {
                    self.reset();
                }
                self.pend();
                self.last = Last::Control;
            }
            "await" if self.last == Last::Control => {}
            "typeof" | "void" | "delete" | "await" | "new" | "yield" | "keyof" | "infer"
            | "readonly" | "unique" | "asserts" | "do" | "return" => {
                if begins_statement {
                    self.reset();
                }
                if word != "return" {
                    self.pend();
                }
                // These also stand alone: `(): void` ends in a type, and `return` may end a statement.
                let ends_line = trivia::has_line_break(
                    &self.program
                        [self.offset..trivia::next_token(self.program, self.offset + length)],
                );
                self.last = match word {
                    "do" => Last::Nested,
                    "void" | "readonly" | "unique" | "return" if ends_line => Last::Operand,
                    _ => Last::Operator,
                };
            }
            "async" | "function" | "class" | "throw" | "const" | "let" | "var" | "case"
            | "default" | "static" => {
                if begins_statement || matches!(word, "case" | "default") {
                    self.reset();
                }
                self.last = Last::Operator;
            }
            _ => self.begin_operand(),
        }
        // A statement that is not the `else` of the one before ends a chain of them.
        if begins_statement && self.top().elses > 0 {
            let elses = std::mem::take(&mut self.top().elses);
            self.levels -= elses;
        }
        self.advance(length);
    }

    fn operator(&mut self, byte: u8, next: u8) {
        let after_operand = self.last == Last::Operand;
        let mut length = 1;
        match (byte, next) {
            (b'.', _) => {
                self.last = if next == b'.' {
                    Last::Operator
                } else {
                    Last::Dot
                };
                return self.advance(1);
            }
            (b'?', b'.' | b'?') => {
                length = 2;
                if next == b'.' {
                    self.last = Last::Dot;
                    return self.advance(2);
                }
            }
            (b'=', b'=') | (b'!' | b'<' | b'>', b'=') | (b'&', b'&') | (b'|', b'|') => length = 2,
            (b'=', b'>') | (b'*', b'*') => {
                self.pend();
                length = 2;
            }
            (b'+', b'+') | (b'-', b'-') if after_operand && !self.line_break => {
                return self.advance(2);
            }
            (b'!', _) if after_operand && !self.line_break => return self.advance(1),
            (b'!' | b'~' | b'?' | b'=' | b':', _) => self.pend(),
            (b'+' | b'-', _) if !after_operand => self.pend(),
            // A private name, perhaps of the next member of a class.
            (b'#', _) if after_operand => self.reset(),
            (b'<', b'<') => length = 2,
            (b'<', _) => return self.open(Opener::Angle),
            (b'>', _) if self.top().opener == Opener::Angle => {
                self.pop();
                self.last = Last::Operand;
                return self.advance(1);
            }
            _ => {}
        }
        self.last = Last::Operator;
        self.advance(length);
    }

    fn skip_space(&mut self, line_break: bool) {
        self.line_break |= line_break;
        self.offset += 1;
    }

    fn skip_comment(&mut self) {
        let rest = &self.program[self.offset + 2..];
        let length = rest.find("*/").map_or(rest.len(), |length| length + 2);
        self.line_break |= trivia::has_line_break(&rest[..length]);
        self.offset += 2 + length;
    }

    /// Skips to the end of a string, or of the line if that comes first.
    fn skip_string(&mut self, quote: u8) {
        let bytes = self.program.as_bytes();
        let mut offset = self.offset + 1;
        while let Some(&byte) = bytes.get(offset) {
            match byte {
                b'\\' => offset += 1,
                b'\n' => break,
                _ if byte == quote => {
                    offset += 1;
                    break;
                }
                _ => {}
            }
            offset += 1;
        }
        self.offset = self.boundary(offset);
    }

    /// Skips the text of a template up to its end or to the next `${`, which it opens.
    fn skip_template(&mut self) {
        let bytes = self.program.as_bytes();
        while let Some(&byte) = bytes.get(self.offset) {
            self.offset += 1;
            match byte {
                b'\\' => self.offset = self.boundary(self.offset + 1),
                b'`' => break,
                b'$' if bytes.get(self.offset) == Some(&b'{') => {
                    return self.open(Opener::Template);
                }
                _ => {}
            }
        }
        self.offset = self.boundary(self.offset);
        self.last = Last::Operand;
        self.line_break = false;
    }

    /// Skips a regular expression. One that does not end on its line was a division after all.
    fn skip_regex(&mut self) {
        let bytes = self.program.as_bytes();
        let (mut offset, mut in_class) = (self.offset + 1, false);
        while let Some(&byte) = bytes.get(offset) {
            match byte {
                b'\\' => offset += 1,
                b'\n' => break,
                b'[' => in_class = true,
                b']' => in_class = false,
                b'/' if !in_class => {
                    self.offset = offset + 1;
                    self.last = Last::Operand;
                    self.line_break = false;
                    return;
                }
                _ => {}
            }
            offset += 1;
        }
        self.last = Last::Operator;
        self.advance(1);
    }

    /// The next offset at which a character begins.
    fn boundary(&self, mut offset: usize) -> usize {
        while offset < self.program.len() && !self.program.is_char_boundary(offset) {
            offset += 1;
        }
        offset.min(self.program.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(shape: &str, count: usize) -> Option<usize> {
        too_deep(&shape.repeat(count))
    }

    #[test]
    fn everything_that_nests_is_counted() {
        for shape in [
            "(",
            "[",
            "{",
            "[{",
            "f(",
            "`${",
            "!",
            "~",
            "- ",
            "+ ",
            "typeof ",
            "await ",
            "new ",
            "a ? ",
            "a ? b : ",
            "a = ",
            "a => ",
            "async a => ",
            "a ** ",
            "if (a) ",
            "while (a) ",
            "for (;;) ",
            "do ",
            "if (a) {} else ",
            "if (a) b; else ",
            "class A extends ",
            "A<",
            "A<B, ",
            "keyof ",
            "a: ",
            "() => ",
            "T extends U ? V : ",
            "readonly ",
            "(a = ",
            "[']',",
            "[/]/, ",
            "[`]`, ",
            "[/* ] */",
            "[// ]\n",
            "(async () => { ",
            "{ a: [",
        ] {
            assert!(
                levels(shape, MAX_LEVELS + 1).is_some(),
                "{shape} is not counted"
            );
            assert_eq!(levels(shape, 20), None, "{shape} is counted too much");
        }
    }

    #[test]
    fn nothing_else_is_counted() {
        for shape in [
            "f();\n",
            "f()\n",
            "a = 1\n",
            "const a = [b, c]\n",
            "x = y ? 1 : 2\n",
            "!a;",
            "if (a) b\n",
            "if (a) { b }\n",
            "if (a) b; else c\n",
            "if (a) { b } else { c }\n",
            "a < b;",
            "a < b\n",
            "if (a < b) c;",
            "f(a, [b], {c: d});",
            "'(';",
            "\"[\";",
            "`(`;",
            "/[(]/;\n",
            "// (\n",
            "/* ( */",
            "a.if(b)\n",
            "`${a}`;",
            "type A = B<C<D>>;",
            "interface A { a?: () => void\n b: c }\n",
            "case 1: ",
            "a => b;",
            "{ a: b },",
            "x as T\n",
            "a?.b?.[c] ?? d;",
            "i++\n",
            "a\n++b\n",
            "function f<T>(a: T): T { return a }\n",
            "class A extends B { c = 1\n d = 2 }\n",
            "+1,",
            "await f(a)\n",
            "for (let i = 0; i < n; i++) a\n",
            "a = b / c / d\n",
            "x = (a) / 2\n",
            "a >> b, ",
            "do { a } while (b)\n",
            "return a\n",
            "if (a) return\n",
            "if (a) b; else c;\n",
            "#a = b\n",
            "x = a < b\n",
            "const a = <T,>(b: T) => b\n",
        ] {
            assert_eq!(levels(shape, 4 * MAX_LEVELS), None, "{shape} is counted");
        }
        let members = "a?: (b: c) => void\n readonly d: e\n".repeat(4 * MAX_LEVELS);
        assert_eq!(too_deep(&format!("interface A {{ {members} }}")), None);
    }

    #[test]
    fn any_text_is_scanned_to_its_end() {
        for text in [
            "",
            ")",
            "}}}`",
            "`\\",
            "'\\",
            "/\\",
            "\\",
            "é/*",
            "<>",
            "`${`${",
            "😀😀",
            "\\é'\\é",
        ] {
            assert_eq!(too_deep(text), None, "{text}");
        }
    }
}
