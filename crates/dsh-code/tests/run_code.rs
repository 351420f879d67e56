//! The tool `run_code` (chapter 5 of the Code Mode specification).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod rig;

use std::panic::panic_any;
use std::sync::Arc;

use dsh_code::{CodeConfig, CodeMode, ErrorKind, Limits, RunError};
use dsh_prompt::{Prompt, PromptConfig};
use dsh_schema::Document;
use dsh_testkit::{Bomb, FakeRuntime, MockTool, block_on};
use dsh_tools::card::{CallKind, CallView};
use dsh_tools::{
    Call, ExecutionMode, Mode, PostDecision, PreDecision, RUN_CODE, Signal, Tools, ToolsConfig,
};
use rig::{ARGUMENTS, World, text, value};
use serde_json::json;

fn execute(world: &World, arguments: &str) -> dsh_tools::Settled {
    block_on(
        world
            .tools
            .execute(Call::new("k7", RUN_CODE, arguments, Signal::never()).agent(&world.agent)),
    )
}

/// C95.
#[test]
fn both_arguments_are_required_and_more_are_tolerated() {
    let world = World::running(|program| async move {
        program.print("ran");
        Ok(None)
    });
    for arguments in [
        "{}",
        r#"{"code":"x"}"#,
        r#"{"description":"x"}"#,
        r#"{"code":1,"description":"x"}"#,
        "[]",
    ] {
        let settled = execute(&world, arguments);
        assert_eq!(settled.code(), Some("INVALID_ARGS"), "{arguments}");
    }
    assert!(world.watch.lines.lock().is_empty());
    assert_eq!(
        text(&execute(
            &world,
            r#"{"code":"","description":"x","more":1}"#
        )),
        "ran"
    );
    let schema = world.code.schema().unwrap().parameters().to_value();
    assert_eq!(schema["required"], json!(["code", "description"]));
    assert!(schema.get("additionalProperties").is_none());
}

/// C96: before the runtime is looked up.
#[test]
fn a_blank_description_fails_first() {
    let world = World::bare(Mode::Code);
    let settled = execute(&world, r#"{"code":"","description":" \n "}"#);
    assert_eq!(
        text(&settled),
        "Error: invalid description: expected a non-empty string"
    );
    assert!(settled.error().unwrap().info.is_none());
}

/// C34, with the effective mode.
#[test]
fn without_a_runtime_the_call_fails() {
    let world = World::bare(Mode::Native);
    world.code.present_as(&world.agent, Mode::Both).unwrap();
    let settled = world.run();
    assert!(
        text(&settled).contains("mode \"both\" requires a code runtime"),
        "{}",
        text(&settled)
    );
}

/// C98–C101, C50.
#[test]
fn the_schema_speaks_of_the_runtimes_language() {
    let world = World::bare(Mode::Code);
    let of = |world: &World| {
        let schema = world.tools.get(RUN_CODE, None).unwrap().schema().clone();
        assert_eq!(world.code.schema().unwrap(), schema);
        let code = schema.parameters().to_value()["properties"]["code"]["description"].clone();
        (schema.description().to_owned(), code)
    };
    let (typescript, code) = of(&world);
    assert!(typescript.contains("Execute a TypeScript program"));
    assert_eq!(
        code,
        "The program: the body of an async TypeScript function."
    );
    let python = world.mount(FakeRuntime::new(|_| async { Ok(None) }).speaking("python"));
    let (description, code) = of(&world);
    assert!(
        description.contains("Execute a Python program") && !description.contains("TypeScript")
    );
    assert_eq!(code, "The program: the body of an async Python function.");
    let assembly = world.assemble(None).unwrap();
    assert!(
        assembly
            .section("tools:sdk")
            .unwrap()
            .text
            .contains("```python\n")
    );
    python.dispose();
    assert_eq!(of(&world).0, typescript);
    world.mount(FakeRuntime::new(|_| async { Ok(None) }).speaking("constructor"));
    assert_eq!(
        world.code.schema().unwrap_err().to_string(),
        "no run_code schema flavor registered for runtime language \"constructor\" (known: \"typescript\", \"python\")"
    );
}

/// C103–C105, D14.
#[test]
fn what_run_code_declares() {
    let world = World::running(|_| async { Ok(None) });
    let tool = world.tools.get(RUN_CODE, None).unwrap();
    assert_eq!(
        world.tools.execution_mode(&world.call(Signal::never())),
        ExecutionMode::Exclusive
    );
    assert!(tool.owns_deadline() && tool.timeout().is_none() && !tool.has_result_card());
    let card = tool
        .present_call(&Document::parse(ARGUMENTS).unwrap())
        .unwrap();
    let expected = CallView::Generic {
        title: "Do it".into(),
        kind: Some(CallKind::Execute),
        raw_input: Some(Document::string("the program")),
        content: None,
        locations: None,
    };
    assert_eq!(card, expected);
    assert_eq!(
        tool.output().source().to_value(),
        json!({
            "type": "object", "additionalProperties": false, "required": ["logs"],
            "properties": { "logs": { "type": "array", "items": { "type": "string" } }, "result": {} },
        })
    );
}

/// C106: `run_code` passes the whole pipeline.
#[test]
fn policy_reads_the_program_and_has_the_last_word() {
    let world = World::running(|program| async move {
        program.print("ran");
        Ok(None)
    });
    let receiver = world.tools.global(&world.fiber);
    let deny = receiver
        .on_pre_execute(|execution, next| async move {
            let code = execution
                .arguments()
                .and_then(|arguments| Some(arguments.root().get("code")?.as_str()?.to_owned()));
            assert_eq!(code.as_deref(), Some("the program"));
            let _delegated = next;
            Ok(PreDecision::deny("not this one"))
        })
        .unwrap();
    assert_eq!(text(&world.run()), "Error: not this one");
    deny.dispose();
    receiver
        .on_post_execute(|_, _, _| async { Ok(PostDecision::content("preview")) })
        .unwrap();
    let settled = world.run();
    assert_eq!(
        (text(&settled), value(&settled)),
        ("preview", json!({ "logs": ["ran"] }))
    );
}

/// C107: absent and `null` differ.
#[test]
fn the_canonical_value() {
    for (returned, expected, shown) in [
        (None, json!({ "logs": ["a"] }), "a"),
        (
            Some("null"),
            json!({ "logs": ["a"], "result": null }),
            "a\nnull",
        ),
        (
            Some("18446744073709551615"),
            json!({ "logs": ["a"], "result": u64::MAX }),
            "a\n18446744073709551615",
        ),
        (
            Some(r#"{"b":1,"a":[]}"#),
            json!({ "logs": ["a"], "result": { "b": 1, "a": [] } }),
            "a\n{\n  \"b\": 1,\n  \"a\": []\n}",
        ),
    ] {
        let world = World::running(move |program| async move {
            program.print("a");
            Ok(returned.map(|json| Document::parse(json).unwrap()))
        });
        let settled = world.run();
        assert_eq!((value(&settled), text(&settled)), (expected, shown));
    }
}

/// C108, C213.
#[test]
fn a_failed_run_keeps_what_was_printed() {
    let failing = |lines: &'static [&'static str]| {
        World::running(move |program| async move {
            lines.iter().for_each(|line| program.print(*line));
            Err(RunError::new(
                ErrorKind::WorkerExit,
                "worker exited with code 7 before completing",
            ))
        })
        .run()
    };
    let settled = failing(&["one", "two"]);
    let message = "code run failed (worker-exit): worker exited with code 7 before completing\nCaptured output:\none\ntwo";
    assert_eq!(text(&settled), format!("Error: {message}"));
    let error = settled.error().unwrap();
    let info = error.info.as_ref().unwrap();
    assert_eq!(
        (&*info.name, &*info.code),
        ("CodeRunFailedError", "CODE_RUN_FAILED")
    );
    assert!(settled.value().is_none());
    let settled = failing(&[]);
    assert!(
        text(&settled).ends_with("before completing"),
        "{}",
        text(&settled)
    );
}

/// C97: an empty program is one.
#[test]
fn an_empty_program_completes_without_value_and_logs() {
    let world = World::bare(Mode::Code);
    let runtime = FakeRuntime::new(|_| async { Ok(None) });
    world.mount(runtime.clone());
    let settled = execute(&world, r#"{"code":"","description":"Nothing"}"#);
    assert_eq!(value(&settled), json!({ "logs": [] }));
    assert_eq!(text(&settled), "(run_code completed with no output)");
    assert_eq!(runtime.requests()[0].program, "");
}

/// Whoever looks on cannot fail a run.
#[test]
fn an_observer_that_panics_changes_nothing() {
    let world = World::running(|program| async move {
        program.print("one");
        program.print("two");
        Ok(None)
    });
    world
        .watch
        .panics
        .store(true, std::sync::atomic::Ordering::Release);
    assert_eq!(text(&world.run()), "one\ntwo");
    assert_eq!(*world.watch.lines.lock(), ["one", "two"]);
    assert_eq!(world.watch.envelopes.lock().len(), 1);
}

/// C109: a runtime that refuses or panics is an ordinary failure.
#[test]
fn a_runtime_that_breaks_fails_the_call() {
    let world = World::bare(Mode::Code);
    let refusing =
        world.mount(FakeRuntime::new(|_| async { Ok(None) }).refusing("the backend broke"));
    let settled = world.run();
    assert_eq!(text(&settled), "Error: the backend broke");
    assert!(settled.error().unwrap().info.is_none());
    refusing.dispose();
    world.mount(FakeRuntime::new(|_| async { panic!("boom") }));
    assert_eq!(text(&world.run()), "Error: the code runtime panicked");
    let failures: Vec<_> = world
        .watch
        .envelopes
        .lock()
        .iter()
        .map(|envelope| envelope.failure.clone())
        .collect();
    assert_eq!(
        failures,
        [
            Some("the backend broke".to_owned()),
            Some("the code runtime panicked".to_owned())
        ]
    );
}

/// C109: what a runtime throws may panic in turn when it is dropped, and so may what its future holds.
#[test]
fn a_panic_that_cannot_be_dropped_is_contained() {
    let world = World::bare(Mode::Code);
    let thrown = world.mount(FakeRuntime::new(|_| async { panic_any(Bomb) }));
    assert_eq!(text(&world.run()), "Error: the code runtime panicked");
    thrown.dispose();
    world.mount(FakeRuntime::new(|_| async {
        let _bomb = Bomb;
        Ok(None)
    }));
    assert_eq!(text(&world.run()), "Error: the code runtime panicked");
}

/// D4: a value that would be too deep as a member of the result.
#[test]
fn the_deepest_completion_is_no_panic() {
    let deep = format!("{}{}", "[".repeat(512), "]".repeat(512));
    let world = World::running(move |_| {
        let deep = deep.clone();
        async move { Ok(Some(Document::parse(deep).unwrap())) }
    });
    assert!(
        text(&world.run()).contains("(invalid-output): program completion must be lossless JSON")
    );
}

/// C3, C224.
#[test]
fn a_configuration_that_cannot_work_is_refused() {
    let fiber = dsh_context::Fiber::root("test");
    let mount = |config| {
        let (tools, prompt) = (
            Tools::new(ToolsConfig::default()),
            Prompt::new(PromptConfig::default()),
        );
        CodeMode::mount(&fiber, &tools, &prompt, config)
            .map(drop)
            .map_err(|error| error.to_string())
    };
    let none = CodeConfig {
        max_parallel_sub_calls: 0,
        ..CodeConfig::default()
    };
    assert_eq!(
        mount(none).unwrap_err(),
        "maxParallelSubCalls must be a positive integer"
    );
    let limits = Some(Limits {
        wall_ms: 0,
        ..Limits::default()
    });
    assert_eq!(
        mount(CodeConfig {
            limits,
            ..CodeConfig::default()
        })
        .unwrap_err(),
        "maxWallMs must be a positive number"
    );
    mount(CodeConfig::default()).unwrap();
}

/// C185.
#[test]
fn one_runtime_at_a_time() {
    let world = World::bare(Mode::Code);
    let idle = || Arc::new(FakeRuntime::new(|_| async { Ok(None) }));
    let first = world.code.mount_runtime(&world.fiber, idle()).unwrap();
    let second = world.code.mount_runtime(&world.fiber, idle()).unwrap_err();
    assert_eq!(second.code(), "CODE_MODE_REFUSED");
    assert_eq!(
        second.to_string(),
        "a code runtime for \"typescript\" is mounted already; dispose it first"
    );
    first.dispose();
    assert!(world.code.runtime().is_none());
    let plugin = world.fiber.child("plugin").unwrap();
    world.code.mount_runtime(&plugin, idle()).unwrap();
    block_on(plugin.dispose());
    assert!(world.code.runtime().is_none());
    assert!(world.code.mount_runtime(&plugin, idle()).is_err());
    assert!(
        world.code.runtime().is_none(),
        "a refused runtime is not left behind"
    );
}

/// C187 through the tool.
#[test]
fn a_disposed_runtime_refuses() {
    let world = World::bare(Mode::Code);
    let runtime = FakeRuntime::new(|_| async { Ok(None) });
    world.mount(runtime.clone());
    block_on(dsh_code::CodeRuntime::dispose(&runtime));
    assert_eq!(
        text(&world.run()),
        "Error: code runtime cannot run a program after disposal"
    );
}

/// C187, C168: a disposal ends what runs, and what it had started is settled.
#[test]
fn a_runtime_that_is_disposed_ends_its_programs() {
    let world = World::bare(Mode::Code);
    let runtime = FakeRuntime::new(|program| async move {
        program.expect("hang", "{}").await?;
        Ok(None)
    });
    world.mount(runtime.clone());
    let hang = world.tool(MockTool::new("hang").waits_for_signal());
    let call = world.call(Signal::never());
    let mut run = dsh_testkit::Driven::new(world.tools.execute(call));
    assert!(run.until_stalled().is_none());
    block_on(dsh_code::CodeRuntime::dispose(&runtime));
    let settled = run.until_stalled().unwrap();
    assert_eq!(
        text(&settled),
        "Error: code run failed (abort): runtime disposed"
    );
    assert_eq!((hang.calls(), hang.finished()), (1, 1));
    assert_eq!(
        world.log.summary(),
        ["start:k7:code:1", "settle:k7:code:1!"]
    );
}

/// D15 and the envelope: what is left behind is for the operator.
#[test]
fn the_envelope_has_what_the_model_does_not() {
    let host = dsh_testkit::FakeHost::new();
    let clock = host.clone();
    let config = CodeConfig {
        host: Some(Arc::new(host)),
        ..CodeConfig::default()
    };
    let world = World::running_with(config, move |program| {
        let clock = clock.clone();
        async move {
            program.print("line");
            program.expect("ok", "{}").await?;
            clock.advance(std::time::Duration::from_millis(5));
            let _failed = program.call("bad", r#"{"a":1}"#).await;
            drop(program.call("hang", "{}"));
            dsh_testkit::yield_once().await;
            drop(program.call("hang", "{}"));
            program.report(|report| {
                report
                    .rejections
                    .push("Error: nobody caught this".to_owned())
            });
            Ok(None)
        }
    });
    world.tool(MockTool::new("ok").returns("1"));
    world.tool(MockTool::new("bad").fails("no"));
    world.tool(MockTool::new("hang").waits_for_signal().returns("1"));
    let settled = world.run();
    assert_eq!(text(&settled), "line");
    assert_eq!(*world.watch.lines.lock(), ["line"]);
    let envelope = serde_json::to_value(&world.watch.envelopes.lock()[0]).unwrap();
    assert_eq!(envelope["callId"], "k7");
    assert_eq!(envelope["programDigest"].as_str().unwrap().len(), 64);
    assert_eq!(
        (
            &envelope["description"],
            &envelope["language"],
            &envelope["isolation"]
        ),
        (&json!("Do it"), &json!("typescript"), &json!("fake"))
    );
    assert_eq!(
        envelope["report"]["rejections"],
        json!(["Error: nobody caught this"])
    );
    let calls: Vec<_> = envelope["calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| {
            json!([
                call["tool"],
                call["outcome"],
                call["code"],
                call["unsettled"]
            ])
        })
        .collect();
    assert_eq!(
        calls,
        [
            json!(["ok", "success", null, null]),
            json!(["bad", "failure", null, null]),
            json!(["hang", "aborted", "ABORTED", true]),
            json!(["hang", "abandoned", null, true]),
        ]
    );
    assert_eq!(envelope["calls"][0]["durationMs"], 0);
    let empty = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
    assert_eq!(
        envelope["calls"][0]["argumentsDigest"], empty,
        "SHA-256 of {{}}"
    );
}
