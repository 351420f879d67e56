//! The pipeline's phases: chapter 4 (T153–T263), the output contract (T388–T402), and the vectors of F.7.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod rig;

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use dsh_context::Scope;
use dsh_schema::Document;
use dsh_schema::spec::{self, ParameterSpec};
use dsh_testkit::{Driven, Invariants, MockTool, Trace, block_on};
use dsh_tools::lane::LaneConfig;
use dsh_tools::{
    Around, Attempt, Block, Call, Content, ContextMessage, ContextSource, Denial, Effect,
    ErrorInfo, Execution, Failure, FailureError, Outcome, PostDecision, PreDecision, Reason,
    Receiver, Settled, Signal, Tool, ToolError,
};
use rig::{Rig, call, code_of, content, context, contexts_of, json, named, text_of, tool};

/// A tool that goes through every step of its definition and notes each.
fn noting(name: &str, trace: &Trace, body: fn() -> Result<Document, ToolError>) -> Tool {
    let (render, meta, finalize, run) =
        (trace.clone(), trace.clone(), trace.clone(), trace.clone());
    Tool::new(name, "Notes its steps.")
        .parameters(ParameterSpec::new())
        .returns(spec::string())
        .render_value(move |_, value| {
            render.note("render");
            value.as_str().unwrap_or_default().to_owned()
        })
        .presentation_meta_value(move |_, _| {
            meta.note("meta");
            Ok(1)
        })
        .finalize_content(move |_, _| {
            finalize.note("finalize");
            Ok(None)
        })
        .run(move |_, cx| {
            run.note("body");
            cx.defer_context(context("deferred"));
            async move { body() }
        })
        .unwrap()
}

/// Listeners that note their stage and delegate.
fn note_stages(receiver: &Receiver, trace: &Trace, suffix: &str) {
    let note = |stage: &str| {
        let (trace, entry) = (trace.clone(), format!("{stage}{suffix}"));
        move |at: &str| trace.note(format!("{entry}{at}"))
    };
    let pre = note("pre");
    receiver
        .on_pre_execute(move |_, next| {
            let pre = pre.clone();
            pre("");
            async move {
                let decision = next.run().await;
                pre(" out");
                decision
            }
        })
        .unwrap();
    let guard = note("guard");
    receiver
        .guard(move |_: &Execution| {
            guard("");
            None::<Denial>
        })
        .unwrap();
    let around = note("around");
    receiver
        .on_execute(move |_, next| {
            let around = around.clone();
            around("");
            async move {
                let attempt = next.run().await;
                around(" out");
                Ok(attempt?.into())
            }
        })
        .unwrap();
    let post = note("post");
    receiver
        .on_post_execute(move |_, _, next| {
            post("");
            async move { next.run().await }
        })
        .unwrap();
    let result = note("result");
    receiver.on_result(move |_, _| result("")).unwrap();
}

/// T156, T157, T388: the order of everything; pre-execute is over entirely before anything later begins.
#[test]
fn the_order_of_the_phases() {
    let rig = Rig::new();
    note_stages(&rig.global(), &rig.trace, "1");
    note_stages(&rig.global(), &rig.trace, "2");
    note_stages(&rig.global().prepend(), &rig.trace, "0");
    rig.register(noting("t", &rig.trace, || Ok(Document::string("v"))));
    let invariants = Invariants::watch_stages(&rig.global()).unwrap();
    assert_eq!(text_of(&rig.run("t")), "v");
    // Guards have no front: `prepend` is for listeners (T157).
    let expected = [
        "pre0",
        "pre1",
        "pre2",
        "pre2 out",
        "pre1 out",
        "pre0 out",
        "guard1",
        "guard2",
        "guard0",
        "around0",
        "around1",
        "around2",
        "body",
        "render",
        "meta",
        "around2 out",
        "around1 out",
        "around0 out",
        "post0",
        "post1",
        "post2",
        "finalize",
        "result0",
        "result1",
        "result2",
    ];
    assert_eq!(rig.trace.take(), expected);
    invariants.check();
    assert_eq!(
        invariants.observations(rig.run("t").execution().token()),
        1,
        "T154"
    );
}

/// T158, T156: with listeners in any subset of the stages the outcome is the same, and so is the order.
#[test]
fn absent_listeners_change_nothing() {
    let plain = Rig::new();
    plain.register(noting("t", &plain.trace, || Ok(Document::string("v"))));
    let expected = plain.run("t").outcome().clone();
    for subset in 0_u8..16 {
        let rig = Rig::new();
        rig.register(noting("t", &rig.trace, || Ok(Document::string("v"))));
        let has = |bit: u8| subset & (1 << bit) != 0;
        if has(0) {
            rig.global()
                .on_pre_execute(|_, next| async move { next.run().await })
                .unwrap();
        }
        if has(1) {
            rig.global().guard(|_: &Execution| None::<Denial>).unwrap();
        }
        if has(2) {
            rig.global()
                .on_execute(|_, next| async move { Ok(next.run().await?.into()) })
                .unwrap();
        }
        if has(3) {
            rig.global()
                .on_post_execute(|_, _, next| async move { next.run().await })
                .unwrap();
        }
        let settled = rig.run("t");
        assert_eq!(settled.outcome(), &expected, "{subset:04b}");
        assert_eq!(rig.trace.take(), ["body", "render", "meta", "finalize"]);
    }
}

/// Where a call of the table T213 goes wrong.
type Break = fn(&Rig);

/// Phase, name called, body, what breaks it, code, text, whether post-execute runs, and the contexts that are left.
type Row = (
    &'static str,
    &'static str,
    Body,
    Break,
    Option<&'static str>,
    &'static str,
    bool,
    &'static [&'static str],
);

type Body = fn() -> Result<Document, ToolError>;

/// T213, T214: what happens on a failure in each phase: the result, and who still runs.
#[test]
fn the_table_of_failures() {
    let coded = || ToolError::coded("XError", "X", "boom");
    assert_eq!(coded().code(), Some("X"));
    let good: fn() -> _ = || Ok(Document::string("v"));
    let bad: fn() -> _ = || Err(ToolError::coded("XError", "X", "boom"));
    let wrong: fn() -> _ = || Ok(json("1"));
    let none: Break = |_| {};
    #[rustfmt::skip]
    let rows: [Row; 12] = [
        ("arguments", "t", good, none, None, "Error: tool execution arguments must be losslessly JSON-serializable", false, &[]),
        ("pre-execute", "t", good, |rig| {
            rig.global().on_pre_execute(|_, _| async { Err(ToolError::coded("XError", "X", "boom")) }).unwrap();
        }, Some("X"), "Error: boom", false, &[]),
        ("guard", "t", good, |rig| {
            rig.global().guard(|_: &Execution| Err::<Option<Denial>, _>(ToolError::coded("XError", "X", "boom"))).unwrap();
        }, Some("X"), "Error: boom", false, &[]),
        ("wrapper", "t", good, |rig| {
            rig.global().on_execute(|_, next| async move {
                next.run().await?;
                Err(ToolError::coded("XError", "X", "boom"))
            }).unwrap();
        }, Some("X"), "Error: boom", false, &[]),
        ("wrapper's success", "t", good, |rig| {
            rig.global().on_execute(|_, next| async move {
                next.run().await?;
                Ok(Around::success(json("1"), [context("wrapper")]))
            }).unwrap();
        }, Some("INVALID_TOOL_OUTPUT"), "Error: tool \"t\" returned invalid output: \"value\" must be a string", false, &[]),
        ("wrapper's success of nothing", "nope", good, |rig| {
            rig.global().on_execute(|_, _| async { Ok(Around::success(json("1"), [])) }).unwrap();
        }, Some("UNKNOWN_TOOL"), "Error: unknown tool \"nope\"", false, &[]),
        ("body", "t", bad, none, Some("X"), "Error: boom", true, &["deferred"]),
        ("unknown tool", "nope", good, none, Some("UNKNOWN_TOOL"), "Error: unknown tool \"nope\"", true, &[]),
        ("output", "t", wrong, none, Some("INVALID_TOOL_OUTPUT"), "Error: tool \"t\" returned invalid output: \"value\" must be a string", true, &["deferred"]),
        ("denial", "t", good, |rig| {
            rig.global().guard(|_: &Execution| Some(Denial::new("no"))).unwrap();
        }, None, "Error: no", true, &[]),
        ("post-execute", "t", good, |rig| {
            rig.global().on_post_execute(|_, _, _| async { Err(ToolError::coded("XError", "X", "boom")) }).unwrap();
        }, Some("X"), "Error: boom", true, &[]),
        ("unusable replacement", "t", good, |rig| {
            rig.global().on_post_execute(|_, _, _| async { Ok(PostDecision::value(json("1"))) }).unwrap();
        }, Some("INVALID_TOOL_OUTPUT"), "Error: tool \"t\" returned invalid output: \"value\" must be a string", true, &[]),
    ];
    for (row, name, body, break_it, code, text, post, contexts) in rows {
        for direct in [false, true] {
            let rig = Rig::new();
            rig.register(noting("t", &rig.trace, body));
            let posts = Arc::new(AtomicUsize::new(0));
            if !direct {
                let count = posts.clone();
                rig.global()
                    .on_post_execute(move |_, _, next| {
                        count.fetch_add(1, Ordering::AcqRel);
                        async move { next.run().await }
                    })
                    .unwrap();
            }
            break_it(&rig);
            let arguments = if row == "arguments" {
                "{\"a\":1e999}"
            } else {
                "{}"
            };
            let settled = rig.execute(Call::new("c1", name, arguments, Signal::never()));
            assert_eq!(
                (code_of(&settled), text_of(&settled).as_str()),
                (code, text),
                "{row}"
            );
            assert_eq!(contexts_of(&settled), contexts, "{row}");
            if !direct {
                assert_eq!(
                    posts.load(Ordering::Acquire),
                    usize::from(post),
                    "{row}: post-execute"
                );
            }
            let finalized = rig.trace.count("finalize");
            assert_eq!(
                finalized,
                usize::from(name == "t"),
                "{row}: T237, exactly once"
            );
            assert_eq!(rig.invariants.executions(), 1, "{row}: T154");
            assert!(settled.value().is_none(), "{row}");
            rig.invariants.check();
        }
    }
}

/// T242: a finalizer that fails is the last row of that table: its message, its code, no contexts.
#[test]
fn a_failing_finalizer() {
    let rig = Rig::new();
    let (tool, _) = MockTool::new("t")
        .build_with(|builder| {
            builder.finalize_content(|_, _| Err(ToolError::coded("XError", "X", "boom")))
        })
        .unwrap();
    rig.register(tool);
    rig.global()
        .on_post_execute(|_, _, _| async {
            Ok(PostDecision::accept().with_contexts([context("lost")]))
        })
        .unwrap();
    let settled = rig.run("t");
    assert_eq!(
        (code_of(&settled), text_of(&settled).as_str()),
        (Some("X"), "Error: boom")
    );
    assert!(settled.contexts().is_empty());
}

/// T155: caller and observers hold the same outcome.
#[test]
fn observers_hold_the_callers_outcome() {
    for staged in [false, true] {
        let rig = Rig::new();
        if staged {
            rig::yield_in_every_stage(&rig.global()).unwrap();
        }
        rig.register(named("t"));
        let seen = Arc::new(Mutex::new(None));
        let saw = seen.clone();
        rig.global()
            .on_result(move |execution, outcome| {
                *saw.lock().unwrap() =
                    Some((execution.clone(), std::ptr::from_ref(outcome).addr()));
            })
            .unwrap();
        let settled = rig.run("t");
        let (execution, address) = seen.lock().unwrap().take().unwrap();
        assert_eq!(std::ptr::from_ref(settled.outcome()).addr(), address);
        assert_eq!(
            std::ptr::from_ref(execution.outcome().unwrap()).addr(),
            address
        );
        assert!(
            Settled::same(&settled, &settled.clone()) && !Settled::same(&settled, &rig.run("t"))
        );
    }
}

/// T159, T163: a listener that does not delegate hides everything inside it; a failure inside may be caught outside.
#[test]
fn short_circuits_and_caught_failures() {
    let rig = Rig::new();
    let probe = rig.mock(MockTool::new("t"));
    rig.global()
        .on_pre_execute(|_, next| async move {
            let inner = next.run().await;
            assert_eq!(inner.unwrap_err().message(), "inner");
            Ok(PreDecision::Allow)
        })
        .unwrap();
    rig.global()
        .on_pre_execute(|_, _| async { Err(ToolError::new("inner")) })
        .unwrap();
    rig.global()
        .on_pre_execute(|_, _| async { Ok(PreDecision::deny("never heard")) })
        .unwrap();
    rig.global()
        .on_execute(|_, next| async move {
            assert_eq!(next.run().await.unwrap_err().message(), "wrapper");
            Ok(Around::success(json("\"recovered\""), []))
        })
        .unwrap();
    rig.global()
        .on_execute(|_, _| async { Err(ToolError::new("wrapper")) })
        .unwrap();
    rig.global()
        .on_post_execute(|_, _, next| async move {
            assert_eq!(next.run().await.unwrap_err().message(), "post");
            Ok(PostDecision::accept())
        })
        .unwrap();
    rig.global()
        .on_post_execute(|_, _, _| async { Err(ToolError::new("post")) })
        .unwrap();
    assert_eq!(text_of(&rig.run("t")), "recovered");
    assert_eq!(probe.calls(), 0, "T190");
}

/// T161: listeners that come or go while a chain runs matter to the next call.
#[test]
fn a_chain_is_fixed_when_its_dispatch_begins() {
    let rig = Rig::new();
    rig.register(named("t"));
    let (receiver, inner) = (
        rig.global(),
        Arc::new(Mutex::new(None::<dsh_tools::Registration>)),
    );
    let (slot, trace) = (inner.clone(), rig.trace.clone());
    rig.global()
        .on_pre_execute(move |_, next| {
            if let Some(registration) = slot.lock().unwrap().take() {
                registration.dispose();
                let trace = trace.clone();
                receiver
                    .on_pre_execute(move |_, next| {
                        trace.note("newcomer");
                        async move { next.run().await }
                    })
                    .unwrap();
            }
            async move { next.run().await }
        })
        .unwrap();
    let trace = rig.trace.clone();
    let registration = rig
        .global()
        .on_pre_execute(move |_, next| {
            trace.note("goer");
            async move { next.run().await }
        })
        .unwrap();
    *inner.lock().unwrap() = Some(registration);
    rig.run("t");
    assert_eq!(rig.trace.take(), ["goer"]);
    rig.run("t");
    assert_eq!(rig.trace.take(), ["newcomer"]);
}

/// T162, D6, T210: `next` runs the whole inner chain again; contexts of both attempts are there.
#[test]
fn a_retry_runs_the_inner_chain_again() {
    let rig = Rig::new();
    let (trace, tries) = (rig.trace.clone(), AtomicUsize::new(0));
    rig.register(tool("t", move |_, cx| {
        let attempt = tries.fetch_add(1, Ordering::AcqRel);
        cx.defer_context(context(&format!("attempt {attempt}")));
        async move {
            if attempt == 0 {
                Err(ToolError::new("first"))
            } else {
                Ok(Document::string("second"))
            }
        }
    }));
    rig.global()
        .on_execute(|_, next| async move {
            let first = next.run().await?;
            if first.outcome().is_error() {
                Ok(next.run().await?.into())
            } else {
                Ok(first.into())
            }
        })
        .unwrap();
    rig.global()
        .on_execute(move |_, next| {
            trace.note("inner");
            async move { Ok(next.run().await?.into()) }
        })
        .unwrap();
    let settled = rig.run("t");
    assert_eq!(text_of(&settled), "second");
    assert_eq!(rig.trace.take(), ["inner", "inner"]);
    assert_eq!(contexts_of(&settled), ["attempt 0", "attempt 1"]);
}

/// D44: only a tool that says it may is retryable, whatever its body says.
#[test]
fn retryable_needs_the_tools_consent() {
    let rig = Rig::new();
    for (name, effect, expected) in [
        ("once", Effect::Once, false),
        ("idempotent", Effect::Idempotent, true),
        ("reads", Effect::ReadOnly, true),
    ] {
        let tool = Tool::new(name, "Fails.")
            .parameters(ParameterSpec::new())
            .returns(spec::json())
            .effect(effect)
            .run(|_, _| async { Err(ToolError::new("busy").retryable()) })
            .unwrap();
        rig.register(tool);
        assert_eq!(rig.run(name).error().unwrap().retryable, expected, "{name}");
    }
}

/// T166–T168, D2–D4, D16: arguments that are not lossless fail before policy; identity stays, the cause is for operators.
#[test]
fn lossy_arguments_fail_before_policy() {
    let rig = Rig::new();
    let agent = Scope::new("agent");
    rig.register(noting("t", &rig.trace, || Ok(Document::string("v"))));
    note_stages(&rig.tools.scoped(&agent), &rig.trace, "");
    for text in [
        r#"{"a":-0}"#,
        r#"{"a":-0.0}"#,
        r#"{"a":1e400}"#,
        r#"{"a":18446744073709551616}"#,
        r#"{"a":1,"a":1}"#,
        r#"{"a":"\ud800"}"#,
    ] {
        let (_, signal) = Signal::pair();
        let parent = rig.run("nope").execution().token();
        rig.trace.take().clear();
        let call = Call::new("c7", "t", text, signal.clone())
            .agent(&agent)
            .parent(parent)
            .root("c1".into());
        let settled = rig.execute(call);
        assert_eq!(
            text_of(&settled),
            "Error: tool execution arguments must be losslessly JSON-serializable",
            "{text}"
        );
        assert_eq!(settled.error().unwrap().info, None);
        assert_eq!(rig.trace.take(), ["finalize", "result"], "T167");
        let execution = settled.execution();
        assert!(
            execution.arguments().is_none()
                && execution.argument_error().is_some()
                && !execution.arguments_fit()
        );
        assert_eq!(
            (
                execution.id().as_str(),
                execution.root_id().as_str(),
                execution.name()
            ),
            ("c7", "c1", "t")
        );
        assert_eq!(
            (execution.agent(), execution.parent()),
            (Some(&agent), Some(parent))
        );
        assert!(execution.caller_signal().same_source(&signal));
    }
}

/// T260, T48: empty text is no arguments, and text that is no JSON is a string, which a typed tool refuses.
#[test]
fn raw_text_becomes_arguments() {
    let rig = Rig::new();
    rig.register(tool("typed", |args, _| async move { Ok(args) }));
    let raw = Tool::new("raw", "As given.")
        .parameters_schema(json(r#"{"type":"object"}"#), dsh_tools::Checking::Unchecked)
        .returns(spec::json())
        .run(|args, _| async move { Ok(args) })
        .unwrap();
    rig.register(raw);
    let run = |name: &str, text: &str| rig.execute(Call::new("c", name, text, Signal::never()));
    assert_eq!(run("typed", "").value().unwrap().to_json(), "{}");
    assert_eq!(
        run("raw", "{not json").value().unwrap().to_json(),
        "\"{not json\""
    );
    let settled = run("typed", "{not json");
    let error = settled.error().unwrap();
    assert_eq!(
        error.message,
        "invalid arguments: \"arguments\" must be an object"
    );
    let info = ErrorInfo {
        name: "ToolArgsError".into(),
        code: "INVALID_ARGS".into(),
    };
    assert_eq!(error.info, Some(info), "T343");
    assert_eq!(
        run("typed", r#"{"n":9007199254740993}"#)
            .value()
            .unwrap()
            .to_json(),
        r#"{"n":9007199254740993}"#,
        "D2"
    );
}

/// T37, T169: every phase sees the same arguments: one document for all that read, and an equal one for the body to own.
#[test]
fn every_phase_sees_the_same_arguments() {
    let rig = Rig::new();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = |seen: &Arc<Mutex<Vec<usize>>>, execution: &Execution| {
        seen.lock()
            .unwrap()
            .push(std::ptr::from_ref(execution.arguments().unwrap()).addr());
    };
    let saw = seen.clone();
    rig.register(tool("t", move |args, cx| {
        note(&saw, cx.execution());
        assert_eq!(Some(&args), cx.execution().arguments());
        async { Ok(Document::null()) }
    }));
    let saw = seen.clone();
    rig.global()
        .guard(move |execution: &Execution| {
            note(&saw, execution);
            None::<Denial>
        })
        .unwrap();
    let saw = seen.clone();
    rig.global()
        .on_result(move |execution, _| note(&saw, execution))
        .unwrap();
    rig.execute(Call::new(
        "c",
        "t",
        r#"{"key":[1,{"a":null}]}"#,
        Signal::never(),
    ));
    let seen = seen.lock().unwrap();
    assert!(
        seen.len() == 3 && seen.iter().all(|address| *address == seen[0]),
        "{seen:?}"
    );
}

/// T170, T238: the finalizer is the one of admission, also for a tool that is replaced or gone; an unknown name has none.
#[test]
fn the_finalizer_is_that_of_admission() {
    for replace in [false, true] {
        let rig = Rig::new();
        let finalized = |text: &'static str| {
            MockTool::new("t")
                .build_with(|builder| builder.finalize_content(move |_, _| Ok(Some(content(text)))))
                .unwrap()
                .0
        };
        let registration = Mutex::new(Some(rig.register(finalized("old"))));
        let receiver = rig.global();
        rig.global()
            .on_pre_execute(move |_, next| {
                if let Some(registration) = registration.lock().unwrap().take() {
                    registration.dispose();
                    if replace {
                        receiver.register(finalized("new")).unwrap();
                    }
                }
                async move { next.run().await }
            })
            .unwrap();
        let settled = rig.run("t");
        assert_eq!(text_of(&settled), "old");
        assert_eq!(
            code_of(&settled),
            (!replace).then_some("UNKNOWN_TOOL"),
            "T201"
        );
        let again = rig.run("t");
        assert_eq!(
            text_of(&again),
            if replace {
                "new"
            } else {
                "Error: unknown tool \"t\""
            }
        );
    }
}

/// T201: the body is that of the definition at dispatch.
#[test]
fn the_body_is_that_of_dispatch() {
    let rig = Rig::new();
    let old = Mutex::new(Some(rig.register(named("t"))));
    let receiver = rig.global();
    rig.global()
        .guard(move |_: &Execution| {
            if let Some(old) = old.lock().unwrap().take() {
                old.dispose();
                receiver
                    .register(tool("t", |_, _| async { Ok(Document::string("new")) }))
                    .unwrap();
            }
            None::<Denial>
        })
        .unwrap();
    assert_eq!(text_of(&rig.run("t")), "new");
}

/// T201, T343: arguments are judged by the definition that runs, not by the one that was visible at admission.
#[test]
fn arguments_are_judged_by_the_tool_of_dispatch() {
    let strict = || {
        Tool::new("t", "Needs a member.")
            .parameters(ParameterSpec::new().required("x", spec::integer()))
            .returns(spec::json())
            .run(|_, _| async { Ok(Document::string("ran")) })
            .unwrap()
    };
    for (old, new, expected) in [
        (
            named("t"),
            strict(),
            "Error: invalid arguments: missing required property \"x\"",
        ),
        (strict(), named("t"), "t"),
    ] {
        let rig = Rig::new();
        let change = Mutex::new(Some((rig.register(old), new)));
        let receiver = rig.global();
        rig.global()
            .guard(move |_: &Execution| {
                if let Some((old, new)) = change.lock().unwrap().take() {
                    old.dispose();
                    receiver.register(new).unwrap();
                }
                None::<Denial>
            })
            .unwrap();
        assert_eq!(text_of(&rig.run("t")), expected);
    }
}

/// A body knows by when its call has to be over, and a call that it makes has the same limit.
#[test]
fn a_deadline_reaches_nested_calls() {
    let rig = Rig::new();
    rig.register(tool("inner", |_, cx| async move {
        Ok(json(&format!("{:?}", cx.deadline_ms().unwrap_or(0))))
    }));
    rig.register(tool("outer", |_, cx| async move {
        assert_eq!(cx.deadline_ms(), Some(7));
        let nested = cx.execute(cx.call("n", "inner", "{}")).await;
        Ok(Document::string(text_of(&nested)))
    }));
    let mut call = call("outer");
    call.deadline_ms = Some(7);
    assert_eq!(text_of(&rig.execute(call)), "7");
    assert_eq!(text_of(&rig.run("inner")), "0");
}

/// T344: arguments are refused inside the body stage, so the call counts as one whose body was invoked.
#[test]
fn refused_arguments_count_as_an_invocation() {
    let rig = Rig::new();
    let strict = Tool::new("t", "Needs a member.")
        .parameters(ParameterSpec::new().required("x", spec::integer()))
        .returns(spec::json())
        .run(|_, _| async { Ok(Document::null()) })
        .unwrap();
    rig.register(strict);
    let (canceller, call) = rig.cancellable("t");
    rig.global()
        .on_execute(move |_, next| {
            let canceller = canceller.clone();
            async move {
                let attempt = next.run().await?;
                assert_eq!(code_of(attempt.outcome()), Some("INVALID_ARGS"));
                canceller.cancel(Reason::Cancelled);
                Ok(Around::success(Document::string("made up"), []))
            }
        })
        .unwrap();
    assert_eq!(code_of(&rig.execute(call)), Some("ABORTED"));
}

/// T174: policy is consulted about names that nobody has.
#[test]
fn policy_hears_of_unknown_names() {
    let rig = Rig::new();
    rig.global()
        .on_pre_execute(|execution, _| async move { Ok(PreDecision::deny(execution.name())) })
        .unwrap();
    assert_eq!(text_of(&rig.run("nope")), "Error: nope");
}

/// T175, T176, T182, T183: denials, the empty ones included.
#[test]
fn denials() {
    for reason in ["no", "", "two\nlines \"quoted\""] {
        for by_guard in [false, true] {
            let rig = Rig::new();
            let probe = rig.mock(MockTool::new("t"));
            if by_guard {
                rig.global().guard(|_: &Execution| None::<Denial>).unwrap();
                rig.global()
                    .guard(move |_: &Execution| Some(Denial::new(reason)))
                    .unwrap();
                rig.global().guard(|_: &Execution| None::<Denial>).unwrap();
            } else {
                rig.global()
                    .on_pre_execute(move |_, _| async move { Ok(PreDecision::deny(reason)) })
                    .unwrap();
                rig.global()
                    .guard(|_: &Execution| {
                        panic!("T175: no guard after a denial") as Option<Denial>
                    })
                    .unwrap();
            }
            let settled = rig.run("t");
            let error = settled.error().unwrap();
            assert_eq!((error.message.as_str(), &error.info), (reason, &None));
            assert_eq!(
                (text_of(&settled), probe.calls()),
                (format!("Error: {reason}"), 0)
            );
        }
    }
}

/// T180: no listener, however placed, gets around a guard.
#[test]
fn a_forced_allow_does_not_bypass_a_guard() {
    let rig = Rig::new();
    rig.register(named("t"));
    rig.global()
        .guard(|_: &Execution| Some(Denial::new("guarded")))
        .unwrap();
    rig.global()
        .prepend()
        .on_pre_execute(|_, _| async { Ok(PreDecision::Allow) })
        .unwrap();
    assert_eq!(text_of(&rig.run("t")), "Error: guarded");
}

/// T187, T202: whatever goes wrong inside arrives at a wrapper as a failed attempt.
#[test]
fn a_wrapper_meets_failures_as_results() {
    let rig = Rig::new();
    rig.mock(MockTool::new("fails").fails("boom"));
    rig.mock(MockTool::new("panics").panics("boom"));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let saw = seen.clone();
    rig.global()
        .on_execute(move |_, next| {
            let saw = saw.clone();
            async move {
                let attempt = next.run().await.expect("T187: next does not fail");
                saw.lock().unwrap().push(text_of(attempt.outcome()));
                Ok(attempt.into())
            }
        })
        .unwrap();
    ["fails", "panics", "nope"]
        .iter()
        .for_each(|name| drop(rig.run(name)));
    rig.execute(Call::new("c", "fails", "[]", Signal::never()));
    assert_eq!(
        *seen.lock().unwrap(),
        [
            "Error: boom",
            "Error: boom",
            "Error: unknown tool \"nope\"",
            "Error: invalid arguments: \"arguments\" must be an object",
        ]
    );
}

/// T192: a wrapper's failure is taken as it is, for unknown tools too.
#[test]
fn a_wrappers_failure_is_taken_as_it_is() {
    let rig = Rig::new();
    rig.register(tool("t", |_, cx| async move {
        cx.defer_context(context("body"));
        Ok(Document::null())
    }));
    rig.global()
        .on_execute(|_, next| async move {
            next.run().await?;
            let info = ErrorInfo {
                name: "ToolTimeoutError".into(),
                code: "TOOL_TIMEOUT".into(),
            };
            let error = FailureError {
                message: "late".into(),
                info: Some(info),
                retryable: true,
            };
            let mut failure = Failure::with_content(error, content("as authored"));
            failure.meta = Some(json("{\"m\":1}").into());
            failure.contexts = vec![context("wrapper")];
            Ok(failure.into())
        })
        .unwrap();
    for name in ["t", "nope"] {
        let settled = rig.run(name);
        assert_eq!(
            (code_of(&settled), text_of(&settled).as_str()),
            (Some("TOOL_TIMEOUT"), "as authored")
        );
        assert_eq!(settled.meta().unwrap().to_json(), "{\"m\":1}");
        let expected: &[&str] = if name == "t" {
            &["body", "wrapper"]
        } else {
            &["wrapper"]
        };
        assert_eq!(contexts_of(&settled), expected, "T208");
    }
}

/// T193, T194, T398: an attempt belongs to its execution; handed to another it is that wrapper's own work, and is rendered
/// and validated anew under the definition of then.
#[test]
fn an_attempt_belongs_to_its_execution() {
    let rig = Rig::new();
    let renders = Arc::new(AtomicUsize::new(0));
    let build = |output: spec::ValueSpec, renders: &Arc<AtomicUsize>| {
        let renders = renders.clone();
        Tool::new("t", "Counts its renderings.")
            .parameters(ParameterSpec::new())
            .returns(output)
            .render_value(move |_, value| {
                renders.fetch_add(1, Ordering::AcqRel);
                value.to_json()
            })
            .run(|_, _| async { Ok(Document::string("v")) })
            .unwrap()
    };
    let registration = rig.register(build(spec::string().into(), &renders));
    let cached = Arc::new(Mutex::new(None::<Attempt>));
    let cache = cached;
    rig.global()
        .on_execute(move |_, next| {
            let cache = cache.clone();
            async move {
                let hit = cache.lock().unwrap().clone();
                if let Some(attempt) = hit {
                    return Ok(attempt.into());
                }
                let attempt = next.run().await?;
                *cache.lock().unwrap() = Some(attempt.clone());
                Ok(attempt.into())
            }
        })
        .unwrap();
    assert_eq!(text_of(&rig.run("t")), "\"v\"");
    assert_eq!(
        renders.load(Ordering::Acquire),
        1,
        "its own passes as it is"
    );
    assert_eq!(text_of(&rig.run("t")), "\"v\"");
    assert_eq!(
        renders.load(Ordering::Acquire),
        2,
        "another's is rendered again"
    );
    registration.dispose();
    rig.register(build(spec::integer().into(), &renders));
    assert_eq!(code_of(&rig.run("t")), Some("INVALID_TOOL_OUTPUT"));
}

/// T191: of a wrapper's success only value and contexts count; T196, T222, T399: it needs the tool of then.
#[test]
fn authored_values_need_the_tool_of_then() {
    for stage in ["around", "post"] {
        for gone in [false, true] {
            let rig = Rig::new();
            let registration = Mutex::new(Some(rig.register(named("t"))));
            let take = move || {
                if gone && let Some(registration) = registration.lock().unwrap().take() {
                    registration.dispose();
                }
            };
            match stage {
                "around" => rig.global().on_execute(move |_, next| {
                    take();
                    async move {
                        drop(next);
                        Ok(Around::success(json("\"new\""), []))
                    }
                }),
                _ => rig.global().on_post_execute(move |_, _, _| {
                    take();
                    async { Ok(PostDecision::value(json("\"new\""))) }
                }),
            }
            .unwrap();
            let settled = rig.run("t");
            assert_eq!(code_of(&settled), gone.then_some("UNKNOWN_TOOL"), "{stage}");
            assert_eq!(text_of(&settled) == "new", !gone);
        }
    }
}

/// T195, T227: what a listener is shown cannot be changed through it.
#[test]
fn a_listener_keeps_a_result_without_harm() {
    let rig = Rig::new();
    rig.register(named("t"));
    let kept = Arc::new(Mutex::new(Vec::new()));
    let keep = kept.clone();
    rig.global()
        .on_post_execute(move |_, result, next| {
            keep.lock().unwrap().push(result);
            async move { Ok(next.run().await?.with_contexts([context("added")])) }
        })
        .unwrap();
    let settled = rig.run("t");
    assert_eq!(contexts_of(&settled), ["added"]);
    assert!(
        kept.lock().unwrap()[0].contexts().is_empty(),
        "T177: a listener's copy stays as it was"
    );
}

/// T216–T221, T229: what an accepting decision replaces, and what it keeps.
#[test]
fn accepting_decisions() {
    let ok = || -> Result<Document, ToolError> { Ok(Document::string("v")) };
    let fails = || -> Result<Document, ToolError> { Err(ToolError::coded("XError", "X", "boom")) };
    let run = |body: fn() -> Result<Document, ToolError>, decision: PostDecision| {
        let rig = Rig::new();
        rig.register(noting("t", &rig.trace, body));
        let decision = decision.with_contexts([context("decision")]);
        rig.global()
            .on_post_execute(move |_, _, _| {
                let decision = decision.clone();
                async move { Ok(decision) }
            })
            .unwrap();
        (rig.run("t"), rig.trace.take())
    };
    let (settled, _) = run(ok, PostDecision::content("new"));
    assert_eq!(
        (
            text_of(&settled).as_str(),
            settled.value().unwrap().to_json()
        ),
        ("new", "\"v\"".into()),
        "T217"
    );
    assert!(settled.meta().is_some());
    assert_eq!(
        contexts_of(&settled),
        ["deferred", "decision"],
        "T228, T229"
    );
    let (settled, _) = run(fails, PostDecision::content("new"));
    assert_eq!(
        (text_of(&settled).as_str(), code_of(&settled)),
        ("new", Some("X")),
        "T217: still that failure"
    );
    assert_eq!(settled.error().unwrap().message, "boom");
    let (settled, trace) = run(ok, PostDecision::value(json("\"w\"")));
    assert_eq!(
        (
            text_of(&settled).as_str(),
            settled.value().unwrap().to_json()
        ),
        ("w", "\"w\"".into()),
        "T219"
    );
    assert_eq!(
        trace,
        ["body", "render", "meta", "render", "meta", "finalize"]
    );
    assert_eq!(contexts_of(&settled), ["deferred", "decision"]);
    let (settled, _) = run(fails, PostDecision::value(json("\"w\"")));
    let expected = "tools/post-execute cannot replace the value of a failed result";
    assert_eq!(settled.error().unwrap().message, expected, "T221");
    let (settled, _) = run(fails, PostDecision::accept());
    assert_eq!(contexts_of(&settled), ["deferred", "decision"], "T209");
}

/// T224, T225, T230: what a block makes of a result.
#[test]
fn blocking_decisions() {
    let unknown = Block::from_document(&json(r#"{"type":"audio","data":"AA"}"#)).unwrap();
    for (feedback, message) in [
        (
            Content::from(vec![Block::text("a"), Block::text("b")]),
            "a\nb",
        ),
        (
            Content::from(vec![Block::text("a"), unknown.clone()]),
            "a\n[audio content]",
        ),
        (Content::from(unknown), "[audio content]"),
        (Content::new(), "tool result blocked by post-execute policy"),
        (
            Content::text(""),
            "tool result blocked by post-execute policy",
        ),
    ] {
        for body in [
            || Ok(Document::string("v")),
            || Err(ToolError::coded("XError", "X", "boom")),
        ] as [fn() -> _; 2]
        {
            let rig = Rig::new();
            rig.register(noting("t", &rig.trace, body));
            let decision =
                PostDecision::block(feedback.clone()).with_contexts([context("decision")]);
            rig.global()
                .on_post_execute(move |_, _, _| {
                    let decision = decision.clone();
                    async move { Ok(decision) }
                })
                .unwrap();
            let settled = rig.run("t");
            let error = settled.error().unwrap();
            assert_eq!((error.message.as_str(), &error.info), (message, &None));
            assert_eq!(
                settled.content(),
                &feedback,
                "the content is exactly the feedback"
            );
            assert!(settled.value().is_none() && settled.meta().is_none());
            assert_eq!(contexts_of(&settled), ["decision"], "T230");
        }
    }
}

/// T228, T231, T34: the order of contexts, each as its author made it.
#[test]
fn contexts_keep_their_order_and_their_authors() {
    let rig = Rig::new();
    rig.register(tool("t", |_, cx| async move {
        cx.defer_context(context("body 1"));
        cx.defer_context(context("body 2"));
        Ok(Document::null())
    }));
    rig.global()
        .on_execute(|_, next| async move {
            next.run().await?;
            Ok(Around::success(
                Document::null(),
                [context("wrapper"), context("wrapper")],
            ))
        })
        .unwrap();
    let post = |name: &'static str| {
        rig.global()
            .on_post_execute(move |_, _, next| async move {
                let inner = next.run().await?;
                let message = ContextMessage::plugin(name, name, content(name));
                Ok(inner.with_contexts([message]))
            })
            .unwrap()
    };
    post("outer");
    post("inner");
    let settled = rig.run("t");
    assert_eq!(
        contexts_of(&settled),
        ["body 1", "body 2", "wrapper", "wrapper", "inner", "outer"]
    );
    let inner = &settled.contexts()[4];
    assert_eq!(inner.id, "inner");
    assert_eq!(
        inner.source,
        ContextSource::Plugin {
            plugin: "inner".into(),
            form: None
        }
    );
    assert_eq!(
        serde_json::to_string(inner).unwrap(),
        r#"{"id":"inner","role":"user","content":[{"type":"text","text":"inner"}],"source":{"kind":"plugin","plugin":"inner"}}"#
    );
}

/// T233–T235: who ends the turn.
#[test]
fn concluding_the_turn() {
    let concluding = |name: &str, fails: bool| {
        tool(name, move |_, cx| async move {
            cx.conclude_turn();
            if fails {
                Err(ToolError::new("no"))
            } else {
                Ok(Document::null())
            }
        })
    };
    let run = |fails: bool, decision: Option<PostDecision>| {
        let rig = Rig::new();
        rig.register(concluding("t", fails));
        if let Some(decision) = decision {
            rig.global()
                .on_post_execute(move |_, _, _| {
                    let decision = decision.clone();
                    async move { Ok(decision) }
                })
                .unwrap();
        }
        rig.run("t").outcome().clone()
    };
    let concluded = run(false, None);
    assert!(concluded.concludes_turn());
    assert!(
        serde_json::to_string(&concluded)
            .unwrap()
            .contains("\"concludesTurn\":true")
    );
    assert!(!run(true, None).concludes_turn());
    assert!(
        run(false, Some(PostDecision::content("c"))).concludes_turn(),
        "T235"
    );
    assert!(
        run(false, Some(PostDecision::value(json("1")))).concludes_turn(),
        "T235"
    );
    assert!(
        !run(false, Some(PostDecision::block("b"))).concludes_turn(),
        "T235"
    );

    let rig = Rig::new();
    rig.register(concluding("inner", false));
    rig.register(tool("silent", |_, cx| async move {
        assert!(
            cx.execute(cx.call("n", "inner", "{}"))
                .await
                .concludes_turn()
        );
        Ok(Document::null())
    }));
    let settled = rig.run("silent");
    assert!(
        !settled.concludes_turn(),
        "T234: it does not propagate by itself"
    );
    assert!(
        !serde_json::to_string(settled.outcome())
            .unwrap()
            .contains("concludesTurn")
    );
}

/// T239, T240, T243: the finalizer may replace the content, and nothing else.
#[test]
fn a_finalizer_replaces_content_only() {
    let rig = Rig::new();
    let (tool, _) = MockTool::new("t")
        .returns("\"v\"")
        .build_with(|builder| {
            builder
                .presentation_meta_value(|_, _| Ok(1))
                .finalize_content(|execution, outcome| {
                    assert_eq!(execution.arguments().is_some(), !outcome.is_error());
                    Ok(Some(Content::text(format!(
                        "F:{}",
                        outcome.content().summary()
                    ))))
                })
        })
        .unwrap();
    rig.register(tool);
    let settled = rig.run("t");
    assert_eq!(
        (
            text_of(&settled).as_str(),
            settled.value().unwrap().to_json()
        ),
        ("F:v", "\"v\"".to_owned())
    );
    assert!(settled.meta().is_some());
    let settled = rig.execute(Call::new("c", "t", "{\"a\":-0}", Signal::never()));
    assert!(
        text_of(&settled).starts_with("F:Error: "),
        "T241: with absent arguments"
    );
    assert!(!settled.error().unwrap().message.starts_with("F:"));
}

/// T249: observers see the outcome after every override.
#[test]
fn observers_see_the_last_word() {
    let rig = Rig::new();
    rig.register(named("t"));
    rig.global()
        .on_execute(|_, _| async { Ok(Failure::new("substituted").into()) })
        .unwrap();
    let trace = rig.trace.clone();
    rig.global()
        .on_result(move |_, outcome| trace.note(text_of(outcome)))
        .unwrap();
    rig.run("t");
    assert_eq!(rig.trace.take(), ["Error: substituted"]);
}

/// T14, T207, T250–T253, T11: a nested call is a call like any other, except that it makes no card data.
#[test]
fn a_nested_call_passes_everything() {
    let rig = Rig::new();
    let agent = Scope::new("agent");
    rig.register(noting("inner", &rig.trace, || Ok(Document::string("v"))));
    rig.register(tool("outer", |_, cx| async move {
        let mut call = cx.call(cx.execution().id().sub_call(1), "inner", "{}");
        assert_eq!(
            (call.parent, call.agent.as_ref()),
            (Some(cx.token()), cx.execution().agent())
        );
        call.attempt = 3;
        let nested = cx.execute(call).await;
        assert!(nested.meta().is_none(), "T251");
        assert_eq!(
            contexts_of(&nested),
            ["deferred"],
            "T253: they come back to whoever called"
        );
        nested
            .contexts()
            .iter()
            .for_each(|context| cx.defer_context(context.clone()));
        Err(ToolError::new("outer fails later"))
    }));
    let guarded = Arc::new(Mutex::new(Vec::new()));
    let saw = guarded.clone();
    rig.global()
        .guard(move |execution: &Execution| {
            let mut saw = saw.lock().unwrap();
            saw.push((
                execution.id().to_string(),
                execution.root_id().to_string(),
                execution.parent(),
                execution.token(),
            ));
            None::<Denial>
        })
        .unwrap();
    let settled = rig.execute(call("outer").agent(&agent));
    assert_eq!(
        contexts_of(&settled),
        ["deferred"],
        "T253: though the outer body fails"
    );
    let guarded = guarded.lock().unwrap();
    assert_eq!((guarded[0].0.as_str(), guarded[0].2), ("c1", None));
    assert_eq!(
        (guarded[1].0.as_str(), guarded[1].1.as_str()),
        ("c1:code:1", "c1"),
        "T11"
    );
    assert_eq!(guarded[1].2, Some(guarded[0].3), "T14");
    assert_eq!(rig.trace.take(), ["body", "render", "finalize"]);
    assert_eq!(rig.invariants.executions(), 2, "T250");
}

/// A guard that denies the tool of a nested call denies it, though it allowed the call around it (invariant 9).
#[test]
fn allowing_a_program_does_not_allow_its_calls() {
    let rig = Rig::new();
    let inner = rig.mock(MockTool::new("inner"));
    rig.register(tool("outer", |_, cx| async move {
        let nested = cx.execute(cx.call("n", "inner", "{}")).await;
        Ok(Document::string(nested.error().unwrap().message.as_str()))
    }));
    rig.global()
        .guard(|e: &Execution| (e.name() == "inner").then(|| Denial::new("not this")))
        .unwrap();
    assert_eq!(
        (text_of(&rig.run("outer")).as_str(), inner.calls()),
        ("not this", 0)
    );
}

/// T392, T393, T396, T394, T395: what the output contract makes of values, renderings and card data.
#[test]
fn the_output_contract() {
    for value in [
        "null",
        "true",
        "0.5",
        "\"s\"",
        "[1,[2]]",
        "{\"a\":{\"b\":[]}}",
    ] {
        let rig = Rig::new();
        let document = json(value);
        rig.register(tool("t", move |_, _| {
            let document = document.clone();
            async move { Ok(document) }
        }));
        let settled = rig.run("t");
        assert_eq!(settled.value().unwrap().to_json(), value, "T396");
        let expected = if value == "\"s\"" { "s" } else { value };
        assert_eq!(text_of(&settled), expected, "the default rendering");
        assert!(
            settled.meta().is_none()
                && !serde_json::to_string(settled.outcome())
                    .unwrap()
                    .contains("meta")
        );
    }
    let rig = Rig::new();
    let (tool, _) = MockTool::new("t")
        .build_with(|builder| {
            builder
                .render_value(|_, _| Vec::<Block>::new())
                .presentation_meta_value(|_, _| Ok(()))
        })
        .unwrap();
    rig.register(tool);
    let settled = rig.run("t");
    assert!(settled.content().is_empty(), "T394");
    assert_eq!(settled.meta(), Some(&Document::null()), "T395");
    let text = serde_json::to_string(settled.outcome()).unwrap();
    assert!(text.contains("\"meta\":null"), "{text}");
    assert_eq!(
        serde_json::from_str::<Outcome>(&text).unwrap().meta(),
        Some(&Document::null())
    );

    let failing: [(&str, Tool); 3] = [
        (
            "output.render failed: no",
            MockTool::new("t")
                .build_with(|b| b.render_value(|_, _| Err::<Content, _>(ToolError::new("no"))))
                .unwrap()
                .0,
        ),
        (
            "output.presentationMeta failed: no",
            MockTool::new("t")
                .build_with(|b| {
                    b.presentation_meta_value(|_, _| Err::<(), _>(ToolError::new("no")))
                })
                .unwrap()
                .0,
        ),
        (
            "output.presentationMeta returned non-lossless JSON",
            MockTool::new("t")
                .build_with(|b| b.presentation_meta_value(|_, _| Ok(f64::NAN)))
                .unwrap()
                .0,
        ),
    ];
    for (violation, tool) in failing {
        let rig = Rig::new();
        rig.register(tool);
        let settled = rig.run("t");
        let expected = format!("tool \"t\" returned invalid output: {violation}");
        assert_eq!(
            (settled.error().unwrap().message.as_str(), code_of(&settled)),
            (&*expected, Some("INVALID_TOOL_OUTPUT"))
        );
        assert!(settled.value().is_none(), "T393");
    }
}

/// T205, T453: the message of an error is its own; its sources are for logs.
#[test]
fn messages_are_the_outermost() {
    let rig = Rig::new();
    rig.register(tool("t", |_, _| async {
        let cause = "x".parse::<u32>().unwrap_err();
        Err(ToolError::coded("XError", "X", "could not count").with_source(cause))
    }));
    rig.register(tool("u", |_, _| async {
        let number: u32 = "x".parse()?;
        Ok(Document::string(number.to_string()))
    }));
    let settled = rig.run("t");
    assert_eq!(
        (text_of(&settled).as_str(), code_of(&settled)),
        ("Error: could not count", Some("X"))
    );
    let settled = rig.run("u");
    assert_eq!(
        (text_of(&settled).as_str(), code_of(&settled)),
        ("Error: invalid digit found in string", None)
    );
}

/// T18–T20, T437, T438: the serialised forms, key by key.
#[test]
fn the_serialised_forms() {
    let rig = Rig::new();
    rig.register(named("t"));
    let text = |settled: &Settled| serde_json::to_string(settled.outcome()).unwrap();
    assert_eq!(
        text(&rig.run("t")),
        r#"{"isError":false,"value":"t","content":[{"type":"text","text":"t"}]}"#
    );
    assert_eq!(
        text(&rig.run("nope")),
        r#"{"isError":true,"error":{"message":"unknown tool \"nope\"","info":{"name":"ToolNotFoundError","code":"UNKNOWN_TOOL"}},"content":[{"type":"text","text":"Error: unknown tool \"nope\""}]}"#
    );
    rig.global()
        .guard(|_: &Execution| Some(Denial::new("no")))
        .unwrap();
    assert_eq!(
        text(&rig.run("t")),
        r#"{"isError":true,"error":{"message":"no"},"content":[{"type":"text","text":"Error: no"}]}"#
    );
}

/// T255–T258: the stages that a lane runs compose to what `execute` does.
#[test]
fn the_stages_compose_to_execute() {
    let setups: [Break; 5] = [
        |_| {},
        |rig| rig::yield_in_every_stage(&rig.global()).unwrap(),
        |rig| {
            _ = rig
                .global()
                .guard(|_: &Execution| Some(Denial::new("no")))
                .unwrap()
        },
        |rig| {
            _ = rig
                .global()
                .on_execute(|_, _| async { Err(ToolError::new("wrapper")) })
                .unwrap()
        },
        |rig| {
            _ = rig
                .global()
                .on_post_execute(|_, _, _| async { Ok(PostDecision::block("b")) })
                .unwrap()
        },
    ];
    for (index, setup) in setups.into_iter().enumerate() {
        let both = [false, true].map(|in_lane| {
            let rig = Rig::new();
            rig.register(noting("t", &rig.trace, || Ok(Document::string("v"))));
            note_stages(&rig.global(), &rig.trace, "");
            setup(&rig);
            let calls = [
                ("t", "{}"),
                ("t", "[]"),
                ("t", "{\"a\":-0}"),
                ("nope", "{}"),
            ];
            let calls =
                calls.map(|(name, arguments)| Call::new("c1", name, arguments, Signal::never()));
            let outcomes: Vec<_> = if in_lane {
                let lane =
                    rig.tools
                        .execute_batch(calls.into(), LaneConfig::new(Signal::never()), ());
                block_on(lane).unwrap()
            } else {
                calls.into_iter().map(|call| rig.execute(call)).collect()
            };
            (
                outcomes
                    .iter()
                    .map(|settled| settled.outcome().clone())
                    .collect::<Vec<_>>(),
                rig.trace.take(),
            )
        });
        assert_eq!(both[0], both[1], "{index}");
    }
}

/// T6, T285: the registry stores a tool's timeout and does not enforce it.
#[test]
fn a_timeout_is_only_stored() {
    let rig = Rig::new();
    let (tool, _) = MockTool::new("t")
        .yields(50)
        .returns("\"done\"")
        .build_with(|builder| builder.timeout(std::time::Duration::from_nanos(1)))
        .unwrap();
    rig.register(tool);
    let mut future = Driven::new(rig.tools.execute(call("t")));
    assert_eq!(text_of(&future.until_stalled().unwrap()), "done");
}

/// D44: what a tool declares of itself.
#[test]
fn declarations() {
    let declared = |declare: fn(rig_builder::Builder) -> rig_builder::Builder| {
        MockTool::new("t").build_with(declare).unwrap().0
    };
    let plain = declared(|builder| builder);
    assert_eq!(
        (
            plain.effect(),
            plain.is_destructive(),
            plain.is_open_world()
        ),
        (Effect::Once, true, false)
    );
    let reads = declared(|builder| builder.read_only().destructive(true));
    assert_eq!(
        (reads.effect(), reads.is_destructive()),
        (Effect::ReadOnly, false),
        "what only reads destroys nothing"
    );
    let careful = declared(|builder| {
        builder
            .idempotent()
            .destructive(false)
            .open_world()
            .owns_deadline()
    });
    assert_eq!(
        (
            careful.effect(),
            careful.is_destructive(),
            careful.is_open_world()
        ),
        (Effect::Idempotent, false, true)
    );
    assert!(careful.owns_deadline() && !plain.owns_deadline());
}

mod rig_builder {
    pub(super) type Builder = dsh_tools::ToolBuilder<dsh_schema::Document, dsh_schema::Document>;
}
