//! Identifiers: which names Python can spell, and the names of the classes made from them.

use unicode_ident::{is_xid_continue, is_xid_start};
use unicode_normalization::{UnicodeNormalization, is_nfkc};

/// Longest class name in UTF-16 units, before a collision suffix (C87).
const MAX_CLASS_NAME: usize = 120;

/// Words that no identifier may be. Soft keywords (`match`, `case`, `type`, `_`) may.
const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
    "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
    "with", "yield",
];

/// Whether `name` can be written as a field or method that keeps this very name (C83): Python
/// normalises identifiers and mangles private ones.
pub(super) fn is_expressible(name: &str) -> bool {
    let mut chars = name.chars();
    let Some(first) = chars.next() else {
        return false;
    };
    (first == '_' || is_xid_start(first))
        && chars.all(is_xid_continue)
        && is_nfkc(name)
        && !KEYWORDS.contains(&name)
        && name != "__debug__"
        && (!name.starts_with("__") || name.ends_with("__"))
}

/// Whether a tool of this name becomes a method (C90).
pub(super) fn is_method(name: &str) -> bool {
    is_expressible(name) && !name.starts_with('_')
}

/// The name in camel case, fit to begin or continue a class name (C86).
pub(super) fn camel(name: &str) -> String {
    let mut joined = String::new();
    for part in name.split(|c: char| c == '_' || !is_xid_continue(c)) {
        let mut chars = part.chars();
        if let Some(first) = chars.next() {
            joined.extend(first.to_uppercase());
            joined.push_str(chars.as_str());
        }
    }
    let joined: String = joined.nfkc().collect();
    if joined.chars().next().is_some_and(is_xid_start) {
        joined
    } else {
        format!("Tool{joined}").nfkc().collect()
    }
}

/// Joins two parts of a class name: normalised and cut, never inside a character (C85, C87).
pub(super) fn join(parent: &str, child: &str) -> String {
    let joined: String = format!("{parent}{child}").nfkc().collect();
    let mut units = 0;
    let end = joined
        .char_indices()
        .find(|(_, c)| {
            units += c.len_utf16();
            units > MAX_CLASS_NAME
        })
        .map_or(joined.len(), |(at, _)| at);
    joined[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_expressible_when_python_keeps_it() {
        for name in [
            "a", "_", "_x", "match", "type", "case", "é", "ключ", "__init__", "x9", "None_",
        ] {
            assert!(is_expressible(name), "{name}");
        }
        for name in [
            "",
            "9a",
            "a-b",
            "a b",
            "class",
            "None",
            "__debug__",
            "__x",
            "ﬁnd",
            "a.b",
            "😀",
            "a\n",
        ] {
            assert!(!is_expressible(name), "{name}");
        }
    }

    #[test]
    fn camel_case_splits_at_what_no_identifier_holds() {
        for (name, expected) in [
            ("read_file", "ReadFile"),
            ("my-tool", "MyTool"),
            ("mcp__srv__do", "McpSrvDo"),
            ("ﬁnd", "FInd"),
            ("", "Tool"),
            ("9lives", "Tool9lives"),
            ("a.b c", "ABC"),
            ("ключ", "Ключ"),
            ("ßx", "SSx"),
        ] {
            assert_eq!(camel(name), expected);
        }
    }

    #[test]
    fn a_joined_name_is_cut_between_characters() {
        let long = "é".repeat(130);
        assert_eq!(join(&long, "X").chars().count(), 120);
        let astral = format!("{}{}", "a".repeat(119), "𝒳x");
        // Normalisation turns the mathematical letter into a plain one.
        assert_eq!(join(&astral, "").len(), 120);
        let wide = format!("{}{}", "a".repeat(119), "𐐀b");
        assert_eq!(join(&wide, ""), "a".repeat(119));
    }
}
