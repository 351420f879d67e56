//! The stripper against programs nobody would write: deep nesting, long chains and random text.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use dsh_code_quickjs::strip::strip;
use proptest::prelude::*;

/// Shapes that nest, with what closes them again.
const SHAPES: &[(&str, &str, &str)] = &[
    ("(", "1", ")"),
    ("[", "1", "]"),
    ("{", "", "}"),
    ("[{a:", "1", "}]"),
    ("f(", "1", ")"),
    ("!", "1", ""),
    ("- ", "1", ""),
    ("typeof ", "1", ""),
    ("await ", "1", ""),
    ("new ", "f", ""),
    ("`${", "1", "}`"),
    ("a ? b : ", "c", ""),
    ("a ? ", "b", " : c"),
    ("a = ", "1", ""),
    ("a => ", "1", ""),
    ("async a => ", "1", ""),
    ("(a: any) => (", "1", ")"),
    ("() => { return ", "1", "}"),
    ("function f() {", "", "}"),
    ("(function () { return ", "1", "})"),
    ("2 ** ", "2", ""),
    ("if (a) ", ";", ""),
    ("if (a) {} else ", ";", ""),
    ("while (a) ", ";", ""),
    ("for (;;) ", ";", ""),
    ("try { ", "", "} finally {}"),
    ("switch (a) { case 1: ", "", "}"),
    ("class A { m() { ", "", "} }"),
    ("class A { static { ", "", "} }"),
    ("(class extends ", "A", " {})"),
    ("let a: Array<", "T", ">"),
    ("a as [b: ", "T", "]"),
    ("let a: (", "T", ")"),
    ("let a: { a: ", "T", "}"),
    ("a as {a: ", "T", "}"),
    ("(a as keyof ", "T", ")"),
    ("(a as any as Array<", "T", ">)"),
    ("({ a = ", "1", "} = b)"),
    ("[a = ", "1", "]"),
    ("const { a: ", "b", " } = c"),
    ("a[", "0", "]"),
    ("a?.[", "0", "]!"),
    ("<T,>(x: T) => ", "x", ""),
];

fn nested((open, middle, close): (&str, &str, &str), levels: usize) -> String {
    format!("{}{middle}{}", open.repeat(levels), close.repeat(levels))
}

#[test]
fn hostile_nesting_is_a_diagnostic() {
    for &shape in SHAPES {
        let error = strip(&nested(shape, 30_000)).expect_err(shape.0);
        let message = &error.diagnostics()[0].message;
        assert!(
            message.contains("nested too deeply"),
            "{}: {message}",
            shape.0
        );
        // Unclosed, the brackets are as deep.
        strip(&shape.0.repeat(30_000)).expect_err(shape.0);
    }
}

/// Runs on a test thread, whose stack is smaller than that of any process.
#[test]
fn every_shape_parses_up_to_the_limit() {
    for &shape in SHAPES {
        // Some shapes open several levels at once, so this finds the deepest that is let through.
        let mut levels = 300;
        let is_too_deep = |levels| {
            strip(&nested(shape, levels))
                .is_err_and(|error| error.to_string().contains("too deeply"))
        };
        while levels > 1 && is_too_deep(levels) {
            levels -= 1;
        }
        assert!(
            levels >= 50,
            "{} is refused at {levels} levels already",
            shape.0
        );
    }
}

#[test]
fn long_chains_are_not_nesting() {
    let chain = |first: &str, link: &str| format!("return {first}{}", link.repeat(20_000));
    for (first, link) in [
        ("a", " + a"),
        ("a", "\n + 'text'"),
        ("a", " && a"),
        ("a", ".b"),
        ("a", ".b()"),
        ("a", "?.b"),
        ("a", "[0]"),
        ("a", "!"),
        ("a", " as any"),
        ("a", "(1)"),
        ("a", "``"),
        ("a", ", a"),
        ("[", "a, "),
    ] {
        let program = chain(first, link) + if first == "[" { "]" } else { "" };
        let output = strip(&program).unwrap_or_else(|error| panic!("{link}: {error}"));
        assert_eq!(output.len(), program.len(), "{link}");
    }
    let lines = "if (a) b()\nelse c()\nlet x = y ? 1 : 2\nf(x => x, { a: [1] })\n".repeat(2_000);
    assert_eq!(strip(&lines).unwrap(), lines);
}

#[test]
fn the_message_says_where_and_what_to_do() {
    let error = strip("const a = 1;\nenum Level { Low }\nimport x from 'y';").unwrap_err();
    assert_eq!(
        error.to_string(),
        "`enum` is not supported, only types that can be erased are: write an object with `as const` \
         (line 2, column 1)\n`import` statements are not supported, a program is a function body \
         without modules: use the namespaces and globals that are in scope (line 3, column 1)"
    );
    let error = strip("return 1 }").unwrap_err();
    assert_eq!(
        error.to_string(),
        "syntax error: unexpected token (line 1, column 10)"
    );
}

#[test]
fn contradictions_between_types_are_not_checked() {
    for program in [
        "function f(a?: number, b: string) {}",
        "function f(a?: number = 1) {}",
        "let a: readonly string = 1",
        "class A { private public a = 1 }",
        "let a!: number = 1",
        "f<>()",
        "type string = 1",
        "declare let x: number = 1",
    ] {
        let output = strip(program).unwrap_or_else(|error| panic!("{program}: {error}"));
        assert_eq!(strip(&output).as_ref(), Ok(&output), "{program}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_text_never_panics(program in "\\PC{0,80}") {
        let _ = strip(&program);
    }

    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
        let _ = strip(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn random_tokens_keep_their_place(tokens in proptest::collection::vec(token(), 0..40)) {
        let program = tokens.concat();
        if let Ok(output) = strip(&program) {
            let lengths =
                |text: &str| text.split('\n').map(|it| it.chars().count()).collect::<Vec<_>>();
            prop_assert_eq!(lengths(&program), lengths(&output));
        }
    }
}

fn token() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(&[
        "a",
        "b ",
        "1",
        "'s'",
        "`t`",
        "`${",
        "/r/",
        " ",
        "\n",
        "\r\n",
        "\u{2028}",
        ";",
        ",",
        ".",
        "?.",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "<",
        ">",
        "=",
        "=>",
        "!",
        "?",
        ":",
        "+",
        "-",
        "*",
        "**",
        "&&",
        "??",
        "|",
        "&",
        "...",
        "@",
        "#a",
        "é",
        "😀",
        "//",
        "/*",
        "*/",
        " as ",
        " satisfies ",
        "type ",
        "interface ",
        "declare ",
        "class ",
        "abstract ",
        "function ",
        "async ",
        "await ",
        "const ",
        "let ",
        "return ",
        "readonly ",
        "private ",
        "static ",
        "get ",
        "enum ",
        "namespace ",
        "import ",
        "export ",
        "new ",
        "typeof ",
        "keyof ",
        "this",
        "if ",
        "else ",
        "for ",
        "of ",
        "in ",
        "is ",
        "implements ",
        "extends ",
        "override ",
        "global ",
        "module ",
        "\\u0061",
        "\\",
        "\0",
        "\u{FEFF}",
    ])
}
