//! Strings: escapes, surrogates, control characters.

use dsh_schema::{Document, DocumentErrorKind as Error};

use crate::{check_refused, parsed, refused};

#[track_caller]
fn check_string(text: &str, value: &str) {
    assert_eq!(parsed(text).root().as_str(), Some(value), "{text}");
    assert_eq!(serde_json::from_str::<String>(text).unwrap(), value);
    // As key, and after other escaped strings.
    let object = parsed(&format!("{{\"first\\n\":\"\\t\",{text}:{text}}}"));
    assert_eq!(
        object.root().get(value).and_then(|value| value.as_str()),
        Some(value),
        "{text}"
    );
    // As Rust value.
    let built = Document::string(value);
    assert_eq!(built.root().as_str(), Some(value));
    assert_eq!(parsed(built.text()), built);
    assert_eq!(Document::from(value), built);
}

#[test]
fn escapes_are_decoded() {
    check_string(r#""""#, "");
    check_string(r#""plain""#, "plain");
    check_string(r#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t");
    check_string(r#""a\u0041b\u00e9\u4E2d""#, "aAbé中");
    check_string(r#""\u0000\u001f\u007f""#, "\0\u{1f}\u{7f}");
    check_string(r#""\ud83d\ude00 \uD83D\uDE00""#, "😀 😀");
    check_string(r#""\ud800\udc00\udbff\udfff""#, "\u{10000}\u{10ffff}");
    check_string(r#""\ud7ff\ue000\uffff""#, "\u{d7ff}\u{e000}\u{ffff}");
    check_string("\"é中😀\u{7f}\u{80}\u{2028}\"", "é中😀\u{7f}\u{80}\u{2028}");
}

#[test]
fn escapes_are_found_at_any_place() {
    for before in 0..150 {
        for after in [0, 1, 7, 8, 9, 63, 64, 65, 130] {
            let (before, after) = (
                "é".repeat(before / 2) + &"x".repeat(before % 2),
                "y".repeat(after),
            );
            check_string(
                &format!("\"{before}\\n{after}\""),
                &format!("{before}\n{after}"),
            );
        }
    }
}

/// D16, T48.
#[test]
fn unpaired_surrogates_are_refused_with_their_position() {
    check_refused(
        r#"{"a":["x\ud800"]}"#,
        Error::UnpairedSurrogate,
        "escape `\\ud800` is half of a surrogate pair at `a[0]` at line 1 column 9",
    );
    for text in [
        r#""\ud800""#,
        r#""\udbff""#,
        r#""\udc00""#,
        r#""\udfff""#,
        r#""\ud800x""#,
        r#""\ud800\n""#,
        r#""\ud800\u0041""#,
        r#""\ud800\ud800""#,
        r#""\udc00\ud800""#,
        r#""\ud83d\ude00\ude00""#,
        r#""\ud800\ud83d\ude00""#,
    ] {
        let error = refused(text);
        assert_eq!(error.kind(), Error::UnpairedSurrogate, "{text}");
        assert!(error.kind().is_lossy());
    }
    // In a key the path is that of the object.
    let error = refused(r#"{"a":{"b":1,"\ud800":2}}"#);
    assert_eq!((error.path(), error.column()), (Some("a"), Some(14)));
    // Malformed escapes are syntax errors still.
    assert_eq!(refused(r#""\ud800\u12"#).kind(), Error::Syntax);
}

#[test]
fn control_characters_are_refused() {
    for control in 0..0x20_u8 {
        for padding in [0, 5, 8, 70] {
            let error = refused(&format!(
                "\"{}{}\"",
                "x".repeat(padding),
                char::from(control)
            ));
            assert_eq!(error.kind(), Error::Syntax);
            assert_eq!(error.offset(), Some(padding + 1));
            assert_eq!(
                error.message(),
                format!("control character U+{control:04X} in a string; write it as an escape")
            );
        }
    }
}

#[test]
fn unfinished_strings_are_refused() {
    check_refused(
        "[\"abc",
        Error::Syntax,
        "the text ends inside a string at line 1 column 6",
    );
    check_refused(
        "\"a\\q\"",
        Error::Syntax,
        "invalid escape in a string at line 1 column 3",
    );
    check_refused(
        "\"\\u00é0\"",
        Error::Syntax,
        "`\\u` must be followed by four hexadecimal digits at line 1 column 2",
    );
}
