//! Documents and `serde_json` agree on random JSON.

use dsh_schema::{Document, DocumentErrorKind as Error, Kind};
use proptest::prelude::*;
use serde_json::Value;

fn any_number() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-100_i32..100).prop_map(Value::from),
        // Nor integral beyond 2^53: as text their shortest digits are other integers.
        any::<f64>()
            .prop_filter("finite, not negative zero", |value| {
                value.is_finite()
                    && value.to_bits() != 1 << 63
                    && !(9e15..1.9e19).contains(&value.abs())
            })
            .prop_map(Value::from),
        (-1_000_000_i64..1_000_000, 0..6)
            .prop_filter("no zero", |(mantissa, _)| *mantissa != 0)
            .prop_map(|(mantissa, places)| Value::from(mantissa as f64 / 10_f64.powi(places))),
    ]
}

fn any_string() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{0,12}",
        any::<String>(),
        proptest::collection::vec(any::<char>(), 0..100).prop_map(String::from_iter),
        "[\u{0}-\u{22}\\\\é]{0,80}",
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any_number(),
        any_string().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 200, 24, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..12).prop_map(Value::from),
            proptest::collection::vec((any_string(), inner), 0..24)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// The value with integral floats as integers, as documents have them.
fn normalised(value: Value) -> Value {
    match value {
        Value::Number(number) => Document::try_from(Value::Number(number))
            .unwrap()
            .to_value(),
        Value::Array(items) => items.into_iter().map(normalised).collect(),
        Value::Object(members) => members
            .into_iter()
            .map(|(key, value)| (key, normalised(value)))
            .collect(),
        other => other,
    }
}

/// Whether ECMAScript's spelling of some number in it is an integer literal that is out of range.
fn has_long_integers(document: &Document) -> bool {
    let mut pending = vec![document.root()];
    while let Some(value) = pending.pop() {
        if value.kind() == Kind::Float
            && value
                .as_f64()
                .is_some_and(|value| value.abs() >= 9.2e18 && value.abs() < 1e21)
        {
            return true;
        }
        pending.extend(value.as_array().into_iter().flat_map(|array| array.iter()));
        pending.extend(
            value
                .as_object()
                .into_iter()
                .flat_map(|object| object.iter().map(|(_, value)| value)),
        );
    }
    false
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parsing_agrees_with_serde_json(value in any_value(), pretty: bool) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let value = normalised(value);
        let document = Document::parse(text.as_str()).unwrap();
        prop_assert_eq!(&document.to_value(), &value);
        prop_assert_eq!(document.text(), text);
        let built = Document::from_value(&value).unwrap();
        prop_assert_eq!(&built, &document);
        prop_assert_eq!(&Document::from_serialize(&value).unwrap(), &document);
        prop_assert_eq!(&document.decode::<Value>().unwrap(), &value);
        prop_assert_eq!(&document.decode::<Document>().unwrap(), &document);
        prop_assert_eq!(&document.root().to_document(), &document);
        // What was built parses to the same.
        prop_assert_eq!(&Document::parse(built.text()).unwrap(), &document);
    }

    #[test]
    fn writing_is_a_fixed_point(value in any_value()) {
        let document = Document::from_value(&value).unwrap();
        for json in [document.to_json(), document.to_json_pretty()] {
            match Document::parse(json.as_str()) {
                Ok(again) => {
                    prop_assert_eq!(&again, &document);
                    prop_assert_eq!(again.to_json(), document.to_json());
                }
                Err(error) => {
                    prop_assert_eq!(error.kind(), Error::IntegerRange);
                    prop_assert!(has_long_integers(&document));
                }
            }
        }
    }

    #[test]
    fn every_member_is_reached(value in any_value()) {
        let document = Document::from_value(&value).unwrap();
        let mut pending = vec![(document.root(), value)];
        while let Some((node, value)) = pending.pop() {
            match value {
                Value::Array(items) => {
                    prop_assert_eq!(node.as_array().unwrap().len(), items.len());
                    for (index, item) in items.into_iter().enumerate() {
                        pending.push((node.index(index).unwrap(), item));
                    }
                }
                Value::Object(members) => {
                    prop_assert_eq!(node.as_object().unwrap().len(), members.len());
                    for (key, member) in members {
                        pending.push((node.get(&key).unwrap(), member));
                    }
                }
                scalar => prop_assert_eq!(node.to_value(), normalised(scalar)),
            }
        }
    }

    #[test]
    fn doubles_round_trip(bits: u64) {
        let value = f64::from_bits(bits);
        prop_assume!(value.is_finite() && value.to_bits() != 1 << 63);
        let document = Document::parse(format!("{value:e}")).unwrap();
        prop_assert_eq!(document.root().as_f64().unwrap().to_bits(), value.to_bits());
        prop_assert!(has_shortest_digits(value));
    }

    #[test]
    fn decimals_are_rounded_correctly(whole in "0|[1-9][0-9]{0,24}", fraction in "[0-9]{1,25}", exponent in -340..310_i32) {
        let text = format!("{whole}.{fraction}e{exponent}");
        let expected: f64 = text.parse().unwrap();
        match Document::parse(text.as_str()) {
            Ok(document) => prop_assert_eq!(document.root().as_f64().unwrap().to_bits(), expected.to_bits()),
            Err(error) => {
                prop_assert_eq!(error.kind(), Error::NumberOverflow);
                prop_assert!(expected.is_infinite());
            }
        }
    }

    /// Near-JSON: both parsers accept the same texts, but for what is lossy.
    #[test]
    fn both_accept_the_same_texts(text in r#"([\[\]{},: 0-9eE.\-"\\untrfalsdAB]|\\u[dD][89a-fA-F][0-9]{2}|null|true|"a":|"b"){0,24}"#) {
        let other = serde_json::from_str::<Value>(&text);
        match Document::parse(text.as_str()) {
            Ok(document) => prop_assert_eq!(document.to_value(), normalised(other.unwrap())),
            Err(error) if error.kind().is_lossy() => {}
            Err(error) => prop_assert!(other.is_err(), "{}: {}", text, error),
        }
    }
}

/// Compares with the shortest digits of another implementation. Where two are equally near, ECMAScript takes the even ones,
/// and the other implementation need not.
fn has_shortest_digits(value: f64) -> bool {
    let digits = |text: &str| {
        let mantissa = text.split('e').next().unwrap_or_default();
        let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
        digits.trim_matches('0').to_owned()
    };
    let ours = digits(&dsh_schema::Number::Float(value).to_string());
    let theirs = digits(&format!("{value:e}"));
    let is_tie = || {
        let below = (&ours).min(&theirs);
        digits(&format!("{value:.800e}")) == format!("{below}5")
    };
    let is_even = || ours.ends_with(['0', '2', '4', '6', '8']);
    ours == theirs || (ours.len() == theirs.len() && is_tie() && is_even())
}

#[test]
fn equally_near_digits_are_even() {
    let value = f64::from_bits(4_817_401_504_195_072_264);
    assert_eq!(
        dsh_schema::Number::Float(value).to_string(),
        "118079721302852.12"
    );
    assert!(has_shortest_digits(value));
}
