//! Foreign schemas that were built to hang a validator, exhaust its stack or reach outside.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;

use dsh_schema::{Document, ForeignSchema};

fn compile(schema: &str) -> Result<ForeignSchema, Vec<String>> {
    ForeignSchema::compile(&Document::parse(schema).unwrap())
        .map_err(|error| error.violations().to_vec())
}

/// Runs `check` with the stack that a thread of a pool has.
fn on_small_stack(check: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(check)
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn references_without_progress_are_refused() {
    let expected =
        "schema has a reference that leads back to itself without entering a property or an item";
    for schema in [
        r##"{"$ref":"#"}"##,
        r##"{"allOf":[{"$ref":"#"}]}"##,
        r##"{"anyOf":[{"type":"string"},{"$ref":"#"}]}"##,
        r##"{"not":{"$ref":"#"}}"##,
        r##"{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"if":{"$ref":"#/$defs/a"}}}}"##,
        r##"{"$dynamicAnchor":"x","$dynamicRef":"#x"}"##,
        r##"{"dependentSchemas":{"a":{"$ref":"#"}}}"##,
    ] {
        assert_eq!(compile(schema).err().unwrap(), [expected], "{schema}");
    }
}

#[test]
fn long_chains_of_references_are_refused() {
    let mut schema = String::from(r##"{"$ref":"#/$defs/c0","$defs":{"##);
    for link in 0..5_000 {
        write!(schema, r##""c{link}":{{"$ref":"#/$defs/c{}"}},"##, link + 1).unwrap();
    }
    schema.push_str(r#""c5000":{"type":"string"}}}"#);
    on_small_stack(move || {
        let violations = compile(&schema).err().unwrap();
        assert!(
            violations[0].starts_with("schema chains 5002 references"),
            "{violations:?}"
        );
    });
}

#[test]
fn exponential_combinations_are_refused() {
    let mut schema = String::from(r##"{"$ref":"#/$defs/c0","$defs":{"##);
    for rung in 0..40 {
        let next = format!(r##"{{"$ref":"#/$defs/c{}"}}"##, rung + 1);
        write!(schema, r#""c{rung}":{{"anyOf":[{next},{next}]}},"#).unwrap();
    }
    schema.push_str(r#""c40":{"type":"string"}}}"#);
    assert_eq!(
        compile(&schema).err().unwrap(),
        ["schema combines its parts in more ways than can be checked"]
    );
}

#[test]
fn a_recursive_union_over_a_deep_value_ends() {
    // Both branches look into the same member, so that naive validation doubles at every level.
    let schema = compile(
        r##"{"anyOf":[{"type":"object","properties":{"op":{"const":"a"},"left":{"$ref":"#"}},"required":["op"]},
                      {"type":"object","properties":{"op":{"const":"b"},"left":{"$ref":"#"}},"required":["op"]},
                      {"type":"object","properties":{"left":{"$ref":"#"}},"required":["left"]},
                      {"type":"integer"}]}"##,
    )
    .unwrap();
    let nested = |levels: usize, leaf: &str| {
        Document::parse(format!(
            "{}{leaf}{}",
            r#"{"left":"#.repeat(levels),
            "}".repeat(levels)
        ))
        .unwrap()
    };
    on_small_stack(move || {
        assert!(schema.is_valid(nested(500, "1").root()));
        assert!(!schema.is_valid(nested(500, r#""x""#).root()));
        assert_eq!(
            schema.violations(nested(500, r#""x""#).root(), ""),
            [r#""arguments" does not satisfy the schema, in too many ways to list them"#]
        );
        let listed = schema.violations(nested(3, r#""x""#).root(), "");
        assert_eq!(listed.len(), 1, "{listed:?}");
        assert!(
            listed[0].starts_with(r#""left.left.left" must be an object or an integer"#),
            "{listed:?}"
        );
    });
}

#[test]
fn a_recursive_schema_over_the_deepest_value_fits_a_small_stack() {
    on_small_stack(|| {
        let schema = compile(
            r##"{"$defs":{"node":{"anyOf":[{"type":"array","items":{"$ref":"#/$defs/node"}},{"type":"null"}]}},"$ref":"#/$defs/node"}"##,
        )
        .unwrap();
        let value = |leaf: &str| {
            Document::parse(format!("{}{leaf}{}", "[".repeat(512), "]".repeat(512))).unwrap()
        };
        assert!(schema.is_valid(value("null").root()));
        assert!(!schema.is_valid(value("1").root()));
        let violations = schema.violations(value("1").root(), "");
        assert_eq!(violations.len(), 1);
        assert!(
            violations[0].contains(r#"" must be an array or null"#),
            "{violations:?}"
        );
    });
}

#[test]
fn the_deepest_schema_compiles_and_checks_on_a_small_stack() {
    on_small_stack(|| {
        for (open, close) in [
            (r#"{"items":"#, "}"),
            (r#"{"not":"#, "}"),
            (r#"{"minProperties":0,"properties":{"a":"#, "}}"),
            (r#"{"anyOf":["#, "]}"),
            (r#"{"additionalProperties":"#, "}"),
        ] {
            let levels = 510 / (open.matches(['{', '[']).count());
            let text = format!(
                "{}{{\"type\":[\"string\",\"null\"]}}{}",
                open.repeat(levels),
                close.repeat(levels)
            );
            let document = Document::parse(text).unwrap();
            match ForeignSchema::compile(&document) {
                Ok(schema) => {
                    let deep = format!("{}1{}", "[".repeat(511), "]".repeat(511));
                    let deep = Document::parse(deep).unwrap();
                    let valid = schema.is_valid(deep.root());
                    assert_eq!(valid, schema.violations(deep.root(), "").is_empty());
                }
                // Chains at one value have a bound of their own.
                Err(error) => assert!(
                    error.violations()[0].starts_with("schema chains "),
                    "{error}"
                ),
            }
        }
    });
}

#[test]
fn large_schemas_are_refused_before_they_are_compiled() {
    let text = format!(r#"{{"description":"{}"}}"#, "x".repeat(2 << 20));
    assert_eq!(
        compile(&text).err().unwrap(),
        [format!(
            "schema has {} bytes; at most 1048576 are compiled",
            text.len()
        )]
    );
    let many = format!(r#"{{"anyOf":[{}{{}}]}}"#, "{},".repeat(110_000));
    let violations = compile(&many).err().unwrap();
    assert!(
        violations[0].contains("more than 100000 subschemas"),
        "{violations:?}"
    );
}

#[test]
fn a_large_value_is_not_tried_against_thousands_of_branches() {
    let branches: Vec<_> = (0..10_000)
        .map(|number| format!(r#"{{"const":{number}}}"#))
        .collect();
    let schema = compile(&format!(
        r#"{{"type":"array","items":{{"anyOf":[{}]}}}}"#,
        branches.join(",")
    ))
    .unwrap();
    assert!(schema.is_valid(Document::parse("[9999,0]").unwrap().root()));
    let large = Document::parse(format!("[{}0]", "10000,".repeat(50_000))).unwrap();
    assert_eq!(
        schema.violations(large.root(), "value"),
        [r#""value" is too large to be checked against its schema"#]
    );
    assert!(!schema.is_valid(large.root()));
}

#[test]
fn patterns_run_in_bounded_time() {
    let long = Document::string(format!("{}!", "a".repeat(50_000)));
    let schema = compile(r#"{"pattern":"(a+)+$"}"#).unwrap();
    assert_eq!(
        schema.violations(long.root(), ""),
        [r#""arguments" must match pattern "(a+)+$""#]
    );
    // Look-around needs backtracking: it ends, and what could not be judged is refused.
    let schema = compile(r#"{"pattern":"^(?=(a+)+$)b"}"#).unwrap();
    assert!(!schema.is_valid(long.root()));
    assert_eq!(schema.violations(long.root(), "").len(), 1);
    // Not even a negation takes "could not be judged" for a yes.
    let negated = compile(r#"{"not":{"pattern":"^(?!b)(a|a)+(?<=a)$"}}"#).unwrap();
    assert!(negated.is_valid(Document::string("b").root()));
    assert!(!negated.is_valid(Document::string(format!("{}!", "a".repeat(5_000))).root()));
    for (pattern, escaped) in [
        ("(", "("),
        ("(a{1000}){1000}", "(a{1000}){1000}"),
        (r"\\p{Nope}", r"\p{Nope}"),
    ] {
        assert_eq!(
            compile(&format!(
                r#"{{"properties":{{"a":{{"pattern":"{pattern}"}}}}}}"#
            ))
            .err()
            .unwrap(),
            [format!(
                r#"schema.properties.a.pattern "{escaped}" is not a regular expression that can be checked"#
            )]
        );
    }
    assert_eq!(
        compile(r#"{"patternProperties":{"[":{}}}"#).err().unwrap(),
        [r#"schema.patternProperties.[ "[" is not a regular expression that can be checked"#]
    );
    let many = format!(
        r#"{{"anyOf":[{}]}}"#,
        vec![r#"{"pattern":"\\w{50}"}"#; 1_100].join(",")
    );
    assert!(compile(&many).err().unwrap()[0].ends_with("is one of more than 1000 patterns"));
}

#[test]
fn any_document_is_a_schema_or_a_refusal() {
    // Every value of a small grammar of broken schemas, on a small stack.
    let leaves = [
        "null",
        "1",
        "\"x\"",
        "[]",
        "{}",
        "true",
        r##"{"$ref":"#"}"##,
        r#"{"type":"x"}"#,
        r#"[{"a":1}]"#,
    ];
    let keywords = [
        "type",
        "properties",
        "items",
        "prefixItems",
        "oneOf",
        "not",
        "required",
        "enum",
        "const",
        "$ref",
        "$id",
        "$defs",
        "pattern",
        "patternProperties",
        "dependencies",
        "minimum",
        "$schema",
        "$anchor",
        "additionalProperties",
        "if",
    ];
    on_small_stack(move || {
        for keyword in keywords {
            for leaf in leaves {
                for schema in [
                    format!(r#"{{"{keyword}":{leaf}}}"#),
                    format!(r#"{{"properties":{{"a":{{"{keyword}":{leaf}}}}}}}"#),
                    format!(r#"{{"{keyword}":{{"a":{leaf}}},"minLength":1}}"#),
                ] {
                    match compile(&schema) {
                        Ok(contract) => {
                            for leaf in leaves {
                                let value = Document::parse(leaf).unwrap();
                                let violations = contract.violations(value.root(), "");
                                assert_eq!(
                                    contract.is_valid(value.root()),
                                    violations.is_empty(),
                                    "{schema} {leaf}"
                                );
                            }
                        }
                        Err(violations) => assert!(!violations.is_empty(), "{schema}"),
                    }
                }
            }
        }
    });
}
