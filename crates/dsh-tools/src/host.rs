//! What the runtime takes from its surroundings, so that it needs no clock, no randomness and no executor of its own.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Wake, Waker};
use std::time::Duration;

/// A boxed future.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Clock, randomness, ids and sleep (deterministic where the caller makes them so).
///
/// Nothing in this crate reads a clock (T456); what needs one asks here. Without a host, approval tickets do not expire.
pub trait Host: Send + Sync {
    /// Milliseconds since an epoch of the host's choosing.
    fn now_ms(&self) -> u64;

    /// Random bits; a durable host replays them.
    fn random(&self) -> u64;

    /// A fresh id for something of the given kind, such as `approval`.
    fn fresh_id(&self, kind: &str) -> String;

    /// Completes after the given time on the host's clock.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;
}

/// Runs what outlives the future it was started from: drained calls and the tasks of a body.
pub trait Spawner: Send + Sync {
    /// Runs the future to its end.
    ///
    /// An implementation never drops an unfinished future while its executor lives.
    fn spawn(&self, future: BoxFuture<'static, ()>);
}

/// Runs each future on a thread of its own: right for any future, and cheap enough for what is rare.
///
/// Bodies that need a reactor want that reactor's spawner instead.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreadSpawner;

impl Spawner for ThreadSpawner {
    fn spawn(&self, future: BoxFuture<'static, ()>) {
        let result = std::thread::Builder::new()
            .name("dsh-drain".to_owned())
            .spawn(move || block_on(future));
        if let Err(error) = result {
            // The future is gone with the closure; its own guards settle what it owned.
            tracing::error!(%error, "no thread to finish a dropped call on");
        }
    }
}

struct ThreadWaker(std::thread::Thread);

impl Wake for ThreadWaker {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on(mut future: BoxFuture<'static, ()>) {
    let waker = Waker::from(std::sync::Arc::new(ThreadWaker(std::thread::current())));
    let mut cx = Context::from_waker(&waker);
    while future.as_mut().poll(&mut cx).is_pending() {
        std::thread::park();
    }
}

/// Runs futures on the tokio runtime it was made in.
#[cfg(feature = "tokio")]
#[derive(Clone, Debug)]
pub struct TokioSpawner(tokio::runtime::Handle);

#[cfg(feature = "tokio")]
impl TokioSpawner {
    /// A spawner for the runtime of the current thread.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    #[must_use]
    pub fn current() -> Self {
        Self(tokio::runtime::Handle::current())
    }
}

#[cfg(feature = "tokio")]
impl Spawner for TokioSpawner {
    fn spawn(&self, future: BoxFuture<'static, ()>) {
        drop(self.0.spawn(future));
    }
}
