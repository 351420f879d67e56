//! A journal in memory, with faults to order.

use std::collections::HashMap;
use std::sync::Arc;

use dsh_tools::{BoxFuture, CallJournal, JournalEntry, JournalError, Outcome, Start};
use parking_lot::Mutex;

use crate::{Gate, Trace};

/// Remembers calls by their idempotency key, as a durable journal would: a settled call is replayed, a call that started
/// and never settled is unknown.
///
/// # Examples
///
/// ```
/// use dsh_testkit::MemoryJournal;
///
/// let journal = MemoryJournal::new();
/// journal.fail_next_start("disk full");
/// journal.forget_outcomes();
/// assert!(journal.started().is_empty() && journal.settled().is_empty());
/// ```
#[derive(Clone, Debug, Default)]
pub struct MemoryJournal(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    started: Vec<JournalEntry>,
    settled: Vec<(JournalEntry, Outcome)>,
    known: HashMap<String, Option<Outcome>>,
    fail_start: Option<String>,
    fail_settle: Option<String>,
    hold_start: Option<Gate>,
    trace: Option<Trace>,
}

impl MemoryJournal {
    /// A journal that knows nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Notes `journal:started` and `journal:settled`.
    #[must_use]
    pub fn noting(self, trace: &Trace) -> Self {
        self.0.lock().trace = Some(trace.clone());
        self
    }

    /// Makes the next attempt to record a start fail.
    pub fn fail_next_start(&self, why: impl Into<String>) {
        self.0.lock().fail_start = Some(why.into());
    }

    /// Makes the next attempt to record an outcome fail.
    pub fn fail_next_settle(&self, why: impl Into<String>) {
        self.0.lock().fail_settle = Some(why.into());
    }

    /// Makes every start wait for the gate.
    pub fn hold_starts(&self, gate: &Gate) {
        self.0.lock().hold_start = Some(gate.clone());
    }

    /// What a crash between start and settlement leaves: that calls started, and nothing else.
    pub fn forget_outcomes(&self) {
        self.0
            .lock()
            .known
            .values_mut()
            .for_each(|outcome| *outcome = None);
    }

    /// The starts that were asked for, failed ones included.
    #[must_use]
    pub fn started(&self) -> Vec<JournalEntry> {
        self.0.lock().started.clone()
    }

    /// The outcomes that were recorded.
    #[must_use]
    pub fn settled(&self) -> Vec<(JournalEntry, Outcome)> {
        self.0.lock().settled.clone()
    }
}

impl CallJournal for MemoryJournal {
    fn started(&self, entry: JournalEntry) -> BoxFuture<'static, Result<Start, JournalError>> {
        let journal = self.clone();
        Box::pin(async move {
            let hold = journal.0.lock().hold_start.clone();
            if let Some(gate) = hold {
                gate.pass().await;
            }
            let mut state = journal.0.lock();
            if let Some(trace) = &state.trace {
                trace.note("journal:started");
            }
            state.started.push(entry.clone());
            if let Some(why) = state.fail_start.take() {
                return Err(JournalError::new(why));
            }
            Ok(match state.known.get(&entry.idempotency_key) {
                Some(Some(outcome)) => Start::Replay(outcome.clone()),
                Some(None) => Start::Unknown,
                None => {
                    state.known.insert(entry.idempotency_key, None);
                    Start::Run
                }
            })
        })
    }

    fn settled(
        &self,
        entry: JournalEntry,
        outcome: &Outcome,
    ) -> BoxFuture<'static, Result<(), JournalError>> {
        let (journal, outcome) = (self.clone(), outcome.clone());
        Box::pin(async move {
            let mut state = journal.0.lock();
            if let Some(trace) = &state.trace {
                trace.note("journal:settled");
            }
            if let Some(why) = state.fail_settle.take() {
                return Err(JournalError::new(why));
            }
            state
                .known
                .insert(entry.idempotency_key.clone(), Some(outcome.clone()));
            state.settled.push((entry, outcome));
            Ok(())
        })
    }
}
