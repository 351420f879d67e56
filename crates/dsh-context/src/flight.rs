//! Work that several callers wait for and any of them drives.
//!
//! No executor is known here, so work makes progress only while somebody polls it. A [`Flight`] belongs
//! to nobody in particular: whoever polls drives it, the others are woken, and a caller that goes away
//! leaves the work to the rest (L12, T142). The state lock is never held while the work is polled,
//! dropped, or while anybody is woken.

use std::{
    mem,
    sync::{Arc, Weak},
    task::{Context, Poll, Wake, Waker},
};

use parking_lot::Mutex;

use crate::{
    containment::{BoxFuture, contain},
    fiber::{Disposal, Fiber, FiberCore},
    reentry::{self, Frame},
};

/// One piece of shared work.
pub(crate) struct Flight {
    /// The fiber whose teardown waits for this work; empty for work that no fiber waits for.
    owner: Weak<FiberCore>,
    state: Mutex<State>,
    /// What the work is polled with.
    alarm: Waker,
    /// Disposals that were asked for from inside the work and could not be waited for there.
    followups: Mutex<Vec<Fiber>>,
}

struct State {
    work: Work,
    waiters: Vec<Waiter>,
    tickets: u64,
    /// The waiters were woken and nobody has begun to poll since. Waking them once is enough, and fibers
    /// that wait for each other would otherwise wake each other without end.
    rung: bool,
}

enum Work {
    Idle(BoxFuture<'static, ()>),
    /// Somebody has taken the work out to poll it.
    Polling,
    Done,
}

struct Waiter {
    ticket: u64,
    waker: Waker,
    /// Wanted to drive but found the work taken; told when it is put back, since the one who drove may
    /// never come again and two flights may be waiting for each other's driver.
    missed: bool,
}

impl Flight {
    pub(crate) fn new(owner: Weak<FiberCore>, work: BoxFuture<'static, ()>) -> Arc<Self> {
        Arc::new_cyclic(|flight| Self {
            owner,
            state: Mutex::new(State {
                work: Work::Idle(work),
                waiters: Vec::new(),
                tickets: 0,
                rung: false,
            }),
            alarm: Waker::from(Arc::new(Alarm(Weak::clone(flight)))),
            followups: Mutex::new(Vec::new()),
        })
    }

    pub(crate) fn owner(&self) -> Option<Arc<FiberCore>> {
        self.owner.upgrade()
    }

    /// Has everybody who waits for this work also wait for the disposal of `fiber`.
    pub(crate) fn follow_up(&self, fiber: Fiber) {
        self.followups.lock().push(fiber);
    }

    /// Drives the work without waiting for it.
    pub(crate) fn nudge(self: &Arc<Self>) {
        // A noop waker may be dropped anywhere; the work itself gets this flight's own waker.
        let _ = self.drive(None, Waker::noop());
    }

    pub(crate) fn is_done(&self) -> bool {
        matches!(self.state.lock().work, Work::Done)
    }

    fn drive(self: &Arc<Self>, ticket: Option<&mut Option<u64>>, waker: &Waker) -> Poll<()> {
        let (taken, replaced) = {
            let mut state = self.state.lock();
            match mem::replace(&mut state.work, Work::Polling) {
                Work::Done => {
                    state.work = Work::Done;
                    return Poll::Ready(());
                }
                Work::Polling => (None, state.wait(ticket, waker, true)),
                Work::Idle(work) => {
                    state.rung = false;
                    (Some(work), state.wait(ticket, waker, false))
                }
            }
        };
        drop(replaced);
        let Some(mut work) = taken else {
            return Poll::Pending;
        };

        let polled = {
            let _frame = reentry::enter(Frame::Work(Arc::clone(self)));
            // All foreign code inside is contained where it can be named; this is the safety net that
            // keeps waiters from hanging.
            contain(|| work.as_mut().poll(&mut Context::from_waker(&self.alarm)))
        };
        match polled {
            Ok(Poll::Pending) => {
                let missed = {
                    let mut state = self.state.lock();
                    state.work = Work::Idle(work);
                    state.missed()
                };
                missed.into_iter().for_each(Waker::wake);
                Poll::Pending
            }
            Ok(Poll::Ready(())) | Err(_) => {
                if let Err(panicked) = polled {
                    tracing::error!(panic = %panicked, "shared work panicked");
                }
                // Before `Done` is visible, so that nothing the work held outlives its completion.
                let _ = contain(move || drop(work));
                let waiters = {
                    let mut state = self.state.lock();
                    state.work = Work::Done;
                    mem::take(&mut state.waiters)
                };
                waiters.into_iter().for_each(|waiter| waiter.waker.wake());
                Poll::Ready(())
            }
        }
    }

    fn leave(&self, ticket: u64) {
        let left = {
            let mut state = self.state.lock();
            let at = state
                .waiters
                .iter()
                .position(|waiter| waiter.ticket == ticket);
            at.map(|at| state.waiters.swap_remove(at))
        };
        drop(left);
    }
}

/// Wakes everybody who waits for a flight.
///
/// Weak, because what wakes work is often part of that work: the circle would never be freed.
struct Alarm(Weak<Flight>);

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let Some(flight) = self.0.upgrade() else {
            return;
        };
        let wakers: Vec<Waker> = {
            let mut state = flight.state.lock();
            if mem::replace(&mut state.rung, true) {
                return;
            }
            state
                .waiters
                .iter()
                .map(|waiter| waiter.waker.clone())
                .collect()
        };
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl State {
    /// Registers or refreshes a waiter; returns what must be dropped outside the lock.
    fn wait(
        &mut self,
        ticket: Option<&mut Option<u64>>,
        waker: &Waker,
        missed: bool,
    ) -> Option<Waker> {
        let ticket = ticket?;
        if let Some(held) = *ticket
            && let Some(waiter) = self.waiters.iter_mut().find(|waiter| waiter.ticket == held)
        {
            waiter.missed = missed;
            if waiter.waker.will_wake(waker) {
                return None;
            }
            return Some(mem::replace(&mut waiter.waker, waker.clone()));
        }
        let fresh = self.tickets;
        self.tickets += 1;
        *ticket = Some(fresh);
        self.waiters.push(Waiter {
            ticket: fresh,
            waker: waker.clone(),
            missed,
        });
        None
    }

    fn missed(&mut self) -> Vec<Waker> {
        self.waiters
            .iter_mut()
            .filter_map(|waiter| mem::take(&mut waiter.missed).then(|| waiter.waker.clone()))
            .collect()
    }
}

/// One caller's wait for a flight.
pub(crate) struct Join {
    flight: Arc<Flight>,
    ticket: Option<u64>,
    followups: Option<Vec<Disposal>>,
}

impl Join {
    pub(crate) const fn new(flight: Arc<Flight>) -> Self {
        Self {
            flight,
            ticket: None,
            followups: None,
        }
    }

    pub(crate) fn flight(&self) -> &Arc<Flight> {
        &self.flight
    }

    /// `target` is the fiber whose end is awaited, if it is one. A wait that would wait for itself ends
    /// at once; see [`Fiber::dispose`].
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, target: Option<&Fiber>) -> Poll<()> {
        if self.followups.is_none() {
            if self
                .flight
                .drive(Some(&mut self.ticket), cx.waker())
                .is_pending()
            {
                if target.is_none_or(|target| !reentry::defer(target, &self.flight)) {
                    return Poll::Pending;
                }
                return Poll::Ready(());
            }
            let fibers = self.flight.followups.lock().clone();
            // Whoever is over needs no driving, which also ends any circle of follow-ups.
            let disposals = fibers
                .iter()
                .filter(|fiber| !fiber.is_over())
                .map(Fiber::dispose)
                .collect();
            self.followups = Some(disposals);
        }
        let Some(followups) = &mut self.followups else {
            return Poll::Ready(());
        };
        followups.retain_mut(|disposal| disposal.join(cx).is_pending());
        if followups.is_empty() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

impl Clone for Join {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.flight))
    }
}

impl Drop for Join {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.flight.leave(ticket);
        }
    }
}

impl Future for Join {
    type Output = ();

    fn poll(mut self: std::pin::Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Self::poll(&mut self, cx, None)
    }
}
