//! Phases 11 to 15: the finalizer, the journal, and the observers.

use std::sync::Arc;

use super::body::concluding;
use crate::contain::{Contained, contain};
use crate::journal::{JournalEntry, Verdict, settle_failed};
use crate::record::CallRecord;
use crate::registry::OBSERVERS;
use crate::run::idempotency_key;
use crate::{CallJournal, Execution, Outcome, Settled, Tool, Tools};

impl Tools {
    /// Everything behind the post-execute chain, the journal included.
    pub(super) async fn settle(
        &self,
        execution: Execution,
        outcome: Arc<Outcome>,
        finalise: bool,
    ) -> Settled {
        let mut outcome = finalised(&execution, outcome, finalise);
        if let Some(journal) = &self.0.config.journal
            && let Some(Verdict::Run(entry)) = execution.verdict()
        {
            // Boxed, so that calls without a journal do not carry its futures along.
            outcome = Box::pin(record(journal.as_ref(), entry, &execution, outcome)).await;
        }
        self.announce(execution, outcome)
    }

    /// As [`settle`](Tools::settle), for calls that no journal knows of.
    pub(super) fn publish(
        &self,
        execution: Execution,
        outcome: Arc<Outcome>,
        finalise: bool,
    ) -> Settled {
        let outcome = finalised(&execution, outcome, finalise);
        self.announce(execution, outcome)
    }

    /// Sets the outcome and tells every observer, each on its own (T248).
    fn announce(&self, execution: Execution, outcome: Arc<Outcome>) -> Settled {
        let first = execution.settle(outcome);
        let settled = Settled::new(execution, || Outcome::aborted(false));
        debug_assert!(first, "a call is settled once");
        if first {
            let observers = {
                self.0
                    .listens(OBSERVERS)
                    .then(|| self.0.read().observers.snapshot())
            };
            let execution = settled.execution();
            for entry in observers.iter().flat_map(|entries| entries.iter()) {
                if !entry.admits(execution.agent()) {
                    continue;
                }
                if let Err(error) = contain(|| (entry.listener)(execution, &settled)) {
                    tracing::warn!(
                        "tool \"{}\" ({}): tools/result observer failed: {}",
                        execution.name(),
                        execution.id(),
                        error.message()
                    );
                }
            }
        }
        settled
    }
}

/// Tells the journal the outcome; one that it cannot keep becomes unknown.
async fn record(
    journal: &dyn CallJournal,
    entry: &JournalEntry,
    execution: &Execution,
    outcome: Arc<Outcome>,
) -> Arc<Outcome> {
    let settled = match contain(|| journal.settled(entry.clone(), &outcome)) {
        Ok(future) => Contained::new(Box::pin(async move { Ok(future.await?) })).await,
        Err(error) => Err(error),
    };
    match settled {
        Ok(()) => outcome,
        Err(error) => {
            tracing::error!(tool = execution.name(), call = %execution.id(), error = error.message(),
                "the journal lost an outcome");
            Outcome::failure(settle_failed(execution.name(), &error))
        }
    }
}

pub(super) fn journal_entry(execution: &Execution, tool: &Tool) -> JournalEntry {
    JournalEntry {
        call: CallRecord::of(execution),
        idempotency_key: idempotency_key(execution),
        effect: tool.effect(),
    }
}

/// Marks a success that concludes the turn, and lets the tool have the last word on the content (T233, T237–T243).
fn finalised(execution: &Execution, outcome: Arc<Outcome>, finalise: bool) -> Arc<Outcome> {
    // Once more, for a value that post-execute replaced (T235).
    let mut outcome = concluding(execution, outcome);
    let finalizer = execution
        .tool()
        .and_then(|tool| tool.finalizer())
        .filter(|_| finalise);
    let Some(finalizer) = finalizer else {
        return outcome;
    };
    match contain(|| finalizer(execution, &outcome)).and_then(|content| content) {
        Ok(None) => outcome,
        Ok(Some(content)) => {
            Arc::make_mut(&mut outcome).set_content(content);
            outcome
        }
        Err(error) => Outcome::failure(error),
    }
}
