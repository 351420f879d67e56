//! The author's DSL: compiled bytes, and authoring errors.

#![allow(clippy::unwrap_used, reason = "a test")]

use dsh_schema::spec::{self, ParameterSpec, ValueSpec};
use dsh_schema::{Document, Schema, SchemaError};

fn document(text: &str) -> Document {
    Document::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn value(text: &str) -> Result<Schema, SchemaError> {
    ValueSpec::from_json(&document(text))?.compile()
}

fn parameters(text: &str) -> Result<Schema, SchemaError> {
    ParameterSpec::from_json(&document(text))?.compile()
}

#[track_caller]
fn refused(result: Result<Schema, SchemaError>, expected: &str) {
    match result {
        Ok(schema) => panic!("accepted as {}", schema.source().text()),
        Err(error) => assert_eq!(error.violations(), [expected]),
    }
}

const CITY: &str = r#"{"type":"object","properties":{"city":{"type":"string"},"unit":{"type":"string","enum":["c","f"]},"days":{"type":"integer"},"at":{"type":"object","additionalProperties":false,"properties":{"lat":{"type":"number"},"lon":{"type":"number"}},"required":["lat","lon"]},"tags":{"type":"array","items":{"type":"string"}}},"required":["city"]}"#;

/// F.1.
#[test]
fn a_parameter_map_compiles_to_fixed_bytes() {
    let compiled = parameters(
        r#"{"city":{"type":"string","required":true},"unit":{"type":"string","enum":["c","f"]},"days":{"type":"integer"},
            "at":{"type":"object","additionalProperties":false,"properties":{"lat":{"type":"number","required":true},
            "lon":{"type":"number","required":true}}},"tags":{"type":"array","items":{"type":"string"}}}"#,
    );
    assert_eq!(compiled.unwrap().source().text(), CITY);
}

#[test]
fn builders_compile_to_the_same_bytes_as_json() {
    let compiled = ParameterSpec::new()
        .required("city", spec::string())
        .optional("unit", spec::string().one_of_values(["c", "f"]))
        .optional("days", spec::integer())
        .optional(
            "at",
            spec::object()
                .closed()
                .required("lat", spec::number())
                .required("lon", spec::number()),
        )
        .optional("tags", spec::array(spec::string()))
        .compile();
    assert_eq!(compiled.unwrap().source().text(), CITY);
}

/// F.1, T333: annotations come after `oneOf`, and after `type` otherwise.
#[test]
fn a_value_compiles_to_fixed_bytes() {
    let expected = r#"{"oneOf":[{"title":"t"},{"type":"object","description":"d","additionalProperties":true,"properties":{"q":{"type":"boolean","const":true}},"required":["q"]}],"description":"u","examples":[1]}"#;
    let compiled = value(
        r#"{"description":"u","examples":[1],"oneOf":[{"title":"t","type":"json"},{"description":"d",
            "additionalProperties":true,"type":"object","properties":{"q":{"type":"boolean","required":true,"const":true}}}]}"#,
    );
    assert_eq!(compiled.unwrap().source().text(), expected);
    let object = spec::object()
        .open()
        .required("q", spec::boolean().constant(true))
        .description("d");
    let built = spec::one_of([spec::json().title("t").into(), object.into()])
        .examples([1])
        .description("u");
    assert_eq!(built.compile().unwrap().source().text(), expected);
}

#[test]
fn every_option_of_a_builder_is_in_the_bytes() {
    let check = |compiled: Result<Schema, SchemaError>, expected: &str| {
        assert_eq!(compiled.unwrap().source().text(), expected);
    };
    check(
        spec::string()
            .examples(["é\n"])
            .default("x")
            .title("t")
            .description("d")
            .constant("\"")
            .compile(),
        r#"{"type":"string","description":"d","title":"t","default":"x","examples":["é\n"],"const":"\""}"#,
    );
    check(
        spec::number().one_of_values([1.0, 1e21, 0.5]).compile(),
        r#"{"type":"number","enum":[1,1e+21,0.5]}"#,
    );
    check(
        spec::integer().one_of_values([u64::MAX]).compile(),
        r#"{"type":"integer","enum":[18446744073709551615]}"#,
    );
    check(
        spec::integer().constant(i64::MIN).compile(),
        r#"{"type":"integer","const":-9223372036854775808}"#,
    );
    check(
        spec::boolean().one_of_values([true, false]).compile(),
        r#"{"type":"boolean","enum":[true,false]}"#,
    );
    check(spec::null().compile(), r#"{"type":"null"}"#);
    check(spec::any_array().compile(), r#"{"type":"array"}"#);
    check(
        spec::object().closed().compile(),
        r#"{"type":"object","additionalProperties":false}"#,
    );
    check(spec::json().compile(), "{}");
    check(
        ParameterSpec::new().compile(),
        r#"{"type":"object","properties":{}}"#,
    );
}

/// What a builder cannot rule out is an error with its place.
#[test]
fn literals_that_json_cannot_hold_are_refused_where_they_stand() {
    refused(
        spec::number().constant(f64::NAN).compile(),
        "schema.const must be a number value",
    );
    refused(
        ParameterSpec::new()
            .required("n", spec::number().one_of_values([1.0, -0.0]))
            .compile(),
        "schema.properties.n.enum must be a non-empty array of number values",
    );
    refused(
        spec::array(spec::json().default([f64::INFINITY])).compile(),
        "schema.items.default annotation must be lossless JSON data",
    );
    refused(
        spec::string().one_of_values(["a"]).constant("b").compile(),
        "schema.const must be one of schema.enum when both are declared",
    );
    let error = spec::integer().constant(i128::MAX).compile().unwrap_err();
    assert!(
        error.to_string().contains(&i128::MAX.to_string()),
        "{error}"
    );
    let twice = ParameterSpec::new()
        .required("a", spec::json())
        .optional("a", spec::json())
        .compile();
    assert!(twice.unwrap_err().to_string().contains("duplicate key `a`"));
}

const KINDS: &str = "must be string/number/integer/boolean/null/array/object/json, or use oneOf";

/// The table of F.6.
#[test]
fn authoring_errors() {
    refused(
        value(r#"{"type":"object","properties":{}}"#),
        "schema.additionalProperties must be explicitly true or false",
    );
    refused(
        value(r#"{"type":"array","items":{"type":"string","required":true}}"#),
        "schema.items.required is not supported by the value schema DSL",
    );
    refused(
        value(r#"{"oneOf":[{"type":"string"}]}"#),
        "schema.oneOf must be an array of at least two schemas",
    );
    refused(
        value(r#"{"type":"json","enum":[1]}"#),
        "schema.enum is not supported by the value schema DSL",
    );
    refused(value("{}"), &format!("schema.type {KINDS}"));
    refused(
        parameters(r#"{"a":{"type":"string","required":false}}"#),
        "parameters.a.required must be true when present",
    );
    refused(
        parameters(
            r#"{"a":{"type":"object","additionalProperties":true,"properties":{"b":{"type":"nope"}}}}"#,
        ),
        &format!("parameters.a.properties.b.type {KINDS}"),
    );
    refused(
        parameters(r#"{"a":{"type":"string","enum":["x"],"const":"y"}}"#),
        "schema.properties.a.const must be one of schema.properties.a.enum when both are declared",
    );
    refused(
        parameters(r#"{"a":3}"#),
        "parameters.a must be a value schema object",
    );
    refused(
        parameters("null"),
        "parameters must be an object of value schemas",
    );
}

/// The remaining examples of T339.
#[test]
fn more_authoring_errors() {
    refused(
        value(r#"{"type":"number","enum":["x"]}"#),
        "schema.enum must be a non-empty array of number values",
    );
    refused(
        value(r#"{"type":"integer","const":1.5}"#),
        "schema.const must be a integer value",
    );
    refused(
        value(r#"{"type":"array","items":3}"#),
        "schema.items must be a value schema object",
    );
    refused(
        value(r#"{"type":"string","x":1}"#),
        "schema.x is not supported by the value schema DSL",
    );
    refused(
        value(r#"{"type":"string","oneOf":[{"type":"null"},{"type":"json"}]}"#),
        "schema cannot declare both type and oneOf",
    );
    refused(
        value(r#"{"oneOf":"x"}"#),
        "schema.oneOf must be an array of at least two value schemas",
    );
    refused(
        value(r#"{"type":"string","enum":"x"}"#),
        "schema.enum must be a non-empty array of scalar values",
    );
    refused(value("null"), "schema must be a value schema object");
    refused(
        value(r#"{"oneOf":[{"type":"string"},{"type":"json","required":true}]}"#),
        "schema.oneOf[1].required is not supported by the value schema DSL",
    );
    refused(
        value(r#"{"type":"string","required":true}"#),
        "schema.required is not supported by the value schema DSL",
    );
    refused(
        value(r#"{"type":"object","additionalProperties":true,"properties":[]}"#),
        "schema.properties must be an object of value schemas",
    );
}

/// T337: the first authoring error only, then everything that the subset finds.
#[test]
fn authoring_stops_at_the_first_error_and_the_subset_does_not() {
    refused(
        parameters(r#"{"a":{"type":"array","items":{"type":"no"}},"b":3}"#),
        &format!("parameters.a.items.type {KINDS}"),
    );
    let error = parameters(r#"{"a":{"type":"string","title":1},"b":{"type":"string","enum":[]}}"#)
        .unwrap_err();
    assert_eq!(
        error.violations(),
        [
            "schema.properties.a.title must be a string",
            "schema.properties.b.enum must be a non-empty array of string values"
        ]
    );
}

/// T334, D4: an author may nest as deep as a document goes, and deeper is an error.
#[test]
fn deep_specifications() {
    let mut deep: ValueSpec = spec::json().into();
    for _ in 1..512 {
        deep = spec::array(deep).into();
    }
    assert!(deep.compile().is_ok());
    for _ in 0..4000 {
        deep = spec::array(deep).into();
    }
    let error = deep.compile().unwrap_err();
    assert!(error.to_string().contains("512"), "{error}");
    let levels = 511;
    let text =
        r#"{"type":"array","items":"#.repeat(levels) + r#"{"type":"json"}"# + &"}".repeat(levels);
    assert!(value(&text).is_ok());
}
