//! Tool schemas that go into a request.

use std::sync::Arc;

use dsh_tools::{ToolSchema, Tools};

use crate::{AssembleContext, PromptError};

/// What one provider contributes to an assembly (L64).
#[derive(Clone, Debug, Default)]
pub struct ToolContribution {
    /// The schemas of the tools that are visible.
    pub schemas: Vec<ToolSchema>,
    /// The names that exist before restriction; `None` means those of the schemas.
    pub known: Option<Vec<Arc<str>>>,
}

/// Gives tool schemas to an assembly.
pub type ToolProvider =
    dyn Fn(&AssembleContext) -> Result<ToolContribution, PromptError> + Send + Sync;

/// What a registry announces to a scope in its presentation mode.
///
/// # Examples
///
/// ```
/// use dsh_context::Fiber;
/// use dsh_prompt::{Prompt, PromptConfig, announced};
/// use dsh_tools::{Tools, ToolsConfig};
///
/// let fiber = Fiber::root("app");
/// let tools = Tools::new(ToolsConfig::default());
/// let prompt = Prompt::new(PromptConfig::default());
/// prompt.global(&fiber).tools(announced(&tools))?;
/// # Ok::<(), dsh_prompt::PromptError>(())
/// ```
pub fn announced(
    tools: &Tools,
) -> impl Fn(&AssembleContext) -> Result<ToolContribution, PromptError> + Send + Sync + use<> {
    let tools = tools.clone();
    move |cx| {
        let schemas = tools.view(cx.scope()).announced();
        Ok(ToolContribution {
            schemas,
            known: Some(tools.known_names(cx.scope())),
        })
    }
}
