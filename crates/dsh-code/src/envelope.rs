//! What an operator sees of a run, beside what the model reads.

use compact_str::CompactString;
use dsh_tools::{CallId, Execution};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::{RunError, RunReport};

/// Everything about one run that is not for the model (D15).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunEnvelope {
    /// The `run_code` call.
    pub call_id: CallId,
    /// What the model said the program does.
    pub description: String,
    /// SHA-256 of the program's text, in hexadecimal.
    pub program_digest: String,
    /// The language of the runtime.
    pub language: String,
    /// The runtime's label of its isolation.
    pub isolation: String,
    /// How the run failed, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<RunError>,
    /// Why the runtime took the run back, if it did: its mistake or its host's, not the program's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The calls of the program, in the order of submission.
    pub calls: Vec<SubCall>,
    /// What the runtime reports: phase, limit, calls that were never awaited, unhandled rejections, sandbox, timings.
    pub report: RunReport,
}

/// One call of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SubCall {
    /// Its id.
    pub id: CallId,
    /// The tool.
    pub tool: CompactString,
    /// SHA-256 of the compact JSON of the arguments, in hexadecimal.
    pub arguments_digest: String,
    /// What became of it.
    pub outcome: SubCallOutcome,
    /// The code of a structured failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// From its start to its commit, on the host's clock; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Whether the program was over before the call was: nobody saw its result.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unsettled: bool,
}

/// What became of a call of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SubCallOutcome {
    /// It succeeded.
    Success,
    /// It failed.
    Failure,
    /// It was cancelled.
    Aborted,
    /// It never started, because the run was over (C170).
    Abandoned,
}

/// Sees the envelope of each run, before its `run_code` call is over. It looks on: a panic of it is logged and changes nothing.
pub trait RunObserver: Send + Sync {
    /// A run is over.
    fn finished(&self, execution: &Execution, envelope: &RunEnvelope);

    /// The program printed a line; it comes again, and authoritatively, with the result.
    fn printed(&self, execution: &Execution, line: &str) {
        let _ = (execution, line);
    }
}

/// SHA-256 in hexadecimal.
pub(crate) fn digest(text: &str) -> String {
    Sha256::digest(text)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
