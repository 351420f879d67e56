//! Streams that are closed, full, or not what one expects.

use std::fs::File;
use std::process::Stdio;

use crate::fixture::Place;

const COMMANDS: &[&[&str]] = &[
    &["--help"],
    &["--version"],
    &["call", "read", "file_path=a.txt"],
    &["call", "read", "file_path=a.txt", "--json"],
    &["call", "read", "file_path=a.txt", "--card"],
    &["tools"],
    &["tools", "--markdown"],
    &["completions", "bash"],
    &["man"],
    &["doctor"],
];

fn place() -> Place {
    let place = Place::new();
    place.file("a.txt", "a line of text\n".repeat(1500));
    place
}

/// A reader that has seen enough is no error, and no reason for a complaint.
#[test]
fn a_reader_that_goes_away() {
    let place = place();
    for words in COMMANDS {
        let mut child = place.dsh(*words).spawn().unwrap();
        drop(child.stdout.take());
        let run = place.finish(words, child);
        assert_eq!(
            (run.status.as_str(), run.stderr.as_str()),
            ("0", ""),
            "{run}"
        );
    }
    // What became of the call is still told.
    let words = ["call", "read", "file_path=missing"];
    let mut child = place.dsh(words).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(place.finish(&words, child).status, "1");
}

/// Without anybody to answer, an endless input is not read on.
#[test]
fn a_reader_of_schemas_that_goes_away() {
    let place = Place::new();
    let words = ["schema", "check"];
    let mut child = place.dsh(words).stdin(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        while std::io::Write::write_all(&mut stdin, b"{\"id\":1,\"schema\":{}}\n").is_ok() {}
    });
    let run = place.finish(&words, child);
    writer.join().unwrap();
    assert_eq!(
        (run.status.as_str(), run.stderr.as_str()),
        ("0", ""),
        "{run}"
    );
}

#[test]
fn a_disk_that_is_full() {
    let place = place();
    let input = b"{\"id\":1,\"schema\":{}}\n";
    place.file("in.jsonl", input);
    for words in COMMANDS.iter().copied().chain([&["schema", "check"][..]]) {
        let mut command = place.dsh(words);
        command
            .stdout(File::create("/dev/full").unwrap())
            .stdin(File::open(place.path("in.jsonl")).unwrap());
        let run = place.finish(words, command.spawn().unwrap());
        assert_eq!(run.status, "1", "{run}");
        assert!(
            run.stderr
                .starts_with("error: cannot write the result: No space left on device"),
            "{run}"
        );
    }
}

#[test]
fn a_stderr_that_is_full_or_closed() {
    let place = place();
    for words in [
        &["-vvv", "call", "read", "file_path=a.txt"][..],
        &["call", "read", "offset=1"],
        &["cal"],
        &["-C", "no", "man"],
    ] {
        let expected = place.run(words).status;
        let mut command = place.dsh(words);
        command.stderr(File::create("/dev/full").unwrap());
        assert_eq!(
            place.finish(words, command.spawn().unwrap()).status,
            expected,
            "{words:?}"
        );
        let mut child = place.dsh(words).spawn().unwrap();
        drop(child.stderr.take());
        assert_eq!(place.finish(words, child).status, expected, "{words:?}");
    }
}

#[test]
fn a_stdin_that_cannot_be_read() {
    let place = place();
    for words in [&["call", "read", "-"][..], &["schema", "check"]] {
        let child = place
            .dsh(words)
            .stdin(File::open(place.path("")).unwrap())
            .spawn()
            .unwrap();
        let run = place.finish(words, child);
        assert!(run.stderr.contains("Is a directory"), "{run}");
        assert_eq!(
            run.status,
            if words[0] == "call" { "2" } else { "1" },
            "{run}"
        );
    }
}
