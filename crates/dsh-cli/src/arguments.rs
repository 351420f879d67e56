//! From the words of a command line to a call's arguments.

use std::io::Read;

use dsh_schema::{Document, DocumentError, ValueRef};

use crate::exit::Failure;
use crate::hint;

/// The largest document taken from stdin, in bytes.
const LIMIT: u64 = 64 * 1024 * 1024;

/// How deep a schema is searched for its types, references included.
const DEEP: usize = 16;

/// Reads ARGS: nothing is `{}`, `-` is JSON on stdin, `key=value` words are read by `schema`, and anything else is JSON.
pub(crate) fn read(
    words: &[String],
    schema: Option<&Document>,
    stdin: impl Read,
) -> Result<Document, Failure> {
    match words {
        [] => parse("{}", "ARGS"),
        [dash] if dash == "-" => from_stdin(stdin),
        words if words.iter().all(|word| pair(word).is_some()) => pairs(words, schema),
        [json] => parse(json, "ARGS"),
        words => {
            let stray = words
                .iter()
                .find(|word| pair(word).is_none())
                .map_or("", String::as_str);
            Err(Failure::usage(format!(
                "ARGS is one JSON text or key=value pairs, and `{stray}` is neither; quote JSON as one word"
            )))
        }
    }
}

fn from_stdin(stdin: impl Read) -> Result<Document, Failure> {
    let mut bytes = Vec::new();
    stdin
        .take(LIMIT + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::usage(format!("cannot read arguments from stdin: {error}")))?;
    if bytes.len() as u64 > LIMIT {
        return Err(Failure::usage(format!(
            "stdin has more than {LIMIT} bytes; that is the limit of arguments"
        )));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::usage(format!(
            "stdin is not UTF-8 at byte {at}; give the arguments as JSON in UTF-8"
        ))
    })?;
    if text.trim().is_empty() {
        return Err(Failure::usage(
            "stdin is empty; give the arguments as a JSON object",
        ));
    }
    parse(&text, "stdin")
}

fn parse(text: &str, what: &str) -> Result<Document, Failure> {
    Document::parse(text).map_err(|error| {
        let place = place(&error);
        let message = error.message();
        Failure::usage(if error.kind().is_lossy() {
            format!("{what} cannot be used as arguments{place}: {message}")
        } else {
            format!("{what} is not JSON{place}: {message}; give a JSON object or key=value pairs")
        })
    })
}

/// Where an error is, as ` at line 1, column 2, in `key``.
fn place(error: &DocumentError) -> String {
    let mut place = String::new();
    if let (Some(line), Some(column)) = (error.line(), error.column()) {
        place = format!(" at line {line}, column {column}");
    }
    if let Some(path) = error.path().filter(|path| !path.is_empty()) {
        place.push_str(&format!(", in `{path}`"));
    }
    place
}

/// Splits `key=value`; a word that starts like JSON is not one.
fn pair(word: &str) -> Option<(&str, &str)> {
    let (key, value) = word.split_once('=')?;
    let plain =
        !key.is_empty() && !key.starts_with(['{', '[', '"']) && !key.contains(char::is_whitespace);
    plain.then_some((key, value))
}

fn pairs(words: &[String], schema: Option<&Document>) -> Result<Document, Failure> {
    let root = schema.map(Document::root);
    let mut members = serde_json::Map::new();
    for (key, value) in words.iter().filter_map(|word| pair(word)) {
        let node = root
            .and_then(|root| root.get("properties"))
            .and_then(|all| all.get(key));
        if node.is_none()
            && let Some(stray) = root.and_then(|root| hint::stray_key(root, key))
        {
            tracing::warn!("{stray}");
        }
        if members
            .insert(key.to_owned(), by_type(key, value, root.zip(node))?)
            .is_some()
        {
            return Err(Failure::usage(format!(
                "`{key}` is given twice; give one value, or JSON"
            )));
        }
    }
    Document::from_owned_value(serde_json::Value::Object(members))
        .map_err(|error| Failure::usage(format!("ARGS cannot be used as arguments: {error}")))
}

/// Reads a value by the type that its schema, the second of `(root, node)`, names. Where a string will do, the text is
/// the string; where it will not, text that is no JSON stays a string, for the tool's own schema to refuse by name.
fn by_type(
    key: &str,
    text: &str,
    schema: Option<(ValueRef<'_>, ValueRef<'_>)>,
) -> Result<serde_json::Value, Failure> {
    let string = || serde_json::Value::String(text.to_owned());
    if schema.is_some_and(|(root, node)| accepts_string(root, node, DEEP)) {
        return Ok(string());
    }
    match Document::parse(text) {
        Ok(document) => Ok(document.to_value()),
        // The text is JSON that would lose something; as a string it would be refused for the wrong reason.
        Err(error) if error.kind().is_lossy() => Err(Failure::usage(format!(
            "`{key}` cannot be used as an argument: {}",
            error.message()
        ))),
        Err(_) => Ok(string()),
    }
}

/// Whether a schema node takes strings, as far as its types say.
fn accepts_string(root: ValueRef<'_>, node: ValueRef<'_>, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    if let Some(reference) = node.get("$ref").and_then(ValueRef::as_str) {
        return referenced(root, reference).is_some_and(|node| accepts_string(root, node, depth));
    }
    if let Some(types) = node.get("type") {
        return types.as_str() == Some("string")
            || types
                .as_array()
                .is_some_and(|types| types.iter().any(|one| one.as_str() == Some("string")));
    }
    let members = |key| {
        node.get(key)
            .and_then(ValueRef::as_array)
            .into_iter()
            .flat_map(|all| all.iter())
    };
    node.get("const")
        .is_some_and(|value| value.as_str().is_some())
        || members("enum").any(|value| value.as_str().is_some())
        || members("oneOf")
            .chain(members("anyOf"))
            .any(|branch| accepts_string(root, branch, depth))
}

/// The node that a local reference such as `#/$defs/name` names.
fn referenced<'a>(root: ValueRef<'a>, reference: &str) -> Option<ValueRef<'a>> {
    let mut node = root;
    for step in reference.strip_prefix('#')?.split('/').skip(1) {
        node = node.get(&step.replace("~1", "/").replace("~0", "~"))?;
    }
    Some(node)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Document {
        Document::parse(
            r##"{"type":"object","properties":{
                "s":{"type":"string"},"n":{"type":"number"},"i":{"type":"integer"},"b":{"type":"boolean"},
                "a":{"type":"array"},"u":{"oneOf":[{"type":"string"},{"type":"integer"}]},"z":{"type":["string","null"]},
                "any":{},"e":{"enum":["1","2"]},"c":{"const":"1"},"text":{"$ref":"#/$defs/a~1b"},
                "number":{"$ref":"#/$defs/number"},"loop":{"$ref":"#/properties/loop"},"lost":{"$ref":"#/nowhere"}},
                "$defs":{"a/b":{"type":"string"},"number":{"type":"number"}}}"##,
        )
        .unwrap()
    }

    fn check(words: &[&str], expected: &str) {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let read = read(&words, Some(&schema()), std::io::empty()).unwrap();
        assert_eq!(read.to_json(), expected);
    }

    fn refusal(words: &[&str], stdin: &[u8]) -> String {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        read(&words, Some(&schema()), stdin)
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn values_are_read_by_the_schemas_type() {
        check(
            &["s=5", "n=5", "i=5", "b=true"],
            r#"{"s":"5","n":5,"i":5,"b":true}"#,
        );
        check(
            &["a=[1,2]", "u=5", "z=null"],
            r#"{"a":[1,2],"u":"5","z":"null"}"#,
        );
        check(
            &["any=5", "e=1", "c=1", "other={\"x\":1}"],
            r#"{"any":5,"e":"1","c":"1","other":{"x":1}}"#,
        );
        check(&["i=many", "s="], r#"{"i":"many","s":""}"#);
        check(&["s=a=b"], r#"{"s":"a=b"}"#);
    }

    #[test]
    fn local_references_are_followed() {
        check(
            &["text=5", "number=5", "loop=5", "lost=5"],
            r#"{"text":"5","number":5,"loop":5,"lost":5}"#,
        );
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
        assert_eq!(
            read(&words, None, &b" {\"a\":1}\n"[..]).unwrap().to_json(),
            r#"{"a":1}"#
        );
        assert_eq!(
            refusal(&["-"], b"{\"a\xff"),
            "stdin is not UTF-8 at byte 3; give the arguments as JSON in UTF-8"
        );
        assert_eq!(
            refusal(&["-"], b" \n"),
            "stdin is empty; give the arguments as a JSON object"
        );
        assert_eq!(
            refusal(&["-"], b"{\n  \"a\": -0}"),
            "stdin cannot be used as arguments at line 2, column 8, in `a`: `-0` is negative zero; write `0`"
        );
    }

    #[test]
    fn stdin_has_a_limit() {
        let endless = std::io::repeat(b' ');
        let error = read(&["-".to_owned()], None, endless).unwrap_err();
        assert_eq!(
            error.to_string(),
            "stdin has more than 67108864 bytes; that is the limit of arguments"
        );
    }

    #[test]
    fn what_cannot_be_read_says_where_and_what_to_do() {
        assert_eq!(
            refusal(&["{bad"], b""),
            "ARGS is not JSON at line 1, column 2: expected a key in double quotes or `}`, found `b`; \
             give a JSON object or key=value pairs"
        );
        assert_eq!(
            refusal(&["s=1", "s=2"], b""),
            "`s` is given twice; give one value, or JSON"
        );
        assert_eq!(
            refusal(&["s=1", "{}"], b""),
            "ARGS is one JSON text or key=value pairs, and `{}` is neither; quote JSON as one word"
        );
        assert_eq!(
            refusal(&[r#"{"a":1,"a":2}"#], b""),
            "ARGS cannot be used as arguments at line 1, column 8: duplicate key `a`"
        );
        assert_eq!(
            refusal(&["n=-0"], b""),
            "`n` cannot be used as an argument: `-0` is negative zero; write `0`"
        );
    }
}
