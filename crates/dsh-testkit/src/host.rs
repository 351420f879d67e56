//! A clock that stands still.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use dsh_tools::{BoxFuture, Host};
use parking_lot::Mutex;

/// A host whose time passes only by [`advance`](FakeHost::advance), and whose random numbers and ids count up.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use dsh_testkit::{Driven, FakeHost};
/// use dsh_tools::Host;
///
/// let host = FakeHost::new();
/// let mut sleep = Driven::new(host.sleep(Duration::from_secs(1)));
/// assert!(sleep.until_stalled().is_none());
/// host.advance(Duration::from_secs(1));
/// assert!(sleep.until_stalled().is_some());
/// assert_eq!(host.now_ms(), 1_000);
/// assert_eq!((host.fresh_id("job"), host.fresh_id("job")), ("job-1".into(), "job-2".into()));
/// ```
#[derive(Clone, Debug, Default)]
pub struct FakeHost(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    now_ms: u64,
    drawn: u64,
    ids: u64,
    sleepers: Vec<Waker>,
}

impl FakeHost {
    /// A host at time zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets time pass, and wakes whoever sleeps.
    pub fn advance(&self, time: Duration) {
        let sleepers = {
            let mut state = self.0.lock();
            state.now_ms = state
                .now_ms
                .saturating_add(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
            std::mem::take(&mut state.sleepers)
        };
        sleepers.into_iter().for_each(Waker::wake);
    }
}

impl Host for FakeHost {
    fn now_ms(&self) -> u64 {
        self.0.lock().now_ms
    }

    fn random(&self) -> u64 {
        let mut state = self.0.lock();
        state.drawn += 1;
        state.drawn
    }

    fn fresh_id(&self, kind: &str) -> String {
        let mut state = self.0.lock();
        state.ids += 1;
        format!("{kind}-{}", state.ids)
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let (host, time) = (
            self.clone(),
            u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
        );
        let until = self.now_ms().saturating_add(time);
        Box::pin(poll_fn(move |cx| {
            let mut state = host.0.lock();
            if state.now_ms >= until {
                return Poll::Ready(());
            }
            state.sleepers.push(cx.waker().clone());
            Poll::Pending
        }))
    }
}
