//! Phases 2 to 5: the pre-execute chain, approval, guards, and the signal once more.

use super::Stage;
use crate::chain::PreNext;
use crate::contain::contain;
use crate::{ApprovalOutcome, Execution, Outcome, PreDecision, Tools};

impl Tools {
    /// What comes of a call whose body must not run; `None` lets it run.
    pub(super) async fn policy(&self, execution: &Execution) -> Option<Stage> {
        let chain = {
            let tables = self.0.read();
            (!tables.pre.is_empty()).then(|| tables.pre.snapshot())
        };
        if let Some(chain) = chain {
            match PreNext::new(chain, execution.clone()).run().await {
                Ok(PreDecision::Allow) => {}
                Ok(PreDecision::Deny { reason }) => {
                    return Some(Stage::Post(Outcome::denied(reason)));
                }
                Ok(PreDecision::Ask { reason }) => {
                    // Boxed: few calls are asked about, and all would carry the question's future.
                    let refused = Box::pin(self.ask(execution, reason)).await;
                    if refused.is_some() {
                        return refused;
                    }
                }
                Err(error) => return Some(Stage::Final(Outcome::failure(error))),
            }
        }
        // Guards are looked up now: one that was registered during the chain counts, one that goes during their own
        // evaluation does not matter (D8).
        let guards = self.0.read().guards(execution.agent());
        for guard in guards {
            match contain(|| guard(execution)).and_then(|verdict| verdict) {
                Ok(None) => {}
                Ok(Some(denial)) => {
                    return Some(Stage::Post(Outcome::denied(denial.into_reason())));
                }
                Err(error) => return Some(Stage::Final(Outcome::failure(error))),
            }
        }
        execution
            .is_cancelled()
            .then(|| Stage::Post(Outcome::aborted(false)))
    }

    /// Asks about a call; `None` lets it go on to the guards.
    async fn ask(&self, execution: &Execution, reason: Option<String>) -> Option<Stage> {
        let name = execution.name();
        let deny = |reason: String| Some(Stage::Post(Outcome::denied(reason)));
        let Some(approvals) = self.approvals() else {
            return deny(reason.unwrap_or_else(|| {
                format!("tool \"{name}\" requires approval (not yet supported)")
            }));
        };
        let Some(agent) = execution.agent() else {
            return deny(format!(
                "tool \"{name}\" requires approval, but the call has no agent to route it through"
            ));
        };
        let tool = self.get(name, Some(agent));
        let asked = approvals
            .ask(
                execution,
                agent,
                tool.as_ref(),
                reason,
                self.0.config.host.as_ref(),
            )
            .await;
        let (outcome, ticket) = match asked {
            Ok(asked) => asked,
            Err(error) => return Some(Stage::Final(Outcome::failure(error))),
        };
        match outcome {
            ApprovalOutcome::AllowedOnce => {
                execution.grant(ticket.digest);
                None
            }
            ApprovalOutcome::Rejected => deny(format!("the user rejected tool \"{name}\"")),
            ApprovalOutcome::Cancelled if execution.is_cancelled() => {
                Some(Stage::Post(Outcome::aborted(false)))
            }
            ApprovalOutcome::Cancelled => {
                deny(format!("approval for tool \"{name}\" was cancelled"))
            }
            ApprovalOutcome::Unavailable => deny(format!(
                "tool \"{name}\" requires approval, but no approval channel is available"
            )),
        }
    }
}
