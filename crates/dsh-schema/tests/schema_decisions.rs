//! What decisions say about rows of the recorded vectors that they overrule.

use dsh_schema::{Document, DocumentErrorKind, MAX_DEPTH, Schema};

#[track_caller]
fn refused(text: &str, kind: DocumentErrorKind, named: &str) {
    let error = Document::parse(text).expect_err(text);
    assert_eq!(error.kind(), kind, "{text}: {error}");
    assert!(error.to_string().contains(named), "{text}: {error}");
}

#[track_caller]
fn violations(schema: &str, value: &str) -> Vec<String> {
    let schema = Schema::parse(&Document::parse(schema).expect(schema)).expect(schema);
    let value = Document::parse(value).expect(value);
    assert_eq!(
        schema.is_valid(value.root()),
        schema.violations(value.root(), "").is_empty()
    );
    schema.violations(value.root(), "value")
}

/// D2 overrules the rows with `1e400` and those of `number-formats`.
#[test]
fn numbers_that_would_be_rounded_do_not_become_documents() {
    for text in [
        "1e400",
        "-1e400",
        "[1e400]",
        r#"{"type":"number","const":1e400}"#,
        r#"{"default":1e400}"#,
    ] {
        refused(text, DocumentErrorKind::NumberOverflow, "1e400");
    }
    refused(
        r#"{"type":"number","enum":[100000000000000000000]}"#,
        DocumentErrorKind::IntegerRange,
        "100000000000000000000",
    );
}

/// D2 overrules `const-integer-big#1110` and `#1111`.
#[test]
fn integers_beyond_the_doubles_stay_exact() {
    let schema = r#"{"type":"integer","const":9007199254740993}"#;
    assert!(violations(schema, "9007199254740993").is_empty());
    assert_eq!(
        violations(schema, "9007199254740994"),
        ["\"value\" must be 9007199254740993"]
    );
    assert_eq!(
        violations(schema, "9007199254740992"),
        ["\"value\" must be 9007199254740993"]
    );
}

/// D2 overrules `object-integer-keys-order`.
#[test]
fn keys_that_look_like_integers_keep_their_place() {
    let schema = r#"{"type":"object","properties":{"b":{"type":"string"},"10":{"type":"string"},"2":{"type":"string"},
        "a":{"type":"string"},"01":{"type":"string"}},"required":["b","10","2"],"additionalProperties":false}"#;
    assert_eq!(
        violations(schema, r#"{"z":1,"3":1,"a":2,"10":3,"2":4,"b":5,"1":0}"#),
        [
            "\"value.b\" must be a string",
            "\"value.10\" must be a string",
            "\"value.2\" must be a string",
            "\"value.a\" must be a string",
            "\"value.z\" is not a declared property (additionalProperties: false)",
            "\"value.3\" is not a declared property (additionalProperties: false)",
            "\"value.1\" is not a declared property (additionalProperties: false)",
        ]
    );
    assert_eq!(
        violations(schema, "{}"),
        [
            "missing required property \"value.b\"",
            "missing required property \"value.10\"",
            "missing required property \"value.2\"",
        ]
    );
}

/// D3 overrules `object-duplicate-keys` and `object-dup-type`.
#[test]
fn a_key_twice_is_refused_by_name() {
    refused(r#"{"a":"x","a":1}"#, DocumentErrorKind::DuplicateKey, "`a`");
    refused(
        r#"{"type":"string","type":"integer"}"#,
        DocumentErrorKind::DuplicateKey,
        "`type`",
    );
}

/// D4 overrules the generated rows.
#[test]
fn depth_ends_at_the_limit() {
    let nested = |levels: usize| {
        format!(
            "{}{{\"type\":\"string\"}}{}",
            "{\"type\":\"array\",\"items\":".repeat(levels),
            "}".repeat(levels)
        )
    };
    let deepest = Document::parse(nested(MAX_DEPTH - 1)).expect("as deep as allowed");
    assert!(Schema::parse(&deepest).is_ok());
    refused(&nested(MAX_DEPTH), DocumentErrorKind::TooDeep, "512");
    refused(&nested(2000), DocumentErrorKind::TooDeep, "512");
}
