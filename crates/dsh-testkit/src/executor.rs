//! Futures, run by hand.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use dsh_tools::{BoxFuture, Spawner};
use parking_lot::Mutex;

/// How long nothing may happen before a test counts as stuck.
const STUCK: Duration = Duration::from_secs(60);

struct Unpark {
    thread: Thread,
    woken: AtomicBool,
}

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// Runs a future on this thread to its end.
///
/// # Panics
///
/// When nobody wakes the future for a minute: what it waits for will not come, and a test that says so is better than
/// one that hangs.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    let wake = Arc::new(Unpark {
        thread: thread::current(),
        woken: AtomicBool::new(true),
    });
    let waker = Waker::from(wake.clone());
    loop {
        if wake.woken.swap(false, Ordering::AcqRel) {
            if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                return output;
            }
            continue;
        }
        // A thread also comes back from parking by itself, or for a wake that was seen before its thread was told of it.
        let deadline = Instant::now() + STUCK;
        while !wake.woken.load(Ordering::Acquire) {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(
                !left.is_zero(),
                "the future waits for something that does not come"
            );
            thread::park_timeout(left);
        }
    }
}

/// Is pending once, and wakes itself.
pub async fn yield_once() {
    let mut yielded = false;
    poll_fn(move |cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[derive(Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

/// A future under the test's control: polled exactly when the test says so, and dropped when it likes.
///
/// # Examples
///
/// ```
/// use dsh_testkit::{Driven, yield_once};
///
/// let mut future = Driven::new(async { yield_once().await; 7 });
/// assert_eq!(future.poll(), None);
/// assert!(future.is_woken());
/// assert_eq!(future.poll(), Some(7));
/// ```
pub struct Driven<'a, T> {
    future: Option<Pin<Box<dyn Future<Output = T> + 'a>>>,
    flag: Arc<Flag>,
    waker: Waker,
    polls: usize,
}

impl<'a, T> Driven<'a, T> {
    /// Takes a future, and does not poll it.
    pub fn new(future: impl Future<Output = T> + 'a) -> Self {
        let flag = Arc::new(Flag(AtomicBool::new(true)));
        Self {
            future: Some(Box::pin(future)),
            waker: Waker::from(flag.clone()),
            flag,
            polls: 0,
        }
    }

    /// Polls once; `None` while the future is pending.
    ///
    /// # Panics
    ///
    /// When the future is done already.
    pub fn poll(&mut self) -> Option<T> {
        let future = self
            .future
            .as_mut()
            .expect("a finished future is not polled again");
        self.polls += 1;
        self.flag.0.store(false, Ordering::Release);
        match future.as_mut().poll(&mut Context::from_waker(&self.waker)) {
            Poll::Pending => None,
            Poll::Ready(output) => {
                self.future = None;
                Some(output)
            }
        }
    }

    /// Polls as long as the future is woken; `None` when it waits for somebody else.
    ///
    /// # Panics
    ///
    /// When the future is done already.
    pub fn until_stalled(&mut self) -> Option<T> {
        while self.is_woken() {
            if let Some(output) = self.poll() {
                return Some(output);
            }
        }
        None
    }

    /// Whether somebody woke the future since it was last polled; `true` before the first poll.
    #[must_use]
    pub fn is_woken(&self) -> bool {
        self.flag.0.load(Ordering::Acquire)
    }

    /// How often it was polled.
    #[must_use]
    pub fn polls(&self) -> usize {
        self.polls
    }
}

impl<T> fmt::Debug for Driven<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driven")
            .field("polls", &self.polls)
            .field("done", &self.future.is_none())
            .finish()
    }
}

/// Keeps what is spawned until the test runs it.
///
/// # Examples
///
/// ```
/// use dsh_testkit::ManualSpawner;
/// use dsh_tools::Spawner;
///
/// let spawner = ManualSpawner::new();
/// spawner.spawn(Box::pin(async {}));
/// assert_eq!((spawner.spawned(), spawner.pending()), (1, 1));
/// spawner.run_until_stalled();
/// assert_eq!(spawner.pending(), 0);
/// ```
#[derive(Clone, Default)]
pub struct ManualSpawner(Arc<Inner>);

#[derive(Default)]
struct Inner {
    tasks: Mutex<Vec<Task>>,
    spawned: AtomicUsize,
}

struct Task {
    future: BoxFuture<'static, ()>,
    flag: Arc<Flag>,
}

impl ManualSpawner {
    /// Nothing spawned yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many futures were spawned in all.
    #[must_use]
    pub fn spawned(&self) -> usize {
        self.0.spawned.load(Ordering::Acquire)
    }

    /// How many of them are not done. Those that are being polled at this moment count as done.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.0.tasks.lock().len()
    }

    /// Polls whatever is woken, until nothing is; futures that are spawned meanwhile included.
    pub fn run_until_stalled(&self) {
        // A task is taken out to be polled: it may spawn others, or look at this spawner.
        while let Some(mut task) = self.take_woken() {
            task.flag.0.store(false, Ordering::Release);
            let waker = Waker::from(task.flag.clone());
            if task
                .future
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
            {
                self.0.tasks.lock().push(task);
            }
        }
    }

    fn take_woken(&self) -> Option<Task> {
        let mut tasks = self.0.tasks.lock();
        let index = tasks
            .iter()
            .position(|task| task.flag.0.load(Ordering::Acquire))?;
        Some(tasks.remove(index))
    }
}

impl Spawner for ManualSpawner {
    fn spawn(&self, future: BoxFuture<'static, ()>) {
        self.0.spawned.fetch_add(1, Ordering::AcqRel);
        let flag = Arc::new(Flag(AtomicBool::new(true)));
        self.0.tasks.lock().push(Task { future, flag });
    }
}

impl fmt::Debug for ManualSpawner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManualSpawner")
            .field("pending", &self.pending())
            .finish_non_exhaustive()
    }
}
