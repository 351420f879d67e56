//! Values against schemas: verdicts, violation texts and their order.

#![allow(clippy::unwrap_used, reason = "a test")]

use dsh_schema::spec::ParameterSpec;
use dsh_schema::{Document, MAX_DEPTH, Schema};

fn document(text: &str) -> Document {
    Document::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn schema(text: &str) -> Schema {
    Schema::parse(&document(text)).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[track_caller]
fn check_with(schema: &Schema, value: &str, root: &str, expected: &[&str]) {
    let (valid, violations) = match Document::parse(value) {
        Ok(value) => (
            schema.is_valid(value.root()),
            schema.violations(value.root(), root),
        ),
        // Negative zero: only a `serde_json` value can hold it.
        Err(_) => {
            let value = serde_json::from_str(value).unwrap();
            (
                schema.is_valid_value(&value),
                schema.violations_of_value(&value, root),
            )
        }
    };
    assert_eq!(violations, expected, "{value}");
    assert_eq!(valid, expected.is_empty(), "{value}");
}

#[track_caller]
fn check(text: &str, value: &str, expected: &[&str]) {
    check_with(&schema(text), value, "value", expected);
}

#[track_caller]
fn check_arguments(spec: &str, arguments: &str, expected: &[&str]) {
    let schema = ParameterSpec::from_json(&document(spec))
        .unwrap()
        .compile()
        .unwrap();
    check_with(&schema, arguments, "", expected);
}

const CITY: &str = r#"{"city":{"type":"string","required":true},"unit":{"type":"string","enum":["c","f"]},
    "days":{"type":"integer"},"at":{"type":"object","additionalProperties":false,"properties":{
    "lat":{"type":"number","required":true},"lon":{"type":"number","required":true}}},
    "tags":{"type":"array","items":{"type":"string"}}}"#;

/// The table of F.2.
#[test]
fn arguments_of_the_city_specification() {
    check_arguments(CITY, "{}", &["missing required property \"city\""]);
    check_arguments(CITY, r#"{"city":null}"#, &["\"city\" must be a string"]);
    check_arguments(
        CITY,
        r#"{"city":"x","unit":"k","days":1.5,"extra":true}"#,
        &[
            "\"unit\" must be one of [\"c\",\"f\"]",
            "\"days\" must be an integer",
        ],
    );
    check_arguments(
        CITY,
        r#"{"unit":3,"at":{"lat":"n","alt":1},"tags":["a",7,null]}"#,
        &[
            "missing required property \"city\"",
            "\"unit\" must be a string",
            "missing required property \"at.lon\"",
            "\"at.lat\" must be a number",
            "\"at.alt\" is not a declared property (additionalProperties: false)",
            "\"tags[1]\" must be a string",
            "\"tags[2]\" must be a string",
        ],
    );
    for root in ["[]", "null", "\"not json\"", "1", "true"] {
        check_arguments(CITY, root, &["\"arguments\" must be an object"]);
    }
    check_arguments(CITY, r#"{"city":"x","days":2.0}"#, &[]);
}

/// The table of F.3.
#[test]
fn arguments_of_other_specifications() {
    check_arguments(
        r#"{"a.b":{"type":"object","additionalProperties":true,"properties":{"":{"type":"null","required":true}}}}"#,
        r#"{"a.b":{}}"#,
        &["missing required property \"a.b.\""],
    );
    check_arguments(
        r#"{"p":{"oneOf":[{"type":"string"},{"type":"string","enum":["x"]}]}}"#,
        r#"{"p":"x"}"#,
        &["\"p\" must match exactly one oneOf branch (matched 2)"],
    );
    check_arguments(
        r#"{"p":{"oneOf":[{"type":"string"},{"type":"null"}]}}"#,
        r#"{"p":1}"#,
        &["\"p\" must match exactly one oneOf branch (matched 0)"],
    );
    let constrained = r#"{"n":{"type":"integer","enum":[3,4],"const":3}}"#;
    check_arguments(constrained, r#"{"n":5}"#, &["\"n\" must be one of [3,4]"]);
    check_arguments(constrained, r#"{"n":4}"#, &["\"n\" must be 3"]);
    check_arguments(
        r#"{"o":{"type":"object","additionalProperties":false}}"#,
        r#"{"o":{"x":1,"y":2}}"#,
        &[
            "\"o.x\" is not a declared property (additionalProperties: false)",
            "\"o.y\" is not a declared property (additionalProperties: false)",
        ],
    );
    check_arguments(
        r#"{"n":{"type":"number"}}"#,
        r#"{"n":-0}"#,
        &["\"n\" must be a finite JSON number"],
    );
    check_arguments(
        r#"{"i":{"type":"integer"}}"#,
        r#"{"i":-0}"#,
        &["\"i\" must be an integer"],
    );
    check_arguments(
        r#"{"j":{"type":"json"}}"#,
        r#"{"j":-0}"#,
        &["\"j\" must be a lossless JSON value"],
    );
    check_arguments(
        "{}",
        r#"{"z":-0}"#,
        &["\"arguments\" must be a lossless JSON object"],
    );
    check_arguments(
        r#"{"l":{"type":"array"}}"#,
        r#"{"l":[1,-0]}"#,
        &["\"l\" must be a dense lossless JSON array"],
    );
    check_arguments(
        r#"{"l":{"type":"array","items":{"type":"number"}}}"#,
        r#"{"l":[1,-0]}"#,
        &["\"l[1]\" must be a finite JSON number"],
    );
    check_arguments(
        r#"{"s":{"type":"string","enum":["é\""]}}"#,
        r#"{"s":"q"}"#,
        &["\"s\" must be one of [\"é\\\"\"]"],
    );
}

/// The table of F.4.
#[test]
fn outputs() {
    check(
        r#"{"type":"array","items":{"type":"object","properties":{"k":{"type":"boolean"}},"required":["k"]}}"#,
        r#"[{"k":true},{},{"k":0}]"#,
        &[
            "missing required property \"value[1].k\"",
            "\"value[2].k\" must be a boolean",
        ],
    );
    check(
        r#"{"oneOf":[{"type":"object"},{}]}"#,
        r#"{"a":1}"#,
        &["\"value\" must match exactly one oneOf branch (matched 2)"],
    );
    check(
        r#"{"type":"object","properties":{"a":{},"b":{"type":"object","additionalProperties":false}}}"#,
        r#"{"b":{"q":1},"a":1,"c":2}"#,
        &["\"value.b.q\" is not a declared property (additionalProperties: false)"],
    );
}

/// T363.
#[test]
fn overlapping_branches_are_counted() {
    let one_of = r#"{"oneOf":[{"type":"number"},{"type":"integer"}]}"#;
    check(
        one_of,
        "1",
        &["\"value\" must match exactly one oneOf branch (matched 2)"],
    );
    check(one_of, "1.5", &[]);
}

/// T358, T359 and D2.
#[test]
fn numbers_are_compared_by_value_and_exactly() {
    for value in ["1", "1.0", "1e0", "10e-1"] {
        check(r#"{"type":"integer","enum":[1.0,3]}"#, value, &[]);
        check(r#"{"type":"number","const":1}"#, value, &[]);
    }
    check(r#"{"type":"integer"}"#, "1e21", &[]);
    check(
        r#"{"type":"integer","const":9007199254740993}"#,
        "9007199254740993",
        &[],
    );
    check(
        r#"{"type":"integer","const":9007199254740993}"#,
        "9007199254740992",
        &["\"value\" must be 9007199254740993"],
    );
    check(
        r#"{"type":"integer","enum":[18446744073709551615,-9223372036854775808]}"#,
        "18446744073709551614",
        &["\"value\" must be one of [18446744073709551615,-9223372036854775808]"],
    );
    check(
        r#"{"type":"number","enum":[1e21,1e-7,0.10]}"#,
        "2",
        &["\"value\" must be one of [1e+21,1e-7,0.1]"],
    );
}

/// T357.
#[test]
fn a_scalar_reports_its_first_failing_check_only() {
    let both = r#"{"type":"string","enum":["a","b"],"const":"a"}"#;
    check(both, "1", &["\"value\" must be a string"]);
    check(both, "\"c\"", &["\"value\" must be one of [\"a\",\"b\"]"]);
    check(both, "\"b\"", &["\"value\" must be \"a\""]);
    check(both, "\"a\"", &[]);
    check(
        r#"{"type":"boolean","enum":[true],"const":true}"#,
        "false",
        &["\"value\" must be one of [true]"],
    );
    check(r#"{"type":"null","const":null}"#, "null", &[]);
}

/// T356: missing in the order of `required`, present in the order of `properties`, undeclared in the value's order.
#[test]
fn the_order_within_an_object() {
    check(
        r#"{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{},"d":{}},
            "required":["d","a","c","d"],"additionalProperties":false}"#,
        r#"{"z":1,"b":1,"y":1,"a":1}"#,
        &[
            "missing required property \"value.d\"",
            "missing required property \"value.c\"",
            "missing required property \"value.d\"",
            "\"value.a\" must be a string",
            "\"value.b\" must be a string",
            "\"value.z\" is not a declared property (additionalProperties: false)",
            "\"value.y\" is not a declared property (additionalProperties: false)",
        ],
    );
}

/// Keys in any order, with and without a hash table over the names.
#[test]
fn properties_are_found_in_any_order() {
    for count in [1_usize, 2, 11, 12, 40] {
        let names: Vec<_> = (0..count).map(|index| format!("p{index}")).collect();
        let properties: Vec<_> = names
            .iter()
            .map(|name| format!("\"{name}\":{{\"type\":\"string\"}}"))
            .collect();
        let required: Vec<_> = names.iter().map(|name| format!("\"{name}\"")).collect();
        let schema = schema(&format!(
            r#"{{"type":"object","additionalProperties":false,"properties":{{{}}},"required":[{}]}}"#,
            properties.join(","),
            required.join(",")
        ));
        let value = |names: &mut dyn Iterator<Item = &String>| {
            let members: Vec<_> = names.map(|name| format!("\"{name}\":\"\"")).collect();
            document(&format!("{{{}}}", members.join(",")))
        };
        assert!(schema.is_valid(value(&mut names.iter()).root()));
        assert!(schema.is_valid(value(&mut names.iter().rev()).root()));
        assert!(
            schema.is_valid(
                value(
                    &mut names
                        .iter()
                        .skip(count / 2)
                        .chain(names.iter().take(count / 2))
                )
                .root()
            )
        );
        assert!(!schema.is_valid(value(&mut names.iter().skip(1)).root()));
        let undeclared = "q".to_owned();
        assert!(!schema.is_valid(value(&mut names.iter().chain([&undeclared])).root()));
    }
}

/// T42, T362: names that are special elsewhere are data here.
#[test]
fn any_string_is_a_property_name() {
    check(
        r#"{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{},"":{}},"required":["constructor",""],
            "additionalProperties":false}"#,
        r#"{"__proto__":1,"toString":1}"#,
        &[
            "missing required property \"value.constructor\"",
            "missing required property \"value.\"",
            "\"value.__proto__\" must be a string",
            "\"value.toString\" is not a declared property (additionalProperties: false)",
        ],
    );
}

/// T353: the empty label.
#[test]
fn paths_under_the_empty_label() {
    check_with(
        &schema(
            r#"{"type":"array","items":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}"#,
        ),
        r#"[{"a":1},{},3]"#,
        "",
        &[
            "\"[0].a\" must be a string",
            "missing required property \"[1].a\"",
            "\"[2]\" must be an object",
        ],
    );
}

/// T366, D4: the deepest schema and value, on a stack that is small for a thread.
#[test]
fn the_deepest_schema_and_value_need_little_stack() {
    let check = || {
        let levels = MAX_DEPTH / 2;
        let mut one_of = String::from(r#"{"type":"string"}"#);
        // A one-of takes two levels, an object and an array.
        for _ in 1..levels {
            one_of = format!(r#"{{"oneOf":[{one_of},{{"type":"null"}}]}}"#);
        }
        let schema = schema(&one_of);
        assert!(schema.is_valid(document("\"x\"").root()));
        assert!(schema.violations(document("1").root(), "v").len() == 1);

        let levels = MAX_DEPTH - 1;
        let array = "{\"type\":\"array\",\"items\":".repeat(levels) + "{}" + &"}".repeat(levels);
        let schema = self::schema(&array);
        let value = document(&("[".repeat(levels) + "1" + &"]".repeat(levels)));
        assert!(schema.is_valid(value.root()));
        let value = document(&("[".repeat(levels - 1) + "1" + &"]".repeat(levels - 1)));
        assert_eq!(schema.violations(value.root(), "").len(), 1);
    };
    std::thread::Builder::new()
        .stack_size(512 * 1024)
        .spawn(check)
        .unwrap()
        .join()
        .unwrap();
}

/// T352: a value that is deeper than any document is a violation, not an overflow.
#[test]
fn a_value_without_a_depth_limit_is_not_lossless() {
    let mut value = serde_json::Value::Null;
    for _ in 0..=MAX_DEPTH {
        value = serde_json::Value::Array(vec![value]);
    }
    assert_eq!(
        schema("{}").violations_of_value(&value, "value"),
        ["\"value\" must be a lossless JSON value"]
    );
}

/// Where a property tells the branches apart, the verdict looks at one branch only; it comes to what counting all comes to.
#[test]
fn a_tagged_one_of_is_judged_as_any_other() {
    let schema = Document::parse(
        r#"{"oneOf":[
            {"type":"object","properties":{"n":{"type":"integer"},"kind":{"type":"string","const":"a"}},"required":["kind","n"],"additionalProperties":false},
            {"type":"object","properties":{"kind":{"type":"string","const":"b"},"n":{"type":"string"}},"required":["kind"]},
            {"type":"object","properties":{"kind":{"type":"string","const":"c"}},"required":["kind"]}]}"#,
    )
    .unwrap();
    let schema = Schema::parse(&schema).unwrap();
    for (value, valid) in [
        (r#"{"kind":"a","n":1}"#, true),
        (r#"{"n":1,"kind":"a"}"#, true),
        (r#"{"kind":"a"}"#, false),
        (r#"{"kind":"a","n":1,"more":2}"#, false),
        (r#"{"kind":"b"}"#, true),
        (r#"{"kind":"b","n":1}"#, false),
        (r#"{"kind":"b","n":"x","more":2}"#, true),
        (r#"{"kind":"c","n":[]}"#, true),
        (r#"{"kind":"d"}"#, false),
        (r#"{"kind":1}"#, false),
        (r#"{"n":1}"#, false),
        ("{}", false),
        ("[]", false),
        ("\"a\"", false),
    ] {
        let value = Document::parse(value).unwrap();
        assert_eq!(schema.is_valid(value.root()), valid, "{value}");
        assert_eq!(
            schema.violations(value.root(), "value").is_empty(),
            valid,
            "{value}"
        );
        let plain = value.to_value();
        assert_eq!(schema.is_valid_value(&plain), valid, "{value}");
    }
}

/// Two branches with one tag, an optional tag, and a tag in some branches only are counted.
#[test]
fn a_one_of_without_a_tag_is_counted() {
    for (schema, value, valid) in [
        (
            r#"{"oneOf":[{"type":"object","properties":{"k":{"type":"string","const":"a"}},"required":["k"]},{"type":"object","properties":{"k":{"type":"string","const":"a"}},"required":["k"]}]}"#,
            r#"{"k":"a"}"#,
            false,
        ),
        (
            r#"{"oneOf":[{"type":"object","properties":{"k":{"type":"string","const":"a"}}},{"type":"object","properties":{"k":{"type":"string","const":"b"}}}]}"#,
            "{}",
            false,
        ),
        (
            r#"{"oneOf":[{"type":"object","properties":{"k":{"type":"string","const":"a"}},"required":["k"]},{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}]}"#,
            r#"{"x":1}"#,
            true,
        ),
        (
            r#"{"oneOf":[{"type":"object","properties":{"k":{"type":"string","const":"a"}},"required":["k"]},{"type":"string"}]}"#,
            "\"a\"",
            true,
        ),
    ] {
        let compiled = Schema::parse(&Document::parse(schema).unwrap()).unwrap();
        let value = Document::parse(value).unwrap();
        assert_eq!(compiled.is_valid(value.root()), valid, "{schema}");
        assert_eq!(
            compiled.violations(value.root(), "value").is_empty(),
            valid,
            "{schema}"
        );
    }
}
