//! Fuzz target: any text as a schema, as a specification, and as a value.
//!
//! Runs a while on generated input under `cargo test`; under a fuzzing engine it runs for as long as one likes.

use dsh_schema::spec::{ParameterSpec, ValueSpec};
use dsh_schema::{Contract, Document, Schema};

fn check(schema: &Document, value: &Document) {
    let specs = [
        ValueSpec::from_json(schema).and_then(|spec| spec.compile()),
        ParameterSpec::from_json(schema).and_then(|spec| spec.compile()),
    ];
    for schema in specs.into_iter().chain([Schema::parse(schema)]).flatten() {
        // A schema is a document as well.
        for value in [value, schema.source()] {
            let violations = schema.violations(value.root(), "value");
            assert_eq!(
                schema.is_valid(value.root()),
                violations.is_empty(),
                "{schema:?} {value}"
            );
            assert_eq!(
                schema.violations_of_value(&value.to_value(), "value"),
                violations
            );
        }
    }
}

#[test]
fn any_bytes() {
    bolero::check!()
        .with_type::<(Vec<u8>, Vec<u8>)>()
        .for_each(|(schema, value)| {
            let parse = |bytes: &[u8]| Document::parse(String::from_utf8_lossy(bytes));
            if let (Ok(schema), Ok(value)) = (parse(schema), parse(value)) {
                check(&schema, &value);
            }
        });
}

#[test]
fn any_words_of_the_vocabulary() {
    bolero::check!()
        .with_type::<(Vec<u8>, Vec<u8>)>()
        .for_each(|(schema, value)| {
            let grow = |bytes: &[u8]| {
                Document::parse(grown(&mut bytes.iter().copied(), 0)).expect("grown JSON")
            };
            let (schema, value) = (grow(schema), grow(value));
            check(&schema, &value);
            if let Ok(contract) = Contract::compile(&schema) {
                assert_eq!(
                    contract.is_valid(value.root()),
                    contract.violations(value.root(), "").is_empty(),
                    "{contract:?} {value}"
                );
            }
        });
}

/// JSON out of the words of schemas; bytes choose. Most of what grows has something wrong with it, but not at once.
fn grown(bytes: &mut impl Iterator<Item = u8>, depth: usize) -> String {
    const SCALARS: [&str; 14] = [
        "true",
        "false",
        "null",
        "0",
        "1",
        "1.5",
        "1e300",
        "\"\"",
        "\"a\"",
        "\"b\"",
        "\"object\"",
        "\"string\"",
        "[\"a\"]",
        "{}",
    ];
    const TYPES: [&str; 8] = [
        "object", "array", "string", "number", "integer", "boolean", "null", "json",
    ];
    const KEYS: [&str; 13] = [
        "a",
        "b",
        "oneOf",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "enum",
        "const",
        "description",
        "default",
        "anyOf",
        "minimum",
    ];
    let mut next = |below: usize| usize::from(bytes.next().unwrap_or_default()) % below;
    let kind = if depth < 6 { next(8) } else { 0 };
    match kind {
        0 => SCALARS[next(SCALARS.len())].to_owned(),
        1 => {
            let count = next(4);
            let items: Vec<_> = (0..count).map(|_| grown(bytes, depth + 1)).collect();
            format!("[{}]", items.join(","))
        }
        2 => {
            let (first, second) = (grown(bytes, depth + 1), grown(bytes, depth + 1));
            format!("{{\"oneOf\":[{first},{second}]}}")
        }
        3 => {
            let open = next(3);
            let required = [
                ",\"required\":[\"a\"]",
                ",\"required\":[\"a\",\"b\",\"a\"]",
                ",\"required\":true",
                "",
            ][next(4)];
            let open = [
                "",
                ",\"additionalProperties\":false",
                ",\"additionalProperties\":true",
            ][open];
            let (a, b) = (grown(bytes, depth + 1), grown(bytes, depth + 1));
            format!(
                "{{\"type\":\"object\",\"properties\":{{\"a\":{a},\"b\":{b}}}{required}{open}}}"
            )
        }
        4 => format!(
            "{{\"type\":\"array\",\"items\":{}}}",
            grown(bytes, depth + 1)
        ),
        5 => {
            let name = TYPES[next(TYPES.len())];
            let extra = [
                "",
                ",\"enum\":[\"a\",\"b\"]",
                ",\"enum\":[0,1.0,1e300]",
                ",\"const\":1",
                ",\"required\":true",
            ];
            format!("{{\"type\":\"{name}\"{}}}", extra[next(extra.len())])
        }
        _ => {
            let mut keys: Vec<_> = (0..next(4)).map(|_| KEYS[next(KEYS.len())]).collect();
            keys.sort_unstable();
            keys.dedup();
            let members: Vec<_> = keys
                .iter()
                .map(|key| format!("\"{key}\":{}", grown(bytes, depth + 1)))
                .collect();
            format!("{{{}}}", members.join(","))
        }
    }
}
