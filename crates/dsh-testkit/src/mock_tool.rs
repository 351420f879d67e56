//! A tool that does what it is told, and counts what is done to it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dsh_schema::Document;
use dsh_schema::spec::{self, ParameterSpec};
use dsh_tools::{RegistryError, RunContext, Tool, ToolBuilder, ToolError};

use crate::{Gate, Trace, yield_once};

/// The builder that [`MockTool::build_with`] hands out.
type Builder = ToolBuilder<Document, Document>;

/// A tool in the making: steps that its body takes, then how it ends.
///
/// It takes any object and returns any JSON; without further orders it returns `null` at once.
///
/// # Examples
///
/// ```
/// use dsh_context::Fiber;
/// use dsh_testkit::{MockTool, block_on};
/// use dsh_tools::{Call, Signal, Tools, ToolsConfig};
///
/// let (tool, probe) = MockTool::new("sum").yields(2).returns("3").build()?;
/// let (fiber, tools) = (Fiber::root("test"), Tools::new(ToolsConfig::default()));
/// tools.global(&fiber).register(tool)?;
/// let outcome = block_on(tools.execute(Call::new("c1", "sum", "{}", Signal::never())));
/// assert_eq!(outcome.value().map(|value| value.to_json()).as_deref(), Some("3"));
/// assert_eq!((probe.calls(), probe.finished(), probe.lost()), (1, 1, 0));
/// # Ok::<(), dsh_tools::RegistryError>(())
/// ```
#[derive(Clone, Debug)]
pub struct MockTool {
    name: String,
    steps: Vec<Step>,
    end: End,
    safe: bool,
    trace: Option<Trace>,
}

#[derive(Clone, Debug)]
enum Step {
    Yield,
    Pass(Gate),
    Cancelled,
}

#[derive(Clone, Debug)]
enum End {
    Return(Document),
    Fail(String),
    Panic(String),
}

impl MockTool {
    /// A tool of that name.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            steps: Vec::new(),
            end: End::Return(Document::null()),
            safe: false,
            trace: None,
        }
    }

    /// The body is pending this many times, and goes on by itself.
    #[must_use]
    pub fn yields(mut self, times: usize) -> Self {
        self.steps.extend(std::iter::repeat_n(Step::Yield, times));
        self
    }

    /// The body waits for the gate.
    #[must_use]
    pub fn passes(mut self, gate: &Gate) -> Self {
        self.steps.push(Step::Pass(gate.clone()));
        self
    }

    /// The body waits until it is cancelled.
    #[must_use]
    pub fn waits_for_signal(mut self) -> Self {
        self.steps.push(Step::Cancelled);
        self
    }

    /// The body returns this JSON text.
    ///
    /// # Panics
    ///
    /// Text that is not lossless JSON.
    #[must_use]
    pub fn returns(mut self, json: &str) -> Self {
        self.end = End::Return(Document::parse(json).expect("a mock returns JSON"));
        self
    }

    /// The body fails.
    #[must_use]
    pub fn fails(mut self, message: impl Into<String>) -> Self {
        self.end = End::Fail(message.into());
        self
    }

    /// The body panics.
    #[must_use]
    pub fn panics(mut self, message: impl Into<String>) -> Self {
        self.end = End::Panic(message.into());
        self
    }

    /// Calls may run beside others.
    #[must_use]
    pub fn concurrency_safe(mut self) -> Self {
        self.safe = true;
        self
    }

    /// Notes `<name>:start`, `<name>:end` and `<name>:lost`.
    #[must_use]
    pub fn noting(mut self, trace: &Trace) -> Self {
        self.trace = Some(trace.clone());
        self
    }

    /// The tool, and what it counts.
    ///
    /// # Errors
    ///
    /// As [`ToolBuilder::run`].
    pub fn build(self) -> Result<(Tool, Probe), RegistryError> {
        self.build_with(|builder| builder)
    }

    /// As [`build`](MockTool::build), with more declared.
    ///
    /// # Errors
    ///
    /// As [`ToolBuilder::run`].
    pub fn build_with(
        self,
        declare: impl FnOnce(Builder) -> Builder,
    ) -> Result<(Tool, Probe), RegistryError> {
        let Self {
            name,
            steps,
            end,
            safe,
            trace,
        } = self;
        let probe = Probe::default();
        let mut builder = Tool::new(name.as_str(), format!("The mock {name}."))
            .parameters(ParameterSpec::new())
            .returns(spec::json());
        if safe {
            builder = builder.concurrency_safe();
        }
        let counts = probe.clone();
        let tool = declare(builder).run(move |_, cx| {
            let visit = Visit::enter(&counts, &name, trace.clone());
            let (steps, end) = (steps.clone(), end.clone());
            async move {
                let result = act(steps, end, cx).await;
                visit.leave();
                result
            }
        })?;
        Ok((tool, probe))
    }
}

async fn act(steps: Vec<Step>, end: End, cx: RunContext) -> Result<Document, ToolError> {
    for step in steps {
        match step {
            Step::Yield => yield_once().await,
            Step::Pass(gate) => gate.pass().await,
            Step::Cancelled => {
                let _reason = cx.signal().cancelled().await;
            }
        }
    }
    match end {
        End::Return(value) => Ok(value),
        End::Fail(message) => Err(ToolError::new(message)),
        End::Panic(message) => panic!("{message}"),
    }
}

/// What the bodies of a [`MockTool`] went through.
#[derive(Clone, Debug, Default)]
pub struct Probe(Arc<Counts>);

#[derive(Default)]
struct Counts {
    calls: AtomicUsize,
    finished: AtomicUsize,
    lost: AtomicUsize,
    running: AtomicUsize,
    peak: AtomicUsize,
}

impl Probe {
    /// How many bodies were invoked.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.0.calls.load(Ordering::Acquire)
    }

    /// How many ran to their end; a panic is one.
    #[must_use]
    pub fn finished(&self) -> usize {
        self.0.finished.load(Ordering::Acquire)
    }

    /// How many were dropped before their end. The pipeline never does that.
    #[must_use]
    pub fn lost(&self) -> usize {
        self.0.lost.load(Ordering::Acquire)
    }

    /// How many run now.
    #[must_use]
    pub fn running(&self) -> usize {
        self.0.running.load(Ordering::Acquire)
    }

    /// How many ran at once, at most.
    #[must_use]
    pub fn peak(&self) -> usize {
        self.0.peak.load(Ordering::Acquire)
    }
}

impl fmt::Debug for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counts")
            .field("calls", &self.calls)
            .field("finished", &self.finished)
            .field("lost", &self.lost)
            .finish_non_exhaustive()
    }
}

/// A body between its start and its end.
struct Visit {
    probe: Probe,
    name: String,
    trace: Option<Trace>,
    left: bool,
}

impl Visit {
    fn enter(probe: &Probe, name: &str, trace: Option<Trace>) -> Self {
        let counts = &probe.0;
        counts.calls.fetch_add(1, Ordering::AcqRel);
        let running = counts.running.fetch_add(1, Ordering::AcqRel) + 1;
        counts.peak.fetch_max(running, Ordering::AcqRel);
        let visit = Self {
            probe: probe.clone(),
            name: name.to_owned(),
            trace,
            left: false,
        };
        visit.note("start");
        visit
    }

    fn leave(mut self) {
        self.left = true;
    }

    fn note(&self, what: &str) {
        if let Some(trace) = &self.trace {
            trace.note(format!("{}:{what}", self.name));
        }
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        let counts = &self.probe.0;
        counts.running.fetch_sub(1, Ordering::AcqRel);
        // A body that panics has ended, in its own way.
        if self.left || std::thread::panicking() {
            counts.finished.fetch_add(1, Ordering::AcqRel);
            self.note("end");
        } else {
            counts.lost.fetch_add(1, Ordering::AcqRel);
            self.note("lost");
        }
    }
}
