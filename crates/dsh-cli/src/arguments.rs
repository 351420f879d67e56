//! From the words of a command line to a call's arguments.

use std::io::Read;

use dsh_schema::{Document, ValueRef};

use crate::exit::Failure;

/// The largest document taken from stdin, in bytes.
const LIMIT: u64 = 64 * 1024 * 1024;

/// Reads ARGS: nothing is `{}`, `-` is JSON on stdin, `key=value` words are read by `schema`, and anything else is JSON.
pub(crate) fn read(words: &[String], schema: Option<&Document>, stdin: impl Read) -> Result<Document, Failure> {
    match words {
        [] => parse("{}", "ARGS"),
        [dash] if dash == "-" => {
            let mut bytes = Vec::new();
            stdin
                .take(LIMIT + 1)
                .read_to_end(&mut bytes)
                .map_err(|error| Failure::usage(format!("cannot read arguments from stdin: {error}")))?;
            if bytes.len() as u64 > LIMIT {
                return Err(Failure::usage(format!("the arguments on stdin are larger than {LIMIT} bytes")));
            }
            let text = String::from_utf8(bytes).map_err(|error| {
                let at = error.utf8_error().valid_up_to();
                Failure::usage(format!("the arguments on stdin are not UTF-8: byte {at}"))
            })?;
            parse(text.trim(), "the arguments on stdin")
        }
        words if words.iter().all(|word| pair(word).is_some()) => pairs(words, schema),
        [json] => parse(json, "ARGS"),
        words => {
            let stray = words.iter().find(|word| pair(word).is_none()).map_or("", String::as_str);
            Err(Failure::usage(format!(
                "ARGS is one JSON text or key=value pairs, and `{stray}` is neither; quote JSON as one word"
            )))
        }
    }
}

fn parse(text: &str, what: &str) -> Result<Document, Failure> {
    Document::parse(text).map_err(|error| {
        Failure::usage(format!("{what} is not JSON that can be used: {error}; give a JSON object or key=value pairs"))
    })
}

/// Splits `key=value`; a word that starts like JSON is not one.
fn pair(word: &str) -> Option<(&str, &str)> {
    let (key, value) = word.split_once('=')?;
    let plain = !key.is_empty() && !key.starts_with(['{', '[', '"']) && !key.contains(char::is_whitespace);
    plain.then_some((key, value))
}

fn pairs(words: &[String], schema: Option<&Document>) -> Result<Document, Failure> {
    let mut members = serde_json::Map::new();
    for (key, value) in words.iter().filter_map(|word| pair(word)) {
        let node = schema.and_then(|schema| schema.root().get("properties")).and_then(|all| all.get(key));
        if members.insert(key.to_owned(), by_type(value, node)).is_some() {
            return Err(Failure::usage(format!("`{key}` is given twice")));
        }
    }
    Document::from_value(&serde_json::Value::Object(members))
        .map_err(|error| Failure::usage(format!("ARGS cannot be used: {error}")))
}

/// Reads a value by the type its schema names. Where a string will do, the text is the string; where it will not, text
/// that is no JSON stays a string, for the tool's own schema to refuse by name.
fn by_type(text: &str, node: Option<ValueRef<'_>>) -> serde_json::Value {
    let string = || serde_json::Value::String(text.to_owned());
    if node.is_some_and(|node| accepts_string(node, 0)) {
        return string();
    }
    match Document::parse(text) {
        Ok(document) => document.to_value(),
        Err(_) => string(),
    }
}

/// Whether a schema node takes strings, as far as its types say.
fn accepts_string(node: ValueRef<'_>, depth: usize) -> bool {
    const DEEP: usize = 16;
    if depth > DEEP {
        return false;
    }
    if let Some(types) = node.get("type") {
        return types.as_str() == Some("string")
            || types.as_array().is_some_and(|types| types.iter().any(|one| one.as_str() == Some("string")));
    }
    ["oneOf", "anyOf"]
        .iter()
        .filter_map(|key| node.get(key))
        .filter_map(ValueRef::as_array)
        .any(|branches| branches.iter().any(|branch| accepts_string(branch, depth + 1)))
        || ["enum"]
            .iter()
            .filter_map(|key| node.get(key))
            .filter_map(ValueRef::as_array)
            .any(|values| values.iter().any(|value| value.as_str().is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Document {
        Document::parse(
            r#"{"type":"object","properties":{
                "s":{"type":"string"},"n":{"type":"number"},"i":{"type":"integer"},"b":{"type":"boolean"},
                "a":{"type":"array"},"u":{"oneOf":[{"type":"string"},{"type":"integer"}]},"z":{"type":["string","null"]},
                "any":{},"e":{"enum":["1","2"]}}}"#,
        )
        .unwrap()
    }

    fn check(words: &[&str], expected: &str) {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let read = read(&words, Some(&schema()), std::io::empty()).unwrap();
        assert_eq!(read.to_json(), expected);
    }

    #[test]
    fn values_are_read_by_the_schemas_type() {
        check(&["s=5", "n=5", "i=5", "b=true"], r#"{"s":"5","n":5,"i":5,"b":true}"#);
        check(&["a=[1,2]", "u=5", "z=null"], r#"{"a":[1,2],"u":"5","z":"null"}"#);
        check(&["any=5", "e=1", "other={\"x\":1}"], r#"{"any":5,"e":"1","other":{"x":1}}"#);
        check(&["i=many", "s="], r#"{"i":"many","s":""}"#);
        check(&["s=a=b"], r#"{"s":"a=b"}"#);
    }

    #[test]
    fn json_is_json_and_nothing_is_an_empty_object() {
        check(&[], "{}");
        check(&[r#"{"s":"a=b"}"#], r#"{"s":"a=b"}"#);
        check(&["[1]"], "[1]");
    }

    #[test]
    fn stdin_is_json() {
        let words = ["-".to_owned()];
        assert_eq!(read(&words, None, &b" {\"a\":1}\n"[..]).unwrap().to_json(), r#"{"a":1}"#);
        assert!(read(&words, None, &b"\xff"[..]).unwrap_err().to_string().contains("not UTF-8"));
    }

    #[test]
    fn what_cannot_be_read_is_a_usage_error() {
        for words in [&["{bad"][..], &["a=1", "a=2"], &["a=1", "{}"], &["word"], &[r#"{"a":1,"a":2}"#]] {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            assert!(read(&words, None, std::io::empty()).is_err(), "{words:?}");
        }
    }
}
