//! RFC 8259 syntax, depth and duplicate keys.

use dsh_schema::{Document, DocumentErrorKind as Error, Kind, MAX_DEPTH};

use crate::{check_refused, parsed, refused};

#[test]
fn every_kind_parses() {
    for (text, kind) in [
        ("null", Kind::Null),
        ("true", Kind::Bool),
        ("false", Kind::Bool),
        ("0", Kind::Integer),
        ("0.5", Kind::Float),
        ("\"\"", Kind::String),
        ("[]", Kind::Array),
        ("{}", Kind::Object),
        (" \t\r\n[ \t\r\n] \t\r\n", Kind::Array),
        ("{ }", Kind::Object),
    ] {
        assert_eq!(parsed(text).kind(), kind, "{text}");
    }
}

#[test]
fn nested_values_are_reached() {
    let document = parsed(
        r#" { "a" : [ 1 , { "b" : [ ] , "c" : "x" } , [ [ 2 ] ] ] , "d" : { } , "" : null } "#,
    );
    let root = document.root();
    let a = root.get("a").unwrap();
    assert_eq!(a.as_array().unwrap().len(), 3);
    assert_eq!(a.index(0).unwrap().as_i64(), Some(1));
    assert_eq!(a.index(1).unwrap().get("c").unwrap().as_str(), Some("x"));
    assert!(
        a.index(1)
            .unwrap()
            .get("b")
            .unwrap()
            .as_array()
            .unwrap()
            .is_empty()
    );
    assert_eq!(
        a.index(2)
            .unwrap()
            .index(0)
            .unwrap()
            .index(0)
            .unwrap()
            .as_u64(),
        Some(2)
    );
    assert!(a.index(3).is_none());
    assert!(root.get("d").unwrap().as_object().unwrap().is_empty());
    assert!(root.get("").unwrap().is_null());
    assert!(root.get("e").is_none());
    assert!(a.get("a").is_none() && root.index(0).is_none());
    let keys: Vec<&str> = root
        .as_object()
        .unwrap()
        .iter()
        .map(|(key, _)| key)
        .collect();
    // T52: document order.
    assert_eq!(keys, ["a", "d", ""]);
    assert_eq!(root.as_object().unwrap().len(), 3);
    assert_eq!(root.as_object().unwrap().iter().len(), 3);
}

#[test]
fn malformed_texts_are_refused() {
    let texts = [
        "",
        " ",
        "nul",
        "nullx",
        "null null",
        "True",
        "tru",
        "fals",
        "n",
        "undefined",
        "NaN",
        "Infinity",
        "-Infinity",
        "[",
        "]",
        "{",
        "}",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "[,]",
        "[1 2]",
        "[1}",
        "{]",
        "[[]",
        "[]]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\" 1}",
        "{\"a\":1",
        "{\"a\":1,",
        "{\"a\":1,}",
        "{,}",
        "{\"a\":1]",
        "{a:1}",
        "{'a':1}",
        "{1:1}",
        "{null:1}",
        "{\"a\":1 \"b\":2}",
        "{\"a\":1,,\"b\":2}",
        "{\"a\"::1}",
        "{:1}",
        "{[]:1}",
        "[1,2,3",
        "\"",
        "\"a",
        "'a'",
        "a",
        "\"\\\"",
        "\"\\x\"",
        "\"\\'\"",
        "\"\\u\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "\"\\u+123\"",
        "\"\\U0041\"",
        "\"\\",
        "\"\\u00",
        "\"a\nb\"",
        "\"a\tb\"",
        "\"\0\"",
        "\"\u{1f}\"",
        "+1",
        "01",
        "-01",
        "00",
        "-",
        "--1",
        ".5",
        "-.5",
        "1.",
        "-1.",
        "1.e1",
        "1e",
        "1e+",
        "1E-",
        "1e1.5",
        "1.5.5",
        "0x10",
        "1_000",
        "1a",
        "0e",
        "1e1e1",
        "\u{feff}1",
        "// x\n1",
        "/* x */1",
        "1 // x",
        "[1]x",
        "[1],",
        "\u{a0}1",
        "\u{c}1",
        "\u{2028}1",
        "[\"a\",\n4\n,1,",
        "[1:2]",
        "{\"a\":1:2}",
        "\u{0}",
        "1\u{0}",
        "é",
        "[é]",
        "(1)",
        "<1>",
        "`a`",
        "\"\u{7f}\"x",
    ];
    for text in texts {
        let error = refused(text);
        assert_eq!(error.kind(), Error::Syntax, "{text:?}: {error}");
        assert!(
            error.offset().is_some_and(|offset| offset <= text.len()),
            "{text:?}: {error:?}"
        );
        assert_eq!(error.path(), None);
        assert!(
            serde_json::from_str::<serde_json::Value>(text).is_err(),
            "{text:?}"
        );
    }
}

#[test]
fn syntax_errors_say_what_and_where() {
    check_refused(
        "",
        Error::Syntax,
        "expected a JSON value, found the end of the text at line 1 column 1",
    );
    check_refused(
        "[1,\n 2\n x]",
        Error::Syntax,
        "expected `,` or `]`, found `x` at line 3 column 2",
    );
    check_refused(
        "{\"é\":1 x",
        Error::Syntax,
        "expected `,` or `}`, found `x` at line 1 column 8",
    );
    check_refused(
        "{\"a\" 1}",
        Error::Syntax,
        "expected `:` after a key, found `1` at line 1 column 6",
    );
    check_refused(
        "{",
        Error::Syntax,
        "expected a key in double quotes or `}`, found the end of the text at line 1 column 2",
    );
    check_refused(
        "{\"a\":1,}",
        Error::Syntax,
        "expected a key in double quotes, found `}` at line 1 column 8",
    );
    check_refused(
        "1 2",
        Error::Syntax,
        "unexpected text after the JSON value at line 1 column 3",
    );
    check_refused(
        "-x",
        Error::Syntax,
        "expected a digit, found `x` at line 1 column 2",
    );
    check_refused(
        "1.",
        Error::Syntax,
        "expected a digit, found the end of the text at line 1 column 3",
    );
    check_refused(
        "[\u{7}",
        Error::Syntax,
        "expected a JSON value, found U+0007 at line 1 column 2",
    );
    check_refused(
        "-012",
        Error::Syntax,
        "a number must not begin with a superfluous zero at line 1 column 2",
    );
    let error = refused("[\"é\"\n,\n  ?]");
    assert_eq!(
        (error.offset(), error.line(), error.column()),
        (Some(10), Some(3), Some(3))
    );
    assert!(error.message().ends_with("found `?`"));
}

/// D4: 512 levels, no more, whatever the containers.
#[test]
fn depth_is_limited() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[{\"a\":", "}]")] {
        let levels = open.matches(['[', '{']).count();
        let nested = |depth: usize| {
            format!(
                "{}{}1{}",
                "[".repeat(depth % levels),
                open.repeat(depth / levels),
                close.repeat(depth / levels)
            ) + &"]".repeat(depth % levels)
        };
        let document = parsed(&nested(MAX_DEPTH));
        assert_eq!(document.to_json(), nested(MAX_DEPTH));
        assert_eq!(document.clone(), document);
        // What recurses through serde stays within a thread's usual stack.
        assert_eq!(
            Document::from_value(&document.to_value()).unwrap(),
            document
        );
        assert_eq!(document.decode::<Document>().unwrap(), document);
        assert_eq!(
            document.decode::<serde_json::Value>().unwrap(),
            document.to_value()
        );
        assert_eq!(
            serde_json::to_string(&document).unwrap(),
            document.to_json()
        );
        assert_eq!(parsed(&document.to_json_pretty()), document);
        let error = refused(&nested(MAX_DEPTH + 1));
        assert_eq!(error.kind(), Error::TooDeep);
        assert_eq!(
            error.message(),
            "arrays and objects nest deeper than 512 levels"
        );
        // Open or closed, the depth is what is wrong.
        assert_eq!(refused(&open.repeat(100_000)).kind(), Error::TooDeep);
        assert_eq!(refused(&nested(100_000)).kind(), Error::TooDeep);
    }
    let error = refused(&"[".repeat(513));
    assert_eq!(error.offset(), Some(512));
    assert_eq!(error.path(), Some("[0]".repeat(512).as_str()));
    // Breadth is no depth.
    parsed(&format!("[{}[]]", "[[]],".repeat(10_000)));
}

/// D3, T46.
#[test]
fn duplicate_keys_are_refused() {
    check_refused(
        r#"{"a":1,"a":1}"#,
        Error::DuplicateKey,
        "duplicate key `a` at line 1 column 8",
    );
    check_refused(
        r#"{"servers":[{},{"host":1,"b":[{}],"host":2}]}"#,
        Error::DuplicateKey,
        "duplicate key `host` at `servers[1]` at line 1 column 35",
    );
    // Spelled differently, but the same key.
    check_refused(
        r#"{"a":1,"b":{"a":2},"\u0061":3}"#,
        Error::DuplicateKey,
        "duplicate key `a` at line 1 column 20",
    );
    check_refused(
        r#"{"":1,"":1}"#,
        Error::DuplicateKey,
        "duplicate key `` at line 1 column 7",
    );
    // After a nested container, which has keys of its own.
    for nested in [r#"{"x":1,"y":{}}"#, "[]", r#"[{"x":1},{"x":1}]"#] {
        assert_eq!(
            refused(&format!(r#"{{"x":{nested},"y":{nested},"x":1}}"#)).kind(),
            Error::DuplicateKey
        );
        parsed(&format!(r#"{{"x":{nested},"y":{nested},"z":1}}"#));
    }
    // T42: nothing special about these.
    parsed(r#"{"__proto__":1,"constructor":2,"toString":3,"a":4,"A":5,"a ":6,"\u0000":7}"#);
}

#[test]
fn duplicate_keys_are_found_in_objects_of_any_size() {
    for size in 1..60 {
        let keys: Vec<String> = (0..size).map(|key| format!("k{key}")).collect();
        let members = |nested: &str| {
            keys.iter()
                .map(|key| format!("\"{key}\":{nested}"))
                .collect::<Vec<_>>()
                .join(",")
        };
        for nested in ["1".to_owned(), format!("{{{}}}", members("[]"))] {
            let members = members(&nested);
            let document = parsed(&format!("{{{members}}}"));
            assert_eq!(document.root().as_object().unwrap().len(), size);
            for key in &keys {
                assert!(document.root().get(key).is_some());
                let error = refused(&format!("{{{members},\"{key}\":0}}"));
                assert_eq!(error.message(), format!("duplicate key `{key}`"));
                assert_eq!(error.path(), Some(""));
            }
        }
    }
}

/// An attacker's object with very many keys costs linear time; quadratic time would not end here.
#[test]
fn objects_of_very_many_keys_parse() {
    let members: Vec<String> = (0..400_000)
        .map(|key| format!("\"{key:06}\":{key}"))
        .collect();
    let members = members.join(",");
    let document = parsed(&format!("{{{members}}}"));
    assert_eq!(document.root().as_object().unwrap().len(), 400_000);
    assert_eq!(
        refused(&format!("{{{members},\"000007\":1}}")).message(),
        "duplicate key `000007`"
    );
    // In another order, comparing them is linear too.
    let mut reversed: Vec<&str> = members.split(',').collect();
    reversed.reverse();
    assert_eq!(document, parsed(&format!("{{{}}}", reversed.join(","))));
}

#[test]
fn long_names_are_cut_in_messages() {
    let key = "é".repeat(1_000);
    let error = refused(&format!("{{\"{key}\":1,\"{key}\":2}}"));
    assert_eq!(
        error.message(),
        format!("duplicate key `{}…`", "é".repeat(80))
    );
}

#[test]
fn text_is_kept() {
    for text in [
        "1",
        " { \"a\" : 1.50 } ",
        "\"short\"",
        "[\"a text that is longer than what fits into the document\"]",
    ] {
        assert_eq!(parsed(text).text(), text);
        assert_eq!(Document::parse(text.to_owned()).unwrap().text(), text);
        assert_eq!(text.parse::<Document>().unwrap().text(), text);
    }
}

#[test]
fn large_documents_parse() {
    let integers: Vec<i64> = (0..10_000).map(|item| item * 7919 - 5_000_000).collect();
    let document = parsed(&serde_json::to_string(&integers).unwrap());
    assert_eq!(document.root().as_array().unwrap().len(), integers.len());
    assert!(
        document
            .root()
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item.as_i64().unwrap())
            .eq(integers)
    );
    let long = "x".repeat(1 << 20);
    assert_eq!(
        parsed(&format!("\"{long}\"")).root().as_str(),
        Some(long.as_str())
    );
    assert_eq!(
        parsed(&format!("\"{long}\\n\""))
            .root()
            .as_str()
            .map(str::len),
        Some(long.len() + 1)
    );
}
