//! Puts a runtime together: workspace, tools and the policy that holds until permission rules exist.

use std::path::Path;
use std::sync::Arc;

use dsh_context::{Fiber, Scope};
use dsh_tools::{
    Effect, Execution, PreDecision, PreNext, RUN_CODE, RegistryError, Tool, ToolError, Tools,
    ToolsConfig,
};
use dsh_workspace::Workspace;

use crate::exit::Failure;

/// A runtime and what keeps it: one process is one agent (D36).
pub(crate) struct Runtime {
    pub(crate) tools: Tools,
    pub(crate) agent: Scope,
    pub(crate) workspace: Arc<Workspace>,
    fiber: Fiber,
}

impl Runtime {
    /// The tools of this binary over the directory `root`, on the current tokio runtime.
    pub(crate) fn open(root: &Path) -> Result<Self, Failure> {
        let workspace = Workspace::open(root).map_err(|error| {
            Failure::usage(format!("{error}; name a directory that exists with -C"))
        })?;
        let spawner = Arc::new(dsh_tools::TokioSpawner::current());
        let runtime = Self {
            tools: Tools::new(ToolsConfig {
                spawner: Some(spawner),
                ..ToolsConfig::default()
            }),
            agent: Scope::new("dsh"),
            workspace: Arc::new(workspace),
            fiber: Fiber::root("dsh"),
        };
        runtime
            .compose()
            .map_err(|error| Failure::failed(format!("cannot compose the tools: {error}")))?;
        Ok(runtime)
    }

    /// Waits for what is still on its way, and takes everything back.
    pub(crate) async fn close(self) {
        self.tools.close().await;
        self.agent.dispose().await;
        self.fiber.dispose().await;
    }

    /// The lifetime of what a command adds.
    pub(crate) fn fiber(&self) -> &Fiber {
        &self.fiber
    }

    fn compose(&self) -> Result<(), RegistryError> {
        let global = self.tools.global(&self.fiber);
        for tool in shipped(&self.workspace)? {
            global.register(tool)?;
        }
        global.on_pre_execute(only_reading)?;
        Ok(())
    }
}

/// The tools of this binary.
pub(crate) fn shipped(workspace: &Arc<Workspace>) -> Result<Vec<Tool>, RegistryError> {
    let search = dsh_fs::SearchConfig::sampled(true);
    Ok(vec![
        dsh_fs::read(workspace.clone(), dsh_fs::ReadConfig::default())?,
        dsh_fs::glob(workspace.clone(), search)?,
        dsh_fs::grep(workspace.clone(), search)?,
    ])
}

/// Tools that only look may run; others need a permission that cannot be given yet. A program needs none: each of its calls
/// comes here by itself (D37).
async fn only_reading(execution: Execution, next: PreNext) -> Result<PreDecision, ToolError> {
    match execution.tool() {
        Some(tool) if tool.name() != RUN_CODE && tool.effect() != Effect::ReadOnly => {
            Ok(PreDecision::deny(format!(
                "tool \"{}\" is not read-only, and there is no permission rule that allows it",
                execution.name()
            )))
        }
        _ => next.run().await,
    }
}

#[cfg(test)]
mod tests {
    use dsh_schema::Document;
    use dsh_schema::spec::{self, ParameterSpec};
    use dsh_tools::{Call, Signal};

    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn a_tool_that_acts_is_refused_and_one_that_looks_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let runtime = Runtime::open(directory.path()).unwrap();
        let tool = |name: &'static str, effect| {
            Tool::new(name, "A tool.")
                .parameters(ParameterSpec::new())
                .returns(spec::string())
                .effect(effect)
                .run(|_, _| async { Ok(Document::string("ran")) })
                .unwrap()
        };
        let global = runtime.tools.global(&runtime.fiber);
        global.register(tool("acts", Effect::Once)).unwrap();
        global
            .register(tool("repeats", Effect::Idempotent))
            .unwrap();
        global.register(tool("looks", Effect::ReadOnly)).unwrap();
        let content = async |name: &str| {
            let settled = runtime
                .tools
                .execute(Call::new("c", name, "{}", Signal::never()).agent(&runtime.agent))
                .await;
            settled.content().summary()
        };
        let refusal = |name| {
            format!(
                "Error: tool \"{name}\" is not read-only, and there is no permission rule that allows it"
            )
        };
        assert_eq!(content("acts").await, refusal("acts"));
        assert_eq!(content("repeats").await, refusal("repeats"));
        assert_eq!(content("looks").await, "ran");
    }
}
