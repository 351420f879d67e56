//! The list of a program's calls, for the envelope.

use std::sync::Arc;

use compact_str::CompactString;
use dsh_schema::Document;
use dsh_tools::{CallId, Host, Outcome, codes};
use parking_lot::Mutex;

use crate::envelope::digest;
use crate::{SubCall, SubCallOutcome};

/// Keeps one line per accepted call. The lane starts and commits in the order of submission, so counting is enough to know
/// which line is meant.
pub(crate) struct CallBook {
    /// Whether anybody will read the list; otherwise nothing is written.
    observed: bool,
    host: Option<Arc<dyn Host>>,
    lines: Mutex<Lines>,
}

#[derive(Default)]
struct Lines {
    calls: Vec<SubCall>,
    started_ms: Vec<Option<u64>>,
    committed: usize,
}

impl CallBook {
    pub(crate) fn new(host: Option<Arc<dyn Host>>, observed: bool) -> Self {
        Self {
            observed,
            host,
            lines: Mutex::default(),
        }
    }

    pub(crate) fn submitted(&self, id: &CallId, tool: &CompactString, arguments: &Document) {
        if !self.observed {
            return;
        }
        self.lines.lock().calls.push(SubCall {
            id: id.clone(),
            tool: tool.clone(),
            arguments_digest: digest(&arguments.to_json()),
            outcome: SubCallOutcome::Abandoned,
            code: None,
            duration_ms: None,
            unsettled: true,
        });
    }

    pub(crate) fn started(&self) {
        if self.observed {
            let now = self.now_ms();
            self.lines.lock().started_ms.push(now);
        }
    }

    pub(crate) fn committed(&self, outcome: &Outcome, run_is_over: bool) {
        if !self.observed {
            return;
        }
        let now = self.now_ms();
        let mut lines = self.lines.lock();
        let index = lines.committed;
        lines.committed += 1;
        let started = lines.started_ms.get(index).copied().flatten();
        let Some(call) = lines.calls.get_mut(index) else {
            return;
        };
        call.duration_ms = now
            .zip(started)
            .map(|(now, started)| now.saturating_sub(started));
        call.code = outcome.code().map(str::to_owned);
        call.unsettled = run_is_over;
        call.outcome = match call.code.as_deref() {
            Some(codes::ABORTED | codes::ABORTED_BEFORE_DISPATCH) => SubCallOutcome::Aborted,
            _ if outcome.is_error() => SubCallOutcome::Failure,
            _ => SubCallOutcome::Success,
        };
    }

    pub(crate) fn take(&self) -> Vec<SubCall> {
        std::mem::take(&mut self.lines.lock().calls)
    }

    fn now_ms(&self) -> Option<u64> {
        self.host.as_ref().map(|host| host.now_ms())
    }
}
