//! The `grep` tool (F120–F122, F130–F135).
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod tree;

use std::fmt::Write;
use std::fs;

use dsh_tools::card::ResultView;
use dsh_tools::{Access, DurableResult, Effect};
use proptest::prelude::*;
use tree::{Runtime, Tree, document, text};

#[test]
fn f120_the_definition() {
    let tree = Tree::new();
    let tool = Runtime::new(&tree, r#"{"timeoutMs":5}"#).grep;
    assert_eq!(tool.name(), "grep");
    assert_eq!(tool.effect(), Effect::ReadOnly);
    assert!(tool.is_concurrency_safe(&document(r#"{"pattern":"a"}"#)));
    assert_eq!(tool.timeout(), Some(std::time::Duration::from_millis(5)));
    let schema = tool.schema().parameters().to_value();
    assert_eq!(schema["required"], serde_json::json!(["pattern"]));
    let names: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["pattern", "path", "include"]);
    assert_eq!(
        (dsh_fs::grep::PROMPT_SECTION, dsh_fs::grep::PROMPT_ORDER),
        ("tool:grep", 104)
    );
}

#[test]
fn f120_f133_failures() {
    let tree = Tree::new();
    tree.write("file.txt", "x");
    tree.link("escape", "../outside/a.txt");
    let runtime = Runtime::new(&tree, "{}");
    let root = tree.root().to_str().unwrap().to_owned();
    for (arguments, code, message) in [
        (
            r#"{"pattern":""}"#,
            None,
            "pattern must be a non-empty string".to_owned(),
        ),
        (
            r#"{"pattern":"a","include":"!b"}"#,
            None,
            "include must be a glob of files to search, it must not start with \"!\"".to_owned(),
        ),
        (
            r#"{"pattern":"a{2,1}"}"#,
            Some("SEARCH_INVALID_PATTERN"),
            "invalid regular expression: ".to_owned(),
        ),
        (
            r#"{"pattern":"a","include":"{b"}"#,
            Some("SEARCH_INVALID_PATTERN"),
            "include \"{b\" is not a glob: unclosed alternate group".to_owned(),
        ),
        (
            r#"{"pattern":"a","path":"missing"}"#,
            Some("SEARCH_FAILED"),
            format!("cannot search \"{root}/missing\": not found"),
        ),
        (
            r#"{"pattern":"a","path":"escape"}"#,
            Some("FS_SANDBOX_DENIED"),
            format!("cannot access \"{root}/escape\": outside the workspace \"{root}\""),
        ),
    ] {
        let settled = runtime.call("grep", arguments);
        let text = text(&settled);
        assert!(text.starts_with(&format!("Error: {message}")), "{text}");
        assert_eq!(settled.outcome().code(), code);
    }
    // A pattern that is wrong is said to be so before anything is looked at.
    let settled = runtime.call("grep", r#"{"pattern":"(","path":"missing"}"#);
    assert_eq!(settled.outcome().code(), Some("SEARCH_INVALID_PATTERN"));
}

#[test]
fn f120_hidden_and_ignored_files_do_not_count() {
    let tree = Tree::new();
    for path in [
        "a.ts",
        ".hidden.ts",
        ".config/b.ts",
        "ig.ts",
        "igdir/c.ts",
        "sub/ig.ts",
        "sub/keep.ts",
        "rg.ts",
    ] {
        tree.write(path, "x");
    }
    tree.write(".ignore", "ig.ts\nigdir\n");
    tree.write(".rgignore", "rg.ts\n");
    tree.write("sub/.ignore", "!ig.ts\nkeep.ts\n");
    assert_eq!(tree.files("x", None, None), ["a.ts", "sub/ig.ts"]);
    // An explicit place is searched whatever it is called.
    assert_eq!(tree.files("x", Some("igdir"), None), ["igdir/c.ts"]);
    assert_eq!(tree.files("x", Some(".config"), None), [".config/b.ts"]);
    assert_eq!(tree.files("x", Some("ig.ts"), None), ["ig.ts"]);
    // Rules above the start of the search hold.
    assert_eq!(tree.files("x", Some("sub"), None), ["sub/ig.ts"]);
}

#[test]
fn f120_include_overrules_for_files_and_not_for_directories() {
    let tree = Tree::new();
    for path in [
        "a.ts",
        "a.rs",
        ".hidden.ts",
        "ig.ts",
        ".config/b.ts",
        "igdir/c.ts",
        "sub/d.tsx",
    ] {
        tree.write(path, "x");
    }
    tree.write(".ignore", "ig.ts\nigdir\n");
    let files = |include| tree.files("x", None, Some(include));
    assert_eq!(files("*.ts"), [".hidden.ts", "a.ts", "ig.ts"]);
    assert_eq!(
        files("*.{ts,tsx}"),
        [".hidden.ts", "a.ts", "ig.ts", "sub/d.tsx"]
    );
    assert_eq!(files("sub/*"), ["sub/d.tsx"]);
    assert_eq!(files("/a.*"), ["a.rs", "a.ts"]);
    assert_eq!(tree.files("x", Some("a.rs"), Some("*.ts")), ["a.rs"]);
}

#[test]
fn f120_the_rules_of_git_count_in_a_repository_only() {
    let tree = Tree::new();
    for path in ["a", "b", "c", "inner/a", "inner/d"] {
        tree.write(path, "x");
    }
    tree.write(".gitignore", "a\n");
    assert_eq!(
        tree.files("x", None, None),
        ["a", "b", "c", "inner/a", "inner/d"]
    );
    tree.write(".git/info/exclude", "b\n");
    assert_eq!(tree.files("x", None, None), ["c", "inner/d"]);
    assert_eq!(tree.files("x", Some("inner"), None), ["inner/d"]);
    // Another repository begins here.
    tree.write("inner/.git", "gitdir: elsewhere\n");
    assert_eq!(tree.files("x", None, None), ["c", "inner/a", "inner/d"]);
    assert_eq!(tree.files("x", Some("inner"), None), ["inner/a", "inner/d"]);
}

#[test]
fn f121_lines_are_complete_and_without_their_end() {
    let tree = Tree::new();
    tree.write("crlf", "one\r\ntwo\r\nthree");
    tree.write("latin", b"caf\xe9 one\nplain one\n");
    let long = format!("one{}", "y".repeat(5000));
    tree.write("long", &long);
    assert_eq!(
        tree.grep("one|three"),
        [
            "crlf:1:one",
            "crlf:3:three",
            "latin:1:(line is not valid UTF-8)",
            "latin:2:plain one",
            &format!("long:1:{long}")
        ]
    );
    let runtime = Runtime::new(&tree, "{}");
    let settled = runtime.call("grep", r#"{"pattern":"two"}"#);
    assert_eq!(
        settled.outcome().value().unwrap().to_json(),
        r#"{"matches":[{"path":"crlf","lineNumber":2,"line":"two"}]}"#
    );
}

#[test]
fn f120_expressions_are_those_of_ripgrep() {
    let tree = Tree::new();
    tree.write("a", "Foo bar\nfoo\n\n  \nstraße 12\n");
    for (pattern, lines) in [
        ("foo", &[2][..]),
        ("(?i)FOO", &[1, 2]),
        ("^foo$", &[2]),
        ("^$", &[3]),
        ("^ +$", &[4]),
        (" ", &[1, 4, 5]),
        (r"\w+ß\w", &[5]),
        (r"\bbar\b", &[1]),
        (r"\d{2}", &[5]),
        ("o\\s*f", &[]),
        ("(?s)foo.*12", &[]),
    ] {
        let found = tree.grep_in(pattern, None, None).unwrap().matches;
        let numbers: Vec<u64> = found.iter().map(|m| m.line_number).collect();
        assert_eq!(numbers, lines, "{pattern}");
    }
}

#[test]
fn a_nul_ends_a_file() {
    let tree = Tree::new();
    tree.write("binary", "one\ntwo\0\none\n");
    tree.write(
        "late",
        "one\n".to_owned() + &"x\n".repeat(100_000) + "\0\none\n",
    );
    tree.write("first", "\0one\n");
    // As ripgrep: the piece of the file that has the NUL is not looked into, earlier ones were.
    assert_eq!(tree.grep("one"), ["late:1:one"]);
    let utf16: Vec<u8> = "\u{feff}one\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    tree.write("wide", utf16);
    tree.write("marked", "\u{feff}one\n");
    let found = tree.grep("^one$");
    assert_eq!(found, ["late:1:one", "marked:1:one", "wide:1:one"]);
}

#[test]
fn f122_the_text() {
    let tree = Tree::new();
    let settings = r#"{"grepMaxMatches":2,"grepMaxLineBytes":4}"#;
    let runtime = Runtime::new(&tree, settings);
    let call = || runtime.text("grep", r#"{"pattern":"x"}"#);
    assert_eq!(call(), "No matches found");
    tree.write("b", "a\nx\n");
    assert_eq!(call(), "Found 1 match\n\nb\nLine 2: x");
    tree.write("a/c", "xééé\n");
    assert_eq!(
        call(),
        "Found 2 matches\n\na/c\nLine 1: xé (line truncated)\n\nb\nLine 2: x"
    );
    tree.write("c", "x\nx\n");
    assert_eq!(
        call(),
        "Found 2 of 4 matches\n\na/c\nLine 1: xé (line truncated)\n\nb\nLine 2: x\n\n(Showing 2 of \
         4 matches. The complete result could not be saved; narrow the search with a more specific \
         pattern or path.)"
    );
    let settled = runtime.call("grep", r#"{"pattern":"x"}"#);
    let value = settled.outcome().value().unwrap().to_value();
    assert_eq!(value["matches"].as_array().unwrap().len(), 4);
    assert_eq!(value["matches"][0]["line"], "xééé");
}

#[test]
fn f130_patterns_and_paths_are_data() {
    let tree = Tree::new();
    tree.write("-e", "--pre=sh\n$(id)\n");
    assert_eq!(tree.grep("--pre=sh"), ["-e:1:--pre=sh"]);
    assert_eq!(tree.grep(r"\$\(id\)"), ["-e:2:$(id)"]);
    assert_eq!(tree.files("id", Some("-e"), None), ["-e"]);
    // Configuration of other programs in the tree has no effect.
    tree.write(".ripgreprc", "--invert-match\n");
    assert_eq!(tree.grep("nothing"), [""; 0]);
}

#[test]
fn f131_paths_are_shown_as_spelled_and_relative() {
    let tree = Tree::new();
    tree.write("src/a", "x");
    tree.link("link", "src");
    tree.link("file", "src/a");
    let absolute = tree.root().join("src/a").to_str().unwrap().to_owned();
    for (path, wanted) in [
        ("src", "src/a"),
        ("./src/../src/", "src/a"),
        ("link", "link/a"),
        ("file", "file"),
        (&absolute, "src/a"),
    ] {
        assert_eq!(tree.files("x", Some(path), None), [wanted], "{path}");
    }
}

#[test]
fn f133_too_much_is_refused_with_advice() {
    let tree = Tree::new();
    tree.write("a", "xx\nxx\n");
    let at = |max: u32| {
        let runtime = Runtime::new(&tree, &format!("{{\"rawOutputMaxBytes\":{max}}}"));
        runtime.call("grep", r#"{"pattern":"x"}"#)
    };
    // Path, line and 40 bytes for each of two matches.
    assert!(!at(86).outcome().is_error());
    let settled = at(85);
    assert_eq!(settled.outcome().code(), Some("SEARCH_RAW_OUTPUT_OVERFLOW"));
    assert!(text(&settled).contains("narrow the search"));
}

#[test]
fn access_names_the_resolved_path() {
    let tree = Tree::new();
    tree.write(".env", "KEY=1");
    tree.link("innocent.txt", ".env");
    let tool = Runtime::new(&tree, "{}").grep;
    let access = |json: &str| tool.access(&document(json)).unwrap();
    assert_eq!(
        access(r#"{"pattern":"K","path":"innocent.txt"}"#),
        [Access::read(tree.root().join(".env").to_str().unwrap())]
    );
    assert_eq!(
        access(r#"{"pattern":"K"}"#),
        [Access::read(tree.root().to_str().unwrap())]
    );
}

#[test]
fn f135_the_card_of_a_call_on_its_way() {
    let tree = Tree::new();
    let tool = Runtime::new(&tree, "{}").grep;
    let card = |json: &str| {
        let card = tool.present_call(&document(json));
        serde_json::to_string(&card.unwrap()).unwrap()
    };
    assert_eq!(
        card(r#"{"pattern":"fn"}"#),
        r#"{"card":"generic","title":"Grep fn","kind":"search","rawInput":"fn"}"#
    );
    assert_eq!(
        card(r#"{"pattern":"fn","path":"src","include":"*.rs"}"#),
        r#"{"card":"generic","title":"Grep fn in src (*.rs)","kind":"search","rawInput":"fn"}"#
    );
    assert_eq!(
        card(r#"{"pattern":"fn","include":"*.rs"}"#),
        r#"{"card":"generic","title":"Grep fn (*.rs)","kind":"search","rawInput":"fn"}"#
    );
}

#[test]
fn f135_the_card_of_a_finished_call() {
    let tree = Tree::new();
    let json = r#"{"pattern":"x"}"#;
    let card = |settings: &str| {
        let runtime = Runtime::new(&tree, settings);
        let durable = runtime.call("grep", json).outcome().durable();
        let card = runtime.grep.present_result(&document(json), &durable);
        serde_json::to_string(&card.unwrap()).unwrap()
    };
    assert_eq!(
        card("{}"),
        r#"{"card":"search","shape":"matches","files":[],"truncated":false,"total":0}"#
    );
    tree.write("a", "x1\nx2\n");
    tree.write("b", "x3\n");
    assert_eq!(
        card("{}"),
        r#"{"card":"search","shape":"matches","files":[{"path":"a","matches":[{"lineNumber":1,"line":"x1"},{"lineNumber":2,"line":"x2"}]},{"path":"b","matches":[{"lineNumber":1,"line":"x3"}]}],"truncated":false,"total":3}"#
    );
    // Whole files are left out at the end, then lines of the one that is left.
    assert_eq!(
        card(r#"{"searchMetaMaxBytes":200}"#),
        r#"{"card":"search","shape":"matches","files":[{"path":"a","matches":[{"lineNumber":1,"line":"x1"},{"lineNumber":2,"line":"x2"}]}],"truncated":true,"total":3}"#
    );
    assert_eq!(
        card(r#"{"searchMetaMaxBytes":1}"#),
        r#"{"card":"search","shape":"matches","files":[{"path":"a","matches":[{"lineNumber":1,"line":"x1"}]}],"truncated":true,"total":3}"#
    );
    // The card's lines are cut like the text's.
    tree.write("a", "x".repeat(3000));
    let cut = card("{}");
    assert!(
        cut.contains(&format!("{} (line truncated)\"", "x".repeat(2000))),
        "{cut}"
    );
    assert!(cut.len() < 2500);
}

#[test]
fn f135_no_card_without_good_meta() {
    let tree = Tree::new();
    tree.write("a", "x");
    let runtime = Runtime::new(&tree, "{}");
    let json = r#"{"pattern":"x"}"#;
    let durable = runtime.call("grep", json).outcome().durable();
    let card = |durable: &DurableResult| runtime.grep.present_result(&document(json), durable);
    assert!(matches!(card(&durable), Some(ResultView::Search(_))));
    for meta in [
        "{}",
        r#"{"shape":"matches","files":[],"truncated":false,"total":1}"#,
        r#"{"shape":"matches","files":[{"path":"a"}],"truncated":true,"total":1}"#,
        r#"{"shape":"paths","paths":[],"truncated":false,"total":0}"#,
    ] {
        let mut durable = durable.clone();
        durable.meta = Some(document(meta));
        assert!(card(&durable).is_none(), "{meta}");
    }
}

// A naive reference: expressions of a small language, matched by trying everything.

#[derive(Debug, Clone)]
enum Part {
    Byte(u8),
    Any,
    Many(u8),
}

fn matches_here(parts: &[Part], text: &[u8]) -> bool {
    match parts.split_first() {
        None => true,
        Some((Part::Many(byte), rest)) => {
            let most = text.iter().take_while(|b| *b == byte).count();
            (0..=most).any(|count| matches_here(rest, &text[count..]))
        }
        Some((part, rest)) => text.split_first().is_some_and(|(first, text)| {
            let here = match part {
                Part::Byte(byte) => first == byte,
                Part::Any | Part::Many(_) => true,
            };
            here && matches_here(rest, text)
        }),
    }
}

fn part() -> impl Strategy<Value = Part> {
    let byte = || prop::sample::select(b"ab ".to_vec());
    prop_oneof![
        3 => byte().prop_map(Part::Byte),
        1 => Just(Part::Any),
        1 => byte().prop_map(Part::Many),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn f121_against_a_naive_search(
        files in prop::collection::btree_map("[ab]{1,3}(/[cd]{1,2})?", "[ab \n]{0,40}", 0..6),
        parts in prop::collection::vec(part(), 1..5),
    ) {
        let tree = Tree::new();
        let mut wanted = Vec::new();
        let mut expression = String::new();
        for part in &parts {
            match part {
                Part::Byte(byte) => expression.push(char::from(*byte)),
                Part::Any => expression.push('.'),
                Part::Many(byte) => write!(expression, "{}*", char::from(*byte)).unwrap(),
            }
        }
        let mut written: Vec<(Vec<String>, String)> = Vec::new();
        for (path, text) in files {
            let at = tree.root().join(&path);
            if fs::create_dir_all(at.parent().unwrap()).is_ok() && fs::write(&at, &text).is_ok() {
                written.push((path.split('/').map(str::to_owned).collect(), text));
            }
        }
        written.sort();
        for (names, text) in written {
            for (index, line) in text.lines().enumerate() {
                let line_bytes = line.as_bytes();
                if (0..=line_bytes.len()).any(|at| matches_here(&parts, &line_bytes[at..])) {
                    wanted.push(format!("{}:{}:{line}", names.join("/"), index + 1));
                }
            }
        }
        prop_assert_eq!(tree.grep(&expression), wanted, "{}", expression);
    }
}
