//! The document that `dsh code --json` prints.

use dsh_code::{
    Limit, Phase, RunEnvelope, RunError, SandboxLayer, SubCall, SubCallOutcome, Timings,
};
use dsh_schema::{Document, ValueRef};
use dsh_tools::Settled;
use serde::Serialize;

/// The global whose members are the tools.
const NAMESPACE: &str = "tools";

/// Everything about one run.
#[derive(Serialize)]
pub(super) struct Envelope {
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Document>,
    logs: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Cause>,
    calls: Vec<SubCall>,
    unsettled: Vec<String>,
    rejections: Vec<String>,
    limits: Vec<Limit>,
    phase: Phase,
    sandbox: Vec<SandboxLayer>,
    timings: Timings,
}

/// Why there is no value: how the run failed, or what refused the call before there was a run.
#[derive(Serialize)]
#[serde(untagged)]
enum Cause {
    Run(RunError),
    Call {
        message: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<String>,
    },
}

impl Envelope {
    /// The document of a settled call: with what was observed of its run, if there was one, and the lines it printed.
    pub(super) fn new(
        settled: &Settled,
        envelope: Option<RunEnvelope>,
        printed: Vec<String>,
    ) -> Self {
        let root = settled.value().map(Document::root);
        let logs = root
            .and_then(|root| root.get("logs"))
            .and_then(|logs| logs.decode().ok());
        let (failed, calls, report) = match envelope {
            Some(envelope) => (envelope.error, envelope.calls, envelope.report),
            None => Default::default(),
        };
        let error = settled.error().map(|error| match failed {
            Some(failed) => Cause::Run(failed),
            None => Cause::Call {
                message: error.message.to_string(),
                code: settled.code().map(str::to_owned),
            },
        });
        Self {
            value: root
                .and_then(|root| root.get("result"))
                .map(ValueRef::to_document),
            // The lines of a result are authoritative; a failure has none of its own.
            logs: logs.unwrap_or(printed),
            error,
            unsettled: unsettled(&calls, &report.unawaited),
            calls,
            rejections: report.rejections,
            limits: report.limit.into_iter().collect(),
            phase: report.phase,
            sandbox: report.sandbox,
            timings: report.timings,
        }
    }
}

/// The calls that the program did not wait for, as `tools.read`: those that were not settled when it was over, and those
/// whose promise it never looked at (D15). Most are both. The worker tells the latter by name only, so of each name there
/// are as many entries as the longer of the two lists has.
fn unsettled(calls: &[SubCall], unawaited: &[String]) -> Vec<String> {
    let mut entries: Vec<String> = calls
        .iter()
        .filter(|call| call.unsettled || call.outcome == SubCallOutcome::Abandoned)
        .map(|call| format!("{NAMESPACE}.{}", call.tool))
        .collect();
    let mut counted = entries.clone();
    for name in unawaited {
        match counted.iter().position(|entry| entry == name) {
            Some(index) => drop(counted.swap_remove(index)),
            None => entries.push(name.clone()),
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(tool: &str, outcome: SubCallOutcome, unsettled: bool) -> SubCall {
        SubCall {
            id: "call-1:code:1".into(),
            tool: tool.into(),
            arguments_digest: String::new(),
            outcome,
            code: None,
            duration_ms: None,
            unsettled,
        }
    }

    #[track_caller]
    fn check(calls: &[SubCall], unawaited: &[&str], expected: &[&str]) {
        let unawaited: Vec<String> = unawaited.iter().map(|&name| name.to_owned()).collect();
        assert_eq!(unsettled(calls, &unawaited), expected);
    }

    #[test]
    fn a_call_that_is_both_stands_once() {
        use SubCallOutcome::{Abandoned, Aborted, Success};

        let done = call("read", Success, false);
        check(std::slice::from_ref(&done), &[], &[]);
        // Never awaited, and settled before the end all the same.
        check(
            std::slice::from_ref(&done),
            &["tools.read"],
            &["tools.read"],
        );
        // Awaited beside another one that was faster, and cut off.
        let cut = call("grep", Aborted, true);
        check(std::slice::from_ref(&cut), &[], &["tools.grep"]);
        check(std::slice::from_ref(&cut), &["tools.grep"], &["tools.grep"]);
        let never = call("grep", Abandoned, true);
        check(
            &[cut, done, never],
            &["tools.grep", "tools.read", "tools.grep", "tools.grep"],
            &["tools.grep", "tools.grep", "tools.read", "tools.grep"],
        );
    }
}
