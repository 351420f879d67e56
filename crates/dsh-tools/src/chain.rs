//! Listener chains: pre-execute, around and post-execute, and the observers at the end.
//!
//! A chain is a snapshot taken when its dispatch begins (T161). Listeners run outermost first; each gets an owned
//! [`Execution`] and an owned continuation, so an ordinary closure that returns a future is a listener (D43). A panic in
//! a listener is its failure, which the listeners around it may still catch (T163).

use std::future::Future;
use std::sync::Arc;

use dsh_context::Scope;

use crate::contain::{Contained, contain};
use crate::decision::{Around, Attempt, PostDecision, PreDecision};
use crate::pipeline::Dispatch;
use crate::{BoxFuture, Execution, Outcome, Signal, ToolError};

/// A listener with whom it listens for.
pub(crate) struct Entry<L: ?Sized> {
    /// The scope it was registered through.
    pub(crate) scope: Option<Scope>,
    /// Whether it hears everybody all the same (T137).
    pub(crate) unfiltered: bool,
    pub(crate) listener: Arc<L>,
}

impl<L: ?Sized> Clone for Entry<L> {
    fn clone(&self) -> Self {
        Self {
            scope: self.scope.clone(),
            unfiltered: self.unfiltered,
            listener: self.listener.clone(),
        }
    }
}

impl<L: ?Sized> Entry<L> {
    /// Untagged listeners hear everybody; tagged ones their scope and what is nested in it (T134–T136).
    pub(crate) fn admits(&self, agent: Option<&Scope>) -> bool {
        match (&self.scope, agent) {
            _ if self.unfiltered => true,
            (None, _) => true,
            (Some(tag), Some(agent)) => agent.is_within(tag),
            (Some(_), None) => false,
        }
    }
}

/// The snapshot of one event's listeners.
pub(crate) type Chain<L> = Arc<[Entry<L>]>;

/// The first listener at or behind `from` that hears `agent`.
fn next_in<L: ?Sized>(
    chain: &Chain<L>,
    from: usize,
    agent: Option<&Scope>,
) -> Option<(Arc<L>, usize)> {
    let offset = chain
        .iter()
        .skip(from)
        .position(|entry| entry.admits(agent))?;
    let index = from + offset;
    Some((chain.get(index)?.listener.clone(), index + 1))
}

pub(crate) trait PreListener: Send + Sync {
    fn call(
        &self,
        execution: Execution,
        next: PreNext,
    ) -> BoxFuture<'static, Result<PreDecision, ToolError>>;
}

impl<F, Fut> PreListener for F
where
    F: Fn(Execution, PreNext) -> Fut + Send + Sync,
    Fut: Future<Output = Result<PreDecision, ToolError>> + Send + 'static,
{
    fn call(
        &self,
        execution: Execution,
        next: PreNext,
    ) -> BoxFuture<'static, Result<PreDecision, ToolError>> {
        Box::pin(self(execution, next))
    }
}

pub(crate) trait AroundListener: Send + Sync {
    fn call(
        &self,
        execution: Execution,
        next: AroundNext,
    ) -> BoxFuture<'static, Result<Around, ToolError>>;
}

impl<F, Fut> AroundListener for F
where
    F: Fn(Execution, AroundNext) -> Fut + Send + Sync,
    Fut: Future<Output = Result<Around, ToolError>> + Send + 'static,
{
    fn call(
        &self,
        execution: Execution,
        next: AroundNext,
    ) -> BoxFuture<'static, Result<Around, ToolError>> {
        Box::pin(self(execution, next))
    }
}

pub(crate) trait PostListener: Send + Sync {
    fn call(
        &self,
        execution: Execution,
        result: Arc<Outcome>,
        next: PostNext,
    ) -> BoxFuture<'static, Result<PostDecision, ToolError>>;
}

impl<F, Fut> PostListener for F
where
    F: Fn(Execution, Arc<Outcome>, PostNext) -> Fut + Send + Sync,
    Fut: Future<Output = Result<PostDecision, ToolError>> + Send + 'static,
{
    fn call(
        &self,
        execution: Execution,
        result: Arc<Outcome>,
        next: PostNext,
    ) -> BoxFuture<'static, Result<PostDecision, ToolError>> {
        Box::pin(self(execution, result, next))
    }
}

/// Sees every outcome, once, and changes nothing (T245–T249).
pub(crate) type Observer = dyn Fn(&Execution, &Outcome) + Send + Sync;

/// The rest of a pre-execute chain.
pub struct PreNext {
    chain: Chain<dyn PreListener>,
    index: usize,
    execution: Execution,
}

impl PreNext {
    pub(crate) fn new(chain: Chain<dyn PreListener>, execution: Execution) -> Self {
        Self {
            chain,
            index: 0,
            execution,
        }
    }

    /// Runs the listeners inside this one; with none left the decision is to allow (T158).
    ///
    /// # Errors
    ///
    /// The failure of a listener that nobody caught.
    pub async fn run(mut self) -> Result<PreDecision, ToolError> {
        match next_in(&self.chain, self.index, self.execution.agent()) {
            None => Ok(PreDecision::Allow),
            Some((listener, index)) => {
                self.index = index;
                let execution = self.execution.clone();
                let future = contain(|| listener.call(execution, self))?;
                Contained::new(future).await
            }
        }
    }
}

/// The rest of an around chain, and the body at its end.
///
/// Unlike the other continuations it can be run again, each time through the whole inner chain (D6), which is what a
/// retry needs.
#[derive(Clone)]
pub struct AroundNext {
    chain: Chain<dyn AroundListener>,
    index: usize,
    dispatch: Dispatch,
    signal: Option<Signal>,
}

impl AroundNext {
    pub(crate) fn new(chain: Chain<dyn AroundListener>, dispatch: Dispatch) -> Self {
        Self {
            chain,
            index: 0,
            dispatch,
            signal: None,
        }
    }

    /// Runs the listeners inside this one and the body. Never fails: whatever goes wrong is in the attempt (T187),
    /// except that an inner listener's own failure is passed on to be caught or to end the call (T198).
    ///
    /// # Errors
    ///
    /// The failure of an inner listener.
    pub async fn run(&self) -> Result<Attempt, ToolError> {
        self.clone().advance().await
    }

    /// As [`run`](AroundNext::run), with `signal` for everything inside in place of the current one (T188).
    ///
    /// The caller's own signal reaches the body all the same (T287). Outside of this call nothing changes (T189).
    ///
    /// # Errors
    ///
    /// The failure of an inner listener.
    pub async fn run_with(&self, signal: Signal) -> Result<Attempt, ToolError> {
        let mut inner = self.clone();
        inner.signal = Some(signal);
        inner.advance().await
    }

    /// The signal that the body would see now.
    #[must_use]
    pub fn signal(&self) -> Signal {
        self.signal
            .clone()
            .unwrap_or_else(|| Signal::of_call(self.dispatch.execution()))
    }

    pub(crate) async fn advance(mut self) -> Result<Attempt, ToolError> {
        match next_in(&self.chain, self.index, self.dispatch.execution().agent()) {
            None => {
                let attempt = self.dispatch.body(self.signal.take()).await;
                Ok(attempt)
            }
            Some((listener, index)) => {
                self.index = index;
                let execution = self.dispatch.execution().clone();
                let dispatch = self.dispatch.clone();
                let around = contain(|| listener.call(execution, self))?;
                let around = Contained::new(around).await?;
                dispatch.normalise(around)
            }
        }
    }
}

/// The rest of a post-execute chain.
pub struct PostNext {
    chain: Chain<dyn PostListener>,
    index: usize,
    execution: Execution,
    result: Arc<Outcome>,
}

impl PostNext {
    pub(crate) fn new(
        chain: Chain<dyn PostListener>,
        execution: Execution,
        result: Arc<Outcome>,
    ) -> Self {
        Self {
            chain,
            index: 0,
            execution,
            result,
        }
    }

    /// Runs the listeners inside this one; with none left the result is accepted unchanged (T158).
    ///
    /// # Errors
    ///
    /// The failure of a listener that nobody caught.
    pub async fn run(mut self) -> Result<PostDecision, ToolError> {
        match next_in(&self.chain, self.index, self.execution.agent()) {
            None => Ok(PostDecision::accept()),
            Some((listener, index)) => {
                self.index = index;
                let (execution, result) = (self.execution.clone(), self.result.clone());
                let future = contain(|| listener.call(execution, result, self))?;
                Contained::new(future).await
            }
        }
    }
}
