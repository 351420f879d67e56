//! A deployment with Code Mode and a runtime that runs Rust.

#![allow(dead_code, reason = "each test file uses its part")]

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dsh_code::{
    CodeConfig, CodeDispatch, CodeDispatchSink, CodeDispatchStart, CodeMode, RunEnvelope,
    RunObserver,
};
use dsh_context::{Fiber, Scope};
use dsh_prompt::{AssembleContext, Assembly, Prompt, PromptConfig, PromptError};
use dsh_testkit::{FakeEnd, FakeProgram, FakeRuntime, MockTool, Probe, Trace, block_on};
use dsh_tools::{
    Call, Execution, Mode, RUN_CODE, Settled, Signal, Tool, ToolError, Tools, ToolsConfig,
};
use parking_lot::Mutex;
use serde_json::{Value, json};

/// Keeps what is logged, and refuses when told to.
#[derive(Clone, Default)]
pub(crate) struct Log {
    pub(crate) events: Arc<Mutex<Vec<Value>>>,
    pub(crate) refuse: Arc<Mutex<Option<&'static str>>>,
    /// Refuses the events of this call only.
    pub(crate) refuse_call: Arc<Mutex<Option<&'static str>>>,
    /// The same events as notes, for tests that add their own.
    pub(crate) trace: Trace,
}

impl Log {
    fn keep(&self, kind: &'static str, data: Value) -> Result<(), ToolError> {
        let call = data["subCallId"].as_str().unwrap();
        let meant = self
            .refuse_call
            .lock()
            .is_none_or(|refused| refused == call);
        if *self.refuse.lock() == Some(kind) && meant {
            return Err(ToolError::new(format!("the log does not take {kind}")));
        }
        self.trace.note(format!("{kind} {call}"));
        self.events
            .lock()
            .push(json!({ "type": kind, "data": data }));
        Ok(())
    }

    /// `start:<id>` and `settle:<id>`, with `!` behind a settlement that is an error.
    pub(crate) fn summary(&self) -> Vec<String> {
        let line = |event: &Value| {
            let id = event["data"]["subCallId"].as_str().unwrap();
            if event["type"] == "tool/code-dispatch-start" {
                format!("start:{id}")
            } else {
                format!(
                    "settle:{id}{}",
                    if event["data"]["isError"] == true {
                        "!"
                    } else {
                        ""
                    }
                )
            }
        };
        self.events.lock().iter().map(line).collect()
    }
}

impl CodeDispatchSink for Log {
    fn started(&self, agent: &Scope, start: &CodeDispatchStart) -> Result<(), ToolError> {
        assert_eq!(agent.label(), "agent");
        self.keep(
            "tool/code-dispatch-start",
            serde_json::to_value(start).unwrap(),
        )
    }

    fn settled(&self, agent: &Scope, dispatch: &CodeDispatch) -> Result<(), ToolError> {
        assert_eq!(agent.label(), "agent");
        self.keep(
            "tool/code-dispatch",
            serde_json::to_value(dispatch).unwrap(),
        )
    }
}

/// Keeps envelopes and printed lines.
#[derive(Clone, Default)]
pub(crate) struct Watch {
    pub(crate) envelopes: Arc<Mutex<Vec<RunEnvelope>>>,
    pub(crate) lines: Arc<Mutex<Vec<String>>>,
    pub(crate) panics: Arc<AtomicBool>,
}

impl RunObserver for Watch {
    fn finished(&self, _: &Execution, envelope: &RunEnvelope) {
        self.envelopes.lock().push(envelope.clone());
        assert!(!self.panics.load(Ordering::Acquire), "an observer breaks");
    }

    fn printed(&self, _: &Execution, line: &str) {
        self.lines.lock().push(line.to_owned());
        assert!(!self.panics.load(Ordering::Acquire), "an observer breaks");
    }
}

pub(crate) struct World {
    pub(crate) fiber: Fiber,
    pub(crate) tools: Tools,
    pub(crate) prompt: Prompt,
    pub(crate) code: CodeMode,
    pub(crate) agent: Scope,
    pub(crate) log: Log,
    pub(crate) watch: Watch,
}

impl World {
    /// Without a runtime.
    pub(crate) fn bare(mode: Mode) -> Self {
        Self::with(mode, CodeConfig::default(), PromptConfig::default())
    }

    pub(crate) fn with(mode: Mode, config: CodeConfig, prompt: PromptConfig) -> Self {
        let fiber = Fiber::root("test");
        let tools = Tools::new(ToolsConfig {
            mode,
            ..ToolsConfig::default()
        });
        let prompt = Prompt::new(prompt);
        let (log, watch) = (Log::default(), Watch::default());
        let config = CodeConfig {
            sink: Some(Arc::new(log.clone())),
            observer: Some(Arc::new(watch.clone())),
            ..config
        };
        let code = CodeMode::mount(&fiber, &tools, &prompt, config).unwrap();
        Self {
            fiber,
            tools,
            prompt,
            code,
            agent: Scope::new("agent"),
            log,
            watch,
        }
    }

    /// A deployment whose mode is `code` and whose programs are this closure.
    pub(crate) fn running<F, Fut>(script: F) -> Self
    where
        F: Fn(FakeProgram) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = FakeEnd> + Send + 'static,
    {
        Self::running_with(CodeConfig::default(), script)
    }

    pub(crate) fn running_with<F, Fut>(config: CodeConfig, script: F) -> Self
    where
        F: Fn(FakeProgram) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = FakeEnd> + Send + 'static,
    {
        let world = Self::with(Mode::Code, config, PromptConfig::default());
        world.mount(FakeRuntime::new(script));
        world
    }

    pub(crate) fn mount(&self, runtime: FakeRuntime) -> dsh_code::Registration {
        self.code
            .mount_runtime(&self.fiber, Arc::new(runtime))
            .unwrap()
    }

    pub(crate) fn tool(&self, tool: MockTool) -> Probe {
        let (tool, probe) = tool.build().unwrap();
        self.register(tool);
        probe
    }

    pub(crate) fn register(&self, tool: Tool) -> dsh_tools::Registration {
        self.tools.global(&self.fiber).register(tool).unwrap()
    }

    pub(crate) fn call(&self, signal: Signal) -> Call {
        Call::new("k7", RUN_CODE, ARGUMENTS, signal).agent(&self.agent)
    }

    pub(crate) fn run(&self) -> Settled {
        block_on(self.tools.execute(self.call(Signal::never())))
    }

    pub(crate) fn assemble(&self, scope: Option<&Scope>) -> Result<Assembly, PromptError> {
        let cx = scope.map_or_else(AssembleContext::global, AssembleContext::of);
        block_on(self.prompt.assemble(cx))
    }
}

pub(crate) const ARGUMENTS: &str = r#"{"code":"the program","description":"Do it"}"#;

/// The text of the only block.
#[track_caller]
pub(crate) fn text(settled: &Settled) -> &str {
    assert_eq!(settled.content().len(), 1, "{settled:?}");
    settled.content()[0].as_text().unwrap()
}

pub(crate) fn value(settled: &Settled) -> Value {
    settled
        .value()
        .unwrap_or_else(|| panic!("{settled:?}"))
        .to_value()
}
