//! Which call of a batch does what next: a pure function of what has happened so far.

use std::collections::VecDeque;

use crate::{Access, ExecutionMode};

/// When two calls may overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overlap {
    /// Only calls that say they are safe beside any other (T312); every other call is alone.
    #[default]
    Exclusive,
    /// Also calls whose declared accesses do not conflict with those of any running call (D45).
    ByAccess,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Commit this call: it is settled and every earlier one is committed.
    Commit(usize),
    /// Start this call's policy, and then its body.
    Start(usize),
    /// Wait for a running body, or for more calls.
    Wait,
    /// Nothing is left to do until more calls come.
    Idle,
}

#[derive(Debug)]
enum State {
    /// What it declares to touch; `None` when it does not say.
    Running(Option<Vec<Access>>),
    Settled,
}

#[derive(Debug)]
struct Slot {
    state: State,
    parallel: bool,
    exclusive: bool,
}

/// The order of one lane: commits in the order of submission, starts in the order of submission, and between them as
/// much overlap as the cap and the barriers allow (T316–T322, L254–L264).
#[derive(Debug)]
pub struct Planner {
    cap: usize,
    overlap: Overlap,
    first: usize,
    slots: VecDeque<Slot>,
    submitted: usize,
    /// The calls whose bodies run, at most `cap` of them; everything else that was started is settled.
    running: Vec<usize>,
    stopped: bool,
}

impl Planner {
    /// A planner for at most `cap` running bodies; zero counts as one.
    #[must_use]
    pub fn new(cap: usize, overlap: Overlap) -> Self {
        Self {
            cap: cap.max(1),
            overlap,
            first: 0,
            slots: VecDeque::new(),
            submitted: 0,
            running: Vec::new(),
            stopped: false,
        }
    }

    /// Adds a call at the end; its number is returned.
    pub fn submit(&mut self) -> usize {
        self.submitted += 1;
        self.submitted - 1
    }

    /// Starts no further call.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// Whether [`stop`](Planner::stop) was called.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// The number of the first call that has not started.
    #[must_use]
    pub fn unstarted(&self) -> std::ops::Range<usize> {
        self.first + self.slots.len()..self.submitted
    }

    /// What to do next. `classify` is asked about the next call right before it would start, never earlier (T318).
    pub fn next(
        &mut self,
        classify: impl FnOnce(usize) -> (ExecutionMode, Option<Vec<Access>>),
    ) -> Step {
        // Ready results are committed before anything else starts (L261).
        if matches!(
            self.slots.front(),
            Some(Slot {
                state: State::Settled,
                ..
            })
        ) {
            return Step::Commit(self.first);
        }
        let next = self.first + self.slots.len();
        if self.stopped || next >= self.submitted {
            return if self.slots.is_empty() {
                Step::Idle
            } else {
                Step::Wait
            };
        }
        // Whatever the next call is, it cannot start now, so it is not asked about.
        // A barrier starts alone and lets nothing in behind it, so it is the first slot or none.
        let barred = self.slots.front().is_some_and(|slot| slot.exclusive);
        if self.running.len() >= self.cap || barred {
            return Step::Wait;
        }
        let (mode, access) = classify(next);
        let parallel = mode == ExecutionMode::Parallel;
        // Alone in the lane, a call that declares what it touches need not be a barrier for others that do.
        let exclusive = !parallel && (self.overlap != Overlap::ByAccess || access.is_none());
        let alone = self.slots.is_empty();
        let fits = !exclusive
            && self
                .running
                .iter()
                .filter_map(|call| self.slots.get(call - self.first))
                .all(|slot| slot.tolerates(parallel, access.as_deref()));
        if !alone && !fits {
            return Step::Wait;
        }
        self.slots.push_back(Slot {
            state: State::Running(access),
            parallel,
            exclusive,
        });
        self.running.push(next);
        Step::Start(next)
    }

    /// A started call has settled, or was never to run a body.
    pub fn settled(&mut self, call: usize) {
        if let Some(slot) = call
            .checked_sub(self.first)
            .and_then(|index| self.slots.get_mut(index))
        {
            slot.state = State::Settled;
            self.running.retain(|running| *running != call);
        }
    }

    /// The first call is committed; an exclusive one lifts its barrier with that (T322).
    pub fn committed(&mut self) {
        if self.slots.pop_front().is_some() {
            self.first += 1;
        }
    }
}

impl Slot {
    /// Whether a call that is not a barrier may run beside this one. Two safe calls always may (T312). Where one of the
    /// two overlaps only by its declaration, both have to say what they touch, or what is said has to be harmless (D45).
    fn tolerates(&self, parallel: bool, access: Option<&[Access]>) -> bool {
        let State::Running(running) = &self.state else {
            return true;
        };
        if self.parallel && parallel {
            return true;
        }
        match (running.as_deref(), access) {
            (Some(running), Some(next)) => {
                running.iter().all(|a| next.iter().all(|b| !a.conflicts(b)))
            }
            (Some(known), None) | (None, Some(known)) => {
                known.iter().all(|a| matches!(a, Access::Read { .. }))
            }
            (None, None) => false,
        }
    }
}
