//! Python declarations by the rules of the SDK (C77 to C93).

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that reports what it did"
)]

use std::io::Write as _;
use std::process::{Command, Stdio};

use dsh_schema::python::{self, Tool};
use dsh_schema::{Document, MAX_DEPTH};

fn ty(schema: &str) -> String {
    python::type_of(&Document::parse(schema).unwrap())
}

/// The declarations of tools given as name, description, parameters, output.
fn sdk(tools: &[(&str, &str, &str, &str)]) -> String {
    let documents: Vec<_> = tools
        .iter()
        .map(|(_, _, parameters, output)| {
            (
                Document::parse(*parameters).unwrap(),
                Document::parse(*output).unwrap(),
            )
        })
        .collect();
    let tools: Vec<_> = tools
        .iter()
        .zip(&documents)
        .map(|((name, description, ..), (parameters, output))| Tool {
            name,
            description,
            parameters,
            output,
        })
        .collect();
    python::sdk(&tools)
}

#[test]
fn c77_to_c81_single_types() {
    for (schema, expected) in [
        (r#"{"type":"string"}"#, "str"),
        (r#"{"type":"number"}"#, "float"),
        (r#"{"type":"integer"}"#, "int"),
        (r#"{"type":"boolean"}"#, "bool"),
        (r#"{"type":"null"}"#, "None"),
        (r#"{"type":"null","const":null}"#, "None"),
        ("{}", "Any"),
        (
            r#"{"type":"boolean","enum":[true,false]}"#,
            "Literal[True, False]",
        ),
        (
            r#"{"type":"string","enum":["a","b\n"],"const":"a"}"#,
            r#"Literal["a"]"#,
        ),
        (
            r#"{"type":"string","enum":["a","b\n"]}"#,
            r#"Literal["a", "b\n"]"#,
        ),
        (
            r#"{"type":"number","enum":[1152921504606846976,1e21,1e-7,1.5]}"#,
            "Literal[1152921504606846976, 1000000000000000000000, 1e-7, 1.5]",
        ),
        (r#"{"type":"array"}"#, "list[Any]"),
        (
            r#"{"type":"array","items":{"oneOf":[{"type":"string"},{"type":"null"}]}}"#,
            "list[str | None]",
        ),
        (
            r#"{"oneOf":[{"type":"object"},{"type":"array","items":{"type":"object","properties":{"a":{}},"additionalProperties":false}}]}"#,
            "dict[str, Any] | list[dict[str, Any]]",
        ),
        // Anything outside of the subset, anywhere.
        (
            r#"{"type":"array","items":{"type":"string","minLength":1}}"#,
            "Any",
        ),
        (r#"{"anyOf":[{}]}"#, "Any"),
        ("true", "Any"),
        ("null", "Any"),
        ("3", "Any"),
    ] {
        assert_eq!(ty(schema), expected, "{schema}");
    }
}

#[test]
fn c88_lists_are_capped() {
    let lists = |levels: usize| {
        format!(
            "{}{{\"type\":\"string\"}}{}",
            r#"{"type":"array","items":"#.repeat(levels),
            "}".repeat(levels)
        )
    };
    assert_eq!(
        ty(&lists(180)),
        format!("{}str{}", "list[".repeat(180), "]".repeat(180))
    );
    assert_eq!(
        ty(&lists(181)),
        format!("{}Any{}", "list[".repeat(180), "]".repeat(180))
    );
    let field = sdk(&[(
        "t",
        "",
        &format!(r#"{{"type":"object","properties":{{"a":{}}}}}"#, lists(300)),
        "{}",
    )]);
    assert!(field.contains(&format!(
        "a: NotRequired[{}Any{}]\n",
        "list[".repeat(179),
        "]".repeat(179)
    )));
}

#[test]
fn c84_c91_the_worked_example() {
    let text = sdk(&[(
        "tally",
        "Tally words.",
        r#"{"type":"object","properties":{"text":{"type":"string","description":"Input text"},"top":{"type":"integer"}},"required":["text"]}"#,
        r#"{"type":"object","properties":{"words":{"type":"array","items":{"type":"string"}}},"required":["words"],"additionalProperties":false}"#,
    )]);
    assert_eq!(
        text,
        r#"from typing import NotRequired, Protocol, TypedDict

class ToolCallError(Exception):
    toolName: str

class TallyArgs(TypedDict):
    # Input text
    text: str
    top: NotRequired[int]
    # Additional keys beyond those declared are allowed.

class TallyOutput(TypedDict):
    words: list[str]

class Tools(Protocol):
    async def tally(self, args: TallyArgs) -> TallyOutput:
        """Tally words."""

tools: Tools"#
    );
}

#[test]
fn c82_c85_c89_classes_and_their_names() {
    let text = sdk(&[
        (
            "b_tool",
            "",
            r#"{"type":"object","additionalProperties":false,"properties":{"in_ner":{"type":"object","additionalProperties":false},"list":{"type":"array","items":{"oneOf":[{"type":"object","properties":{"x":{}},"required":["x"],"additionalProperties":false},{"type":"object","properties":{"y":{"type":"null"}},"additionalProperties":false},{"type":"object"}]}},"bad":{"type":"object","properties":{"a-b":{}}},"inNer":{"type":"object","additionalProperties":false}}}"#,
            r#"{"type":"array","items":{"type":"object","properties":{"class":{}}}}"#,
        ),
        (
            "BTool",
            "",
            r#"{"type":"object","additionalProperties":false}"#,
            r#"{"type":"object"}"#,
        ),
        (
            "foreign",
            "",
            r#"{"type":"object","minProperties":1}"#,
            "{}",
        ),
    ]);
    assert_eq!(
        text,
        r#"from typing import Any, NotRequired, Protocol, TypedDict

class ToolCallError(Exception):
    toolName: str

class BToolArgs(TypedDict):
    pass

class BToolArgs2InNer(TypedDict):
    pass

class BToolArgs2List1(TypedDict):
    x: Any

class BToolArgs2List2(TypedDict):
    y: NotRequired[None]

class BToolArgs2InNer2(TypedDict):
    pass

class BToolArgs2(TypedDict):
    in_ner: NotRequired[BToolArgs2InNer]
    list: NotRequired[list[BToolArgs2List1 | BToolArgs2List2 | dict[str, Any]]]
    bad: NotRequired[dict[str, Any]]
    inNer: NotRequired[BToolArgs2InNer2]

class Tools(Protocol):
    async def BTool(self, args: BToolArgs) -> dict[str, Any]: ...
    async def b_tool(self, args: BToolArgs2) -> list[dict[str, Any]]: ...
    async def foreign(self, args: Any) -> Any: ...

tools: Tools"#
    );
}

#[test]
fn c90_c92_what_is_no_method_is_a_comment() {
    let text = sdk(&[
        ("my-tool", "Does \"this\" \\ that.\u{7f}", "{}", "{}"),
        ("_private", "", "{}", "{}"),
        ("class", "a\n# b", "{}", "{}"),
        ("new\nline", "", "{}", "{}"),
    ]);
    assert!(text.ends_with(
        r#"class Tools(Protocol):
    pass
    # tools["_private"](args: Any) -> Any
    # tools["class"](args: Any) -> Any
    #   a # b
    # tools["my-tool"](args: Any) -> Any
    #   Does "this" \ that.\x7f
    # tools["new\nline"](args: Any) -> Any

tools: Tools"#
    ));
    let text = sdk(&[("my", "Does \"this\" \\ that.\u{7f}", "{}", "{}")]);
    assert!(text.contains(r#"        """Does \"this\" \\ that.\\x7f""""#));
    assert!(sdk(&[]).ends_with("class Tools(Protocol):\n    pass\n\ntools: Tools"));
    assert!(sdk(&[]).starts_with("from typing import Protocol\n\n"));
}

#[test]
fn c87_deep_names_stay_short() {
    let levels = (MAX_DEPTH - 2) / 2;
    let deep = format!(
        "{}{{}}{}",
        r#"{"type":"object","additionalProperties":false,"properties":{"field_name":"#
            .repeat(levels),
        "}}".repeat(levels)
    );
    let check = move || {
        let text = sdk(&[("t", "", &deep, "{}")]);
        assert_eq!(text.matches("(TypedDict):").count(), levels);
        assert!(
            text.lines()
                .filter_map(|line| line.strip_prefix("class "))
                .all(|name| name.len() < 140 + "(TypedDict):".len())
        );
    };
    std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(check)
        .unwrap()
        .join()
        .unwrap();
}

/// Everything emitted parses, whatever names and descriptions hold: one interpreter for all cases.
#[test]
fn every_declaration_is_valid_python() {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move |bound: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % bound as u64) as usize
    };
    let pieces = [
        "a",
        "b_",
        "_",
        "__",
        "9",
        "-",
        ".",
        " ",
        "\n",
        "\r",
        "\t",
        "\u{0}",
        "\u{c}",
        "\u{7f}",
        "\u{85}",
        "\u{2028}",
        "\u{2029}",
        "\u{200b}",
        "\u{feff}",
        "\"",
        "'''",
        "\"\"\"",
        "\\",
        "\\\"",
        "#",
        "class",
        "None",
        "match",
        "def",
        "é",
        "ﬁ",
        "ß",
        "ключ",
        "😀",
        "𝒳",
        "\u{301}",
        "ª",
        "·",
        "]",
        "(",
        ")",
        ":",
        "->",
        "{",
        "}",
        "%s",
        "$",
        "`",
        "/*",
        "*/",
        "lambda",
        "__debug__",
        "\u{1f}",
    ];
    let mut word = |longest: usize| {
        (0..next(longest + 1))
            .map(|_| pieces[next(pieces.len())])
            .collect::<String>()
    };
    let mut programs = Vec::new();
    for case in 0..400 {
        let json = |text: &str| serde_json::to_string(text).unwrap();
        let field = |word: &mut dyn FnMut(usize) -> String, schema: &str| {
            format!("{}:{schema}", json(&word(3)))
        };
        let literal = format!(
            r#"{{"type":"string","enum":[{},{}],"description":{}}}"#,
            json(&word(4)),
            json(&word(2)),
            json(&word(6))
        );
        let inner = format!(
            r#"{{"type":"object","additionalProperties":{},"properties":{{{}}},"description":{}}}"#,
            case % 2 == 0,
            field(&mut word, &literal),
            json(&word(6))
        );
        let union = format!(
            r#"{{"oneOf":[{inner},{{"type":"array","items":{inner}}},{{"type":"integer","const":{case}}}]}}"#
        );
        let parameters = format!(
            r#"{{"type":"object","properties":{{{}}}}}"#,
            field(&mut word, &union)
        );
        let (first, second) = (word(4), format!("{}x", word(3)));
        let (one, two) = (word(8), word(8));
        programs.push(sdk(&[
            (&first, &one, &parameters, &inner),
            (&second, &two, &union, &literal),
        ]));
    }
    programs.push(sdk(&[]));
    let lists = format!(
        "{}{{\"type\":\"string\"}}{}",
        r#"{"type":"array","items":"#.repeat(400),
        "}".repeat(400)
    );
    programs.push(sdk(&[("deep", "", &lists, &lists)]));

    let script = "import ast, json, sys\nfor number, program in enumerate(json.load(sys.stdin)):\n    try:\n        ast.parse(program)\n    except Exception as error:\n        sys.exit(f'{number}: {error!r}\\n{program}')\n";
    let interpreter = Command::new("python3")
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut interpreter = match interpreter {
        Ok(interpreter) => interpreter,
        Err(error) => {
            println!(
                "NOT CHECKED: no python3 on this machine ({error}); {} programs were rendered",
                programs.len()
            );
            return;
        }
    };
    let programs = serde_json::to_string(&programs).unwrap();
    interpreter
        .stdin
        .take()
        .unwrap()
        .write_all(programs.as_bytes())
        .unwrap();
    let output = interpreter.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
