//! `dsh code`: one Code Mode program, once.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;
use std::sync::Arc;

use dsh_code::{
    CodeConfig, CodeMode, Limits, Phase, RunEnvelope, RunError, RunObserver, SandboxLayer, SubCall,
    SubCallOutcome, Timings,
};
use dsh_code_quickjs::{Config as EngineConfig, QuickJs};
use dsh_prompt::{Prompt, PromptConfig};
use dsh_schema::{Document, ValueRef};
use dsh_tools::{Arguments, Call, Execution, Mode, Outcome, RUN_CODE, Settled};
use parking_lot::Mutex;
use serde::Serialize;

use crate::args::{CodeArgs, Global};
use crate::compose::Runtime;
use crate::exit::{Exit, Failure};
use crate::host::SystemHost;
use crate::interrupt::Interrupt;
use crate::output::{self, Reader};
use crate::terminal::visible_line;

/// A process runs one program (D36), so its id needs no counter.
const ID: &str = "call-1";

pub(crate) async fn run(
    global: &Global,
    args: &CodeArgs,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let limits = limits(args)?;
    let program = program(args, limits.source_bytes)?;
    let runtime = Runtime::open(&global.directory)?;
    let ended = execute(&runtime, args, limits, program, interrupt).await;
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
        .map_err(|error| Failure::usage(error.to_string()))?;
    Ok(limits)
}

/// The program's text: from the command line, a file, or stdin.
fn program(args: &CodeArgs, limit: u64) -> Result<String, Failure> {
    let (what, bytes) = match (&args.expression, &args.file) {
        (Some(source), _) => return Ok(source.clone()),
        (None, None) => ("stdin".to_owned(), read_some(io::stdin(), limit)),
        (None, Some(file)) if file == Path::new("-") => {
            ("stdin".to_owned(), read_some(io::stdin(), limit))
        }
        (None, Some(file)) => (
            format!("`{}`", file.display()),
            std::fs::File::open(file).and_then(|file| read_some(file, limit)),
        ),
    };
    let bytes = bytes
        .map_err(|error| Failure::usage(format!("cannot read the program from {what}: {error}")))?;
    String::from_utf8(bytes).map_err(|error| {
        Failure::usage(format!(
            "the program from {what} is not UTF-8: byte {}",
            error.utf8_error().valid_up_to()
        ))
    })
}

/// Reads up to one byte more than the limit: the runtime says how large a program may be.
fn read_some(source: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

async fn execute(
    runtime: &Runtime,
    args: &CodeArgs,
    limits: Limits,
    program: String,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let failed = |error: String| Failure::failed(format!("cannot run programs: {error}"));
    let watcher = Arc::new(Watcher::new(args.json));
    let config = CodeConfig {
        limits: Some(limits),
        host: Some(Arc::new(SystemHost::start())),
        observer: Some(watcher.clone()),
        ..CodeConfig::default()
    };
    let prompt = Prompt::new(PromptConfig::default());
    let fiber = runtime.fiber();
    let code = CodeMode::mount(fiber, &runtime.tools, &prompt, config)
        .map_err(|error| failed(error.to_string()))?;
    let engine = QuickJs::new(EngineConfig {
        limits,
        // One program runs here.
        ready: 1,
        ..EngineConfig::default()
    }).map_err(|error| failed(error.to_string()))?;
    let engine = Arc::new(engine);
    code.mount_runtime(fiber, engine.clone())
        .map_err(|error| failed(error.to_string()))?;
    code.present_as(&runtime.agent, Mode::Code)
        .map_err(|error| failed(error.to_string()))?;
    let progress = Progress::watch(runtime, args.json)
        .map_err(|error| failed(error.to_string()))?;

    let arguments = Document::from_serialize(&BTreeMap::from([
        ("code", program.as_str()),
        ("description", "a program from the command line"),
    ]))
    .map_err(|error| failed(error.to_string()))?;
    let call = Call::new(ID, RUN_CODE, Arguments::Document(arguments), interrupt.call());
    let settled = runtime.tools.execute(call.agent(&runtime.agent)).await;
    let cancelled = interrupt.settled();
    progress.clear();
    dsh_code::CodeRuntime::dispose(&*engine).await;

    if args.json {
        output::json(&Envelope::of(&settled, watcher.take()))?;
    } else {
        report(&settled)?;
    }
    Ok(match settled.outcome() {
        Outcome::Success(_) => Exit::Success,
        Outcome::Failure(_) if cancelled => Exit::Interrupted,
        Outcome::Failure(_) => Exit::Failed,
    })
}

/// Prints the value, or on stderr why there is none. The log lines have been printed as they came.
fn report(settled: &Settled) -> Result<(), Failure> {
    match settled.outcome() {
        Outcome::Success(success) => {
            let result = success.value.root().get("result");
            if let Some(result) = result {
                match result.as_str() {
                    Some(text) => output::foreign(text)?,
                    None => output::foreign(&result.to_json_pretty())?,
                };
            }
        }
        Outcome::Failure(failure) => {
            // With stderr gone there is nobody left to tell.
            let _ = writeln!(io::stderr(), "error: {}", visible_text(&failure.error.message));
        }
    }
    Ok(())
}

fn visible_text(text: &str) -> String {
    text.lines().map(visible_line).collect::<Vec<_>>().join("\n")
}

/// Takes what comes while the program runs.
struct Watcher {
    /// Log lines belong into the document then, not before it.
    quiet: bool,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    envelope: Option<RunEnvelope>,
    logs: Vec<String>,
    reader_gone: bool,
}

impl Watcher {
    fn new(quiet: bool) -> Self {
        Self {
            quiet,
            seen: Mutex::default(),
        }
    }

    fn take(&self) -> (Option<RunEnvelope>, Vec<String>) {
        let mut seen = self.seen.lock();
        (seen.envelope.take(), std::mem::take(&mut seen.logs))
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
        if self.quiet {
            self.seen.lock().logs.push(line.to_owned());
            return;
        }
        if self.seen.lock().reader_gone {
            return;
        }
        match output::foreign(line) {
            Ok(Reader::Listens) => {}
            // The program goes on for what it does; its lines have no reader any more.
            Ok(Reader::Gone) | Err(_) => self.seen.lock().reader_gone = true,
        }
    }
}

/// On a terminal, a line on stderr for the sub-calls that run.
struct Progress {
    running: Option<Arc<Mutex<Vec<String>>>>,
}

impl Progress {
    fn watch(runtime: &Runtime, json: bool) -> Result<Self, dsh_tools::RegistryError> {
        if json || !io::stderr().is_terminal() {
            return Ok(Self { running: None });
        }
        let running: Arc<Mutex<Vec<String>>> = Arc::default();
        let (entering, leaving) = (running.clone(), running.clone());
        let scoped = runtime.tools.scoped(&runtime.agent);
        scoped.on_execute(move |execution, next| {
            let entering = entering.clone();
            async move {
                if execution.parent().is_some() {
                    entering.lock().push(label(&execution));
                    draw(&entering.lock());
                }
                Ok(next.run().await?.into())
            }
        })?;
        scoped.on_result(move |execution, _: &Outcome| {
            let label = label(execution);
            let mut running = leaving.lock();
            if let Some(index) = running.iter().position(|one| *one == label) {
                running.remove(index);
                draw(&running);
            }
        })?;
        Ok(Self {
            running: Some(running),
        })
    }

    fn clear(&self) {
        if self.running.is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

fn label(execution: &Execution) -> String {
    let card = execution
        .tool()
        .zip(execution.arguments())
        .and_then(|(tool, arguments)| tool.present_call(arguments));
    let title = card.map(|card| crate::card::title(&card).to_owned());
    visible_line(&title.unwrap_or_else(|| execution.name().to_owned()))
}

fn draw(running: &[String]) {
    let text: String = running.join(" · ").chars().take(100).collect();
    let _ = write!(io::stderr(), "\r\x1b[K{text}");
}

/// The document of `--json`.
#[derive(Serialize)]
struct Envelope {
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Document>,
    logs: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorView>,
    calls: Vec<SubCall>,
    unsettled: Vec<String>,
    rejections: Vec<String>,
    limits: Vec<dsh_code::Limit>,
    phase: Phase,
    sandbox: Vec<SandboxLayer>,
    timings: Timings,
}

/// Why there is no value: how the run failed, or what refused the call before there was a run.
#[derive(Serialize)]
#[serde(untagged)]
enum ErrorView {
    Run(RunError),
    Call {
        message: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<String>,
    },
}

impl Envelope {
    fn of(settled: &Settled, seen: (Option<RunEnvelope>, Vec<String>)) -> Self {
        let (envelope, printed) = seen;
        let value = settled.value();
        let root = value.map(Document::root);
        let logs = root
            .and_then(|root| root.get("logs"))
            .and_then(|logs| logs.decode().ok())
            .unwrap_or(printed);
        let error = settled.error().map(|error| match &envelope {
            Some(RunEnvelope { error: Some(run), .. }) => ErrorView::Run(run.clone()),
            _ => ErrorView::Call {
                message: error.message.to_string(),
                code: settled.code().map(str::to_owned),
            },
        });
        let (calls, report) = envelope
            .map(|envelope| (envelope.calls, envelope.report))
            .unwrap_or_default();
        let unsettled = calls
            .iter()
            .filter(|call| call.unsettled || call.outcome == SubCallOutcome::Abandoned)
            .map(|call| format!("{} ({})", call.tool, call.id))
            .collect();
        Self {
            value: root
                .and_then(|root| root.get("result"))
                .map(ValueRef::to_document),
            logs,
            error,
            calls,
            unsettled,
            rejections: report.rejections,
            limits: report.limit.into_iter().collect(),
            phase: report.phase,
            sandbox: report.sandbox,
            timings: report.timings,
        }
    }
}
