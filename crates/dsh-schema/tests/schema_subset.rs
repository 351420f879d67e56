//! The enforced subset: which schemas are refused, with which texts, in which order.

#![allow(clippy::unwrap_used, reason = "a test")]

use dsh_schema::{Document, MAX_DEPTH, Scalar, Schema, SchemaError, Shape};

fn document(text: &str) -> Document {
    Document::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[track_caller]
fn check(schema: &str, expected: &[&str]) {
    let violations = match Schema::parse(&document(schema)) {
        Ok(_) => Vec::new(),
        Err(error) => error.violations().to_vec(),
    };
    let expected: Vec<_> = expected
        .iter()
        .map(|text| {
            text.replace(
                "…",
                "is not a supported keyword (subset: type/oneOf/properties/required/additionalProperties/items/enum/const \
                 + annotations)",
            )
        })
        .collect();
    assert_eq!(violations, expected, "{schema}");
}

/// The table of F.5.
#[test]
fn violations_of_schemas_are_all_reported_in_walk_order() {
    check(
        r#"{"type":"string","minLength":1,"pattern":"x"}"#,
        &["schema.minLength …", "schema.pattern …"],
    );
    check(
        r#"{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"items":{}}},"required":["a","z"],"additionalProperties":{}}"#,
        &[
            "schema.properties.a.type must be a single type string (type arrays are not supported)",
            "schema.properties.b.items requires type or oneOf",
            "schema.required names \"z\" which is not in properties",
            "schema.additionalProperties must be a boolean",
        ],
    );
    check(
        r#"{"oneOf":[{"type":"string"}],"properties":{}}"#,
        &[
            "schema.oneOf must be an array of at least two schemas",
            "schema.properties is not supported beside oneOf",
        ],
    );
    check(
        r#"{"oneOf":[3,{"type":"number","const":"x"}],"enum":[1]}"#,
        &[
            "schema.oneOf[0] must be a schema object",
            "schema.oneOf[1].const must be a number value",
            "schema.enum is not supported beside oneOf",
        ],
    );
    check(
        r#"{"type":"array","items":{"type":"array","items":{"const":1}}}"#,
        &["schema.items.items.const requires type or oneOf"],
    );
    check(
        r#"{"type":"null","enum":[null,0],"const":null}"#,
        &["schema.enum must be a non-empty array of null values"],
    );
    check(
        r#"{"type":"integer","enum":[1,2],"const":3}"#,
        &["schema.const must be one of schema.enum when both are declared"],
    );
    check(
        r#"{"type":"integer","const":1.5,"enum":[]}"#,
        &[
            "schema.enum must be a non-empty array of integer values",
            "schema.const must be a integer value",
        ],
    );
    check(
        r#"{"description":3,"title":null}"#,
        &[
            "schema.description must be a string",
            "schema.title must be a string",
        ],
    );
    check(
        r#"{"type":"object","enum":[1],"items":3,"const":2}"#,
        &[
            "schema.items is not supported on type \"object\"",
            "schema.enum is not supported on type \"object\"",
            "schema.const is not supported on type \"object\"",
        ],
    );
    check(
        r#"{"type":"array","properties":{"a":3},"required":3}"#,
        &[
            "schema.properties is not supported on type \"array\"",
            "schema.required is not supported on type \"array\"",
        ],
    );
    check(
        r#"{"type":"array","items":true}"#,
        &["schema.items must be a schema object"],
    );
    check(
        r#"{"type":"frob","properties":3}"#,
        &["schema.type must be one of object/array/string/number/integer/boolean/null"],
    );
    check(
        r#"{"type":"string","oneOf":[{}],"enum":3,"foo":1}"#,
        &["schema.foo …", "schema cannot declare both type and oneOf"],
    );
}

/// T370: nothing that is not enforced passes, whatever its value.
#[test]
fn foreign_keywords_are_refused_by_name() {
    for keyword in [
        "$schema", "$id", "$defs", "$ref", "format", "nullable", "minItems", "allOf", "not", "Type",
    ] {
        check(
            &format!("{{\"type\":\"object\",\"{keyword}\":{{}}}}"),
            &[&format!("schema.{keyword} …")],
        );
    }
    check("true", &["schema must be a schema object"]);
}

/// T382.
#[test]
fn required_is_checked_against_nothing_when_properties_are_malformed() {
    check(
        r#"{"type":"object","properties":3,"required":["a"]}"#,
        &[
            "schema.properties must be an object of schemas",
            "schema.required names \"a\" which is not in properties",
        ],
    );
}

/// T384.
#[test]
fn an_object_root_is_demanded_only_of_a_schema_that_is_fine_otherwise() {
    let object_rooted =
        |schema: &str| -> Result<Schema, SchemaError> { Schema::parse_object(&document(schema)) };
    assert!(object_rooted(r#"{"type":"object"}"#).is_ok());
    assert_eq!(
        object_rooted(r#"{"oneOf":[{"type":"object"},{"type":"object"}]}"#)
            .unwrap_err()
            .violations(),
        ["schema.type must be \"object\" (structured output is object-rooted)"]
    );
    let error = object_rooted(r#"{"type":"string","x":1}"#).unwrap_err();
    assert_eq!(error.violations().len(), 1);
    assert!(error.violations()[0].starts_with("schema.x is not a supported keyword"));
}

/// T377: what a document cannot hold is refused where it stands.
#[test]
fn negative_zero_in_a_schema_is_refused_where_it_stands() {
    let refused = |schema: serde_json::Value| {
        Schema::parse_value(&schema)
            .unwrap_err()
            .violations()
            .to_vec()
    };
    assert_eq!(
        refused(serde_json::json!({"type":"number","const":-0.0})),
        ["schema.const must be a number value"]
    );
    assert_eq!(
        refused(serde_json::json!({"title":"t","examples":[{"a":-0.0}]})),
        ["schema.examples annotation must be lossless JSON data"]
    );
}

/// D4: what is too deep for a document is refused.
#[test]
fn a_schema_that_is_too_deep_is_refused() {
    let mut schema = serde_json::json!({"type":"string"});
    for _ in 0..MAX_DEPTH {
        let mut array = serde_json::Map::new();
        array.insert("type".into(), "array".into());
        array.insert("items".into(), schema);
        schema = array.into();
    }
    let error = Schema::parse_value(&schema).unwrap_err();
    assert!(
        error.violations()[0].starts_with("schema is not lossless JSON: "),
        "{error}"
    );
    assert!(error.to_string().contains("512"), "{error}");
}

/// T379.
#[test]
fn the_message_lists_all_violations() {
    let error = Schema::parse(&document(r#"{"title":1,"description":1}"#)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "unsupported JSON schema: schema.description must be a string; schema.title must be a string"
    );
    assert_eq!(error.code(), "UNSUPPORTED_SCHEMA");
}

#[test]
fn the_source_is_kept_byte_for_byte() {
    let text = "{ \"type\" : \"integer\", \"default\" : 1.0 }";
    let schema = Schema::parse(&document(text)).unwrap();
    assert_eq!(schema.source().text(), text);
}

#[test]
fn a_walk_sees_what_was_declared() {
    let schema = document(
        r#"{"type":"object","description":"d","additionalProperties":false,"required":["b"],"properties":{
            "a":{"type":"integer","title":"t","enum":[1.0,1e1],"const":1},
            "b":{"oneOf":[{"type":"array"},{"type":"array","items":{}}]}}}"#,
    );
    let schema = Schema::parse(&schema).unwrap();
    assert_eq!(schema.root().description(), Some("d"));
    assert_eq!(schema.root().title(), None);
    let Shape::Object(object) = schema.root().shape() else {
        panic!("an object")
    };
    assert!(object.is_closed());
    let properties: Vec<_> = object.properties().collect();
    assert_eq!(
        properties
            .iter()
            .map(|property| (property.name, property.required))
            .collect::<Vec<_>>(),
        [("a", false), ("b", true)]
    );
    assert_eq!(properties[0].node.title(), Some("t"));
    let Shape::Scalar(scalar) = properties[0].node.shape() else {
        panic!("a scalar")
    };
    assert_eq!(scalar.scalar(), Scalar::Integer);
    assert_eq!(
        scalar
            .values()
            .iter()
            .map(|literal| literal.json())
            .collect::<Vec<_>>(),
        ["1", "10"]
    );
    assert_eq!(scalar.constant().map(|literal| literal.json()), Some("1"));
    let Shape::OneOf(branches) = properties[1].node.shape() else {
        panic!("a one-of")
    };
    let branches: Vec<_> = branches.iter().map(|branch| branch.shape()).collect();
    assert!(matches!(branches[0], Shape::Array(None)));
    let Shape::Array(Some(items)) = branches[1] else {
        panic!("an array with items")
    };
    assert!(matches!(items.shape(), Shape::Any));
}
