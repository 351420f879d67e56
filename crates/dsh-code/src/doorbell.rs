//! Futures on one task that wake each other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use parking_lot::Mutex;

/// Rounds in one poll before other tasks get their turn.
const ROUNDS: u32 = 32;

/// A waker that stands between futures and their task.
///
/// A call of a program wakes the lane, and the lane's commit wakes the runtime: for each, an executor with several threads
/// would wake another one and hand the task on. Here, who is woken while the task is at it costs the executor nothing as long
/// as the task says that it goes round again; any other wake-up is passed on, so that a body that yields does yield.
pub(crate) struct Doorbell {
    state: Arc<State>,
    waker: Waker,
}

struct State {
    rung: AtomicBool,
    is_inside: AtomicBool,
    task: Mutex<Waker>,
}

impl Wake for State {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // In this order, as the task does the opposite: it leaves, then looks whether it rang.
        self.rung.store(true, Ordering::SeqCst);
        if !self.is_inside.load(Ordering::SeqCst) {
            let task = self.task.lock().clone();
            task.wake();
        }
    }
}

impl Doorbell {
    pub(crate) fn new() -> Self {
        let state = Arc::new(State {
            rung: AtomicBool::new(false),
            is_inside: AtomicBool::new(false),
            task: Mutex::new(Waker::noop().clone()),
        });
        Self {
            waker: Waker::from(state.clone()),
            state,
        }
    }

    /// Polls what is at hand, and again at once while `again` says so after a round.
    pub(crate) fn attend<T>(
        &self,
        cx: &Context<'_>,
        mut again: impl FnMut() -> bool,
        mut round: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        self.state.task.lock().clone_from(cx.waker());
        for _ in 0..ROUNDS {
            self.state.is_inside.store(true, Ordering::SeqCst);
            // What rang until here is seen by the round that comes now.
            self.state.rung.store(false, Ordering::SeqCst);
            let polled = round(&mut Context::from_waker(&self.waker));
            self.state.is_inside.store(false, Ordering::SeqCst);
            if polled.is_ready() {
                return polled;
            }
            if !again() {
                if self.state.rung.load(Ordering::SeqCst) {
                    cx.waker().wake_by_ref();
                }
                return Poll::Pending;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn counted() -> (Arc<Count>, Waker) {
        let count = Arc::new(Count::default());
        (count.clone(), Waker::from(count))
    }

    #[test]
    fn a_task_that_goes_round_again_is_not_woken() {
        let (woken, waker) = counted();
        let mut left = 3;
        let round = |cx: &mut Context<'_>| {
            if left == 0 {
                return Poll::Ready("done");
            }
            left -= 1;
            cx.waker().wake_by_ref();
            Poll::Pending
        };
        let polled = Doorbell::new().attend(&Context::from_waker(&waker), || true, round);
        assert_eq!(polled, Poll::Ready("done"));
        assert_eq!(woken.0.load(Ordering::SeqCst), 0);
    }

    #[test]
    fn who_is_woken_later_wakes_the_task() {
        let (woken, waker) = counted();
        let doorbell = Doorbell::new();
        let mut kept = None;
        let round = |cx: &mut Context<'_>| {
            kept = Some(cx.waker().clone());
            Poll::<()>::Pending
        };
        let polled = doorbell.attend(&Context::from_waker(&waker), || false, round);
        assert_eq!(polled, Poll::Pending);
        assert_eq!(woken.0.load(Ordering::SeqCst), 0);
        kept.unwrap().wake();
        assert_eq!(woken.0.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_future_that_yields_yields_to_other_tasks() {
        let (woken, waker) = counted();
        let mut rounds = 0;
        let round = |cx: &mut Context<'_>| {
            rounds += 1;
            cx.waker().wake_by_ref();
            Poll::<()>::Pending
        };
        let polled = Doorbell::new().attend(&Context::from_waker(&waker), || false, round);
        assert_eq!((polled, rounds), (Poll::Pending, 1));
        assert_eq!(woken.0.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn other_tasks_get_their_turn_in_the_end() {
        let (woken, waker) = counted();
        let mut rounds = 0;
        let round = |_: &mut Context<'_>| {
            rounds += 1;
            Poll::<()>::Pending
        };
        let polled = Doorbell::new().attend(&Context::from_waker(&waker), || true, round);
        assert_eq!((polled, rounds), (Poll::Pending, ROUNDS));
        assert_eq!(woken.0.load(Ordering::SeqCst), 1);
    }

    /// Wherever another thread rings, one of the two learns of it.
    #[test]
    fn no_ring_is_lost() {
        for _ in 0..2000 {
            let (woken, waker) = counted();
            let doorbell = Doorbell::new();
            let is_there = Arc::new(AtomicBool::new(false));
            let (inner, thing) = (doorbell.waker.clone(), is_there.clone());
            let thread = std::thread::spawn(move || {
                thing.store(true, Ordering::SeqCst);
                inner.wake();
            });
            let round = |_: &mut Context<'_>| {
                if is_there.load(Ordering::SeqCst) {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                }
            };
            let polled = doorbell.attend(&Context::from_waker(&waker), || false, round);
            thread.join().unwrap();
            assert!(polled.is_ready() || woken.0.load(Ordering::SeqCst) > 0);
        }
    }
}
