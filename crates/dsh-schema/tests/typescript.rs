//! TypeScript declarations by the rules of the SDK (C54 to C75, D13).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use dsh_schema::typescript::{self, Tool, ToolText};
use dsh_schema::{Document, MAX_DEPTH};

fn ty(schema: &str) -> String {
    typescript::type_of(&Document::parse(schema).unwrap(), 0)
}

#[track_caller]
fn check(cases: &[(&str, &str)]) {
    for (schema, expected) in cases {
        assert_eq!(ty(schema), *expected, "{schema}");
    }
}

#[test]
fn c58_the_table_of_the_subset() {
    check(&[
        ("{}", "JsonValue"),
        (
            r#"{"description":"d","title":"t","default":1,"examples":[]}"#,
            "JsonValue",
        ),
        (r#"{"type":"string"}"#, "string"),
        (r#"{"type":"number"}"#, "number"),
        (r#"{"type":"integer"}"#, "number"),
        (r#"{"type":"boolean"}"#, "boolean"),
        (r#"{"type":"null"}"#, "null"),
        (r#"{"type":"string","const":"a"}"#, r#""a""#),
        (r#"{"type":"boolean","const":true}"#, "true"),
        (
            r#"{"type":"string","enum":["a","b","a"]}"#,
            r#""a" | "b" | "a""#,
        ),
        (r#"{"type":"integer","enum":[3,1,3]}"#, "3 | 1 | 3"),
        (r#"{"type":"array"}"#, "JsonValue[]"),
        (
            r#"{"type":"array","items":{"type":"array"}}"#,
            "JsonValue[][]",
        ),
        (r#"{"type":"object"}"#, "Record<string, JsonValue>"),
        (
            r#"{"type":"object","additionalProperties":true}"#,
            "Record<string, JsonValue>",
        ),
        (
            r#"{"type":"object","properties":{},"additionalProperties":false}"#,
            "Record<string, never>",
        ),
        (
            r#"{"type":"object","properties":{"a b":{}},"additionalProperties":false}"#,
            "{\n  \"a b\"?: JsonValue;\n}",
        ),
        (
            r#"{"oneOf":[{"type":"integer"},{"type":"null"}]}"#,
            "number | null",
        ),
    ]);
}

#[test]
fn c60_const_wins_over_enum() {
    check(&[(
        r#"{"type":"string","enum":["a","b"],"const":"b"}"#,
        r#""b""#,
    )]);
}

#[test]
fn c61_literals() {
    check(&[
        (
            r#"{"type":"number","enum":[1e21,1e-7,0.1,2.0,-1.5]}"#,
            "1e+21 | 1e-7 | 0.1 | 2 | -1.5",
        ),
        (
            r#"{"type":"integer","const":9007199254740993}"#,
            "9007199254740993",
        ),
        (
            r#"{"type":"string","const":"a\"\\\n\u0001é"}"#,
            r#""a\"\\\n\u0001é""#,
        ),
    ]);
}

#[test]
fn c62_items_in_parentheses() {
    check(&[
        (
            r#"{"type":"array","items":{"type":"string","enum":["x","y"]}}"#,
            r#"("x" | "y")[]"#,
        ),
        (
            r#"{"type":"array","items":{"type":"object","properties":{"a":{}}}}"#,
            "({\n  a?: JsonValue;\n} & Record<string, JsonValue>)[]",
        ),
        (
            r#"{"type":"array","items":{"type":"object"}}"#,
            "Record<string, JsonValue>[]",
        ),
        (
            r#"{"type":"array","items":{"type":"object","properties":{"a":{"type":"integer","description":"d"}},"additionalProperties":false}}"#,
            "{\n  /** d */\n  a?: number;\n}[]",
        ),
    ]);
}

#[test]
fn c63_nested_unions_flatten() {
    check(&[(
        r#"{"oneOf":[{"type":"object","properties":{"a":{}}},{"oneOf":[{"type":"string"},{"type":"null"}]}]}"#,
        "{\n  a?: JsonValue;\n} & Record<string, JsonValue> | string | null",
    )]);
}

#[test]
fn c64_c65_c71_blocks_order_and_levels() {
    let schema = Document::parse(
        r#"{"type":"object","additionalProperties":false,"required":["b"],"properties":{"b":{"type":"object","additionalProperties":false,"properties":{"10":{"type":"string"},"2":{"oneOf":[{"type":"object","properties":{"x":{}},"additionalProperties":false},{"type":"null"}]}}},"a":{}}}"#,
    )
    .unwrap();
    assert_eq!(
        typescript::type_of(&schema, 1),
        "{\n    b: {\n      \"10\"?: string;\n      \"2\"?: {\n        x?: JsonValue;\n      } | null;\n    };\n    a?: JsonValue;\n  }"
    );
}

#[test]
fn c67_to_c70_comments() {
    check(&[(
        r#"{"type":"object","description":"root","additionalProperties":false,"properties":{"a":{"description":" one\n  two */ "},"b":{"description":""},"c":{"description":" \t"},"d":{"type":"array","items":{"type":"string","description":"item"}},"e":{"title":"t","default":3}}}"#,
        "{\n  /** one two *\\/ */\n  a?: JsonValue;\n  b?: JsonValue;\n  c?: JsonValue;\n  d?: string[];\n  e?: JsonValue;\n}",
    )]);
}

#[test]
fn c72_the_deepest_documents_render_on_a_small_stack() {
    let check = || {
        let levels = (MAX_DEPTH - 2) / 2;
        let union = format!(
            "{}{{\"type\":\"string\"}}{}",
            r#"{"oneOf":["#.repeat(levels),
            r#",{"type":"null"}]}"#.repeat(levels)
        );
        assert_eq!(ty(&union).len(), "string".len() + levels * " | null".len());
        let arrays = format!(
            "{}{{}}{}",
            r#"{"type":"array","items":"#.repeat(511),
            "}".repeat(511)
        );
        assert_eq!(ty(&arrays), format!("JsonValue{}", "[]".repeat(511)));
        let objects = format!(
            "{}{{}}{}",
            r#"{"type":"object","properties":{"a":"#.repeat(levels),
            "}}".repeat(levels)
        );
        assert_eq!(ty(&objects).matches('{').count(), levels);
        let all = format!(
            "{}{{}}{}",
            r#"{"type":"object","allOf":["#.repeat(levels),
            "]}".repeat(levels)
        );
        assert!(ty(&all).starts_with("Record<string, JsonValue> & "));
    };
    std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(check)
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn c54_every_value_renders() {
    check(&[
        ("null", "unknown"),
        ("3", "unknown"),
        (r#""string""#, "unknown"),
        ("[]", "unknown"),
        ("true", "JsonValue"),
        ("false", "never"),
    ]);
}

#[test]
fn d13_only_the_node_without_a_type_is_unknown() {
    check(&[
        (r#"{"type":"dict"}"#, "unknown"),
        (r#"{"type":[]}"#, "unknown"),
        (r#"{"type":7}"#, "unknown"),
        (r#"{"oneOf":[]}"#, "unknown"),
        (r#"{"oneOf":3}"#, "unknown"),
        (r#"{"enum":3}"#, "unknown"),
        (r#"{"$ref":"https://example.com/a"}"#, "unknown"),
        (r##"{"$ref":"#/nope"}"##, "unknown"),
        (r##"{"$ref":"#"}"##, "unknown"),
        (
            r#"{"type":"object","additionalProperties":false,"properties":{"a":42,"b":{"type":"string"}}}"#,
            "{\n  a?: unknown;\n  b?: string;\n}",
        ),
        (
            r#"{"type":"object","properties":7,"required":[7]}"#,
            "Record<string, JsonValue>",
        ),
        (r#"{"oneOf":[{"type":"string"}]}"#, "string"),
        (r#"{"type":"string","enum":["a",7]}"#, r#""a""#),
        (r#"{"type":"string","enum":[]}"#, "never"),
    ]);
}

#[test]
fn d13_types_that_typescript_has() {
    check(&[
        (r#"{"type":["string","null"]}"#, "string | null"),
        (
            r#"{"type":"array","items":{"type":["string","null"]}}"#,
            "(string | null)[]",
        ),
        (
            r#"{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]}"#,
            "string | string[]",
        ),
        (
            r#"{"enum":["a",1,null,true,[1,{"b c":2}],{}]}"#,
            r#""a" | 1 | null | true | [1, { "b c": 2; }] | Record<string, never>"#,
        ),
        (r#"{"const":{"k":[]}}"#, "{ k: []; }"),
        (
            r#"{"type":["string","null"],"enum":["a",null,3]}"#,
            r#""a" | null"#,
        ),
        (
            r#"{"type":"object","additionalProperties":{"type":"number"}}"#,
            "{ [key: string]: number }",
        ),
        (
            r#"{"type":"object","additionalProperties":{}}"#,
            "Record<string, JsonValue>",
        ),
        (
            r#"{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":{"type":"number"}}"#,
            "{\n  a?: string;\n} & { [key: string]: number }",
        ),
        (
            r#"{"type":"object","patternProperties":{"^x-":{"type":"number"}},"additionalProperties":false}"#,
            r#"{ [key: string]: number } /* patternProperties: {"^x-":{"type":"number"}} */"#,
        ),
        (
            r#"{"type":"array","prefixItems":[{"type":"string"},{"type":"number"}],"minItems":2,"maxItems":2}"#,
            "[string, number]",
        ),
        (
            r#"{"type":"array","prefixItems":[{"type":"string"}],"items":false,"minItems":1}"#,
            "[string]",
        ),
        (
            r#"{"type":"array","prefixItems":[{"type":"string"},{}],"minItems":1,"items":{"type":["null","number"]}}"#,
            "[item0: string, item1?: JsonValue, ...rest: (null | number)[]]",
        ),
        (
            r#"{"type":"array","items":[{"type":"string"}],"additionalItems":false,"minItems":1}"#,
            "[string] /* minItems: 1 */",
        ),
        (
            r#"{"allOf":[{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false},{"anyOf":[{"type":"object","additionalProperties":{"type":"string"}},{"type":"null"}]}]}"#,
            "{\n  a?: string;\n} & ({ [key: string]: string } | null)",
        ),
        (
            r#"{"type":"object","properties":{"a":{},"b":{}},"additionalProperties":false,"anyOf":[{"required":["a"]},{"required":["b"]}]}"#,
            "{\n  a?: JsonValue;\n  b?: JsonValue;\n} & ({\n  a: JsonValue;\n} & Record<string, JsonValue> | {\n  b: JsonValue;\n} & Record<string, JsonValue>)",
        ),
        (
            r#"{"properties":{"a":{"type":"null"}},"additionalProperties":false}"#,
            "{\n  a?: null;\n}",
        ),
    ]);
}

#[test]
fn d13_constraints_become_comments() {
    check(&[
        (
            r#"{"type":"integer","minimum":1,"maximum":10}"#,
            "number /* minimum: 1, maximum: 10 */",
        ),
        (
            r#"{"type":"string","pattern":"^a*/b"}"#,
            r#"string /* pattern: "^a*\/b" */"#,
        ),
        (
            r#"{"type":"string","format":"date"}"#,
            r#"string /* format: "date" */"#,
        ),
        (
            r#"{"type":"array","items":{"type":"number","minimum":0}}"#,
            "(number /* minimum: 0 */)[]",
        ),
        (
            r#"{"type":"string","not":{"const":"x"}}"#,
            r#"string /* not: {"const":"x"} */"#,
        ),
        // What generators add to every map and integer says nothing.
        (
            r#"{"type":"object","propertyNames":{"type":"string"},"additionalProperties":{"type":"null"}}"#,
            "{ [key: string]: null }",
        ),
        (
            r#"{"type":"integer","minimum":-9007199254740991,"maximum":9007199254740991}"#,
            "number",
        ),
    ]);
    let long = format!(r#"{{"type":"string","pattern":"{}"}}"#, "é".repeat(500));
    assert!(ty(&long).len() < 250);
}

#[test]
fn d13_references_are_named_types() {
    let schema = Document::parse(
        r##"{"type":"object","additionalProperties":false,"properties":{"tree":{"$ref":"#/$defs/tree-node"},"other":{"$ref":"#/$defs/tree_node"},"again":{"$ref":"#/$defs/tree-node"},"root":{"$ref":"#"}},
            "$defs":{"tree-node":{"type":"object","additionalProperties":{"$ref":"#/$defs/tree-node"}},"tree_node":{"type":"string"}}}"##,
    )
    .unwrap();
    let rendered = typescript::render(&schema, "Walk", 0);
    assert_eq!(
        rendered.text,
        "{\n  tree?: WalkTreeNode;\n  other?: WalkTreeNode2;\n  again?: WalkTreeNode;\n  root?: Walk;\n}"
    );
    let names: Vec<_> = rendered
        .declarations
        .iter()
        .map(|(name, body)| format!("{name} = {body}"))
        .collect();
    assert_eq!(names[0], "WalkTreeNode = { [key: string]: WalkTreeNode }");
    assert_eq!(names[1], "WalkTreeNode2 = string");
    assert_eq!(names[2], format!("Walk = {}", rendered.text));
    // Without a place for names, references are expanded once.
    check(&[(
        r##"{"$defs":{"a":{"type":"array","items":{"$ref":"#/$defs/a"}}},"$ref":"#/$defs/a"}"##,
        "unknown[]",
    )]);
}

#[test]
fn d13_references_without_progress_are_unknown() {
    let schema = Document::parse(
        r##"{"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"},{"type":"null"}]},"b":{"allOf":[{"$ref":"#/$defs/a"}]},"c":{"$ref":"#/$defs/a"}},"properties":{"x":{"$ref":"#/$defs/a"},"y":{"$ref":"#/$defs/c"}},"additionalProperties":false}"##,
    )
    .unwrap();
    let rendered = typescript::render(&schema, "T", 0);
    assert_eq!(rendered.text, "{\n  x?: unknown;\n  y?: TC;\n}");
    assert_eq!(
        rendered.declarations,
        [("TC".to_owned(), "unknown".to_owned())]
    );
}

#[test]
fn intersections_stay_within_what_a_compiler_takes() {
    let members: Vec<_> = (0..6)
        .map(|part| {
            let branches: Vec<_> = (0..40)
                .map(|branch| format!(r#"{{"type":"object","required":["k{part}_{branch}"]}}"#))
                .collect();
            format!(r#"{{"anyOf":[{}]}}"#, branches.join(","))
        })
        .collect();
    let text = ty(&format!(r#"{{"allOf":[{}]}}"#, members.join(",")));
    assert!(text.ends_with("/* and further alternatives */"), "{text}");
    assert!(text.contains("k0_39") && !text.contains("k5_0"));

    // Counting them takes no time either, however often the parts share parts.
    let mut ladder = String::from(r##"{"$ref":"#/$defs/c0","$defs":{"##);
    for rung in 0..60 {
        let next = format!(r##"{{"$ref":"#/$defs/c{}"}}"##, rung + 1);
        ladder.push_str(&format!(r#""c{rung}":{{"allOf":[{next},{next}]}},"#));
    }
    ladder.push_str(r#""c60":{"type":"string"}}}"#);
    assert!(ty(&ladder).len() < 100_000);
}

#[test]
fn expanding_references_stays_small() {
    let mut schema = String::from(r##"{"$ref":"#/$defs/c0","$defs":{"##);
    for rung in 0..60 {
        let next = format!(
            r##"{{"type":"array","items":{{"$ref":"#/$defs/c{}"}}}}"##,
            rung + 1
        );
        schema.push_str(&format!(r#""c{rung}":{{"anyOf":[{next},{next}]}},"#));
    }
    schema.push_str(r#""c60":{"type":"string"}}}"#);
    assert!(ty(&schema).len() < 100_000);
    let rendered = typescript::render(&Document::parse(schema).unwrap(), "T", 0);
    assert_eq!(rendered.declarations.len(), 61);
}

fn tool<'a>(
    name: &'a str,
    description: &'a str,
    parameters: &'a Document,
    output: &'a Document,
) -> Tool<'a> {
    Tool {
        name,
        description,
        parameters,
        output,
    }
}

#[test]
fn c73_to_c75_the_whole_section() {
    let parameters = Document::parse(
        r#"{"type":"object","properties":{"file":{"type":"string","description":"File to read"},"unit":{"type":"string","enum":["line","byte"]},"ranges":{"type":"array","items":{"type":"object","additionalProperties":false,"properties":{"from":{"type":"integer"}},"required":["from"]}}},"required":["file"]}"#,
    )
    .unwrap();
    let output = Document::parse(r#"{"oneOf":[{"type":"integer"},{"type":"null"}]}"#).unwrap();
    let closed = Document::parse(r#"{"type":"object","additionalProperties":false}"#).unwrap();
    let list = Document::parse(
        r#"{"type":"array","items":{"oneOf":[{"type":"string"},{"type":"boolean"}]}}"#,
    )
    .unwrap();
    let tree = Document::parse(r##"{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#"}}},"additionalProperties":false}"##).unwrap();
    let tools = [
        tool(
            "count-lines",
            "Count lines\n  in a file.",
            &parameters,
            &output,
        ),
        tool("beep", "", &closed, &list),
        tool("walk", "Walk.", &tree, &output),
    ];
    let expected = r#"type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue };

type walkArgs = {
  kids?: walkArgs[];
};

interface ToolArgsMap {
  beep: Record<string, never>;
  /** Count lines in a file. */
  "count-lines": {
    /** File to read */
    file: string;
    unit?: "line" | "byte";
    ranges?: {
      from: number;
    }[];
  } & Record<string, JsonValue>;
  /** Walk. */
  walk: {
    kids?: walkArgs[];
  };
}

interface ToolOutputMap {
  beep: (string | boolean)[];
  "count-lines": number | null;
  walk: number | null;
}

type ToolName = keyof ToolOutputMap;

declare class ToolCallError extends Error {
  readonly name: "ToolCallError";
  readonly toolName: ToolName;
}

declare const tools: {
  [K in ToolName]: (args: ToolArgsMap[K]) => Promise<ToolOutputMap[K]>;
};"#;
    assert_eq!(typescript::sdk(&tools), expected);
    let kept: Vec<_> = tools
        .iter()
        .rev()
        .map(|tool| (tool.name, ToolText::render(tool)))
        .collect();
    assert_eq!(
        typescript::sdk_of(kept.iter().map(|(name, text)| (*name, text))),
        expected
    );
    let empty = typescript::sdk(&[]);
    assert!(empty.contains("\n\ninterface ToolArgsMap {}\n\ninterface ToolOutputMap {}\n\n"));
}

#[test]
fn named_types_of_different_tools_never_meet() {
    let tree = Document::parse(r##"{"$defs":{"Args":{"type":"object","properties":{"a":{"$ref":"#/$defs/Args"}}},"Map":{"type":"array","items":{"$ref":"#/$defs/Map"}}},"properties":{"a":{"$ref":"#/$defs/Args"},"m":{"$ref":"#/$defs/Map"}}}"##).unwrap();
    let names = [
        "x",
        "xArgs",
        "xArgsArgs",
        "Tool",
        "a-b",
        "a_b",
        "a.b",
        "",
        "9",
        "é",
        "ключ",
        "xOutput",
        "$",
        "_",
        "ToolOutput",
    ];
    let tools: Vec<_> = names
        .iter()
        .map(|name| tool(name, "", &tree, &tree))
        .collect();
    let sdk = typescript::sdk(&tools);
    let mut declared: Vec<_> = sdk
        .lines()
        .filter_map(|line| {
            let rest = line
                .strip_prefix("type ")
                .or_else(|| line.strip_prefix("interface "))?;
            rest.split(' ').next()
        })
        .collect();
    assert_eq!(declared.len(), names.len() * 4 + 4);
    declared.sort_unstable();
    declared.dedup();
    assert_eq!(declared.len(), names.len() * 4 + 4);
    assert!(declared.iter().all(|name| {
        name.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$'))
    }));
}
