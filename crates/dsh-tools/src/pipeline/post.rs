//! Phases 9 and 10: the post-execute chain, and the signal for the last time.

use std::sync::Arc;

use super::body::cancelled_if;
use super::contract::admit_with_contexts;
use crate::chain::PostNext;
use crate::outcome::{Failure, FailureError};
use crate::{Execution, Outcome, PostDecision, Replacement, ToolError, Tools};

impl Tools {
    pub(super) async fn post(&self, execution: &Execution, outcome: Outcome) -> Outcome {
        let chain = {
            let tables = self.0.tables.read();
            if tables.post.is_empty() {
                return outcome;
            }
            tables.post.snapshot()
        };
        let result = Arc::new(outcome);
        let decision = PostNext::new(chain, execution.clone(), result.clone()).run().await;
        // A listener may have kept its handle; then the result is copied, never shared with what comes next.
        let outcome = Arc::try_unwrap(result).unwrap_or_else(|shared| (*shared).clone());
        match decision.and_then(|decision| self.apply(execution, outcome, decision)) {
            Ok(outcome) => cancelled_if(execution, outcome),
            Err(error) => Outcome::failure(error),
        }
    }

    fn apply(&self, execution: &Execution, mut outcome: Outcome, decision: PostDecision) -> Result<Outcome, ToolError> {
        match decision {
            PostDecision::Accept { replace, contexts } => {
                outcome = match replace {
                    None => outcome,
                    Some(Replacement::Content(content)) => {
                        outcome.set_content(content);
                        outcome
                    }
                    Some(Replacement::Value(value)) => {
                        let Outcome::Success(success) = outcome else {
                            return Err(ToolError::new("tools/post-execute cannot replace the value of a failed result"));
                        };
                        let name = execution.name();
                        let tool =
                            self.get(name, execution.agent()).ok_or_else(|| ToolError::unknown_tool(name))?;
                        admit_with_contexts(&tool, execution, value, success.contexts)?
                    }
                };
                outcome.contexts_mut().extend(contexts);
                Ok(outcome)
            }
            PostDecision::Block { feedback, contexts } => {
                let message = if feedback.is_blank() {
                    "tool result blocked by post-execute policy".into()
                } else {
                    feedback.summary().into()
                };
                let mut failure =
                    Failure::with_content(FailureError { message, info: None, retryable: false }, feedback);
                failure.contexts = contexts;
                Ok(Outcome::Failure(failure))
            }
        }
    }
}
