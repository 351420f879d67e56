//! The compute budget, in processor time of the thread that the engine is on.
//!
//! Waiting for the host or for a timer costs nothing by itself, and a loaded machine does not starve a run (C226).

use std::cell::Cell;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Counts the program's processor time.
pub(super) struct Clock {
    start: Cell<Duration>,
    budget: Cell<Duration>,
}

impl Clock {
    /// A clock without a budget.
    pub(super) fn new() -> Self {
        Self {
            start: Cell::new(Duration::ZERO),
            budget: Cell::new(Duration::MAX),
        }
    }

    /// Begins a budget now.
    pub(super) fn start(&self, budget: Duration) {
        self.start.set(now());
        self.budget.set(budget);
    }

    /// Processor time since the start.
    pub(super) fn busy(&self) -> Duration {
        now().saturating_sub(self.start.get())
    }

    /// Whether the budget is used up.
    pub(super) fn is_over(&self) -> bool {
        self.busy() >= self.budget.get()
    }
}

fn now() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// Processor time in the unit of reports.
pub(super) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_work_counts() {
        let clock = Clock::new();
        clock.start(Duration::from_millis(20));
        assert!(!clock.is_over());
        let mut turns = 0_u64;
        while !clock.is_over() {
            turns = std::hint::black_box(turns + 1);
        }
        assert!(clock.busy() >= Duration::from_millis(20));
    }
}
