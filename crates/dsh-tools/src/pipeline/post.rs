//! Phases 9 and 10: the post-execute chain, and the signal for the last time.

use std::sync::Arc;

use super::body::cancelled_if;
use super::contract::admit_with_contexts;
use crate::chain::PostNext;
use crate::outcome::{Failure, FailureError};
use crate::registry::POST;
use crate::{Execution, Outcome, PostDecision, Replacement, ToolError, Tools};

impl Tools {
    pub(super) async fn post(&self, execution: &Execution, result: Arc<Outcome>) -> Arc<Outcome> {
        let chain = {
            if !self.0.listens(POST) {
                // On a lane a result waits for the commits before it; the signal counts until then (T293).
                return cancelled_if(execution, result);
            }
            self.0.read().post.snapshot()
        };
        let decision = PostNext::new(chain, execution.clone(), result.clone())
            .run()
            .await;
        match decision.and_then(|decision| self.apply(execution, result, decision)) {
            Ok(outcome) => cancelled_if(execution, outcome),
            Err(error) => Outcome::failure(error),
        }
    }

    fn apply(
        &self,
        execution: &Execution,
        mut outcome: Arc<Outcome>,
        decision: PostDecision,
    ) -> Result<Arc<Outcome>, ToolError> {
        match decision {
            PostDecision::Accept { replace, contexts } => {
                match replace {
                    None => {}
                    // A listener may have kept its handle; then what changes is a copy.
                    Some(Replacement::Content(content)) => {
                        Arc::make_mut(&mut outcome).set_content(content)
                    }
                    Some(Replacement::Value(value)) => {
                        let Outcome::Success(success) = &*outcome else {
                            return Err(ToolError::new(
                                "tools/post-execute cannot replace the value of a failed result",
                            ));
                        };
                        let name = execution.name();
                        let tool = self
                            .get(name, execution.agent())
                            .ok_or_else(|| ToolError::unknown_tool(name))?;
                        outcome = admit_with_contexts(
                            &tool,
                            execution,
                            *value,
                            success.contexts.clone(),
                        )?;
                    }
                }
                if !contexts.is_empty() {
                    Arc::make_mut(&mut outcome).contexts_mut().extend(contexts);
                }
                Ok(outcome)
            }
            PostDecision::Block { feedback, contexts } => {
                let message = if feedback.is_blank() {
                    "tool result blocked by post-execute policy".into()
                } else {
                    feedback.summary().into()
                };
                let mut failure = Failure::with_content(
                    FailureError {
                        message,
                        info: None,
                        retryable: false,
                    },
                    feedback,
                );
                failure.contexts = contexts;
                Ok(Arc::new(Outcome::Failure(failure)))
            }
        }
    }
}
