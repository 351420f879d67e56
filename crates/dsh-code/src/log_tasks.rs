//! Log entries that are written beside the lane, and what becomes of a run whose log fails.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use dsh_context::Contained;
use dsh_tools::{BoxFuture, Canceller, Reason, ToolError};
use parking_lot::Mutex;

/// How many entries are being written, and what became of them. Whoever drives the run owns the futures; what is here is
/// what the lane has to know.
pub(crate) struct LogTasks {
    cap: usize,
    new: Mutex<Vec<BoxFuture<'static, Result<(), ToolError>>>>,
    pending: AtomicUsize,
    waiting: Mutex<Option<Waker>>,
    failure: Mutex<Option<ToolError>>,
    /// Ends the run: a log that cannot be written lets nothing more happen.
    canceller: Canceller,
}

impl LogTasks {
    pub(crate) fn new(cap: usize, canceller: Canceller) -> Self {
        Self {
            cap,
            new: Mutex::default(),
            pending: AtomicUsize::new(0),
            waiting: Mutex::default(),
            failure: Mutex::default(),
            canceller,
        }
    }

    /// An entry cannot be written. The run is cancelled, and ends with the first such failure.
    pub(crate) fn fail(&self, error: ToolError) {
        self.canceller.cancel(Reason::Other {
            message: error.message().into(),
        });
        self.failure.lock().get_or_insert(error);
    }

    /// Adds an entry that is being written.
    pub(crate) fn push(&self, task: impl Future<Output = Result<(), ToolError>> + Send + 'static) {
        self.pending.fetch_add(1, Ordering::AcqRel);
        self.new.lock().push(Box::pin(task));
    }

    /// The entries that nobody drives yet.
    pub(crate) fn take_new(&self) -> Vec<BoxFuture<'static, Result<(), ToolError>>> {
        std::mem::take(&mut *self.new.lock())
    }

    /// An entry is written, or not.
    pub(crate) fn finished(&self, result: Result<(), ToolError>) {
        if let Err(error) = result {
            self.fail(error);
        }
        self.pending.fetch_sub(1, Ordering::AcqRel);
        let waiting = self.waiting.lock().take();
        if let Some(waker) = waiting {
            waker.wake();
        }
    }

    /// Pending while more entries are being written than calls may overlap (C159).
    pub(crate) fn poll_room(&self, cx: &Context<'_>) -> Poll<()> {
        if self.pending.load(Ordering::Acquire) <= self.cap {
            return Poll::Ready(());
        }
        *self.waiting.lock() = Some(cx.waker().clone());
        // Nothing is lost in between: entries finish on the task that polls this.
        Poll::Pending
    }

    /// The first entry that could not be written.
    pub(crate) fn take_failure(&self) -> Result<(), ToolError> {
        self.failure.lock().take().map_or(Ok(()), Err)
    }
}

/// Runs what writes an entry; its panic is its failure.
pub(crate) fn contain(write: impl FnOnce() -> Result<(), ToolError>) -> Result<(), ToolError> {
    dsh_context::contain(write).unwrap_or_else(|_| Err(panicked()))
}

fn panicked() -> ToolError {
    ToolError::new("the log panicked")
}

/// A task whose panic is its failure.
pub(crate) async fn contained(
    task: BoxFuture<'static, Result<(), ToolError>>,
) -> Result<(), ToolError> {
    Contained::new(task)
        .await
        .unwrap_or_else(|_| Err(panicked()))
}
