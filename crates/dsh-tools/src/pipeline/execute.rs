//! The future of one call.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use super::Stage;
use super::admission::Admitted;
use super::body::{BodyResult, Opened, RunningBody, with_deferred};
use crate::registry::POST;
use crate::{BoxFuture, Call, Execution, Outcome, Reason, Settled, Signal, Tool, Tools};

/// A call on its way; see [`Tools::execute`].
///
/// Written by hand, so that a call that nobody listens to needs no box but its body's, and so that whatever is dropped
/// unfinished is drained in one place.
#[must_use = "a call does nothing before it is awaited"]
pub struct Execute<'a> {
    tools: &'a Tools,
    state: State,
}

#[expect(
    clippy::large_enum_variant,
    reason = "the first state is the largest, and boxing it would cost every call"
)]
enum State {
    /// Nothing has happened; dropping it now is as if the call had never been made.
    New(Call),
    /// The body of a call that nobody listens to.
    Body(Execution, Tool, RunningBody),
    /// Everything else.
    Rest(Execution, BoxFuture<'static, Settled>),
    Done,
}

impl<'a> Execute<'a> {
    pub(super) fn new(tools: &'a Tools, call: Call) -> Self {
        Self {
            tools,
            state: State::New(call),
        }
    }

    /// Carries an admitted call as far as it goes without waiting.
    fn begin(&mut self, execution: Execution, admitted: Admitted) -> Option<Settled> {
        let tools = self.tools;
        match admitted {
            Admitted::Over(Stage::Bare(outcome)) => Some(tools.publish(execution, outcome, false)),
            Admitted::Over(Stage::Final(outcome)) => Some(tools.publish(execution, outcome, true)),
            Admitted::Over(Stage::Post(outcome)) => self.behind(execution, outcome),
            Admitted::Direct => match tools.open(&execution, || Signal::of_call(&execution)) {
                Opened::Done(outcome) => self.behind(execution, outcome),
                Opened::Running(tool, body) => {
                    self.state = State::Body(execution, tool, body);
                    None
                }
            },
            Admitted::Staged => {
                let rest = Box::pin(tools.clone().staged(execution.clone()));
                self.state = State::Rest(execution, rest);
                None
            }
        }
    }

    /// What follows a direct body that has settled.
    fn concluded(
        &mut self,
        execution: Execution,
        tool: Tool,
        result: BodyResult,
    ) -> Option<Settled> {
        if execution.has_tasks() {
            let rest = Box::pin(
                self.tools
                    .clone()
                    .after_body(execution.clone(), tool, result),
            );
            self.state = State::Rest(execution, rest);
            return None;
        }
        let outcome = self
            .tools
            .conclude_body(&execution, &tool, execution.is_cancelled(), result);
        self.behind(execution, outcome)
    }

    /// What follows the outcome of a direct call.
    fn behind(&mut self, execution: Execution, outcome: Arc<Outcome>) -> Option<Settled> {
        let outcome = with_deferred(&execution, outcome);
        if self.tools.0.listens(POST) {
            let rest = Box::pin(self.tools.clone().after_outcome(execution.clone(), outcome));
            self.state = State::Rest(execution, rest);
            return None;
        }
        Some(self.tools.publish(execution, outcome, true))
    }
}

impl Future for Execute<'_> {
    type Output = Settled;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Settled> {
        let this = &mut *self;
        loop {
            let settled = match &mut this.state {
                State::Body(_, _, body) => {
                    let result = ready!(Pin::new(body).poll(cx));
                    match std::mem::replace(&mut this.state, State::Done) {
                        State::Body(execution, tool, _) => this.concluded(execution, tool, result),
                        _ => None,
                    }
                }
                State::Rest(_, rest) => {
                    let settled = ready!(rest.as_mut().poll(cx));
                    this.state = State::Done;
                    Some(settled)
                }
                State::New(call) => {
                    let (execution, admitted) = this.tools.admit(call);
                    this.state = State::Done;
                    this.begin(execution, admitted)
                }
                // Polled again after its end, against the contract of `Future`.
                State::Done => return Poll::Pending,
            };
            if let Some(settled) = settled {
                return Poll::Ready(settled);
            }
        }
    }
}

impl Drop for Execute<'_> {
    fn drop(&mut self) {
        if matches!(self.state, State::New(_) | State::Done) {
            return;
        }
        match std::mem::replace(&mut self.state, State::Done) {
            State::New(_) | State::Done => {}
            State::Body(execution, tool, body) => {
                execution.abandon(Reason::Dropped);
                let tools = self.tools.clone();
                self.tools.drain(async move {
                    let result = body.await;
                    let _published = tools.after_body(execution, tool, result).await;
                });
            }
            State::Rest(execution, rest) => {
                execution.abandon(Reason::Dropped);
                self.tools.drain(async move {
                    let _published = rest.await;
                });
            }
        }
    }
}

impl Tools {
    /// Everything behind a direct body that waits for something more.
    async fn after_body(self, execution: Execution, tool: Tool, result: BodyResult) -> Settled {
        execution.join_tasks().await;
        let outcome = self.conclude_body(&execution, &tool, execution.is_cancelled(), result);
        let outcome = with_deferred(&execution, outcome);
        self.after_outcome(execution, outcome).await
    }

    async fn after_outcome(self, execution: Execution, outcome: Arc<Outcome>) -> Settled {
        let outcome = self.post(&execution, outcome).await;
        self.settle(execution, outcome, true).await
    }
}

impl fmt::Debug for Execute<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            State::New(_) => "new",
            State::Body(..) => "body",
            State::Rest(..) => "stages",
            State::Done => "done",
        };
        f.debug_struct("Execute")
            .field("state", &state)
            .finish_non_exhaustive()
    }
}
