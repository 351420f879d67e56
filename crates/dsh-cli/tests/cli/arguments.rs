//! ARGS: what is refused, by whom, and with which words.

use crate::fixture::{Place, Transcript, check};

fn place() -> Place {
    let place = Place::new();
    place.file("a.txt", "one\n");
    place
}

#[test]
fn what_is_no_json_for_a_call() {
    check(
        &place(),
        "arguments-not-usable",
        &[
            &["call", "read", "{"],
            &["call", "read", "{\"file_path\": nope}"],
            &["call", "read", "word"],
            &["call", "read", "'single'"],
            &["call", "read", ""],
            &["call", "read", "{}", "{}"],
            &["call", "read", "file_path=a.txt", "word"],
            &["call", "read", "file_path=a.txt", "file_path=b.txt"],
            &[
                "call",
                "read",
                r#"{"file_path":"a.txt","file_path":"b.txt"}"#,
            ],
            &["call", "read", r#"{"file_path":"a.txt","offset":-0}"#],
            &["call", "read", "file_path=a.txt", "offset=-0"],
            &["call", "read", "-0"],
            &[
                "call",
                "read",
                r#"{"file_path":"a.txt","offset":18446744073709551616}"#,
            ],
            &["call", "read", "file_path=a.txt", "offset=1e999"],
            &["call", "read", r#"{"file_path":"\ud800"}"#],
        ],
    );
}

#[test]
fn what_the_schema_or_the_tool_refuses() {
    check(
        &place(),
        "arguments-refused",
        &[
            &["call", "read"],
            &["call", "read", "[1]"],
            &["call", "read", "null"],
            &["call", "read", "\"a.txt\"", "--json"],
            &["call", "read", "5"],
            &["call", "read", r#"{"file_path":5,"offset":"x"}"#],
            &["call", "read", "file_path=a.txt", "offset=x"],
            &["call", "read", "file_path=a.txt", "offset=x", "--card"],
            &["call", "read", "file_path=a.txt", "limit="],
            &["call", "read", "file_path=a.txt", "offset=0"],
            &["call", "read", "file_path=a.txt", "offset=1.5"],
            &["call", "read", "file_path=a.txt", "limit=2001"],
            &["call", "read", "file_path="],
            &["call", "read", "file_path= "],
        ],
    );
}

#[test]
fn a_key_that_nobody_reads() {
    check(
        &place(),
        "arguments-stray-key",
        &[
            &["call", "read", "file_path=a.txt", "limt=5"],
            &["call", "read", "file_path=a.txt", "colour=blue", "--json"],
            &[
                "call",
                "read",
                "file_path=a.txt",
                "limt=5",
                "--log-format",
                "text",
                "--color",
                "always",
            ],
            &["call", "read", "path=a.txt"],
        ],
    );
}

/// A text that looks like a number is what the schema says.
#[test]
fn values_are_read_by_type() {
    let place = place();
    place.file("5", "five\n");
    let run = place.run(&["call", "read", "file_path=5", "limit=2.0"]);
    assert!(run.stdout.contains("1: five"), "{run}");
}

#[test]
fn arguments_on_stdin() {
    let place = place();
    let mut transcript = Transcript::default();
    for input in [
        &b"{\"file_path\": \"a.txt\"}\n"[..],
        b"\xef\xbb\xbf{\"file_path\": \"a.txt\"}",
        b"",
        b" \r\n",
        b"{\"file_path\": \"\xff\"}",
        b"\xff\xfe{\0}\0",
        b"{\"file_path\":\n  \"a.txt\",\n  \"offset\": -0}",
        b"{\"file_path\": \"a.txt\"} trailing",
        b"{\"file_path\": \"a\0b\"}",
        b"{\"file_path\": \"a\\u0000b\"}",
    ] {
        transcript.add(&place.run_with(&["call", "read", "-"], input));
    }
    transcript.add(&place.run(&["call", "read", "-", "limit=1"]));
    transcript.check("arguments-on-stdin");
}

#[test]
fn a_lot_of_arguments() {
    let place = place();
    // Close to what one word of a command line may have.
    let long = "x".repeat(120_000);
    let run = place.run(&["call", "read", &format!("file_path={long}"), "--json"]);
    assert_eq!(run.status, "1");
    let outcome: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(outcome["error"]["info"]["code"], "FS_IO_ERROR", "{outcome}");

    let keys: Vec<String> = (0..3000).map(|number| format!("key{number}=1")).collect();
    let words: Vec<&str> = ["call", "read", "file_path=a.txt"]
        .into_iter()
        .chain(keys.iter().map(String::as_str))
        .collect();
    assert_eq!(place.run(&words).status, "0");

    // More than a command line takes goes through stdin, up to a limit.
    let spacious = format!("{}{{\"file_path\":\"a.txt\"}}", " ".repeat(1 << 20));
    assert_eq!(
        place
            .run_with(&["call", "read", "-"], spacious.as_bytes())
            .status,
        "0"
    );
    let run = place.run_with(&["call", "read", "-"], &vec![b' '; 65 << 20]);
    assert_eq!(run.status, "2");
    assert_eq!(
        run.stderr,
        "error: stdin has more than 67108864 bytes; that is the limit of arguments\n"
    );
}

/// D4: depth is an ordinary failure, however deep.
#[test]
fn deep_arguments() {
    let place = place();
    for depth in [513, 50_000] {
        let deep = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let run = place.run(&["call", "read", &deep]);
        assert_eq!(run.status, "2", "{run}");
        assert!(run.stderr.contains("512"), "{run}");
    }
}

#[test]
fn words_that_are_not_utf_8() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let place = place();
    let output = place
        .dsh([
            OsStr::new("call"),
            OsStr::new("read"),
            OsStr::from_bytes(b"file_path=\xff"),
        ])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("invalid UTF-8"));
    // A directory may be called anything.
    let name = OsStr::from_bytes(b"d\xffr");
    std::fs::create_dir(place.path("").join(name)).unwrap();
    let output = place
        .dsh([OsStr::new("-C"), name, OsStr::new("doctor")])
        .output()
        .unwrap();
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
