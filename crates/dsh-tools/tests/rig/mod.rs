//! One runtime with its instruments, as most tests here want it.
#![allow(dead_code, reason = "each test file uses a part")]
#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use dsh_context::{Fiber, Scope};
use dsh_schema::Document;
use dsh_schema::spec::{self, ParameterSpec};
use dsh_testkit::{Invariants, ManualSpawner, MockTool, Probe, Trace, block_on, yield_once};
use dsh_tools::{
    Call, Canceller, Content, ContextMessage, Denial, Execution, Outcome, Receiver, Registration,
    RegistryError, RunContext, Settled, Signal, Tool, ToolError, Tools, ToolsConfig,
};

/// A runtime whose dropped calls wait in `spawner` until the test runs them.
pub(crate) struct Rig {
    pub(crate) fiber: Fiber,
    pub(crate) tools: Tools,
    pub(crate) trace: Trace,
    pub(crate) spawner: ManualSpawner,
    pub(crate) invariants: Invariants,
}

impl Rig {
    pub(crate) fn new() -> Self {
        Self::configured(ToolsConfig::default())
    }

    /// With this configuration, whose spawner is the rig's unless it names one.
    pub(crate) fn configured(mut config: ToolsConfig) -> Self {
        let (fiber, spawner) = (Fiber::root("test"), ManualSpawner::new());
        config
            .spawner
            .get_or_insert_with(|| Arc::new(spawner.clone()));
        let tools = Tools::new(config);
        let invariants = Invariants::watch(&tools.global(&fiber)).unwrap();
        Self {
            fiber,
            tools,
            trace: Trace::new(),
            spawner,
            invariants,
        }
    }

    pub(crate) fn global(&self) -> Receiver {
        self.tools.global(&self.fiber)
    }

    pub(crate) fn register(&self, tool: Tool) -> Registration {
        self.global().register(tool).unwrap()
    }

    /// Registers a mock and returns what it counts.
    pub(crate) fn mock(&self, tool: MockTool) -> Probe {
        let (tool, probe) = tool.noting(&self.trace).build().unwrap();
        self.register(tool);
        probe
    }

    /// Runs a call of `name` with empty arguments to its end.
    pub(crate) fn run(&self, name: &str) -> Settled {
        self.execute(call(name))
    }

    pub(crate) fn execute(&self, call: Call) -> Settled {
        block_on(self.tools.execute(call))
    }

    /// A call whose signal the test fires.
    pub(crate) fn cancellable(&self, name: &str) -> (Canceller, Call) {
        let (canceller, signal) = Signal::pair();
        (canceller, Call::new("c1", name, "{}", signal))
    }

    /// The registry works as if nothing had happened: a fresh tool registers, runs, shows and goes.
    #[track_caller]
    pub(crate) fn assert_usable(&self) {
        let (tool, probe) = MockTool::new("still-here")
            .returns("\"yes\"")
            .build()
            .unwrap();
        let registration = self.register(tool);
        assert!(
            self.tools
                .schemas(None)
                .iter()
                .any(|schema| schema.name() == "still-here")
        );
        let settled = self.run("still-here");
        assert_eq!(text_of(&settled), "yes");
        assert_eq!((probe.finished(), probe.lost()), (1, 0));
        registration.dispose();
        assert!(self.tools.get("still-here", None).is_none());
    }
}

pub(crate) fn call(name: &str) -> Call {
    Call::new("c1", name, "{}", Signal::never())
}

/// A tool with open arguments and any output.
pub(crate) fn tool<F, Fut>(name: &str, body: F) -> Tool
where
    F: Fn(Document, RunContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Document, ToolError>> + Send + 'static,
{
    Tool::new(name, format!("The tool {name}."))
        .parameters(ParameterSpec::new())
        .returns(spec::json())
        .run(body)
        .unwrap()
}

/// A tool that returns its own name.
pub(crate) fn named(name: &str) -> Tool {
    let text = name.to_owned();
    tool(name, move |_, _| {
        let text = text.clone();
        async move { Ok(Document::string(text)) }
    })
}

pub(crate) fn json(text: &str) -> Document {
    Document::parse(text).unwrap()
}

/// What the model reads, as one text.
pub(crate) fn text_of(outcome: &Outcome) -> String {
    outcome.content().summary()
}

pub(crate) fn code_of(outcome: &Outcome) -> Option<&str> {
    outcome.code()
}

pub(crate) fn context(text: &str) -> ContextMessage {
    ContextMessage::plugin(format!("id-{text}"), "test", text)
}

pub(crate) fn contexts_of(outcome: &Outcome) -> Vec<String> {
    outcome
        .contexts()
        .iter()
        .map(|context| context.content.summary())
        .collect()
}

/// Listeners in every stage, each of which is pending once on both sides of what is inside of it.
pub(crate) fn yield_in_every_stage(receiver: &Receiver) -> Result<(), RegistryError> {
    receiver.on_pre_execute(|_, next| async move {
        yield_once().await;
        let decision = next.run().await;
        yield_once().await;
        decision
    })?;
    receiver.guard(|_: &Execution| None::<Denial>)?;
    receiver.on_execute(|_, next| async move {
        yield_once().await;
        let attempt = next.run().await?;
        yield_once().await;
        Ok(attempt.into())
    })?;
    receiver.on_post_execute(|_, _, next| async move {
        yield_once().await;
        let decision = next.run().await;
        yield_once().await;
        decision
    })?;
    Ok(())
}

/// Runs a test that could deadlock on a thread of its own, and fails it instead of hanging.
#[track_caller]
pub(crate) fn without_deadlock(test: impl FnOnce() + Send + 'static) {
    let (done, finished) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        test();
        done.send(()).unwrap();
    });
    match finished.recv_timeout(Duration::from_secs(30)) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("deadlock"),
        // A panic of the test is the test's result.
        Ok(()) | Err(mpsc::RecvTimeoutError::Disconnected) => {
            if let Err(payload) = thread.join() {
                std::panic::resume_unwind(payload);
            }
        }
    }
}

pub(crate) fn scope(label: &str) -> Scope {
    Scope::new(label)
}

/// Content of one text block.
pub(crate) fn content(text: &str) -> Content {
    Content::text(text)
}
