//! The log, and colour.

use crate::fixture::{Place, check};
use crate::terminal::on_terminal;

fn place() -> Place {
    let place = Place::new();
    place.file("a.txt", "one \x1b[31mtwo\n");
    place
}

#[test]
fn the_log_names_the_call() {
    check(
        &place(),
        "log",
        &[
            &["-v", "call", "read", "file_path=a.txt", "--card"],
            &["-vv", "call", "read", "file_path=missing", "--card"],
            &["call", "reed", "--card", "-v", "--color", "always"],
        ],
    );
}

#[test]
fn the_log_for_machines_is_json_lines() {
    let place = place();
    let run = place.run(&[
        "-vv",
        "--log-format",
        "json",
        "call",
        "read",
        "file_path=missing",
        "limt=1",
    ]);
    let lines: Vec<serde_json::Value> = run
        .stderr
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let level = |level: &str| lines.iter().find(|line| line["level"] == level).unwrap();
    assert_eq!(
        level("WARN")["message"],
        "the schema names no parameter `limt`; did you mean `limit`?"
    );
    for level in [level("DEBUG"), level("INFO")] {
        assert_eq!(
            (&level["tool"], &level["call"]),
            (&"read".into(), &"call-1".into()),
            "{level}"
        );
    }
    assert_eq!(level("INFO")["code"], "FS_NOT_FOUND");
}

#[test]
fn rust_log_wins_and_is_checked() {
    let place = place();
    let run = |filter: &str, words: &[&str]| {
        let output = place.dsh(words).env("RUST_LOG", filter).output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let call = ["-vvv", "call", "read", "file_path=a.txt"];
    assert_eq!(run("off", &call), (Some(0), String::new()));
    assert!(
        run("dsh=info", &["call", "read", "file_path=a.txt"])
            .1
            .contains("call-1")
    );
    let (status, stderr) = run("dsh=loud", &call);
    assert_eq!(status, Some(2));
    assert!(
        stderr.starts_with("error: RUST_LOG is no log filter: "),
        "{stderr}"
    );
}

#[test]
fn colour_is_for_terminals() {
    let place = place();
    let card = ["call", "read", "file_path=a.txt", "--card"];
    let plain = "✓ Read a.txt\n  1 │ one \\u{1b}[31mtwo\n";
    let coloured = "\x1b[32m✓\x1b[0m Read a.txt\n  \x1b[2m1 │\x1b[0m one \\u{1b}[31mtwo\n";
    assert_eq!(place.run(&card).stdout, plain);
    assert_eq!(on_terminal(&place, &card, ""), coloured);
    assert_eq!(on_terminal(&place, &card, "1"), plain);
    let with = |when: &'static str| [&card[..], &["--color", when]].concat();
    assert_eq!(on_terminal(&place, &with("never"), ""), plain);
    assert_eq!(on_terminal(&place, &with("always"), "1"), coloured);
    assert_eq!(place.run(&with("always")).stdout, coloured);
    // Before the command line is understood, too.
    assert!(on_terminal(&place, &["cal"], "").contains('\x1b'));
    assert!(!on_terminal(&place, &["cal"], "1").contains('\x1b'));
    assert!(!on_terminal(&place, &["--color", "never", "cal"], "").contains('\x1b'));
    assert!(
        on_terminal(&place, &["-C", "missing", "tools"], "")
            .starts_with("\x1b[1;31merror:\x1b[0m ")
    );
}

#[test]
fn foreign_text_steers_no_terminal() {
    let sent = on_terminal(&place(), &["call", "read", "file_path=a.txt"], "");
    assert!(sent.contains("1: one \\u{1b}[31mtwo\n"), "{sent}");
}
