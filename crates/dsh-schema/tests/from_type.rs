//! Contracts of Rust types, by the table of what `schemars` derives.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(dead_code, reason = "the fields are there for their schemas")]

use std::collections::HashMap;

use dsh_schema::{ArgumentsContract, Contract, Document, arguments_of, output_of, typescript};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[track_caller]
fn arguments<T: JsonSchema>(expected: &str) -> Contract {
    let contract = arguments_of::<T>().unwrap();
    assert_eq!(contract.source().to_json(), expected);
    contract
}

#[track_caller]
fn output<T: JsonSchema>(expected: &str) -> Contract {
    let contract = output_of::<T>().unwrap();
    assert_eq!(contract.source().to_json(), expected);
    contract
}

#[track_caller]
fn is_subset(contract: &Contract) {
    assert!(
        matches!(contract, Contract::Subset(_)),
        "{}",
        contract.source().to_json()
    );
}

#[track_caller]
fn is_foreign(contract: &Contract) {
    assert!(
        matches!(contract, Contract::Foreign(_)),
        "{}",
        contract.source().to_json()
    );
}

#[test]
fn fields_keep_their_order_their_docs_and_lose_their_widths() {
    /// Reads lines.
    #[derive(JsonSchema, Deserialize)]
    struct Read {
        /// Path of the file.
        file_path: String,
        a: u8,
        b: i8,
        c: u32,
        d: i64,
        e: usize,
        f: f32,
        g: f64,
        h: bool,
        z: (),
        list: Vec<u16>,
        path: std::path::PathBuf,
    }
    is_subset(&arguments::<Read>(
        r#"{"type":"object","description":"Reads lines.","properties":{"file_path":{"type":"string","description":"Path of the file."},"a":{"type":"integer"},"b":{"type":"integer"},"c":{"type":"integer"},"d":{"type":"integer"},"e":{"type":"integer"},"f":{"type":"number"},"g":{"type":"number"},"h":{"type":"boolean"},"z":{"type":"null"},"list":{"type":"array","items":{"type":"integer"}},"path":{"type":"string"}},"required":["file_path","a","b","c","d","e","f","g","h","z","list","path"]}"#,
    ));
}

#[test]
fn openness_is_the_structs_own() {
    #[derive(JsonSchema, Deserialize)]
    struct Open {
        a: String,
    }
    #[derive(JsonSchema, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Closed {
        a: String,
    }
    #[derive(JsonSchema, Deserialize)]
    struct Empty {}
    is_subset(&arguments::<Open>(
        r#"{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}"#,
    ));
    is_subset(&arguments::<Closed>(
        r#"{"type":"object","additionalProperties":false,"properties":{"a":{"type":"string"}},"required":["a"]}"#,
    ));
    is_subset(&arguments::<Empty>(r#"{"type":"object","properties":{}}"#));
}

#[derive(JsonSchema, Deserialize, Serialize)]
enum Unit {
    One,
    Two,
}

/// How to go.
#[derive(JsonSchema, Deserialize, Serialize, Debug, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Speed {
    /// With care.
    Slow,
    /// Without.
    VeryFast,
}

#[derive(JsonSchema, Deserialize, Serialize)]
struct Inner {
    depth: Option<u16>,
    #[serde(default)]
    width: u8,
}

#[test]
fn the_null_of_optional_arguments_is_left_out() {
    #[derive(JsonSchema, Deserialize)]
    struct Args {
        number: Option<u32>,
        unit: Option<Unit>,
        speed: Option<Speed>,
        inner: Option<Inner>,
        twice: Option<Option<bool>>,
        #[serde(default)]
        defaulted: Option<u32>,
        any: Option<serde_json::Value>,
    }
    is_subset(&arguments::<Args>(
        r#"{"type":"object","properties":{"number":{"type":"integer"},"unit":{"type":"string","enum":["One","Two"]},"speed":{"type":"string","description":"How to go.\n- `slow`: With care.\n- `very_fast`: Without.","enum":["slow","very_fast"]},"inner":{"type":"object","properties":{"depth":{"type":"integer"},"width":{"type":"integer","default":0}}},"twice":{"type":"boolean"},"defaulted":{"type":"integer"},"any":{}}}"#,
    ));
}

#[test]
fn the_null_of_outputs_is_a_branch() {
    #[derive(JsonSchema, Serialize)]
    struct Output {
        /// How many.
        number: Option<u32>,
        unit: Option<Unit>,
        speed: Option<Speed>,
        #[serde(skip_serializing_if = "Option::is_none")]
        skipped: Option<bool>,
        items: Vec<Option<u8>>,
    }
    is_subset(&output::<Output>(
        r#"{"type":"object","properties":{"number":{"oneOf":[{"type":"integer"},{"type":"null"}],"description":"How many."},"unit":{"oneOf":[{"type":"string","enum":["One","Two"]},{"type":"null"}]},"speed":{"oneOf":[{"type":"string","description":"How to go.\n- `slow`: With care.\n- `very_fast`: Without.","enum":["slow","very_fast"]},{"type":"null"}]},"skipped":{"oneOf":[{"type":"boolean"},{"type":"null"}]},"items":{"type":"array","items":{"oneOf":[{"type":"integer"},{"type":"null"}]}}},"required":["number","unit","speed","items"]}"#,
    ));
    is_subset(&output::<String>(r#"{"type":"string"}"#));
    is_subset(&output::<()>(r#"{"type":"null"}"#));
    is_subset(&output::<Vec<Unit>>(
        r#"{"type":"array","items":{"type":"string","enum":["One","Two"]}}"#,
    ));
}

#[test]
fn enums_fold_by_their_tagging() {
    #[derive(JsonSchema, Serialize)]
    #[serde(tag = "type", rename_all = "snake_case")]
    enum Tagged {
        /// Between two numbers.
        Range {
            min: u8,
            max: Option<i64>,
        },
        Unit,
    }
    #[derive(JsonSchema, Serialize)]
    enum External {
        Unit,
        Path(String),
    }
    #[derive(JsonSchema, Serialize)]
    #[serde(untagged)]
    enum Untagged {
        A(String),
        B(u32),
    }
    #[derive(JsonSchema, Serialize)]
    #[serde(tag = "type")]
    enum Single {
        Only { a: bool },
    }
    is_subset(&output::<Tagged>(
        r#"{"oneOf":[{"type":"object","description":"Between two numbers.","properties":{"type":{"type":"string","const":"range"},"min":{"type":"integer"},"max":{"oneOf":[{"type":"integer"},{"type":"null"}]}},"required":["type","min","max"]},{"type":"object","properties":{"type":{"type":"string","const":"unit"}},"required":["type"]}]}"#,
    ));
    is_subset(&output::<External>(
        r#"{"oneOf":[{"type":"string","enum":["Unit"]},{"type":"object","additionalProperties":false,"properties":{"Path":{"type":"string"}},"required":["Path"]}]}"#,
    ));
    is_foreign(&output::<Untagged>(
        r#"{"anyOf":[{"type":"string"},{"type":"integer"}]}"#,
    ));
    is_subset(&output::<Single>(
        r#"{"type":"object","properties":{"type":{"type":"string","const":"Only"},"a":{"type":"boolean"}},"required":["type","a"]}"#,
    ));
    is_subset(&output::<Unit>(r#"{"type":"string","enum":["One","Two"]}"#));
}

#[test]
fn what_the_subset_has_no_words_for_is_enforced_as_foreign() {
    #[derive(JsonSchema, Deserialize)]
    struct Maps {
        m: HashMap<String, u32>,
        k: HashMap<u32, String>,
        t: (u8, String),
        a: [u8; 2],
        #[schemars(range(min = 1, max = 10))]
        r: u32,
        #[schemars(length(min = 1), regex(pattern = "^a"))]
        s: String,
        c: char,
    }
    let contract = arguments::<Maps>(
        r#"{"type":"object","properties":{"m":{"type":"object","additionalProperties":{"type":"integer"}},"k":{"type":"object","additionalProperties":false,"patternProperties":{"^\\d+$":{"type":"string"}}},"t":{"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}],"minItems":2,"maxItems":2},"a":{"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":2},"r":{"type":"integer","minimum":1,"maximum":10},"s":{"type":"string","minLength":1,"pattern":"^a"},"c":{"type":"string","minLength":1,"maxLength":1}},"required":["m","k","t","a","r","s","c"]}"#,
    );
    is_foreign(&contract);
    let value = Document::parse(
        r#"{"m":{"x":"y"},"k":{"1":"a","b":"c"},"t":[1],"a":[1,2,3],"r":11,"s":"b","c":"xy"}"#,
    )
    .unwrap();
    assert_eq!(
        contract.violations(value.root(), ""),
        [
            r#""m.x" must be an integer"#,
            r#""k.b" is not a declared property (additionalProperties: false)"#,
            r#""t" must have at least 2 items"#,
            r#""a" must have at most 2 items"#,
            r#""r" must be at most 10"#,
            r#""s" must match pattern "^a""#,
            r#""c" must have at most 1 character"#,
        ]
    );
}

#[test]
fn recursive_types_are_foreign_and_have_named_types() {
    #[derive(JsonSchema, Deserialize)]
    struct Node {
        v: i32,
        kids: Vec<Node>,
        next: Option<Box<Node>>,
    }
    let contract = arguments::<Node>(
        r##"{"type":"object","properties":{"v":{"type":"integer"},"kids":{"type":"array","items":{"$ref":"#"}},"next":{"$ref":"#"}},"required":["v","kids"]}"##,
    );
    is_foreign(&contract);
    let rendered = typescript::render(contract.source(), "TreeArgs", 0);
    assert_eq!(rendered.declarations.len(), 1);
    assert_eq!(rendered.declarations[0].0, "TreeArgs");
    assert!(
        rendered.declarations[0]
            .1
            .contains("kids: TreeArgs[];\n  next?: TreeArgs;")
    );
    let contract = ArgumentsContract::of::<Node>().unwrap();
    let value =
        Document::parse(r#"{"v":1,"kids":[{"v":2,"kids":[],"next":null}],"next":null}"#).unwrap();
    assert!(contract.is_valid(value.root()));
    assert!(contract.decode::<Node>(value.root()).is_ok());
    let value = Document::parse(r#"{"v":1,"kids":[{"v":"x","kids":[],"next":null}]}"#).unwrap();
    assert_eq!(
        contract.violations(value.root()),
        [r#""kids[0].v" must be an integer"#]
    );
}

#[test]
fn any_json_is_unconstrained() {
    #[derive(JsonSchema, Deserialize)]
    struct Args {
        a: serde_json::Value,
        b: Vec<serde_json::Value>,
    }
    is_subset(&arguments::<Args>(
        r#"{"type":"object","properties":{"a":{},"b":{"type":"array","items":{}}},"required":["a","b"]}"#,
    ));
    is_subset(&output::<Document>("{}"));
    is_subset(&output::<serde_json::Value>("{}"));
    // Arguments are an object, whatever is in it.
    is_subset(&arguments::<Document>(
        r#"{"type":"object","properties":{}}"#,
    ));
    is_subset(&arguments::<serde_json::Map<String, serde_json::Value>>(
        r#"{"type":"object","additionalProperties":true}"#,
    ));
}

#[test]
fn what_cannot_be_expressed_is_refused_with_its_place() {
    #[derive(JsonSchema, Deserialize)]
    struct Args {
        fine: u64,
        wide: u128,
        deep: Vec<Option<i128>>,
    }
    let error = arguments_of::<Args>().unwrap_err();
    assert_eq!(
        error.violations(),
        [
            "schema.properties.wide is a 128-bit integer, which a document cannot hold; use a 64-bit integer or a string",
            "schema.properties.deep.items is a 128-bit integer, which a document cannot hold; use a 64-bit integer or a string",
        ]
    );
    let error = arguments_of::<String>().unwrap_err();
    assert_eq!(
        error.violations(),
        [r#"schema.type must be "object": arguments have names, but `string` is of type "string""#]
    );
    assert!(arguments_of::<Vec<u8>>().is_err());
    assert!(arguments_of::<()>().is_err());
}

#[derive(JsonSchema, Deserialize, Debug)]
struct Search {
    query: String,
    limit: Option<u8>,
    #[serde(default = "ten")]
    page: u32,
    filters: Option<Vec<Filter>>,
    raw: Option<serde_json::Value>,
    speed: Option<Speed>,
}

fn ten() -> u32 {
    10
}

#[derive(JsonSchema, Deserialize, Debug)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Filter {
    Range { min: Option<i32> },
    Text { text: String },
}

fn decode(text: &str) -> Result<Search, Vec<String>> {
    let contract = ArgumentsContract::of::<Search>().unwrap();
    let arguments = Document::parse(text).unwrap();
    let violations = contract.violations(arguments.root());
    assert_eq!(contract.is_valid(arguments.root()), violations.is_empty());
    if violations.is_empty() {
        contract.decode(arguments.root())
    } else {
        Err(violations)
    }
}

#[test]
fn a_null_of_an_optional_argument_counts_as_absent() {
    let search = decode(
        r#"{"query":"q","limit":null,"page":null,"filters":[{"kind":"range","min":null}],"raw":null,"speed":null}"#,
    )
    .unwrap();
    assert_eq!((search.limit, search.page), (None, 10));
    assert!(matches!(
        search.filters.as_deref(),
        Some([Filter::Range { min: None }])
    ));
    let search = decode(r#"{"query":"q","limit":3,"page":4,"speed":"very_fast"}"#).unwrap();
    assert_eq!(
        (search.limit, search.page, search.speed),
        (Some(3), 4, Some(Speed::VeryFast))
    );
    // A required argument is not optional.
    assert_eq!(
        decode(r#"{"query":null}"#).unwrap_err(),
        [r#""query" must be a string"#]
    );
    assert_eq!(
        decode(r#"{"limit":null,"page":"x"}"#).unwrap_err(),
        [
            r#"missing required property "query""#,
            r#""page" must be an integer"#,
        ]
    );
}

#[test]
fn what_decoding_refuses_reads_like_a_violation() {
    for (arguments, expected) in [
        (
            r#"{"query":"q","limit":300}"#,
            r#""limit" must be an integer between 0 and 255"#,
        ),
        (
            r#"{"query":"q","limit":-1}"#,
            r#""limit" must be an integer between 0 and 255"#,
        ),
        (
            r#"{"query":"q","page":4294967296}"#,
            r#""page" must be an integer between 0 and 4294967295"#,
        ),
        (
            r#"{"query":"q","page":1e21}"#,
            r#""page" must be an integer between 0 and 4294967295"#,
        ),
    ] {
        assert_eq!(decode(arguments).unwrap_err(), [expected], "{arguments}");
    }
    let nested = decode(
        r#"{"query":"q","filters":[{"kind":"text","text":"t"},{"kind":"range","min":9999999999}]}"#,
    );
    // An internally tagged enum is decoded from a copy, which has lost the inner path.
    let violation = &nested.unwrap_err()[0];
    assert!(
        violation.contains("must be an integer between -2147483648 and 2147483647"),
        "{violation}"
    );
    assert!(violation.starts_with(r#""filters[1]"#), "{violation}");

    #[derive(JsonSchema, Deserialize, Debug)]
    struct Odd {
        port: std::num::NonZeroU8,
        #[serde(deserialize_with = "never")]
        #[schemars(with = "String")]
        odd: String,
    }
    fn never<'de, D: serde::Deserializer<'de>>(_: D) -> Result<String, D::Error> {
        Err(serde::de::Error::custom("the moon is full"))
    }
    let contract = ArgumentsContract::of::<Odd>().unwrap();
    let text = Document::parse(r#"{"port":1,"odd":"x"}"#).unwrap();
    assert_eq!(
        contract.decode::<Odd>(text.root()).unwrap_err(),
        [r#""odd" is not accepted: the moon is full"#]
    );
    let text = Document::parse(r#"{"port":256,"odd":"x"}"#).unwrap();
    assert_eq!(
        contract.decode::<Odd>(text.root()).unwrap_err(),
        [r#""port" must be an integer between 0 and 255 other than 0"#]
    );
}
