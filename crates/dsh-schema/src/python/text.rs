//! Descriptions and literals.

use crate::typescript::text::{is_space, push_string};
use crate::{Kind, ValueRef};

/// Largest integer that a double counts exactly.
const SAFE: f64 = 9_007_199_254_740_991.0;

/// A description as one line; `None` when it is blank (C92).
pub(super) fn one_line(description: &str) -> Option<String> {
    let mut line = String::with_capacity(description.len());
    for word in description.split(is_space).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        for c in word.chars() {
            match u32::from(c) {
                code @ (0..0x20 | 0x7f..0xa0) => line.push_str(&format!("\\x{code:02x}")),
                _ => line.push(c),
            }
        }
    }
    (!line.is_empty()).then_some(line)
}

/// A description as it stands between triple quotes.
pub(super) fn docstring(line: &str) -> String {
    line.replace('\\', "\\\\").replace('"', "\\\"")
}

/// Appends a scalar as a literal (C77, C78).
pub(super) fn push_scalar(out: &mut String, value: ValueRef<'_>) {
    match value.kind() {
        Kind::Bool => out.push_str(if value.as_bool() == Some(true) {
            "True"
        } else {
            "False"
        }),
        Kind::String => push_string(out, value.as_str().unwrap_or_default()),
        Kind::Float => match value.as_f64() {
            Some(number) if number.fract() == 0.0 && number.abs() > SAFE => {
                out.push_str(&format!("{number:.0}"));
            }
            _ => value.write_json(out),
        },
        Kind::Null => out.push_str("None"),
        _ => value.write_json(out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Document;

    #[test]
    fn a_description_is_one_line_without_control_characters() {
        assert_eq!(
            one_line(" a\r\n  b\u{2028}c\u{feff}").as_deref(),
            Some("a b c")
        );
        assert_eq!(
            one_line("x\u{0}\u{7f}\u{85}\u{9f}y").as_deref(),
            Some("x\\x00\\x7f\\x85\\x9fy")
        );
        assert_eq!(
            one_line("zero\u{200b}width").as_deref(),
            Some("zero\u{200b}width")
        );
        assert_eq!(one_line(" \n\u{2029}"), None);
        assert_eq!(docstring(r#"say "\n" \"#), r#"say \"\\n\" \\"#);
    }

    #[test]
    fn integral_numbers_are_written_in_full() {
        for (text, expected) in [
            ("1", "1"),
            ("1152921504606846976", "1152921504606846976"),
            ("1e21", "1000000000000000000000"),
            ("-1e21", "-1000000000000000000000"),
            ("1e-7", "1e-7"),
            ("1.5", "1.5"),
            ("true", "True"),
            ("false", "False"),
            ("\"a\\\"b\\u2028\"", "\"a\\\"b\u{2028}\""),
        ] {
            let document = Document::parse(text).unwrap();
            let mut out = String::new();
            push_scalar(&mut out, document.root());
            assert_eq!(out, expected);
        }
    }
}
