//! Foreign contracts: what is refused, what is enforced, and how violations read.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use dsh_schema::{Contract, Document, ForeignSchema};

fn compile(schema: &str) -> Result<ForeignSchema, Vec<String>> {
    ForeignSchema::compile(&Document::parse(schema).unwrap())
        .map_err(|error| error.violations().to_vec())
}

#[track_caller]
fn check(schema: &str, value: &str, expected: &[&str]) {
    let contract = compile(schema).unwrap();
    let value = Document::parse(value).unwrap();
    assert_eq!(contract.violations(value.root(), ""), expected);
    assert_eq!(contract.is_valid(value.root()), expected.is_empty());
}

#[track_caller]
fn refused(schema: &str, expected: &[&str]) {
    assert_eq!(compile(schema).err().unwrap_or_default(), expected);
}

#[test]
fn unknown_type_words_are_named_with_their_place() {
    refused(
        r#"{"type":"dict","properties":{"a":{"type":"float"},"b":{"type":["string","any"]},"c":{"items":{"type":"tuple"}}}}"#,
        &[
            r#"schema.type "dict" is not a JSON Schema type, use "object""#,
            r#"schema.properties.a.type "float" is not a JSON Schema type, use "number""#,
            r#"schema.properties.b.type[1] "any" is not a JSON Schema type, leave type out"#,
            r#"schema.properties.c.items.type "tuple" is not a JSON Schema type, use "array""#,
        ],
    );
    refused(
        r#"{"type":[]}"#,
        &["schema.type must be a type word or a non-empty array of them"],
    );
    refused(
        r#"{"type":3}"#,
        &["schema.type must be a type word or a non-empty array of them"],
    );
}

#[test]
fn unknown_keywords_are_refused_and_annotations_are_not() {
    refused(
        r#"{"properties":{"a":{"type":"string","nullable":true}},"optional":[],"$vocabulary":{}}"#,
        &[
            "schema.properties.a.nullable is not a keyword of JSON Schema 2020-12",
            "schema.optional is not a keyword of JSON Schema 2020-12",
            "schema.$vocabulary is not a keyword of JSON Schema 2020-12",
        ],
    );
    let annotated = r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"https://example.com/a","$comment":"c",
        "title":"t","description":"d","default":1,"examples":[1],"deprecated":true,"readOnly":true,"writeOnly":false,
        "format":"uuid","contentEncoding":"base64","contentMediaType":"text/plain","x-order":3,"type":"string"}"#;
    check(annotated, r#""not base64 at all, no uuid""#, &[]);
    check(annotated, "3", &[r#""arguments" must be a string"#]);
}

#[test]
fn a_keyword_of_another_draft_is_refused() {
    let draft = |uri: &str, rest: &str| format!(r#"{{"$schema":"{uri}",{rest}}}"#);
    refused(
        &draft(
            "http://json-schema.org/draft-07/schema#",
            r#""prefixItems":[{}]"#,
        ),
        &["schema.prefixItems is not a keyword of JSON Schema draft-07"],
    );
    refused(
        &draft("http://json-schema.org/draft-06/schema#", r#""if":{}"#),
        &["schema.if is not a keyword of JSON Schema draft-06"],
    );
    refused(
        &draft("http://json-schema.org/draft-04/schema#", r#""const":1"#),
        &["schema.const is not a keyword of JSON Schema draft-04"],
    );
    refused(
        &draft(
            "https://json-schema.org/draft/2020-12/schema",
            r#""items":[{}]"#,
        ),
        &["schema.items must be a schema: an object, true or false"],
    );
    refused(
        &draft("https://example.com/my-meta-schema", r#""type":"string""#),
        &[
            r#"schema.$schema "https://example.com/my-meta-schema" is not a draft of JSON Schema that can be enforced"#,
        ],
    );
    refused(r#"{"$schema":7}"#, &["schema.$schema must be a string"]);
    check(
        &draft(
            "http://json-schema.org/draft-07/schema#",
            r#""items":[{"type":"string"}],"additionalItems":false"#,
        ),
        r#"[1,2]"#,
        &[
            r#""[0]" must be a string"#,
            r#""arguments" must have at most 1 item"#,
        ],
    );
    check(
        &draft(
            "http://json-schema.org/draft-04/schema#",
            r#""minimum":1,"exclusiveMinimum":true"#,
        ),
        "1",
        &[r#""arguments" must be greater than 1"#],
    );
    check(
        &draft(
            "https://json-schema.org/draft/2019-09/schema",
            r##""properties":{"a":{"$recursiveRef":"#"}},"type":"object""##,
        ),
        r#"{"a":{"a":3}}"#,
        &[r#""a.a" must be an object"#],
    );
}

#[test]
fn what_a_draft_ignores_beside_a_reference_is_refused() {
    refused(
        r##"{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a":{"type":"string"}},"properties":{"x":{"$ref":"#/definitions/a","minLength":3,"description":"d"}}}"##,
        &[
            "schema.properties.x.minLength is ignored beside $ref in draft-07; move it into an allOf",
        ],
    );
    check(
        r##"{"$defs":{"a":{"type":"string"}},"properties":{"x":{"$ref":"#/$defs/a","minLength":3}}}"##,
        r#"{"x":"ab"}"#,
        &[r#""x" must have at least 3 characters"#],
    );
}

#[test]
fn only_local_references_are_followed() {
    refused(
        r##"{"properties":{"a":{"$ref":"https://example.com/s"},"b":{"$ref":"other.json#/a"},"c":{"$ref":"file:///etc/passwd"},"d":{"$ref":"#/$defs/none"},"e":{"$ref":"#nowhere"},"f":{"$ref":7},"g":{"$dynamicRef":"x"}}}"##,
        &[
            r#"schema.properties.a.$ref "https://example.com/s" points outside of the schema; only local references (#…) are followed"#,
            r#"schema.properties.b.$ref "other.json#/a" points outside of the schema; only local references (#…) are followed"#,
            r#"schema.properties.c.$ref "file:///etc/passwd" points outside of the schema; only local references (#…) are followed"#,
            "schema.properties.f.$ref must be a string",
            r#"schema.properties.g.$dynamicRef "x" points outside of the schema; only local references (#…) are followed"#,
            r##"schema.properties.d.$ref "#/$defs/none" points at nothing"##,
            r##"schema.properties.e.$ref "#nowhere" points at nothing"##,
        ],
    );
    refused(
        r##"{"$id":"https://example.com/a","$defs":{"x":{"$id":"https://evil.example/","$ref":"#/b"},"y":{"$schema":"http://json-schema.org/draft-07/schema#"}}}"##,
        &[
            "schema.$defs.x.$id may stand at the root only: embedded resources are not supported",
            "schema.$defs.y.$schema may stand at the root only: embedded resources are not supported",
            r##"schema.$defs.x.$ref "#/b" points at nothing"##,
        ],
    );
    for schema in [
        r##"{"$id":"https://example.com/a","$defs":{"n":{"type":"integer"}},"properties":{"a":{"$ref":"#/$defs/n"}}}"##,
        r##"{"$defs":{"n":{"$anchor":"num","type":"integer"}},"properties":{"a":{"$ref":"#num"}}}"##,
        r##"{"$defs":{"n":{"$dynamicAnchor":"num","type":"integer"}},"properties":{"a":{"$dynamicRef":"#num"}}}"##,
        r##"{"$defs":{"n m/~":{"type":"integer"}},"properties":{"a":{"$ref":"#/$defs/n%20m~1~0"}}}"##,
        r##"{"properties":{"b":{"items":{"type":"integer"}},"a":{"$ref":"#/properties/b/items"}}}"##,
        r##"{"x-parts":{"n":{"type":"integer"}},"properties":{"a":{"$ref":"#/x-parts/n"}}}"##,
    ] {
        check(schema, r#"{"a":1}"#, &[]);
        check(schema, r#"{"a":"x"}"#, &[r#""a" must be an integer"#]);
    }
    // What a reference alone reaches is checked like the rest.
    refused(
        r##"{"x-parts":{"n":{"type":"int"}},"properties":{"a":{"$ref":"#/x-parts/n"}}}"##,
        &[r#"schema.x-parts.n.type "int" is not a JSON Schema type, use "integer""#],
    );
}

#[test]
fn malformed_keywords_are_named() {
    refused(
        r#"{"properties":{"a":3},"required":[1],"minLength":-1,"maxItems":1.5,"minimum":"1","multipleOf":0,"uniqueItems":1,
            "enum":[],"oneOf":[],"anyOf":{},"not":1,"patternProperties":[],"dependentRequired":{"a":1},"pattern":1,"title":1}"#,
        &[
            "schema.properties.a must be a schema: an object, true or false",
            "schema.required must be an array of strings",
            "schema.minLength must be a non-negative integer",
            "schema.maxItems must be a non-negative integer",
            "schema.minimum must be a number",
            "schema.multipleOf must be a number above 0",
            "schema.uniqueItems must be true or false",
            "schema.enum must be a non-empty array",
            "schema.oneOf must be a non-empty array of schemas",
            "schema.anyOf must be a non-empty array of schemas",
            "schema.not must be a schema: an object, true or false",
            "schema.patternProperties must be an object of schemas",
            "schema.dependentRequired.a must be an array of strings",
            "schema.pattern must be a string",
            "schema.title must be a string",
        ],
    );
    for schema in ["null", "3", "\"x\"", "[]"] {
        refused(
            schema,
            &["schema must be a schema: an object, true or false"],
        );
    }
    let many = format!(
        r#"{{"properties":{{{}}}}}"#,
        (0..100)
            .map(|n| format!(r#""p{n}":3"#))
            .collect::<Vec<_>>()
            .join(",")
    );
    let violations = compile(&many).err().unwrap();
    assert_eq!(violations.len(), 33);
    assert_eq!(violations[32], "68 more violations");
}

#[test]
fn violations_read_like_those_of_the_subset() {
    check(
        r#"{"type":"object","required":["a","b"],"additionalProperties":false,"properties":{
            "a":{"type":"string"},"b":{},"s":{"type":["string","null"]},"n":{"type":"integer","minimum":1,"maximum":10},
            "x":{"exclusiveMinimum":0.5,"exclusiveMaximum":1.0},"m":{"multipleOf":0.5},"l":{"minLength":1,"maxLength":2},
            "p":{"pattern":"^a+$"},"i":{"minItems":2,"maxItems":3,"uniqueItems":true},"e":{"enum":["a",1.0,null]},"c":{"const":{"k":[1]}},
            "o":{"minProperties":1},"nn":{"not":{"type":"string"}},"f":false,"q":{"propertyNames":{"pattern":"^[a-z]$"}},
            "t":{"items":{"type":"object","properties":{"z":{"type":"boolean"}},"required":["z"]}},"k":{"contains":{"const":1}}}}"#,
        r#"{"a":1,"s":2,"n":0,"x":0.5,"m":0.7,"l":"","p":"b","i":[1],"e":"z","c":{"k":[2]},"o":{},"nn":"s","f":1,"q":{"AB":1},
            "t":[{"z":true},{},{"z":0}],"k":[2],"extra":1,"more":2}"#,
        &[
            r#"missing required property "b""#,
            r#""a" must be a string"#,
            r#""s" must be null or a string"#,
            r#""n" must be at least 1"#,
            r#""x" must be greater than 0.5"#,
            r#""m" must be a multiple of 0.5"#,
            r#""l" must have at least 1 character"#,
            r#""p" must match pattern "^a+$""#,
            r#""i" must have at least 2 items"#,
            r#""e" must be one of ["a",1,null]"#,
            r#""c" must be {"k":[1]}"#,
            r#""o" must have at least 1 property"#,
            r#""nn" must not match {"type":"string"}"#,
            r#""f" is not allowed"#,
            r#"the name of property "q.AB" must match pattern "^[a-z]$""#,
            r#"missing required property "t[1].z""#,
            r#""t[2].z" must be a boolean"#,
            r#""k" must have the items that contains asks for"#,
            r#""extra" is not a declared property (additionalProperties: false)"#,
            r#""more" is not a declared property (additionalProperties: false)"#,
        ],
    );
    check(
        r#"{"properties":{"n":{"maximum":10},"x":{"exclusiveMaximum":1},"l":{"maxLength":2},"i":{"maxItems":1},"u":{"uniqueItems":true},"d":{}},"dependentRequired":{"d":["e"]},"maxProperties":5}"#,
        r#"{"n":11,"x":1,"l":"éèà","i":[1,2],"u":[1,1.0],"d":1}"#,
        &[
            r#""arguments" must have at most 5 properties"#,
            r#"missing required property "e""#,
            r#""n" must be at most 10"#,
            r#""x" must be less than 1"#,
            r#""l" must have at most 2 characters"#,
            r#""i" must have at most 1 item"#,
            r#""u" must not have equal items"#,
        ],
    );
    check(
        r#"{"properties":{"a":{}},"allOf":[{"properties":{"b":{}}}],"unevaluatedProperties":false}"#,
        r#"{"a":1,"b":1,"c":1}"#,
        &[r#""c" is not a declared property (unevaluatedProperties: false)"#],
    );
}

#[test]
fn the_root_label_names_the_value() {
    let contract = compile(r#"{"type":"array","items":{"type":["integer","string"]}}"#).unwrap();
    let value = Document::parse(r#"[1,null]"#).unwrap();
    assert_eq!(
        contract.violations(value.root(), "value"),
        [r#""value[1]" must be an integer or a string"#]
    );
    let value = Document::parse("{}").unwrap();
    assert_eq!(
        contract.violations(value.root(), "value"),
        [r#""value" must be an array"#]
    );
    // A key that looks like an index is a key, and keys are not escaped (T353).
    check(
        r#"{"additionalProperties":{"type":["integer","null"]}}"#,
        r#"{"0":"x","a/b~c":"x"}"#,
        &[
            r#""0" must be null or an integer"#,
            r#""a/b~c" must be null or an integer"#,
        ],
    );
}

#[test]
fn the_branch_that_was_meant_is_picked_by_its_tag() {
    let schema = r#"{"properties":{"filter":{"oneOf":[
        {"type":"object","properties":{"type":{"const":"range"},"min":{"type":"integer"},"max":{"type":"integer"}},"required":["type","min"]},
        {"type":"object","properties":{"type":{"const":"text"},"query":{"type":"string"}},"required":["type","query"]},
        {"type":"null"}]}}}"#;
    check(
        schema,
        r#"{"filter":{"type":"range","min":"x","max":1.5}}"#,
        &[
            r#""filter.min" must be an integer (in the branch where "type" is "range")"#,
            r#""filter.max" must be an integer (in the branch where "type" is "range")"#,
        ],
    );
    check(
        schema,
        r#"{"filter":{"type":"text"}}"#,
        &[r#"missing required property "filter.query" (in the branch where "type" is "text")"#],
    );
    check(
        schema,
        r#"{"filter":{"type":"nope"}}"#,
        &[r#""filter.type" must be one of ["range","text"]"#],
    );
    check(schema, r#"{"filter":{"type":"range","min":1}}"#, &[]);
    check(
        schema,
        r#"{"filter":3}"#,
        &[r#""filter" must be an object or null"#],
    );
}

#[test]
fn without_a_tag_the_branch_is_picked_by_type_or_closeness() {
    check(
        r#"{"anyOf":[{"type":"string","minLength":3},{"type":"array","items":{"type":"string"}}]}"#,
        r#"["a",1]"#,
        &[r#""[1]" must be a string"#],
    );
    check(
        r#"{"anyOf":[{"type":"string","enum":["a","b"]},{"type":"integer"},{"type":"null"},{"const":true}]}"#,
        r#""c""#,
        &[r#""arguments" must be one of ["a","b",true], an integer or null"#],
    );
    check(
        r#"{"anyOf":[{"type":"object","required":["a","b","c"]},{"type":"object","required":["d"]}]}"#,
        r#"{"a":1}"#,
        &[r#"missing required property "d" (in the closest of 2 anyOf branches)"#],
    );
    check(
        r#"{"oneOf":[{"type":"number"},{"type":"integer"},{"type":"string"}]}"#,
        "1",
        &[r#""arguments" must match exactly one oneOf branch (matched 2)"#],
    );
}

#[test]
fn integers_of_64_bits_stay_exact() {
    let schema =
        r#"{"type":["integer","null"],"minimum":9007199254740993,"maximum":18446744073709551615}"#;
    check(schema, "9007199254740993", &[]);
    check(schema, "18446744073709551615", &[]);
    check(
        schema,
        "9007199254740992",
        &[r#""arguments" must be at least 9007199254740993"#],
    );
    check(
        r#"{"const":9007199254740993}"#,
        "9007199254740992",
        &[r#""arguments" must be 9007199254740993"#],
    );
    check(r#"{"type":["integer","null"]}"#, "1e21", &[]);
    check(r#"{"type":["integer","null"]}"#, "2.0", &[]);
    check(
        r#"{"type":["integer","null"]}"#,
        "2.5",
        &[r#""arguments" must be null or an integer"#],
    );
}

#[test]
fn a_contract_is_cheap_to_clone_and_keeps_its_source() {
    fn shared<T: Clone + std::fmt::Debug + Send + Sync + 'static>(_: &T) {}
    let text = r#"{"$schema":"http://json-schema.org/draft-07/schema#","$id":"x","type":["string","null"]}"#;
    let contract = compile(text).unwrap();
    shared(&contract);
    let other = contract.clone();
    drop(contract);
    assert_eq!(other.source().to_json(), text);
    assert!(other.is_valid(Document::null().root()));
}

#[test]
fn a_schema_of_the_subset_never_becomes_foreign() {
    let schema =
        Document::parse(r#"{"type":"object","properties":{"a":{"type":"string"}}}"#).unwrap();
    assert!(matches!(
        Contract::compile(&schema),
        Ok(Contract::Subset(_))
    ));
    let schema = Document::parse(r#"{"type":"object","minProperties":1}"#).unwrap();
    assert!(matches!(
        Contract::compile(&schema),
        Ok(Contract::Foreign(_))
    ));
}
