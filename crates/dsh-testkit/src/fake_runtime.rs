//! A code runtime whose programs are Rust.

use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use dsh_code::{
    BoxFuture, CodeRuntime, ErrorKind, Misuse, Phase, RunError, RunReport, RunRequest, RunResult,
    Signal, validate,
};
use dsh_schema::Document;
use dsh_tools::{Canceller, Reason};
use futures_util::future::{Either, select};
use parking_lot::Mutex;

/// What the program of a [`FakeRuntime`] ends with: a value, nothing, or a failure.
pub type FakeEnd = Result<Option<Document>, RunError>;

type Script = dyn Fn(FakeProgram) -> BoxFuture<'static, FakeEnd> + Send + Sync;

/// A runtime that runs a closure where a real one would run the program's text.
///
/// It behaves as the seam asks: bindings are validated, bindings are called in order at the moment of the call, a cancelled
/// run ends hard with kind `abort`, and so does what runs when the runtime is disposed; nothing runs afterwards.
///
/// # Examples
///
/// ```
/// use dsh_code::{CodeRuntime, RunRequest};
/// use dsh_testkit::{FakeRuntime, block_on};
///
/// let runtime = FakeRuntime::new(|program| async move {
///     program.print(format!("running {}", program.source()));
///     Ok(None)
/// });
/// let result = block_on(runtime.run(RunRequest::new("a program"))).unwrap();
/// assert_eq!(result.logs, ["running a program"]);
/// ```
#[derive(Clone)]
pub struct FakeRuntime {
    language: String,
    script: Arc<Script>,
    ignores_signal: bool,
    misuse: Option<String>,
    disposal: (Canceller, Signal),
    requests: Arc<Mutex<Vec<RunRequest>>>,
}

impl FakeRuntime {
    /// A TypeScript runtime whose every program is this closure.
    pub fn new<F, Fut>(script: F) -> Self
    where
        F: Fn(FakeProgram) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = FakeEnd> + Send + 'static,
    {
        Self {
            language: "typescript".to_owned(),
            script: Arc::new(move |program| Box::pin(script(program))),
            ignores_signal: false,
            misuse: None,
            disposal: Signal::pair(),
            requests: Arc::default(),
        }
    }

    /// Says that programs are in another language.
    #[must_use]
    pub fn speaking(mut self, language: &str) -> Self {
        language.clone_into(&mut self.language);
        self
    }

    /// Lets programs run to their end whatever their signal says.
    #[must_use]
    pub fn ignoring_signals(mut self) -> Self {
        self.ignores_signal = true;
        self
    }

    /// Refuses after the program is over, as a backend that breaks.
    #[must_use]
    pub fn refusing(mut self, message: &str) -> Self {
        self.misuse = Some(message.to_owned());
        self
    }

    /// What was asked to run so far.
    #[must_use]
    pub fn requests(&self) -> Vec<RunRequest> {
        self.requests.lock().clone()
    }
}

impl CodeRuntime for FakeRuntime {
    fn language(&self) -> &str {
        &self.language
    }

    fn isolation(&self) -> &str {
        "fake"
    }

    fn run(&self, request: RunRequest) -> BoxFuture<'static, Result<RunResult, Misuse>> {
        let runtime = self.clone();
        Box::pin(async move {
            let (_, disposed) = &runtime.disposal;
            if disposed.is_cancelled() {
                return Err(Misuse::after_disposal());
            }
            validate(&request.namespaces)?;
            runtime.requests.lock().push(request.clone());
            let heeded = if runtime.ignores_signal {
                Signal::never()
            } else {
                request.signal.clone()
            };
            let (_, signal) = Signal::following(&[heeded, disposed.clone()]);
            let program = FakeProgram(Arc::new(State {
                request,
                logs: Mutex::default(),
                report: Mutex::default(),
            }));
            let end = {
                let script = (runtime.script)(program.clone());
                // The signal first: an end that is hard gives the program no last word.
                match select(pin!(signal.cancelled()), script).await {
                    Either::Left((reason, _)) => {
                        Err(RunError::new(ErrorKind::Abort, reason.to_string()))
                    }
                    Either::Right((end, _)) => {
                        program.report(|report| report.phase = Phase::Finished);
                        end
                    }
                }
            };
            if let Some(message) = runtime.misuse {
                return Err(Misuse::new(message));
            }
            let (logs, report) = (
                program.0.logs.lock().clone(),
                program.0.report.lock().clone(),
            );
            let (value, error) = match end {
                Ok(value) => (value, None),
                Err(error) => (None, Some(error)),
            };
            Ok(RunResult {
                value,
                logs,
                error,
                report,
            })
        })
    }

    fn dispose(&self) -> BoxFuture<'static, ()> {
        self.disposal.0.cancel(Reason::Other {
            message: "runtime disposed".into(),
        });
        Box::pin(std::future::ready(()))
    }
}

impl fmt::Debug for FakeRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeRuntime")
            .field("language", &self.language)
            .finish_non_exhaustive()
    }
}

/// What a script sees of its run. Cheap to clone.
#[derive(Clone)]
pub struct FakeProgram(Arc<State>);

struct State {
    request: RunRequest,
    logs: Mutex<Vec<String>>,
    report: Mutex<RunReport>,
}

impl FakeProgram {
    /// The program's text.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.0.request.program
    }

    /// The run's signal.
    #[must_use]
    pub fn signal(&self) -> &Signal {
        &self.0.request.signal
    }

    /// The names that are bound, of all namespaces.
    #[must_use]
    pub fn functions(&self) -> Vec<String> {
        self.0
            .request
            .namespaces
            .iter()
            .flat_map(|namespace| namespace.functions.clone())
            .collect()
    }

    /// Prints a line.
    pub fn print(&self, line: impl Into<String>) {
        let line = line.into();
        if let Some(sink) = &self.0.request.log_sink {
            sink(&line);
        }
        self.0.logs.lock().push(line);
    }

    /// Calls a function of the first namespace, now; the future is its promise, which need not be awaited.
    ///
    /// # Panics
    ///
    /// Arguments that are not lossless JSON.
    pub fn call(
        &self,
        name: &str,
        arguments: &str,
    ) -> BoxFuture<'static, Result<Document, String>> {
        let arguments = Document::parse(arguments).expect("a script calls with JSON");
        let namespace = self.0.request.namespaces.first();
        let found = namespace.and_then(|namespace| {
            let index = namespace
                .functions
                .iter()
                .position(|function| function == name)?;
            Some(namespace.binding.call(index, arguments))
        });
        found.unwrap_or_else(|| {
            let message = format!("TypeError: tools[\"{name}\"] is not a function");
            Box::pin(std::future::ready(Err(message)))
        })
    }

    /// Calls a function, awaits it and fails the program when the call fails, as an uncaught rejection would.
    ///
    /// # Errors
    ///
    /// The call failed.
    pub async fn expect(&self, name: &str, arguments: &str) -> Result<Document, RunError> {
        let called = self.call(name, arguments).await;
        called.map_err(|message| {
            RunError::new(ErrorKind::Exception, format!("ToolCallError: {message}"))
        })
    }

    /// Changes what the run reports.
    pub fn report(&self, change: impl FnOnce(&mut RunReport)) {
        change(&mut self.0.report.lock());
    }
}

impl fmt::Debug for FakeProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeProgram")
            .field("request", &self.0.request)
            .finish_non_exhaustive()
    }
}
