//! The doubles themselves: a test is only as good as its instruments.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use dsh_context::{Fiber, Scope};
use dsh_testkit::{
    Answer, Driven, FakeHost, Gate, Invariants, ManualSpawner, MemoryJournal, MockTool,
    RecordingSink, ScriptedApprover, Trace, block_on, yield_once,
};
use dsh_tools::{ApprovalOutcome, Call, Host, PreDecision, Signal, Spawner, Tools, ToolsConfig};

fn call(name: &str) -> Call {
    Call::new("c1", name, "{}", Signal::never())
}

#[test]
fn a_gate_tells_who_has_arrived() {
    let gate = Gate::new();
    let mut arrival = Driven::new(gate.arrived(2));
    let mut walkers = [Driven::new(gate.pass()), Driven::new(gate.pass())];
    assert!(arrival.until_stalled().is_none());
    assert!(walkers[0].until_stalled().is_none());
    assert!(arrival.until_stalled().is_none(), "one is not two");
    assert!(walkers[1].until_stalled().is_none());
    assert!(arrival.until_stalled().is_some(), "both are there");
    assert!(!gate.is_open());
    gate.open();
    assert!(
        gate.is_open()
            && walkers
                .iter_mut()
                .all(|walker| walker.until_stalled().is_some())
    );
    assert_eq!(gate.arrivals(), 2);
}

/// A wake on the executor's own thread leaves it with permission not to park, once; that is no sign of being stuck.
#[test]
fn an_early_return_from_parking_is_not_being_stuck() {
    let gate = Gate::new();
    let opener = gate.clone();
    let (parked, park) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        // Once it is polled no more, the executor parks; a stale permission would end that at once.
        park.recv().unwrap();
        (0..1_000).for_each(|_| std::thread::yield_now());
        opener.open();
    });
    block_on(async {
        yield_once().await;
        parked.send(()).unwrap();
        gate.pass().await;
    });
    thread.join().unwrap();
}

#[test]
fn a_driven_future_is_polled_when_it_is_told() {
    let mut future = Driven::new(async {
        yield_once().await;
        yield_once().await;
    });
    assert_eq!(future.polls(), 0);
    assert!(future.poll().is_none() && future.is_woken());
    assert!(future.until_stalled().is_some());
    assert_eq!(future.polls(), 3);
    let mut stuck = Driven::new(std::future::pending::<()>());
    assert!(stuck.until_stalled().is_none() && !stuck.is_woken());
}

#[test]
fn a_future_is_woken_from_another_thread() {
    let gate = Gate::new();
    let opener = gate.clone();
    let thread = std::thread::spawn(move || {
        block_on(opener.arrived(1));
        opener.open();
    });
    block_on(gate.pass());
    thread.join().unwrap();
}

#[test]
fn a_spawner_runs_what_its_futures_spawn() {
    let (spawner, gate, trace) = (ManualSpawner::new(), Gate::new(), Trace::new());
    let (inner, door, notes) = (spawner.clone(), gate.clone(), trace.clone());
    spawner.spawn(Box::pin(async move {
        let notes_inside = notes.clone();
        inner.spawn(Box::pin(async move { notes_inside.note("inner") }));
        door.pass().await;
        notes.note("outer");
    }));
    spawner.run_until_stalled();
    assert_eq!(
        (trace.entries(), spawner.spawned(), spawner.pending()),
        (vec!["inner".to_owned()], 2, 1)
    );
    gate.open();
    spawner.run_until_stalled();
    assert_eq!((trace.count("outer"), spawner.pending()), (1, 0));
}

#[test]
fn time_passes_when_the_test_says_so() {
    let host = FakeHost::new();
    let mut sleeps = [1, 2].map(|seconds| Driven::new(host.sleep(Duration::from_secs(seconds))));
    assert!(
        sleeps
            .iter_mut()
            .all(|sleep| sleep.until_stalled().is_none())
    );
    host.advance(Duration::from_millis(1_500));
    assert!(sleeps[0].until_stalled().is_some() && sleeps[1].until_stalled().is_none());
    host.advance(Duration::from_millis(500));
    assert!(sleeps[1].until_stalled().is_some());
    assert_eq!(host.now_ms(), 2_000);
    assert_ne!(host.random(), host.random());
    assert_ne!(host.fresh_id("a"), host.fresh_id("a"));
}

#[test]
fn a_mock_counts_what_is_done_to_it() {
    let (tools, fiber, trace) = (
        Tools::new(ToolsConfig::default()),
        Fiber::root("test"),
        Trace::new(),
    );
    let gate = Gate::new();
    let mocks = [
        MockTool::new("returns").returns("[1]"),
        MockTool::new("fails").fails("no"),
        MockTool::new("panics").yields(1).panics("boom"),
        MockTool::new("passes").passes(&gate).concurrency_safe(),
        MockTool::new("waits").waits_for_signal(),
    ];
    let probes = mocks.map(|mock| {
        let (tool, probe) = mock
            .noting(&trace)
            .build_with(|builder| builder.read_only())
            .unwrap();
        tools.global(&fiber).register(tool).unwrap();
        probe
    });
    assert_eq!(
        block_on(tools.execute(call("returns")))
            .value()
            .unwrap()
            .to_json(),
        "[1]"
    );
    assert_eq!(
        block_on(tools.execute(call("fails")))
            .error()
            .unwrap()
            .message,
        "no"
    );
    assert_eq!(
        block_on(tools.execute(call("panics")))
            .error()
            .unwrap()
            .message,
        "boom"
    );
    assert!(
        probes[..3]
            .iter()
            .all(|probe| (probe.calls(), probe.finished(), probe.lost()) == (1, 1, 0))
    );
    let mut both = [
        Driven::new(tools.execute(call("passes"))),
        Driven::new(tools.execute(call("passes"))),
    ];
    assert!(
        both.iter_mut()
            .all(|future| future.until_stalled().is_none())
    );
    assert_eq!((probes[3].running(), probes[3].peak()), (2, 2));
    gate.open();
    assert!(
        both.iter_mut()
            .all(|future| future.until_stalled().is_some())
    );
    let (canceller, signal) = Signal::pair();
    let mut waiting = Driven::new(tools.execute(Call::new("c", "waits", "{}", signal)));
    assert!(waiting.until_stalled().is_none());
    canceller.cancel(dsh_tools::Reason::Cancelled);
    assert!(waiting.until_stalled().is_some());
    assert_eq!(trace.entries()[..2], ["returns:start", "returns:end"]);
}

#[test]
fn approver_and_sink_say_what_they_are_told() {
    let (fiber, trace) = (Fiber::root("test"), Trace::new());
    let tools = Tools::new(ToolsConfig::default());
    let (tool, probe) = MockTool::new("t").build().unwrap();
    let global = tools.global(&fiber);
    global.register(tool).unwrap();
    global
        .on_pre_execute(|_, _| async { Ok(PreDecision::ask("sure?")) })
        .unwrap();
    let gate = Gate::new();
    gate.open();
    let approver = ScriptedApprover::new([
        Answer::Say(ApprovalOutcome::AllowedOnce),
        Answer::When(gate, ApprovalOutcome::AllowedOnce),
        Answer::Fail("down".into()),
        Answer::Panic("boom".into()),
        Answer::Pass,
        Answer::Cancelling(Signal::pair().0, ApprovalOutcome::Rejected),
    ])
    .noting(&trace);
    let approvals = approver
        .clone()
        .into_approvals()
        .with_sink(Arc::new(RecordingSink::new(&trace)));
    global.mount_approvals(approvals).unwrap();
    let agent = Scope::new("agent");
    let outcomes: Vec<_> = (0..6)
        .map(|_| {
            let settled = block_on(tools.execute(call("t").agent(&agent)));
            assert_eq!(trace.take()[..2], ["approval/asked", "answerer"]);
            settled.is_error()
        })
        .collect();
    assert_eq!(outcomes, [false, false, true, true, true, true]);
    assert_eq!((approver.requests().len(), probe.calls()), (6, 2));

    let refusing = RecordingSink::new(&trace)
        .refusing_asked("closed")
        .refusing_decided("full");
    global
        .mount_approvals(approver.into_approvals().with_sink(Arc::new(refusing)))
        .unwrap();
    assert_eq!(
        block_on(tools.execute(call("t").agent(&agent)))
            .error()
            .unwrap()
            .message,
        "closed"
    );
}

#[test]
fn a_journal_remembers_and_forgets() {
    let (journal, trace, gate) = (MemoryJournal::new(), Trace::new(), Gate::new());
    let journal = journal.noting(&trace);
    let config = ToolsConfig {
        journal: Some(Arc::new(journal.clone())),
        ..ToolsConfig::default()
    };
    let (tools, fiber) = (Tools::new(config), Fiber::root("test"));
    let (tool, probe) = MockTool::new("t").build().unwrap();
    tools.global(&fiber).register(tool).unwrap();
    let code = || block_on(tools.execute(call("t"))).code().map(str::to_owned);
    journal.fail_next_start("full");
    assert_eq!(code().as_deref(), Some("JOURNAL_FAILED"));
    assert_eq!(
        (code(), code(), probe.calls()),
        (None, None, 1),
        "run, then replayed"
    );
    journal.forget_outcomes();
    assert_eq!(code().as_deref(), Some("OUTCOME_UNKNOWN"));
    assert_eq!((journal.started().len(), journal.settled().len()), (4, 1));
    journal.fail_next_settle("full");
    journal.hold_starts(&gate);
    let mut held = Driven::new(tools.execute(Call::new("c2", "t", "{}", Signal::never())));
    assert!(held.until_stalled().is_none());
    gate.open();
    assert_eq!(
        held.until_stalled().unwrap().code(),
        Some("OUTCOME_UNKNOWN")
    );
    assert_eq!(
        (
            trace.count("journal:started"),
            trace.count("journal:settled")
        ),
        (5, 2)
    );
}

/// T427: the checker finds what it is there to find.
#[test]
fn the_checker_finds_violations() {
    let (tools, fiber) = (Tools::new(ToolsConfig::default()), Fiber::root("test"));
    let watching = Invariants::watch(&tools.global(&fiber)).unwrap();
    let staged = Invariants::watch_stages(&tools.global(&fiber)).unwrap();
    let settled = block_on(tools.execute(call("nope")));
    for invariants in [&watching, &staged] {
        invariants.check();
        assert_eq!(
            (
                invariants.executions(),
                invariants.observations(settled.execution().token())
            ),
            (1, 1)
        );
    }
    // An inner chain that is run twice is a retry; a call without an id is a mistake.
    block_on(tools.execute(Call::new("", "nope", "{}", Signal::never())));
    assert_eq!(watching.violations().len(), 1);
    assert!(catch_unwind(AssertUnwindSafe(|| watching.check())).is_err());
}

/// An execution that has begun and has no outcome yet is one that the checker misses.
#[test]
fn the_checker_misses_what_has_not_ended() {
    let (tools, fiber, gate) = (
        Tools::new(ToolsConfig::default()),
        Fiber::root("test"),
        Gate::new(),
    );
    let invariants = Invariants::watch_stages(&tools.global(&fiber)).unwrap();
    let (tool, _) = MockTool::new("t").passes(&gate).build().unwrap();
    tools.global(&fiber).register(tool).unwrap();
    let mut future = Driven::new(tools.execute(call("t")));
    assert!(future.until_stalled().is_none());
    assert!(catch_unwind(AssertUnwindSafe(|| invariants.check())).is_err());
    gate.open();
    assert!(future.until_stalled().is_some());
    invariants.check();
}
