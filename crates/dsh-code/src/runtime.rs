//! The seam to whatever executes programs: [`CodeRuntime`] and the plain data that crosses it.
//!
//! A runtime knows nothing of tools, sessions or agents; names such as `tools` or `ToolCallError` reach it as data (C181).

use std::fmt;
use std::sync::Arc;

use dsh_schema::Document;
pub use dsh_tools::{BoxFuture, Signal};
use serde::{Deserialize, Serialize};

use crate::{Limits, Misuse};

/// Executes programs.
///
/// Each run starts from a fresh world: nothing of one program is seen by the next (C186). Runs may overlap.
pub trait CodeRuntime: Send + Sync {
    /// What programs are written in, in lower case: `typescript`, `python` (C180).
    fn language(&self) -> &str;

    /// A label for diagnostics: `process`, `worker-thread`, `in-process`. It claims nothing about security (C180).
    fn isolation(&self) -> &str;

    /// Runs a program to its end. Whatever the program does is a result, not an error (C183).
    ///
    /// # Errors
    ///
    /// Only for misuse of the seam: bindings that [`validate`](crate::validate) refuses, limits that
    /// [`Limits::validate`] refuses, or a run after [`dispose`](CodeRuntime::dispose).
    ///
    /// # Cancellation
    ///
    /// The request's signal ends the program hard, also inside a loop; the result is then of kind
    /// [`ErrorKind::Abort`] (C229). A future that is dropped ends its program too.
    fn run(&self, request: RunRequest) -> BoxFuture<'static, Result<RunResult, Misuse>>;

    /// Ends the runtime: runs in progress fail with kind `abort` and the message `runtime disposed`, and the future is
    /// ready once every worker is gone (C187).
    fn dispose(&self) -> BoxFuture<'static, ()>;
}

/// Hears log lines while a program runs.
pub type LogSink = Arc<dyn Fn(&str) + Send + Sync>;

/// One program and what it may reach.
#[derive(Clone)]
pub struct RunRequest {
    /// The body of an asynchronous function.
    pub program: String,
    /// What is in scope besides the language itself.
    pub namespaces: Vec<Namespace>,
    /// What ends the run.
    pub signal: Signal,
    /// Hears each log line as it comes, before the run is over. The lines of the result are authoritative.
    pub log_sink: Option<LogSink>,
    /// Budgets of this run alone; `None` means those that the runtime was configured with.
    pub limits: Option<Limits>,
}

impl RunRequest {
    /// A program without bindings, sink and limits of its own, that nothing cancels.
    pub fn new(program: impl Into<String>) -> Self {
        Self {
            program: program.into(),
            namespaces: Vec::new(),
            signal: Signal::never(),
            log_sink: None,
            limits: None,
        }
    }
}

impl fmt::Debug for RunRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunRequest")
            .field("program", &self.program)
            .field("namespaces", &self.namespaces)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// A global object of a program whose members are functions of the host.
#[derive(Clone)]
pub struct Namespace {
    /// The name of the global.
    pub global: String,
    /// The names of its members, arbitrary strings, each an own property of an object without prototype (C194).
    pub functions: Vec<String>,
    /// The class that failed calls are instances of; without one they are plain errors.
    pub error_class: Option<ErrorClass>,
    /// What the members do.
    pub binding: Arc<dyn Binding>,
}

impl fmt::Debug for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Namespace")
            .field("global", &self.global)
            .field("functions", &self.functions)
            .field("error_class", &self.error_class)
            .finish_non_exhaustive()
    }
}

/// The error class of a [`Namespace`], a global of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorClass {
    /// The name of the class, and the `name` of its instances.
    pub name: String,
    /// The own property of an instance that holds the name of the member that was called.
    pub member_property: String,
}

/// What the members of a namespace do.
pub trait Binding: Send + Sync {
    /// Calls the member at index `function` of [`Namespace::functions`].
    ///
    /// The runtime calls this in the order in which the program made its calls, on the task that polls
    /// [`run`](CodeRuntime::run), and polls the futures there too. It returns at once; an `Err` is the message of the
    /// rejection that the program sees.
    ///
    /// Arguments that are not lossless never come here: the runtime rejects such a call itself (C125, C268).
    fn call(
        &self,
        function: usize,
        argument: Document,
    ) -> BoxFuture<'static, Result<Document, String>>;
}

/// What became of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunResult {
    /// What the program returned; `None` for `undefined`, and whenever there is an error (C184).
    pub value: Option<Document>,
    /// What the program printed, one entry per call (C208). Kept on failure too (C213).
    pub logs: Vec<String>,
    /// How the run failed.
    pub error: Option<RunError>,
    /// What happened besides, for envelopes and operators.
    pub report: RunReport,
}

/// How a run failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunError {
    /// The class of failure.
    pub kind: ErrorKind,
    /// The text that goes with it.
    pub message: String,
}

impl RunError {
    /// A failure.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }
}

/// The classes of failure (chapter 10.2 of the Code Mode specification).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
    /// The program does not parse, or it threw.
    Exception,
    /// A budget of time ran out.
    Timeout,
    /// The run was cancelled, or the runtime disposed.
    Abort,
    /// The worker vanished.
    WorkerExit,
    /// What the program returned is not lossless JSON.
    InvalidOutput,
    /// Logs and completion exceed the cap.
    OutputLimit,
}

impl ErrorKind {
    /// The kind as it is written: `worker-exit`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exception => "exception",
            Self::Timeout => "timeout",
            Self::Abort => "abort",
            Self::WorkerExit => "worker-exit",
            Self::InvalidOutput => "invalid-output",
            Self::OutputLimit => "output-limit",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What happened in a run besides its outcome. For envelopes and the operator's log; never for a model (D15).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RunReport {
    /// How far the program got.
    pub phase: Phase,
    /// The limit that ended the run, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// Calls that the program never awaited, as `namespace.member`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unawaited: Vec<String>,
    /// Rejections that nothing handled, each as the text of its error.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rejections: Vec<String>,
    /// The layers of the sandbox, and whether each held.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sandbox: Vec<SandboxLayer>,
    /// Where the time went.
    pub timings: Timings,
}

/// How far a program got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// No worker took it.
    #[default]
    NotStarted,
    /// Its types were being removed; nothing of it ran.
    Stripping,
    /// It ran and did not come to its end.
    Running,
    /// It returned or threw.
    Finished,
}

/// A limit that can end a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// Busy time of the program.
    Compute,
    /// Time from start to end.
    Wall,
    /// Memory of the worker.
    Memory,
    /// Bytes of logs and completion.
    Output,
    /// Bytes of the program's text.
    Source,
}

/// One layer of a sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxLayer {
    /// What it is called: `seccomp`, `landlock`, `rlimits`.
    pub name: String,
    /// Whether it held during the run.
    pub active: bool,
    /// What it covers, or why it is missing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// Durations of a run, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Timings {
    /// Until a worker was there.
    pub spawn_us: u64,
    /// Removing types.
    pub strip_us: u64,
    /// The program at work.
    pub busy_us: u64,
    /// From the request to the result.
    pub wall_us: u64,
}
