//! Ctrl-C: it cancels the call that is under way, and ends the process when there is nothing to cancel.
//!
//! So the first press during a call cancels it and the second ends the process, while a press during anything else, such
//! as waiting for stdin or for a slow reader of the output, ends it at once.

use std::sync::Arc;

use dsh_tools::{Canceller, Reason, Signal};
use parking_lot::Mutex;
use tokio::signal::unix::{SignalKind, signal};

use crate::exit::{Exit, Failure};

/// What Ctrl-C does now.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt {
    target: Arc<Mutex<Target>>,
}

#[derive(Debug, Default)]
enum Target {
    /// Nothing is under way.
    #[default]
    Process,
    Call(Canceller),
    /// A call that was cancelled and has not settled yet.
    Cancelled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Press {
    Cancels,
    Ends,
}

impl Interrupt {
    /// Watches for Ctrl-C on the current tokio runtime.
    ///
    /// The watching task needs a thread that no command blocks: a multi-threaded runtime has one.
    pub(crate) fn watch() -> Result<Self, Failure> {
        let mut presses = signal(SignalKind::interrupt())
            .map_err(|error| Failure::failed(format!("cannot watch for Ctrl-C: {error}")))?;
        let interrupt = Self::default();
        let watched = interrupt.clone();
        drop(tokio::spawn(async move {
            while presses.recv().await.is_some() {
                if watched.press() == Press::Ends {
                    std::process::exit(Exit::Interrupted.status().into());
                }
            }
        }));
        Ok(interrupt)
    }

    /// The signal of a call; the next press fires it instead of ending the process.
    pub(crate) fn call(&self) -> Signal {
        let (canceller, signal) = Signal::pair();
        *self.target.lock() = Target::Call(canceller);
        signal
    }

    /// The call has settled. Says whether it was cancelled; from now on a press ends the process.
    pub(crate) fn settled(&self) -> bool {
        matches!(std::mem::take(&mut *self.target.lock()), Target::Cancelled)
    }

    fn press(&self) -> Press {
        let mut target = self.target.lock();
        match std::mem::take(&mut *target) {
            Target::Process | Target::Cancelled => Press::Ends,
            Target::Call(canceller) => {
                *target = Target::Cancelled;
                // Firing wakes whoever waits, which is no work to do under a lock.
                drop(target);
                canceller.cancel(Reason::Cancelled);
                Press::Cancels
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_nothing_to_cancel_a_press_ends_the_process() {
        assert_eq!(Interrupt::default().press(), Press::Ends);
    }

    #[test]
    fn the_first_press_cancels_a_call_and_the_second_ends_the_process() {
        let interrupt = Interrupt::default();
        let signal = interrupt.call();
        assert_eq!(interrupt.press(), Press::Cancels);
        assert_eq!(signal.reason(), Some(Reason::Cancelled));
        assert_eq!(interrupt.press(), Press::Ends);
    }

    #[test]
    fn a_call_that_settles_after_one_press_was_cancelled() {
        let interrupt = Interrupt::default();
        let signal = interrupt.call();
        assert_eq!(interrupt.press(), Press::Cancels);
        assert!(signal.is_cancelled() && interrupt.settled());
        assert_eq!(interrupt.press(), Press::Ends);
    }

    #[test]
    fn after_a_call_has_settled_a_press_ends_the_process() {
        let interrupt = Interrupt::default();
        let signal = interrupt.call();
        assert!(!interrupt.settled());
        assert_eq!(interrupt.press(), Press::Ends);
        assert!(!signal.is_cancelled());
    }
}
