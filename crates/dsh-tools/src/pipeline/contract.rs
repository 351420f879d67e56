//! The output contract (chapter 10): from a value to a success, or to `INVALID_TOOL_OUTPUT`.

use std::sync::Arc;

use dsh_schema::Document;

use crate::tool::MetaError;
use crate::{ContextMessage, Execution, Outcome, Success, Tool, ToolError};

/// Puts a value through the contract of `tool`: validation, rendering, and the card's data for calls that are not
/// nested (T251). Body values, wrappers' values and replacement values all come this way (T388).
pub(super) fn admit_value(
    tool: &Tool,
    execution: &Execution,
    value: Document,
) -> Result<Arc<Outcome>, ToolError> {
    let invalid = |violation: String| ToolError::invalid_output(tool.name(), vec![violation]);
    if !tool.output().is_valid(value.root()) {
        return Err(ToolError::invalid_output(
            tool.name(),
            tool.output().violations(value.root(), "value"),
        ));
    }
    // Wrappers, bodies and post-execute run only on calls whose arguments were materialised.
    let Some(arguments) = execution.arguments() else {
        return Err(invalid(
            "output.render failed: the call has no arguments".to_owned(),
        ));
    };
    let content = tool
        .render(arguments.root(), value.root())
        .map_err(|error| invalid(format!("output.render failed: {error}")))?;
    let meta = match execution.parent() {
        Some(_) => None,
        None => tool
            .project_meta(arguments.root(), value.root())
            .transpose()
            .map_err(|error| {
                invalid(match error {
                    MetaError::Failed(error) => format!("output.presentationMeta failed: {error}"),
                    MetaError::Lossy => {
                        "output.presentationMeta returned non-lossless JSON".to_owned()
                    }
                })
            })?,
    };
    let mut success = Success::new(value, content);
    success.meta = meta.map(Box::new);
    Ok(Arc::new(Outcome::Success(success)))
}

/// As [`admit_value`], with contexts that travel along.
pub(super) fn admit_with_contexts(
    tool: &Tool,
    execution: &Execution,
    value: Document,
    contexts: Vec<ContextMessage>,
) -> Result<Arc<Outcome>, ToolError> {
    let mut outcome = admit_value(tool, execution, value)?;
    *Arc::make_mut(&mut outcome).contexts_mut() = contexts;
    Ok(outcome)
}
