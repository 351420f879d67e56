//! Approvers that say what they are told, and a sink that keeps what it hears.

use std::collections::VecDeque;
use std::sync::Arc;

use dsh_tools::{
    ApprovalOutcome, ApprovalRequest, ApprovalSink, ApprovalTicket, Approver, BoxFuture, Canceller,
    Reason, ToolError,
};
use parking_lot::Mutex;

use crate::{Gate, Trace};

/// One answer of a [`ScriptedApprover`].
#[derive(Clone, Debug)]
pub enum Answer {
    /// This outcome, at once.
    Say(ApprovalOutcome),
    /// Leaves the question to the next approver.
    Pass,
    /// Fails.
    Fail(String),
    /// Panics.
    Panic(String),
    /// This outcome, once the gate is open.
    When(Gate, ApprovalOutcome),
    /// Cancels the call first, then answers all the same.
    Cancelling(Canceller, ApprovalOutcome),
}

/// An approver that answers from a list, and passes when the list is used up.
///
/// # Examples
///
/// ```
/// use dsh_testkit::{Answer, ScriptedApprover};
/// use dsh_tools::ApprovalOutcome;
///
/// let approver = ScriptedApprover::new([Answer::Say(ApprovalOutcome::Rejected)]);
/// let approvals = approver.clone().into_approvals();
/// # drop(approvals);
/// assert!(approver.requests().is_empty());
/// ```
#[derive(Clone, Debug, Default)]
pub struct ScriptedApprover(Arc<Mutex<Script>>);

#[derive(Debug, Default)]
struct Script {
    answers: VecDeque<Answer>,
    requests: Vec<ApprovalRequest>,
    trace: Option<Trace>,
}

impl ScriptedApprover {
    /// An approver with these answers.
    pub fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        let script = Script {
            answers: answers.into_iter().collect(),
            ..Script::default()
        };
        Self(Arc::new(Mutex::new(script)))
    }

    /// Notes `answerer` for each question.
    #[must_use]
    pub fn noting(self, trace: &Trace) -> Self {
        self.0.lock().trace = Some(trace.clone());
        self
    }

    /// The questions so far.
    #[must_use]
    pub fn requests(&self) -> Vec<ApprovalRequest> {
        self.0.lock().requests.clone()
    }

    /// A service that asks this approver alone.
    #[must_use]
    pub fn into_approvals(self) -> dsh_tools::Approvals {
        let approver: Arc<dyn Approver> = Arc::new(self);
        dsh_tools::Approvals::new([approver])
    }
}

impl Approver for ScriptedApprover {
    fn request(
        &self,
        request: ApprovalRequest,
    ) -> BoxFuture<'static, Result<Option<ApprovalOutcome>, ToolError>> {
        let answer = {
            let mut script = self.0.lock();
            script.requests.push(request);
            if let Some(trace) = &script.trace {
                trace.note("answerer");
            }
            script.answers.pop_front().unwrap_or(Answer::Pass)
        };
        Box::pin(async move {
            match answer {
                Answer::Say(outcome) => Ok(Some(outcome)),
                Answer::Pass => Ok(None),
                Answer::Fail(message) => Err(ToolError::new(message)),
                Answer::Panic(message) => panic!("{message}"),
                Answer::When(gate, outcome) => {
                    gate.pass().await;
                    Ok(Some(outcome))
                }
                Answer::Cancelling(canceller, outcome) => {
                    canceller.cancel(Reason::Cancelled);
                    Ok(Some(outcome))
                }
            }
        })
    }
}

/// Notes `approval/asked` and `approval/decided:<outcome>`, and refuses either when told to.
///
/// # Examples
///
/// ```
/// let trace = dsh_testkit::Trace::new();
/// let sink = dsh_testkit::RecordingSink::new(&trace).refusing_asked("no open turn");
/// # drop(sink);
/// ```
#[derive(Clone, Debug)]
pub struct RecordingSink {
    trace: Trace,
    asked: Option<String>,
    decided: Option<String>,
}

impl RecordingSink {
    /// A sink that takes everything.
    #[must_use]
    pub fn new(trace: &Trace) -> Self {
        Self {
            trace: trace.clone(),
            asked: None,
            decided: None,
        }
    }

    /// Refuses to record a question.
    #[must_use]
    pub fn refusing_asked(mut self, why: impl Into<String>) -> Self {
        self.asked = Some(why.into());
        self
    }

    /// Refuses to record a decision.
    #[must_use]
    pub fn refusing_decided(mut self, why: impl Into<String>) -> Self {
        self.decided = Some(why.into());
        self
    }
}

fn refusal(why: Option<&String>) -> Result<(), ToolError> {
    why.map_or(Ok(()), |why| Err(ToolError::new(why.as_str())))
}

impl ApprovalSink for RecordingSink {
    fn asked(&self, _: &ApprovalRequest) -> Result<(), ToolError> {
        self.trace.note("approval/asked");
        refusal(self.asked.as_ref())
    }

    fn decided(&self, _: &ApprovalTicket, outcome: ApprovalOutcome) -> Result<(), ToolError> {
        self.trace
            .note(format!("approval/decided:{}", outcome.as_str()));
        refusal(self.decided.as_ref())
    }
}
