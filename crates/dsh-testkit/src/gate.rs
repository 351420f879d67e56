//! A door that a test opens when it is time.

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::{Poll, Waker};

use parking_lot::Mutex;

/// Holds whoever passes until the test opens it, and tells the test who has arrived: two futures in a fixed order without
/// any sleeping.
///
/// # Examples
///
/// ```
/// use dsh_testkit::{Driven, Gate};
///
/// let gate = Gate::new();
/// let mut walker = Driven::new({
///     let gate = gate.clone();
///     async move { gate.pass().await }
/// });
/// assert!(walker.until_stalled().is_none());
/// assert_eq!(gate.arrivals(), 1);
/// gate.open();
/// assert!(walker.until_stalled().is_some());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Gate(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    open: bool,
    arrivals: usize,
    waiting: Vec<Waker>,
}

impl Gate {
    /// A closed gate.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens the gate for everybody, for good.
    pub fn open(&self) {
        self.0.lock().open = true;
        self.wake();
    }

    /// Whether the gate is open.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.0.lock().open
    }

    /// How many have arrived so far, whether they have passed or not.
    #[must_use]
    pub fn arrivals(&self) -> usize {
        self.0.lock().arrivals
    }

    /// Arrives, and waits until the gate is open.
    pub async fn pass(&self) {
        self.0.lock().arrivals += 1;
        self.wake();
        self.when(|state| state.open).await;
    }

    /// Waits until `count` have arrived.
    pub async fn arrived(&self, count: usize) {
        self.when(|state| state.arrivals >= count).await;
    }

    fn when(&self, condition: impl Fn(&State) -> bool) -> impl Future<Output = ()> {
        poll_fn(move |cx| {
            let mut state = self.0.lock();
            if condition(&state) {
                return Poll::Ready(());
            }
            state.waiting.push(cx.waker().clone());
            Poll::Pending
        })
    }

    fn wake(&self) {
        let waiting = std::mem::take(&mut self.0.lock().waiting);
        waiting.into_iter().for_each(Waker::wake);
    }
}
