//! Writing JSON as `JSON.stringify` does.

use dsh_schema::Document;

use crate::parsed;

#[test]
fn compact_json_keeps_order_and_drops_space() {
    for (text, compact) in [
        ("null", "null"),
        (" [ ] ", "[]"),
        (" { } ", "{}"),
        ("[ [ ] , { } , [ [ 1 ] , 2 ] ]", "[[],{},[[1],2]]"),
        (
            r#"{ "b" : 1.0 , "a" : { "2" : [ ] , "1" : { } } , "c" : true , "d":false}"#,
            r#"{"b":1,"a":{"2":[],"1":{}},"c":true,"d":false}"#,
        ),
    ] {
        let document = parsed(text);
        assert_eq!(document.to_json(), compact);
        assert_eq!(document.to_string(), compact);
        assert_eq!(
            format!("{document:?} {:?}", document.root()),
            format!("{compact} {compact}")
        );
        let mut out = "x".to_owned();
        document.root().write_json(&mut out);
        assert_eq!(out, format!("x{compact}"));
    }
}

#[test]
fn strings_are_escaped_as_little_as_json_allows() {
    let all: String = (0..0x80).map(char::from).collect::<String>() + "é\u{2028}😀";
    let written = "\"\\u0000\\u0001\\u0002\\u0003\\u0004\\u0005\\u0006\\u0007\\b\\t\\n\\u000b\\f\\r\\u000e\\u000f\\u0010\\u0011\\u0012\\u0013\\u0014\\u0015\\u0016\\u0017\\u0018\\u0019\\u001a\\u001b\\u001c\\u001d\\u001e\\u001f !\\\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\\\]^_`abcdefghijklmnopqrstuvwxyz{|}~\u{7f}é\u{2028}😀\"";
    assert_eq!(Document::string(all.as_str()).to_json(), written);
    assert_eq!(parsed(written).to_json(), written);
    assert_eq!(parsed(r#"["\/\u0041\u00e9"]"#).to_json(), r#"["/Aé"]"#);
    assert_eq!(
        parsed(r#"{"\u0041":1,"\n":2}"#).to_json(),
        r#"{"A":1,"\n":2}"#
    );
}

#[test]
fn pretty_json_is_indented_by_two_spaces() {
    let document = parsed(r#"{"a":[],"b":{},"c":[1,[2,{"d":null}]],"e":{"f":"x"}}"#);
    let pretty = r#"{
  "a": [],
  "b": {},
  "c": [
    1,
    [
      2,
      {
        "d": null
      }
    ]
  ],
  "e": {
    "f": "x"
  }
}"#;
    assert_eq!(document.to_json_pretty(), pretty);
    assert_eq!(format!("{document:#}"), pretty);
    assert_eq!(parsed(pretty), document);
    assert_eq!(parsed("[]").to_json_pretty(), "[]");
    assert_eq!(parsed("1").to_json_pretty(), "1");
    assert_eq!(
        document.root().get("e").unwrap().to_json_pretty(),
        "{\n  \"f\": \"x\"\n}"
    );
}

#[test]
fn parts_are_written_and_copied() {
    let document = parsed(r#"{"a":{"x":["\n",1.5,{"é\t":[]}]},"b":"s"}"#);
    let part = document.root().get("a").unwrap();
    assert_eq!(part.to_json(), r#"{"x":["\n",1.5,{"é\t":[]}]}"#);
    let copy = part.to_document();
    assert_eq!(copy.text(), part.to_json());
    assert_eq!(copy.root(), part);
    assert_eq!(
        copy.root().get("x").unwrap().index(0).unwrap().as_str(),
        Some("\n")
    );
    assert_eq!(
        document.root().get("b").unwrap().to_document().text(),
        "\"s\""
    );
    assert_eq!(document.root().to_document().text(), document.text());
}
