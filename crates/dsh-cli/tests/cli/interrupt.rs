//! Ctrl-C. Each test waits for something that can be seen from outside before it presses.

use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, Write};
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};

use crate::fixture::{Place, ends_within, position, until};

/// Reading that far takes hours; a hole costs no space.
pub(crate) const ENDLESS: u64 = 1 << 40;

pub(crate) fn press(child: &Child) {
    kill_process(Pid::from_child(child), Signal::INT).unwrap();
}

pub(crate) fn endless(place: &Place) {
    place.sparse("endless.txt", [b'x'; 8192], ENDLESS);
}

#[test]
fn the_first_press_cancels_a_call() {
    let place = Place::new();
    endless(&place);
    for (form, stdout) in [
        (
            "--json",
            r#"{"isError":true,"error":{"message":"cannot read \"[root]/endless.txt\": aborted","info":{"name":"FsError","code":"FS_ABORTED"}},"#,
        ),
        (
            "--card",
            "✗ Read endless.txt\n  Error: cannot read \"[root]/endless.txt\": aborted\n",
        ),
    ] {
        let words = ["call", "read", "file_path=endless.txt", form];
        let child = place.dsh(words).spawn().unwrap();
        let path = place.path("endless.txt");
        until(&child, "reading", || {
            position(&child, &path).is_some_and(|position| position > 0)
        });
        press(&child);
        let run = place.finish(&words, child);
        assert_eq!(run.status, "130", "{run}");
        assert!(run.stdout.starts_with(stdout), "{run}");
        assert_eq!(run.stderr, "", "{run}");
    }
}

/// A call whose log nobody takes cannot end by itself, so that only the second press ends it.
#[test]
fn a_second_press_ends_the_process_at_once() {
    let place = Place::new();
    let (mut reader, writer) = std::io::pipe().unwrap();
    fill(&writer);
    reader.read_exact(&mut [0; PAGE]).unwrap();
    // A line of the log that is longer than the room there is: it is begun and never ended.
    let name = "x".repeat(2 * PAGE);
    let mut child = place
        .dsh(["call", &name, "-vv"])
        .stderr(writer.try_clone().unwrap())
        .spawn()
        .unwrap();
    until(&child, "its log", || !has_room(&writer));
    // Presses that come too fast count as one, so it may take more than two.
    let ended = (0..1000).any(|_| {
        press(&child);
        ends_within(&child, Duration::from_millis(50))
    });
    if !ended {
        child.kill().unwrap();
    }
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

/// What a pipe has room for at least, unless it is full.
const PAGE: usize = 4096;

fn fill(mut pipe: &PipeWriter) {
    while has_room(pipe) {
        pipe.write_all(&[b'.'; PAGE]).unwrap();
    }
}

fn has_room(pipe: &PipeWriter) -> bool {
    ready(PollFd::new(pipe, PollFlags::OUT))
}

pub(crate) fn has_bytes(pipe: &PipeReader) -> bool {
    ready(PollFd::new(pipe, PollFlags::IN))
}

fn ready(watched: PollFd<'_>) -> bool {
    poll(
        &mut [watched],
        Some(&Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        }),
    )
    .unwrap()
        > 0
}

#[test]
fn a_press_while_stdin_is_read_ends_the_process() {
    let place = Place::new();
    let words = ["call", "read", "-", "--json"];
    let (reader, mut writer) = std::io::pipe().unwrap();
    let child = place
        .dsh(words)
        .stdin(reader.try_clone().unwrap())
        .spawn()
        .unwrap();
    writer.write_all(b"{").unwrap();
    // What it has taken is no longer there.
    until(&child, "reading stdin", || !has_bytes(&reader));
    press(&child);
    let run = place.finish(&words, child);
    assert_eq!(
        (
            run.status.as_str(),
            run.stdout.as_str(),
            run.stderr.as_str()
        ),
        ("130", "", "")
    );
}

#[test]
fn a_press_between_two_lines_of_schemas_ends_the_process() {
    let place = Place::new();
    let words = ["schema", "check"];
    let mut child = place.dsh(words).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"{\"id\":1,\"schema\":{}}\n").unwrap();
    let mut answer = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut answer)
        .unwrap();
    assert!(answer.starts_with("{\"id\":1,"), "{answer}");
    press(&child);
    let run = place.finish(&words, child);
    assert_eq!((run.status.as_str(), run.stderr.as_str()), ("130", ""));
}

/// The call is over, but whoever reads its result is slow.
#[test]
fn a_press_while_nobody_takes_the_output_ends_the_process() {
    let place = Place::new();
    place.file(
        "long.txt",
        "0123456789012345678901234567890123456789\n".repeat(2000),
    );
    let words = ["call", "read", "file_path=long.txt", "--json"];
    let (reader, writer) = std::io::pipe().unwrap();
    let child = place.dsh(words).stdout(writer).spawn().unwrap();
    until(&child, "writing", || has_bytes(&reader));
    press(&child);
    let run = place.finish(&words, child);
    assert_eq!((run.status.as_str(), run.stderr.as_str()), ("130", ""));
}
