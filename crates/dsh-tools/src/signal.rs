//! Cancellation with a reason.
//!
//! A [`Signal`] is what work observes, a [`Canceller`] is what fires it. A signal can follow others: it counts as fired
//! as soon as one of them is, and a waiter is woken by the source that fires, without any task in between (T448).
//! Making a signal costs no more than one allocation, and none at all inside a call, whose own source is embedded in
//! its [`Execution`]; wakers are registered only when somebody awaits.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::Poll;

use compact_str::CompactString;
use event_listener::{Event, EventListener};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::Execution;

/// Why a signal fired. The reason never reaches a model; it is for wrappers, logs and bodies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Reason {
    /// The owner of the work asked for it to stop.
    Cancelled,
    /// The future that awaited the work was dropped.
    Dropped,
    /// A deadline passed; the time given is the whole budget.
    Deadline {
        /// The budget that was used up, in milliseconds.
        budget_ms: u64,
    },
    /// The work that this work belongs to has ended.
    ParentEnded,
    /// Anything else, in words.
    Other {
        /// What happened.
        message: CompactString,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancelled => f.write_str("cancelled"),
            Self::Dropped => f.write_str("the caller went away"),
            Self::Deadline { budget_ms } => write!(f, "timed out after {budget_ms} ms"),
            Self::ParentEnded => f.write_str("the enclosing work ended"),
            Self::Other { message } => f.write_str(message),
        }
    }
}

/// A reason that is set at most once, and the waiters it wakes.
#[derive(Default)]
pub(crate) struct Latch {
    reason: OnceLock<Reason>,
    event: Event,
}

impl Latch {
    /// Fires the latch; `false` if it had fired before.
    pub(crate) fn fire(&self, reason: Reason) -> bool {
        let first = self.reason.set(reason).is_ok();
        if first {
            self.event.notify(usize::MAX);
        }
        first
    }

    pub(crate) fn reason(&self) -> Option<&Reason> {
        self.reason.get()
    }

    pub(crate) fn is_fired(&self) -> bool {
        self.reason.get().is_some()
    }

    pub(crate) fn listen(&self) -> EventListener {
        self.event.listen()
    }
}

struct Source {
    latch: Latch,
    follows: SmallVec<[Signal; 2]>,
}

#[derive(Clone)]
enum Handle {
    Never,
    Source(Arc<Source>),
    Call(Execution),
}

/// The read side of cancellation: cheap to clone, safe to keep.
#[derive(Clone)]
pub struct Signal(Handle);

/// The write side of a [`Signal`]. Dropping it leaves the signal as it is.
#[derive(Clone)]
pub struct Canceller(Arc<Source>);

impl Signal {
    /// A signal that never fires.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(!dsh_tools::Signal::never().is_cancelled());
    /// ```
    #[must_use]
    pub const fn never() -> Self {
        Self(Handle::Never)
    }

    /// A fresh signal with the canceller that fires it.
    ///
    /// # Examples
    ///
    /// ```
    /// use dsh_tools::{Reason, Signal};
    /// let (canceller, signal) = Signal::pair();
    /// assert!(canceller.cancel(Reason::Cancelled));
    /// assert!(!canceller.cancel(Reason::Dropped), "the first reason stays");
    /// assert_eq!(signal.reason(), Some(Reason::Cancelled));
    /// ```
    #[must_use]
    pub fn pair() -> (Canceller, Self) {
        Self::following(&[])
    }

    /// A fresh signal that also fires when one of `sources` does. Firing it does not fire the sources (T287).
    ///
    /// When several have fired, its own reason counts first, then theirs in the order given.
    #[must_use]
    pub fn following(sources: &[Signal]) -> (Canceller, Self) {
        let follows = sources
            .iter()
            .filter(|s| !matches!(s.0, Handle::Never))
            .cloned()
            .collect();
        let source = Arc::new(Source {
            latch: Latch::default(),
            follows,
        });
        (Canceller(source.clone()), Self(Handle::Source(source)))
    }

    /// The signal that a body of `execution` sees when no wrapper replaced it.
    pub(crate) fn of_call(execution: &Execution) -> Self {
        Self(Handle::Call(execution.clone()))
    }

    /// Whether the signal has fired.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        match &self.0 {
            Handle::Never => false,
            Handle::Source(source) => {
                source.latch.is_fired() || source.follows.iter().any(Signal::is_cancelled)
            }
            Handle::Call(execution) => execution.is_cancelled(),
        }
    }

    /// The reason of the source that fired, if one has.
    #[must_use]
    pub fn reason(&self) -> Option<Reason> {
        match &self.0 {
            Handle::Never => None,
            Handle::Source(source) => source
                .latch
                .reason()
                .cloned()
                .or_else(|| source.follows.iter().find_map(Signal::reason)),
            Handle::Call(execution) => execution.cancel_reason(),
        }
    }

    /// Waits until the signal fires, and says why.
    ///
    /// # Cancellation
    ///
    /// Dropping the future unregisters its wakers; the signal is not affected.
    pub async fn cancelled(&self) -> Reason {
        loop {
            // Listen first, look second: a source that fires in between is seen by one of the two.
            let mut listeners = SmallVec::<[EventListener; 2]>::new();
            self.listen(&mut listeners);
            if let Some(reason) = self.reason() {
                return reason;
            }
            poll_fn(|cx| {
                if listeners
                    .iter_mut()
                    .any(|l| Pin::new(l).poll(cx).is_ready())
                {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                }
            })
            .await;
        }
    }

    fn listen(&self, into: &mut SmallVec<[EventListener; 2]>) {
        match &self.0 {
            Handle::Never => {}
            Handle::Source(source) => {
                into.push(source.latch.listen());
                source.follows.iter().for_each(|s| s.listen(into));
            }
            Handle::Call(execution) => {
                into.push(execution.own_latch().listen());
                execution.caller_signal().listen(into);
            }
        }
    }

    /// Whether two handles name the same source.
    #[must_use]
    pub fn same_source(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Handle::Never, Handle::Never) => true,
            (Handle::Source(a), Handle::Source(b)) => Arc::ptr_eq(a, b),
            (Handle::Call(a), Handle::Call(b)) => a.token() == b.token(),
            _ => false,
        }
    }
}

impl Canceller {
    /// Fires the signal; `true` if this call was the first to do so.
    pub fn cancel(&self, reason: Reason) -> bool {
        self.0.latch.fire(reason)
    }
}

impl fmt::Debug for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signal")
            .field("reason", &self.reason())
            .finish()
    }
}

impl fmt::Debug for Canceller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Canceller")
            .field("reason", &self.0.latch.reason())
            .finish()
    }
}
