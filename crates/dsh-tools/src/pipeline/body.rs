//! Phases 6 to 8: the around chain, the body, and what is made of both.

use std::future::Future;
use std::sync::Arc;

use super::Stage;
use super::contract::{admit_value, admit_with_contexts};
use super::publish::journal_entry;
use crate::chain::AroundNext;
use crate::contain::{Contained, contain};
use crate::decision::{Around, Attempt};
use crate::journal::{self, Start, Verdict};
use crate::tool::BodyValue;
use crate::{
    CallJournal, Content, Effect, Execution, Failure, Outcome, RunContext, Signal, Tool, ToolError,
    Tools,
};

pub(super) type BodyResult = Result<BodyValue, ToolError>;
pub(super) type RunningBody = Contained<dyn Future<Output = BodyResult> + Send>;

/// A body that was invoked, or the outcome of one that was not.
pub(super) enum Opened {
    Running(Tool, RunningBody),
    Done(Arc<Outcome>),
}

/// The innermost step of an around chain.
#[derive(Clone)]
pub(crate) struct Dispatch {
    tools: Tools,
    execution: Execution,
}

impl Dispatch {
    pub(crate) fn execution(&self) -> &Execution {
        &self.execution
    }

    /// Runs the body once; nothing fails here, it only comes out as a failure (T187).
    pub(crate) async fn body(&self, replaced: Option<Signal>) -> Attempt {
        // A fresh signal when a wrapper put one in; the wrapper's reason counts first when both have fired (T287, T288).
        let own = Signal::of_call(&self.execution);
        let signal = match replaced {
            Some(signal) => Signal::following(&[signal, own]).1,
            None => own,
        };
        let outcome = self.tools.run_body(&self.execution, signal).await;
        Attempt::new(self.execution.token(), outcome)
    }

    /// What a wrapper returned, as an attempt of this execution.
    ///
    /// A failure here is a failure of the pipeline, not of the tool (T197).
    pub(crate) fn normalise(&self, around: Around) -> Result<Attempt, ToolError> {
        let outcome = match around {
            Around::Keep(attempt) => {
                let (token, outcome) = attempt.into_parts();
                match &*outcome {
                    Outcome::Success(success) if token != self.execution.token() => {
                        self.author(success.value.clone(), success.contexts.clone())?
                    }
                    _ => outcome,
                }
            }
            Around::Own(outcome) => match *outcome {
                Outcome::Success(success) => self.author(success.value, success.contexts)?,
                failure => Arc::new(failure),
            },
        };
        Ok(Attempt::new(self.execution.token(), outcome))
    }

    fn author(
        &self,
        value: dsh_schema::Document,
        contexts: Vec<crate::ContextMessage>,
    ) -> Result<Arc<Outcome>, ToolError> {
        let name = self.execution.name();
        let tool = self
            .tools
            .get(name, self.execution.agent())
            .ok_or_else(|| ToolError::unknown_tool(name))?;
        admit_with_contexts(&tool, &self.execution, value, contexts)
    }
}

impl Tools {
    /// Phases 6 to 8 with listeners.
    pub(super) async fn around(&self, execution: &Execution) -> Stage {
        let chain = self.0.read().around.snapshot();
        let dispatch = Dispatch {
            tools: self.clone(),
            execution: execution.clone(),
        };
        let attempt = AroundNext::new(chain, dispatch).advance().await;
        let deferred = execution.seal();
        match attempt {
            // What the body deferred is lost with a wrapper that fails (D32).
            Err(error) => Stage::Final(Outcome::failure(error)),
            Ok(attempt) => {
                let (_, mut outcome) = attempt.into_parts();
                if !deferred.is_empty() {
                    Arc::make_mut(&mut outcome)
                        .contexts_mut()
                        .splice(0..0, deferred);
                }
                if execution.is_replayed() {
                    return Stage::Bare(outcome);
                }
                Stage::Post(cancelled_if(execution, concluding(execution, outcome)))
            }
        }
    }

    async fn run_body(&self, execution: &Execution, signal: Signal) -> Arc<Outcome> {
        if signal.is_cancelled() {
            return Outcome::aborted(execution.is_invoked());
        }
        if let Some(journal) = &self.0.config.journal {
            // Boxed, so that calls without a journal do not carry its futures along.
            if let Err(outcome) = Box::pin(self.ask_journal(journal.as_ref(), execution)).await {
                return outcome;
            }
            if signal.is_cancelled() {
                return Outcome::aborted(execution.is_invoked());
            }
        }
        match self.open(execution, || signal.clone()) {
            Opened::Done(outcome) => outcome,
            Opened::Running(tool, body) => {
                let result = body.await;
                execution.join_tasks().await;
                self.conclude_body(execution, &tool, signal.is_cancelled(), result)
            }
        }
    }

    /// Asks the journal whether the body may run; `Err` is what comes of the call without it.
    async fn ask_journal(
        &self,
        journal: &dyn CallJournal,
        execution: &Execution,
    ) -> Result<(), Arc<Outcome>> {
        let _turn = execution.journal_turn().await;
        if execution.verdict().is_none() {
            // A call whose body cannot start has no entry.
            let tool = self.ready(execution)?;
            let entry = journal_entry(execution, &tool);
            let started = match contain(|| journal.started(entry.clone())) {
                Ok(future) => Contained::new(Box::pin(async move { Ok(future.await?) })).await,
                Err(error) => Err(error),
            };
            match started {
                Ok(Start::Run) => execution.judge(Verdict::Run(entry)),
                Ok(Start::Replay(outcome)) => {
                    execution.mark_replayed();
                    execution.judge(Verdict::Replay(Arc::new(outcome)));
                }
                Ok(Start::Unknown) => execution.judge(Verdict::Unknown),
                // Nothing is recorded: whoever tries again asks again.
                Err(error) => {
                    return Err(Outcome::failure(journal::start_failed(
                        execution.name(),
                        &error,
                    )));
                }
            }
        }
        match execution.verdict() {
            Some(Verdict::Replay(outcome)) => Err(outcome.clone()),
            Some(Verdict::Unknown) => Err(Outcome::failure(journal::unknown(execution.name()))),
            Some(Verdict::Run(_)) | None => Ok(()),
        }
    }

    /// The tool that runs, resolved now (T201); `Err` when its body cannot start.
    fn ready(&self, execution: &Execution) -> Result<Tool, Arc<Outcome>> {
        let tool = self
            .resolve_again(execution)
            .ok_or_else(|| unknown_tool(self, execution))?;
        let (Some(arguments), true) = (execution.arguments(), execution.still_granted(&tool))
        else {
            return Err(Outcome::failure(stale_approval(execution.name())));
        };
        let fits = match execution.tool() {
            Some(admitted) if Tool::same(admitted, &tool) => execution.arguments_fit(),
            _ => tool.accepts(arguments),
        };
        if !fits {
            execution.mark_invoked();
            let violations = tool.argument_violations(arguments);
            return Err(Outcome::failure(ToolError::invalid_arguments(violations)));
        }
        Ok(tool)
    }

    /// Invokes the body.
    pub(super) fn open(&self, execution: &Execution, signal: impl FnOnce() -> Signal) -> Opened {
        let tool = match self.ready(execution) {
            Ok(tool) => tool,
            Err(outcome) => return Opened::Done(outcome),
        };
        execution.mark_invoked();
        let cx = RunContext::new(self.clone(), execution.clone(), signal());
        match contain(|| tool.start(cx)) {
            Ok(future) => Opened::Running(tool, Contained::new(future)),
            Err(error) => Opened::Done(Outcome::failure(error)),
        }
    }

    /// What a settled body comes to: the output contract first, then the fused signal (T296).
    pub(super) fn conclude_body(
        &self,
        execution: &Execution,
        tool: &Tool,
        cancelled: bool,
        result: BodyResult,
    ) -> Arc<Outcome> {
        let value = match result {
            Ok(BodyValue::Document(value)) => Ok(value),
            Ok(BodyValue::Lossy(error)) => {
                tracing::warn!(tool = tool.name(), %error, "the value of a tool is not lossless JSON");
                Err(ToolError::invalid_output(
                    tool.name(),
                    vec!["value is not lossless JSON".to_owned()],
                ))
            }
            Err(error) => Err(error),
        };
        match value.and_then(|value| admit_value(tool, execution, value)) {
            Ok(_) if cancelled => Outcome::aborted(true),
            Ok(outcome) => outcome,
            Err(error) => {
                let mut failure = Failure::from(error);
                // Running it again by itself is never right for a tool that may do something else each time.
                failure.error.retryable &= tool.effect() != Effect::Once;
                Arc::new(Outcome::Failure(failure))
            }
        }
    }

    /// The definition that is visible now; the admitted one while nothing has changed.
    fn resolve_again(&self, execution: &Execution) -> Option<Tool> {
        if self.0.version() == execution.admitted_version() {
            return execution.tool().cloned();
        }
        self.get(execution.name(), execution.agent())
    }
}

/// A success of a cancelled call is no success (T212); everything else stays (T301).
pub(super) fn cancelled_if(execution: &Execution, outcome: Arc<Outcome>) -> Arc<Outcome> {
    if outcome.is_error() || !execution.is_cancelled() {
        return outcome;
    }
    let mut aborted = Outcome::aborted(execution.is_invoked());
    Arc::make_mut(&mut aborted)
        .contexts_mut()
        .extend_from_slice(outcome.contexts());
    aborted
}

/// Phase 8 of a direct call: the body's contexts, and the caller's signal.
pub(super) fn with_deferred(execution: &Execution, mut outcome: Arc<Outcome>) -> Arc<Outcome> {
    let deferred = execution.seal();
    if !deferred.is_empty() {
        *Arc::make_mut(&mut outcome).contexts_mut() = deferred;
    }
    cancelled_if(execution, concluding(execution, outcome))
}

/// Marks a success of a body that asked for the turn to end, before post-execute sees it (T233).
pub(super) fn concluding(execution: &Execution, mut outcome: Arc<Outcome>) -> Arc<Outcome> {
    if execution.is_concluded()
        && !outcome.is_error()
        && let Outcome::Success(success) = Arc::make_mut(&mut outcome)
    {
        success.concludes_turn = true;
    }
    outcome
}

/// The failure of an unknown name, with a second block when a visible name is close (D46).
fn unknown_tool(tools: &Tools, execution: &Execution) -> Arc<Outcome> {
    let name = execution.name();
    let mut outcome = Outcome::failure(ToolError::unknown_tool(name));
    if let Some(near) = tools.nearest_name(name, execution.agent()) {
        let mut content = outcome.content().clone();
        content.push(format!("did you mean \"{near}\"?"));
        Arc::make_mut(&mut outcome).set_content(content);
    }
    outcome
}

fn stale_approval(name: &str) -> ToolError {
    ToolError::coded(
        "ApprovalStaleError",
        crate::codes::APPROVAL_STALE,
        format!(
            "the approval for tool \"{name}\" does not cover this call any more: the tool changed after it was asked about"
        ),
    )
}

impl Content {
    pub(crate) fn is_blank(&self) -> bool {
        self.blocks()
            .iter()
            .all(|block| block.as_text() == Some(""))
    }
}
