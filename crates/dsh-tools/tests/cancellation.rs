//! The cancellation contract: chapter 6 (T283–T306), and what becomes of a call whose future is dropped (D5, T292).

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod rig;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use dsh_schema::Document;
use dsh_testkit::{Driven, Gate, MemoryJournal, MockTool, block_on, yield_once};
use dsh_tools::{
    Around, Call, Denial, Execution, Failure, Outcome, PostDecision, PreDecision, Reason, Signal,
    ToolError, ToolsConfig,
};
use rig::{
    Rig, call, code_of, content, context, contexts_of, json, named, text_of, tool,
    yield_in_every_stage,
};

/// One way to set a runtime up for the drop test.
type Setup = fn(&Rig);

fn plain(_: &Rig) {}

fn post_only(rig: &Rig) {
    rig.global()
        .on_post_execute(|_, _, next| async move {
            yield_once().await;
            next.run().await
        })
        .unwrap();
}

fn every_stage(rig: &Rig) {
    yield_in_every_stage(&rig.global()).unwrap();
}

fn two_of_each(rig: &Rig) {
    every_stage(rig);
    every_stage(rig);
}

fn retrying(rig: &Rig) {
    every_stage(rig);
    rig.global()
        .on_execute(|_, next| async move {
            next.run().await?;
            yield_once().await;
            Ok(next.run().await?.into())
        })
        .unwrap();
}

/// Polls a call `polls` times and drops it. Returns `false` when the call was over before.
fn drop_after(polls: usize, config: ToolsConfig, setup: Setup, body: MockTool) -> bool {
    let rig = Rig::configured(config);
    setup(&rig);
    let probe = rig.mock(body);
    let sibling = rig.mock(
        MockTool::new("sibling")
            .yields(polls + 3)
            .returns("\"fine\""),
    );
    let reason = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = reason.clone();
    rig.global()
        .on_result(move |execution, outcome| {
            let invoked = execution.is_invoked();
            let code = outcome.code().map(str::to_owned);
            seen.lock().unwrap().push((
                execution.name().to_owned(),
                execution.cancel_reason(),
                invoked,
                code,
            ));
        })
        .unwrap();

    // Both follow the caller's one signal, which nobody fires.
    let (_canceller, signal) = Signal::pair();
    let mut other = Driven::new(
        rig.tools
            .execute(Call::new("s", "sibling", "{}", signal.clone())),
    );
    assert!(other.poll().is_none());
    let mut victim = Driven::new(
        rig.tools
            .execute(Call::new("v", "victim", "{}", signal.clone())),
    );
    for _ in 0..polls {
        if victim.poll().is_some() {
            return false;
        }
    }
    drop(victim);
    rig.spawner.run_until_stalled();

    let settled = other.until_stalled().expect("a sibling goes on");
    assert_eq!(
        text_of(&settled),
        "fine",
        "polls {polls}: the sibling is not cancelled"
    );
    assert!(
        !signal.is_cancelled(),
        "polls {polls}: the caller's signal is the caller's"
    );
    assert!(sibling.finished() > 0 && sibling.finished() == sibling.calls());

    let seen = reason.lock().unwrap();
    let victims: Vec<_> = seen.iter().filter(|(name, ..)| name == "victim").collect();
    // A future that was never polled is no call yet.
    assert_eq!(
        victims.len(),
        usize::from(polls > 0),
        "polls {polls}: observed exactly once"
    );
    for (_, reason, invoked, code) in victims {
        assert_eq!(*reason, Some(Reason::Dropped), "polls {polls}");
        let expected = if *invoked {
            "ABORTED"
        } else {
            "ABORTED_BEFORE_DISPATCH"
        };
        assert_eq!(code.as_deref(), Some(expected), "polls {polls}");
        assert_eq!(*invoked, probe.calls() > 0);
    }
    assert_eq!(
        probe.lost(),
        0,
        "polls {polls}: a started body runs to its end"
    );
    assert_eq!(probe.finished(), probe.calls());
    rig.invariants.check();
    assert_eq!(
        rig.spawner.pending(),
        0,
        "polls {polls}: nothing is left behind"
    );
    assert!(
        Driven::new(rig.tools.close()).until_stalled().is_some(),
        "polls {polls}: close returns"
    );
    true
}

#[track_caller]
fn drop_everywhere(journal: bool, setup: Setup, body: MockTool) -> usize {
    (0..)
        .take_while(|polls| {
            let mut config = ToolsConfig::default();
            if journal {
                config.journal = Some(Arc::new(MemoryJournal::new()));
            }
            drop_after(*polls, config, setup, body.clone())
        })
        .count()
}

/// D5, T292, T153, T154: wherever a call is dropped, it has one outcome, its body ends, and nobody else notices.
#[test]
fn a_call_dropped_at_any_await_point_is_drained() {
    let body = MockTool::new("victim").yields(2);
    for (setup, points) in [
        (plain as Setup, 3),
        (post_only, 4),
        (every_stage, 9),
        (two_of_each, 15),
    ] {
        assert_eq!(
            drop_everywhere(false, setup, body.clone()),
            points,
            "await points"
        );
    }
    assert!(drop_everywhere(true, every_stage, body.clone()) >= 9);
    assert!(drop_everywhere(true, plain, body.clone()) >= 3);
    assert!(drop_everywhere(false, retrying, body) >= 9);
}

/// D5: a body that only ends when it is cancelled ends, since the drop cancels it.
#[test]
fn a_dropped_call_wakes_a_body_that_waits_for_its_signal() {
    for setup in [plain as Setup, every_stage] {
        let rig = Rig::new();
        setup(&rig);
        let probe = rig.mock(MockTool::new("t").waits_for_signal());
        let mut future = Driven::new(rig.tools.execute(call("t")));
        assert!(future.until_stalled().is_none());
        assert_eq!(probe.running(), 1);
        drop(future);
        let mut close = Driven::new(rig.tools.close());
        assert!(
            close.until_stalled().is_none(),
            "close waits for the dropped call"
        );
        rig.spawner.run_until_stalled();
        assert!(close.until_stalled().is_some());
        assert_eq!((probe.finished(), probe.lost()), (1, 0));
        rig.invariants.check();
    }
}

/// T303: a dropped body that ignores its signal keeps `close` waiting until it ends by itself.
#[test]
fn close_waits_for_an_uncooperative_body() {
    let (rig, gate) = (Rig::new(), Gate::new());
    let probe = rig.mock(MockTool::new("t").passes(&gate));
    let mut future = Driven::new(rig.tools.execute(call("t")));
    assert!(future.until_stalled().is_none());
    drop(future);
    rig.spawner.run_until_stalled();
    let mut close = Driven::new(rig.tools.close());
    assert!(close.until_stalled().is_none());
    assert_eq!(rig.invariants.executions(), 0);
    gate.open();
    rig.spawner.run_until_stalled();
    assert!(close.until_stalled().is_some());
    assert_eq!((probe.finished(), rig.invariants.executions()), (1, 1));
}

/// A call after `close` is answered, and no body runs.
#[test]
fn a_closed_runtime_aborts_calls() {
    let rig = Rig::new();
    let probe = rig.mock(MockTool::new("t"));
    block_on(rig.tools.close());
    assert_eq!(code_of(&rig.run("t")), Some("ABORTED_BEFORE_DISPATCH"));
    assert_eq!((probe.calls(), rig.invariants.executions()), (0, 1));
}

/// D5, T306: the tasks of a dropped body are awaited like the body.
#[test]
fn tasks_of_a_dropped_body_are_awaited() {
    for setup in [plain as Setup, every_stage] {
        let (rig, gate) = (Rig::new(), Gate::new());
        setup(&rig);
        let (door, ended) = (gate.clone(), Arc::new(AtomicBool::new(false)));
        let end = ended.clone();
        rig.register(tool("t", move |_, cx| {
            let (door, end) = (door.clone(), end.clone());
            async move {
                cx.spawn(async move {
                    door.pass().await;
                    end.store(true, Ordering::Release);
                    Ok(())
                });
                Ok(Document::null())
            }
        }));
        let mut future = Driven::new(rig.tools.execute(call("t")));
        assert!(
            future.until_stalled().is_none(),
            "the call is not over before its task"
        );
        drop(future);
        rig.spawner.run_until_stalled();
        assert_eq!(rig.invariants.executions(), 0);
        gate.open();
        rig.spawner.run_until_stalled();
        assert!(ended.load(Ordering::Acquire));
        assert_eq!(rig.invariants.executions(), 1);
        assert!(Driven::new(rig.tools.close()).until_stalled().is_some());
    }
}

/// T306: a task's value, its failure and its panic come back through its handle.
#[test]
fn tasks_hand_back_what_came_of_them() {
    let rig = Rig::new();
    rig.register(tool("t", |_, cx| async move {
        let value = cx.spawn(async { Ok(7) });
        let failure = cx.spawn(async { Err::<(), _>(ToolError::new("no")) });
        let panic = cx.spawn(async {
            yield_once().await;
            if true {
                panic!("boom");
            }
            Ok(())
        });
        assert_eq!(value.join().await?, 7);
        assert_eq!(failure.join().await.unwrap_err().message(), "no");
        let error = panic.join().await.unwrap_err();
        assert!(error.is_panic());
        Ok(Document::string(error.message()))
    }));
    let mut future = Driven::new(rig.tools.execute(call("t")));
    assert!(future.until_stalled().is_none());
    rig.spawner.run_until_stalled();
    assert_eq!(text_of(&future.until_stalled().unwrap()), "boom");
}

/// A nested call that its body drops is drained on its own, and the outer call goes on (T207, D5).
#[test]
fn a_nested_call_dropped_by_its_body_is_drained() {
    let (rig, gate) = (Rig::new(), Gate::new());
    let inner = rig.mock(MockTool::new("inner").passes(&gate));
    rig.register(tool("outer", |_, cx| async move {
        let mut nested = Box::pin(cx.execute(cx.call("n", "inner", "{}")));
        std::future::poll_fn(|task| {
            assert!(nested.as_mut().poll(task).is_pending());
            std::task::Poll::Ready(())
        })
        .await;
        drop(nested);
        Ok(Document::string("done"))
    }));
    assert_eq!(text_of(&rig.run("outer")), "done");
    gate.open();
    rig.spawner.run_until_stalled();
    assert_eq!(
        (inner.finished(), inner.lost(), rig.invariants.executions()),
        (1, 0, 2)
    );
    rig.invariants.check();
}

/// T283: the two codes, their names and their texts.
#[test]
fn the_two_abort_codes() {
    let rig = Rig::new();
    rig.mock(MockTool::new("t").waits_for_signal());
    for (before, expected) in [
        (
            true,
            (
                "ABORTED_BEFORE_DISPATCH",
                "tool call aborted before dispatch",
            ),
        ),
        (false, ("ABORTED", "tool call aborted")),
    ] {
        let (canceller, call) = rig.cancellable("t");
        if before {
            canceller.cancel(Reason::Cancelled);
        }
        let mut future = Driven::new(rig.tools.execute(call));
        let first = future.until_stalled();
        canceller.cancel(Reason::Cancelled);
        let settled = first.unwrap_or_else(|| future.until_stalled().unwrap());
        let error = settled.error().unwrap();
        let info = error.info.as_ref().unwrap();
        assert_eq!(
            (&*info.name, &*info.code, &*error.message),
            ("AbortError", expected.0, expected.1)
        );
        assert_eq!(text_of(&settled), format!("Error: {}", expected.1));
    }
}

/// T302: the precedence at the door: arguments, then cancellation, then the unknown name.
#[test]
fn precedence_at_the_door() {
    let rig = Rig::new();
    rig.mock(MockTool::new("t"));
    let cancelled = || {
        let (canceller, signal) = Signal::pair();
        canceller.cancel(Reason::Cancelled);
        signal
    };
    let lossy = rig.execute(Call::new("c", "t", "{\"a\":-0}", cancelled()));
    assert_eq!(
        text_of(&lossy),
        "Error: tool execution arguments must be losslessly JSON-serializable",
        "T173"
    );
    let unknown = rig.execute(Call::new("c", "nope", "{}", cancelled()));
    assert_eq!(code_of(&unknown), Some("ABORTED_BEFORE_DISPATCH"), "T200");
    let invalid = rig.execute(Call::new("c", "t", "[]", cancelled()));
    assert_eq!(code_of(&invalid), Some("ABORTED_BEFORE_DISPATCH"));
}

/// T200: inside the body's stage the fused signal is looked at before the tool is looked up.
#[test]
fn cancellation_precedes_the_lookup() {
    let rig = Rig::new();
    let (canceller, call) = rig.cancellable("nope");
    rig.global()
        .on_execute(move |_, next| {
            canceller.cancel(Reason::Cancelled);
            async move { Ok(next.run().await?.into()) }
        })
        .unwrap();
    assert_eq!(code_of(&rig.execute(call)), Some("ABORTED_BEFORE_DISPATCH"));
}

/// T286, T287, T290: without a replacement the body's signal follows the caller's; with one it follows both, and firing
/// the caller's does not fire the wrapper's. Outside of the wrapper the caller's is in place.
#[test]
fn signals_are_fused_for_the_body_only() {
    let rig = Rig::new();
    let (canceller, call) = rig.cancellable("t");
    let (own_canceller, own) = Signal::pair();
    let wrapper = own.clone();
    rig.global()
        .on_execute(move |_, next| {
            let wrapper = wrapper.clone();
            async move {
                let attempt = next.run_with(wrapper.clone()).await?;
                assert!(
                    !wrapper.is_cancelled(),
                    "the caller's signal does not fire the wrapper's"
                );
                assert!(
                    !next.signal().same_source(&wrapper),
                    "the replacement is for the inner chain only (T189)"
                );
                Ok(attempt.into())
            }
        })
        .unwrap();
    let caller = call.signal.clone();
    rig.global()
        .on_post_execute(move |execution, _, next| {
            assert!(execution.caller_signal().same_source(&caller));
            async move { next.run().await }
        })
        .unwrap();
    let fired = canceller;
    rig.register(tool("t", move |_, cx| {
        let (fired, own) = (fired.clone(), own.clone());
        async move {
            assert!(!cx.signal().same_source(&own));
            assert!(!cx.signal().is_cancelled());
            fired.cancel(Reason::Other {
                message: "caller".into(),
            });
            assert_eq!(
                cx.signal().cancelled().await,
                Reason::Other {
                    message: "caller".into()
                }
            );
            Ok(Document::null())
        }
    }));
    assert_eq!(code_of(&rig.execute(call)), Some("ABORTED"));
    drop(own_canceller);
}

/// T288: the fused signal has the reason of the source that fired; of two, the wrapper's.
#[test]
fn the_wrappers_reason_counts_first() {
    let rig = Rig::new();
    let seen = Arc::new(std::sync::Mutex::new(None));
    let saw = seen.clone();
    rig.register(tool("t", move |_, cx| {
        let saw = saw.clone();
        async move {
            let reason = cx.signal().cancelled().await;
            *saw.lock().unwrap() = Some(reason.to_string());
            Ok(Document::null())
        }
    }));
    for (wrapper_fires, expected) in [(true, "mine"), (false, "cancelled")] {
        let (canceller, call) = rig.cancellable("t");
        let registration = rig
            .global()
            .on_execute(move |_, next| {
                let canceller = canceller.clone();
                async move {
                    let (own, signal) = Signal::pair();
                    let fire = async {
                        yield_once().await;
                        canceller.cancel(Reason::Cancelled);
                        if wrapper_fires {
                            own.cancel(Reason::Other {
                                message: "mine".into(),
                            });
                        }
                    };
                    let (attempt, ()) =
                        futures_util::future::join(next.run_with(signal), fire).await;
                    Ok(attempt?.into())
                }
            })
            .unwrap();
        rig.execute(call);
        assert_eq!(seen.lock().unwrap().take().as_deref(), Some(expected));
        registration.dispose();
    }
}

/// T293 (f) and the end: cancelled in post-execute it counts, in the finalizer or an observer it does not.
#[test]
fn nothing_is_checked_after_post_execute() {
    let rig = Rig::new();
    let canceller = Arc::new(std::sync::Mutex::new(None::<dsh_tools::Canceller>));
    let fire = canceller.clone();
    let (tool, _) = MockTool::new("t")
        .returns("\"v\"")
        .build_with(|builder| {
            builder.finalize_content(move |_, _| {
                fire.lock()
                    .unwrap()
                    .as_ref()
                    .unwrap()
                    .cancel(Reason::Cancelled);
                Ok(None)
            })
        })
        .unwrap();
    rig.register(tool);
    let (handle, call) = rig.cancellable("t");
    *canceller.lock().unwrap() = Some(handle);
    let settled = rig.execute(call);
    assert_eq!(text_of(&settled), "v");
    assert!(settled.execution().is_cancelled());
}

/// T297: a wrapper's own success after a cancellation is none, and its contexts are kept. T298, T299: neither is a
/// finished body's while a wrapper or post-execute is at work.
#[test]
fn a_success_is_replaced_wherever_the_caller_cancels() {
    for (stage, code, contexts) in [
        ("around", "ABORTED_BEFORE_DISPATCH", vec!["wrapper"]),
        ("around-after", "ABORTED", vec!["body"]),
        ("post", "ABORTED", vec!["body", "decision"]),
    ] {
        let rig = Rig::new();
        let (canceller, call) = rig.cancellable("t");
        rig.register(tool("t", |_, cx| async move {
            cx.defer_context(context("body"));
            Ok(Document::null())
        }));
        match stage {
            "post" => rig.global().on_post_execute(move |_, _, _| {
                canceller.cancel(Reason::Cancelled);
                async move { Ok(PostDecision::accept().with_contexts([context("decision")])) }
            }),
            _ => rig.global().on_execute(move |_, next| {
                let (canceller, after) = (canceller.clone(), stage == "around-after");
                async move {
                    if after {
                        let attempt = next.run().await?;
                        canceller.cancel(Reason::Cancelled);
                        return Ok(attempt.into());
                    }
                    canceller.cancel(Reason::Cancelled);
                    Ok(Around::success(json("1"), [context("wrapper")]))
                }
            }),
        }
        .unwrap();
        let settled = rig.execute(call);
        assert_eq!(
            (code_of(&settled), contexts_of(&settled)),
            (
                Some(code),
                contexts.iter().map(ToString::to_string).collect()
            ),
            "{stage}"
        );
        assert!(settled.value().is_none() && settled.meta().is_none() && !settled.concludes_turn());
    }
}

/// T301: cancellation replaces successes only; each of these stays what it is though the caller cancelled first.
#[test]
fn failures_survive_a_cancellation() {
    let cases: [(&str, &str); 9] = [
        ("pre-deny", "Error: denied"),
        ("guard-deny", "Error: guarded"),
        ("pre-fails", "Error: pre"),
        ("guard-fails", "Error: guard"),
        ("wrapper-fails", "Error: wrapper"),
        ("wrapper-failure", "Error: authored"),
        ("body-fails", "Error: body"),
        ("post-fails", "Error: post"),
        ("post-blocks", "blocked"),
    ];
    for (case, expected) in cases {
        let rig = Rig::new();
        let (canceller, call) = rig.cancellable("t");
        // The listener of the case cancels, and then does what it is there for.
        let at = move |here: &str| {
            let hit = here == case;
            if hit {
                canceller.cancel(Reason::Cancelled);
            }
            hit
        };
        let (pre, guard, around, body, post) = (at.clone(), at.clone(), at.clone(), at.clone(), at);
        rig.register(tool("t", move |_, _| {
            let fails = body("body-fails");
            async move {
                if fails {
                    Err(ToolError::new("body"))
                } else {
                    Ok(Document::null())
                }
            }
        }));
        rig.global()
            .on_pre_execute(move |_, next| {
                let (deny, fail) = (pre("pre-deny"), pre("pre-fails"));
                async move {
                    if fail {
                        return Err(ToolError::new("pre"));
                    }
                    if deny {
                        Ok(PreDecision::deny("denied"))
                    } else {
                        next.run().await
                    }
                }
            })
            .unwrap();
        rig.global()
            .guard(move |_: &Execution| -> Result<Option<Denial>, ToolError> {
                if guard("guard-fails") {
                    return Err(ToolError::new("guard"));
                }
                Ok(guard("guard-deny").then(|| Denial::new("guarded")))
            })
            .unwrap();
        rig.global()
            .on_execute(move |_, next| {
                let (fails, authors) = (around("wrapper-fails"), around("wrapper-failure"));
                async move {
                    if fails {
                        return Err(ToolError::new("wrapper"));
                    }
                    if authors {
                        Ok(Failure::new("authored").into())
                    } else {
                        Ok(next.run().await?.into())
                    }
                }
            })
            .unwrap();
        rig.global()
            .on_post_execute(move |_, _, next| {
                let (fails, blocks) = (post("post-fails"), post("post-blocks"));
                async move {
                    if fails {
                        return Err(ToolError::new("post"));
                    }
                    if blocks {
                        Ok(PostDecision::block(content("blocked")))
                    } else {
                        next.run().await
                    }
                }
            })
            .unwrap();
        let settled = rig.execute(call);
        assert!(settled.execution().is_cancelled());
        assert_eq!(text_of(&settled), expected, "{case}");
    }
}

/// T300, T221: a cancellation that has become a failure is an ordinary failure for post-execute.
#[test]
fn an_aborted_result_has_no_value_to_replace() {
    let rig = Rig::new();
    let (canceller, call) = rig.cancellable("t");
    rig.register(tool("t", move |_, _| {
        canceller.cancel(Reason::Cancelled);
        async move { Ok(Document::null()) }
    }));
    rig.global()
        .on_post_execute(|_, _, _| async move { Ok(PostDecision::value(json("1"))) })
        .unwrap();
    assert_eq!(
        text_of(&rig.execute(call)),
        "Error: tools/post-execute cannot replace the value of a failed result"
    );
}

/// T303, T164: the pipeline waits for listeners, approval, wrappers and bodies however long they take.
#[test]
fn nobody_is_raced_against_the_signal() {
    for stage in 0..4 {
        let (rig, gate) = (Rig::new(), Gate::new());
        let (canceller, call) = rig.cancellable("t");
        let hold = move |at: usize, gate: &Gate| {
            let gate = gate.clone();
            async move {
                if at == stage {
                    gate.pass().await;
                }
            }
        };
        let door = gate.clone();
        rig.register(tool("t", move |_, _| {
            let held = hold(0, &door);
            async move {
                held.await;
                Ok(Document::null())
            }
        }));
        let door = gate.clone();
        rig.global()
            .on_pre_execute(move |_, next| {
                let held = hold(1, &door);
                async move {
                    held.await;
                    next.run().await
                }
            })
            .unwrap();
        let door = gate.clone();
        rig.global()
            .on_execute(move |_, next| {
                let held = hold(2, &door);
                async move {
                    held.await;
                    Ok(next.run().await?.into())
                }
            })
            .unwrap();
        let door = gate.clone();
        rig.global()
            .on_post_execute(move |_, _, next| {
                let held = hold(3, &door);
                async move {
                    held.await;
                    next.run().await
                }
            })
            .unwrap();
        let mut future = Driven::new(rig.tools.execute(call));
        assert!(future.until_stalled().is_none());
        canceller.cancel(Reason::Cancelled);
        assert!(future.until_stalled().is_none(), "stage {stage} is awaited");
        gate.open();
        let code = if matches!(stage, 1 | 2) {
            "ABORTED_BEFORE_DISPATCH"
        } else {
            "ABORTED"
        };
        assert_eq!(code_of(&future.until_stalled().unwrap()), Some(code));
    }
}

/// T203: a body that ran once marks the call for good: a wrapper that runs the chain again into a fired signal reports
/// `ABORTED`.
#[test]
fn a_second_run_keeps_the_mark_of_the_first() {
    let rig = Rig::new();
    let probe = rig.mock(MockTool::new("t"));
    rig.global()
        .on_execute(|_, next| async move {
            next.run().await?;
            let (canceller, signal) = Signal::pair();
            canceller.cancel(Reason::Cancelled);
            Ok(next.run_with(signal).await?.into())
        })
        .unwrap();
    assert_eq!(code_of(&rig.run("t")), Some("ABORTED"));
    assert_eq!(probe.calls(), 1);
}

/// T448: a waiter is woken by either source, without a task in between, and unregisters when dropped.
#[test]
fn a_signal_wakes_its_waiters_directly() {
    let (first, a) = Signal::pair();
    let (_second, b) = Signal::pair();
    let (_own, both) = Signal::following(&[a.clone(), b]);
    let mut waiter = Driven::new(both.cancelled());
    assert!(waiter.until_stalled().is_none());
    let given_up = Driven::new(async {
        let mut wait = Box::pin(both.cancelled());
        std::future::poll_fn(|cx| {
            assert!(wait.as_mut().poll(cx).is_pending());
            std::task::Poll::Ready(())
        })
        .await;
    })
    .poll();
    assert!(given_up.is_some());
    first.cancel(Reason::ParentEnded);
    assert!(waiter.is_woken());
    assert_eq!(waiter.until_stalled(), Some(Reason::ParentEnded));
    assert!(a.is_cancelled() && both.is_cancelled());
}

/// T254: a nested call follows the outer body's signal.
#[test]
fn a_nested_call_follows_the_outer_signal() {
    let rig = Rig::new();
    let inner = rig.mock(MockTool::new("inner").waits_for_signal());
    rig.register(tool("outer", |_, cx| async move {
        let nested = cx.execute(cx.call("n", "inner", "{}")).await;
        Ok(Document::string(nested.code().unwrap_or("none")))
    }));
    let (canceller, call) = rig.cancellable("outer");
    let outcomes = Arc::new(AtomicUsize::new(0));
    let seen = outcomes.clone();
    rig.global()
        .on_result(move |execution, outcome: &Outcome| {
            if execution.name() == "inner" && outcome.code() == Some("ABORTED") {
                seen.fetch_add(1, Ordering::AcqRel);
            }
        })
        .unwrap();
    let mut future = Driven::new(rig.tools.execute(call));
    assert!(future.until_stalled().is_none());
    canceller.cancel(Reason::Cancelled);
    assert_eq!(code_of(&future.until_stalled().unwrap()), Some("ABORTED"));
    assert_eq!((inner.finished(), outcomes.load(Ordering::Acquire)), (1, 1));
}

/// T211: what a clone of the run context says after the call is over counts for nothing and harms nobody.
#[test]
fn a_context_that_outlives_its_call_is_harmless() {
    let rig = Rig::new();
    let kept = Arc::new(std::sync::Mutex::new(None));
    let keep = kept.clone();
    rig.register(tool("t", move |_, cx| {
        cx.progress(dsh_tools::Progress::message("in time"));
        *keep.lock().unwrap() = Some(cx);
        async move { Ok(Document::null()) }
    }));
    rig.register(named("other"));
    let heard = rig.trace.clone();
    rig.global()
        .on_progress(move |_, progress| heard.note(progress.message.as_deref().unwrap_or_default()))
        .unwrap();
    let settled = rig.run("t");
    let cx = kept.lock().unwrap().take().unwrap();
    cx.defer_context(context("late"));
    cx.conclude_turn();
    cx.progress(dsh_tools::Progress::message("late"));
    assert_eq!(rig.trace.take(), ["in time"]);
    assert!(settled.contexts().is_empty() && !settled.concludes_turn());
    let nested = block_on(cx.execute(cx.call("n", "other", "{}")));
    assert_eq!(text_of(&nested), "other");
}
