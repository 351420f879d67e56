//! Rust types straight from documents.

use std::collections::{BTreeMap, HashMap};

use dsh_schema::{Document, DocumentErrorKind as Error};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::parsed;

/// Decodes as `serde_json` does.
#[track_caller]
fn check<T: DeserializeOwned + PartialEq + std::fmt::Debug>(text: &str) {
    let expected: T = serde_json::from_str(text).unwrap();
    assert_eq!(parsed(text).decode::<T>().unwrap(), expected, "{text}");
}

#[track_caller]
fn check_error<T: DeserializeOwned>(text: &str, message: &str) {
    let error = parsed(text)
        .decode::<T>()
        .err()
        .unwrap_or_else(|| panic!("{text} should not decode"));
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (Error::Decode, message)
    );
    assert!(serde_json::from_str::<T>(text).is_err(), "{text}");
}

#[derive(Deserialize, PartialEq, Debug)]
struct Server {
    host: String,
    port: u16,
    #[serde(default)]
    tags: Vec<String>,
    weight: Option<f64>,
}

#[derive(Deserialize, PartialEq, Debug)]
struct Config {
    servers: Vec<Server>,
}

#[derive(Deserialize, PartialEq, Debug)]
enum Shape {
    Unit,
    Newtype(i32),
    Tuple(i32, String),
    Struct { a: u8 },
}

#[derive(Deserialize, PartialEq, Debug)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Tagged {
    One { x: i64 },
    Two(Server),
}

#[derive(Deserialize, PartialEq, Debug)]
#[serde(untagged)]
enum Untagged {
    Number(u8),
    Text(String),
    List(Vec<Untagged>),
}

#[derive(Deserialize, PartialEq, Debug)]
struct Flat {
    id: u8,
    #[serde(flatten)]
    rest: BTreeMap<String, i32>,
}

#[derive(Deserialize, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
struct Strict {
    #[serde(rename = "é\n")]
    odd: u8,
}

#[derive(Deserialize, PartialEq, Debug)]
struct Meters(f32);

#[test]
fn types_decode() {
    check::<bool>("true");
    check::<()>("null");
    check::<u8>("255");
    check::<i64>("-9223372036854775808");
    check::<u64>("18446744073709551615");
    check::<i128>("-5");
    check::<u128>("18446744073709551615");
    check::<f64>("3");
    check::<f32>("0.1");
    check::<char>("\"é\"");
    check::<String>(r#""a\nb""#);
    check::<Option<u8>>("null");
    check::<Option<u8>>("1");
    check::<(u8, String, [bool; 2])>(r#"[1,"x",[true,false]]"#);
    check::<Vec<Option<i32>>>("[1,null,-3]");
    check::<HashMap<String, Vec<u8>>>(r#"{"a":[1],"\t":[]}"#);
    check::<HashMap<char, u8>>(r#"{"a":1}"#);
    check::<Meters>("1.5");
    check::<Config>(
        r#"{"servers":[{"host":"a","port":1,"extra":{"x":[[]]},"weight":2},{"port":2,"host":"b","tags":["x"]}]}"#,
    );
    check::<Server>(r#"["a",1,["t"],null]"#);
    check::<Vec<Shape>>(
        r#"["Unit",{"Unit":null},{"Newtype":-1},{"Tuple":[1,"a"]},{"Struct":{"a":1}},{"Struct":[2]}]"#,
    );
    check::<Vec<Tagged>>(
        r#"[{"type":"one","x":-1},{"x":2,"type":"one"},{"type":"two","host":"h","port":1}]"#,
    );
    check::<Untagged>(r#"[1,"a",[2,[]]]"#);
    check::<Flat>(r#"{"a":1,"id":2,"b":-3}"#);
    check::<Strict>(r#"{"é\n":1}"#);
    check::<serde_json::Value>(r#"{"a":[1,-1,1.5,"x",null,true,{}]}"#);
}

#[test]
fn integral_decimals_decode_as_integers() {
    assert_eq!(parsed("2.0").decode::<u8>().unwrap(), 2);
    assert_eq!(parsed("1e2").decode::<i32>().unwrap(), 100);
    assert!(parsed("1e21").decode::<u128>().is_err());
}

#[test]
fn strings_and_keys_are_borrowed() {
    #[derive(Deserialize)]
    struct Borrowed<'a> {
        plain: &'a str,
        escaped: &'a str,
        #[serde(borrow)]
        bytes: &'a [u8],
    }
    let document = parsed(r#"{"plain":"a","escaped":"\n","bytes":"xyz"}"#);
    let borrowed = Borrowed::deserialize(document.root()).unwrap();
    assert_eq!(
        (borrowed.plain, borrowed.escaped, borrowed.bytes),
        ("a", "\n", b"xyz".as_slice())
    );
    let keys = HashMap::<&str, serde::de::IgnoredAny>::deserialize(document.root()).unwrap();
    assert!(keys.contains_key("escaped"));
}

#[test]
fn errors_carry_the_path_of_the_part_at_fault() {
    check_error::<Config>(
        r#"{"servers":[{"host":"a","port":1},{"host":"b","port":"x"}]}"#,
        "invalid type: string \"x\", expected u16 at `servers[1].port`",
    );
    check_error::<Config>(r#"{"x":{"servers":[]},"y":[1]}"#, "missing field `servers`");
    check_error::<Config>(
        r#"{"x":[[1]],"servers":[{"host":"a"}]}"#,
        "missing field `port` at `servers[0]`",
    );
    check_error::<Config>(
        r#"{"servers":[{"host":"a","port":70000}]}"#,
        "invalid value: integer `70000`, expected u16 at `servers[0].port`",
    );
    check_error::<u8>("1.5", "invalid type: floating point `1.5`, expected u8");
    check_error::<u8>("-1", "invalid value: integer `-1`, expected u8");
    check_error::<bool>("null", "invalid type: null, expected a boolean");
    check_error::<Vec<u8>>("{}", "invalid type: map, expected a sequence");
    check_error::<()>("[]", "invalid type: sequence, expected unit");
    check_error::<[u8; 2]>("[1]", "invalid length 1, expected an array of length 2");
    check_error::<(u8, u8)>(
        "[1,2,3]",
        "invalid length 3, expected fewer elements in array",
    );
    check_error::<Strict>(
        r#"{"é\n":1,"b":2}"#,
        "unknown field `b`, expected `é\n` at `b`",
    );
    check_error::<Vec<Shape>>(
        r#"["Unit","Other"]"#,
        "unknown variant `Other`, expected one of `Unit`, `Newtype`, `Tuple`, `Struct` at `[1]`",
    );
    check_error::<Shape>(
        r#""Newtype""#,
        "invalid type: unit variant, expected newtype variant",
    );
    check_error::<Shape>(
        r#"{"Struct":{"a":256}}"#,
        "invalid value: integer `256`, expected u8 at `Struct.a`",
    );
    check_error::<Shape>(
        r#"{"Unit":1}"#,
        "invalid type: integer `1`, expected unit at `Unit`",
    );
    check_error::<Shape>(
        r#"{"Unit":null,"b":1}"#,
        "invalid value: map, expected an object with a single key",
    );
    check_error::<Shape>(
        "1",
        "invalid type: integer `1`, expected a string or an object with a single key",
    );
    check_error::<HashMap<String, Vec<Untagged>>>(
        r#"{"a":[],"b":[1,{}]}"#,
        "data did not match any variant of untagged enum Untagged at `b[1]`",
    );
    let error = parsed(r#"{"a":{"b":["x"]}}"#)
        .root()
        .get("a")
        .unwrap()
        .decode::<HashMap<String, Vec<u8>>>()
        .unwrap_err();
    assert_eq!(error.path(), Some("a.b[0]"));
}

/// A check of the type itself is placed as well.
#[test]
fn custom_checks_are_placed() {
    #[derive(Deserialize, Debug)]
    #[serde(try_from = "u8")]
    struct Even(#[allow(dead_code)] u8);
    impl TryFrom<u8> for Even {
        type Error = String;

        fn try_from(value: u8) -> Result<Self, String> {
            if value.is_multiple_of(2) {
                Ok(Self(value))
            } else {
                Err(format!("{value} is odd"))
            }
        }
    }
    let error = parsed(r#"{"a":[2,3]}"#)
        .decode::<HashMap<String, Vec<Even>>>()
        .unwrap_err();
    assert_eq!(error.to_string(), "3 is odd at `a[1]`");
}

#[test]
fn documents_decode_parts_of_themselves() {
    #[derive(Deserialize)]
    struct Call {
        arguments: Document,
    }
    let call: Call = parsed(r#"{"name":"x","arguments":{"a":["\n",1.5]}}"#)
        .decode()
        .unwrap();
    assert_eq!(call.arguments.text(), r#"{"a":["\n",1.5]}"#);
}
