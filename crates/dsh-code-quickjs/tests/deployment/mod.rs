//! A registry with Code Mode and the real runtime in it.

#![allow(dead_code, reason = "each test binary uses its part")]

use std::sync::Arc;

use dsh_code::{
    CodeConfig, CodeDispatch, CodeDispatchSink, CodeDispatchStart, CodeMode, CodeRuntime,
};
use dsh_code_quickjs::QuickJs;
use dsh_context::{Fiber, Scope};
use dsh_prompt::{Prompt, PromptConfig};
use dsh_schema::Document;
use dsh_tools::{
    Call, Mode, RUN_CODE, Receiver, Signal, TokioSpawner, Tool, ToolError, Tools, ToolsConfig,
};
use parking_lot::Mutex;
use serde_json::{Value, json};

/// Keeps what is logged of the calls of programs.
#[derive(Clone, Default)]
pub(crate) struct Log(pub(crate) Arc<Mutex<Vec<Value>>>);

impl Log {
    fn keep(&self, kind: &str, data: Result<Value, serde_json::Error>) -> Result<(), ToolError> {
        let data = data.map_err(|error| ToolError::new(error.to_string()))?;
        self.0.lock().push(json!({ "type": kind, "data": data }));
        Ok(())
    }
}

impl CodeDispatchSink for Log {
    fn started(&self, _: &Scope, start: &CodeDispatchStart) -> Result<(), ToolError> {
        self.keep("tool/code-dispatch-start", serde_json::to_value(start))
    }

    fn settled(&self, _: &Scope, dispatch: &CodeDispatch) -> Result<(), ToolError> {
        self.keep("tool/code-dispatch", serde_json::to_value(dispatch))
    }
}

/// One deployment whose only direct tool is `run_code`. Its calls are those of one agent.
pub(crate) struct Deployment {
    pub(crate) fiber: Fiber,
    pub(crate) tools: Tools,
    pub(crate) code: CodeMode,
    pub(crate) agent: Scope,
    pub(crate) log: Log,
}

impl Deployment {
    /// On a task of a tokio runtime, which dropped calls are drained on.
    pub(crate) fn new(runtime: &Arc<QuickJs>) -> Self {
        Self::with(runtime, CodeConfig::default())
    }

    pub(crate) fn with(runtime: &Arc<QuickJs>, config: CodeConfig) -> Self {
        let fiber = Fiber::root("test");
        let tools = Tools::new(ToolsConfig {
            mode: Mode::Code,
            spawner: Some(Arc::new(TokioSpawner::current())),
            ..ToolsConfig::default()
        });
        let log = Log::default();
        let config = CodeConfig {
            sink: Some(Arc::new(log.clone())),
            ..config
        };
        let prompt = Prompt::new(PromptConfig::default());
        let code = CodeMode::mount(&fiber, &tools, &prompt, config).unwrap();
        let runtime: Arc<dyn CodeRuntime> = Arc::<QuickJs>::clone(runtime);
        code.mount_runtime(&fiber, runtime).unwrap();
        Self {
            fiber,
            tools,
            code,
            agent: Scope::new("agent"),
            log,
        }
    }

    pub(crate) fn global(&self) -> Receiver {
        self.tools.global(&self.fiber)
    }

    pub(crate) fn register(&self, tool: Tool) {
        self.global().register(tool).unwrap();
    }

    /// A call of `run_code`.
    pub(crate) fn program(&self, id: &str, program: &str, signal: Signal) -> Call {
        let arguments = json!({ "code": program, "description": "a test" });
        let arguments = Document::from_value(&arguments).unwrap();
        Call::new(id, RUN_CODE, arguments, signal).agent(&self.agent)
    }
}
