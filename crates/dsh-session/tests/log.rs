//! The log, its vocabulary and its invariants (chapters 4.1, 4.2, 4.4 and 4.5 of the loop specification).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::panic::panic_any;
use std::sync::Arc;

use dsh_context::{Fiber, Scope};
use dsh_schema::Document;
use dsh_session::{
    Agent, Agents, ApprovalAsked, ApprovalDecided, AssistantMessage, CancelCause, CodeDispatch,
    CodeDispatchStart, Draft, Event, Header, Message, Order, Payload, RequestContext, Session,
    SessionError, SessionGate, StepEnd, StepStart, TodoWrite, ToolCall, ToolResult, TurnEnd,
    TurnEnding, TurnStart,
};
use dsh_testkit::{Answer, Bomb, FakeHost, ScriptedApprover, Trace, block_on};
use dsh_tools::{
    ApprovalOutcome, Call, CallId, Content, ErrorInfo, PreDecision, Signal, Tools, ToolsConfig,
};
use serde_json::{Value, json};

fn session() -> Session {
    let host = Arc::new(FakeHost::new());
    Session::new(Header::new("s1", &*host).unwrap(), host)
}

fn turn_end(turn: u64) -> TurnEnd {
    TurnEnd {
        turn,
        reason: TurnEnding::Completed,
    }
}

fn call(turn: u64, step: u64, id: &str) -> ToolCall {
    ToolCall {
        turn,
        step,
        call_id: id.into(),
        name: "t".into(),
        arguments: "{}".into(),
    }
}

fn result(turn: u64, step: u64, id: &str, text: &str) -> ToolResult {
    let message = Message::tool_result("r", &CallId::new(id), Content::text(text), false);
    ToolResult {
        turn,
        step,
        message,
        error: None,
        meta: None,
    }
}

fn said(turn: u64, step: u64, text: &str) -> AssistantMessage {
    let content = if text.is_empty() {
        Content::new()
    } else {
        Content::text(text)
    };
    AssistantMessage {
        turn,
        step,
        message: Message::assistant("a", content, "p", "m"),
        usage: None,
        interrupted: false,
    }
}

/// One string per kind, with data as the log has it.
fn samples() -> Vec<(&'static str, Value)> {
    let user = json!({ "id": "m1", "role": "user", "content": [{ "type": "text", "text": "hi" }], "source": { "kind": "user" } });
    let assistant = json!({
        "id": "m2", "role": "assistant", "content": [{ "type": "text", "text": "yes" }],
        "source": { "kind": "model", "provider": "p", "model": "m", "replayState": { "opaque": [1] } },
    });
    let answer = json!({
        "id": "m3", "role": "user", "source": { "kind": "tool", "callId": "c1" },
        "content": [{ "type": "tool-result", "toolCallId": "c1", "content": [{ "type": "text", "text": "ok" }], "isError": true }],
    });
    let failure = json!({ "message": "slow down", "code": "RATE_LIMIT", "status": 429, "providerRetryAfterMs": 5 });
    let dispatch = json!({ "rootCallId": "c1", "parentCallId": "c1", "subCallId": "c1:code:1", "name": "t", "arguments": [1] });
    let mut settled = dispatch.clone();
    settled["isError"] = json!(false);
    settled["content"] = json!([]);
    vec![
        ("turn/start", json!({ "turn": 1 })),
        (
            "turn/end",
            json!({ "turn": 1, "reason": { "kind": "aborted", "reason": { "kind": "user" } } }),
        ),
        ("step/start", json!({ "turn": 1, "step": 1 })),
        ("step/end", json!({ "turn": 1, "step": 1 })),
        (
            "agent/inbox/spliced",
            json!({ "target": "next-turn", "start": 0, "removedCount": 1, "inserted": [user], "outcome": "canceled" }),
        ),
        ("user/message", user),
        (
            "assistant/chunk",
            json!({ "turn": 1, "step": 1, "chunk": { "type": "text-delta", "index": 0, "text": "y" } }),
        ),
        (
            "assistant/message",
            json!({ "turn": 1, "step": 1, "message": assistant, "usage": { "inputTokens": 1, "outputTokens": 2, "cacheReadTokens": 3 }, "interrupted": true }),
        ),
        (
            "tool/call",
            json!({ "turn": 1, "step": 1, "callId": "c1", "name": "t", "arguments": "{not json" }),
        ),
        (
            "tool/result",
            json!({ "turn": 1, "step": 1, "message": answer, "error": { "name": "FsError", "code": "FS_NOT_FOUND" }, "meta": null }),
        ),
        ("tool/code-dispatch-start", dispatch),
        ("tool/code-dispatch", settled),
        (
            "request/header",
            json!({ "header": { "config": { "model": "m" }, "system": "be kind", "tools": [{ "name": "t" }] }, "reason": "initial" }),
        ),
        (
            "request/context",
            json!({ "provider": "p", "model": "m", "contextWindow": 1000 }),
        ),
        (
            "llm/retry",
            json!({ "retryId": "r", "turn": 1, "step": 1, "provider": "p", "mode": "backoff", "policyKey": "k", "retry": 1, "maxRetries": 3, "delayMs": 5, "failure": failure }),
        ),
        (
            "llm/retry-started",
            json!({ "retryId": "r", "turn": 1, "step": 1, "retry": 1 }),
        ),
        (
            "approval/asked",
            json!({ "id": "q", "toolName": "t", "callId": "c1", "reason": "why" }),
        ),
        (
            "approval/decided",
            json!({ "id": "q", "outcome": "allowed-once" }),
        ),
        (
            "approval/policy",
            json!({ "policy": "never", "source": "delegation" }),
        ),
        (
            "hook/invoked",
            json!({ "turn": 1, "point": "pre", "dialect": "d", "matcher": "m", "handlerId": "h" }),
        ),
        (
            "hook/result",
            json!({ "turn": 1, "point": "pre", "handlerId": "h", "decision": "pass", "exitCode": 0, "durationMs": 3 }),
        ),
        ("session/end-seed", json!({})),
        ("todo/write", json!([{ "text": "one", "done": false }])),
    ]
}

/// 4.2, D29: every type by its exact name, both ways.
#[test]
fn the_vocabulary_round_trips() {
    let samples = samples();
    let kinds: Vec<_> = samples.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, Payload::KINDS);
    for (kind, data) in samples {
        let record = json!({ "type": kind, "seq": 3, "time": 7, "data": data });
        let event: Event = serde_json::from_value(record.clone())
            .unwrap_or_else(|error| panic!("{kind}: {error}"));
        assert!(
            !matches!(event.payload(), Payload::Unknown { .. }),
            "{kind}"
        );
        assert_eq!(serde_json::to_value(&event).unwrap(), record);
        // What is typed holds all of it: the data comes out of the types too.
        assert_eq!(
            event.payload().encode().unwrap().to_value(),
            record["data"],
            "{kind}"
        );
    }
}

/// D29, L88, L91: what is not known stays as it came.
#[test]
fn the_unknown_survives() {
    let text = r#"{"type":"future/thing","seq":0,"time":1,"data":{"b":18446744073709551615,"a":[1.5]},"ignorable":true}"#;
    let event: Event = Document::parse(text).unwrap().decode().unwrap();
    assert_eq!((event.kind(), event.is_ignorable()), ("future/thing", true));
    assert_eq!(serde_json::to_string(&event).unwrap(), text);
    for data in [
        json!({ "turn": 1, "added": { "later": true } }),
        json!({ "turn": 1, "reason": { "kind": "melted", "at": 3 } }),
        json!({ "id": "m", "role": "user", "content": [{ "type": "hologram", "x": 1 }], "source": { "kind": "oracle", "y": [2] } }),
    ] {
        let kind = if data.get("id").is_some() {
            "user/message"
        } else if data.get("reason").is_some() {
            "turn/end"
        } else {
            "turn/start"
        };
        let record = json!({ "type": kind, "seq": 0, "time": 0, "data": data });
        let event: Event = serde_json::from_value(record.clone()).unwrap();
        assert_eq!(serde_json::to_value(&event).unwrap(), record);
    }
}

#[test]
fn malformed_data_of_a_known_type_is_refused() {
    for (kind, data) in [
        ("turn/start", json!({})),
        ("turn/end", json!({ "turn": 1, "reason": "done" })),
        ("tool/call", json!({ "turn": "1" })),
        (
            "user/message",
            json!({ "id": "m", "role": "user", "content": [], "source": {} }),
        ),
    ] {
        let record = json!({ "type": kind, "seq": 0, "time": 0, "data": data });
        assert!(serde_json::from_value::<Event>(record).is_err(), "{kind}");
    }
    let error = Payload::decode("turn/start", &Document::null()).unwrap_err();
    assert_eq!(error.code(), "SESSION_EVENT_MALFORMED");
    assert!(
        error
            .to_string()
            .starts_with("event `turn/start` is malformed"),
        "{error}"
    );
}

/// L119–L121: places, times and what is stored.
#[test]
fn appending_numbers_and_stamps() {
    let host = Arc::new(FakeHost::new());
    let session = Session::new(Header::new("s1", &*host).unwrap(), host.clone());
    let first = session.append(TurnStart { turn: 1 }).unwrap();
    host.advance(std::time::Duration::from_millis(5));
    let second = session.append(Message::user("m1", "hi")).unwrap();
    assert_eq!(
        [(first.seq(), first.time()), (second.seq(), second.time())],
        [(0, 0), (1, 5)]
    );
    assert_eq!(session.events(), [first, second.clone()]);
    assert_eq!(session.events_from(1), [second]);
    assert!(session.events_from(9).is_empty());
    assert!(Header::new("", &*host).is_err(), "L130");
}

struct Refusing(&'static str);
impl SessionGate for Refusing {
    fn admit(&self, _: &Session, event: &Event) -> Result<(), SessionError> {
        if event.kind() == self.0 {
            Err(SessionError::refused("not that"))
        } else {
            Ok(())
        }
    }
}

/// L39, L120: whatever fails before the push leaves the log as it was.
#[test]
fn a_refused_append_changes_nothing() {
    let (session, fiber, trace) = (session(), Fiber::root("test"), Trace::new());
    let noted = trace.clone();
    session
        .observe(&fiber, move |_: &Session, event: &Event| {
            noted.note(event.kind())
        })
        .unwrap();
    let gate = session.guard(&fiber, Refusing("turn/start")).unwrap();
    assert_eq!(
        session
            .append(TurnStart { turn: 1 })
            .unwrap_err()
            .to_string(),
        "not that"
    );
    assert_eq!(
        session.append(turn_end(1)).unwrap_err().code(),
        "SESSION_ORDER_VIOLATED"
    );
    assert_eq!(
        (session.len(), session.open_turn(), trace.entries().len()),
        (0, None, 0)
    );
    gate.dispose();
    session.append(TurnStart { turn: 1 }).unwrap();
    assert_eq!(trace.take(), ["turn/start"]);
}

struct Exploding;
impl SessionGate for Exploding {
    fn admit(&self, _: &Session, _: &Event) -> Result<(), SessionError> {
        panic_any(Bomb)
    }
}

/// L120, L124: what a gate or an observer throws may panic in turn when it is dropped.
#[test]
fn a_panic_that_cannot_be_dropped_is_contained() {
    let (session, fiber) = (session(), Fiber::root("test"));
    let gate = session.guard(&fiber, Exploding).unwrap();
    assert_eq!(
        session
            .append(TurnStart { turn: 1 })
            .unwrap_err()
            .to_string(),
        "a gate of the session panicked"
    );
    assert_eq!(session.len(), 0);
    gate.dispose();
    session
        .observe(&fiber, |_: &Session, _: &Event| panic_any(Bomb))
        .unwrap();
    session.append(TurnStart { turn: 1 }).unwrap();
    assert_eq!(session.len(), 1);
}

/// L122–L124: observers see events in order, cannot append, and cannot harm each other.
#[test]
fn observers() {
    let (session, fiber, trace) = (session(), Fiber::root("test"), Trace::new());
    let first = trace.clone();
    session
        .observe(&fiber, move |session: &Session, event: &Event| {
            assert_eq!(session.len() as u64, event.seq() + 1);
            let again = session.append(turn_end(1)).unwrap_err();
            first.note(format!("1: {} {again}", event.seq()));
        })
        .unwrap();
    session
        .observe(&fiber, |_: &Session, _: &Event| panic!("boom"))
        .unwrap();
    let last = trace.clone();
    let observer = session
        .observe(&fiber, move |_: &Session, event: &Event| {
            last.note(format!("2: {}", event.seq()))
        })
        .unwrap();
    session.append(TurnStart { turn: 1 }).unwrap();
    let refusal = "session append cannot reenter while another append is being published";
    assert_eq!(trace.take(), [format!("1: 0 {refusal}"), "2: 0".to_owned()]);
    observer.dispose();
    session.append(turn_end(1)).unwrap();
    assert_eq!(trace.take(), [format!("1: 1 {refusal}")]);
    block_on(fiber.dispose());
    session.append(TurnStart { turn: 2 }).unwrap();
    assert!(trace.entries().is_empty());
    assert!(
        session
            .observe(&fiber, |_: &Session, _: &Event| ())
            .is_err()
    );
}

/// L124 from several threads.
#[test]
fn concurrent_appends_are_one_order() {
    let (session, fiber, trace) = (session(), Fiber::root("test"), Trace::new());
    let noted = trace.clone();
    session
        .observe(&fiber, move |_: &Session, event: &Event| {
            noted.note(event.seq().to_string())
        })
        .unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                (0..50).for_each(|_| drop(session.append(Message::user("m", "x")).unwrap()))
            });
        }
    });
    let expected: Vec<_> = (0..200).map(|seq: u64| seq.to_string()).collect();
    assert_eq!(trace.take(), expected);
    assert_eq!(session.history().len(), 200);
}

/// L127, L128.
#[test]
fn a_seed_is_checked_and_closed() {
    let source = session();
    source.append(TurnStart { turn: 1 }).unwrap();
    source.append(turn_end(1)).unwrap();
    let host = Arc::new(FakeHost::new());
    let header = Header::new("fork", &*host).unwrap();
    let fork = Session::from_seed(header.clone(), host.clone(), source.events()).unwrap();
    assert_eq!((fork.len(), fork.first_live_seq()), (3, 3));
    assert_eq!(fork.events()[2].kind(), "session/end-seed");
    assert_eq!(fork.append(TurnStart { turn: 2 }).unwrap().seq(), 3);
    let again = Session::from_seed(
        header.clone(),
        host.clone(),
        fork.events().into_iter().take(3),
    )
    .unwrap();
    assert_eq!(again.len(), 3, "no second end");
    let gap = source.events().into_iter().skip(1);
    assert!(Session::from_seed(header, host, gap).is_err());
}

/// Appends each draft; the last one has to fail with a message that contains `part`.
#[track_caller]
fn disordered(drafts: Vec<Draft>, part: &str) {
    let session = session();
    let last = drafts.len() - 1;
    for (index, draft) in drafts.into_iter().enumerate() {
        match session.append(draft) {
            Ok(_) => assert!(index < last, "the last event was taken; wanted {part:?}"),
            Err(error) => {
                assert_eq!(index, last, "{error}");
                assert_eq!(error.code(), "SESSION_ORDER_VIOLATED");
                assert!(error.to_string().contains(part), "{error}");
            }
        }
    }
}

fn dispatch(root: Option<&str>, parent: &str, sub_call: &str) -> CodeDispatchStart {
    CodeDispatchStart {
        root_call_id: root.map(CallId::new),
        parent_call_id: CallId::new(parent),
        sub_call_id: CallId::new(sub_call),
        name: "t".into(),
        arguments: Document::null(),
    }
}

/// L150, the whole list.
#[test]
fn the_ordering_invariants() {
    let turn = |turn| Draft::new(TurnStart { turn });
    let step = |turn, step| Draft::new(StepStart { turn, step });
    let end = |turn, step| Draft::new(StepEnd { turn, step });
    disordered(vec![turn(1), turn(2)], "turn 1 is still open");
    disordered(vec![turn(2)], "turn 2 does not follow turn 0");
    disordered(
        vec![turn(1), turn_end(1).into(), turn(1)],
        "turn 1 does not follow turn 1",
    );
    disordered(vec![turn_end(1).into()], "no turn is open");
    disordered(vec![turn(1), turn_end(2).into()], "turn 1 is open, not 2");
    disordered(
        vec![turn(1), step(1, 1), turn_end(1).into()],
        "step 1 is still open",
    );
    disordered(vec![step(1, 1)], "no turn is open");
    disordered(
        vec![turn(1), step(1, 1), step(1, 2)],
        "step 1 is still open",
    );
    disordered(vec![turn(1), step(1, 2)], "step 2 does not follow step 0");
    disordered(
        vec![turn(1), step(1, 1), end(1, 1), step(1, 1)],
        "step 1 does not follow step 1",
    );
    disordered(
        vec![turn(1), step(1, 1), end(1, 2)],
        "step 1 is open, not 2",
    );
    disordered(vec![turn(1), said(1, 1, "x").into()], "no step is open");
    disordered(
        vec![turn(1), step(1, 1), said(2, 1, "x").into()],
        "turn 1 is open, not 2",
    );
    disordered(vec![turn(1), call(1, 1, "c").into()], "no step is open");
    disordered(
        vec![turn(1), step(1, 1), result(1, 1, "c", "x").into()],
        "call \"c\" is not an unanswered one",
    );
    let answered = || {
        vec![
            turn(1),
            step(1, 1),
            call(1, 1, "c").into(),
            result(1, 1, "c", "x").into(),
        ]
    };
    disordered(
        [answered(), vec![result(1, 1, "c", "x").into()]].concat(),
        "not an unanswered one",
    );
    let later = vec![
        turn(1),
        step(1, 1),
        call(1, 1, "c").into(),
        end(1, 1),
        step(1, 2),
        result(1, 2, "c", "x").into(),
    ];
    disordered(later, "not an unanswered one");
    disordered(vec![TodoWrite(Document::null()).into()], "no turn is open");
    disordered(
        vec![
            RequestContext {
                provider: "p".into(),
                model: "m".into(),
                context_window: None,
            }
            .into(),
        ],
        "no turn is open",
    );
    disordered(
        vec![dispatch(None, "c", "c:code:1").into()],
        "no turn is open",
    );
    let asked = |id: &str| {
        Draft::new(ApprovalAsked {
            id: id.into(),
            tool_name: "t".into(),
            call_id: None,
            reason: None,
        })
    };
    let decided = |id: &str| {
        Draft::new(ApprovalDecided {
            id: id.into(),
            outcome: ApprovalOutcome::Rejected,
        })
    };
    disordered(vec![asked("q")], "no turn is open");
    disordered(vec![turn(1), decided("q")], "was not asked");
    disordered(vec![turn(1), asked("q"), asked("q")], "open already");
    disordered(
        vec![turn(1), asked("q"), decided("q"), decided("q")],
        "was not asked",
    );
    disordered(
        vec![
            turn(1),
            asked("q"),
            turn_end(1).into(),
            turn(2),
            decided("q"),
        ],
        "was not asked",
    );
    disordered(
        [
            answered(),
            vec![result(1, 1, "c", "y").into_draft_replacing(3)],
        ]
        .concat(),
        "step 1 is still open",
    );
}

trait IntoReplacement {
    fn into_draft_replacing(self, seq: u64) -> Draft;
}

impl IntoReplacement for ToolResult {
    fn into_draft_replacing(self, seq: u64) -> Draft {
        Draft::new(self).replacing(seq, seq).from_events([seq])
    }
}

/// C160.
#[test]
fn the_invariants_of_programs() {
    let turn = || Draft::new(TurnStart { turn: 1 });
    disordered(
        vec![turn(), dispatch(Some("c"), "c", "").into()],
        "a call id is empty",
    );
    disordered(
        vec![
            turn(),
            dispatch(Some("c"), "c", "s").into(),
            dispatch(Some("d"), "d", "s").into(),
        ],
        "belongs to \"c\", not to \"d\"",
    );
    disordered(
        vec![turn(), dispatch(Some("c"), "x", "s").into()],
        "parent \"x\" does not belong to \"c\"",
    );
    let session = session();
    session.append(turn()).unwrap();
    session.append(dispatch(Some("c"), "c", "s")).unwrap();
    session
        .append(dispatch(Some("c"), "s", "s:code:1"))
        .unwrap();
    session.append(dispatch(None, "d", "d:code:1")).unwrap();
}

/// L117, L152, L153, L155 and the exception of L150: what the checker has to accept.
#[test]
fn what_a_log_may_look_like() {
    let session = session();
    let append = |draft: Draft| session.append(draft).unwrap();
    append(Message::user("m0", "between turns").into());
    append(TurnStart { turn: 1 }.into());
    append(StepStart { turn: 1, step: 1 }.into());
    append(said(1, 1, "calls").into());
    append(call(1, 1, "c").into());
    append(call(1, 1, "c").into());
    append(call(1, 1, "d").into());
    append(result(1, 1, "c", "one").into());
    append(result(1, 1, "c", "two").into());
    let mut never = result(1, 1, "e", "never started");
    never.error = Some(ErrorInfo {
        name: "ToolNotStartedError".into(),
        code: "TOOL_NOT_STARTED".into(),
    });
    append(never.into());
    append(StepEnd { turn: 1, step: 1 }.into());
    append(StepStart { turn: 1, step: 2 }.into());
    append(StepEnd { turn: 1, step: 2 }.into());
    append(
        TurnEnd {
            turn: 1,
            reason: TurnEnding::Aborted(CancelCause::User),
        }
        .into(),
    );
    append(TurnStart { turn: 2 }.into());
    append(StepStart { turn: 2, step: 1 }.into());
    let order = Order::check_all(&session.events()).unwrap();
    assert_eq!(
        (order.open_turn(), order.open_step(), order.last_turn()),
        (Some(2), Some(1), 2)
    );
}

#[track_caller]
fn malformed(session: &Session, draft: Draft, part: &str) {
    let error = session.append(draft).unwrap_err();
    assert_eq!(error.code(), "SESSION_EVENT_MALFORMED", "{error}");
    assert!(error.to_string().contains(part), "{error}");
}

/// L141–L145.
#[test]
fn the_surface() {
    let session = session();
    let append = |draft: Draft| session.append(draft).unwrap().seq();
    append(TurnStart { turn: 1 }.into());
    append(StepStart { turn: 1, step: 1 }.into());
    let user = append(Message::user("m1", "hi").into());
    let empty = append(Draft::new(said(1, 1, "")).from_events([]));
    append(call(1, 1, "c").into());
    let answer = append(Draft::new(result(1, 1, "c", "long")).from_events([4]));
    append(StepEnd { turn: 1, step: 1 }.into());
    let texts = || -> Vec<String> {
        session
            .history()
            .iter()
            .map(|message| serde_json::to_value(&message.content).unwrap().to_string())
            .collect()
    };
    assert_eq!(texts().len(), 2, "an empty answer yields nothing");

    let shorter = |text: &str| Draft::new(result(1, 1, "c", text)).replacing(answer, answer);
    malformed(
        &session,
        shorter("x"),
        "does not name every event that it replaces",
    );
    malformed(
        &session,
        shorter("x").from_events([answer, answer]),
        "names a source twice",
    );
    malformed(
        &session,
        shorter("x").from_events([99]),
        "not an earlier event",
    );
    malformed(
        &session,
        Draft::new(result(1, 1, "c", "x"))
            .replacing(answer, user)
            .from_events([answer]),
        "not on the surface",
    );
    malformed(
        &session,
        Draft::new(result(1, 1, "c", "x"))
            .replacing(0, 0)
            .from_events([0]),
        "not on the surface",
    );
    malformed(
        &session,
        Draft::new(result(1, 1, "c", "x"))
            .replacing(user, user)
            .from_events([user]),
        "other than one `tool/result`",
    );
    let mut other = result(1, 1, "c", "x");
    other.meta = Some(Document::null());
    malformed(
        &session,
        Draft::new(other)
            .replacing(answer, answer)
            .from_events([answer]),
        "more of a result than its content",
    );
    malformed(
        &session,
        Draft::new(Message::user("m", "x")).from_events([]),
        "empty list of sources",
    );
    malformed(
        &session,
        Draft::new(turn_end(1)).from_events([0]),
        "carries neither",
    );

    let short = append(shorter("short").from_events([answer]));
    assert!(texts()[1].contains("short"));
    let summary = Draft::new(Message::user("m2", "summary"))
        .replacing(user, short)
        .from_events([user, empty, short]);
    append(summary);
    assert_eq!(texts().len(), 1);
    assert!(texts()[0].contains("summary"));
}

/// L142, L143, L146: one event may take the place of very many, and what was derived before stays as it is.
#[test]
fn ten_thousand_events_are_replaced_at_once() {
    let session = session();
    for index in 0..10_000 {
        let text = format!("message {index}");
        session.append(Message::user("m", text.as_str())).unwrap();
    }
    let before = session.history();
    let summary = Draft::new(Message::user("s", "summary"))
        .replacing(0, 9_999)
        .from_events((0..10_000).rev());
    session.append(summary).unwrap();
    assert_eq!((before.len(), session.history().len()), (10_000, 1));
    let events = session.events();
    let host = Arc::new(FakeHost::new());
    let again = Session::from_seed(session.header().clone(), host, events).unwrap();
    assert_eq!(again.history(), session.history());
}

/// L88, L90: a message is what its event says.
#[test]
fn messages_have_the_shape_of_their_event() {
    let session = session();
    session.append(TurnStart { turn: 1 }).unwrap();
    session.append(StepStart { turn: 1, step: 1 }).unwrap();
    session.append(call(1, 1, "c")).unwrap();
    malformed(
        &session,
        Message::assistant("a", "x", "p", "m").into(),
        "user's role",
    );
    let mut wrong = said(1, 1, "x");
    wrong.message = Message::user("u", "x");
    malformed(&session, wrong.clone().into(), "assistant's role");
    wrong.message.role = dsh_session::Role::Assistant;
    malformed(&session, wrong.into(), "source is a model");
    let mut unanswered = result(1, 1, "c", "x");
    unanswered.message = Message::user("u", "x");
    malformed(&session, unanswered.into(), "one `tool-result` block");
}

/// D36: a scope, a session, an open turn.
#[test]
fn an_agent_has_one_open_turn() {
    let agent = Agent::new(session());
    assert_eq!(agent.scope().label(), "s1");
    assert!(agent.end_turn(TurnEnding::Completed).is_err());
    assert_eq!(agent.begin_turn().unwrap(), 1);
    assert!(agent.begin_turn().is_err());
    agent.end_turn(TurnEnding::Completed).unwrap();
    assert_eq!(agent.begin_turn().unwrap(), 2);
}

/// L193, and who is found by whom.
#[test]
fn agents_are_found_by_scope() {
    let agents = Agents::new();
    let agent = Agent::new(session());
    let nested = Scope::new("nested").child_of(agent.scope());
    assert!(agents.of(agent.scope()).is_none());
    let entered = agents.enter(&agent).unwrap();
    assert!(agents.enter(&agent).is_err());
    assert!(
        agents.enter(&Agent::new(session())).is_err(),
        "two agents of one id"
    );
    for scope in [agent.scope(), &nested] {
        assert!(Session::same(
            agents.of(scope).unwrap().session(),
            agent.session()
        ));
    }
    assert!(
        agents.of(&Scope::new("s1")).is_none(),
        "labels are for people"
    );
    entered.dispose();
    assert!(agents.of(&nested).is_none());
    agents.enter(&agent).unwrap();
    block_on(agent.scope().dispose());
    assert!(agents.of(agent.scope()).is_none());
    assert!(agents.enter(&agent).is_err());
}

/// L150: questions are logged as pairs inside the open turn, and nobody is asked without one.
#[test]
fn questions_are_logged() {
    let (agents, agent, fiber) = (Agents::new(), Agent::new(session()), Fiber::root("test"));
    agents.enter(&agent).unwrap();
    let tools = Tools::new(ToolsConfig::default());
    let receiver = tools.global(&fiber);
    receiver
        .register(dsh_testkit::MockTool::new("t").build().unwrap().0)
        .unwrap();
    receiver
        .on_pre_execute(|_, _| async { Ok(PreDecision::ask("why")) })
        .unwrap();
    let approver = ScriptedApprover::new([Answer::Say(ApprovalOutcome::AllowedOnce)]);
    receiver
        .mount_approvals(
            approver
                .clone()
                .into_approvals()
                .with_sink(Arc::new(agents)),
        )
        .unwrap();
    let run = || {
        block_on(tools.execute(Call::new("c1", "t", "{}", Signal::never()).agent(agent.scope())))
    };
    assert_eq!(run().code(), Some("SESSION_ORDER_VIOLATED"));
    assert!(approver.requests().is_empty());
    agent.begin_turn().unwrap();
    assert!(!run().is_error());
    let kinds: Vec<_> = agent
        .session()
        .events()
        .iter()
        .map(|event| event.kind().to_owned())
        .collect();
    assert_eq!(kinds, ["turn/start", "approval/asked", "approval/decided"]);
    let asked = agent.session().events()[1].data().to_value();
    assert_eq!(
        (&asked["toolName"], &asked["callId"], &asked["reason"]),
        (&json!("t"), &json!("c1"), &json!("why"))
    );
}

/// The types of dispatches have no use here but their data; a settled one carries its start.
#[test]
fn a_settled_dispatch_names_its_start() {
    let session = session();
    session.append(TurnStart { turn: 1 }).unwrap();
    let CodeDispatchStart {
        root_call_id,
        parent_call_id,
        sub_call_id,
        name,
        arguments,
    } = dispatch(Some("c"), "c", "c:code:1");
    let settled = CodeDispatch {
        root_call_id,
        parent_call_id,
        sub_call_id,
        name,
        arguments,
        is_error: true,
        content: Content::text("Error: no"),
    };
    let event = session.append(settled).unwrap();
    assert_eq!(
        event.data().to_value()["content"],
        json!([{ "type": "text", "text": "Error: no" }])
    );
    assert!(session.history().is_empty(), "C157");
}

/// The worked example of chapter 4.9: two parallel calls, a context of the first, and a closing answer (L189).
#[test]
fn the_worked_example() {
    use dsh_session::{
        AssistantChunk, Envelope, HeaderReason, InboxSpliced, InboxTarget, RequestHeader,
    };

    let session = session();
    let append = |draft: Draft| session.append(draft).unwrap().seq();
    let (prompt, context) = (Message::user("m1", "go"), Message::user("x1", "by the way"));
    let spliced = |target, removed: Option<u64>, inserted: &[&Message]| {
        let inserted = inserted.iter().map(|message| (*message).clone()).collect();
        Draft::new(InboxSpliced {
            target,
            start: 0,
            removed_count: removed,
            inserted,
            outcome: None,
        })
    };
    let chunk = |step| {
        Draft::new(AssistantChunk {
            turn: 1,
            step,
            chunk: Document::parse(r#"{"type":"finish"}"#).unwrap(),
        })
    };
    append(spliced(InboxTarget::NextTurn, None, &[&prompt]));
    append(TurnStart { turn: 1 }.into());
    append(spliced(InboxTarget::NextTurn, Some(1), &[]));
    append(StepStart { turn: 1, step: 1 }.into());
    append(prompt.into());
    let envelope = Envelope {
        config: Document::null(),
        adapter_defaults: None,
        system: None,
        tools: None,
    };
    append(
        RequestHeader {
            header: envelope,
            reason: HeaderReason::Initial,
        }
        .into(),
    );
    append(
        RequestContext {
            provider: "p".into(),
            model: "m".into(),
            context_window: Some(1),
        }
        .into(),
    );
    let piece = append(chunk(1));
    append(Draft::new(said(1, 1, "calls c1 and c2")).from_events([piece]));
    let (one, two) = (
        append(call(1, 1, "c1").into()),
        append(call(1, 1, "c2").into()),
    );
    append(Draft::new(result(1, 1, "c1", "one")).from_events([one]));
    append(spliced(InboxTarget::NextStep, None, &[&context]));
    append(Draft::new(result(1, 1, "c2", "two")).from_events([two]));
    append(StepEnd { turn: 1, step: 1 }.into());
    append(spliced(InboxTarget::NextStep, Some(1), &[]));
    append(StepStart { turn: 1, step: 2 }.into());
    append(context.into());
    let before: Vec<_> = session
        .history()
        .iter()
        .map(|message| message.id.to_string())
        .collect();
    assert_eq!(before, ["m1", "a", "r", "r", "x1"], "L189");
    append(chunk(2));
    append(said(1, 2, "done").into());
    append(StepEnd { turn: 1, step: 2 }.into());
    append(turn_end(1).into());
    let text = serde_json::to_string(&session.events()).unwrap();
    let read: Vec<Event> = serde_json::from_str(&text).unwrap();
    assert_eq!(read, session.events());
    Order::check_all(&read).unwrap();
    let host = Arc::new(FakeHost::new());
    let resumed = Session::from_seed(session.header().clone(), host, read).unwrap();
    assert_eq!(resumed.history(), session.history());
}
