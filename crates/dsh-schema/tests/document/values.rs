//! Documents from and to values: `serde_json`, `Serialize`, `Deserialize`, equality.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use dsh_schema::{Document, DocumentError, DocumentErrorKind as Error, Kind, MAX_DEPTH};
use serde::ser::{SerializeMap as _, SerializeSeq as _, SerializeStruct as _};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};

use crate::{parsed, refused};

fn nested_value(depth: usize) -> Value {
    (0..depth).fold(json!(1), |value, level| {
        if level % 2 == 0 {
            json!([value])
        } else {
            json!({ "a": value })
        }
    })
}

/// Takes a value apart that would overflow the stack when dropped.
fn dismantle(value: Value) {
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        match value {
            Value::Array(items) => pending.extend(items),
            Value::Object(members) => pending.extend(members.into_iter().map(|(_, value)| value)),
            _ => {}
        }
    }
}

fn deep_value(depth: usize) -> Value {
    let mut value = Value::Null;
    for _ in 0..depth {
        value = Value::Array(vec![value]);
    }
    value
}

#[test]
fn serde_json_values_convert_both_ways() {
    let value = json!({
        "z": [1, -1, 1.5, u64::MAX, i64::MIN, "é\n", "", null, true, false, [], {}],
        "a": { "b\"": { "c": [[[0]]] } },
    });
    let document = Document::from_value(&value).unwrap();
    assert_eq!(document.to_value(), value);
    assert_eq!(document.text(), serde_json::to_string(&value).unwrap());
    assert_eq!(document.to_json(), document.text());
    assert_eq!(document, parsed(&value.to_string()));
    assert_eq!(Document::try_from(&value).unwrap(), document);
    assert_eq!(Document::try_from(value.clone()).unwrap(), document);
    assert_eq!(Value::from(&document), value);
    assert_eq!(Value::from(document), value);
}

#[test]
fn integral_floats_of_values_become_integers() {
    let document = Document::from_value(&json!([2.0, 1e2, 1e21, 1e18, -3.0, 0.0])).unwrap();
    assert_eq!(document.text(), "[2,100,1e+21,1000000000000000000,-3,0]");
    assert_eq!(document.root().index(2).unwrap().kind(), Kind::Float);
    assert_eq!(document.root().index(3).unwrap().kind(), Kind::Integer);
}

#[test]
fn negative_zero_in_a_value_is_refused_with_its_path() {
    let error =
        Document::from_value(&json!({ "servers": [{}, { "x": [1], "host": -0.0 }] })).unwrap_err();
    assert_eq!(error.kind(), Error::NegativeZero);
    assert_eq!(error.path(), Some("servers[1].host"));
    assert_eq!(
        error.to_string(),
        "`-0` is negative zero; write `0` at `servers[1].host`"
    );
    assert_eq!(
        (error.offset(), error.line(), error.column()),
        (None, None, None)
    );
    assert_eq!(
        Document::from_value(&json!(-0.0)).unwrap_err().path(),
        Some("")
    );
}

/// T49: a value that is too deep is neither walked nor dropped by recursion.
#[test]
fn deep_values_are_refused_and_taken_apart() {
    let document = Document::from_value(&nested_value(MAX_DEPTH)).unwrap();
    assert_eq!(document.to_value(), nested_value(MAX_DEPTH));
    assert_eq!(
        Document::from_value(&nested_value(MAX_DEPTH + 1))
            .unwrap_err()
            .kind(),
        Error::TooDeep
    );
    let deep = deep_value(200_000);
    assert_eq!(
        Document::from_value(&deep).unwrap_err().kind(),
        Error::TooDeep
    );
    dismantle(deep);
    let deep = Value::Object(
        [
            ("x".to_owned(), deep_value(200_000)),
            ("y".to_owned(), json!(1)),
        ]
        .into_iter()
        .collect(),
    );
    assert_eq!(
        Document::from_owned_value(deep).unwrap_err().kind(),
        Error::TooDeep
    );
    // The lossy place may come before the deep one.
    assert_eq!(
        Document::from_owned_value(Value::Array(vec![json!(-0.0), deep_value(200_000)]))
            .unwrap_err()
            .kind(),
        Error::NegativeZero
    );
}

#[derive(Serialize, Deserialize, PartialEq, Debug, Clone)]
enum Shape {
    Unit,
    Newtype(i32),
    Tuple(i32, String),
    Struct { a: Option<u8>, b: () },
}

#[derive(Serialize, Deserialize, PartialEq, Debug, Clone)]
struct Wrapper(f64);

#[derive(Serialize, Deserialize, PartialEq, Debug, Clone)]
struct Marker;

#[derive(Serialize, Deserialize, PartialEq, Debug, Clone)]
struct Everything {
    shapes: Vec<Shape>,
    wrapper: Wrapper,
    marker: Marker,
    tuple: (bool, char, f32),
    map: BTreeMap<String, Option<Box<Everything>>>,
    by_shape: BTreeMap<char, i8>,
    wide: (u64, i64, u128, i128),
    text: String,
    nothing: Option<i32>,
}

fn everything() -> Everything {
    let inner = Everything {
        shapes: vec![
            Shape::Unit,
            Shape::Newtype(-5),
            Shape::Tuple(1, "é\u{1}".to_owned()),
            Shape::Struct { a: Some(1), b: () },
            Shape::Struct { a: None, b: () },
        ],
        wrapper: Wrapper(0.25),
        marker: Marker,
        tuple: (true, '"', 1.5),
        map: BTreeMap::new(),
        by_shape: [('x', -1), ('\n', 2)].into(),
        wide: (u64::MAX, i64::MIN, u64::MAX.into(), i64::MIN.into()),
        text: "long enough not to fit into the place inside of the document".to_owned(),
        nothing: None,
    };
    let map = [
        ("some".to_owned(), Some(Box::new(inner.clone()))),
        ("none".to_owned(), None),
    ]
    .into();
    Everything { map, ..inner }
}

#[test]
fn rust_values_take_the_shape_that_serde_json_gives() {
    let value = everything();
    let document = Document::from_serialize(&value).unwrap();
    assert_eq!(document.text(), serde_json::to_string(&value).unwrap());
    assert_eq!(
        document.to_value(),
        serde_json::from_str::<Value>(document.text()).unwrap()
    );
    assert_eq!(document, parsed(document.text()));
    assert_eq!(document.decode::<Everything>().unwrap(), value);
    struct Bytes;
    impl Serialize for Bytes {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_bytes(b"\0\xff")
        }
    }
    assert_eq!(Document::from_serialize(&Bytes).unwrap().text(), "[0,255]");
    assert_eq!(
        Document::from_serialize(&format_args!("{}", 1))
            .unwrap()
            .text(),
        "\"1\""
    );
}

#[track_caller]
fn check_unserialisable<T: Serialize>(value: T, kind: Error, message: &str) {
    let error = Document::from_serialize(&value).unwrap_err();
    assert_eq!((error.kind(), error.to_string().as_str()), (kind, message));
}

/// T43, T44, T47, T50.
#[test]
fn lossy_rust_values_are_refused() {
    check_unserialisable(f64::NAN, Error::NotFinite, "`NaN` is not a JSON number");
    check_unserialisable(
        [1.0, f64::INFINITY],
        Error::NotFinite,
        "`inf` is not a JSON number at `[1]`",
    );
    check_unserialisable(
        Some(f32::NEG_INFINITY),
        Error::NotFinite,
        "`-inf` is not a JSON number",
    );
    check_unserialisable(
        [("a", -0.0)],
        Error::NegativeZero,
        "`-0` is negative zero; write `0` at `[0][1]`",
    );
    check_unserialisable(
        BTreeMap::from([("x", -0.0_f32)]),
        Error::NegativeZero,
        "`-0` is negative zero; write `0` at `x`",
    );
    check_unserialisable(
        u128::from(u64::MAX) + 1,
        Error::IntegerRange,
        "integer `18446744073709551616` does not fit in 64 bits; send it as a string",
    );
    check_unserialisable(
        (0, i128::from(i64::MIN) - 1),
        Error::IntegerRange,
        "integer `-9223372036854775809` does not fit in 64 bits; send it as a string at `[1]`",
    );
    let numbers = "a map key is a number; only strings can be keys";
    check_unserialisable(BTreeMap::from([(1, 1)]), Error::NonStringKey, numbers);
    check_unserialisable(BTreeMap::from([(1_u128, 1)]), Error::NonStringKey, numbers);
    check_unserialisable(
        BTreeMap::from([(true, 1)]),
        Error::NonStringKey,
        "a map key is a boolean; only strings can be keys",
    );
    check_unserialisable(
        BTreeMap::from([((), 1)]),
        Error::NonStringKey,
        "a map key is null; only strings can be keys",
    );
    check_unserialisable(
        BTreeMap::from([("m", BTreeMap::from([((1, 2), 1)]))]),
        Error::NonStringKey,
        "a map key is a tuple; only strings can be keys at `m`",
    );
    check_unserialisable(
        BTreeMap::from([(None::<u8>, 1)]),
        Error::NonStringKey,
        "a map key is null; only strings can be keys",
    );
}

#[test]
fn string_like_keys_are_accepted() {
    #[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
    enum Key {
        Left,
    }
    #[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
    struct Name(&'static str);
    assert_eq!(
        Document::from_serialize(&BTreeMap::from([(Key::Left, 1)]))
            .unwrap()
            .text(),
        r#"{"Left":1}"#
    );
    assert_eq!(
        Document::from_serialize(&BTreeMap::from([(Name("a"), 1)]))
            .unwrap()
            .text(),
        r#"{"a":1}"#
    );
    assert_eq!(
        Document::from_serialize(&BTreeMap::from([('x', 1)]))
            .unwrap()
            .text(),
        r#"{"x":1}"#
    );
    assert_eq!(
        Document::from_serialize(&BTreeMap::from([(Some("s"), 1)]))
            .unwrap()
            .text(),
        r#"{"s":1}"#
    );
}

/// T46: flattening can emit a key twice.
#[test]
fn duplicate_keys_of_flattened_structs_are_refused() {
    #[derive(Serialize)]
    struct Outer {
        id: u8,
        #[serde(flatten)]
        rest: HashMap<&'static str, u8>,
    }
    let error = Document::from_serialize(&[Outer {
        id: 1,
        rest: HashMap::from([("id", 2)]),
    }])
    .unwrap_err();
    assert_eq!(error.kind(), Error::DuplicateKey);
    assert_eq!(error.to_string(), "duplicate key `id` at `[0]`");
}

/// The encoder stops before the stack does.
#[test]
fn deep_rust_values_are_refused() {
    struct Endless {
        wrapped: bool,
    }
    impl Serialize for Endless {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            if self.wrapped {
                return serializer.serialize_some(self);
            }
            let mut items = serializer.serialize_seq(None)?;
            items.serialize_element(self)?;
            items.end()
        }
    }
    for wrapped in [false, true] {
        assert_eq!(
            Document::from_serialize(&Endless { wrapped })
                .unwrap_err()
                .kind(),
            Error::TooDeep
        );
    }
    let deep = nested_value(MAX_DEPTH);
    assert_eq!(
        Document::from_serialize(&deep).unwrap(),
        Document::from_value(&deep).unwrap()
    );
    assert_eq!(
        Document::from_serialize(&[deep]).unwrap_err().kind(),
        Error::TooDeep
    );
}

/// Whatever a `Serialize` implementation does, the result is a valid document or an error.
#[test]
fn faulty_implementations_are_errors() {
    struct Faulty(u8);
    struct Fails;
    impl Serialize for Fails {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            // Leaves a container open.
            let mut items = serializer.serialize_seq(None)?;
            items.serialize_element(&1)?;
            Err(serde::ser::Error::custom("no luck"))
        }
    }
    impl Serialize for Faulty {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            if self.0 < 4 {
                let mut map = serializer.serialize_map(None)?;
                match self.0 {
                    0 => map.serialize_value("value without a key")?,
                    1 => map.serialize_key("key without a value")?,
                    2 => {
                        map.serialize_key("a")?;
                        map.serialize_key("b")?;
                    }
                    _ => {
                        map.serialize_key("a")?;
                        let _ = map.serialize_value(&Fails);
                    }
                }
                return map.end();
            }
            let mut items = serializer.serialize_seq(None)?;
            // Swallows the failure.
            let _ = items.serialize_element(&Fails);
            items.serialize_element(&2)?;
            items.end()
        }
    }
    for fault in 0..5 {
        assert_eq!(
            Document::from_serialize(&Faulty(fault)).unwrap_err().kind(),
            Error::Encode,
            "{fault}"
        );
    }
    let error = Document::from_serialize(&BTreeMap::from([("a", [Some(Fails)])])).unwrap_err();
    assert_eq!(error.message(), "no luck");
}

/// T51: raw JSON text is parsed and checked, not trusted and not taken for a struct.
#[test]
fn raw_values_are_checked() {
    struct Raw(&'static str);
    impl Serialize for Raw {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut raw = serializer.serialize_struct("$serde_json::private::RawValue", 1)?;
            raw.serialize_field("$serde_json::private::RawValue", self.0)?;
            raw.end()
        }
    }
    let document =
        Document::from_serialize(&BTreeMap::from([("a", [Raw("{ \"b\" : [2.0] }")])])).unwrap();
    assert_eq!(document.text(), r#"{"a":[{"b":[2]}]}"#);
    for (text, kind) in [
        ("-0", Error::NegativeZero),
        ("{\"x\":1,\"x\":2}", Error::DuplicateKey),
        ("1,2", Error::Syntax),
        ("", Error::Syntax),
    ] {
        let error = Document::from_serialize(&BTreeMap::from([("a", [Raw(text)])])).unwrap_err();
        assert_eq!((error.kind(), error.path()), (kind, Some("a[0]")));
    }
}

#[test]
fn documents_serialise_as_their_value() {
    let text = r#"{"z":[1,-1,18446744073709551615,0.5,"é\n",null,true],"a":{}}"#;
    let document = parsed(text);
    assert_eq!(serde_json::to_string(&document).unwrap(), text);
    assert_eq!(
        serde_json::to_string(&document.root().get("z")).unwrap(),
        r#"[1,-1,18446744073709551615,0.5,"é\n",null,true]"#
    );
    assert_eq!(
        Document::from_serialize(&[&document]).unwrap().text(),
        format!("[{text}]")
    );
    assert_eq!(Document::from_serialize(&document).unwrap(), document);
}

#[test]
fn documents_deserialise_from_any_format() {
    #[derive(Deserialize)]
    struct Holder {
        data: Document,
    }
    let text = r#"{"data":{"z":[1,-1,18446744073709551615,0.5,2.0,"é\n",null,true],"a":{}}}"#;
    let expected = r#"{"z":[1,-1,18446744073709551615,0.5,2,"é\n",null,true],"a":{}}"#;
    assert_eq!(
        serde_json::from_str::<Holder>(text).unwrap().data.text(),
        expected
    );
    assert_eq!(
        serde_json::from_value::<Holder>(serde_json::from_str(text).unwrap())
            .unwrap()
            .data
            .text(),
        expected
    );
    assert_eq!(
        parsed(text).decode::<Holder>().unwrap().data.text(),
        expected
    );
    for (lossy, message) in [
        (r#"{"data":[{"a":1,"a":2}]}"#, "duplicate key `a` at `[0]`"),
        (
            r#"{"data":{"a":[-0]}}"#,
            "`-0` is negative zero; write `0` at `a[0]`",
        ),
    ] {
        let error = serde_json::from_str::<Holder>(lossy)
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains(message), "{error}");
    }
    let deep = nested_value(MAX_DEPTH + 1);
    let error = Document::deserialize(&deep).unwrap_err();
    assert!(
        error.to_string().contains("nest deeper than 512 levels"),
        "{error}"
    );
    assert_eq!(
        Document::deserialize(&nested_value(MAX_DEPTH)).unwrap(),
        Document::from_value(&nested_value(MAX_DEPTH)).unwrap()
    );
}

#[test]
fn plain_values_become_documents() {
    assert_eq!(Document::from(true).text(), "true");
    assert_eq!(Document::from(-5).text(), "-5");
    assert_eq!(Document::from(u64::MAX).text(), "18446744073709551615");
    assert_eq!(Document::from("a\"b").text(), r#""a\"b""#);
    assert_eq!(Document::from("text".to_owned()).text(), "\"text\"");
    assert_eq!(Document::try_from(1.5).unwrap().text(), "1.5");
    assert_eq!(Document::try_from(2.0).unwrap().text(), "2");
    assert_eq!(
        Document::try_from(f64::NAN).unwrap_err().kind(),
        Error::NotFinite
    );
    assert_eq!(Document::null().text(), "null");
    assert_eq!(Document::default(), Document::null());
    assert!(Document::null().root().is_null());
}

#[test]
fn equality_is_that_of_values() {
    for (a, b) in [
        ("1", "1.0"),
        ("100", "1e2"),
        ("18446744073709551615", "18446744073709551615.0"),
        ("\"A\"", "\"\\u0041\""),
        (r#"{"a":1,"b":[2]}"#, r#" { "b" : [ 2.0 ] , "a" : 1 } "#),
        (
            r#"[{"a":{"x":1,"y":2},"b":[]}]"#,
            r#"[{"b":[],"a":{"y":2,"x":1}}]"#,
        ),
        ("[]", " [ ] "),
    ] {
        assert_eq!(parsed(a), parsed(b));
        assert_eq!(parsed(b).root(), parsed(a).root());
    }
    for (a, b) in [
        ("1", "2"),
        ("1", "\"1\""),
        ("1", "true"),
        ("null", "false"),
        ("true", "false"),
        ("[]", "{}"),
        ("[1,2]", "[2,1]"),
        ("[1]", "[1,1]"),
        ("[[1],[]]", "[[],[1]]"),
        (r#"{"a":1}"#, r#"{"b":1}"#),
        (r#"{"a":1}"#, r#"{"a":2}"#),
        (r#"{"a":1,"b":2}"#, r#"{"a":1}"#),
        (r#"{"a":1,"b":2}"#, r#"{"b":1,"a":2}"#),
        (r#"["a",1]"#, r#"{"a":1}"#),
        ("9007199254740993", "9007199254740992"),
        ("9007199254740993", "9007199254740992.1"),
        ("18446744073709551615", "18446744073709551616.0"),
        ("0.1", "0.10000000000000002"),
        ("\"a\"", "\"b\""),
    ] {
        assert_ne!(parsed(a), parsed(b));
        assert_ne!(parsed(b), parsed(a));
    }
    let members: Vec<String> = (0..40).map(|key| format!("\"k{key}\":[{key}]")).collect();
    let reversed: Vec<String> = members.iter().rev().cloned().collect();
    let document = parsed(&format!("{{{}}}", members.join(",")));
    assert_eq!(document, parsed(&format!("{{{}}}", reversed.join(","))));
    assert_ne!(
        document,
        parsed(&format!("{{{}}}", reversed.join(",").replace("[7]", "[8]")))
    );
    assert_ne!(
        document,
        parsed(&format!("{{{}}}", reversed.join(",").replace("k7", "k77")))
    );
}

#[test]
fn documents_and_errors_cross_threads() {
    fn check<T: Send + Sync + Clone + fmt::Debug + 'static>() {}
    check::<Document>();
    check::<DocumentError>();
    let error: Box<dyn std::error::Error> = Box::new(refused("x"));
    assert!(error.source().is_none());
    assert_eq!(refused("x"), refused("x"));
    assert!(format!("{:?}", refused("x")).contains("Syntax"));
}
