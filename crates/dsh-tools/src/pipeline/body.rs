//! Phases 6 to 8: the around chain, the body, and what is made of both.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::contract::{admit_value, admit_with_contexts};
use super::{Drained, Stage};
use crate::chain::AroundNext;
use crate::contain::{Contained, contain};
use crate::decision::{Around, Attempt};
use crate::journal::{self, Start};
use crate::tool::BodyValue;
use crate::{Content, Effect, Execution, Outcome, Reason, RunContext, Settled, Signal, Tool, ToolError, Tools};

type BodyResult = Result<BodyValue, ToolError>;
type RunningBody = Contained<dyn Future<Output = BodyResult> + Send>;

/// A body that was invoked, or the outcome of one that was not.
enum Opened {
    Running(Tool, RunningBody),
    Done(Outcome),
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
                match outcome {
                    Outcome::Success(success) if token != self.execution.token() => {
                        self.author(success.value, success.contexts)?
                    }
                    outcome => outcome,
                }
            }
            Around::Success { value, contexts } => self.author(value, contexts)?,
            Around::Failure(failure) => Outcome::Failure(failure),
        };
        Ok(Attempt::new(self.execution.token(), outcome))
    }

    fn author(
        &self,
        value: dsh_schema::Document,
        contexts: Vec<crate::ContextMessage>,
    ) -> Result<Outcome, ToolError> {
        let name = self.execution.name();
        let tool = self.tools.get(name, self.execution.agent()).ok_or_else(|| ToolError::unknown_tool(name))?;
        admit_with_contexts(&tool, &self.execution, value, contexts)
    }
}

impl Tools {
    /// Phases 6 to 8 with listeners.
    pub(super) async fn around(&self, execution: &Execution) -> Stage {
        let chain = self.0.tables.read().around.snapshot();
        let dispatch = Dispatch { tools: self.clone(), execution: execution.clone() };
        let attempt = AroundNext::new(chain, dispatch).advance().await;
        let deferred = execution.seal();
        match attempt {
            // What the body deferred is lost with a wrapper that fails (D32).
            Err(error) => Stage::Final(Outcome::failure(error)),
            Ok(attempt) => {
                let (_, mut outcome) = attempt.into_parts();
                if !deferred.is_empty() {
                    outcome.contexts_mut().splice(0..0, deferred);
                }
                if execution.is_replayed() {
                    return Stage::Bare(outcome);
                }
                Stage::Post(cancelled_if(execution, outcome))
            }
        }
    }

    /// The short cut of a call that nobody listens to: the same steps with one box.
    pub(super) async fn run_direct(&self, execution: Execution) -> Settled {
        let outcome = match self.open(&execution, || Signal::of_call(&execution)) {
            Opened::Done(outcome) => outcome,
            Opened::Running(tool, body) => {
                let mut running = Running { tools: self, execution: &execution, tool: Some(tool), body: Some(body) };
                let result = (&mut running).await;
                let tool = running.tool.take();
                drop(running);
                if execution.has_tasks() {
                    let (tools, owned) = (self.clone(), execution.clone());
                    let rest = Box::pin(async move { tools.after_direct(owned, tool, result).await });
                    return Drained::of_call(self, execution, rest).await;
                }
                self.conclude_body(&execution, tool.as_ref(), execution.is_cancelled(), result)
            }
        };
        let outcome = with_deferred(&execution, outcome);
        if self.0.tables.read().post.is_empty() {
            return self.publish(execution, outcome, true);
        }
        let (tools, owned) = (self.clone(), execution.clone());
        let rest = Box::pin(async move {
            let outcome = tools.post(&owned, outcome).await;
            tools.settle(owned, outcome, true).await
        });
        Drained::of_call(self, execution, rest).await
    }

    /// Everything behind a direct body, for a call that goes on without its caller.
    pub(super) async fn after_direct(
        &self,
        execution: Execution,
        tool: Option<Tool>,
        result: BodyResult,
    ) -> Settled {
        execution.join_tasks().await;
        let outcome = self.conclude_body(&execution, tool.as_ref(), execution.is_cancelled(), result);
        let outcome = with_deferred(&execution, outcome);
        let outcome = self.post(&execution, outcome).await;
        self.settle(execution, outcome, true).await
    }

    async fn run_body(&self, execution: &Execution, signal: Signal) -> Outcome {
        if signal.is_cancelled() {
            return Outcome::aborted(execution.is_invoked());
        }
        if let Some(journal) = &self.0.config.journal
            && execution.open_journal()
        {
            let Some(entry) = self.journal_entry(execution) else {
                return unknown_tool(self, execution);
            };
            let started = match contain(|| journal.started(entry)) {
                Ok(future) => Contained::new(Box::pin(async move { Ok(future.await?) })).await,
                Err(error) => Err(error),
            };
            match started {
                Ok(Start::Run) => execution.mark_journaled(),
                Ok(Start::Replay(outcome)) => {
                    execution.mark_replayed();
                    return outcome;
                }
                Ok(Start::Unknown) => return Outcome::failure(journal::unknown(execution.name())),
                Err(error) => return Outcome::failure(journal::start_failed(execution.name(), &error)),
            }
        }
        match self.open(execution, || signal.clone()) {
            Opened::Done(outcome) => outcome,
            Opened::Running(tool, body) => {
                let result = body.await;
                execution.join_tasks().await;
                self.conclude_body(execution, Some(&tool), signal.is_cancelled(), result)
            }
        }
    }

    /// Resolves the tool now (T201) and invokes its body.
    fn open(&self, execution: &Execution, signal: impl FnOnce() -> Signal) -> Opened {
        let Some(tool) = self.resolve_again(execution) else {
            return Opened::Done(unknown_tool(self, execution));
        };
        let (Some(arguments), true) = (execution.arguments(), execution.still_granted(&tool)) else {
            return Opened::Done(Outcome::failure(stale_approval(execution.name())));
        };
        execution.mark_invoked();
        let fits = match execution.tool() {
            Some(admitted) if Tool::same(admitted, &tool) => execution.arguments_fit(),
            _ => tool.accepts(arguments),
        };
        if !fits {
            let violations = tool.argument_violations(arguments);
            return Opened::Done(Outcome::failure(ToolError::invalid_arguments(violations)));
        }
        let cx = RunContext::new(self.clone(), execution.clone(), signal());
        match contain(|| tool.start(cx)) {
            Ok(future) => Opened::Running(tool, Contained::new(future)),
            Err(error) => Opened::Done(Outcome::failure(error)),
        }
    }

    /// What a settled body comes to: the output contract first, then the fused signal (T296).
    fn conclude_body(&self, execution: &Execution, tool: Option<&Tool>, cancelled: bool, result: BodyResult) -> Outcome {
        let Some(tool) = tool else { return unknown_tool(self, execution) };
        let value = match result {
            Ok(BodyValue::Document(value)) => Ok(value),
            Ok(BodyValue::Lossy(error)) => {
                tracing::warn!(tool = tool.name(), %error, "the value of a tool is not lossless JSON");
                Err(ToolError::invalid_output(tool.name(), vec!["value is not lossless JSON".to_owned()]))
            }
            Err(error) => Err(error),
        };
        match value.and_then(|value| admit_value(tool, execution, value)) {
            Ok(_) if cancelled => Outcome::aborted(true),
            Ok(success) => Outcome::Success(success),
            Err(error) => {
                let mut outcome = Outcome::failure(error);
                if let Outcome::Failure(failure) = &mut outcome {
                    // Running it again by itself is never right for a tool that may do something else each time.
                    failure.error.retryable &= tool.effect() != Effect::Once;
                }
                outcome
            }
        }
    }

    /// The definition that is visible now; the admitted one while nothing has changed.
    fn resolve_again(&self, execution: &Execution) -> Option<Tool> {
        self.0.tables.read().resolve(execution.name(), execution.agent(), self.0.config.mode).tool
    }
}

/// A success of a cancelled call is no success (T212); everything else stays (T301).
pub(super) fn cancelled_if(execution: &Execution, outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Success(success) if execution.is_cancelled() => {
            let mut aborted = Outcome::aborted(execution.is_invoked());
            *aborted.contexts_mut() = success.contexts;
            aborted
        }
        outcome => outcome,
    }
}

/// Phase 8 of a direct call: the body's contexts, and the caller's signal.
fn with_deferred(execution: &Execution, mut outcome: Outcome) -> Outcome {
    let deferred = execution.seal();
    if !deferred.is_empty() {
        *outcome.contexts_mut() = deferred;
    }
    cancelled_if(execution, outcome)
}

/// The failure of an unknown name, with a second block when a visible name is close (D46).
fn unknown_tool(tools: &Tools, execution: &Execution) -> Outcome {
    let name = execution.name();
    let mut outcome = Outcome::failure(ToolError::unknown_tool(name));
    if let Some(near) = tools.nearest_name(name, execution.agent()) {
        let mut content = outcome.content().clone();
        content.push(format!("did you mean \"{near}\"?"));
        outcome.set_content(content);
    }
    outcome
}

fn stale_approval(name: &str) -> ToolError {
    ToolError::coded(
        "ApprovalStaleError",
        crate::codes::APPROVAL_STALE,
        format!("the approval for tool \"{name}\" does not cover this call any more: the tool changed after it was asked about"),
    )
}

/// A direct body between its polls. Dropped unfinished, it takes the rest of the call to the spawner.
struct Running<'a> {
    tools: &'a Tools,
    execution: &'a Execution,
    tool: Option<Tool>,
    body: Option<RunningBody>,
}

impl Future for &mut Running<'_> {
    type Output = BodyResult;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<BodyResult> {
        let Some(body) = self.body.as_mut() else {
            return Poll::Ready(Err(ToolError::new("polled after completion")));
        };
        let result = std::task::ready!(Pin::new(body).poll(cx));
        self.body = None;
        Poll::Ready(result)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if let Some(body) = self.body.take() {
            self.execution.abandon(Reason::Dropped);
            let (tools, execution, tool) = (self.tools.clone(), self.execution.clone(), self.tool.take());
            self.tools.drain(async move {
                let result = body.await;
                let _published = tools.after_direct(execution, tool, result).await;
            });
        }
    }
}

impl Content {
    pub(crate) fn is_blank(&self) -> bool {
        self.blocks().iter().all(|block| block.as_text() == Some(""))
    }
}
