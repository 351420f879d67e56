//! The bridge at every point where it can be interrupted (C131, C139, C154, C155, C168, C174, C179).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod rig;

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, Waker};

use dsh_code::CodeConfig;
use dsh_prompt::PromptConfig;
use dsh_testkit::{
    Driven, FakeProgram, FakeRuntime, Gate, Invariants, MockTool, Probe, Trace, block_on,
    yield_once,
};
use dsh_tools::{AroundNext, Canceller, Execution, Mode, PostNext, PreNext, Reason, Signal};
use futures_util::future::join_all;
use parking_lot::Mutex;
use rig::World;

/// Lets the stages of a run go on one by one, in the order in which they arrive.
#[derive(Clone, Default)]
struct Turnstile(Arc<Mutex<Turns>>);

#[derive(Default)]
struct Turns {
    arrived: usize,
    admitted: usize,
    waiting: Vec<Waker>,
}

impl Turnstile {
    async fn pass(&self) {
        let turn = {
            let mut turns = self.0.lock();
            turns.arrived += 1;
            turns.arrived
        };
        poll_fn(|cx| {
            let mut turns = self.0.lock();
            if turn <= turns.admitted {
                return Poll::Ready(());
            }
            turns.waiting.push(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }

    fn admit(&self, turns: usize) {
        let waiting = {
            let mut state = self.0.lock();
            state.admitted = state.admitted.saturating_add(turns);
            std::mem::take(&mut state.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    fn open(&self) {
        self.admit(usize::MAX);
    }
}

/// Safe and exclusive calls, some awaited and some not, with a stop at every stage of each.
struct Busy {
    world: World,
    turnstile: Turnstile,
    invariants: Invariants,
    probes: Vec<Probe>,
}

async fn program(program: FakeProgram, turnstile: Turnstile) -> dsh_testkit::FakeEnd {
    program.print("begins");
    turnstile.pass().await;
    let batch: Vec<_> = ["safe", "safe", "alone", "safe"]
        .iter()
        .map(|name| program.call(name, "{}"))
        .collect();
    let _outcomes = join_all(batch).await;
    program.print("half way");
    program.expect("alone", "{}").await?;
    let left: Vec<_> = ["safe", "alone", "safe"]
        .iter()
        .map(|name| program.call(name, "{}"))
        .collect();
    turnstile.pass().await;
    drop(left);
    Ok(None)
}

impl Busy {
    fn new(ignoring_signals: bool) -> Self {
        let config = CodeConfig {
            max_parallel_sub_calls: 2,
            ..CodeConfig::default()
        };
        let world = World::with(Mode::Code, config, PromptConfig::default());
        let turnstile = Turnstile::default();
        let stop = turnstile.clone();
        let runtime = FakeRuntime::new(move |running| program(running, stop.clone()));
        world.mount(if ignoring_signals {
            runtime.ignoring_signals()
        } else {
            runtime
        });
        let receiver = world.tools.global(&world.fiber);
        let invariants = Invariants::watch_stages(&receiver).unwrap();
        let stop = turnstile.clone();
        receiver
            .on_pre_execute(move |_, next: PreNext| {
                let stop = stop.clone();
                async move {
                    stop.pass().await;
                    next.run().await
                }
            })
            .unwrap();
        let stop = turnstile.clone();
        receiver
            .on_execute(move |_, next: AroundNext| {
                let stop = stop.clone();
                async move {
                    stop.pass().await;
                    let outcome = next.run().await?;
                    stop.pass().await;
                    Ok(outcome.into())
                }
            })
            .unwrap();
        let stop = turnstile.clone();
        receiver
            .on_post_execute(move |_, _, next: PostNext| {
                let stop = stop.clone();
                async move {
                    stop.pass().await;
                    next.run().await
                }
            })
            .unwrap();
        let stop = turnstile.clone();
        world
            .code
            .on_dispatch_log(&world.fiber, None, move |_, next| {
                let stop = stop.clone();
                async move {
                    stop.pass().await;
                    next.run().await
                }
            })
            .unwrap();
        let probes = vec![
            world.tool(MockTool::new("safe").yields(2).concurrency_safe()),
            world.tool(MockTool::new("alone").yields(2)),
        ];
        Self {
            world,
            turnstile,
            invariants,
            probes,
        }
    }

    /// What holds however the run ended, `runs` of them.
    fn check(&self, runs: usize, when: &str) {
        self.invariants.check();
        for probe in &self.probes {
            assert_eq!(
                (probe.calls(), probe.lost()),
                (probe.finished(), 0),
                "{when}"
            );
        }
        // Each start has one settlement behind it, and starts count up.
        let mut open: HashMap<String, bool> = HashMap::new();
        let mut started = 0;
        for line in self.world.log.summary() {
            let (kind, id) = line.split_once(':').unwrap();
            let id = id.trim_end_matches('!').to_owned();
            if kind == "start" {
                started += 1;
                assert_eq!(id, format!("k7:code:{started}"), "{when}");
                assert_eq!(open.insert(id, true), None, "{when}");
            } else {
                assert_eq!(open.insert(id, false), Some(true), "{when}");
            }
        }
        assert!(open.values().all(|open| !open), "{when}: half a pair");
        // One pass through the pipeline for each call that started, and one for `run_code`.
        assert_eq!(self.invariants.executions(), runs + started, "{when}");
        assert_eq!(self.world.watch.envelopes.lock().len(), runs, "{when}");
    }
}

/// C179: dropped at any stage.
#[test]
fn the_call_may_be_dropped_anywhere() {
    for ignoring in [false, true] {
        let mut stops = 0;
        loop {
            let busy = Busy::new(ignoring);
            busy.turnstile.admit(stops);
            let call = busy.world.call(Signal::never());
            let mut run = Driven::new(busy.world.tools.execute(call));
            let done = run.until_stalled().is_some();
            drop(run);
            busy.turnstile.open();
            block_on(busy.world.tools.close());
            let begun = !busy.world.watch.lines.lock().is_empty();
            let when = format!("dropped after {stops} stops");
            if begun {
                busy.check(1, &when);
            } else {
                assert!(busy.world.log.summary().is_empty(), "{when}");
            }
            if done {
                break;
            }
            stops += 1;
        }
        assert!(stops > 30, "{stops} stops are no test");
    }
}

fn cancel(canceller: &Canceller) {
    canceller.cancel(Reason::Other {
        message: "user pressed stop".into(),
    });
}

/// C174: cancelled at any stage, it ends by itself, once, as what it is.
#[test]
fn the_call_may_be_cancelled_anywhere() {
    for ignoring in [false, true] {
        let mut stops = 0;
        loop {
            let busy = Busy::new(ignoring);
            busy.turnstile.admit(stops);
            let (canceller, signal) = Signal::pair();
            let call = busy.world.call(signal);
            let mut run = Driven::new(busy.world.tools.execute(call));
            if run.until_stalled().is_some() {
                break;
            }
            cancel(&canceller);
            let when = format!("cancelled after {stops} stops");
            // First as far as it gets while everything that has begun is held up.
            let held = run.until_stalled();
            busy.turnstile.open();
            let settled = held.or_else(|| run.until_stalled());
            let settled = settled.unwrap_or_else(|| panic!("{when}: it hangs"));
            let text = settled.content()[0].as_text().unwrap();
            match settled.code() {
                Some("ABORTED_BEFORE_DISPATCH") => {
                    assert_eq!(text, "Error: tool call aborted before dispatch", "{when}");
                    assert!(busy.world.watch.lines.lock().is_empty(), "{when}");
                }
                Some("ABORTED") => assert_eq!(text, "Error: tool call aborted", "{when}"),
                Some("CODE_RUN_FAILED") if !ignoring => assert!(
                    text.starts_with(
                        "Error: code run failed (abort): user pressed stop\nCaptured output:\nbegins"
                    ),
                    "{when}: {text}"
                ),
                // The program went on, and its awaited call was rejected.
                Some("CODE_RUN_FAILED") => assert!(
                    text.starts_with(
                        "Error: code run failed (exception): ToolCallError: run_code run is over (user pressed stop); alone "
                    ),
                    "{when}: {text}"
                ),
                other => panic!("{when}: {other:?} {text}"),
            }
            if busy.world.watch.envelopes.lock().is_empty() {
                assert!(busy.world.log.summary().is_empty(), "{when}");
            } else {
                busy.check(1, &when);
            }
            stops += 1;
        }
        assert!(stops > 30, "{stops} stops are no test");
    }
}

/// C131: whatever is ordered is alone; bodies are not.
#[test]
fn ordered_stages_never_overlap() {
    let world = World::running(|program| async move {
        let calls: Vec<_> = (0..6).map(|_| program.call("s", "{}")).collect();
        join_all(calls).await;
        Ok(None)
    });
    let probe = world.tool(MockTool::new("s").yields(12).concurrency_safe());
    let trace = world.log.trace.clone();
    let receiver = world.tools.global(&world.fiber);
    let paused = |trace: &Trace, stage: &'static str, execution: &Execution| {
        let (trace, inner) = (trace.clone(), execution.parent().is_some());
        async move {
            if inner {
                trace.note(format!("{stage} begins"));
                yield_once().await;
                yield_once().await;
                trace.note(format!("{stage} ends"));
            }
        }
    };
    let noted = trace.clone();
    receiver
        .on_pre_execute(move |execution: Execution, next: PreNext| {
            let pause = paused(&noted, "pre", &execution);
            async move {
                pause.await;
                next.run().await
            }
        })
        .unwrap();
    let noted = trace.clone();
    receiver
        .on_post_execute(move |execution: Execution, _, next: PostNext| {
            let pause = paused(&noted, "post", &execution);
            async move {
                pause.await;
                next.run().await
            }
        })
        .unwrap();
    let noted = trace.clone();
    receiver
        .on_result(move |execution, _| {
            if execution.parent().is_some() {
                noted.note("result");
            }
        })
        .unwrap();
    world.run();
    assert!(probe.peak() > 1, "bodies overlap");
    let notes = trace.take();
    let mut inside = None;
    for note in &notes {
        match (inside, note.split_once(' ')) {
            (None, Some((stage, "begins"))) => inside = Some(stage),
            (Some(open), Some((stage, "ends"))) if open == stage => inside = None,
            (None, _) => {}
            (Some(open), _) => panic!("`{note}` within `{open}`: {notes:?}"),
        }
    }
    let count = |part: &str| notes.iter().filter(|note| note.starts_with(part)).count();
    assert_eq!(
        [
            count("pre begins"),
            count("post begins"),
            count("result"),
            count("tool/")
        ],
        [6, 6, 6, 12]
    );
}

/// C139: what is ready is committed before anything else starts.
#[test]
fn a_commit_goes_before_a_start() {
    let world = World::running(|program| async move {
        let calls = [
            program.call("first", "{}"),
            program.call("slow to judge", "{}"),
            program.call("third", "{}"),
        ];
        join_all(calls).await;
        Ok(None)
    });
    let (gate, judged) = (Gate::new(), Gate::new());
    world.tool(MockTool::new("first").passes(&gate).concurrency_safe());
    for name in ["slow to judge", "third"] {
        world.tool(MockTool::new(name).yields(3).concurrency_safe());
    }
    let slow = judged.clone();
    world
        .tools
        .global(&world.fiber)
        .on_pre_execute(move |execution: Execution, next: PreNext| {
            let slow = slow.clone();
            async move {
                if execution.name() == "slow to judge" {
                    slow.pass().await;
                }
                next.run().await
            }
        })
        .unwrap();
    let mut run = Driven::new(world.tools.execute(world.call(Signal::never())));
    assert!(run.until_stalled().is_none());
    // The first body ends while policy judges the second call; the third could start right behind it.
    gate.open();
    assert!(run.until_stalled().is_none());
    judged.open();
    run.until_stalled().unwrap();
    let (start, settle) = ("tool/code-dispatch-start", "tool/code-dispatch");
    assert_eq!(
        world.log.trace.take(),
        [
            format!("{start} k7:code:1"),
            format!("{start} k7:code:2"),
            format!("{settle} k7:code:1"),
            format!("{start} k7:code:3"),
            format!("{settle} k7:code:2"),
            format!("{settle} k7:code:3"),
        ]
    );
}

/// Nothing of a run stays behind: neither by itself nor in a circle of references.
#[test]
fn runs_leave_nothing_behind() {
    let held = Arc::new(());
    let world = World::bare(Mode::Code);
    let captured = held.clone();
    let waiting = Arc::new(AtomicBool::new(false));
    let waits = waiting.clone();
    world.mount(FakeRuntime::new(move |program| {
        let (captured, waits) = (captured.clone(), waits.clone());
        async move {
            program.expect("a", "{}").await?;
            let hanging = program.call("hang", "{}");
            yield_once().await;
            if waits.load(Ordering::Acquire) {
                let _cancelled = hanging.await;
            }
            drop(captured);
            Ok(None)
        }
    }));
    let captured = held.clone();
    world
        .code
        .on_dispatch_log(&world.fiber, None, move |_, next| {
            let captured = captured.clone();
            async move {
                drop(captured);
                next.run().await
            }
        })
        .unwrap();
    let captured = held.clone();
    world
        .tools
        .global(&world.fiber)
        .on_result(move |_, _| drop(captured.clone()))
        .unwrap();
    world.tool(MockTool::new("a"));
    world.tool(MockTool::new("hang").waits_for_signal());
    let (_canceller, signal) = Signal::pair();
    let before = Arc::strong_count(&held);
    for _ in 0..50 {
        let settled = block_on(world.tools.execute(world.call(signal.clone())));
        assert!(!settled.is_error());
    }
    waiting.store(true, Ordering::Release);
    let mut dropped = Driven::new(world.tools.execute(world.call(signal)));
    assert!(dropped.until_stalled().is_none());
    drop(dropped);
    block_on(world.tools.close());
    assert_eq!(Arc::strong_count(&held), before, "runs");
    block_on(world.fiber.dispose());
    drop(world);
    assert_eq!(Arc::strong_count(&held), 1, "the deployment");
}
