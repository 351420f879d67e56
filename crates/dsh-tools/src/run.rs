//! What a body gets besides its arguments.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use compact_str::CompactString;
use event_listener::Event;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::contain::Contained;
use crate::{
    Arguments, BoxFuture, Call, CallId, ContextMessage, Execution, Settled, Signal, Token,
    ToolError, Tools,
};

/// How far a body is, for whoever watches.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// Units done so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<u64>,
    /// Units in all, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// What is going on, in a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<CompactString>,
}

impl Progress {
    /// A line of text.
    pub fn message(message: impl Into<CompactString>) -> Self {
        Self {
            message: Some(message.into()),
            ..Self::default()
        }
    }

    /// Units done, and how many there are if that is known.
    #[must_use]
    pub fn units(done: u64, total: Option<u64>) -> Self {
        Self {
            done: Some(done),
            total,
            message: None,
        }
    }
}

/// The body's view of its execution: what cancels it, what it may say besides its value, and nested calls (T15–T17).
///
/// Cheap to clone and not tied to a thread. A clone that outlives the call is harmless: what it says no longer counts
/// (T211).
#[derive(Clone)]
pub struct RunContext {
    tools: Tools,
    execution: Execution,
    signal: Signal,
}

impl RunContext {
    pub(crate) fn new(tools: Tools, execution: Execution, signal: Signal) -> Self {
        Self {
            tools,
            execution,
            signal,
        }
    }

    /// The execution this body runs for.
    #[must_use]
    pub fn execution(&self) -> &Execution {
        &self.execution
    }

    /// What tells the body to stop: the caller's signal, fused with any that a wrapper put in (T287).
    #[must_use]
    pub fn signal(&self) -> &Signal {
        &self.signal
    }

    /// The token to pass as the parent of nested calls.
    #[must_use]
    pub fn token(&self) -> Token {
        self.execution.token()
    }

    /// The same text for every attempt at this call, for receivers that recognise a repeated request.
    #[must_use]
    pub fn idempotency_key(&self) -> String {
        idempotency_key(&self.execution)
    }

    /// How often the call was started, 1 for the first time.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.execution.attempt()
    }

    /// When the call has to be over, in milliseconds on the host's clock.
    #[must_use]
    pub fn deadline_ms(&self) -> Option<u64> {
        self.execution.deadline_ms()
    }

    /// Adds a message behind the result of this very call (T16). It is not sent before the call is over.
    pub fn defer_context(&self, message: ContextMessage) {
        self.execution.defer(message);
    }

    /// Asks that the agent's turn end once this call has succeeded (T17).
    pub fn conclude_turn(&self) {
        self.execution.conclude();
    }

    /// Tells whoever watches how far the body is. Nobody hears of it once the call is past its body (T211).
    pub fn progress(&self, progress: Progress) {
        if !self.execution.is_sealed() {
            self.tools.publish_progress(&self.execution, &progress);
        }
    }

    /// A nested call: it inherits agent and root, follows this body's signal, and has this execution as its parent.
    ///
    /// Change what should differ and hand it to [`execute`](RunContext::execute).
    pub fn call(
        &self,
        id: impl Into<CallId>,
        name: impl Into<CompactString>,
        arguments: impl Into<Arguments>,
    ) -> Call {
        let mut call = Call::new(id, name, arguments, self.signal.clone());
        call.agent = self.execution.agent().cloned();
        call.parent = Some(self.execution.token());
        call.root = Some(self.execution.root_id().clone());
        call.deadline_ms = self.execution.deadline_ms();
        call
    }

    /// Runs a nested call through the whole pipeline (T207). Its contexts come back with it and reach the model only if
    /// this body defers them (T253).
    pub async fn execute(&self, call: Call) -> Settled {
        // Boxed: a body that calls a tool whose body calls a tool would otherwise be a type without end.
        let nested: BoxFuture<'_, Settled> = Box::pin(self.tools.execute(call));
        nested.await
    }

    /// The registry this call runs in.
    #[must_use]
    pub fn tools(&self) -> &Tools {
        &self.tools
    }

    /// Starts a task that belongs to this call: the call is not over before the task is (T306).
    ///
    /// The task runs on the runtime's spawner and has to watch the signal like the body itself. Its panic is its
    /// failure.
    pub fn spawn<T, F>(&self, future: F) -> TaskHandle<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, ToolError>> + Send + 'static,
    {
        let state = Arc::new(TaskState {
            result: Mutex::new(None),
            done: Event::new(),
        });
        let handle = TaskHandle(state.clone());
        let running = self.execution.enter_task();
        self.tools.spawner().spawn(Box::pin(async move {
            let finish = Finish(state);
            let result = Contained::new(Box::pin(future)).await;
            *finish.0.result.lock() = Some(result);
            drop(finish);
            drop(running);
        }));
        handle
    }
}

pub(crate) fn idempotency_key(execution: &Execution) -> String {
    let (root, id) = (execution.root_id(), execution.id());
    if root == id {
        id.to_string()
    } else {
        format!("{root}/{id}")
    }
}

impl fmt::Debug for RunContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunContext")
            .field("execution", &self.execution)
            .finish_non_exhaustive()
    }
}

struct TaskState<T> {
    result: Mutex<Option<Result<T, ToolError>>>,
    done: Event,
}

/// Wakes whoever joins, also when the executor drops the task unfinished.
struct Finish<T>(Arc<TaskState<T>>);

impl<T> Drop for Finish<T> {
    fn drop(&mut self) {
        let mut result = self.0.result.lock();
        if result.is_none() {
            *result = Some(Err(ToolError::new("the task was dropped by its executor")));
        }
        drop(result);
        self.0.done.notify(usize::MAX);
    }
}

/// A task of a body. Dropping the handle does not stop the task; the call waits for it all the same.
pub struct TaskHandle<T>(Arc<TaskState<T>>);

impl<T> TaskHandle<T> {
    /// Waits for the task.
    ///
    /// # Errors
    ///
    /// The task's own failure, its panic, or that its executor shut down before it was done.
    pub async fn join(self) -> Result<T, ToolError> {
        loop {
            let done = self.0.done.listen();
            if let Some(result) = self.0.result.lock().take() {
                return result;
            }
            done.await;
        }
    }
}

impl<T> fmt::Debug for TaskHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TaskHandle")
    }
}
