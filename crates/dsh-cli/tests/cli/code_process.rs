//! `dsh code` as the system sees it: workers, Ctrl-C, sudden death, streams that fail, lines as they come.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::fd::{AsFd, OwnedFd};
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::code::document;
use crate::fixture::{PATIENCE, Place, ends_within, until};
use crate::interrupt::{ENDLESS, endless, has_bytes, press};
use crate::terminal::Terminal;

const LOOP: &str = "console.log('begun'); for (;;) {}";

/// A worker, held so that its number cannot become another's.
struct Worker {
    pid: i32,
    handle: OwnedFd,
}

impl Worker {
    /// The children of a process. Each is a worker: `dsh code` starts nothing else.
    fn of(host: &Child) -> Vec<Self> {
        let host = i32::try_from(host.id()).unwrap();
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let name = entry.file_name();
            let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            if parent(pid) == Some(host)
                && let Ok(handle) = pidfd_open(Pid::from_raw(pid).unwrap(), PidfdFlags::empty())
                && parent(pid) == Some(host)
            {
                found.push(Self { pid, handle });
            }
        }
        found
    }

    fn is_gone_within(&self, time: Duration) -> bool {
        let mut watched = [PollFd::from_borrowed_fd(self.handle.as_fd(), PollFlags::IN)];
        let time = Timespec {
            tv_sec: time.as_secs().try_into().unwrap(),
            tv_nsec: time.subsec_nanos().into(),
        };
        poll(&mut watched, Some(&time)).unwrap() > 0
    }
}

/// The parent of a process that has not ended.
fn parent(pid: i32) -> Option<i32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.trim().to_owned())
    };
    let has_ended = field("State:")?.starts_with('Z');
    field("PPid:")?.parse().ok().filter(|_| !has_ended)
}

/// Starts a program and waits for its first line.
fn begun(place: &Place, words: &[&str]) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut child = place.dsh(words).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "begun\n");
    (child, stdout)
}

#[test]
fn lines_come_while_the_program_runs_and_a_press_ends_it() {
    let place = Place::new();
    let words = ["code", "-e", LOOP];
    // The line is here, and the program will not end by itself for a minute.
    let (child, _stdout) = begun(&place, &words);
    let workers = Worker::of(&child);
    assert_eq!(workers.len(), 1);
    let start = Instant::now();
    press(&child);
    let run = place.finish(&words, child);
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(run.status, "130", "{run}");
    assert!(
        run.stderr.starts_with("error: code run failed (abort): "),
        "{run}"
    );
    // It was waited for, so there is nothing left to wait for.
    assert!(
        workers[0].is_gone_within(Duration::ZERO),
        "{}",
        workers[0].pid
    );
}

#[test]
fn a_press_leaves_one_document() {
    let place = Place::new();
    let words = ["code", "--json", "-e", LOOP];
    let child = place.dsh(words).spawn().unwrap();
    until(&child, "a worker at work", || {
        Worker::of(&child)
            .iter()
            .any(|worker| busy_ticks(worker.pid) > 2)
    });
    press(&child);
    let run = place.finish(&words, child);
    assert_eq!(
        (run.status.as_str(), run.stderr.as_str()),
        ("130", ""),
        "{run}"
    );
    let document = document(&run);
    assert_eq!(document["error"]["kind"], "abort");
    assert_eq!(document["phase"], "running");
    assert_eq!(document["logs"][0], "begun");
}

/// Processor time in the ticks of the system.
fn busy_ticks(pid: i32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name of the program, in brackets, may contain anything.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let user = fields.split_whitespace().nth(11);
    user.and_then(|ticks| ticks.parse().ok()).unwrap_or(0)
}

#[test]
fn a_host_that_is_killed_leaves_no_worker() {
    let place = Place::new();
    for program in [
        LOOP,
        "console.log('begun'); await new Promise((done) => setTimeout(done, 1e8));",
    ] {
        let (mut child, _stdout) = begun(&place, &["code", "-e", program]);
        let workers = Worker::of(&child);
        assert_eq!(workers.len(), 1);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(workers[0].is_gone_within(PATIENCE), "{}", workers[0].pid);
    }
}

#[test]
fn a_finished_program_leaves_no_worker() {
    let place = Place::new();
    place.sparse("endless.txt", [b'x'; 8192], ENDLESS);
    // The call is still on its way when the program is over.
    let program = "console.log('begun'); tools.read({ file_path: 'endless.txt' }); \
                   await new Promise((done) => setTimeout(done, 50)); return 1;";
    let words = ["code", "-e", program];
    let (child, _stdout) = begun(&place, &words);
    let workers = Worker::of(&child);
    let run = place.finish(&words, child);
    assert_eq!(run.status, "0", "{run}");
    assert!(
        workers
            .iter()
            .all(|worker| worker.is_gone_within(Duration::ZERO))
    );
}

#[test]
fn words_that_look_like_a_worker_s_run_nothing() {
    let place = Place::new();
    for words in [
        &["--dsh-code-worker-1"][..],
        &["--dsh-code-worker-1", "1,2"],
        &["--dsh-code-worker-1", "536870912,1006632960,62"],
        &["code", "--dsh-code-worker-1"],
    ] {
        let run = place.run(words);
        assert_ne!(run.status, "0", "{run}");
        assert_eq!(run.stdout, "", "{run}");
    }
}

#[test]
fn a_reader_of_lines_that_goes_away() {
    let place = Place::new();
    for (program, status) in [
        (
            "for (let i = 0; i < 1e4; i++) console.log('a line'); return 1",
            "0",
        ),
        ("console.log('a line'); throw 1", "1"),
    ] {
        for form in [&[][..], &["--json"]] {
            let words: Vec<&str> = ["code", "-e", program]
                .iter()
                .chain(form)
                .copied()
                .collect();
            let mut child = place.dsh(&words).spawn().unwrap();
            drop(child.stdout.take());
            let run = place.finish(&words, child);
            assert_eq!(run.status, status, "{run}");
            assert!(!run.stderr.contains("cannot write"), "{run}");
        }
    }
}

#[test]
fn a_disk_that_is_full_of_lines() {
    let place = Place::new();
    for words in [
        &["code", "-e", "console.log('only a line')"][..],
        &["code", "-e", "return 'only a value'"],
        &[
            "code",
            "-e",
            "console.log('a line'); return 'and a value'",
            "--json",
        ],
    ] {
        let mut command = place.dsh(words);
        command.stdout(File::create("/dev/full").unwrap());
        let run = place.finish(words, command.spawn().unwrap());
        assert_eq!(run.status, "1", "{run}");
        assert!(
            run.stderr
                .starts_with("error: cannot write the result: No space left on device"),
            "{run}"
        );
    }
}

/// A reader that is slow does not stretch a budget, and a press during the wait ends the process.
#[test]
fn budgets_hold_while_nobody_takes_the_lines() {
    let place = Place::new();
    let program =
        "for (let i = 0; i < 100; i++) console.log('0123456789'.repeat(1000)); for (;;) {}";
    let words = ["code", "-e", program, "--compute-ms", "300"];
    let (reader, writer) = std::io::pipe().unwrap();
    let child = place.dsh(words).stdout(writer).spawn().unwrap();
    until(&child, "a worker", || !Worker::of(&child).is_empty());
    until(&child, "writing", || has_bytes(&reader));
    until(&child, "the end of the worker", || {
        Worker::of(&child).is_empty()
    });
    // Settled or about to: the first press may still go to the call.
    let ended = (0..1000).any(|_| {
        press(&child);
        ends_within(&child, Duration::from_millis(50))
    });
    assert!(ended);
    assert_eq!(place.finish(&words, child).status, "130");
}

#[test]
fn a_terminal_shows_the_calls_under_way() {
    let place = Place::new();
    endless(&place);
    let program = "console.log('begun'); \
                   await Promise.all(['endless.txt', 'missing.txt', 'endless.txt'].map((file_path) => \
                   tools.read({ file_path }).catch(() => {})))";
    let mut terminal = Terminal::start(&place, &["code", "-e", program], "1");
    terminal.until("→ Read endless.txt\r\n→ Read endless.txt\r\n\x1b[?7h\x1b[2A");
    press(&terminal.child);
    let (sent, status) = terminal.finish();
    assert_eq!(status, Some(130));
    assert!(sent.starts_with("begun\n"), "{sent:?}");
    // What was drawn is taken away before the last word.
    let (_, after) = sent.rsplit_once("\x1b[2A").unwrap();
    assert!(after.starts_with("\r\x1b[J"), "{sent:?}");
    assert!(
        after.contains("error: code run failed (abort): "),
        "{sent:?}"
    );
    // Quick calls are not worth a line, and a document wants none.
    place.file("a.txt", "one\n");
    let quick = "return (await tools.read({ file_path: 'a.txt' })).totalLines";
    let (sent, status) = Terminal::start(&place, &["code", "-e", quick], "1").finish();
    assert_eq!((sent.as_str(), status), ("1\n", Some(0)));
}
