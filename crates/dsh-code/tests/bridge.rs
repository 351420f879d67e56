//! The dispatch bridge, its lane and its log (chapters 6 and 7 of the Code Mode specification).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod rig;

use std::panic::panic_any;
use std::sync::Arc;

use dsh_code::CodeConfig;
use dsh_prompt::PromptConfig;
use dsh_schema::Document;
use dsh_schema::spec::{self, ParameterSpec};
use dsh_testkit::{
    Bomb, Driven, FakeProgram, FakeRuntime, Gate, MockTool, Trace, block_on, yield_once,
};
use dsh_tools::{
    Block, Content, ContextMessage, Denial, Image, Mode, PostDecision, PreDecision, Reason,
    Restriction, Signal, Tool, ToolError,
};
use futures_util::future::join_all;
use parking_lot::Mutex;
use rig::{World, text, value};
use serde_json::json;

/// Calls in this order, at once, and returns their values or messages.
async fn all(program: &FakeProgram, names: &[&str]) -> Option<Document> {
    let calls: Vec<_> = names.iter().map(|name| program.call(name, "{}")).collect();
    let settled = join_all(calls).await;
    let values: Vec<_> = settled
        .into_iter()
        .map(|result| result.map_or_else(|message| json!(message), |value| value.to_value()))
        .collect();
    Some(Document::from_serialize(&values).unwrap())
}

fn returned(settled: &dsh_tools::Settled) -> serde_json::Value {
    value(settled)["result"].clone()
}

/// C117, C118, C23.
#[test]
fn the_runtime_gets_the_program_and_what_the_agent_sees() {
    let world = World::bare(Mode::Both);
    let runtime = FakeRuntime::new(|_| async { Ok(None) });
    world.mount(runtime.clone());
    for name in [
        "plain",
        "__proto__",
        "constructor",
        "dotted.name",
        "with space",
        "hidden",
    ] {
        world.tool(MockTool::new(name));
    }
    world
        .tools
        .scoped(&world.agent)
        .restrict(Restriction::deny(["hidden"]))
        .unwrap();
    let (_canceller, signal) = Signal::pair();
    block_on(world.tools.execute(world.call(signal.clone())));
    let request = runtime.requests().remove(0);
    assert_eq!(request.program, "the program");
    let [namespace] = &request.namespaces[..] else {
        panic!("one namespace")
    };
    assert_eq!(namespace.global, "tools");
    let class = namespace.error_class.as_ref().unwrap();
    assert_eq!(
        (class.name.as_str(), class.member_property.as_str()),
        ("ToolCallError", "toolName")
    );
    assert_eq!(
        namespace.functions,
        [
            "plain",
            "__proto__",
            "constructor",
            "dotted.name",
            "with space"
        ]
    );
    assert!(
        !request.signal.same_source(&signal),
        "a signal of the run's own (C166)"
    );
    assert_eq!(
        request.signal.reason().unwrap().to_string(),
        "run_code settled"
    );
}

/// C118: what is registered later is not bound, what is gone is unknown.
#[test]
fn the_bindings_are_those_of_the_start() {
    let world = World::bare(Mode::Code);
    let gone = Arc::new(world.register(MockTool::new("gone").build().unwrap().0));
    let (tools, fiber) = (world.tools.clone(), world.fiber.clone());
    world.mount(FakeRuntime::new(move |program| {
        let (tools, fiber, gone) = (tools.clone(), fiber.clone(), gone.clone());
        async move {
            gone.dispose();
            tools
                .global(&fiber)
                .register(MockTool::new("late").build().unwrap().0)
                .unwrap();
            Ok(all(&program, &["gone", "late", "run_code"]).await)
        }
    }));
    let result = returned(&world.run());
    assert_eq!(result[0], "unknown tool \"gone\"");
    assert!(result[1].as_str().unwrap().starts_with("TypeError"));
    assert!(
        result[2].as_str().unwrap().starts_with("TypeError"),
        "never a nested run_code (C23)"
    );
}

/// C119: without an agent everything works, and nothing is logged.
#[test]
fn without_an_agent_nothing_is_logged() {
    let world = World::running(|program| async move { Ok(all(&program, &["a"]).await) });
    world.tool(MockTool::new("a").returns("1"));
    let call = dsh_tools::Call::new("k7", "run_code", rig::ARGUMENTS, Signal::never());
    assert_eq!(returned(&block_on(world.tools.execute(call))), json!([1]));
    assert!(world.log.events.lock().is_empty());
}

/// C126: any root is an argument; whether it fits is the tool's business.
#[test]
fn arguments_are_judged_by_the_tool() {
    let world = World::running(|program| async move {
        let message = program.call("a", "\"text\"").await.unwrap_err();
        Ok(Some(Document::string(message)))
    });
    let probe = world.tool(MockTool::new("a"));
    assert!(
        returned(&world.run())
            .as_str()
            .unwrap()
            .starts_with("invalid arguments: ")
    );
    assert_eq!(probe.calls(), 0);
    assert_eq!(
        world.log.summary(),
        ["start:k7:code:1", "settle:k7:code:1!"]
    );
}

/// C140, C135.
#[test]
fn exclusive_calls_run_one_after_the_other() {
    let world = World::running(|program| async move { Ok(all(&program, &["a", "b", "c"]).await) });
    let trace = Trace::new();
    for name in ["a", "b", "c"] {
        world.tool(
            MockTool::new(name)
                .yields(2)
                .returns(&format!("\"{name}\""))
                .noting(&trace),
        );
    }
    assert_eq!(returned(&world.run()), json!(["a", "b", "c"]));
    assert_eq!(
        trace.take(),
        ["a:start", "a:end", "b:start", "b:end", "c:start", "c:end"]
    );
}

/// C134, C141.
#[test]
fn safe_calls_overlap_up_to_the_cap() {
    for (cap, peak) in [(10, 3), (2, 2), (1, 1)] {
        let config = CodeConfig {
            max_parallel_sub_calls: cap,
            ..CodeConfig::default()
        };
        let world = World::running_with(config, |program| async move {
            Ok(all(&program, &["s", "s", "s"]).await)
        });
        let probe = world.tool(MockTool::new("s").yields(5).returns("1").concurrency_safe());
        assert_eq!(returned(&world.run()), json!([1, 1, 1]));
        assert_eq!((probe.peak(), probe.finished(), probe.lost()), (peak, 3, 0));
    }
}

/// C135, C136, C141: an exclusive call is a barrier on both sides, until its post-execute stage is over.
#[test]
fn an_exclusive_call_is_a_barrier() {
    let world =
        World::running(|program| async move { Ok(all(&program, &["s", "s", "x", "s"]).await) });
    let trace = Trace::new();
    let gate = Gate::new();
    world.tool(
        MockTool::new("s")
            .passes(&gate)
            .concurrency_safe()
            .noting(&trace),
    );
    world.tool(MockTool::new("x").yields(1).noting(&trace));
    let noted = trace.clone();
    let post = move |execution: dsh_tools::Execution, _, next: dsh_tools::PostNext| {
        let noted = noted.clone();
        async move {
            if execution.name() == "x" {
                yield_once().await;
                noted.note("x:post");
            }
            next.run().await
        }
    };
    world
        .tools
        .global(&world.fiber)
        .on_post_execute(post)
        .unwrap();
    let mut run = Driven::new(world.tools.execute(world.call(Signal::never())));
    assert!(run.until_stalled().is_none());
    assert_eq!(trace.take(), ["s:start", "s:start"]);
    gate.open();
    run.until_stalled().unwrap();
    assert_eq!(
        trace.take(),
        [
            "s:end", "s:end", "x:start", "x:end", "x:post", "s:start", "s:end"
        ]
    );
}

/// C132: a slow decision on one call holds up the next call's decision.
#[test]
fn policy_is_in_the_order_of_submission() {
    let world = World::running(|program| async move { Ok(all(&program, &["a", "b"]).await) });
    let (trace, gate) = (Trace::new(), Gate::new());
    for name in ["a", "b"] {
        world.tool(MockTool::new(name).concurrency_safe().noting(&trace));
    }
    let (noted, slow) = (trace.clone(), gate.clone());
    let pre = move |execution: dsh_tools::Execution, next: dsh_tools::PreNext| {
        let (noted, slow) = (noted.clone(), slow.clone());
        async move {
            noted.note(format!("pre:{}", execution.name()));
            if execution.name() == "a" {
                slow.pass().await;
            }
            next.run().await
        }
    };
    world
        .tools
        .global(&world.fiber)
        .on_pre_execute(pre)
        .unwrap();
    let mut run = Driven::new(world.tools.execute(world.call(Signal::never())));
    assert!(run.until_stalled().is_none());
    assert_eq!(trace.take(), ["pre:run_code", "pre:a"]);
    assert_eq!(
        world.log.summary(),
        ["start:k7:code:1"],
        "logged before policy (C152)"
    );
    gate.open();
    run.until_stalled().unwrap();
    // The body of the first runs while policy judges the second.
    assert_eq!(
        trace.take(),
        ["a:start", "a:end", "pre:b", "b:start", "b:end"]
    );
}

/// C137, C138: promises settle in the order of submission.
#[test]
fn commits_are_in_the_order_of_submission() {
    let gate = Gate::new();
    let world = World::running({
        let gate = gate.clone();
        move |program| {
            let gate = gate.clone();
            async move {
                let (slow, fast) = (program.call("slow", "{}"), program.call("fast", "{}"));
                let mut fast = Box::pin(fast);
                for _ in 0..5 {
                    yield_once().await;
                }
                let early = futures_util::FutureExt::now_or_never(&mut fast).is_some();
                gate.open();
                let first = futures_util::future::select(slow, fast).await;
                let first = matches!(first, futures_util::future::Either::Left(_));
                Ok(Some(Document::from_serialize(&(early, first)).unwrap()))
            }
        }
    });
    world.tool(MockTool::new("slow").passes(&gate).concurrency_safe());
    let fast = world.tool(MockTool::new("fast").concurrency_safe());
    assert_eq!(returned(&world.run()), json!([false, true]));
    assert_eq!(fast.finished(), 1);
}

/// C133: a call is classified when it is about to start.
#[test]
fn a_call_is_classified_when_it_starts() {
    let world = World::bare(Mode::Code);
    let trace = Trace::new();
    let first = Arc::new(
        world.register(
            MockTool::new("t")
                .concurrency_safe()
                .noting(&trace)
                .build()
                .unwrap()
                .0,
        ),
    );
    let (tools, fiber, noted) = (world.tools.clone(), world.fiber.clone(), trace.clone());
    let exclusive = MockTool::new("lock").yields(1).noting(&trace);
    world.tool(exclusive);
    world.mount(FakeRuntime::new(move |program| {
        let (tools, fiber, noted, first) =
            (tools.clone(), fiber.clone(), noted.clone(), first.clone());
        async move {
            let calls = [
                program.call("lock", "{}"),
                program.call("t", "{}"),
                program.call("t", "{}"),
            ];
            first.dispose();
            let exclusive = MockTool::new("t")
                .yields(2)
                .noting(&noted)
                .build()
                .unwrap()
                .0;
            tools.global(&fiber).register(exclusive).unwrap();
            join_all(calls).await;
            Ok(None)
        }
    }));
    world.run();
    assert_eq!(
        trace.take(),
        [
            "lock:start",
            "lock:end",
            "t:start",
            "t:end",
            "t:start",
            "t:end"
        ]
    );
}

/// C142: what policy throws skips post-execute, what it denies passes it.
#[test]
fn calls_that_policy_ends_commit_in_order() {
    let world = World::running(|program| async move {
        Ok(all(&program, &["throws", "denied", "guarded", "fine"]).await)
    });
    for name in ["throws", "denied", "guarded", "fine"] {
        world.tool(MockTool::new(name).returns("1").concurrency_safe());
    }
    let receiver = world.tools.global(&world.fiber);
    let judge = |execution: dsh_tools::Execution, next: dsh_tools::PreNext| async move {
        match execution.name() {
            "throws" => Err(ToolError::new("policy broke")),
            "denied" => Ok(PreDecision::deny("policy says no")),
            _ => next.run().await,
        }
    };
    receiver.on_pre_execute(judge).unwrap();
    receiver
        .guard(|execution: &dsh_tools::Execution| {
            (execution.name() == "guarded").then(|| Denial::new("guard says no"))
        })
        .unwrap();
    let posts = Trace::new();
    let noted = posts.clone();
    let post = move |execution: dsh_tools::Execution, _, next: dsh_tools::PostNext| {
        noted.note(execution.name());
        async move { next.run().await }
    };
    receiver.on_post_execute(post).unwrap();
    let settled = world.run();
    assert_eq!(
        returned(&settled),
        json!(["policy broke", "policy says no", "guard says no", 1]),
        "C148, C151"
    );
    assert_eq!(posts.take(), ["denied", "guarded", "fine", "run_code"]);
    assert_eq!(
        world.log.summary(),
        [
            "start:k7:code:1",
            "settle:k7:code:1!",
            "start:k7:code:2",
            "settle:k7:code:2!",
            "start:k7:code:3",
            "settle:k7:code:3!",
            "start:k7:code:4",
            "settle:k7:code:4",
        ]
    );
}

/// C143–C146.
#[test]
fn a_sub_call_has_an_identity_of_its_own() {
    let world = World::running(|program| async move { Ok(all(&program, &["a", "a"]).await) });
    world.tool(MockTool::new("a"));
    let seen: Arc<Mutex<Vec<_>>> = Arc::default();
    let sink = seen.clone();
    world
        .tools
        .global(&world.fiber)
        .on_result(move |execution, outcome| {
            sink.lock().push((
                execution.id().to_string(),
                execution.root_id().to_string(),
                execution.token(),
                execution.parent(),
                execution.agent().map(|agent| agent.label().to_owned()),
                outcome.meta().is_some(),
            ));
        })
        .unwrap();
    let outer = world.run();
    let seen = seen.lock();
    let token = outer.execution().token();
    let of = |index: usize| {
        let (id, root, _, parent, agent, meta) = &seen[index];
        (id.as_str(), root.as_str(), *parent, agent.as_deref(), *meta)
    };
    assert_eq!(seen.len(), 3);
    assert_eq!(
        of(0),
        ("k7:code:1", "k7", Some(token), Some("agent"), false)
    );
    assert_eq!(
        of(1),
        ("k7:code:2", "k7", Some(token), Some("agent"), false)
    );
    assert_eq!(of(2), ("k7", "k7", None, Some("agent"), false));
    assert_ne!(seen[0].2, seen[1].2);
}

/// C144: a `run_code` call that is nested itself hands its root on.
#[test]
fn the_root_of_a_nested_program_is_handed_on() {
    let world = World::running(|program| async move { Ok(all(&program, &["a"]).await) });
    world.tool(MockTool::new("a"));
    let call = world.call(Signal::never()).root("root-1".into());
    block_on(world.tools.execute(call));
    let events = world.log.events.lock();
    for event in events.iter() {
        let data = &event["data"];
        assert_eq!(
            (
                &data["rootCallId"],
                &data["parentCallId"],
                &data["subCallId"]
            ),
            (&json!("root-1"), &json!("k7"), &json!("k7:code:1"))
        );
    }
}

/// C147: the program sees the value after policy, and never the content.
#[test]
fn a_program_gets_the_value_after_policy() {
    let world =
        World::running(|program| async move { Ok(all(&program, &["value", "content"]).await) });
    world.tool(MockTool::new("value").returns("1"));
    world.tool(MockTool::new("content").returns("1"));
    let post = |execution: dsh_tools::Execution, _, next: dsh_tools::PostNext| async move {
        match execution.name() {
            "value" => Ok(PostDecision::value(Document::parse("2").unwrap())),
            "content" => Ok(PostDecision::content("shown")),
            _ => next.run().await,
        }
    };
    world
        .tools
        .global(&world.fiber)
        .on_post_execute(post)
        .unwrap();
    assert_eq!(returned(&world.run()), json!([2, 1]));
    let contents: Vec<_> = world
        .log
        .events
        .lock()
        .iter()
        .filter_map(|event| event["data"].get("content").cloned())
        .collect();
    assert_eq!(
        contents,
        [
            json!([{ "type": "text", "text": "2" }]),
            json!([{ "type": "text", "text": "shown" }])
        ]
    );
}

/// C148, C150: the message and nothing else; the run goes on.
#[test]
fn a_caught_failure_leaves_the_run_healthy() {
    let world =
        World::running(|program| async move { Ok(all(&program, &["coded", "fine"]).await) });
    let coded = Tool::new("coded", "Fails.")
        .parameters(ParameterSpec::new())
        .returns(spec::null())
        .run(|_, _| async { Err(ToolError::coded("FsError", "FS_GONE", "the file is gone")) })
        .unwrap();
    world.register(coded);
    world.tool(MockTool::new("fine").returns("1"));
    assert_eq!(returned(&world.run()), json!(["the file is gone", 1]));
}

/// C152, C153, C157.
#[test]
fn both_events_say_the_same_of_a_call() {
    let world = World::running(|program| async move {
        program.call("a", r#"{"b":[1,2],"a":null}"#).await.unwrap();
        let _failed = program.call("bad", "{}").await;
        Ok(None)
    });
    world.tool(MockTool::new("a").returns(r#"{"secret":true}"#));
    world.tool(MockTool::new("bad").fails("no"));
    world.run();
    let events = world.log.events.lock();
    let start = json!({ "rootCallId": "k7", "parentCallId": "k7", "subCallId": "k7:code:1", "name": "a", "arguments": { "b": [1, 2], "a": null } });
    assert_eq!(
        events[0],
        json!({ "type": "tool/code-dispatch-start", "data": start })
    );
    let mut settle = start;
    settle["isError"] = json!(false);
    settle["content"] = json!([{ "type": "text", "text": r#"{"secret":true}"# }]);
    assert_eq!(
        events[1],
        json!({ "type": "tool/code-dispatch", "data": settle })
    );
    assert_eq!(
        events[3]["data"]["content"],
        json!([{ "type": "text", "text": "Error: no" }])
    );
    assert_eq!(
        serde_json::to_string(&events[1]["data"])
            .unwrap()
            .matches("value")
            .count(),
        0,
        "no canonical value"
    );
}

/// C155: a log that refuses ends the run, after what had started is settled.
#[test]
fn a_log_that_refuses_ends_the_run() {
    for (kind, calls) in [("tool/code-dispatch-start", 0), ("tool/code-dispatch", 1)] {
        let world = World::running(|program| async move { Ok(all(&program, &["a", "a"]).await) });
        let probe = world.tool(MockTool::new("a").yields(1));
        *world.log.refuse.lock() = Some(kind);
        let settled = world.run();
        assert_eq!(
            text(&settled),
            format!("Error: the log does not take {kind}")
        );
        assert_eq!(
            (probe.calls(), probe.finished(), probe.lost()),
            (calls, calls, 0)
        );
    }
}

/// C154, C155: what has started is offered to the log also when the log does not take the start or the end of another call.
#[test]
fn a_log_that_fails_once_still_hears_of_what_had_started() {
    for (kind, refused, expected) in [
        (
            "tool/code-dispatch-start",
            "k7:code:3",
            vec![
                "start:k7:code:1",
                "start:k7:code:2",
                "settle:k7:code:1!",
                "settle:k7:code:2!",
            ],
        ),
        (
            "tool/code-dispatch",
            "k7:code:1",
            vec!["start:k7:code:1", "start:k7:code:2", "settle:k7:code:2!"],
        ),
    ] {
        let world = World::running(|program| async move {
            Ok(all(&program, &["brief", "hang", "third"]).await)
        });
        world.tool(MockTool::new("brief").yields(6).concurrency_safe());
        let hang = world.tool(MockTool::new("hang").waits_for_signal().concurrency_safe());
        let third = if refused.ends_with('1') {
            // It is not to start before the first one settles.
            world.tool(MockTool::new("third"))
        } else {
            world.tool(MockTool::new("third").concurrency_safe())
        };
        *world.log.refuse.lock() = Some(kind);
        *world.log.refuse_call.lock() = Some(refused);
        assert_eq!(
            text(&world.run()),
            format!("Error: the log does not take {kind}")
        );
        assert_eq!((third.calls(), hang.finished(), hang.lost()), (0, 1, 0));
        assert_eq!(world.log.summary(), expected);
    }
}

/// C158: listeners are those of the moment; one whose lifetime is over hears nothing.
#[test]
fn log_listeners_come_and_go_during_a_run() {
    let world = World::bare(Mode::Code);
    let heard = Trace::new();
    let plugin = world.fiber.child("plugin").unwrap();
    let listen = move |code: &dsh_code::CodeMode,
                       fiber: &dsh_context::Fiber,
                       heard: &Trace,
                       name: &'static str| {
        let heard = heard.clone();
        let listener = move |log: dsh_code::DispatchLog, next: dsh_code::DispatchLogNext| {
            heard.note(format!("{name} {}", log.sub_call_id));
            async move { next.run().await }
        };
        code.on_dispatch_log(fiber, None, listener).unwrap();
    };
    listen(&world.code, &plugin, &heard, "early");
    let (code, fiber, noted) = (world.code.clone(), world.fiber.clone(), heard.clone());
    world.mount(FakeRuntime::new(move |program| {
        let (code, fiber, noted, plugin) =
            (code.clone(), fiber.clone(), noted.clone(), plugin.clone());
        async move {
            program.expect("a", "{}").await?;
            plugin.dispose().await;
            program.expect("a", "{}").await?;
            listen(&code, &fiber, &noted, "late");
            program.expect("a", "{}").await?;
            Ok(None)
        }
    }));
    world.tool(MockTool::new("a"));
    assert!(!world.run().is_error());
    assert_eq!(heard.take(), ["early k7:code:1", "late k7:code:3"]);
    assert_eq!(world.log.summary().len(), 6);
}

/// C176: a budget that ends the run cancels what is under way.
#[test]
fn a_budget_that_runs_out_cancels_the_running_tools() {
    let world = World::running(|program| async move {
        drop(program.call("hang", "{}"));
        for _ in 0..3 {
            yield_once().await;
        }
        let message = "program exceeded the compute budget of 5 ms";
        Err(dsh_code::RunError::new(
            dsh_code::ErrorKind::Timeout,
            message,
        ))
    });
    let hang = world.tool(MockTool::new("hang").waits_for_signal());
    let settled = world.run();
    assert_eq!(
        text(&settled),
        "Error: code run failed (timeout): program exceeded the compute budget of 5 ms"
    );
    assert_eq!((hang.calls(), hang.finished()), (1, 1));
    assert_eq!(
        world.log.summary(),
        ["start:k7:code:1", "settle:k7:code:1!"]
    );
}

/// C158: a listener may replace what is logged, and nothing waits for it but the end.
#[test]
fn a_listener_may_replace_what_is_logged() {
    let gate = Gate::new();
    let world = World::running(|program| async move {
        let result = all(&program, &["a", "b"]).await;
        program.print("both settled");
        Ok(result)
    });
    world.tool(MockTool::new("a").returns("\"long\""));
    world.tool(MockTool::new("b").fails("no"));
    let slow = gate.clone();
    let shrink = move |log: dsh_code::DispatchLog, next: dsh_code::DispatchLogNext| {
        let slow = slow.clone();
        async move {
            assert_eq!(
                (log.outer.id().as_str(), log.agent.label()),
                ("k7", "agent")
            );
            slow.pass().await;
            if log.is_error {
                next.run().await
            } else {
                Ok(Content::text(format!(
                    "{} of {}",
                    log.sub_call_id, log.name
                )))
            }
        }
    };
    world
        .code
        .on_dispatch_log(&world.fiber, None, shrink)
        .unwrap();
    let other = dsh_context::Scope::new("other");
    let never = |_, _| async { panic!("another scope's listener") };
    world
        .code
        .on_dispatch_log(&world.fiber, Some(&other), never)
        .unwrap();
    let mut run = Driven::new(world.tools.execute(world.call(Signal::never())));
    assert!(run.until_stalled().is_none());
    assert_eq!(
        *world.watch.lines.lock(),
        ["both settled"],
        "the program did not wait"
    );
    assert_eq!(world.log.summary(), ["start:k7:code:1", "start:k7:code:2"]);
    gate.open();
    let settled = run.until_stalled().unwrap();
    assert_eq!(
        returned(&settled),
        json!(["long", "no"]),
        "the value is not affected"
    );
    let contents: Vec<_> = world
        .log
        .events
        .lock()
        .iter()
        .filter_map(|event| event["data"].get("content").cloned())
        .collect();
    // In whatever order: a slow log has none (C156).
    assert_eq!(contents.len(), 2);
    for text in ["k7:code:1 of a", "Error: no"] {
        assert!(contents.contains(&json!([{ "type": "text", "text": text }])));
    }
}

/// C158: a listener that fails or panics changes nothing.
#[test]
fn a_log_listener_that_fails_changes_nothing() {
    let world = World::running(|program| async move { Ok(all(&program, &["a"]).await) });
    world.tool(MockTool::new("a").returns("1"));
    let failing = world
        .code
        .on_dispatch_log(&world.fiber, None, |_, _| async {
            Err(ToolError::new("no"))
        })
        .unwrap();
    world.run();
    failing.dispose();
    world
        .code
        .on_dispatch_log(&world.fiber, None, |_, _| async { panic!("boom") })
        .unwrap();
    world.run();
    let contents: Vec<_> = world
        .log
        .events
        .lock()
        .iter()
        .filter_map(|event| event["data"].get("content").cloned())
        .collect();
    assert_eq!(
        contents,
        [
            json!([{ "type": "text", "text": "1" }]),
            json!([{ "type": "text", "text": "1" }])
        ]
    );
}

/// C158: what a listener throws may panic in turn when it is dropped.
#[test]
fn a_log_listener_whose_panic_cannot_be_dropped_changes_nothing() {
    let world = World::running(|program| async move { Ok(all(&program, &["a"]).await) });
    world.tool(MockTool::new("a").returns("1"));
    world
        .code
        .on_dispatch_log(&world.fiber, None, |_, _| async { panic_any(Bomb) })
        .unwrap();
    assert!(!world.run().is_error());
    let events = world.log.events.lock();
    let contents: Vec<_> = events
        .iter()
        .filter_map(|event| event["data"].get("content"))
        .collect();
    assert_eq!(contents, [&json!([{ "type": "text", "text": "1" }])]);
}

/// C159: the lane waits when the log falls behind.
#[test]
fn a_slow_log_holds_up_the_lane() {
    let gate = Gate::new();
    let config = CodeConfig {
        max_parallel_sub_calls: 2,
        ..CodeConfig::default()
    };
    let world = World::running_with(config, |program| async move {
        Ok(all(&program, &["a"; 6]).await)
    });
    let probe = world.tool(MockTool::new("a").returns("1"));
    let slow = gate.clone();
    let wait = move |_, next: dsh_code::DispatchLogNext| {
        let slow = slow.clone();
        async move {
            slow.pass().await;
            next.run().await
        }
    };
    world
        .code
        .on_dispatch_log(&world.fiber, None, wait)
        .unwrap();
    let mut run = Driven::new(world.tools.execute(world.call(Signal::never())));
    assert!(run.until_stalled().is_none());
    assert_eq!(probe.calls(), 3, "one more than the cap is being written");
    gate.open();
    assert_eq!(
        returned(&run.until_stalled().unwrap()),
        json!([1, 1, 1, 1, 1, 1])
    );
}

fn image_tool(name: &str) -> Tool {
    let image = || {
        let image = Image {
            media_type: "image/png".into(),
            data: "AAAA".into(),
        };
        vec![Block::text("a picture"), Block::Image(Box::new(image))]
    };
    Tool::new(name, "Shows a picture.")
        .parameters(ParameterSpec::new())
        .returns(spec::null())
        .render_value(move |_, _| Content::from(image()))
        .run(|_, cx| async move {
            cx.defer_context(ContextMessage::plugin("own", "image-tool", "from the tool"));
            Ok(Document::null())
        })
        .unwrap()
}

fn contexts(settled: &dsh_tools::Settled) -> Vec<serde_json::Value> {
    settled
        .contexts()
        .iter()
        .map(|context| serde_json::to_value(context).unwrap())
        .collect()
}

/// C161, C163, C164.
#[test]
fn contexts_and_images_follow_the_outer_result() {
    let world = World::running(|program| async move {
        all(&program, &["first", "image", "blanked"]).await;
        Err(dsh_code::RunError::new(
            dsh_code::ErrorKind::Exception,
            "later",
        ))
    });
    let first = Tool::new("first", "Has something to say.")
        .parameters(ParameterSpec::new())
        .returns(spec::null())
        .run(|_, cx| async move {
            cx.defer_context(ContextMessage::plugin("c1", "first-tool", "from first"));
            Ok(Document::null())
        })
        .unwrap();
    world.register(first);
    world.register(image_tool("image"));
    world.register(image_tool("blanked"));
    let post = |execution: dsh_tools::Execution, _, next: dsh_tools::PostNext| async move {
        if execution.name() == "blanked" {
            Ok(PostDecision::content("no picture"))
        } else {
            next.run().await
        }
    };
    let blanking = world
        .tools
        .global(&world.fiber)
        .on_post_execute(post)
        .unwrap();
    let settled = world.run();
    assert!(settled.is_error(), "they survive a failure of the program");
    let got = contexts(&settled);
    let sources: Vec<_> = got
        .iter()
        .map(|context| context["source"]["plugin"].as_str().unwrap())
        .collect();
    assert_eq!(
        sources,
        ["first-tool", "tools-code-mode", "image-tool", "image-tool"]
    );
    assert_eq!(got[1]["role"], "user");
    let kinds: Vec<_> = got[1]["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| block["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["text", "image"]);
    blanking.dispose();
    // C162: a block of the outer call leaves its own contexts only.
    let block = |execution: dsh_tools::Execution, _, next: dsh_tools::PostNext| async move {
        if execution.name() == "run_code" {
            let own = ContextMessage::plugin("b", "blocker", "blocked");
            return Ok(PostDecision::block("no").with_contexts([own]));
        }
        next.run().await
    };
    world
        .tools
        .global(&world.fiber)
        .on_post_execute(block)
        .unwrap();
    let settled = world.run();
    assert_eq!(contexts(&settled).len(), 1);
    assert_eq!(contexts(&settled)[0]["source"]["plugin"], "blocker");
}

/// C165.
#[test]
fn a_sub_call_that_concludes_the_turn_concludes_it() {
    let world = World::running(|program| async move { Ok(all(&program, &["done"]).await) });
    let done = Tool::new("done", "Ends the turn.")
        .parameters(ParameterSpec::new())
        .returns(spec::null())
        .run(|_, cx| async move {
            cx.conclude_turn();
            Ok(Document::null())
        })
        .unwrap();
    world.register(done);
    assert!(world.run().concludes_turn());
    let block = |execution: dsh_tools::Execution, _, next: dsh_tools::PostNext| async move {
        if execution.name() == "done" {
            Ok(PostDecision::block("no"))
        } else {
            next.run().await
        }
    };
    world
        .tools
        .global(&world.fiber)
        .on_post_execute(block)
        .unwrap();
    let settled = world.run();
    assert!(!settled.is_error() && !settled.concludes_turn());
}

/// C166, C168, C173: the program's end cancels what it did not await, and everything started is settled and logged.
#[test]
fn unawaited_calls_are_cancelled_and_logged() {
    let world = World::running(|program| async move {
        let calls: Vec<_> = ["hang", "hang", "x"]
            .iter()
            .map(|name| program.call(name, "{}"))
            .collect();
        yield_once().await;
        yield_once().await;
        drop(calls);
        Ok(Some(Document::string("x")))
    });
    let hang = world.tool(
        MockTool::new("hang")
            .waits_for_signal()
            .returns("1")
            .concurrency_safe(),
    );
    let exclusive = world.tool(MockTool::new("x"));
    let settled = world.run();
    assert_eq!(value(&settled), json!({ "logs": [], "result": "x" }));
    assert_eq!((hang.calls(), hang.finished(), hang.lost()), (2, 2, 0));
    assert_eq!(exclusive.calls(), 0, "what was queued vanishes (C154)");
    assert_eq!(
        world.log.summary(),
        [
            "start:k7:code:1",
            "start:k7:code:2",
            "settle:k7:code:1!",
            "settle:k7:code:2!"
        ]
    );
    let events = world.log.events.lock();
    assert_eq!(
        events[2]["data"]["content"],
        json!([{ "type": "text", "text": "Error: tool call aborted" }])
    );
}

/// C168, C175: the drain waits for a tool that ignores its signal, also when the runtime has refused.
#[test]
fn a_started_body_is_never_abandoned() {
    for refusing in [false, true] {
        let world = World::bare(Mode::Code);
        let mut runtime = FakeRuntime::new(|program| async move {
            drop(program.call("deaf", "{}"));
            yield_once().await;
            Ok(None)
        });
        if refusing {
            runtime = runtime.refusing("broke");
        }
        world.mount(runtime);
        let gate = Gate::new();
        let deaf = world.tool(MockTool::new("deaf").passes(&gate).returns("1"));
        let mut run = Driven::new(world.tools.execute(world.call(Signal::never())));
        assert!(run.until_stalled().is_none());
        assert_eq!((deaf.running(), world.log.summary().len()), (1, 1));
        gate.open();
        let settled = run.until_stalled().unwrap();
        assert_eq!(settled.is_error(), refusing);
        assert_eq!(
            world.log.summary(),
            ["start:k7:code:1", "settle:k7:code:1!"],
            "a success after the end is no success (C169)"
        );
    }
}

/// C169: a commit that is under way when the program ends finishes.
#[test]
fn a_commit_under_way_finishes() {
    let gate = Gate::new();
    let leave = Gate::new();
    let world = World::running({
        let leave = leave.clone();
        move |program| {
            let leave = leave.clone();
            async move {
                drop(program.call("a", "{}"));
                leave.pass().await;
                Ok(None)
            }
        }
    });
    world.tool(MockTool::new("a").returns("1"));
    let slow = gate.clone();
    let post = move |execution: dsh_tools::Execution, _, next: dsh_tools::PostNext| {
        let slow = slow.clone();
        async move {
            if execution.name() == "a" {
                slow.pass().await;
            }
            next.run().await
        }
    };
    world
        .tools
        .global(&world.fiber)
        .on_post_execute(post)
        .unwrap();
    let mut run = Driven::new(world.tools.execute(world.call(Signal::never())));
    assert!(run.until_stalled().is_none());
    assert_eq!(gate.arrivals(), 1);
    leave.open();
    assert!(run.until_stalled().is_none());
    gate.open();
    run.until_stalled().unwrap();
    assert_eq!(
        world.log.summary(),
        ["start:k7:code:1", "settle:k7:code:1!"]
    );
}

/// C170–C172, by a runtime that lets its program go on after the signal.
#[test]
fn calls_of_a_run_that_is_over_are_rejected() {
    let (canceller, signal) = Signal::pair();
    let world = World::bare(Mode::Code);
    let late = move |program: FakeProgram| {
        let cancel = canceller.clone();
        async move {
            let running = program.call("hang", "{}");
            let queued = program.call("x", "{}");
            yield_once().await;
            cancel.cancel(Reason::Other {
                message: "enough".into(),
            });
            let refused = program.call("x", "{}");
            let settled = join_all([running, queued, refused]).await;
            let messages: Vec<_> = settled.into_iter().map(Result::unwrap_err).collect();
            for message in messages {
                program.print(message);
            }
            Ok(Some(Document::string("done")))
        }
    };
    world.mount(FakeRuntime::new(late).ignoring_signals());
    world.tool(MockTool::new("hang").waits_for_signal().returns("1"));
    world.tool(MockTool::new("x"));
    let settled = block_on(world.tools.execute(world.call(signal)));
    assert_eq!(
        *world.watch.lines.lock(),
        [
            "run_code run is over (enough); hang result discarded",
            "run_code run is over (enough); x tool call abandoned",
            "run_code run is over (enough); x not dispatched",
        ]
    );
    // C174: a program that completed all the same is no success.
    assert_eq!(
        (settled.code(), text(&settled)),
        (Some("ABORTED"), "Error: tool call aborted")
    );
    assert_eq!(
        world.log.summary(),
        ["start:k7:code:1", "settle:k7:code:1!"]
    );
}

/// C174: the caller's cancellation ends the program and reaches the running tool.
#[test]
fn cancelling_the_call_stops_program_and_tool() {
    let world = World::running(|program| async move {
        program.print("before");
        program.expect("hang", "{}").await?;
        program.print("never");
        Ok(None)
    });
    let hang = world.tool(MockTool::new("hang").waits_for_signal().fails("stopped"));
    let (canceller, signal) = Signal::pair();
    let mut run = Driven::new(world.tools.execute(world.call(signal)));
    assert!(run.until_stalled().is_none());
    canceller.cancel(Reason::Other {
        message: "user pressed stop".into(),
    });
    let settled = run.until_stalled().unwrap();
    assert_eq!(
        text(&settled),
        "Error: code run failed (abort): user pressed stop\nCaptured output:\nbefore"
    );
    assert_eq!(settled.code(), Some("CODE_RUN_FAILED"));
    assert_eq!((hang.finished(), hang.lost()), (1, 0));
    assert_eq!(
        world.log.summary(),
        ["start:k7:code:1", "settle:k7:code:1!"]
    );
}

/// C167.
#[test]
fn a_call_that_is_cancelled_already_reaches_no_runtime() {
    let world = World::bare(Mode::Code);
    let runtime = FakeRuntime::new(|_| async { Ok(None) });
    world.mount(runtime.clone());
    let (canceller, signal) = Signal::pair();
    canceller.cancel(Reason::Cancelled);
    let settled = block_on(world.tools.execute(world.call(signal)));
    assert_eq!(
        (settled.code(), text(&settled)),
        (
            Some("ABORTED_BEFORE_DISPATCH"),
            "Error: tool call aborted before dispatch"
        )
    );
    assert!(runtime.requests().is_empty());
}

/// C179: dropping the call leaves the drain to the spawner.
#[test]
fn a_dropped_call_is_drained() {
    let world = World::running(|program| async move { Ok(all(&program, &["hang"]).await) });
    let hang = world.tool(MockTool::new("hang").waits_for_signal().returns("1"));
    let mut run = Driven::new(world.tools.execute(world.call(Signal::never())));
    assert!(run.until_stalled().is_none());
    drop(run);
    block_on(world.tools.close());
    assert_eq!((hang.calls(), hang.finished(), hang.lost()), (1, 1, 0));
    assert_eq!(
        world.log.summary(),
        ["start:k7:code:1", "settle:k7:code:1!"]
    );
}

/// C262: many calls that nobody awaits.
#[test]
fn many_calls_at_once() {
    let world = World::running(|program| async move { Ok(all(&program, &vec!["s"; 2_000]).await) });
    let probe = world.tool(
        MockTool::new("s")
            .yields(20)
            .returns("1")
            .concurrency_safe(),
    );
    assert_eq!(returned(&world.run()).as_array().unwrap().len(), 2_000);
    assert_eq!((probe.finished(), probe.peak()), (2_000, 10));
    assert_eq!(world.log.events.lock().len(), 4_000);
}

/// The worked trace of chapter 6.6.
#[test]
fn the_worked_trace() {
    let (one, two) = (Gate::new(), Gate::new());
    let trace = Trace::new();
    let world = World::with(Mode::Code, CodeConfig::default(), PromptConfig::default());
    world.mount(FakeRuntime::new(|program| async move {
        let _a = program.call("read1", "{}");
        let b = program.call("read2", "{}");
        let _c = program.call("save", "{}");
        b.await.unwrap();
        Ok(Some(Document::string("x")))
    }));
    world.tool(
        MockTool::new("read1")
            .passes(&one)
            .concurrency_safe()
            .noting(&trace),
    );
    world.tool(
        MockTool::new("read2")
            .passes(&two)
            .concurrency_safe()
            .noting(&trace),
    );
    let save = world.tool(MockTool::new("save").waits_for_signal().noting(&trace));
    let mut run = Driven::new(world.tools.execute(world.call(Signal::never())));
    assert!(run.until_stalled().is_none());
    two.open();
    assert!(run.until_stalled().is_none(), "2 is parked behind 1");
    assert_eq!(trace.take(), ["read1:start", "read2:start", "read2:end"]);
    one.open();
    let settled = run.until_stalled().unwrap();
    assert_eq!(value(&settled), json!({ "logs": [], "result": "x" }));
    let mut expected = vec![
        "start:k7:code:1",
        "start:k7:code:2",
        "settle:k7:code:1",
        "settle:k7:code:2",
    ];
    // Whether 3 starts or vanishes is a matter of timing; half of a pair is not.
    if save.calls() > 0 {
        expected.extend(["start:k7:code:3", "settle:k7:code:3!"]);
    }
    assert_eq!(world.log.summary(), expected);
}

/// C155, D36: into the session of the agent, inside its open turn; without one the run fails and nothing runs.
#[test]
fn a_session_keeps_what_programs_call() {
    use dsh_session::{Agent, Agents, Header, Order, Session, TurnEnding};

    let host = Arc::new(dsh_testkit::FakeHost::new());
    let agent = Agent::new(Session::new(Header::new("s1", &*host).unwrap(), host));
    let agents = Agents::new();
    agents.enter(&agent).unwrap();
    let fiber = dsh_context::Fiber::root("test");
    let tools = dsh_tools::Tools::new(dsh_tools::ToolsConfig {
        mode: Mode::Code,
        ..Default::default()
    });
    let prompt = dsh_prompt::Prompt::new(PromptConfig::default());
    let config = CodeConfig {
        sink: Some(Arc::new(agents)),
        ..CodeConfig::default()
    };
    let code = dsh_code::CodeMode::mount(&fiber, &tools, &prompt, config).unwrap();
    let runtime = FakeRuntime::new(|program| async move { Ok(all(&program, &["a", "a"]).await) });
    code.mount_runtime(&fiber, Arc::new(runtime)).unwrap();
    let (tool, probe) = MockTool::new("a").returns("1").build().unwrap();
    tools.global(&fiber).register(tool).unwrap();
    let run = |scope: &dsh_context::Scope| {
        let call =
            dsh_tools::Call::new("k7", "run_code", rig::ARGUMENTS, Signal::never()).agent(scope);
        block_on(tools.execute(call))
    };
    let settled = run(agent.scope());
    assert_eq!(
        (settled.code(), probe.calls()),
        (Some("SESSION_ORDER_VIOLATED"), 0)
    );
    agent.begin_turn().unwrap();
    assert_eq!(returned(&run(agent.scope())), json!([1, 1]));
    agent.end_turn(TurnEnding::Completed).unwrap();
    let events = agent.session().events();
    let kinds: Vec<_> = events.iter().map(|event| event.kind()).collect();
    let (start, settle) = ("tool/code-dispatch-start", "tool/code-dispatch");
    assert_eq!(
        kinds,
        ["turn/start", start, settle, start, settle, "turn/end"]
    );
    Order::check_all(&events).unwrap();
    assert!(agent.session().history().is_empty(), "C157");
    assert!(
        !run(&dsh_context::Scope::new("nobody")).is_error(),
        "a scope without a session is not logged"
    );
}

/// C169, T293: a success that was parked when the program ended is no success any more, whether or not anybody listens
/// behind the body.
#[test]
fn a_parked_success_is_cancelled_with_the_rest() {
    let world = World::running(|program| async move {
        drop((program.call("slow", "{}"), program.call("fast", "{}")));
        for _ in 0..5 {
            yield_once().await;
        }
        Ok(None)
    });
    world.tool(MockTool::new("slow").waits_for_signal().concurrency_safe());
    let fast = world.tool(MockTool::new("fast").returns("1").concurrency_safe());
    world.run();
    assert_eq!(fast.finished(), 1);
    assert_eq!(
        world.log.summary(),
        [
            "start:k7:code:1",
            "start:k7:code:2",
            "settle:k7:code:1!",
            "settle:k7:code:2!"
        ]
    );
}
