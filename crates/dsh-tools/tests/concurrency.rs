//! Execution modes and the ordered lane: chapter 7 (T307–T322), and the batches of the loop (L254–L269, D45).

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod rig;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dsh_context::Scope;
use dsh_schema::Document;
use dsh_schema::spec::{self, ParameterSpec};
use dsh_testkit::{
    Answer, Driven, Gate, MockTool, Probe, ScriptedApprover, Trace, block_on, yield_once,
};
use dsh_tools::lane::{LaneConfig, LaneEvents, Overlap, Planner, Step, Unstarted};
use dsh_tools::{
    Access, ApprovalOutcome, Arguments, Call, Checking, Denial, Execution, ExecutionMode,
    PreDecision, Reason, Restriction, Settled, Signal, Tool, ToolError, Tools,
};
use proptest::prelude::*;
use rig::{Rig, call, code_of, named, text_of};

/// What a log would hold: `call <id>` and `result <id>`; fails where told to.
#[derive(Clone)]
struct Log {
    trace: Trace,
    fail_at: Option<&'static str>,
}

impl Log {
    fn note(&self, entry: String) -> Result<(), ToolError> {
        let fails = self.fail_at == Some(entry.as_str());
        self.trace.note(entry);
        if fails {
            Err(ToolError::new("the log is full"))
        } else {
            Ok(())
        }
    }
}

impl LaneEvents for Log {
    fn starting(&mut self, call: &Call) -> Result<(), ToolError> {
        self.note(format!("call {}", call.id))
    }

    fn committed(&mut self, settled: &Settled) -> Result<(), ToolError> {
        self.note(format!("result {}", settled.execution().id()))
    }
}

fn log(rig: &Rig) -> Log {
    Log {
        trace: rig.trace.clone(),
        fail_at: None,
    }
}

fn config(cap: usize) -> LaneConfig {
    LaneConfig {
        cap,
        ..LaneConfig::new(Signal::never())
    }
}

fn batch(names: &[&str]) -> Vec<Call> {
    let numbered = |(index, name): (usize, &&str)| {
        Call::new(format!("{}", index + 1), *name, "{}", Signal::never())
    };
    names.iter().enumerate().map(numbered).collect()
}

/// A safe tool that waits for a gate of its own, without any notes of its own.
fn gated(rig: &Rig, name: &str) -> (Gate, Probe) {
    let gate = Gate::new();
    let (tool, probe) = MockTool::new(name)
        .passes(&gate)
        .concurrency_safe()
        .build()
        .unwrap();
    rig.register(tool);
    (gate, probe)
}

/// T307–T311, T315: what makes a call parallel, and everything that does not.
#[test]
fn classification() {
    let rig = Rig::new();
    let scope = Scope::new("a");
    let mode = |name: &str, arguments: &str| {
        rig.tools
            .execution_mode(&Call::new("c", name, arguments, Signal::never()).agent(&scope))
    };
    let (parallel, exclusive) = (ExecutionMode::Parallel, ExecutionMode::Exclusive);
    rig.register(named("plain"));
    let safe = rig.register(MockTool::new("safe").concurrency_safe().build().unwrap().0);
    let by_arguments = Tool::new("by-arguments", "Reads or writes.")
        .parameters(ParameterSpec::new().required("write", spec::boolean()))
        .returns(spec::json())
        .concurrency_safe_when(|args: &Document| {
            args.root().get("write").and_then(|w| w.as_bool()) == Some(false)
        })
        .run(|args, _| async { Ok(args) })
        .unwrap();
    rig.register(by_arguments);
    let raw = Tool::new("raw", "Anything goes.")
        .parameters_schema(rig::json(r#"{"type":"object"}"#), Checking::Unchecked)
        .returns(spec::json())
        .concurrency_safe_when(|args: &Document| args.root().as_str() == Some("text"))
        .run(|args, _| async { Ok(args) })
        .unwrap();
    rig.register(raw);
    assert_eq!(mode("plain", "{}"), exclusive, "no classifier");
    assert_eq!(mode("safe", "{}"), parallel);
    assert_eq!(mode("nowhere", "{}"), exclusive, "T308");
    assert_eq!(mode("by-arguments", r#"{"write":false}"#), parallel, "T311");
    assert_eq!(mode("by-arguments", r#"{"write":true}"#), exclusive);
    assert_eq!(
        mode("by-arguments", "{}"),
        exclusive,
        "T309: invalid arguments are no error here"
    );
    assert_eq!(
        mode("by-arguments", "{\"write\":false,\"n\":-0}"),
        exclusive,
        "lossy arguments neither"
    );
    assert_eq!(mode("raw", "\"text\""), parallel, "T310: as given");
    assert_eq!(mode("raw", "not json"), exclusive);
    let mask = rig
        .tools
        .scoped(&scope)
        .restrict(Restriction::deny(["safe"]))
        .unwrap();
    assert_eq!(mode("safe", "{}"), exclusive, "T308: restricted away");
    mask.dispose();
    assert_eq!(mode("safe", "{}"), parallel);
    safe.dispose();
    rig.register(named("safe"));
    assert_eq!(mode("safe", "{}"), exclusive, "T315");
    assert_eq!(
        serde_json::to_string(&parallel).unwrap(),
        r#"{"kind":"parallel"}"#,
        "T30"
    );
    assert_eq!(
        serde_json::to_string(&exclusive).unwrap(),
        r#"{"kind":"exclusive"}"#
    );
}

/// T316, T319, L261: neighbouring safe calls overlap; results come in the order of the calls.
#[test]
fn safe_calls_overlap_and_commit_in_order() {
    let rig = Rig::new();
    let (first, _) = gated(&rig, "first");
    let (second, _) = gated(&rig, "second");
    let mut lane = Driven::new(rig.tools.execute_batch(
        batch(&["first", "second"]),
        config(10),
        log(&rig),
    ));
    assert!(lane.until_stalled().is_none());
    assert_eq!((first.arrivals(), second.arrivals()), (1, 1));
    second.open();
    assert!(lane.until_stalled().is_none());
    assert_eq!(
        rig.trace.entries(),
        ["call 1", "call 2"],
        "a fast later call is held back"
    );
    assert_eq!(rig.invariants.executions(), 0);
    first.open();
    let settled = lane.until_stalled().unwrap().unwrap();
    assert_eq!(
        rig.trace.take(),
        ["call 1", "call 2", "result 1", "result 2"]
    );
    assert_eq!(
        settled
            .iter()
            .map(|s| s.execution().id().as_str())
            .collect::<Vec<_>>(),
        ["1", "2"]
    );
}

/// T317: at most `cap` bodies run, and a slot is refilled as soon as one settles.
#[test]
fn the_pool_rolls() {
    let rig = Rig::new();
    let gates: Vec<_> = ["a", "b", "c", "d"]
        .iter()
        .map(|name| gated(&rig, name).0)
        .collect();
    let running = |expected: [usize; 4]| {
        assert_eq!(
            gates.iter().map(Gate::arrivals).collect::<Vec<_>>(),
            expected
        );
    };
    let mut lane = Driven::new(rig.tools.execute_batch(
        batch(&["a", "b", "c", "d"]),
        config(2),
        log(&rig),
    ));
    assert!(lane.until_stalled().is_none());
    running([1, 1, 0, 0]);
    gates[1].open();
    assert!(lane.until_stalled().is_none());
    running([1, 1, 1, 0]);
    gates[2].open();
    assert!(lane.until_stalled().is_none());
    running([1, 1, 1, 1]);
    gates[3].open();
    gates[0].open();
    assert!(lane.until_stalled().unwrap().is_ok());
}

/// L264: cap 2, four safe calls, the first one ends first.
#[test]
fn the_example_of_l264() {
    let rig = Rig::new();
    let gates: Vec<_> = ["a", "b", "c", "d"]
        .iter()
        .map(|name| gated(&rig, name).0)
        .collect();
    let mut lane = Driven::new(rig.tools.execute_batch(
        batch(&["a", "b", "c", "d"]),
        config(2),
        log(&rig),
    ));
    assert!(lane.until_stalled().is_none());
    gates[0].open();
    assert!(lane.until_stalled().is_none());
    assert_eq!(rig.trace.take(), ["call 1", "call 2", "result 1", "call 3"]);
    gates[1].open();
    assert!(lane.until_stalled().is_none());
    assert_eq!(rig.trace.take(), ["result 2", "call 4"]);
    gates.iter().for_each(Gate::open);
    assert!(lane.until_stalled().unwrap().is_ok());
    assert_eq!(rig.trace.take(), ["result 3", "result 4"]);
}

/// T317: a cap of one is serial, and so is a cap of zero.
#[test]
fn a_cap_of_one_is_serial() {
    for cap in [0, 1] {
        let rig = Rig::new();
        let probe = rig.mock(MockTool::new("t").yields(2).concurrency_safe());
        let settled = block_on(rig.tools.execute_batch(batch(&["t"; 5]), config(cap), ())).unwrap();
        assert_eq!((settled.len(), probe.peak(), probe.finished()), (5, 1, 5));
        rig.trace
            .take()
            .chunks(2)
            .for_each(|pair| assert_eq!(pair, ["t:start", "t:end"]));
    }
}

/// T316, T322, L256: an exclusive call starts when nothing runs, runs alone, and the next call waits for its post-execute.
#[test]
fn an_exclusive_call_is_a_barrier_until_it_is_committed() {
    let rig = Rig::new();
    let (before, _) = gated(&rig, "before");
    let (after, _) = gated(&rig, "after");
    let body = Gate::new();
    rig.mock(MockTool::new("alone").passes(&body));
    let post = Gate::new();
    let door = post.clone();
    rig.global()
        .on_post_execute(move |execution, _, next| {
            let door = door.clone();
            async move {
                if execution.name() == "alone" {
                    door.pass().await;
                }
                next.run().await
            }
        })
        .unwrap();
    let mut lane = Driven::new(rig.tools.execute_batch(
        batch(&["before", "alone", "after", "after"]),
        config(10),
        log(&rig),
    ));
    assert!(lane.until_stalled().is_none());
    assert_eq!(
        (before.arrivals(), body.arrivals()),
        (1, 0),
        "it waits for what runs"
    );
    before.open();
    assert!(lane.until_stalled().is_none());
    assert_eq!(
        (body.arrivals(), after.arrivals()),
        (1, 0),
        "nothing crosses it"
    );
    body.open();
    assert!(lane.until_stalled().is_none());
    assert_eq!(
        (post.arrivals(), after.arrivals()),
        (1, 0),
        "not before its post-execute"
    );
    post.open();
    assert!(lane.until_stalled().is_none());
    assert_eq!(after.arrivals(), 2);
    after.open();
    assert!(lane.until_stalled().unwrap().is_ok());
    let log: Vec<_> = rig
        .trace
        .take()
        .into_iter()
        .filter(|entry| !entry.starts_with("alone"))
        .collect();
    assert_eq!(
        log,
        [
            "call 1", "result 1", "call 2", "result 2", "call 3", "call 4", "result 3", "result 4"
        ],
    );
}

/// T318, L258, T315: a call is classified right before it starts; a replaced tool drains the pool, and runs as the new one.
#[test]
fn calls_are_classified_when_they_would_start() {
    let rig = Rig::new();
    let (gate, _) = gated(&rig, "first");
    let swapped = rig.register(
        MockTool::new("second")
            .concurrency_safe()
            .build()
            .unwrap()
            .0,
    );
    let (tools, receiver) = (rig.tools.clone(), rig.global());
    rig.global()
        .on_pre_execute(move |execution, next| {
            if execution.name() == "first" {
                tools
                    .update(|update| {
                        update.remove(&swapped)?;
                        update.register(&receiver, named("second"))
                    })
                    .unwrap();
            }
            async move { next.run().await }
        })
        .unwrap();
    let mut lane = Driven::new(rig.tools.execute_batch(
        batch(&["first", "second"]),
        config(10),
        log(&rig),
    ));
    assert!(lane.until_stalled().is_none());
    assert_eq!(rig.trace.entries(), ["call 1"]);
    gate.open();
    let settled = lane.until_stalled().unwrap().unwrap();
    assert_eq!(text_of(&settled[1]), "second");
}

/// T318: nobody is asked about a call that cannot start now, whatever it is.
#[test]
fn a_full_pool_asks_about_nothing() {
    let mut planner = Planner::new(2, Overlap::Exclusive);
    let parallel = |_| (ExecutionMode::Parallel, None);
    for call in 0..3 {
        assert_eq!(planner.submit(), call);
    }
    assert_eq!(planner.next(parallel), Step::Start(0));
    assert_eq!(planner.next(parallel), Step::Start(1));
    assert_eq!(planner.next(|_| panic!("the pool is full")), Step::Wait);
    planner.settled(1);
    assert_eq!(planner.next(parallel), Step::Start(2));
}

/// D44, D45: a call whose arguments do not decode does not say that it touches nothing.
#[test]
fn what_does_not_decode_declares_nothing() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Small {
        number: u8,
    }
    let tool = Tool::new("small", "Small numbers.")
        .args::<Small>()
        .output::<u8>()
        .access(|small: &Small| [Access::other(small.number.to_string())])
        .run(|small, _| async move { Ok(small.number) })
        .unwrap();
    assert_eq!(tool.access(&rig::json(r#"{"number":1}"#)).unwrap().len(), 1);
    assert_eq!(tool.access(&rig::json(r#"{"number":256}"#)), None);
    assert_eq!(tool.access(&rig::json("{}")), None);
}

/// T318, T261: the text is parsed once however often the call is classified, and a log sees it as it was submitted.
#[test]
fn classification_leaves_the_text_alone() {
    #[derive(Clone)]
    struct Texts(Trace);
    impl LaneEvents for Texts {
        fn starting(&mut self, call: &Call) -> Result<(), ToolError> {
            self.0.note(match &call.arguments {
                Arguments::Text(text) => format!("text {text}"),
                Arguments::Document(document) => format!("document {}", document.text()),
            });
            Ok(())
        }
    }
    let rig = Rig::new();
    let (gate, _) = gated(&rig, "slow");
    let echo = Tool::new("echo", "Say what came.")
        .parameters(ParameterSpec::new())
        .returns(spec::string())
        .concurrency_safe()
        .access(|_: &Document| [Access::read("a")])
        .run(|args, _| async move { Ok(Document::string(args.text())) })
        .unwrap();
    rig.register(echo);
    let texts = ["", r#"{ "a" : 1e0 }"#, r#"{"a":-0}"#, "no JSON"];
    let mut calls = batch(&["slow"]);
    calls.extend(texts.map(|text| Call::new(format!("of {text}"), "echo", text, Signal::never())));
    let mut lane = Driven::new(
        rig.tools
            .execute_batch(calls, config(2), Texts(rig.trace.clone())),
    );
    assert!(lane.until_stalled().is_none());
    gate.open();
    let settled = lane.until_stalled().unwrap().unwrap();
    assert_eq!(
        rig.trace.take(),
        [
            "text {}",
            "text ",
            "text { \"a\" : 1e0 }",
            "text {\"a\":-0}",
            "text no JSON"
        ]
    );
    let ended: Vec<String> = settled[1..].iter().map(|one| text_of(one)).collect();
    assert_eq!(
        ended,
        [
            "{}",
            "{ \"a\" : 1e0 }",
            "Error: tool execution arguments must be losslessly JSON-serializable",
            "Error: invalid arguments: \"arguments\" must be an object"
        ]
    );
}

/// T293, T299: a result that waits for the commits before it is still under the signal, listeners or not.
#[test]
fn a_result_that_waits_for_its_turn_can_be_cancelled() {
    for listens in [false, true] {
        let rig = Rig::new();
        let (gate, _) = gated(&rig, "slow");
        rig.mock(MockTool::new("fast").concurrency_safe());
        if listens {
            rig.global()
                .on_post_execute(|_, _, next| async move { next.run().await })
                .unwrap();
        }
        let (canceller, signal) = Signal::pair();
        let calls = ["slow", "fast"].map(|name| Call::new(name, name, "{}", signal.clone()));
        let mut lane = Driven::new(rig.tools.execute_batch(
            calls.to_vec(),
            LaneConfig::new(signal),
            (),
        ));
        assert!(lane.until_stalled().is_none());
        canceller.cancel(Reason::Cancelled);
        gate.open();
        let settled = lane.until_stalled().unwrap().unwrap();
        let codes: Vec<_> = settled.iter().map(|one| code_of(one)).collect();
        assert_eq!(codes, [Some("ABORTED"), Some("ABORTED")], "{listens}");
    }
}

/// T319, L259, L260: policy and post-execute never overlap, while bodies go on.
#[test]
fn ordered_stages_never_overlap() {
    let rig = Rig::new();
    let busy = Arc::new(AtomicUsize::new(0));
    let ordered = move |busy: &Arc<AtomicUsize>| {
        let busy = busy.clone();
        async move {
            assert_eq!(
                busy.fetch_add(1, Ordering::AcqRel),
                0,
                "two ordered stages at once"
            );
            for _ in 0..3 {
                yield_once().await;
            }
            busy.fetch_sub(1, Ordering::AcqRel);
        }
    };
    let shared = busy.clone();
    rig.global()
        .on_pre_execute(move |_, next| {
            let stage = ordered(&shared);
            async move {
                stage.await;
                next.run().await
            }
        })
        .unwrap();
    let shared = busy;
    rig.global()
        .on_post_execute(move |_, _, next| {
            let stage = ordered(&shared);
            async move {
                stage.await;
                next.run().await
            }
        })
        .unwrap();
    let probe = rig.mock(MockTool::new("t").yields(6).concurrency_safe());
    let settled = block_on(rig.tools.execute_batch(batch(&["t"; 8]), config(4), ())).unwrap();
    assert!(settled.iter().all(|settled| !settled.is_error()));
    assert!(
        (2..=4).contains(&probe.peak()),
        "bodies overlap, {} at once",
        probe.peak()
    );
}

/// L262, L263: a call that never reaches its body takes no slot; a call whose arguments fail its schema does.
#[test]
fn a_denied_call_takes_no_slot() {
    let rig = Rig::new();
    let (gate, _) = gated(&rig, "t");
    rig.global()
        .guard(|e: &Execution| (e.id().as_str() == "2").then(|| Denial::new("no")))
        .unwrap();
    let mut lane = Driven::new(rig.tools.execute_batch(
        batch(&["t", "t", "t", "nope"]),
        config(2),
        log(&rig),
    ));
    assert!(lane.until_stalled().is_none());
    assert_eq!(
        gate.arrivals(),
        2,
        "1 and 3 run: 2 is denied and has no slot"
    );
    gate.open();
    let settled = lane.until_stalled().unwrap().unwrap();
    let texts: Vec<_> = settled.iter().map(|settled| text_of(settled)).collect();
    assert_eq!(
        texts,
        ["null", "Error: no", "null", "Error: unknown tool \"nope\""]
    );
}

/// T262, L265: the contexts of a result are there when it is committed, in order.
#[test]
fn every_result_is_observed_before_it_is_committed() {
    let rig = Rig::new();
    rig.mock(MockTool::new("t").yields(1).concurrency_safe());
    let trace = rig.trace.clone();
    rig.global()
        .on_result(move |execution, _| trace.note(format!("observed {}", execution.id())))
        .unwrap();
    block_on(
        rig.tools
            .execute_batch(batch(&["t", "t"]), config(2), log(&rig)),
    )
    .unwrap();
    let log: Vec<_> = rig
        .trace
        .take()
        .into_iter()
        .filter(|entry| !entry.starts_with("t:"))
        .collect();
    assert_eq!(
        log,
        [
            "call 1",
            "call 2",
            "observed 1",
            "result 1",
            "observed 2",
            "result 2"
        ]
    );
}

/// T320, T263: a cancelled batch starts nothing more, drains what runs, commits in order, and answers the rest.
#[test]
fn a_cancelled_batch_answers_every_call() {
    for unstarted in [Unstarted::Abort, Unstarted::Forget] {
        let rig = Rig::new();
        let probe = rig.mock(MockTool::new("t").waits_for_signal().concurrency_safe());
        let (canceller, signal) = Signal::pair();
        let calls = batch(&["t"; 4]).into_iter().map(|mut call| {
            call.signal = signal.clone();
            call
        });
        let config = LaneConfig {
            cap: 2,
            unstarted,
            ..LaneConfig::new(signal.clone())
        };
        let mut lane = Driven::new(rig.tools.execute_batch(calls.collect(), config, log(&rig)));
        assert!(lane.until_stalled().is_none());
        canceller.cancel(Reason::Cancelled);
        let settled = lane.until_stalled().unwrap().unwrap();
        let codes: Vec<_> = settled
            .iter()
            .map(|settled| code_of(settled).unwrap())
            .collect();
        let log: Vec<_> = rig
            .trace
            .take()
            .into_iter()
            .filter(|entry| !entry.starts_with("t:"))
            .collect();
        assert_eq!(probe.calls(), 2);
        match unstarted {
            Unstarted::Abort => {
                assert_eq!(
                    codes,
                    [
                        "ABORTED",
                        "ABORTED",
                        "ABORTED_BEFORE_DISPATCH",
                        "ABORTED_BEFORE_DISPATCH"
                    ]
                );
                let expected = [
                    "call 1", "call 2", "result 1", "result 2", "call 3", "result 3", "call 4",
                    "result 4",
                ];
                assert_eq!(log, expected);
            }
            Unstarted::Forget => {
                assert_eq!(codes, ["ABORTED", "ABORTED"]);
                assert_eq!(log, ["call 1", "call 2", "result 1", "result 2"]);
            }
        }
        rig.invariants.check();
    }
}

/// T321, L269: a failure of the scheduling ends the batch after what runs has ended, and invents no results.
#[test]
fn a_failing_log_ends_the_batch() {
    for (fail_at, calls, logged) in [
        ("call 1", 0, vec!["call 1"]),
        ("call 2", 1, vec!["call 1", "call 2"]),
        ("result 1", 2, vec!["call 1", "call 2", "result 1"]),
    ] {
        let rig = Rig::new();
        let (tool, probe) = MockTool::new("t")
            .yields(2)
            .concurrency_safe()
            .build()
            .unwrap();
        rig.register(tool);
        let log = Log {
            trace: rig.trace.clone(),
            fail_at: Some(fail_at),
        };
        let error = block_on(
            rig.tools
                .execute_batch(batch(&["t", "t", "t"]), config(2), log),
        )
        .unwrap_err();
        assert_eq!(error.message(), "the log is full");
        assert_eq!(
            (probe.calls(), probe.finished(), probe.lost()),
            (calls, calls, 0),
            "{fail_at}"
        );
        assert_eq!(rig.trace.take(), logged, "{fail_at}");
        assert_eq!(rig.invariants.executions(), calls);
        rig.invariants.check();
        rig.assert_usable();
    }
}

/// A log that panics is a failure of the scheduling like any other.
#[test]
fn a_panicking_log_ends_the_batch() {
    struct Panics;
    impl LaneEvents for Panics {
        fn starting(&mut self, _: &Call) -> Result<(), ToolError> {
            panic!("log")
        }
    }
    let rig = Rig::new();
    let probe = rig.mock(MockTool::new("t"));
    let error = block_on(rig.tools.execute_batch(batch(&["t"]), config(2), Panics)).unwrap_err();
    assert_eq!(
        (error.message(), error.is_panic(), probe.calls()),
        ("log", true, 0)
    );
}

fn touching(name: &str, gate: &Gate, access: Option<Vec<Access>>) -> Tool {
    let mock = MockTool::new(name).passes(gate);
    let tool = match access {
        Some(access) => mock.build_with(|builder| builder.access(move |_| access.clone())),
        None => mock.build(),
    };
    tool.unwrap().0
}

/// D45: with `by-access`, calls that are not safe overlap when what they declare is disjoint; the default is a barrier.
#[test]
fn disjoint_calls_overlap_by_access() {
    let read = |path| Some(vec![Access::read(path)]);
    let write = |path| Some(vec![Access::write(path)]);
    for (first, second, overlap, together) in [
        (write("a"), write("b"), Overlap::ByAccess, true),
        (write("a"), write("b"), Overlap::Exclusive, false),
        (write("a"), read("a"), Overlap::ByAccess, false),
        (read("a"), read("a"), Overlap::ByAccess, true),
        (write("dir"), write("dir/file"), Overlap::ByAccess, false),
        (write("a"), None, Overlap::ByAccess, false),
        (None, write("a"), Overlap::ByAccess, false),
        (
            Some(vec![Access::script("ls")]),
            read("a"),
            Overlap::ByAccess,
            false,
        ),
        (
            Some(vec![Access::network("x")]),
            Some(vec![Access::network("x")]),
            Overlap::ByAccess,
            true,
        ),
    ] {
        let (rig, gates) = (Rig::new(), [Gate::new(), Gate::new()]);
        rig.register(touching("first", &gates[0], first.clone()));
        rig.register(touching("second", &gates[1], second.clone()));
        let config = LaneConfig {
            overlap,
            ..config(10)
        };
        let mut lane = Driven::new(rig.tools.execute_batch(
            batch(&["first", "second"]),
            config,
            (),
        ));
        assert!(lane.until_stalled().is_none());
        assert_eq!(
            gates[1].arrivals() == 1,
            together,
            "{first:?} and {second:?}, {overlap:?}"
        );
        gates.iter().for_each(Gate::open);
        assert!(lane.until_stalled().unwrap().is_ok());
    }
}

/// D45, T312: beside a safe call that says nothing of what it touches, a declared write waits; two safe calls overlap
/// whatever they declare.
#[test]
fn an_undeclared_safe_call_and_a_declared_write_do_not_overlap() {
    let parallel = || (ExecutionMode::Parallel, None);
    let safe_write = || (ExecutionMode::Parallel, Some(vec![Access::write("a")]));
    let write = || (ExecutionMode::Exclusive, Some(vec![Access::write("a")]));
    let read = || (ExecutionMode::Exclusive, Some(vec![Access::read("a")]));
    type Classified = (ExecutionMode, Option<Vec<Access>>);
    let check = |first: Classified, second: Classified, expected: Step| {
        let mut planner = Planner::new(10, Overlap::ByAccess);
        planner.submit();
        planner.submit();
        assert_eq!(planner.next(|_| first.clone()), Step::Start(0));
        assert_eq!(
            planner.next(|_| second.clone()),
            expected,
            "{first:?} then {second:?}"
        );
    };
    check(parallel(), write(), Step::Wait);
    check(write(), parallel(), Step::Wait);
    check(parallel(), read(), Step::Start(1));
    check(read(), parallel(), Step::Start(1));
    check(safe_write(), safe_write(), Step::Start(1));
    check(safe_write(), write(), Step::Wait);
    check(parallel(), parallel(), Step::Start(1));
    check(parallel(), (ExecutionMode::Exclusive, None), Step::Wait);
}

/// A lane that calls are submitted to as they come: one order, and an end when nobody can submit any more.
#[test]
fn a_lane_takes_calls_as_they_come() {
    let rig = Rig::new();
    rig.mock(MockTool::new("t").yields(1).concurrency_safe());
    let (handle, lane) = rig.tools.lane(config(2), log(&rig));
    let mut lane = Driven::new(lane);
    assert!(lane.until_stalled().is_none());
    let mut calls = batch(&["t", "t"]).into_iter();
    let first = handle.submit(calls.next().unwrap());
    assert!(lane.until_stalled().is_none(), "it waits for more");
    assert!(block_on(first).is_some());
    let other = handle.clone();
    drop(handle);
    let second = other.submit(calls.next().unwrap());
    drop(other);
    assert!(lane.until_stalled().unwrap().is_ok());
    assert!(block_on(second).is_some());
}

/// A handle that outlives its lane is told so: by `close`, by cancellation, and by a failing log.
#[test]
fn a_reply_never_outlives_its_lane() {
    for end in ["close", "cancel", "fail", "drop"] {
        let rig = Rig::new();
        rig.mock(MockTool::new("t"));
        let (canceller, signal) = Signal::pair();
        let log = Log {
            trace: rig.trace.clone(),
            fail_at: (end == "fail").then_some("call 1"),
        };
        let (handle, lane) = rig.tools.lane(LaneConfig::new(signal), log);
        let mut lane = Driven::new(lane);
        assert!(lane.until_stalled().is_none());
        match end {
            "close" => handle.close(),
            "cancel" => _ = canceller.cancel(Reason::Cancelled),
            "fail" => drop(handle.submit(batch(&["t"]).remove(0))),
            _ => {}
        }
        if end == "drop" {
            drop(lane);
            rig.spawner.run_until_stalled();
        } else {
            assert_eq!(
                lane.until_stalled().unwrap().is_err(),
                end == "fail",
                "{end}"
            );
        }
        let late = Driven::new(handle.submit(call("t"))).until_stalled();
        assert!(
            matches!(late, Some(None)),
            "{end}: a late call is not taken"
        );
    }
}

/// T320: what came in when the lane was already stopping is answered like the rest.
#[test]
fn calls_that_race_with_the_end_are_answered() {
    let rig = Rig::new();
    rig.mock(MockTool::new("t"));
    let (canceller, signal) = Signal::pair();
    let (handle, lane) = rig.tools.lane(LaneConfig::new(signal), ());
    let mut lane = Driven::new(lane);
    assert!(lane.until_stalled().is_none());
    canceller.cancel(Reason::Cancelled);
    let reply = handle.submit(call("t"));
    assert!(lane.until_stalled().is_some());
    let settled = Driven::new(reply).until_stalled().unwrap().unwrap();
    assert_eq!(code_of(&settled), Some("ABORTED_BEFORE_DISPATCH"));
}

/// D5 for a batch: dropped at any await point, every started call has one outcome and every body ends.
#[test]
fn a_lane_dropped_at_any_await_point_is_drained() {
    let drop_after = |polls: usize| {
        let rig = Rig::new();
        rig::yield_in_every_stage(&rig.global()).unwrap();
        let safe = rig.mock(MockTool::new("safe").yields(2).concurrency_safe());
        let alone = rig.mock(MockTool::new("alone").yields(1));
        let sibling = rig.mock(MockTool::new("sibling").waits_for_signal());
        let mut other = Driven::new(rig.tools.execute(call("sibling")));
        assert!(other.until_stalled().is_none());
        let calls = batch(&["safe", "safe", "safe", "alone", "safe"]);
        let mut lane = Driven::new(rig.tools.execute_batch(calls, config(2), log(&rig)));
        for _ in 0..polls {
            if lane.poll().is_some() {
                return false;
            }
        }
        drop(lane);
        rig.spawner.run_until_stalled();
        assert!(
            other.until_stalled().is_none(),
            "polls {polls}: a sibling goes on"
        );
        assert_eq!(
            (safe.lost(), alone.lost(), sibling.running()),
            (0, 0, 1),
            "polls {polls}"
        );
        let started = rig
            .trace
            .entries()
            .iter()
            .filter(|entry| entry.starts_with("call "))
            .count();
        assert_eq!(
            rig.invariants.executions(),
            started,
            "polls {polls}: one outcome for each that began"
        );
        rig.invariants.check();
        assert_eq!(rig.spawner.pending(), 0, "polls {polls}");
        assert!(
            Driven::new(rig.tools.close()).until_stalled().is_some(),
            "polls {polls}: close returns"
        );
        true
    };
    assert!((0..).take_while(|polls| drop_after(*polls)).count() > 10);
}

/// D5, T279: dropping a lane withdraws the question that one of its calls waits for.
#[test]
fn a_dropped_lane_withdraws_its_questions() {
    let (rig, gate) = (Rig::new(), Gate::new());
    let probe = rig.mock(MockTool::new("t"));
    let scope = Scope::new("agent");
    let approver =
        ScriptedApprover::new([Answer::When(gate.clone(), ApprovalOutcome::AllowedOnce)]);
    rig.global()
        .mount_approvals(approver.into_approvals())
        .unwrap();
    rig.global()
        .on_pre_execute(|_, _| async { Ok(PreDecision::ask("sure?")) })
        .unwrap();
    let calls = batch(&["t"])
        .into_iter()
        .map(|call| call.agent(&scope))
        .collect();
    let mut lane = Driven::new(rig.tools.execute_batch(calls, config(2), ()));
    assert!(lane.until_stalled().is_none());
    assert_eq!(gate.arrivals(), 1);
    drop(lane);
    rig.spawner.run_until_stalled();
    assert!(
        Driven::new(rig.tools.close()).until_stalled().is_some(),
        "nobody waits for an answer any more"
    );
    assert_eq!((probe.calls(), rig.invariants.executions()), (0, 1));
}

/// One simulated call: is it safe, and how many steps does its body take?
#[derive(Clone, Debug)]
struct Plan {
    safe: bool,
    steps: usize,
}

/// Runs a batch of mocks and returns the notes of bodies and log.
fn run_plans(plans: &[Plan], cap: usize) -> (Vec<String>, usize) {
    let rig = Rig::new();
    let mut peaks = Vec::new();
    let mut calls = Vec::new();
    for (index, plan) in plans.iter().enumerate() {
        let mut mock = MockTool::new(format!("t{index}")).yields(plan.steps);
        if plan.safe {
            mock = mock.concurrency_safe();
        }
        peaks.push(rig.mock(mock));
        calls.push(Call::new(
            format!("t{index}"),
            format!("t{index}"),
            "{}",
            Signal::never(),
        ));
    }
    let tools: Tools = rig.tools.clone();
    block_on(tools.execute_batch(calls, config(cap), log(&rig))).unwrap();
    rig.invariants.check();
    (rig.trace.take(), peaks.iter().map(Probe::finished).sum())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// T316–T322 for any batch: starts and commits in order, the cap holds, exclusive calls are alone until committed,
    /// and everything runs.
    #[test]
    fn any_batch_keeps_the_contract(
        plans in prop::collection::vec((any::<bool>(), 0_usize..5).prop_map(|(safe, steps)| Plan { safe, steps }), 1..12),
        cap in 1_usize..5,
    ) {
        let (trace, finished) = run_plans(&plans, cap);
        prop_assert_eq!(finished, plans.len());
        let order = |prefix: &str| -> Vec<String> {
            trace.iter().filter_map(|entry| entry.strip_prefix(prefix)).map(str::to_owned).collect()
        };
        let expected: Vec<_> = (0..plans.len()).map(|index| format!("t{index}")).collect();
        prop_assert_eq!(&order("call "), &expected);
        prop_assert_eq!(&order("result "), &expected);
        let (mut running, mut open): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
        let number = |name: &str| name.trim_start_matches('t').parse::<usize>().unwrap();
        for entry in &trace {
            if let Some(name) = entry.strip_suffix(":start") {
                running.push(number(name));
                prop_assert!(running.len() <= cap, "{:?}", trace);
            } else if let Some(name) = entry.strip_suffix(":end") {
                running.retain(|index| *index != number(name));
            } else if let Some(name) = entry.strip_prefix("call ") {
                let index = number(name);
                let barrier = !plans[index].safe || open.iter().any(|other| !plans[*other].safe);
                prop_assert!(!barrier || open.is_empty(), "{:?}", trace);
                open.push(index);
            } else if let Some(name) = entry.strip_prefix("result ") {
                open.retain(|index| *index != number(name));
            }
        }
    }
}

/// The plan of a lane costs the same however many settled calls wait behind a slow one.
#[test]
fn a_slow_head_does_not_make_planning_slow() {
    use dsh_tools::lane::{Overlap, Planner, Step};
    const CALLS: usize = 200_000;
    let mut planner = Planner::new(2, Overlap::Exclusive);
    for _ in 0..CALLS {
        planner.submit();
    }
    let safe = |_| (ExecutionMode::Parallel, None);
    assert_eq!(planner.next(safe), Step::Start(0), "the slow head");
    for call in 1..CALLS {
        assert_eq!(planner.next(safe), Step::Start(call));
        planner.settled(call);
    }
    assert_eq!(planner.next(safe), Step::Wait);
    planner.settled(0);
    for call in 0..CALLS {
        assert_eq!(planner.next(safe), Step::Commit(call));
        planner.committed();
    }
    assert_eq!(planner.next(safe), Step::Idle);
}
