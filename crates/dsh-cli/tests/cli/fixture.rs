//! Runs the real binary in a directory of its own and shows what came of it.

use std::fmt::{self, Write as _};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tempfile::TempDir;

/// Nothing here takes this long; what does, hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A directory to work in.
pub(crate) struct Place {
    directory: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> &Self {
        fs::write(self.path(name), bytes).unwrap();
        self
    }

    /// A file of `size` bytes that starts with `bytes` and has a hole behind them.
    pub(crate) fn sparse(&self, name: &str, bytes: impl AsRef<[u8]>, size: u64) -> &Self {
        let mut file = File::create(self.path(name)).unwrap();
        file.write_all(bytes.as_ref()).unwrap();
        file.set_len(size).unwrap();
        self
    }

    /// The binary with these words in this directory, and with nothing of the caller's environment that it looks at.
    pub(crate) fn dsh<W: AsRef<std::ffi::OsStr>>(
        &self,
        words: impl IntoIterator<Item = W>,
    ) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dsh"));
        command.args(words).current_dir(self.directory.path());
        for name in [
            "RUST_LOG",
            "NO_COLOR",
            "CLICOLOR",
            "CLICOLOR_FORCE",
            "TERM",
            "COLUMNS",
        ] {
            command.env_remove(name);
        }
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Run {
        self.run_with(words, b"")
    }

    /// Runs with `input` on stdin.
    pub(crate) fn run_with(&self, words: &[&str], input: &[u8]) -> Run {
        let mut child = self.dsh(words).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_owned();
        let shown = String::from_utf8_lossy(&input[..input.len().min(4096)]).into_owned();
        // A process need not read what it is given.
        let writer = thread::spawn(move || drop(stdin.write_all(&input)));
        let mut run = self.finish(words, child);
        writer.join().unwrap();
        run.stdin = shown;
        run
    }

    /// Takes the output of a process until it ends.
    pub(crate) fn finish(&self, words: &[&str], mut child: Child) -> Run {
        let stdout = drain(child.stdout.take());
        let stderr = drain(child.stderr.take());
        assert!(
            ends_within(&child, PATIENCE),
            "{words:?} hangs: {:?}",
            child.kill()
        );
        let status = child.wait().unwrap();
        let text = |reader: thread::JoinHandle<Vec<u8>>| {
            let text = String::from_utf8_lossy(&reader.join().unwrap()).into_owned();
            text.replace(&*self.directory.path().to_string_lossy(), "[root]")
        };
        let run = Run {
            words: words.iter().map(|&word| word.to_owned()).collect(),
            status: status
                .code()
                .map_or_else(|| status.to_string(), |code| code.to_string()),
            stdin: String::new(),
            stdout: text(stdout),
            stderr: text(stderr),
        };
        assert!(!run.stderr.contains("panicked"), "{run}");
        run
    }
}

fn drain(stream: Option<impl Read + Send + 'static>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            stream.read_to_end(&mut bytes).unwrap();
        }
        bytes
    })
}

/// Waits for the end of a process, but not for ever.
pub(crate) fn ends_within(child: &Child, time: Duration) -> bool {
    let process = pidfd_open(Pid::from_child(child), PidfdFlags::empty()).unwrap();
    let mut watched = [PollFd::from_borrowed_fd(process.as_fd(), PollFlags::IN)];
    let time = Timespec {
        tv_sec: time.as_secs().try_into().unwrap(),
        tv_nsec: time.subsec_nanos().into(),
    };
    poll(&mut watched, Some(&time)).unwrap() > 0
}

/// Asks again and again, while the process lives, until something about it is so.
pub(crate) fn until(child: &Child, what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(
            !ends_within(child, Duration::from_millis(2)),
            "the process ended before {what}"
        );
        assert!(start.elapsed() < PATIENCE, "it never came to {what}");
    }
}

/// How far a process has read a file that it has open.
pub(crate) fn position(child: &Child, path: &Path) -> Option<u64> {
    let process = PathBuf::from(format!("/proc/{}", child.id()));
    fs::read_dir(process.join("fd"))
        .ok()?
        .flatten()
        .find_map(|entry| {
            let is_it = fs::read_link(entry.path()).is_ok_and(|target| target == path);
            let info = is_it.then(|| {
                fs::read_to_string(process.join("fdinfo").join(entry.file_name())).ok()
            })??;
            info.lines()
                .find_map(|line| line.strip_prefix("pos:"))?
                .trim()
                .parse()
                .ok()
        })
}

/// What a process did.
pub(crate) struct Run {
    words: Vec<String>,
    stdin: String,
    pub(crate) status: String,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("$ dsh")?;
        for word in &self.words {
            let plain = !word.is_empty()
                && !word.contains(|c: char| c.is_whitespace() || "'\"{}[]<>|&;".contains(c));
            if plain {
                write!(f, " {word}")?
            } else {
                write!(f, " '{}'", word.escape_debug())?
            }
        }
        writeln!(f)?;
        section(f, "stdin", &self.stdin)?;
        writeln!(f, "status: {}", self.status)?;
        section(f, "stdout", &self.stdout)?;
        section(f, "stderr", &self.stderr)
    }
}

/// Shows a stream line by line, and of control characters what they are.
fn section(f: &mut fmt::Formatter<'_>, name: &str, text: &str) -> fmt::Result {
    if text.is_empty() {
        return Ok(());
    }
    writeln!(f, "{name}:")?;
    for line in text.split_terminator('\n') {
        let mut shown = String::from("  ");
        for c in line.chars() {
            if c.is_control() || c == '\u{feff}' {
                shown.extend(c.escape_default());
            } else {
                shown.push(c);
            }
        }
        writeln!(f, "{}", shown.trim_end())?;
    }
    if !text.ends_with('\n') {
        writeln!(f, "  (no line end)")?;
    }
    Ok(())
}

/// Several runs, one below the other.
#[derive(Default)]
pub(crate) struct Transcript(String);

impl Transcript {
    pub(crate) fn add(&mut self, run: &Run) {
        let separator = if self.0.is_empty() { "" } else { "\n" };
        write!(self.0, "{separator}{run}").unwrap();
    }

    /// Compares with the recorded snapshot of that name.
    pub(crate) fn check(&self, name: &str) {
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("../snapshots");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(name, self.0));
    }
}

/// Runs each command line and compares all of it with the recorded snapshot.
pub(crate) fn check(place: &Place, name: &str, lines: &[&[&str]]) {
    let mut transcript = Transcript::default();
    for words in lines {
        transcript.add(&place.run(words));
    }
    transcript.check(name);
}
