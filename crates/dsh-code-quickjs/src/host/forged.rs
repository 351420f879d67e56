//! Forged frames: a worker that a program has taken over, played by a shell script (C264–C275, C206, C207, C231, C232).
//!
//! The frames are written by the same code as real ones, and by hand where no honest code would write them.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use dsh_code::{
    Binding, BoxFuture, CodeRuntime as _, ErrorKind, Limit, Limits, Namespace, RunRequest,
    RunResult,
};
use dsh_schema::Document;
use tempfile::TempDir;

use super::{Config, Executable, Isolation, QuickJs};
use crate::frame::{Declared, Failure, Order, Report, Strays};

const PROGRAM: &str = "return 'a program'";
const FUNCTIONS: [&str; 2] = ["first", "second"];

/// Whatever a worker does, a run is over by then.
const BOUND: Duration = Duration::from_secs(2);

#[derive(Default)]
struct Recorder {
    calls: Mutex<Vec<(usize, String)>>,
}

impl Binding for Recorder {
    fn call(
        &self,
        function: usize,
        argument: Document,
    ) -> BoxFuture<'static, Result<Document, String>> {
        self.calls
            .lock()
            .unwrap()
            .push((function, argument.to_json()));
        Box::pin(async move { Ok(argument) })
    }
}

/// A fake worker under construction.
struct Fake {
    folder: TempDir,
    steps: String,
    files: u32,
    limits: Limits,
    recorder: Arc<Recorder>,
}

struct Played {
    result: RunResult,
    calls: Vec<(usize, String)>,
    /// What the script kept of what the host wrote, from the boot frame on.
    received: String,
}

impl Played {
    /// Whether the host wrote this order.
    fn was_told(&self, order: &Order<'_>) -> bool {
        let mut bytes = Vec::new();
        order.write(&mut bytes);
        self.received.contains(&*String::from_utf8_lossy(&bytes))
    }

    fn kind(&self) -> Option<ErrorKind> {
        self.result.error.as_ref().map(|error| error.kind)
    }

    fn message(&self) -> &str {
        self.result
            .error
            .as_ref()
            .map_or("", |error| &error.message)
    }

    fn value(&self) -> String {
        assert_eq!(self.result.error, None);
        self.result
            .value
            .as_ref()
            .map_or("undefined".to_owned(), Document::to_json)
    }
}

impl Fake {
    /// One that says hello and waits for its program.
    fn ready() -> Self {
        let mut fake = Self::silent();
        fake.report(&Report::Hello { layers: Vec::new() });
        let boot = Order::Boot {
            compute_ms: 0,
            memory_bytes: 0,
            output_bytes: 0,
            namespaces: vec![Declared {
                global: "tools",
                functions: FUNCTIONS.to_vec(),
                error_class: None,
            }],
            program: PROGRAM,
        };
        fake.read(&boot);
        fake.report(&Report::Started { strip_us: 1 });
        fake
    }

    fn silent() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            steps: String::new(),
            files: 0,
            limits: Limits {
                compute_ms: 60_000,
                wall_ms: 60_000,
                output_bytes: 1 << 20,
                ..Limits::default()
            },
            recorder: Arc::default(),
        }
    }

    fn step(&mut self, step: &str) {
        self.steps.push_str(step);
        self.steps.push('\n');
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.files += 1;
        let name = format!("frames-{}", self.files);
        fs::write(self.folder.path().join(&name), bytes).unwrap();
        self.step(&format!("/bin/cat \"$here/{name}\" >&0"));
    }

    fn report(&mut self, report: &Report<'_>) {
        let mut bytes = Vec::new();
        report.write(&mut bytes);
        self.bytes(&bytes);
    }

    fn frame(&mut self, payload: &[u8]) {
        let length = u32::try_from(payload.len()).unwrap().to_le_bytes();
        self.bytes(&[&length, payload].concat());
    }

    fn call(&mut self, id: u64, namespace: u32, function: u32, argument: &str) {
        self.report(&Report::Call {
            id,
            namespace,
            function,
            argument,
        });
    }

    fn done(&mut self, value: Option<&str>) {
        let strays = Strays::default();
        self.report(&Report::Done { value, strays });
    }

    /// Waits until the host has written as much as this order takes, and keeps it.
    fn read(&mut self, order: &Order<'_>) {
        let mut bytes = Vec::new();
        order.write(&mut bytes);
        self.step(&format!(
            "/usr/bin/head -c {} >>\"$here/received\"",
            bytes.len()
        ));
    }

    fn runtime(&self) -> QuickJs {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/fake-worker.sh");
        let link = self.folder.path().join("worker");
        symlink(script, &link).unwrap();
        fs::write(self.folder.path().join("steps"), &self.steps).unwrap();
        QuickJs::new(Config {
            executable: Executable::Path(link),
            limits: self.limits,
            isolation: Isolation::BestEffort,
            ready: 0,
        })
        .unwrap()
    }

    /// Plays the steps, then waits to be killed.
    async fn play(mut self) -> Played {
        self.step("exec /bin/cat >>\"$here/received\"");
        self.play_and_end().await
    }

    async fn play_and_end(self) -> Played {
        let runtime = self.runtime();
        let mut request = RunRequest::new(PROGRAM);
        request.namespaces = vec![Namespace {
            global: "tools".to_owned(),
            functions: FUNCTIONS.map(str::to_owned).to_vec(),
            error_class: None,
            binding: self.recorder.clone(),
        }];
        let start = Instant::now();
        let result = runtime.run(request).await.unwrap();
        runtime.dispose().await;
        let elapsed = start.elapsed();
        assert!(elapsed < BOUND, "{elapsed:?}");
        assert_eq!(runtime.workers(), 0);
        Played {
            result,
            calls: self.recorder.calls.lock().unwrap().clone(),
            received: String::from_utf8_lossy(
                &fs::read(self.folder.path().join("received")).unwrap_or_default(),
            )
            .into_owned(),
        }
    }
}

/// C264, C265: what is no frame is dropped, and the run goes on.
#[tokio::test]
async fn junk_is_dropped() {
    let mut fake = Fake::ready();
    fake.frame(&[]);
    fake.frame(&[0]);
    fake.frame(b"null");
    fake.frame(&[255; 300]);
    // A call without its argument, a log that is no text, an outcome of an unknown kind, a frame of the host.
    fake.frame(&[3, 1, 0, 0, 0, 0, 0, 0, 0]);
    fake.frame(&[4, 2, 0, 0, 0, 0xff, 0xfe]);
    fake.frame(&[11, 0, 0, 0, 0]);
    fake.frame(&[66, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, b'1']);
    fake.report(&Report::Hello { layers: Vec::new() });
    fake.done(Some("1"));
    let played = fake.play().await;
    assert_eq!(played.value(), "1");
    assert_eq!(played.calls, []);
    assert_eq!(played.result.logs, Vec::<String>::new());
}

/// C264: nothing but a hello counts before the hello, and no program is handed out.
#[tokio::test]
async fn a_worker_that_does_not_say_hello_gets_no_program() {
    let mut fake = Fake::silent();
    fake.call(1, 0, 0, "1");
    fake.report(&Report::Log { text: "early" });
    fake.done(Some("1"));
    fake.frame(b"GET / HTTP/1.1");
    fake.step("exit 5");
    let played = fake.play_and_end().await;
    assert_eq!(played.kind(), Some(ErrorKind::WorkerExit));
    assert!(
        played.message().contains("exited with code 5"),
        "{}",
        played.message()
    );
    assert!(
        played.message().contains("worker_entry"),
        "{}",
        played.message()
    );
    assert_eq!(played.calls, []);
    assert_eq!(played.received, "");
}

/// C212: what a worker process writes elsewhere is no output of the program.
#[tokio::test]
async fn noise_on_other_descriptors_is_no_output() {
    let mut fake = Fake::ready();
    fake.step("echo noise; echo noise >&2");
    fake.report(&Report::Log { text: "real" });
    fake.done(None);
    let played = fake.play().await;
    assert_eq!(played.value(), "undefined");
    assert_eq!(played.result.logs, ["real"]);
}

/// C266, C238.
#[tokio::test]
async fn a_duplicate_id_is_ignored() {
    let mut fake = Fake::ready();
    fake.call(7, 0, 0, "1");
    fake.call(7, 0, 1, "2");
    fake.call(0, 0, 1, "3");
    fake.call(6, 0, 1, "4");
    let answer = Order::Resolve { id: 7, value: "1" };
    fake.read(&answer);
    fake.call(u64::MAX, 0, 1, "5");
    let last = Order::Resolve {
        id: u64::MAX,
        value: "5",
    };
    fake.read(&last);
    fake.done(None);
    let played = fake.play().await;
    assert_eq!(played.value(), "undefined");
    assert_eq!(played.calls, [(0, "1".to_owned()), (1, "5".to_owned())]);
    assert!(played.was_told(&answer) && played.was_told(&last));
}

/// C267.
#[tokio::test]
async fn only_declared_bindings_are_called() {
    for (namespace, function) in [(0, 2), (1, 0), (u32::MAX, u32::MAX)] {
        let mut fake = Fake::ready();
        fake.call(1, namespace, function, "1");
        let message = format!("unknown binding \"{namespace}.{function}\"");
        let answer = Order::Reject {
            id: 1,
            message: &message,
        };
        fake.read(&answer);
        fake.done(None);
        let played = fake.play().await;
        assert_eq!(played.value(), "undefined");
        assert!(played.was_told(&answer), "{}", played.received);
        assert_eq!(played.calls, []);
    }
}

/// C268, C273.
#[tokio::test]
async fn forged_arguments_are_refused() {
    let deep = format!("{}{}", "[".repeat(513), "]".repeat(513));
    let endless = "[".repeat(1_000_000);
    for argument in [
        "",
        "-0",
        "[-0]",
        "NaN",
        "1e999",
        "undefined",
        "1 2",
        "[1,]",
        "[1",
        "{\"a\":1,\"a\":2}",
        "{a:1}",
        "\"\\ud800\"",
        "18446744073709551616",
        &deep,
        &endless,
    ] {
        let mut fake = Fake::ready();
        fake.call(1, 0, 0, argument);
        let answer = Order::Reject {
            id: 1,
            message: "binding arguments must be lossless JSON",
        };
        fake.read(&answer);
        fake.done(None);
        let played = fake.play().await;
        assert_eq!(played.value(), "undefined");
        assert!(played.was_told(&answer), "{argument:.20}");
        assert_eq!(played.calls, [], "{argument:.20}");
    }
}

/// C269.
#[tokio::test]
async fn a_forged_completion_is_validated_and_metered() {
    for value in ["-0", "[", "", "nul", "{\"a\":1,\"a\":1}"] {
        let mut fake = Fake::ready();
        fake.done(Some(value));
        let played = fake.play().await;
        assert_eq!(played.kind(), Some(ErrorKind::InvalidOutput), "{value}");
        assert_eq!(played.message(), "program completion must be lossless JSON");
    }
    let mut fake = Fake::ready();
    fake.limits.output_bytes = 64;
    fake.done(Some(&format!("\"{}\"", "x".repeat(100))));
    let played = fake.play().await;
    assert_eq!(played.kind(), Some(ErrorKind::OutputLimit));
    assert_eq!(played.result.report.limit, Some(Limit::Output));
    let mut fake = Fake::ready();
    fake.limits.output_bytes = 64;
    fake.report(&Report::Failed {
        failure: Failure::Exception,
        message: &"m".repeat(1000),
        strays: Strays::default(),
    });
    let played = fake.play().await;
    assert_eq!(played.message(), "outer output exceeded 64 bytes");
    let mut fake = Fake::ready();
    fake.done(Some("\"accepted\""));
    assert_eq!(fake.play().await.value(), "\"accepted\"");
}

/// C270, C261, C218.
#[tokio::test]
async fn log_floods_obey_the_ledger() {
    let mut flood = Vec::new();
    for _ in 0..10_000 {
        Report::Log { text: "flood" }.write(&mut flood);
    }
    let mut fake = Fake::ready();
    fake.limits.output_bytes = 1000;
    fake.bytes(&flood);
    let played = fake.play().await;
    assert_eq!(played.kind(), Some(ErrorKind::OutputLimit));
    assert_eq!(played.result.report.limit, Some(Limit::Output));
    assert!(
        played.result.logs.len() > 90
            && played
                .result
                .logs
                .iter()
                .all(|line| "flood".starts_with(&**line))
    );
    let mut fake = Fake::ready();
    fake.limits.output_bytes = 1000;
    fake.report(&Report::Log {
        text: &"y".repeat(5 << 20),
    });
    let played = fake.play().await;
    assert_eq!(played.kind(), Some(ErrorKind::OutputLimit));
    assert!(played.result.logs[0].len() > 900 && played.result.logs[0].len() < 1000);
}

/// C271; and the other notices that a worker may give about itself.
#[tokio::test]
async fn a_forged_notice_ends_its_own_run() {
    let strays = Strays {
        busy_us: 5_000,
        ..Strays::default()
    };
    for (report, kind, message) in [
        (
            Report::OutputLimit {
                strays: strays.clone(),
            },
            ErrorKind::OutputLimit,
            "outer output exceeded 1048576 bytes",
        ),
        (
            Report::Exhausted {
                strays: strays.clone(),
            },
            ErrorKind::Timeout,
            "compute budget exhausted (5ms busy)",
        ),
        (
            Report::OutOfMemory {
                strays: strays.clone(),
            },
            ErrorKind::WorkerExit,
            "program ran out of memory: its heap may have 536870912 bytes (`maxMemoryBytes`)",
        ),
    ] {
        let mut fake = Fake::ready();
        fake.report(&report);
        let played = fake.play().await;
        assert_eq!((played.kind(), played.message()), (Some(kind), message));
    }
}

/// C206, C272.
#[tokio::test]
async fn the_first_outcome_wins() {
    let mut fake = Fake::ready();
    fake.done(Some("1"));
    fake.done(Some("2"));
    fake.report(&Report::Log { text: "late" });
    fake.call(1, 0, 0, "1");
    let played = fake.play().await;
    assert_eq!(played.value(), "1");
    assert_eq!(played.result.logs, Vec::<String>::new());
    assert_eq!(played.calls, []);
}

/// C274: before any allocation of that size; the test would not fit into memory otherwise.
#[tokio::test]
async fn a_length_beyond_all_bounds_ends_the_run() {
    let mut fake = Fake::ready();
    fake.bytes(&u32::MAX.to_le_bytes());
    let played = fake.play().await;
    assert_eq!(played.kind(), Some(ErrorKind::WorkerExit));
    assert!(
        played.message().contains("4294967295 bytes"),
        "{}",
        played.message()
    );
}

/// C231, C276, 11.7: a truncated frame is none.
#[tokio::test]
async fn a_death_is_named() {
    let mut fake = Fake::ready();
    fake.report(&Report::Log { text: "before" });
    fake.bytes(&[200, 0, 0, 0, 5, 1]);
    fake.step("exit 7");
    let played = fake.play_and_end().await;
    assert_eq!(played.kind(), Some(ErrorKind::WorkerExit));
    assert_eq!(
        played.message(),
        "worker exited with code 7 before completing"
    );
    assert_eq!(played.result.logs, ["before"]);
    let mut fake = Fake::ready();
    fake.step("kill -SEGV $$");
    let played = fake.play_and_end().await;
    assert_eq!(
        played.message(),
        "worker was ended by signal 11 before completing"
    );
    // Before the program started, it is the parser's death.
    let mut fake = Fake::silent();
    fake.report(&Report::Hello { layers: Vec::new() });
    fake.step("kill -SEGV $$");
    let played = fake.play_and_end().await;
    assert_eq!(played.kind(), Some(ErrorKind::Exception));
    assert!(
        played.message().starts_with("program could not be parsed"),
        "{}",
        played.message()
    );
}

/// C232: what was written before a deadline is collected after it.
#[tokio::test]
async fn a_silent_worker_meets_the_wall() {
    let mut fake = Fake::ready();
    fake.limits.wall_ms = 300;
    fake.report(&Report::Log { text: "before" });
    let played = fake.play().await;
    assert_eq!(played.kind(), Some(ErrorKind::Timeout));
    assert_eq!(played.message(), "wall-clock ceiling reached (300ms)");
    assert_eq!(played.result.report.limit, Some(Limit::Wall));
    assert_eq!(played.result.logs, ["before"]);
}

/// C228: also before the worker has said anything.
#[tokio::test]
async fn a_worker_that_never_says_hello_meets_the_wall() {
    let mut fake = Fake::silent();
    fake.limits.wall_ms = 200;
    let played = fake.play().await;
    assert_eq!(played.message(), "wall-clock ceiling reached (200ms)");
    assert_eq!(played.received, "");
}

/// C226, C256: the host's own measure, without any help of the worker.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_worker_that_spins_is_ended_by_the_host() {
    let mut fake = Fake::ready();
    fake.limits.compute_ms = 100;
    fake.step("while :; do :; done");
    let played = fake.play_and_end().await;
    assert_eq!(played.kind(), Some(ErrorKind::Timeout));
    assert!(
        played.message().starts_with("compute budget exhausted ("),
        "{}",
        played.message()
    );
    assert_eq!(played.result.report.limit, Some(Limit::Compute));
}

/// C262: a flood of calls stays in the worker; the host holds a bounded number.
#[tokio::test]
async fn a_flood_of_calls_is_answered_in_order() {
    let mut flood = Vec::new();
    for id in 1..=50_000 {
        Report::Call {
            id,
            namespace: 0,
            function: 1,
            argument: "null",
        }
        .write(&mut flood);
    }
    let mut fake = Fake::ready();
    // Reads the answers while it floods.
    fake.step("/bin/cat >/dev/null <&0 &");
    fake.bytes(&flood);
    fake.done(None);
    let played = fake.play_and_end().await;
    assert_eq!(played.value(), "undefined");
    assert_eq!(played.calls.len(), 50_000);
}

/// D18: nothing runs without the sandbox when it is required.
#[tokio::test]
async fn required_isolation_fails_closed() {
    let mut fake = Fake::ready();
    fake.done(None);
    let runtime = {
        let good = fake.runtime();
        let Executable::Path(path) = good.pool.config().executable.clone() else {
            panic!("a path");
        };
        QuickJs::new(Config {
            executable: Executable::Path(path),
            isolation: Isolation::Required,
            ready: 0,
            ..Config::default()
        })
        .unwrap()
    };
    let result = runtime.run(RunRequest::new(PROGRAM)).await.unwrap();
    let error = result.error.unwrap();
    assert_eq!(error.kind, ErrorKind::WorkerExit);
    assert!(
        error.message.contains("isolation is required"),
        "{}",
        error.message
    );
}
