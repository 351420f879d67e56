//! Finding the next token in text that is known to parse.

/// The offset of the first byte at or after `offset` that belongs neither to whitespace nor to a
/// comment.
///
/// Only meaningful between two tokens: inside a string or a template, `//` is not a comment.
pub(super) fn next_token(program: &str, mut offset: usize) -> usize {
    let bytes = program.as_bytes();
    while let Some(&byte) = bytes.get(offset) {
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C => offset += 1,
            b'/' if bytes.get(offset + 1) == Some(&b'/') => offset = line_end(program, offset),
            b'/' if bytes.get(offset + 1) == Some(&b'*') => {
                offset = program[offset + 2..]
                    .find("*/")
                    .map_or(bytes.len(), |length| offset + 2 + length + 2);
            }
            0x80.. => match program[offset..].chars().next() {
                Some(character) if character.is_whitespace() || character == '\u{FEFF}' => {
                    offset += character.len_utf8();
                }
                _ => break,
            },
            _ => break,
        }
    }
    offset
}

/// The offset at which the line of `offset` ends, at one of the four line terminators of ECMAScript.
pub(super) fn line_end(program: &str, offset: usize) -> usize {
    program[offset..]
        .find(is_line_terminator)
        .map_or(program.len(), |length| offset + length)
}

/// Whether the grammar sees a line break in `text`.
pub(super) fn has_line_break(text: &str) -> bool {
    text.contains(is_line_terminator)
}

pub(super) fn is_line_terminator(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

/// The identifier or keyword that starts at `offset`; empty if something else starts there.
pub(super) fn word(program: &str, offset: usize) -> &str {
    let rest = &program[offset..];
    let is_part =
        |character: char| character.is_alphanumeric() || matches!(character, '_' | '$' | '\\');
    &rest[..rest
        .find(|character| !is_part(character))
        .unwrap_or(rest.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_every_kind_of_space_are_skipped() {
        let program = " \t\u{A0}\u{FEFF}\u{2028}/* a */ // b\n// c\u{2029}x";
        assert_eq!(&program[next_token(program, 0)..], "x");
        assert_eq!(next_token("/* open", 0), 7);
        assert_eq!(next_token("a / b", 2), 2);
        assert_eq!(next_token("", 0), 0);
    }

    #[test]
    fn words_end_at_punctuation() {
        assert_eq!(word("readonly x", 0), "readonly");
        assert_eq!(word("#x", 0), "");
        assert_eq!(word("über", 0), "über");
    }
}
