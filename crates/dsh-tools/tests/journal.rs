//! The write-ahead seam around a body: run, replay, unknown, and what happens when it cannot record.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod rig;

use std::sync::Arc;

use dsh_schema::Document;
use dsh_testkit::{Driven, Gate, MemoryJournal, MockTool, Probe, Trace};
use dsh_tools::{
    Approvals, Approver, Around, Call, CallRecord, Denial, Effect, Envelope, Execution, Outcome,
    PostDecision, PreDecision, Reason, Signal, ToolsConfig,
};
use rig::{Rig, call, code_of, content, json, text_of, tool};

fn journaled() -> (Rig, MemoryJournal, Trace) {
    let trace = Trace::new();
    let journal = MemoryJournal::new().noting(&trace);
    let config = ToolsConfig {
        journal: Some(Arc::new(journal.clone())),
        ..ToolsConfig::default()
    };
    (Rig::configured(config), journal, trace)
}

fn mock(rig: &Rig, trace: &Trace) -> Probe {
    let (tool, probe) = MockTool::new("t")
        .returns("\"v\"")
        .noting(trace)
        .build()
        .unwrap();
    rig.register(tool);
    probe
}

/// The start is recorded directly before the body, behind approval, guards and wrappers; the outcome directly before it is
/// published, behind post-execute and finalizer.
#[test]
fn the_journal_is_directly_around_the_body() {
    let (rig, journal, trace) = journaled();
    let shared = trace.clone();
    let (tool, _) = MockTool::new("t")
        .returns("\"v\"")
        .noting(&trace)
        .build_with(|builder| {
            builder.idempotent().finalize_content(move |_, _| {
                shared.note("finalize");
                Ok(None)
            })
        })
        .unwrap();
    rig.register(tool);
    let shared = trace.clone();
    rig.global()
        .guard(move |_: &Execution| {
            shared.note("guard");
            None::<Denial>
        })
        .unwrap();
    let shared = trace.clone();
    rig.global()
        .on_execute(move |_, next| {
            shared.note("around");
            async move { Ok(next.run().await?.into()) }
        })
        .unwrap();
    let shared = trace.clone();
    rig.global()
        .on_post_execute(move |_, _, _| {
            shared.note("post");
            async { Ok(PostDecision::content(content("capped"))) }
        })
        .unwrap();
    let shared = trace.clone();
    rig.global()
        .on_result(move |_, _| shared.note("observed"))
        .unwrap();
    let settled =
        rig.execute(Call::new("c9", "t", r#"{"a":1}"#, Signal::never()).root("c1".into()));
    assert_eq!(
        trace.take(),
        [
            "guard",
            "around",
            "journal:started",
            "t:start",
            "t:end",
            "post",
            "finalize",
            "journal:settled",
            "observed"
        ],
    );
    let (entry, outcome) = &journal.settled()[0];
    assert_eq!(outcome, settled.outcome());
    assert_eq!(text_of(outcome), "capped");
    assert_eq!(*entry, journal.started()[0]);
    assert_eq!(
        (entry.idempotency_key.as_str(), entry.effect),
        ("c1/c9", Effect::Idempotent)
    );
    assert_eq!(
        (
            entry.call.name.as_str(),
            entry.call.arguments.as_ref().unwrap().to_json()
        ),
        ("t", r#"{"a":1}"#.to_owned())
    );
}

/// A call that ran to its end is answered from the journal: no body, no post-execute, no finalizer, one observation.
#[test]
fn a_settled_call_is_replayed() {
    let (rig, journal, trace) = journaled();
    let probe = mock(&rig, &trace);
    let first = rig.run("t");
    rig.global()
        .on_post_execute(|_, _, _| async { Ok(PostDecision::block(content("never"))) })
        .unwrap();
    let mut again = call("t");
    again.attempt = 2;
    let second = rig.execute(again);
    assert_eq!(first.outcome(), second.outcome());
    assert_eq!(
        (
            probe.calls(),
            journal.started().len(),
            journal.settled().len()
        ),
        (1, 2, 1)
    );
    assert_eq!(journal.started()[1].call.attempt, 2);
    assert_eq!(rig.invariants.executions(), 2);
}

/// A call that started and never settled does not run again.
#[test]
fn a_lost_call_is_unknown() {
    let (rig, journal, trace) = journaled();
    let probe = mock(&rig, &trace);
    rig.run("t");
    journal.forget_outcomes();
    let settled = rig.run("t");
    let error = settled.error().unwrap();
    assert_eq!(
        (code_of(&settled), error.retryable),
        (Some("OUTCOME_UNKNOWN"), false)
    );
    assert_eq!(
        error.message,
        "tool \"t\" was started before and what came of it is not known"
    );
    assert_eq!((probe.calls(), journal.settled().len()), (1, 1));
}

/// A wrapper that runs the body again gets the same answer from the journal, and cannot run what the journal refused.
#[test]
fn a_retry_cannot_get_around_the_journal() {
    let (rig, journal, trace) = journaled();
    let probe = mock(&rig, &trace);
    rig.global()
        .on_execute(|_, next| async move {
            next.run().await?;
            let (a, b) = futures_util::future::join(next.run(), next.run()).await;
            a?;
            Ok(b?.into())
        })
        .unwrap();
    assert_eq!(text_of(&rig.run("t")), "v");
    assert_eq!(
        (
            probe.calls(),
            journal.started().len(),
            journal.settled().len()
        ),
        (3, 1, 1),
        "one entry per call"
    );
    assert_eq!(text_of(&rig.run("t")), "v");
    assert_eq!(
        (probe.calls(), journal.started().len()),
        (3, 2),
        "a replayed call does not run at all"
    );
    journal.forget_outcomes();
    assert_eq!(code_of(&rig.run("t")), Some("OUTCOME_UNKNOWN"));
    assert_eq!((probe.calls(), journal.started().len()), (3, 3));
}

/// If the start cannot be recorded the body does not run, and the failure may be tried again.
#[test]
fn a_start_that_cannot_be_recorded_stops_the_call() {
    let (rig, journal, trace) = journaled();
    let probe = mock(&rig, &trace);
    journal.fail_next_start("disk full");
    let settled = rig.run("t");
    let error = settled.error().unwrap();
    assert_eq!(
        (code_of(&settled), error.retryable),
        (Some("JOURNAL_FAILED"), true)
    );
    assert_eq!(
        error.message,
        "tool \"t\" did not run: its start could not be recorded: disk full"
    );
    assert_eq!((probe.calls(), journal.settled().len()), (0, 0));
    assert_eq!(text_of(&rig.run("t")), "v");

    // Tried again within the call, the journal is asked again.
    journal.fail_next_start("disk full");
    rig.global()
        .on_execute(|_, next| async move {
            let first = next.run().await?;
            assert!(first.outcome().error().unwrap().retryable);
            Ok(next.run().await?.into())
        })
        .unwrap();
    assert_eq!(
        text_of(&rig.execute(Call::new("other", "t", "{}", Signal::never()))),
        "v"
    );
}

/// If the outcome cannot be recorded, what is published is what a resumed worker would have to say.
#[test]
fn an_outcome_that_cannot_be_recorded_is_unknown() {
    let (rig, journal, trace) = journaled();
    let probe = mock(&rig, &trace);
    journal.fail_next_settle("disk full");
    let settled = rig.run("t");
    assert_eq!(
        (code_of(&settled), probe.calls()),
        (Some("OUTCOME_UNKNOWN"), 1)
    );
    assert_eq!(
        settled.error().unwrap().message,
        "tool \"t\" ran, but its outcome could not be recorded: disk full"
    );
    assert_eq!(code_of(&rig.run("t")), Some("OUTCOME_UNKNOWN"));
    assert_eq!(probe.calls(), 1);
    rig.invariants.check();
}

/// A call whose body never starts has no entry, for whatever reason it does not.
#[test]
fn a_call_without_a_body_has_no_entry() {
    type Make = fn(&Rig) -> Call;
    let never: [(&str, Make); 7] = [
        ("unknown", |_| call("nope")),
        ("lossy", |_| {
            Call::new("c", "t", "{\"a\":-0}", Signal::never())
        }),
        ("invalid", |_| Call::new("c", "t", "[]", Signal::never())),
        ("cancelled", |rig| {
            let (canceller, call) = rig.cancellable("t");
            canceller.cancel(Reason::Cancelled);
            call
        }),
        ("denied", |rig| {
            rig.global()
                .on_pre_execute(|_, _| async { Ok(PreDecision::deny("no")) })
                .unwrap();
            call("t")
        }),
        ("guarded", |rig| {
            rig.global()
                .guard(|_: &Execution| Some(Denial::new("no")))
                .unwrap();
            call("t")
        }),
        ("short-circuited", |rig| {
            rig.global()
                .on_execute(|_, _| async { Ok(Around::success(json("1"), [])) })
                .unwrap();
            call("t")
        }),
    ];
    for (why, make) in never {
        let (rig, journal, trace) = journaled();
        let probe = mock(&rig, &trace);
        let call = make(&rig);
        rig.execute(call);
        assert_eq!(
            (
                probe.calls(),
                journal.started().len(),
                journal.settled().len()
            ),
            (0, 0, 0),
            "{why}"
        );
    }
}

/// Neither has a call whose approval does not cover what would run.
#[test]
fn a_stale_call_has_no_entry() {
    let (rig, journal, trace) = journaled();
    let probe = mock(&rig, &trace);
    let agent = dsh_context::Scope::new("agent");
    let approver: Arc<dyn Approver> = Arc::new(dsh_testkit::ScriptedApprover::new([
        dsh_testkit::Answer::Say(dsh_tools::ApprovalOutcome::AllowedOnce),
    ]));
    rig.global()
        .mount_approvals(Approvals::new([approver]))
        .unwrap();
    rig.global()
        .on_pre_execute(|_, _| async { Ok(PreDecision::ask("sure?")) })
        .unwrap();
    let scoped = rig.tools.scoped(&agent);
    rig.global()
        .guard(move |_: &Execution| {
            let other = MockTool::new("t")
                .build_with(|builder| builder.read_only())
                .unwrap()
                .0;
            scoped.register(other).unwrap();
            None::<Denial>
        })
        .unwrap();
    assert_eq!(
        code_of(&rig.execute(call("t").agent(&agent))),
        Some("APPROVAL_STALE")
    );
    assert_eq!((probe.calls(), journal.started().len()), (0, 0));
}

/// Cancelled while the start is being recorded: the body does not run, and the entry is closed.
#[test]
fn a_call_cancelled_during_its_start_is_settled() {
    let (rig, journal, trace) = journaled();
    let (probe, gate) = (mock(&rig, &trace), Gate::new());
    journal.hold_starts(&gate);
    let (canceller, call) = rig.cancellable("t");
    let mut future = Driven::new(rig.tools.execute(call));
    assert!(future.until_stalled().is_none());
    canceller.cancel(Reason::Cancelled);
    gate.open();
    let settled = future.until_stalled().unwrap();
    assert_eq!(
        (code_of(&settled), probe.calls()),
        (Some("ABORTED_BEFORE_DISPATCH"), 0)
    );
    let recorded = journal.settled();
    assert_eq!(
        (recorded.len(), code_of(&recorded[0].1)),
        (1, Some("ABORTED_BEFORE_DISPATCH"))
    );
}

/// The entry that was made is the one that is settled, also when the tool is gone by then.
#[test]
fn a_tool_that_goes_does_not_lose_its_entry() {
    let (rig, journal, _) = journaled();
    let own = Arc::new(std::sync::Mutex::new(None::<dsh_tools::Registration>));
    let slot = own.clone();
    // Registered only during policy, so that not even the admission knows it.
    let receiver = rig.global();
    rig.global()
        .on_pre_execute(move |_, next| {
            let slot = slot.clone();
            let going = slot.clone();
            let tool = tool("late", move |_, _| {
                going.lock().unwrap().take().unwrap().dispose();
                async { Ok(Document::string("gone")) }
            });
            *slot.lock().unwrap() = Some(receiver.register(tool).unwrap());
            async move { next.run().await }
        })
        .unwrap();
    assert_eq!(text_of(&rig.run("late")), "gone");
    assert_eq!((journal.started().len(), journal.settled().len()), (1, 1));
    drop(own);
}

/// Sub-calls pass the journal like everybody, under keys of their own.
#[test]
fn sub_calls_pass_the_journal() {
    let (rig, journal, trace) = journaled();
    mock(&rig, &trace);
    rig.register(tool("outer", |_, cx| async move {
        for ordinal in 1..=2 {
            let call = cx.call(cx.execution().id().sub_call(ordinal), "t", "{}");
            cx.execute(call).await;
        }
        Ok(Document::string(cx.idempotency_key()))
    }));
    assert_eq!(text_of(&rig.run("outer")), "c1");
    let keys: Vec<_> = journal
        .started()
        .into_iter()
        .map(|entry| entry.idempotency_key)
        .collect();
    assert_eq!(keys, ["c1", "c1/c1:code:1", "c1/c1:code:2"]);
    assert_eq!(journal.settled().len(), 3);
    assert!(journal.started()[1].call.nested && journal.started()[1].call.root.as_str() == "c1");
}

/// Calls, entries and outcomes are plain data in a versioned envelope, and survive a round trip (T20, T395, T455).
#[test]
fn records_are_plain_data() {
    let (rig, journal, trace) = journaled();
    mock(&rig, &trace);
    let agent = dsh_context::Scope::new("agent-7");
    let settled = rig.execute(call("t").agent(&agent));
    let record = Envelope::new(CallRecord::of(settled.execution()));
    let text = serde_json::to_string(&record).unwrap();
    assert_eq!(
        text,
        r#"{"version":1,"data":{"id":"c1","root":"c1","name":"t","arguments":{},"agent":"agent-7","attempt":1}}"#
    );
    let back: Envelope<CallRecord> = serde_json::from_str(&text).unwrap();
    assert_eq!(back, record);
    assert!(back.open().is_some());
    assert!(
        Envelope {
            version: 2,
            data: ()
        }
        .open()
        .is_none()
    );
    let entry = &journal.started()[0];
    let text = serde_json::to_string(entry).unwrap();
    assert_eq!(
        &serde_json::from_str::<dsh_tools::JournalEntry>(&text).unwrap(),
        entry
    );
    for outcome in [settled.outcome().clone(), rig.run("nope").outcome().clone()] {
        let text = serde_json::to_string(&outcome).unwrap();
        assert_eq!(serde_json::from_str::<Outcome>(&text).unwrap(), outcome);
        assert!(
            !text.contains("null") && !text.contains("[]"),
            "T20: {text}"
        );
        let durable = serde_json::to_string(&outcome.durable()).unwrap();
        assert!(
            !durable.contains("\"value\"") && !durable.contains("\"message\""),
            "T26, T261: {durable}"
        );
        assert_eq!(
            serde_json::from_str::<dsh_tools::DurableResult>(&durable).unwrap(),
            outcome.durable()
        );
    }
}
