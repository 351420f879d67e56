//! The approval seam: what happens between `ask` and an answer (chapter 5 of the registry specification).
//!
//! A mounted [`Approvals`] is looked up at the moment of the ask; without one an ask is a denial (T264, T265). The seam
//! itself sees to cancellation, to the session's policy and to the audit pair (T279–T282), so that an [`Approver`] only
//! has to answer.

mod pending;
mod ticket;

use std::sync::Arc;
use std::time::Duration;

use dsh_context::Scope;
use serde::{Deserialize, Deserializer, Serialize};

pub use pending::{AnswerError, ApprovalAnswer, PendingApprovals};
pub use ticket::ApprovalTicket;
pub(crate) use ticket::digest;

use crate::card::CallView;
use crate::contain::{Contained, contain};
use crate::{BoxFuture, Execution, Host, Signal, Tool, ToolError};

/// How a question ended. There is no outcome that grants more than one call (T278).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalOutcome {
    /// This one call may run.
    AllowedOnce,
    /// A person said no.
    Rejected,
    /// The question was withdrawn.
    Cancelled,
    /// Nobody could be asked.
    Unavailable,
}

impl ApprovalOutcome {
    /// The outcome of that name; whatever is not in the vocabulary grants nothing (T276).
    #[must_use]
    pub fn from_wire(name: &str) -> Self {
        match name {
            "allowed-once" => Self::AllowedOnce,
            "rejected" => Self::Rejected,
            "cancelled" => Self::Cancelled,
            _ => Self::Unavailable,
        }
    }

    /// The outcome's name in logs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AllowedOnce => "allowed-once",
            Self::Rejected => "rejected",
            Self::Cancelled => "cancelled",
            Self::Unavailable => "unavailable",
        }
    }
}

impl<'de> Deserialize<'de> for ApprovalOutcome {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from_wire(&String::deserialize(deserializer)?))
    }
}

/// One question (T268). It holds no arguments; the card shows what a person has to know.
#[derive(Clone, Debug)]
pub struct ApprovalRequest {
    /// What is asked, as plain data.
    pub ticket: ApprovalTicket,
    /// On whose behalf.
    pub agent: Scope,
    /// Why policy asks, if it said.
    pub reason: Option<String>,
    /// What withdraws the question.
    pub signal: Signal,
    /// The call's card, if its tool draws one.
    pub card: Option<CallView>,
}

/// Answers questions.
pub trait Approver: Send + Sync {
    /// Answers, or leaves the question to the next approver with `None`.
    ///
    /// # Errors
    ///
    /// The approver failed, which counts as `unavailable` (T280).
    ///
    /// # Cancellation
    ///
    /// The future is dropped when the question is withdrawn; the seam may ask again with the same ticket later.
    fn request(
        &self,
        request: ApprovalRequest,
    ) -> BoxFuture<'static, Result<Option<ApprovalOutcome>, ToolError>>;
}

/// Whether questions are asked at all (T281).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalPolicy {
    /// Approvers are asked.
    #[default]
    Ask,
    /// Every question is rejected before anybody is asked.
    Never,
}

/// Takes the two audit records of a question (T282).
pub trait ApprovalSink: Send + Sync {
    /// A question is about to be asked.
    ///
    /// # Errors
    ///
    /// The record is refused, for instance because no turn is open; nobody is asked and the call fails.
    fn asked(&self, request: &ApprovalRequest) -> Result<(), ToolError>;

    /// The question ended.
    ///
    /// # Errors
    ///
    /// The record is refused; the call fails rather than act on a decision that no log has.
    fn decided(&self, ticket: &ApprovalTicket, outcome: ApprovalOutcome) -> Result<(), ToolError>;
}

/// A mounted approval service.
#[derive(Clone)]
pub struct Approvals {
    approvers: Arc<[Arc<dyn Approver>]>,
    sink: Option<Arc<dyn ApprovalSink>>,
    policy: ApprovalPolicy,
    expires_after: Option<Duration>,
}

impl Approvals {
    /// Asks these approvers in order until one answers.
    pub fn new(approvers: impl IntoIterator<Item = Arc<dyn Approver>>) -> Self {
        Self {
            approvers: approvers.into_iter().collect(),
            sink: None,
            policy: ApprovalPolicy::Ask,
            expires_after: None,
        }
    }

    /// Records each question and its end.
    #[must_use]
    pub fn with_sink(mut self, sink: Arc<dyn ApprovalSink>) -> Self {
        self.sink = Some(sink);
        self
    }

    /// Sets the session's policy.
    #[must_use]
    pub fn with_policy(mut self, policy: ApprovalPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Lets a grant lapse that comes later than this after its question, on the host's clock.
    #[must_use]
    pub fn expiring_after(mut self, limit: Duration) -> Self {
        self.expires_after = Some(limit);
        self
    }

    /// Asks about one call.
    ///
    /// # Errors
    ///
    /// The audit refused a record.
    pub(crate) async fn ask(
        &self,
        execution: &Execution,
        agent: &Scope,
        tool: Option<&Tool>,
        reason: Option<String>,
        host: Option<&Arc<dyn Host>>,
    ) -> Result<(ApprovalOutcome, ApprovalTicket), ToolError> {
        let now = |host: &Arc<dyn Host>| host.now_ms();
        let expires_at_ms = self.expires_after.zip(host).map(|(limit, host)| {
            now(host).saturating_add(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX))
        });
        let ticket = ApprovalTicket::of(execution, tool, expires_at_ms);
        let card = tool
            .zip(execution.arguments())
            .and_then(|(tool, arguments)| tool.present_call(arguments));
        let request = ApprovalRequest {
            ticket: ticket.clone(),
            agent: agent.clone(),
            reason,
            signal: Signal::of_call(execution),
            card,
        };
        if let Some(sink) = &self.sink {
            contain(|| sink.asked(&request))??;
        }
        let mut outcome = self.decide(request).await;
        let lapsed = ticket
            .expires_at_ms
            .zip(host)
            .is_some_and(|(limit, host)| now(host) > limit);
        if outcome == ApprovalOutcome::AllowedOnce && lapsed {
            outcome = ApprovalOutcome::Unavailable;
        }
        if let Some(sink) = &self.sink {
            contain(|| sink.decided(&ticket, outcome))??;
        }
        Ok((outcome, ticket))
    }

    async fn decide(&self, request: ApprovalRequest) -> ApprovalOutcome {
        let signal = request.signal.clone();
        if signal.is_cancelled() {
            return ApprovalOutcome::Cancelled;
        }
        if self.policy == ApprovalPolicy::Never {
            return ApprovalOutcome::Rejected;
        }
        for approver in self.approvers.iter() {
            let request = request.clone();
            let answer = match contain(|| approver.request(request)) {
                Ok(answer) => Contained::new(answer),
                Err(_) => return ApprovalOutcome::Unavailable,
            };
            let withdrawn = std::pin::pin!(signal.cancelled());
            let answer = match futures_util::future::select(answer, withdrawn).await {
                futures_util::future::Either::Left((answer, _)) => answer,
                // A late answer is discarded with its future (T279).
                futures_util::future::Either::Right(_) => return ApprovalOutcome::Cancelled,
            };
            match answer {
                Ok(Some(_)) if signal.is_cancelled() => return ApprovalOutcome::Cancelled,
                Ok(Some(outcome)) => return outcome,
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(error = error.message(), "an approver failed");
                    return ApprovalOutcome::Unavailable;
                }
            }
        }
        ApprovalOutcome::Unavailable
    }
}
