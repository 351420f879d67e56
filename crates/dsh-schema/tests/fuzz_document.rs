//! Fuzzes the document parser: `cargo bolero test -p dsh-schema --test fuzz_document parser_is_total` explores; a plain
//! `cargo test` runs a quick random sample.

use dsh_schema::{Document, DocumentErrorKind, Kind, ValueRef};
use serde_json::Value;

#[test]
fn parser_is_total() {
    bolero::check!()
        .with_type::<Vec<u8>>()
        .for_each(|bytes| check(&String::from_utf8_lossy(bytes)));
}

/// Random bytes are seldom JSON; these are more often.
#[test]
fn parser_is_total_on_near_json() {
    bolero::check!().with_type::<Vec<u8>>().for_each(|bytes| {
        const TOKENS: [&str; 32] = [
            "[",
            "]",
            "{",
            "}",
            ",",
            ":",
            "\"a\":",
            "\"b\":",
            "\"\\u0061\":",
            "\"x\"",
            "\"\\ud83d\\ude00\"",
            "\"\\ud800\"",
            "null",
            "true",
            "false",
            "0",
            "-",
            "1",
            "2.0",
            "1e2",
            "-0",
            "18446744073709551615",
            "9007199254740993.0",
            "1e20",
            "0.1",
            "1e400",
            " ",
            "\n",
            "\"",
            "\\",
            "é",
            "99999999999999999999",
        ];
        let text: String = bytes
            .iter()
            .map(|byte| TOKENS[usize::from(*byte) % TOKENS.len()])
            .collect();
        check(&text);
        check(&format!("[{text}]"));
    });
}

fn check(text: &str) {
    match Document::parse(text) {
        Ok(document) => {
            let value: Value = serde_json::from_str(text)
                .unwrap_or_else(|error| panic!("{text:?} is no JSON: {error}"));
            assert!(agree(document.root(), &value), "{text:?}");
            assert_eq!(document.text(), text);
            let json = document.to_json();
            match Document::parse(json.as_str()) {
                Ok(again) => {
                    assert_eq!(again, document);
                    assert_eq!(again.to_json(), json);
                }
                // ECMAScript spells doubles from 2^63 to 10^21 like integers.
                Err(error) => assert_eq!(
                    error.kind(),
                    DocumentErrorKind::IntegerRange,
                    "{text:?}: {error}"
                ),
            }
            let copy = Document::from_serialize(&document)
                .unwrap_or_else(|error| panic!("{text:?}: {error}"));
            assert_eq!(copy, document);
            assert_eq!(Document::parse(copy.text()), Ok(copy));
        }
        Err(error) => {
            assert!(
                error
                    .offset()
                    .is_some_and(|offset| offset <= text.len() && text.is_char_boundary(offset))
            );
            assert!(!error.to_string().is_empty());
            if error.kind() == DocumentErrorKind::Syntax {
                assert!(
                    serde_json::from_str::<Value>(text).is_err(),
                    "{text:?} is JSON: {error}"
                );
            }
        }
    }
}

/// Whether document and value are the same, apart from integers that `serde_json` rounds.
fn agree(document: ValueRef<'_>, value: &Value) -> bool {
    match (document.kind(), value) {
        (Kind::Null, Value::Null) => true,
        (Kind::Bool, Value::Bool(value)) => document.as_bool() == Some(*value),
        (Kind::Integer | Kind::Float, Value::Number(number)) => {
            document.as_f64() == number.as_f64()
        }
        (Kind::String, Value::String(value)) => document.as_str() == Some(value),
        (Kind::Array, Value::Array(items)) => document.as_array().is_some_and(|array| {
            array.len() == items.len()
                && array
                    .iter()
                    .zip(items)
                    .all(|(item, value)| agree(item, value))
        }),
        (Kind::Object, Value::Object(members)) => document.as_object().is_some_and(|object| {
            object.len() == members.len()
                && object
                    .iter()
                    .zip(members)
                    .all(|((key, item), (other, value))| key == other && agree(item, value))
        }),
        _ => false,
    }
}
