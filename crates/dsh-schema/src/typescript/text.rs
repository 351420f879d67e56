//! Pieces of TypeScript text: keys, string literals, comments, indentation.

/// Appends `text` as a JSON string, which is also a TypeScript (and Python) string literal.
pub(crate) fn push_string(out: &mut String, text: &str) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.push('"');
    let mut rest = 0;
    for (index, byte) in text.bytes().enumerate() {
        let short = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0x08 => "\\b",
            0x0c => "\\f",
            0..0x20 => "",
            _ => continue,
        };
        out.push_str(&text[rest..index]);
        rest = index + 1;
        if short.is_empty() {
            out.push_str("\\u00");
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        } else {
            out.push_str(short);
        }
    }
    out.push_str(&text[rest..]);
    out.push('"');
}

/// Appends a member name: bare when it is a plain ASCII identifier, else quoted (C66).
pub(super) fn push_key(out: &mut String, name: &str) {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$';
    let bare = name
        .bytes()
        .next()
        .is_some_and(|first| !first.is_ascii_digit())
        && name.bytes().all(plain);
    if bare {
        out.push_str(name);
    } else {
        push_string(out, name);
    }
}

/// Appends two spaces for every level.
pub(super) fn push_indent(out: &mut String, level: usize) {
    const SPACES: &str = "                                ";
    let mut left = level * 2;
    while left > 0 {
        let now = left.min(SPACES.len());
        out.push_str(&SPACES[..now]);
        left -= now;
    }
}

/// White space as ECMAScript's `\s` has it: U+FEFF belongs to it, U+0085 does not.
pub(crate) fn is_space(c: char) -> bool {
    c == '\u{feff}' || (c != '\u{85}' && c.is_whitespace())
}

/// Appends a doc comment line for a description; nothing when it is blank (C67 to C69).
pub(super) fn push_doc(out: &mut String, description: &str, level: usize) {
    let mut words = description.split(is_space).filter(|word| !word.is_empty());
    let Some(first) = words.next() else { return };
    push_indent(out, level);
    out.push_str("/** ");
    push_comment_text(out, first);
    for word in words {
        out.push(' ');
        push_comment_text(out, word);
    }
    out.push_str(" */\n");
}

/// Appends text inside a block comment, which it must not be able to end (C68).
pub(super) fn push_comment_text(out: &mut String, text: &str) {
    let mut rest = text;
    while let Some(at) = rest.find("*/") {
        out.push_str(&rest[..at]);
        out.push_str("*\\/");
        rest = &rest[at + 2..];
    }
    out.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(push: impl Fn(&mut String)) -> String {
        let mut out = String::new();
        push(&mut out);
        out
    }

    #[test]
    fn strings_are_json_strings() {
        for text in [
            "",
            "plain",
            "q\"b\\",
            "\n\r\t\u{8}\u{c}",
            "\u{0}\u{1f}\u{7f}",
            "é😀\u{2028}",
        ] {
            let literal = of(|out| push_string(out, text));
            assert_eq!(literal, serde_json::to_string(text).unwrap());
        }
    }

    #[test]
    fn keys_are_bare_only_when_plain_ascii() {
        for bare in ["a", "_x", "$", "class", "__proto__", "A9"] {
            assert_eq!(of(|out| push_key(out, bare)), bare);
        }
        for (name, quoted) in [
            ("", "\"\""),
            ("9a", "\"9a\""),
            ("a-b", "\"a-b\""),
            ("é", "\"é\""),
            ("a b", "\"a b\""),
        ] {
            assert_eq!(of(|out| push_key(out, name)), quoted);
        }
    }

    #[test]
    fn docs_collapse_space_and_cannot_end_the_comment() {
        assert_eq!(
            of(|out| push_doc(out, " a\n\tb\u{2028}c ", 1)),
            "  /** a b c */\n"
        );
        assert_eq!(
            of(|out| push_doc(out, "x */ y */", 0)),
            "/** x *\\/ y *\\/ */\n"
        );
        assert_eq!(of(|out| push_doc(out, "**/", 0)), "/** **\\/ */\n");
        assert_eq!(of(|out| push_doc(out, " \n ", 3)), "");
        assert_eq!(of(|out| push_doc(out, "", 3)), "");
    }
}
