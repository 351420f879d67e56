//! `dsh code`: one Code Mode program, once.

mod envelope;
mod screen;

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use dsh_code::{CodeConfig, CodeMode, CodeRuntime as _, Limits, RunEnvelope, RunObserver};
use dsh_code_quickjs::{Config as EngineConfig, QuickJs};
use dsh_prompt::{Prompt, PromptConfig};
use dsh_schema::Document;
use dsh_tools::{Arguments, Call, Execution, Failure as CallFailure, Mode, Outcome, RUN_CODE};
use parking_lot::Mutex;

use crate::args::{CodeArgs, Global};
use crate::compose::Runtime;
use crate::exit::{Exit, Failure};
use crate::host::SystemHost;
use crate::interrupt::Interrupt;
use crate::output;
use crate::terminal::{Paint, visible_text};
use envelope::Envelope;
use screen::{Feed, Screen};

/// A process runs one program (D36), so its id needs no counter.
const ID: &str = "call-1";

/// No program's text is read further than this; the runtime's own limit is far below, and tells the true size.
const MOST_READ: u64 = 64 << 20;

pub(crate) async fn run(
    global: &Global,
    args: &CodeArgs,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let limits = limits(args)?;
    let program = program(args)?;
    let runtime = Runtime::open(&global.directory)?;
    let ended = execute(&runtime, global, args, limits, program, interrupt).await;
    runtime.close().await;
    ended
}

fn limits(args: &CodeArgs) -> Result<Limits, Failure> {
    let default = Limits::default();
    let limits = Limits {
        compute_ms: args.compute_ms.unwrap_or(default.compute_ms),
        wall_ms: args.wall_ms.unwrap_or(default.wall_ms),
        memory_bytes: args
            .memory_mb
            .map_or(default.memory_bytes, |mb| mb.saturating_mul(1 << 20)),
        output_bytes: args.output_bytes.unwrap_or(default.output_bytes),
        source_bytes: default.source_bytes,
    };
    limits
        .validate()
        .map_err(|error| Failure::usage(by_flag(&error.to_string())))?;
    Ok(limits)
}

/// A complaint about a limit, in the words of the command line.
fn by_flag(complaint: &str) -> String {
    [
        ("computeMs", "`--compute-ms`"),
        ("maxWallMs", "`--wall-ms`"),
        ("maxMemoryBytes", "`--memory-mb`"),
        ("maxOutputBytes", "`--output-bytes`"),
    ]
    .into_iter()
    .fold(complaint.to_owned(), |text, (name, flag)| {
        text.replace(name, flag)
    })
}

/// The program's text: from the command line, a file, or stdin.
fn program(args: &CodeArgs) -> Result<String, Failure> {
    let (what, bytes) = match (&args.expression, &args.file) {
        (Some(source), _) => return Ok(source.clone()),
        (None, Some(file)) if file != Path::new("-") => (
            format!("`{}`", file.display()),
            std::fs::File::open(file).and_then(read),
        ),
        (None, _) => ("stdin".to_owned(), read(io::stdin())),
    };
    let bytes = bytes
        .map_err(|error| Failure::usage(format!("cannot read the program from {what}: {error}")))?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = error.as_bytes().iter().take(valid);
        let line = line.filter(|byte| **byte == b'\n').count() + 1;
        Failure::usage(format!(
            "the program from {what} is not UTF-8: byte {valid}, on line {line}, begins no character"
        ))
    })
}

fn read(source: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(MOST_READ + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_READ {
        return Err(io::Error::other(format!(
            "it has more than {} MiB",
            MOST_READ >> 20
        )));
    }
    Ok(bytes)
}

async fn execute(
    runtime: &Runtime,
    global: &Global,
    args: &CodeArgs,
    limits: Limits,
    program: String,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let screen = if args.json {
        None
    } else {
        Some(Screen::open()?)
    };
    let watcher = Arc::new(Watcher {
        feed: screen.as_ref().map(Screen::feed),
        seen: Mutex::default(),
    });
    let engine = mount(runtime, limits, watcher.clone(), screen.as_ref())
        .map_err(|error| Failure::failed(format!("cannot run programs: {error}")))?;

    let arguments = Document::from_serialize(&BTreeMap::from([
        ("code", program.as_str()),
        ("description", "a program from the command line"),
    ]))
    .map_err(|error| Failure::failed(format!("cannot run the program: {error}")))?;
    let call = Call::new(
        ID,
        RUN_CODE,
        Arguments::Document(arguments),
        interrupt.call(),
    );
    let settled = runtime.tools.execute(call.agent(&runtime.agent)).await;
    let cancelled = interrupt.settled();
    engine.dispose().await;

    let (envelope, printed) = watcher.take();
    match screen {
        Some(screen) => {
            screen.close()?;
            report(settled.outcome(), envelope.as_ref(), global)?;
        }
        None => {
            output::json(&Envelope::new(&settled, envelope, printed))?;
        }
    }
    Ok(match settled.outcome() {
        Outcome::Success(_) => Exit::Success,
        Outcome::Failure(_) if cancelled => Exit::Interrupted,
        Outcome::Failure(_) => Exit::Failed,
    })
}

/// Puts Code Mode and its engine on the runtime.
fn mount(
    runtime: &Runtime,
    limits: Limits,
    watcher: Arc<Watcher>,
    screen: Option<&Screen>,
) -> Result<Arc<QuickJs>, Box<dyn std::error::Error>> {
    let config = CodeConfig {
        limits: Some(limits),
        host: Some(Arc::new(SystemHost::start())),
        observer: Some(watcher),
        ..CodeConfig::default()
    };
    let engine = Arc::new(QuickJs::new(EngineConfig {
        limits,
        // One program runs here: a worker that was started ahead would be the second.
        ready: 0,
        ..EngineConfig::default()
    })?);
    let prompt = Prompt::new(PromptConfig::default());
    let fiber = runtime.fiber();
    let code = CodeMode::mount(fiber, &runtime.tools, &prompt, config)?;
    code.mount_runtime(fiber, engine.clone())?;
    code.present_as(&runtime.agent, Mode::Code)?;
    if let Some(screen) = screen {
        screen.watch(runtime)?;
    }
    Ok(engine)
}

/// Prints the value, or on stderr why there is none. The log lines have been printed as they came.
fn report(
    outcome: &Outcome,
    envelope: Option<&RunEnvelope>,
    global: &Global,
) -> Result<(), Failure> {
    match outcome {
        Outcome::Success(success) => {
            if let Some(result) = success.value.root().get("result") {
                match result.as_str() {
                    Some(text) => output::foreign(text)?,
                    None => output::foreign(&result.to_json_pretty())?,
                };
            }
        }
        Outcome::Failure(failure) => {
            let paint = Paint::of(global.color, &io::stderr());
            // With stderr gone there is nobody left to tell.
            let _ = writeln!(
                io::stderr(),
                "{} {}",
                paint.bad("error:"),
                visible_text(&cause(failure, envelope))
            );
        }
    }
    Ok(())
}

/// Why there is no value, without what the program printed: that has been printed.
fn cause(failure: &CallFailure, envelope: Option<&RunEnvelope>) -> String {
    match envelope.and_then(|envelope| envelope.error.as_ref()) {
        Some(error) => format!("code run failed ({}): {}", error.kind, error.message),
        None => failure.error.message.to_string(),
    }
}

/// Takes what comes while the program runs.
struct Watcher {
    /// Where lines go as they come; without, they are kept for the document.
    feed: Option<Feed>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    envelope: Option<RunEnvelope>,
    printed: Vec<String>,
}

impl Watcher {
    fn take(&self) -> (Option<RunEnvelope>, Vec<String>) {
        let mut seen = self.seen.lock();
        (seen.envelope.take(), std::mem::take(&mut seen.printed))
    }
}

impl RunObserver for Watcher {
    fn finished(&self, _: &Execution, envelope: &RunEnvelope) {
        tracing::info!(
            calls = envelope.calls.len(),
            phase = ?envelope.report.phase,
            unawaited = ?envelope.report.unawaited,
            rejections = ?envelope.report.rejections,
            "a program is over"
        );
        self.seen.lock().envelope = Some(envelope.clone());
    }

    fn printed(&self, _: &Execution, line: &str) {
        match &self.feed {
            Some(feed) => feed.line(line),
            None => self.seen.lock().printed.push(line.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_about_a_limit_names_its_flag() {
        let check = |limits: Limits, expected: &str| {
            assert_eq!(
                by_flag(&limits.validate().unwrap_err().to_string()),
                expected
            );
        };
        let limits = Limits::default();
        check(
            Limits {
                compute_ms: 0,
                ..limits
            },
            "`--compute-ms` must be a positive number",
        );
        check(
            Limits {
                wall_ms: u64::MAX,
                ..limits
            },
            "`--wall-ms` must be at most 2147483647",
        );
        check(
            Limits {
                memory_bytes: 0,
                ..limits
            },
            "`--memory-mb` must be a positive number",
        );
        check(
            Limits {
                output_bytes: 3,
                ..limits
            },
            "`--output-bytes` must be a safe integer of at least 4",
        );
    }
}
