//! User code at its worst: panics of every kind in every place, bodies that misbehave, callbacks and destructors that call
//! back (T153, T206, T213, T248, T402, T411, T441–T443, T452). The registry is usable after each.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod rig;

use std::any::Any;
use std::panic::panic_any;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use dsh_context::Scope;
use dsh_schema::Document;
use dsh_schema::spec::{self, ParameterSpec};
use dsh_testkit::{
    Answer, Bomb, Driven, MockTool, RecordingSink, ScriptedApprover, Trace, block_on, yield_once,
};
use dsh_tools::card::CallView;
use dsh_tools::{
    Access, ApprovalOutcome, ApprovalRequest, ApprovalSink, ApprovalTicket, Approvals, Approver,
    Around, BoxFuture, Call, CallJournal, Denial, Execution, JournalEntry, JournalError, Mode,
    Outcome, PreDecision, Restriction, Signal, Spawner, Start, Tool, ToolError, Tools, ToolsConfig,
};
use rig::{Rig, call, code_of, json, named, text_of, tool, without_deadlock};

/// Is ready at once, and panics when it is dropped.
struct BombAfter<T>(Option<T>, Bomb);

impl<T: Unpin> Future for BombAfter<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<T> {
        Poll::Ready(self.0.take().unwrap())
    }
}

type Panic = fn();

/// Every kind of payload, and what a model is told of it (T205, T206).
const PANICS: [(Panic, &str); 4] = [
    (|| panic!("plain text"), "plain text"),
    (|| panic_any(format!("formatted {}", 1)), "formatted 1"),
    (|| panic_any(7_i32), "<unprintable thrown value>"),
    (|| panic_any(Bomb), "<unprintable thrown value>"),
];

/// T206: a panic in a body, before its future or in it, is a thrown error without `info`, and reaches post-execute.
#[test]
fn a_body_may_panic() {
    for (panic, message) in PANICS {
        for late in [false, true] {
            for listened in [false, true] {
                let rig = Rig::new();
                let post = Arc::new(AtomicUsize::new(0));
                if listened {
                    rig::yield_in_every_stage(&rig.global()).unwrap();
                    let count = post.clone();
                    rig.global()
                        .on_post_execute(move |_, _, next| {
                            count.fetch_add(1, Ordering::AcqRel);
                            async move { next.run().await }
                        })
                        .unwrap();
                }
                rig.register(tool("t", move |_, cx| {
                    cx.defer_context(rig::context("kept"));
                    if !late {
                        panic();
                    }
                    async move {
                        yield_once().await;
                        panic();
                        Ok(Document::null())
                    }
                }));
                let settled = rig.run("t");
                assert_eq!(text_of(&settled), format!("Error: {message}"));
                assert_eq!(settled.error().unwrap().info, None);
                assert_eq!(rig::contexts_of(&settled), ["kept"], "T209");
                assert_eq!(post.load(Ordering::Acquire), usize::from(listened), "T213");
                rig.invariants.check();
                rig.assert_usable();
            }
        }
    }
}

/// T206: a body's future that panics while it is dropped has panicked, though it had returned; nothing escapes.
#[test]
fn a_body_may_panic_in_its_destructor() {
    for listened in [false, true] {
        let rig = Rig::new();
        if listened {
            rig::yield_in_every_stage(&rig.global()).unwrap();
        }
        rig.register(tool("t", |_, _| {
            BombAfter(Some(Ok(Document::string("fine"))), Bomb)
        }));
        assert_eq!(text_of(&rig.run("t")), "Error: bomb");
        rig.invariants.check();
        rig.assert_usable();
    }
}

/// A panic in a destructor inside of the body is the body's panic.
#[test]
fn a_body_may_panic_while_it_unwinds_its_locals() {
    let rig = Rig::new();
    rig.register(tool("t", |_, _| async {
        let _bomb = Bomb;
        yield_once().await;
        Ok(Document::null())
    }));
    assert_eq!(text_of(&rig.run("t")), "Error: bomb");
    rig.assert_usable();
}

/// T213 for every listener and every kind of panic, before its future and in it.
#[test]
fn a_listener_may_panic() {
    for (panic, message) in PANICS {
        for late in [false, true] {
            let expected = format!("Error: {message}");
            let rig = Rig::new();
            let probe = rig.mock(MockTool::new("t"));
            let registration = rig
                .global()
                .on_pre_execute(move |_, next| {
                    if !late {
                        panic();
                    }
                    async move {
                        yield_once().await;
                        panic();
                        next.run().await
                    }
                })
                .unwrap();
            assert_eq!(text_of(&rig.run("t")), expected);
            assert_eq!(probe.calls(), 0);
            registration.dispose();

            let registration = rig
                .global()
                .on_execute(move |_, next| {
                    if !late {
                        panic();
                    }
                    async move {
                        let attempt = next.run().await?;
                        panic();
                        Ok(attempt.into())
                    }
                })
                .unwrap();
            assert_eq!(text_of(&rig.run("t")), expected);
            assert_eq!(probe.calls(), usize::from(late));
            registration.dispose();

            let registration = rig
                .global()
                .on_post_execute(move |_, _, next| {
                    if !late {
                        panic();
                    }
                    async move {
                        yield_once().await;
                        panic();
                        next.run().await
                    }
                })
                .unwrap();
            assert_eq!(text_of(&rig.run("t")), expected);
            registration.dispose();

            let registration = rig
                .global()
                .guard(move |_: &Execution| {
                    panic();
                    None::<Denial>
                })
                .unwrap();
            assert_eq!(text_of(&rig.run("t")), expected);
            registration.dispose();
            rig.invariants.check();
            rig.assert_usable();
        }
    }
}

/// A listener's future that panics when it is dropped decided all the same.
#[test]
fn a_listener_may_panic_in_its_destructor() {
    let rig = Rig::new();
    rig.mock(MockTool::new("t"));
    let listener = rig
        .global()
        .on_pre_execute(|_, _| BombAfter(Some(Ok(PreDecision::deny("no"))), Bomb))
        .unwrap();
    assert_eq!(text_of(&rig.run("t")), "Error: no");
    listener.dispose();
    rig.assert_usable();
}

/// T163: a listener outside of one that panicked may catch it.
#[test]
fn an_outer_listener_catches_an_inner_panic() {
    let rig = Rig::new();
    rig.register(named("t"));
    rig.global()
        .on_pre_execute(|_, next| async move {
            assert!(next.run().await.unwrap_err().is_panic());
            Ok(PreDecision::Allow)
        })
        .unwrap();
    rig.global()
        .on_pre_execute(|_, _| async {
            if true {
                panic!("inner");
            }
            Ok(PreDecision::Allow)
        })
        .unwrap();
    assert_eq!(text_of(&rig.run("t")), "t");
}

/// T248: an observer that panics changes nothing, and the others are told.
#[test]
fn an_observer_may_panic() {
    for (panic, _) in PANICS {
        let rig = Rig::new();
        rig.register(named("t"));
        rig.global().on_result(move |_, _| panic()).unwrap();
        let told = Arc::new(AtomicUsize::new(0));
        let count = told.clone();
        rig.global()
            .on_result(move |_, _| _ = count.fetch_add(1, Ordering::AcqRel))
            .unwrap();
        assert_eq!(text_of(&rig.run("t")), "t");
        assert_eq!(told.load(Ordering::Acquire), 1);
    }
}

/// T390, T393: renderers and projectors that fail or panic make the value invalid output.
#[test]
fn a_projector_may_panic() {
    for (panic, message) in PANICS {
        let rig = Rig::new();
        let build = |name: &str| {
            let name = name.to_owned();
            MockTool::new(name).build_with(|builder| builder)
        };
        drop(build("unused").unwrap());
        let (render, _) = MockTool::new("render")
            .build_with(|builder| {
                builder.render_value(move |_, _| {
                    panic();
                    "text"
                })
            })
            .unwrap();
        let (meta, _) = MockTool::new("meta")
            .build_with(|builder| {
                builder.presentation_meta_value(move |_, _| {
                    panic();
                    Ok(1)
                })
            })
            .unwrap();
        rig.register(render);
        rig.register(meta);
        let settled = rig.run("render");
        let expected =
            format!("tool \"render\" returned invalid output: output.render failed: {message}");
        assert_eq!(
            (&*settled.error().unwrap().message, code_of(&settled)),
            (&*expected, Some("INVALID_TOOL_OUTPUT"))
        );
        let settled = rig.run("meta");
        let expected = format!(
            "tool \"meta\" returned invalid output: output.presentationMeta failed: {message}"
        );
        assert_eq!(
            (&*settled.error().unwrap().message, code_of(&settled)),
            (&*expected, Some("INVALID_TOOL_OUTPUT"))
        );
        rig.assert_usable();
    }
}

/// T242: a finalizer that panics makes the call fail with its message, and is not called again.
#[test]
fn a_finalizer_may_panic() {
    for (panic, message) in PANICS {
        let rig = Rig::new();
        let calls = Arc::new(AtomicUsize::new(0));
        let count = calls.clone();
        let (tool, _) = MockTool::new("t")
            .build_with(|builder| {
                builder.finalize_content(move |_, _| {
                    count.fetch_add(1, Ordering::AcqRel);
                    panic();
                    Ok(None)
                })
            })
            .unwrap();
        rig.register(tool);
        assert_eq!(text_of(&rig.run("t")), format!("Error: {message}"));
        assert_eq!(calls.load(Ordering::Acquire), 1);
        rig.assert_usable();
    }
}

/// T308, T347, T411: a classifier that panics makes the call exclusive, a presenter that panics draws nothing.
#[test]
fn pure_callbacks_may_panic() {
    for (panic, _) in PANICS {
        let rig = Rig::new();
        let (tool, _) = MockTool::new("t")
            .build_with(|builder| {
                builder
                    .concurrency_safe_when(move |_| {
                        panic();
                        true
                    })
                    .access(move |_| {
                        panic();
                        [Access::read("a")]
                    })
                    .present_call(move |_| {
                        panic();
                        None::<CallView>
                    })
                    .present_result(move |_, _| {
                        panic();
                        None
                    })
            })
            .unwrap();
        rig.register(tool.clone());
        assert_eq!(
            rig.tools.execution_mode(&call("t")),
            dsh_tools::ExecutionMode::Exclusive
        );
        assert_eq!(tool.access(&json("{}")), None);
        assert_eq!(tool.present_call(&json("{}")), None);
        let settled = rig.run("t");
        assert!(!settled.is_error());
        assert_eq!(tool.present_result(&json("{}"), &settled.durable()), None);
        rig.assert_usable();
    }
}

/// D9: a change listener that panics cannot fail a registration; the others are told.
#[test]
fn a_change_listener_may_panic() {
    for (panic, _) in PANICS {
        let rig = Rig::new();
        let told = Arc::new(AtomicUsize::new(0));
        let count = told.clone();
        rig.global().on_change(panic).unwrap();
        rig.global()
            .on_change(move || _ = count.fetch_add(1, Ordering::AcqRel))
            .unwrap();
        let registration = rig.register(named("t"));
        assert!(registration.is_live());
        registration.dispose();
        assert_eq!(told.load(Ordering::Acquire), 2);
        rig.assert_usable();
    }
}

/// A progress listener that panics is nothing to the body.
#[test]
fn a_progress_listener_may_panic() {
    let rig = Rig::new();
    rig.global().on_progress(|_, _| panic!("progress")).unwrap();
    rig.register(tool("t", |_, cx| async move {
        cx.progress(dsh_tools::Progress::units(1, Some(2)));
        Ok(Document::string("fine"))
    }));
    assert_eq!(text_of(&rig.run("t")), "fine");
}

struct PanickingApprover;

impl Approver for PanickingApprover {
    fn request(
        &self,
        _: ApprovalRequest,
    ) -> BoxFuture<'static, Result<Option<ApprovalOutcome>, ToolError>> {
        panic!("approver")
    }
}

struct PanickingSink;

impl ApprovalSink for PanickingSink {
    fn asked(&self, _: &ApprovalRequest) -> Result<(), ToolError> {
        panic!("sink")
    }

    fn decided(&self, _: &ApprovalTicket, _: ApprovalOutcome) -> Result<(), ToolError> {
        Ok(())
    }
}

/// T277, T280: an approver that panics is no channel; an audit that panics fails the call. Neither lets the body run.
#[test]
fn the_approval_seam_may_panic() {
    let ask = |approvals: Approvals| {
        let rig = Rig::new();
        let probe = rig.mock(MockTool::new("t"));
        rig.global()
            .on_pre_execute(|_, _| async { Ok(PreDecision::ask("why")) })
            .unwrap();
        rig.global().mount_approvals(approvals).unwrap();
        let agent = Scope::new("agent");
        let text = text_of(&rig.execute(call("t").agent(&agent)));
        assert_eq!(probe.calls(), 0);
        rig.invariants.check();
        text
    };
    let unavailable = "Error: tool \"t\" requires approval, but no approval channel is available";
    let sync: Arc<dyn Approver> = Arc::new(PanickingApprover);
    assert_eq!(ask(Approvals::new([sync])), unavailable);
    assert_eq!(
        ask(ScriptedApprover::new([Answer::Panic("late".into())]).into_approvals()),
        unavailable
    );
    let granting =
        ScriptedApprover::new([Answer::Say(ApprovalOutcome::AllowedOnce)]).into_approvals();
    assert_eq!(
        ask(granting.with_sink(Arc::new(PanickingSink))),
        "Error: sink"
    );
    let granting =
        ScriptedApprover::new([Answer::Say(ApprovalOutcome::AllowedOnce)]).into_approvals();
    let sink = RecordingSink::new(&Trace::new()).refusing_decided("disk full");
    assert_eq!(ask(granting.with_sink(Arc::new(sink))), "Error: disk full");
}

struct PanickingJournal {
    start: bool,
}

impl CallJournal for PanickingJournal {
    fn started(&self, _: JournalEntry) -> BoxFuture<'static, Result<Start, JournalError>> {
        assert!(!self.start, "started");
        Box::pin(async { Ok(Start::Run) })
    }

    fn settled(
        &self,
        _: JournalEntry,
        _: &Outcome,
    ) -> BoxFuture<'static, Result<(), JournalError>> {
        Box::pin(async { panic!("settled") })
    }
}

/// A journal that panics has recorded nothing.
#[test]
fn a_journal_may_panic() {
    for (start, code, calls) in [(true, "JOURNAL_FAILED", 0), (false, "OUTCOME_UNKNOWN", 1)] {
        let journal: Arc<dyn CallJournal> = Arc::new(PanickingJournal { start });
        let rig = Rig::configured(ToolsConfig {
            journal: Some(journal),
            ..ToolsConfig::default()
        });
        let probe = rig.mock(MockTool::new("t"));
        assert_eq!(code_of(&rig.run("t")), Some(code));
        assert_eq!(probe.calls(), calls);
        rig.invariants.check();
    }
}

struct PanickingSpawner;

impl Spawner for PanickingSpawner {
    fn spawn(&self, _: BoxFuture<'static, ()>) {
        panic!("spawner");
    }
}

/// A spawner that panics does not make a destructor panic, and `close` does not wait for what it lost.
#[test]
fn a_spawner_may_panic() {
    let spawner: Arc<dyn Spawner> = Arc::new(PanickingSpawner);
    let rig = Rig::configured(ToolsConfig {
        spawner: Some(spawner),
        ..ToolsConfig::default()
    });
    rig.mock(MockTool::new("t").yields(1));
    let mut future = Driven::new(rig.tools.execute(call("t")));
    assert!(future.poll().is_none());
    drop(future);
    rig.assert_usable();
    assert!(Driven::new(rig.tools.close()).until_stalled().is_some());
}

/// T389: whatever a body returns that its contract does not have is an ordinary failure.
#[test]
fn a_body_may_return_nonsense() {
    #[derive(serde::Serialize, schemars::JsonSchema)]
    #[serde(transparent)]
    struct Number(f64);

    let rig = Rig::new();
    let wrong = Tool::new("wrong", "Wrong.")
        .parameters(ParameterSpec::new())
        .returns(spec::string())
        .run(|_, _| async { Ok(json("5")) })
        .unwrap();
    rig.register(wrong);
    assert_eq!(
        rig.run("wrong").error().unwrap().message,
        "tool \"wrong\" returned invalid output: \"value\" must be a string"
    );
    for (name, value) in [
        ("nan", f64::NAN),
        ("infinite", f64::INFINITY),
        ("negative-zero", -0.0),
    ] {
        let tool = Tool::new(name, "Lossy.")
            .parameters(ParameterSpec::new())
            .output::<Number>()
            .run(move |_, _| async move { Ok(Number(value)) })
            .unwrap();
        rig.register(tool);
        let expected =
            format!("tool \"{name}\" returned invalid output: value is not lossless JSON");
        assert_eq!(rig.run(name).error().unwrap().message, expected, "T43, T44");
    }
}

/// A list within a list, and so on.
struct Nest(usize);

impl serde::Serialize for Nest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeSeq;
        let mut list = serializer.serialize_seq(Some(1))?;
        if self.0 > 1 {
            list.serialize_element(&Nest(self.0 - 1))?;
        }
        list.end()
    }
}

impl schemars::JsonSchema for Nest {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Nest".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "array" })
    }
}

/// D4, T40: depth is limited for arguments and values alike, and exceeding it is an ordinary failure.
#[test]
fn depth_is_a_failure_and_no_crash() {
    let rig = Rig::new();
    rig.register(tool("echo", |args, _| async move { Ok(args) }));
    for (depth, fits) in [(511, true), (5_000, false), (200_000, false)] {
        let text = format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        let settled = rig.execute(Call::new("c", "echo", text, Signal::never()));
        assert_eq!(!settled.is_error(), fits, "{depth} levels");
        if !fits {
            let expected = "Error: tool execution arguments must be losslessly JSON-serializable";
            assert_eq!(text_of(&settled), expected);
            assert!(settled.execution().arguments().is_none(), "T167");
        }
    }
    for (name, depth, fits) in [("shallow", 512, true), ("deep", 600, false)] {
        let tool = Tool::new(name, "Nested.")
            .parameters(ParameterSpec::new())
            .output::<Nest>()
            .run(move |_, _| async move { Ok(Nest(depth)) })
            .unwrap();
        rig.register(tool);
        assert_eq!(
            code_of(&rig.run(name)),
            (!fits).then_some("INVALID_TOOL_OUTPUT"),
            "{depth} levels"
        );
    }
    rig.assert_usable();
}

/// Size is no reason to fail, neither of arguments, values, names nor reasons (T401, T454).
#[test]
fn size_is_no_failure() {
    let rig = Rig::new();
    rig.register(tool("echo", |args, _| async move { Ok(args) }));
    let big = "x".repeat(4 << 20);
    let settled = rig.execute(Call::new(
        "c",
        "echo",
        format!("{{\"a\":\"{big}\"}}"),
        Signal::never(),
    ));
    assert_eq!(
        settled
            .value()
            .unwrap()
            .root()
            .get("a")
            .unwrap()
            .as_str()
            .map(str::len),
        Some(big.len())
    );
    // A name that long is unknown, and looking for one like it costs nothing to speak of.
    let settled = rig.execute(Call::new("c", big.as_str(), "{}", Signal::never()));
    assert_eq!(code_of(&settled), Some("UNKNOWN_TOOL"));
    assert_eq!(settled.content().blocks().len(), 1);
}

/// T42, T63, T454: names are arbitrary text, inserted verbatim.
#[test]
fn names_are_arbitrary_text() {
    let rig = Rig::new();
    for name in [
        "__proto__",
        "constructor",
        "",
        "a \"quoted\"\nname",
        "ünïcödé",
        "run-code",
    ] {
        let registration = rig.register(named(name));
        assert_eq!(rig.run(name).value().unwrap().root().as_str(), Some(name));
        registration.dispose();
        assert_eq!(
            rig.run(name).error().unwrap().message,
            format!("unknown tool \"{name}\"")
        );
    }
}

/// T69: a body that disposes of its own tool runs to its end under the definition it started from.
#[test]
fn a_body_may_dispose_of_its_own_tool() {
    for listened in [false, true] {
        let rig = Rig::new();
        if listened {
            rig::yield_in_every_stage(&rig.global()).unwrap();
        }
        let own = Arc::new(std::sync::Mutex::new(None::<dsh_tools::Registration>));
        let slot = own.clone();
        let tool = Tool::new("t", "Goes.")
            .parameters(ParameterSpec::new())
            .returns(spec::string())
            .render_value(|_, value| format!("rendered {}", value.as_str().unwrap()))
            .run(move |_, cx| {
                let slot = slot.clone();
                async move {
                    slot.lock().unwrap().take().unwrap().dispose();
                    assert!(cx.tools().get("t", None).is_none(), "T68");
                    yield_once().await;
                    Ok(Document::string("v"))
                }
            })
            .unwrap();
        *own.lock().unwrap() = Some(rig.register(tool));
        assert_eq!(text_of(&rig.run("t")), "rendered v");
        assert_eq!(code_of(&rig.run("t")), Some("UNKNOWN_TOOL"));
        rig.invariants.check();
    }
}

/// Everything T442 lists, from wherever it is called.
fn call_back(tools: &Tools, scope: &Scope, depth: &AtomicUsize) {
    // Nested calls meet the same callbacks; one level shows what is to be shown.
    if depth.fetch_add(1, Ordering::AcqRel) == 0 {
        assert!(tools.get("t", None).is_some());
        let _schemas = tools.schemas(Some(scope));
        let _json = tools.view(None).to_json();
        let _known = tools.known_names(Some(scope));
        let _mode = tools.execution_mode(&call("t"));
        let scoped = tools.scoped(scope);
        let registrations = [
            scoped.register(named("made-inside")).unwrap(),
            scoped.restrict(Restriction::deny(["t"])).unwrap(),
            scoped.guard(|_: &Execution| None::<Denial>).unwrap(),
            scoped.present_as(Mode::Both).unwrap(),
            scoped.on_change(|| {}).unwrap(),
            scoped
                .on_pre_execute(|_, next| async move { next.run().await })
                .unwrap(),
        ];
        let settled = block_on(tools.execute(Call::new("n", "helper", "{}", Signal::never())));
        assert_eq!(text_of(&settled), "helper");
        registrations
            .iter()
            .for_each(dsh_tools::Registration::dispose);
    }
    depth.fetch_sub(1, Ordering::AcqRel);
}

/// T441, T442: from every callback the registry can be read, changed and called.
#[test]
fn every_callback_may_call_back() {
    without_deadlock(|| {
        let rig = Rig::new();
        let (scope, depth) = (Scope::new("agent"), Arc::new(AtomicUsize::new(0)));
        let tally = Arc::new(AtomicUsize::new(0));
        let back = {
            let (tools, scope, depth, tally) = (rig.tools.clone(), scope, depth, tally.clone());
            move || {
                tally.fetch_add(1, Ordering::AcqRel);
                call_back(&tools, &scope, &depth);
            }
        };
        rig.register(named("helper"));
        let (in_body, in_render, in_meta, in_final) =
            (back.clone(), back.clone(), back.clone(), back.clone());
        let (in_class, in_access, in_call, in_result) =
            (back.clone(), back.clone(), back.clone(), back.clone());
        let target = Tool::new("t", "Calls back.")
            .parameters(ParameterSpec::new())
            .returns(spec::json())
            .render_value(move |_, _| {
                in_render();
                "rendered"
            })
            .presentation_meta_value(move |_, _| {
                in_meta();
                Ok(1)
            })
            .finalize_content(move |_, _| {
                in_final();
                Ok(None)
            })
            .concurrency_safe_when(move |_| {
                in_class();
                true
            })
            .access(move |_| {
                in_access();
                Vec::<Access>::new()
            })
            .present_call(move |_| {
                in_call();
                None::<CallView>
            })
            .present_result(move |_, _| {
                in_result();
                None
            })
            .run(move |_, _| {
                in_body();
                async { Ok(Document::null()) }
            })
            .unwrap();
        rig.register(target.clone());
        let global = rig.global();
        let inside = back.clone();
        global
            .on_pre_execute(move |_, next| {
                inside();
                async move { next.run().await }
            })
            .unwrap();
        let inside = back.clone();
        global
            .guard(move |_: &Execution| {
                inside();
                None::<Denial>
            })
            .unwrap();
        let inside = back.clone();
        global
            .on_execute(move |_, next| {
                inside();
                async move { Ok(next.run().await?.into()) }
            })
            .unwrap();
        let inside = back.clone();
        global
            .on_post_execute(move |_, _, next| {
                inside();
                async move { next.run().await }
            })
            .unwrap();
        let inside = back.clone();
        global.on_result(move |_, _| inside()).unwrap();
        let inside = back.clone();
        global.on_progress(move |_, _| inside()).unwrap();
        global.on_change(back).unwrap();

        assert_eq!(text_of(&rig.run("t")), "rendered");
        let _mode = rig.tools.execution_mode(&call("t"));
        let _access = target.access(&json("{}"));
        let _call = target.present_call(&json("{}"));
        let _result = target.present_result(&json("{}"), &rig.run("t").durable());
        rig.register(named("change"));
        assert!(tally.load(Ordering::Acquire) > 20);
        rig.invariants.check();
    });
}

/// T79: notifications that are caused while notifying are delivered, depth first.
#[test]
fn a_change_listener_may_register() {
    without_deadlock(|| {
        let rig = Rig::new();
        let (global, once) = (rig.global(), AtomicBool::new(false));
        let (trace, told) = (rig.trace.clone(), rig.trace.clone());
        let receiver = global.clone();
        global
            .on_change(move || {
                if !once.swap(true, Ordering::AcqRel) {
                    trace.note("first");
                    receiver.register(named("b")).unwrap();
                    trace.note("first done");
                }
            })
            .unwrap();
        global.on_change(move || told.note("second")).unwrap();
        rig.register(named("a"));
        assert_eq!(
            rig.trace.take(),
            ["first", "second", "first done", "second"]
        );
        assert_eq!(rig.tools.schemas(None).len(), 2);
    });
}

/// Reads and changes the registry when it is dropped.
struct CallsBack {
    tools: Tools,
    fired: Arc<AtomicUsize>,
}

impl Drop for CallsBack {
    fn drop(&mut self) {
        let _schemas = self.tools.schemas(None);
        let _tool = self.tools.get("anything", None);
        let scope = Scope::new("made-in-a-destructor");
        self.tools
            .scoped(&scope)
            .register(named("late"))
            .unwrap()
            .dispose();
        self.fired.fetch_add(1, Ordering::AcqRel);
    }
}

/// T441: destructors of user values run outside of every lock, wherever a registration goes away.
#[test]
fn destructors_may_call_back() {
    without_deadlock(|| {
        let rig = Rig::new();
        let fired = Arc::new(AtomicUsize::new(0));
        let make = |rig: &Rig| CallsBack {
            tools: rig.tools.clone(),
            fired: fired.clone(),
        };
        let tool_with = |name: &str, value: CallsBack| {
            tool(name, move |_, _| {
                let _kept = &value;
                async { Ok(Document::null()) }
            })
        };
        let mut expected = 0;
        let mut gone = |what: &str| {
            expected += 1;
            assert_eq!(fired.load(Ordering::Acquire), expected, "{what}");
        };

        let registration = rig.register(tool_with("t", make(&rig)));
        registration.dispose();
        gone("a disposed tool");

        // A cached view keeps the tool alive until somebody reads again.
        let registration = rig.register(tool_with("t", make(&rig)));
        let _view = rig.tools.view(None).to_json();
        registration.dispose();
        let _view = rig.tools.view(None);
        gone("a tool in a view");

        let registration = rig.register(tool_with("t", make(&rig)));
        rig.tools
            .update(|update| update.remove(&registration))
            .unwrap();
        gone("a tool that an update removes");

        let taken = rig.register(named("taken"));
        assert!(
            rig.global()
                .register(tool_with("taken", make(&rig)))
                .is_err()
        );
        gone("a tool that is refused");
        let refused = tool_with("taken", make(&rig));
        let global = rig.global();
        assert!(
            rig.tools
                .update(|update| update.register(&global, refused))
                .is_err()
        );
        gone("a tool that an update refuses");
        taken.dispose();

        let value = make(&rig);
        rig.global()
            .guard(move |_: &Execution| {
                let _kept = &value;
                None::<Denial>
            })
            .unwrap()
            .dispose();
        gone("a guard");
        let value = make(&rig);
        rig.global()
            .on_pre_execute(move |_, next| {
                let _kept = &value;
                async move { next.run().await }
            })
            .unwrap()
            .dispose();
        gone("a listener");
        let value = make(&rig);
        rig.global()
            .on_change(move || {
                let _kept = &value;
            })
            .unwrap()
            .dispose();
        gone("a change listener");

        let first = rig
            .global()
            .mount_transport(tool_with("run_code", make(&rig)))
            .unwrap();
        let second = rig
            .global()
            .mount_transport(tool_with("run_code", make(&rig)))
            .unwrap();
        first.dispose();
        gone("a transport under another");
        second.dispose();
        gone("a transport");

        let scope = Scope::new("agent");
        rig.tools
            .scoped(&scope)
            .register(tool_with("t", make(&rig)))
            .unwrap();
        block_on(scope.dispose());
        gone("a tool of a scope that ends");

        let dead = Scope::new("dead");
        block_on(dead.dispose());
        assert!(
            rig.tools
                .scoped(&dead)
                .register(tool_with("t", make(&rig)))
                .is_err()
        );
        gone("a tool of a scope that has ended");
    });
}

/// T452: destructors of registrations that panic while a call holds the last handle do not reach the caller.
#[test]
fn destructors_of_registrations_may_panic() {
    let rig = Rig::new();
    rig.register(named("t"));
    let own = Arc::new(std::sync::Mutex::new(None::<dsh_tools::Registration>));
    let (slot, bomb) = (own.clone(), Bomb);
    let registration = rig
        .global()
        .on_execute(move |_, next| {
            let _kept = &bomb;
            if let Some(registration) = slot.lock().unwrap().take() {
                registration.dispose();
            }
            async move { Ok::<Around, _>(next.run().await?.into()) }
        })
        .unwrap();
    *own.lock().unwrap() = Some(registration);
    assert_eq!(text_of(&rig.run("t")), "t");
    rig.assert_usable();

    let (slot, bomb) = (own.clone(), Bomb);
    let going = tool("going", move |_, _| {
        let _kept = &bomb;
        slot.lock().unwrap().take().unwrap().dispose();
        async { Ok(Document::string("gone")) }
    });
    *own.lock().unwrap() = Some(rig.register(going));
    let settled = rig.run("going");
    assert_eq!(text_of(&settled), "gone");
    drop(settled);
    rig.assert_usable();
}

/// A payload is dropped once and quietly, even where its destructor panics again and again.
#[test]
fn a_payload_within_a_payload() {
    struct Again(Option<Box<dyn Any + Send>>);
    impl Drop for Again {
        fn drop(&mut self) {
            if let Some(inner) = self.0.take() {
                panic_any(inner);
            }
        }
    }
    let rig = Rig::new();
    rig.register(tool("t", |_, _| async {
        if true {
            panic_any(Again(Some(Box::new(Again(Some(Box::new(7)))))));
        }
        Ok(Document::null())
    }));
    assert_eq!(text_of(&rig.run("t")), "Error: <unprintable thrown value>");
    rig.assert_usable();
}
