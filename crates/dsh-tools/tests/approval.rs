//! Approval: chapter 5 (T264–T282), tickets, their single use, their expiry, and questions answered elsewhere.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod rig;

use std::sync::Arc;
use std::time::Duration;

use dsh_context::Scope;
use dsh_testkit::{
    Answer, Driven, FakeHost, Gate, MockTool, Probe, RecordingSink, ScriptedApprover,
};
use dsh_tools::card::CallView;
use dsh_tools::{
    AnswerError, ApprovalAnswer, ApprovalOutcome, ApprovalPolicy, Approvals, Approver, Call,
    Denial, Execution, PendingApprovals, PreDecision, Reason, Settled, Signal, ToolsConfig,
};
use rig::{Rig, call, code_of, content, text_of};

/// A rig whose policy asks about every call, with its tool `t` and the calling agent.
struct Asking {
    rig: Rig,
    probe: Probe,
    agent: Scope,
}

impl Asking {
    fn new() -> Self {
        Self::with(ToolsConfig::default(), Some("why"))
    }

    fn with(config: ToolsConfig, reason: Option<&'static str>) -> Self {
        let rig = Rig::configured(config);
        let probe = rig.mock(MockTool::new("t").returns("\"ran\""));
        rig.trace.take().clear();
        rig.global()
            .on_pre_execute(move |_, _| async move {
                Ok(PreDecision::Ask {
                    reason: reason.map(str::to_owned),
                })
            })
            .unwrap();
        let trace = rig.trace.clone();
        rig.global()
            .on_post_execute(move |_, _, next| {
                trace.note("post");
                async move { next.run().await }
            })
            .unwrap();
        Self {
            rig,
            probe,
            agent: Scope::new("agent"),
        }
    }

    fn call(&self) -> Call {
        call("t").agent(&self.agent)
    }

    fn mount(&self, approvals: Approvals) -> dsh_tools::Registration {
        self.rig.global().mount_approvals(approvals).unwrap()
    }

    fn ask(&self, answers: impl IntoIterator<Item = Answer>) -> (Settled, ScriptedApprover) {
        let approver = ScriptedApprover::new(answers);
        let registration = self.mount(approver.clone().into_approvals());
        let settled = self.rig.execute(self.call());
        registration.dispose();
        (settled, approver)
    }
}

/// T265–T267: without a service the ask's own reason is the denial; with one but without an agent it is not.
#[test]
fn an_ask_that_nobody_can_answer_is_a_denial() {
    for (reason, expected) in [
        (Some("why"), "why"),
        (None, "tool \"t\" requires approval (not yet supported)"),
    ] {
        let asking = Asking::with(ToolsConfig::default(), reason);
        for call in [asking.call(), call("t")] {
            let settled = asking.rig.execute(call);
            assert_eq!(settled.error().unwrap().message, expected, "T265, T267");
            assert_eq!(settled.error().unwrap().info, None);
        }
        let approver = ScriptedApprover::new([Answer::Say(ApprovalOutcome::AllowedOnce)]);
        asking.mount(approver.clone().into_approvals());
        let settled = asking.rig.execute(call("t"));
        let expected =
            "tool \"t\" requires approval, but the call has no agent to route it through";
        assert_eq!(settled.error().unwrap().message, expected, "T266");
        assert!(approver.requests().is_empty());
        assert_eq!(
            asking.rig.trace.count("post"),
            3,
            "T175: a denial passes post-execute"
        );
        assert_eq!(asking.probe.calls(), 0);
    }
}

/// T264: the service is looked up at the moment of the ask.
#[test]
fn the_service_is_looked_up_when_it_is_needed() {
    let asking = Asking::new();
    let approvals =
        || ScriptedApprover::new([Answer::Say(ApprovalOutcome::AllowedOnce)]).into_approvals();
    let mounted = asking.mount(approvals());
    assert_eq!(text_of(&asking.rig.execute(asking.call())), "ran");
    mounted.dispose();
    assert_eq!(text_of(&asking.rig.execute(asking.call())), "Error: why");
    asking.mount(ScriptedApprover::new([Answer::Say(ApprovalOutcome::Rejected)]).into_approvals());
    asking.mount(approvals());
    assert_eq!(
        text_of(&asking.rig.execute(asking.call())),
        "ran",
        "the last one mounted answers"
    );
}

/// T269–T273: what each answer comes to, and what the model is told.
#[test]
fn what_each_answer_comes_to() {
    let asking = Asking::new();
    for (answer, expected) in [
        (ApprovalOutcome::AllowedOnce, "ran"),
        (
            ApprovalOutcome::Rejected,
            "Error: the user rejected tool \"t\"",
        ),
        (
            ApprovalOutcome::Cancelled,
            "Error: approval for tool \"t\" was cancelled",
        ),
        (
            ApprovalOutcome::Unavailable,
            "Error: tool \"t\" requires approval, but no approval channel is available",
        ),
    ] {
        let (settled, approver) = asking.ask([Answer::Say(answer)]);
        assert_eq!(text_of(&settled), expected);
        assert!(!text_of(&settled).contains("why"), "T273");
        assert_eq!(approver.requests().len(), 1, "T268: exactly one request");
    }
    assert_eq!(asking.probe.calls(), 1, "T269: one call only");
    assert_eq!(asking.rig.trace.count("post"), 4);
}

/// T268, D37: what the approver is told: agent, tool, call, reason, signal, the digest of the exact call and its card, and
/// no arguments.
#[test]
fn what_the_approver_is_told() {
    let asking = Asking::new();
    let tool = MockTool::new("carded")
        .build_with(|builder| {
            builder.present_call(|_| CallView::Terminal {
                title: "ls".into(),
                description: None,
                cwd: None,
            })
        })
        .unwrap()
        .0;
    asking.rig.register(tool);
    let approver = ScriptedApprover::new([Answer::Say(ApprovalOutcome::AllowedOnce)]);
    asking.mount(approver.clone().into_approvals());
    let call = Call::new("c7", "carded", r#"{"secret":1}"#, Signal::never())
        .agent(&asking.agent)
        .root("c1".into());
    asking.rig.execute(call);
    let request = approver.requests().remove(0);
    assert_eq!(
        (&request.agent, request.reason.as_deref()),
        (&asking.agent, Some("why"))
    );
    assert!(!request.signal.is_cancelled());
    let ticket = &request.ticket;
    assert_eq!(
        (
            ticket.tool.as_str(),
            ticket.call_id.as_str(),
            ticket.root_call_id.as_str()
        ),
        ("carded", "c7", "c1")
    );
    assert_eq!(
        (
            ticket.id.as_str(),
            ticket.digest.len(),
            ticket.expires_at_ms
        ),
        ("approval:c1:c7", 64, None)
    );
    assert!(matches!(&request.card, Some(CallView::Terminal { title, .. }) if title == "ls"));
    let text = serde_json::to_string(ticket).unwrap();
    assert!(!text.contains("secret"), "{text}");
    assert_eq!(
        serde_json::from_str::<dsh_tools::ApprovalTicket>(&text).unwrap(),
        *ticket
    );

    let quiet = Asking::with(ToolsConfig::default(), None);
    let (_, approver) = quiet.ask([Answer::Say(ApprovalOutcome::AllowedOnce)]);
    assert_eq!(approver.requests()[0].reason, None);
}

/// The digest is of the exact call: another argument, another tool or another declaration is another call.
#[test]
fn the_digest_names_one_call() {
    let asking = Asking::new();
    let digest = |tool: &str, arguments: &str| {
        let approver = ScriptedApprover::new([]);
        let mounted = asking.mount(approver.clone().into_approvals());
        asking
            .rig
            .execute(Call::new("c1", tool, arguments, Signal::never()).agent(&asking.agent));
        mounted.dispose();
        approver.requests().remove(0).ticket.digest
    };
    asking.rig.mock(MockTool::new("u"));
    let one = digest("t", r#"{"a":1}"#);
    assert_eq!(one, digest("t", r#"{ "a": 1 }"#), "spelling is not content");
    assert_ne!(one, digest("t", r#"{"a":2}"#));
    assert_ne!(one, digest("u", r#"{"a":1}"#));
    let other = MockTool::new("t")
        .build_with(|builder| builder.read_only())
        .unwrap()
        .0;
    asking
        .rig
        .tools
        .scoped(&asking.agent)
        .register(other)
        .unwrap();
    assert_ne!(one, digest("t", r#"{"a":1}"#));
}

/// T271, T274, T275: cancelled while the question is open.
#[test]
fn a_cancellation_withdraws_the_question() {
    for (answer, expected) in [
        (ApprovalOutcome::AllowedOnce, "ABORTED_BEFORE_DISPATCH"),
        (ApprovalOutcome::Cancelled, "ABORTED_BEFORE_DISPATCH"),
    ] {
        let asking = Asking::new();
        let (canceller, signal) = Signal::pair();
        let approver = ScriptedApprover::new([Answer::Cancelling(canceller, answer)]);
        asking.mount(approver.into_approvals());
        let trace = asking.rig.trace.clone();
        asking
            .rig
            .global()
            .guard(move |_: &Execution| {
                trace.note("guard");
                None::<Denial>
            })
            .unwrap();
        let mut call = asking.call();
        call.signal = signal;
        let settled = asking.rig.execute(call);
        assert_eq!(
            (code_of(&settled), asking.probe.calls()),
            (Some(expected), 0)
        );
        assert_eq!(
            asking.rig.trace.take(),
            ["post"],
            "T271: guards are not evaluated"
        );
    }
}

/// T279: a signal that fires while the question is open ends it at once; the late answer is discarded.
#[test]
fn a_late_answer_is_discarded() {
    let (asking, gate) = (Asking::new(), Gate::new());
    let approver =
        ScriptedApprover::new([Answer::When(gate.clone(), ApprovalOutcome::AllowedOnce)]);
    asking.mount(approver.into_approvals());
    let (canceller, signal) = Signal::pair();
    let mut call = asking.call();
    call.signal = signal;
    let mut future = Driven::new(asking.rig.tools.execute(call));
    assert!(future.until_stalled().is_none());
    canceller.cancel(Reason::Cancelled);
    assert_eq!(
        code_of(&future.until_stalled().unwrap()),
        Some("ABORTED_BEFORE_DISPATCH")
    );
    gate.open();
    assert_eq!(asking.probe.calls(), 0);
}

/// T276: an outcome outside of the vocabulary never grants.
#[test]
fn an_unknown_outcome_grants_nothing() {
    for (name, expected) in [
        ("allowed-once", ApprovalOutcome::AllowedOnce),
        ("rejected", ApprovalOutcome::Rejected),
        ("cancelled", ApprovalOutcome::Cancelled),
        ("unavailable", ApprovalOutcome::Unavailable),
        ("allowed-always", ApprovalOutcome::Unavailable),
        ("ALLOWED-ONCE", ApprovalOutcome::Unavailable),
        ("", ApprovalOutcome::Unavailable),
    ] {
        assert_eq!(ApprovalOutcome::from_wire(name), expected);
        assert_eq!(
            serde_json::from_value::<ApprovalOutcome>(name.into()).unwrap(),
            expected
        );
        assert_eq!(serde_json::to_value(expected).unwrap(), expected.as_str());
    }
    assert!(serde_json::from_str::<ApprovalOutcome>("true").is_err());
}

/// T280: approvers are asked in order until one answers; a failing one ends the question.
#[test]
fn approvers_are_asked_in_order() {
    let asking = Asking::new();
    let outcome = |answers: Vec<Answer>| {
        let approvers = answers.into_iter().map(|answer| {
            let approver: Arc<dyn Approver> =
                Arc::new(ScriptedApprover::new([answer]).noting(&asking.rig.trace));
            approver
        });
        let mounted = asking.mount(Approvals::new(approvers));
        let settled = asking.rig.execute(asking.call());
        mounted.dispose();
        (
            text_of(&settled),
            asking.rig.trace.count("answerer"),
            asking.rig.trace.take().clear(),
        )
            .0
    };
    let unavailable = "Error: tool \"t\" requires approval, but no approval channel is available";
    let (allow, reject) = (
        Answer::Say(ApprovalOutcome::AllowedOnce),
        Answer::Say(ApprovalOutcome::Rejected),
    );
    assert_eq!(outcome(vec![]), unavailable);
    assert_eq!(outcome(vec![Answer::Pass, Answer::Pass]), unavailable);
    assert_eq!(
        outcome(vec![Answer::Pass, allow.clone(), reject.clone()]),
        "ran"
    );
    assert_eq!(
        outcome(vec![reject, allow.clone()]),
        "Error: the user rejected tool \"t\""
    );
    assert_eq!(
        outcome(vec![Answer::Fail("down".into()), allow]),
        unavailable
    );
}

/// T281: under `never` nobody is asked.
#[test]
fn the_policy_never_asks_nobody() {
    let asking = Asking::new();
    let approver = ScriptedApprover::new([Answer::Say(ApprovalOutcome::AllowedOnce)]);
    asking.mount(
        approver
            .clone()
            .into_approvals()
            .with_policy(ApprovalPolicy::Never),
    );
    assert_eq!(
        text_of(&asking.rig.execute(asking.call())),
        "Error: the user rejected tool \"t\""
    );
    assert!(approver.requests().is_empty());
}

/// T282, T277: each question leaves an audit pair, and a refused record fails the call without post-execute.
#[test]
fn each_question_is_audited() {
    let asking = Asking::new();
    let mount = |sink: RecordingSink| {
        let approver = ScriptedApprover::new([Answer::Say(ApprovalOutcome::AllowedOnce)])
            .noting(&asking.rig.trace);
        let mounted = asking.mount(approver.into_approvals().with_sink(Arc::new(sink)));
        let settled = asking.rig.execute(asking.call());
        mounted.dispose();
        (text_of(&settled), asking.rig.trace.take())
    };
    let sink = RecordingSink::new(&asking.rig.trace);
    let (text, trace) = mount(sink.clone());
    assert_eq!(text, "ran");
    assert_eq!(
        trace[..3],
        [
            "approval/asked",
            "answerer",
            "approval/decided:allowed-once"
        ]
    );
    let (text, trace) = mount(sink.clone().refusing_asked("no open turn"));
    assert_eq!(
        (&*text, trace),
        ("Error: no open turn", vec!["approval/asked".to_owned()])
    );
    let (text, trace) = mount(sink.refusing_decided("disk full"));
    assert_eq!((&*text, trace.len()), ("Error: disk full", 3));
    assert_eq!(asking.probe.calls(), 1);
}

/// T180: a grant does not get around a guard.
#[test]
fn a_guard_outranks_a_grant() {
    let asking = Asking::new();
    asking
        .rig
        .global()
        .guard(|_: &Execution| Some(Denial::new("guarded")))
        .unwrap();
    let (settled, _) = asking.ask([Answer::Say(ApprovalOutcome::AllowedOnce)]);
    assert_eq!(
        (text_of(&settled).as_str(), asking.probe.calls()),
        ("Error: guarded", 0)
    );
}

/// A grant is for one definition: if the tool changes between the question and its body, the body does not run.
#[test]
fn a_grant_does_not_cover_a_changed_tool() {
    for (same, code) in [(true, None), (false, Some("APPROVAL_STALE"))] {
        let asking = Asking::new();
        let scoped = asking.rig.tools.scoped(&asking.agent);
        asking
            .rig
            .global()
            .guard(move |_: &Execution| {
                let tool = MockTool::new("t").returns("\"other\"");
                let tool = if same {
                    tool.build()
                } else {
                    tool.build_with(|builder| builder.open_world())
                };
                scoped.register(tool.unwrap().0).unwrap();
                None::<Denial>
            })
            .unwrap();
        let (settled, _) = asking.ask([Answer::Say(ApprovalOutcome::AllowedOnce)]);
        assert_eq!(code_of(&settled), code);
        assert_eq!(asking.probe.calls(), 0);
        assert_eq!(
            text_of(&settled) == "other",
            same,
            "what a person was shown is what runs"
        );
    }
}

/// A grant that comes later than its limit is none; a rejection stays one.
#[test]
fn a_grant_lapses() {
    for (late, answer, expected) in [
        (false, ApprovalOutcome::AllowedOnce, "ran"),
        (
            true,
            ApprovalOutcome::AllowedOnce,
            "Error: tool \"t\" requires approval, but no approval channel is available",
        ),
        (
            true,
            ApprovalOutcome::Rejected,
            "Error: the user rejected tool \"t\"",
        ),
    ] {
        let host = FakeHost::new();
        host.advance(Duration::from_secs(100));
        let config = ToolsConfig {
            host: Some(Arc::new(host.clone())),
            ..ToolsConfig::default()
        };
        let (asking, gate) = (Asking::with(config, None), Gate::new());
        let approver = ScriptedApprover::new([Answer::When(gate.clone(), answer)]);
        asking.mount(
            approver
                .clone()
                .into_approvals()
                .expiring_after(Duration::from_secs(60)),
        );
        let mut future = Driven::new(asking.rig.tools.execute(asking.call()));
        assert!(future.until_stalled().is_none());
        assert_eq!(approver.requests()[0].ticket.expires_at_ms, Some(160_000));
        host.advance(Duration::from_secs(if late { 61 } else { 60 }));
        gate.open();
        assert_eq!(text_of(&future.until_stalled().unwrap()), expected);
    }
}

fn pending(asking: &Asking) -> PendingApprovals {
    let pending = PendingApprovals::new();
    let approver: Arc<dyn Approver> = Arc::new(pending.clone());
    asking.mount(Approvals::new([approver]));
    pending
}

fn answer(pending: &PendingApprovals, outcome: ApprovalOutcome) -> ApprovalAnswer {
    let ticket = pending.open().remove(0).ticket;
    ApprovalAnswer {
        ticket: ticket.id,
        digest: ticket.digest,
        outcome,
    }
}

/// A question is answered by an entry of its own, once.
#[test]
fn a_pending_question_is_answered_once() {
    let asking = Asking::new();
    let pending = pending(&asking);
    let mut future = Driven::new(asking.rig.tools.execute(asking.call()));
    assert!(future.until_stalled().is_none());
    let granted = answer(&pending, ApprovalOutcome::AllowedOnce);
    let other = ApprovalAnswer {
        digest: "0".repeat(64),
        ..granted.clone()
    };
    assert_eq!(pending.answer(other), Err(AnswerError::OtherCall));
    assert!(
        future.until_stalled().is_none(),
        "an answer for another call is no answer"
    );
    pending.answer(granted.clone()).unwrap();
    assert_eq!(
        pending.answer(granted.clone()),
        Err(AnswerError::AlreadyAnswered)
    );
    assert_eq!(text_of(&future.until_stalled().unwrap()), "ran");
    assert!(pending.open().is_empty());
    // A copy that arrives late does not lie in wait for the next call (AP-11, AP-12).
    assert_eq!(pending.answer(granted), Err(AnswerError::AlreadyAnswered));
    // The next call asks anew.
    let mut future = Driven::new(asking.rig.tools.execute(asking.call()));
    assert!(future.until_stalled().is_none());
    assert_eq!(asking.probe.calls(), 1);
}

/// The waiting future may be dropped and made again: an answer that came in between is used, and used once.
#[test]
fn a_pending_question_survives_its_future() {
    let asking = Asking::new();
    let pending = PendingApprovals::new();
    let approver = ScriptedApprover::new([]);
    asking.mount(approver.clone().into_approvals());
    asking.rig.execute(asking.call());
    let request = approver.requests().remove(0);

    let mut first = Driven::new(pending.request(request.clone()));
    assert!(first.until_stalled().is_none());
    assert_eq!(pending.open().len(), 1);
    drop(first);
    assert!(pending.open().is_empty(), "nobody waits for it");
    let ticket = request.ticket.clone();
    let granted = ApprovalAnswer {
        ticket: ticket.id,
        digest: ticket.digest,
        outcome: ApprovalOutcome::AllowedOnce,
    };
    pending.answer(granted).unwrap();
    let mut again = Driven::new(pending.request(request.clone()));
    assert_eq!(
        again.until_stalled().unwrap().unwrap(),
        Some(ApprovalOutcome::AllowedOnce)
    );
    let mut third = Driven::new(pending.request(request));
    assert!(third.until_stalled().is_none(), "an answer counts once");
}

/// An answer that names another call is worth nothing, also when it came before its question.
#[test]
fn an_early_answer_for_another_call_grants_nothing() {
    let asking = Asking::new();
    let pending = pending(&asking);
    pending
        .answer(ApprovalAnswer {
            ticket: "approval:c1:c1".into(),
            digest: "0".repeat(64),
            outcome: ApprovalOutcome::AllowedOnce,
        })
        .unwrap();
    let settled = asking.rig.execute(asking.call());
    assert_eq!(
        text_of(&settled),
        "Error: tool \"t\" requires approval, but no approval channel is available"
    );
    assert_eq!(asking.probe.calls(), 0);
}

/// D37: questions of different calls are a set that can be seen.
#[test]
fn open_questions_are_a_set() {
    let asking = Asking::new();
    let pending = pending(&asking);
    let mut futures: Vec<_> = ["c2", "c1"]
        .into_iter()
        .map(|id| {
            let mut call = asking.call();
            call.id = id.into();
            Driven::new(asking.rig.tools.execute(call))
        })
        .collect();
    futures
        .iter_mut()
        .for_each(|future| assert!(future.until_stalled().is_none()));
    let ids: Vec<_> = pending
        .open()
        .iter()
        .map(|request| request.ticket.call_id.to_string())
        .collect();
    assert_eq!(ids, ["c1", "c2"]);
    pending
        .answer(answer(&pending, ApprovalOutcome::Rejected))
        .unwrap();
    assert!(futures[0].until_stalled().is_none());
    assert_eq!(
        text_of(&futures[1].until_stalled().unwrap()),
        "Error: the user rejected tool \"t\""
    );
    drop(futures);
    asking.rig.spawner.run_until_stalled();
    assert!(
        pending.open().is_empty(),
        "D5: a dropped call withdraws its question"
    );
    let _unused = content("");
}

/// D37: a call whose arguments fail its schema is known as such before policy asks anybody.
#[test]
fn policy_knows_whether_arguments_fit() {
    let asking = Asking::new();
    let trace = asking.rig.trace.clone();
    asking
        .rig
        .global()
        .prepend()
        .on_pre_execute(move |execution, next| {
            trace.note(format!("fits: {}", execution.arguments_fit()));
            async move {
                if execution.arguments_fit() {
                    next.run().await
                } else {
                    Ok(PreDecision::Allow)
                }
            }
        })
        .unwrap();
    let mut call = asking.call();
    call.arguments = "[]".into();
    assert_eq!(code_of(&asking.rig.execute(call)), Some("INVALID_ARGS"));
    assert_eq!(asking.rig.trace.take()[0], "fits: false");
}
