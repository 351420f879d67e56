//! Phases 0 and 1: identity, arguments, collapse, and the signal at the door.

use super::Stage;
use crate::registry::POLICY;
use crate::{Call, Execution, Outcome, ToolError, Tools};

/// How an admitted call goes on.
pub(super) enum Admitted {
    /// Straight to the body: nobody listens.
    Direct,
    /// Through every stage.
    Staged,
    /// Nowhere: this is its outcome (T122, T214).
    Over(Stage),
}

impl Tools {
    /// Takes what the call holds; what is left of it is empty.
    ///
    /// The order of the checks is that of T302: arguments, collapse, cancellation.
    pub(super) fn admit(&self, call: &mut Call) -> (Execution, Admitted) {
        let (lookup, version) = {
            let tables = self.0.read();
            (
                tables.resolve(&call.name, call.agent.as_ref(), self.0.config.mode),
                tables.version,
            )
        };
        let collapses = lookup.collapses(&call.name, call.parent);
        let execution = Execution::admit(call, lookup.tool, version);
        let admitted = if let Some(error) = execution.argument_error() {
            tracing::warn!(tool = execution.name(), call = %execution.id(), %error, "arguments are not lossless JSON");
            let failure =
                ToolError::new("tool execution arguments must be losslessly JSON-serializable");
            let outcome = Outcome::failure(failure);
            Admitted::Over(if collapses {
                Stage::Bare(outcome)
            } else {
                Stage::Final(outcome)
            })
        } else if execution.is_cancelled() || self.is_closed() {
            Admitted::Over(Stage::Final(Outcome::aborted(false)))
        } else if collapses {
            Admitted::Over(Stage::Bare(Outcome::failure(collapsed(execution.name()))))
        } else if !self.0.listens(POLICY) && self.0.config.journal.is_none() {
            Admitted::Direct
        } else {
            Admitted::Staged
        };
        (execution, admitted)
    }
}

fn collapsed(name: &str) -> ToolError {
    ToolError::coded(
        "ToolNotFoundError",
        crate::codes::UNKNOWN_TOOL,
        format!(
            "unknown tool \"{name}\": only `run_code` is callable directly — call `{name}` from inside a `run_code` program instead"
        ),
    )
}
