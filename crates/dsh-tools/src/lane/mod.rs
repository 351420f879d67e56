//! The ordered lane: batches whose policy and commits are in order and whose bodies overlap.
//!
//! One scheduler for the calls of an assistant message and for the calls of a program. Calls are started and committed in
//! the order they were submitted; between the two, up to `cap` bodies run at once, and a call that is not safe beside
//! others is a barrier from its start until its result is committed. [`Planner`] decides, a pure function; what is here
//! carries it out.

mod planner;

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use dsh_schema::{Document, DocumentError};
use event_listener::Event;
use futures_channel::oneshot;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;

pub use planner::{Overlap, Planner, Step};

use crate::pipeline::{Dispatched, Drained};
use crate::{
    Access, Arguments, BoxFuture, Call, Execution, ExecutionMode, Reason, Settled, Signal,
    ToolError, Tools,
};

/// How a lane runs its calls.
#[derive(Clone, Debug)]
pub struct LaneConfig {
    /// How many bodies run at once; 1 is serial.
    pub cap: usize,
    /// Which calls may overlap.
    pub overlap: Overlap,
    /// What stops the lane: nothing starts any more, what runs is drained.
    pub signal: Signal,
    /// What becomes of calls that never started when the lane is stopped.
    pub unstarted: Unstarted,
}

impl LaneConfig {
    /// At most ten bodies at once, the default barriers, and every call answered.
    #[must_use]
    pub fn new(signal: Signal) -> Self {
        Self {
            cap: 10,
            overlap: Overlap::default(),
            signal,
            unstarted: Unstarted::default(),
        }
    }
}

/// What becomes of calls that never started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unstarted {
    /// Each gets its `ABORTED_BEFORE_DISPATCH` outcome, in order (T263, T320).
    #[default]
    Abort,
    /// They are forgotten; their replies say so.
    Forget,
}

/// Hears what the lane does, in order; what a log needs.
///
/// A failure is one of the scheduling itself, not of a tool: nothing starts any more, started bodies are awaited, and
/// the failure ends the lane (T321).
pub trait LaneEvents: Send {
    /// A call is about to enter policy.
    ///
    /// # Errors
    ///
    /// The lane cannot go on.
    fn starting(&mut self, call: &Call) -> Result<(), ToolError> {
        let _ = call;
        Ok(())
    }

    /// A call has its outcome; every earlier one had its before.
    ///
    /// # Errors
    ///
    /// The lane cannot go on.
    fn committed(&mut self, settled: &Settled) -> Result<(), ToolError> {
        let _ = settled;
        Ok(())
    }

    /// Whether the lane may go on; it does nothing but run its bodies until this is ready. For a log that writes
    /// asynchronously and must not fall behind without bound (C159).
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let _ = cx;
        Poll::Ready(())
    }
}

/// Hears nothing.
impl LaneEvents for () {}

/// Submits calls to a lane. The lane ends when every handle is gone and everything submitted is committed.
#[derive(Clone)]
pub struct LaneHandle(Arc<Handle>);

struct Handle {
    shared: Arc<Shared>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.queue.lock().closed = true;
        self.shared.changed.notify(usize::MAX);
    }
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Event,
    running: Mutex<HashMap<usize, Execution>>,
}

#[derive(Default)]
struct Queue {
    calls: VecDeque<(Call, oneshot::Sender<Settled>)>,
    closed: bool,
    abandoned: bool,
}

impl LaneHandle {
    /// Puts a call at the end of the lane.
    pub fn submit(&self, call: Call) -> LaneReply {
        let (sender, receiver) = oneshot::channel();
        let mut queue = self.0.shared.queue.lock();
        if !queue.closed {
            queue.calls.push_back((call, sender));
        }
        drop(queue);
        self.0.shared.changed.notify(usize::MAX);
        LaneReply(receiver)
    }

    /// Lets the lane end once what was submitted is committed; later submissions are not taken.
    pub fn close(&self) {
        self.0.shared.queue.lock().closed = true;
        self.0.shared.changed.notify(usize::MAX);
    }
}

impl fmt::Debug for LaneHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LaneHandle")
    }
}

/// The outcome of a submitted call, once it is committed; `None` if the lane ended without starting it.
#[derive(Debug)]
pub struct LaneReply(oneshot::Receiver<Settled>);

impl Future for LaneReply {
    type Output = Option<Settled>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx).map(Result::ok)
    }
}

impl Tools {
    /// Runs the calls of one batch and returns their outcomes in order.
    ///
    /// # Errors
    ///
    /// The scheduling itself failed, as `events` reported. Every started body has settled by then.
    ///
    /// # Cancellation
    ///
    /// As for [`Tools::execute`]: a dropped batch is cancelled and drained. Fire the config's signal, which usually is
    /// the calls' own, for an orderly end.
    pub async fn execute_batch<E>(
        &self,
        calls: Vec<Call>,
        config: LaneConfig,
        events: E,
    ) -> Result<Vec<Settled>, ToolError>
    where
        E: LaneEvents + 'static,
    {
        let (handle, lane) = self.lane(config, events);
        let replies: Vec<_> = calls.into_iter().map(|call| handle.submit(call)).collect();
        drop(handle);
        lane.await?;
        let mut settled = Vec::with_capacity(replies.len());
        for reply in replies {
            settled.extend(reply.await);
        }
        Ok(settled)
    }

    /// Opens a lane that calls are submitted to as they come. The future is the lane: it has to be polled, and ends when
    /// the handles are gone and everything is committed.
    ///
    /// # Cancellation
    ///
    /// Dropping the future cancels what runs and drains it on the runtime's spawner.
    pub fn lane<E>(
        &self,
        config: LaneConfig,
        events: E,
    ) -> (
        LaneHandle,
        impl Future<Output = Result<(), ToolError>> + Send + use<E>,
    )
    where
        E: LaneEvents + 'static,
    {
        let shared = Arc::new(Shared::default());
        let handle = LaneHandle(Arc::new(Handle {
            shared: shared.clone(),
        }));
        let abandoned = shared.clone();
        let lane: BoxFuture<'static, _> = Box::pin(run(self.clone(), shared, config, events));
        let cancel = move || {
            let mut queue = abandoned.queue.lock();
            queue.abandoned = true;
            queue.closed = true;
            drop(queue);
            for execution in abandoned.running.lock().values() {
                execution.abandon(Reason::Dropped);
            }
            abandoned.changed.notify(usize::MAX);
        };
        (handle, Drained::new(self, cancel, lane))
    }
}

type Bodies = FuturesUnordered<BoxFuture<'static, (usize, Dispatched)>>;

/// A call that has not started. It may be classified many times, and its text is parsed for that at most once.
struct Waiting {
    call: Call,
    parsed: Option<Result<Document, DocumentError>>,
}

impl Waiting {
    fn new(call: Call) -> Self {
        Self { call, parsed: None }
    }

    fn classify(&mut self, tools: &Tools) -> (ExecutionMode, Option<Vec<Access>>) {
        let Self { call, parsed } = self;
        tools.classify(call, || match &call.arguments {
            Arguments::Document(document) => Some(document),
            text => parsed
                .get_or_insert_with(|| text.clone().materialise())
                .as_ref()
                .ok(),
        })
    }
}

/// What the lane knows of its calls, besides the plan.
struct Board {
    planner: Planner,
    waiting: HashMap<usize, Waiting>,
    replies: HashMap<usize, oneshot::Sender<Settled>>,
    bodies: Bodies,
    ready: HashMap<usize, Dispatched>,
}

impl Board {
    /// Awaits an ordered stage while the bodies go on (L300).
    async fn alongside<T>(&mut self, stage: impl Future<Output = T>) -> T {
        let mut stage = std::pin::pin!(stage);
        poll_fn(|cx| {
            while let Poll::Ready(Some((call, dispatched))) = self.bodies.poll_next_unpin(cx) {
                self.ready.insert(call, dispatched);
                self.planner.settled(call);
            }
            stage.as_mut().poll(cx)
        })
        .await
    }
}

async fn run<E: LaneEvents>(
    tools: Tools,
    shared: Arc<Shared>,
    config: LaneConfig,
    mut events: E,
) -> Result<(), ToolError> {
    let mut board = Board {
        planner: Planner::new(config.cap, config.overlap),
        waiting: HashMap::new(),
        replies: HashMap::new(),
        bodies: FuturesUnordered::new(),
        ready: HashMap::new(),
    };
    let mut failure = None;
    loop {
        board.alongside(poll_fn(|cx| events.poll_ready(cx))).await;
        // Listen before looking, so that nothing that comes in between is missed.
        let changed = shared.changed.listen();
        let (closed, abandoned) = {
            let mut queue = shared.queue.lock();
            while let Some((call, reply)) = queue.calls.pop_front() {
                let number = board.planner.submit();
                board.waiting.insert(number, Waiting::new(call));
                board.replies.insert(number, reply);
            }
            (queue.closed, queue.abandoned)
        };
        let stopping = abandoned || failure.is_some() || config.signal.is_cancelled();
        if stopping {
            board.planner.stop();
        }
        let waiting = &mut board.waiting;
        let step = board.planner.next(|call| match waiting.get_mut(&call) {
            Some(waiting) => waiting.classify(&tools),
            None => (ExecutionMode::Exclusive, None),
        });
        match step {
            Step::Start(number) => {
                let Some(Waiting { mut call, parsed }) = board.waiting.remove(&number) else {
                    continue;
                };
                if let Err(error) =
                    crate::contain::contain(|| events.starting(&call)).and_then(|told| told)
                {
                    failure.get_or_insert(error);
                    board.replies.remove(&number);
                    board.planner.settled(number);
                    continue;
                }
                // A log has seen the call as it was submitted; from here on it need not be parsed again.
                if let Some(Ok(document)) = parsed {
                    call.arguments = Arguments::Document(document);
                }
                let entered = tools.enter(call);
                // In the list before policy begins: whoever drops the lane cancels a call that waits for its approval too.
                shared
                    .running
                    .lock()
                    .insert(number, entered.execution.clone());
                let prepared = board.alongside(tools.prepare(entered)).await;
                let dispatches = prepared.dispatches();
                let owned = tools.clone();
                let body = async move { (number, owned.dispatch(prepared).await) };
                if dispatches {
                    board.bodies.push(Box::pin(body));
                } else {
                    let (_, dispatched) = board.alongside(body).await;
                    board.ready.insert(number, dispatched);
                    board.planner.settled(number);
                }
            }
            Step::Commit(number) => {
                if let Some(dispatched) = board.ready.remove(&number) {
                    let settled = board.alongside(tools.finalize(dispatched)).await;
                    shared.running.lock().remove(&number);
                    // No result is told of once the scheduling has failed (L269); the caller still has its own.
                    if failure.is_none() {
                        let told = crate::contain::contain(|| events.committed(&settled))
                            .and_then(|told| told);
                        failure = told.err();
                    }
                    reply(&mut board.replies, number, settled);
                }
                board.planner.committed();
            }
            Step::Wait | Step::Idle => {
                if step == Step::Idle && (closed || stopping) {
                    break;
                }
                let stop = config.signal.cancelled();
                let (mut changed, mut stop) = (std::pin::pin!(changed), std::pin::pin!(stop));
                let stoppable = !stopping;
                board
                    .alongside_any(|cx| {
                        changed.as_mut().poll(cx).is_ready()
                            || (stoppable && stop.as_mut().poll(cx).is_ready())
                    })
                    .await;
            }
        }
    }
    {
        // Nothing is taken any more. What came in since the last look never started either.
        let mut queue = shared.queue.lock();
        queue.closed = true;
        while let Some((call, reply)) = queue.calls.pop_front() {
            let number = board.planner.submit();
            board.waiting.insert(number, Waiting::new(call));
            board.replies.insert(number, reply);
        }
    }
    if let Some(error) = failure {
        return Err(error);
    }
    if config.unstarted == Unstarted::Abort {
        for number in board.planner.unstarted() {
            let Some(Waiting { mut call, .. }) = board.waiting.remove(&number) else {
                continue;
            };
            let (canceller, signal) = Signal::following(std::slice::from_ref(&call.signal));
            canceller.cancel(config.signal.reason().unwrap_or(Reason::Dropped));
            call.signal = signal;
            crate::contain::contain(|| events.starting(&call)).and_then(|told| told)?;
            let settled = tools.execute(call).await;
            crate::contain::contain(|| events.committed(&settled)).and_then(|told| told)?;
            reply(&mut board.replies, number, settled);
        }
    }
    Ok(())
}

impl Board {
    /// Waits until a body settles or `woken` says so.
    async fn alongside_any(&mut self, mut woken: impl FnMut(&mut Context<'_>) -> bool) {
        poll_fn(|cx| {
            let mut progressed = woken(cx);
            while let Poll::Ready(Some((call, dispatched))) = self.bodies.poll_next_unpin(cx) {
                self.ready.insert(call, dispatched);
                self.planner.settled(call);
                progressed = true;
            }
            if progressed {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }
}

fn reply(replies: &mut HashMap<usize, oneshot::Sender<Settled>>, number: usize, settled: Settled) {
    if let Some(reply) = replies.remove(&number) {
        // Nobody has to wait for it.
        let _unheard = reply.send(settled);
    }
}
