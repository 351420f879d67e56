//! `dsh call` as such: its three forms of output and its exit status.

use crate::fixture::{Place, check};

fn place() -> Place {
    let place = Place::new();
    place.file("poem.rs", "one\n\ttwo\nthree\n");
    place
}

#[test]
fn a_success() {
    check(
        &place(),
        "call-success",
        &[
            &["call", "read", "file_path=poem.rs"],
            &["call", "read", "file_path=poem.rs", "offset=2", "limit=1"],
            &[
                "call",
                "read",
                r#"{"file_path":"poem.rs","offset":2}"#,
                "--json",
            ],
            &["call", "read", "file_path=poem.rs", "--card"],
            &["call", "read", "file_path=poem.rs", "limit=2", "--card"],
            &[
                "call",
                "--json",
                "read",
                "file_path=poem.rs",
                "limit=1",
                "-C",
                ".",
            ],
        ],
    );
}

#[test]
fn a_failure_of_the_tool() {
    check(
        &place(),
        "call-failure",
        &[
            &["call", "read", "file_path=missing.rs"],
            &["call", "read", "file_path=missing.rs", "--json"],
            &["call", "read", "file_path=missing.rs", "--card"],
            &["call", "read", "file_path=poem.rs", "offset=9"],
        ],
    );
}

/// D46: the hint is a block of its own, after the exact text.
#[test]
fn a_tool_that_does_not_exist() {
    check(
        &place(),
        "call-unknown-tool",
        &[
            &["call", "reed", "file_path=poem.rs"],
            &["call", "reed", "file_path=poem.rs", "--json"],
            &["call", "reed", "--card"],
            &["call", "frobnicate"],
            &["call", ""],
        ],
    );
}

/// One document, whatever becomes of the call; and none when the command line is wrong.
#[test]
fn json_is_one_document() {
    let place = place();
    let one = |words: &[&str], status: &str| {
        let run = place.run(words);
        assert_eq!(run.status, status, "{run}");
        assert_eq!(run.stdout.lines().count(), 1, "{run}");
        let outcome: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(outcome["isError"], status != "0", "{run}");
        assert!(outcome["content"].is_array(), "{run}");
        assert_eq!(run.stderr, "", "{run}");
    };
    one(&["call", "read", "--json", "file_path=poem.rs"], "0");
    one(&["call", "read", "--json", "file_path=missing"], "1");
    one(&["call", "read", "--json"], "1");
    one(&["call", "read", "--json", "[]"], "1");
    one(&["call", "nothing", "--json"], "1");

    let run = place.run(&["call", "read", "--json", "{"]);
    assert_eq!((run.status.as_str(), run.stdout.as_str()), ("2", ""));
    assert!(run.stderr.starts_with("error: "), "{run}");
}

/// The text of a file is for whoever reads stdout; a card is for eyes, so nothing in it steers a terminal.
#[test]
fn foreign_text_steers_no_card() {
    let place = place();
    place.file("trap.txt", "\x1b]0;title\x07 \u{202e}txt\r\n");
    let card = place.run(&["call", "read", "file_path=trap.txt", "--card"]);
    assert_eq!(
        card.stdout,
        "✓ Read trap.txt\n  1 │ \\u{1b}]0;title\\u{7} \\u{202e}txt\n"
    );
    let exact = place.run(&["call", "read", "file_path=trap.txt"]);
    assert!(
        exact.stdout.contains("1: \x1b]0;title\x07 \u{202e}txt\n"),
        "{exact}"
    );
    // Neither does a message.
    let message = place.run(&["call", "read", "{\"a\":1,\"\x1b[31m\":1,\"\x1b[31m\":2}"]);
    assert!(!message.stderr.contains('\x1b'), "{message}");
}
