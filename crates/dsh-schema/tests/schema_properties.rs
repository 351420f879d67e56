//! Properties that hold for all specifications and values (T336, T352, T368).

use dsh_schema::spec::{ParameterSpec, ValueSpec};
use dsh_schema::{Document, Schema};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A specification in its JSON form, and a value that satisfies it.
#[derive(Clone, Debug)]
struct Case {
    spec: Value,
    value: Value,
}

fn scalar() -> impl Strategy<Value = Case> {
    let number = prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e9..1e9)
            .prop_filter("negative zero", |number| *number != 0.0)
            .prop_map(Value::from),
    ];
    let integer = prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from)
    ];
    let of = |name: &'static str| move |value: Value| (name, value);
    let scalar = prop_oneof![
        any::<String>().prop_map(Value::from).prop_map(of("string")),
        number.prop_map(of("number")),
        integer.prop_map(of("integer")),
        any::<bool>().prop_map(Value::from).prop_map(of("boolean")),
        Just(Value::Null).prop_map(of("null")),
    ];
    (
        scalar,
        any::<bool>(),
        any::<bool>(),
        any::<Option<String>>(),
    )
        .prop_map(|((name, value), listed, fixed, description)| {
            let mut spec = json!({"type": name});
            if listed {
                spec["enum"] = json!([value, value]);
            }
            if fixed {
                spec["const"] = value.clone();
            }
            if let Some(description) = description {
                spec["description"] = description.into();
            }
            Case { spec, value }
        })
}

fn anything() -> impl Strategy<Value = Value> {
    scalar()
        .prop_map(|case| case.value)
        .prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                vec(inner.clone(), 0..4).prop_map(Value::from),
                btree_map("[a-c]?", inner, 0..4)
                    .prop_map(|members| members.into_iter().collect::<Value>()),
            ]
        })
}

/// Properties of a map: the map itself, and members that satisfy it.
fn properties(case: impl Strategy<Value = Case> + Clone) -> impl Strategy<Value = Case> {
    btree_map(any::<String>(), (case, any::<bool>(), any::<bool>()), 0..5).prop_map(|properties| {
        let (mut map, mut members) = (serde_json::Map::new(), serde_json::Map::new());
        for (name, (mut case, required, present)) in properties {
            if required {
                case.spec["required"] = true.into();
            }
            if required || present {
                members.insert(name.clone(), case.value);
            }
            map.insert(name, case.spec);
        }
        Case {
            spec: map.into(),
            value: members.into(),
        }
    })
}

fn case() -> impl Strategy<Value = Case> + Clone {
    let leaf = prop_oneof![
        scalar(),
        anything().prop_map(|value| Case {
            spec: json!({"type": "json"}),
            value
        }),
        vec(anything(), 0..3).prop_map(|items| Case {
            spec: json!({"type": "array"}),
            value: items.into()
        }),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            (inner.clone(), 0_usize..3).prop_map(|(case, count)| Case {
                spec: json!({"type": "array", "items": case.spec}),
                value: vec![case.value; count].into(),
            }),
            (properties(inner.clone()), any::<bool>()).prop_map(|(case, open)| Case {
                spec: json!({"type": "object", "additionalProperties": open, "properties": case.spec}),
                value: case.value,
            }),
            // Told apart by a tag, so that exactly one branch accepts.
            (inner.clone(), inner).prop_map(|(one, other)| {
                let branch = |tag: &str, mut spec: Value| {
                    spec["required"] = true.into();
                    let tag = json!({"type": "string", "const": tag, "required": true});
                    json!({"type": "object", "additionalProperties": false, "properties": {"tag": tag, "of": spec}})
                };
                Case {
                    spec: json!({"oneOf": [branch("other", other.spec), branch("one", one.spec)]}),
                    value: json!({"tag": "one", "of": one.value}),
                }
            }),
        ]
    })
    .boxed()
}

fn document(value: &Value) -> Document {
    Document::from_value(value).unwrap_or_else(|error| panic!("{value}: {error}"))
}

fn parameters(spec: &Value) -> Schema {
    ParameterSpec::from_json(&document(spec))
        .and_then(|spec| spec.compile())
        .unwrap_or_else(|error| panic!("{error}"))
}

proptest! {
    /// T336, and T368: what satisfies a specification has no violations.
    #[test]
    fn well_formed_specifications_compile_and_accept(case in case()) {
        let schema = ValueSpec::from_json(&document(&case.spec)).and_then(|spec| spec.compile());
        let schema = schema.map_err(|error| TestCaseError::fail(error.to_string()))?;
        let value = document(&case.value);
        prop_assert_eq!(schema.violations(value.root(), "value"), Vec::<String>::new());
        prop_assert!(schema.is_valid(value.root()));
        // The compiled text is a fixed point: it is compact, and reads as the same schema.
        prop_assert_eq!(schema.source().text(), schema.source().to_json());
    }

    /// T368: each required key that is taken away is named in quotes.
    #[test]
    fn a_missing_required_key_is_named(case in properties(case())) {
        let schema = parameters(&case.spec);
        let members = case.value.as_object().expect("members");
        for (name, spec) in case.spec.as_object().expect("a map") {
            let mut rest = members.clone();
            rest.remove(name);
            let rest = document(&rest.into());
            let expected = match spec.get("required") {
                Some(_) => vec![format!("missing required property \"{name}\"")],
                None => Vec::new(),
            };
            prop_assert_eq!(schema.is_valid(rest.root()), expected.is_empty());
            prop_assert_eq!(schema.violations(rest.root(), ""), expected);
        }
    }

    /// T365, T368: arguments are an object.
    #[test]
    fn a_root_that_is_no_object_is_refused(case in properties(case()), value in anything()) {
        prop_assume!(!value.is_object());
        let violations = parameters(&case.spec).violations(document(&value).root(), "");
        prop_assert_eq!(violations, ["\"arguments\" must be an object"]);
    }

    /// T352: any value against any schema is a list of violations, and the verdict agrees with it.
    #[test]
    fn validation_is_total(case in case(), value in anything()) {
        let schema = ValueSpec::from_json(&document(&case.spec)).and_then(|spec| spec.compile());
        let schema = schema.map_err(|error| TestCaseError::fail(error.to_string()))?;
        for value in [&value, &case.spec] {
            let value = document(value);
            prop_assert_eq!(schema.is_valid(value.root()), schema.violations(value.root(), "").is_empty());
        }
    }

    /// A general validator has the same verdict.
    #[test]
    fn verdicts_are_those_of_a_general_validator(case in case(), value in anything()) {
        let schema = ValueSpec::from_json(&document(&case.spec)).and_then(|spec| spec.compile());
        let schema = schema.map_err(|error| TestCaseError::fail(error.to_string()))?;
        let general = jsonschema::draft202012::new(&schema.source().to_value());
        let general = general.map_err(|error| TestCaseError::fail(error.to_string()))?;
        for value in [&value, &case.spec] {
            prop_assert_eq!(schema.is_valid(document(value).root()), general.is_valid(value));
        }
    }
}
