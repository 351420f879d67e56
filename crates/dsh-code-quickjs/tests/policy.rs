//! Policy, cancellation and what is left behind, with the real worker at the end of the road: what a program calls goes
//! through everything that a direct call goes through, and however its run ends, nothing of it stays.

#![cfg(unix)]
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test that reports what it did"
)]

mod deployment;
mod support;

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use deployment::Deployment;
use dsh_code::{CodeConfig, CodeRuntime, Limits};
use dsh_code_quickjs::{Config, QuickJs};
use dsh_schema::Document;
use dsh_schema::spec::{self, ParameterSpec};
use dsh_testkit::{Answer, ScriptedApprover};
use dsh_tools::{
    ApprovalOutcome, Content, Denial, Execution, Mode, Outcome, PostDecision, PreDecision,
    RUN_CODE, Reason, Settled, Signal, Tool,
};
use futures_util::StreamExt as _;
use parking_lot::Mutex;
use serde_json::{Value, json};
use support::eventually;

/// One test at a time: each counts what the process has.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

const READY: usize = 2;

fn runtime() -> Arc<QuickJs> {
    let config = Config {
        ready: READY,
        limits: support::limits(),
        ..support::config()
    };
    Arc::new(QuickJs::new(config).unwrap())
}

/// Bodies that began and bodies that came to their end.
#[derive(Clone, Default)]
struct Bodies {
    begun: Arc<AtomicUsize>,
    ended: Arc<AtomicUsize>,
}

impl Bodies {
    fn begun(&self) -> usize {
        self.begun.load(Ordering::Acquire)
    }

    fn ended(&self) -> usize {
        self.ended.load(Ordering::Acquire)
    }

    /// A tool that returns its `v` after a few turns of the executor, or once its call is cancelled if it `waits`.
    fn tool(&self, name: &str, waits: bool, safe: bool) -> Tool {
        let bodies = self.clone();
        let mut tool = Tool::new(name, "A tool of the test.")
            .parameters(ParameterSpec::new().optional("v", spec::json()))
            .returns(spec::json());
        if safe {
            tool = tool.concurrency_safe();
        }
        tool.run(move |arguments, cx| {
            let bodies = bodies.clone();
            async move {
                bodies.begun.fetch_add(1, Ordering::AcqRel);
                if waits {
                    cx.signal().cancelled().await;
                }
                for _ in 0..3 {
                    tokio::task::yield_now().await;
                }
                bodies.ended.fetch_add(1, Ordering::AcqRel);
                let value = arguments.root().get("v").map(|value| value.to_value());
                Ok(Document::from_value(&value.unwrap_or_default()).unwrap())
            }
        })
        .unwrap()
    }
}

fn result(settled: &Settled) -> Value {
    let value = settled.value().unwrap_or_else(|| panic!("{settled:?}"));
    value.to_value()["result"].clone()
}

/// How often each stage saw each tool.
#[derive(Clone, Default)]
struct Passes(Arc<Mutex<HashMap<(&'static str, String), usize>>>);

impl Passes {
    const STAGES: [&'static str; 5] = ["pre", "guard", "around", "post", "observer"];

    fn count(&self, stage: &'static str, execution: &Execution) {
        let key = (stage, execution.name().to_owned());
        *self.0.lock().entry(key).or_default() += 1;
    }

    /// One listener at each stage; none of them decides anything.
    fn watch(deployment: &Deployment) -> Self {
        let passes = Self::default();
        let global = deployment.global();
        let stage = passes.clone();
        let pre = move |execution: Execution, next: dsh_tools::PreNext| {
            stage.count("pre", &execution);
            async move { next.run().await }
        };
        global.on_pre_execute(pre).unwrap();
        let stage = passes.clone();
        let guard = move |execution: &Execution| -> Option<Denial> {
            stage.count("guard", execution);
            None
        };
        global.guard(guard).unwrap();
        let stage = passes.clone();
        let around = move |execution: Execution, next: dsh_tools::AroundNext| {
            stage.count("around", &execution);
            async move { Ok(next.run().await?.into()) }
        };
        global.on_execute(around).unwrap();
        let stage = passes.clone();
        let post = move |execution: Execution, _: Arc<Outcome>, next: dsh_tools::PostNext| {
            stage.count("post", &execution);
            async move { next.run().await }
        };
        global.on_post_execute(post).unwrap();
        let stage = passes.clone();
        let observer = move |execution: &Execution, _: &Outcome| stage.count("observer", execution);
        global.on_result(observer).unwrap();
        passes
    }

    fn of(&self, tool: &str) -> [usize; 5] {
        let passes = self.0.lock();
        Self::STAGES.map(|stage| {
            let key = (stage, tool.to_owned());
            passes.get(&key).copied().unwrap_or_default()
        })
    }
}

/// Invariant 9, C146: as many passes through each stage as there are calls, and one of the program itself.
#[tokio::test]
async fn each_call_of_a_program_passes_every_stage_once() {
    let _alone = ALONE.lock().await;
    let runtime = runtime();
    for calls in [0, 1, 2, 7, 60] {
        let deployment = Deployment::new(&runtime);
        let bodies = Bodies::default();
        deployment.register(bodies.tool("safe", false, true));
        deployment.register(bodies.tool("exclusive", false, false));
        let passes = Passes::watch(&deployment);
        let program = format!(
            "let sum = 0;
            for (let i = 0; i < {calls}; i++) sum += await tools.exclusive({{v: i}});
            const all = await Promise.all(Array.from({{length: {calls}}}, (_, i) => tools.safe({{v: i}})));
            return [sum, all.length]"
        );
        let call = deployment.program("c1", &program, Signal::never());
        let settled = deployment.tools.execute(call).await;
        let sum = (0..calls).sum::<usize>();
        assert_eq!(result(&settled), json!([sum, calls]));
        assert_eq!(passes.of("safe"), [calls; 5]);
        assert_eq!(passes.of("exclusive"), [calls; 5]);
        assert_eq!(passes.of(RUN_CODE), [1; 5]);
        assert_eq!((bodies.begun(), bodies.ended()), (2 * calls, 2 * calls));
        assert_eq!(deployment.log.0.lock().len(), 4 * calls);
    }
    runtime.dispose().await;
}

/// Invariant 9: whatever let the program run says nothing of what it calls. C148, C151: the program reads why, and only that.
#[tokio::test]
async fn an_allowed_program_is_refused_each_call_that_is_not() {
    let _alone = ALONE.lock().await;
    let runtime = runtime();
    let deployment = Deployment::new(&runtime);
    let bodies = Bodies::default();
    for name in ["denied", "guarded", "asked", "free"] {
        deployment.register(bodies.tool(name, false, true));
    }
    let blocked = Bodies::default();
    deployment.register(blocked.tool("blocked", false, true));
    let asked = ScriptedApprover::new([
        Answer::Say(ApprovalOutcome::AllowedOnce),
        Answer::Say(ApprovalOutcome::Rejected),
    ]);
    let global = deployment.global();
    global
        .mount_approvals(asked.clone().into_approvals())
        .unwrap();
    global
        .on_pre_execute(|execution, next| async move {
            match execution.name() {
                RUN_CODE | "asked" => Ok(PreDecision::ask("sure?")),
                "denied" => Ok(PreDecision::deny("not on a Sunday")),
                _ => next.run().await,
            }
        })
        .unwrap();
    global
        .guard(|execution: &Execution| {
            (execution.name() == "guarded").then(|| Denial::new("the guard is awake"))
        })
        .unwrap();
    global
        .on_post_execute(|execution, _, next| async move {
            match execution.name() {
                "blocked" => Ok(PostDecision::block(Content::text("nobody may see this"))),
                _ => next.run().await,
            }
        })
        .unwrap();
    let program = "
        const said = [];
        for (const name of ['denied', 'guarded', 'asked', 'blocked', 'free'])
            try { said.push(await tools[name]({v: name})) }
            catch (e) { said.push([e instanceof ToolCallError, e.toolName, e.message, Object.keys(e)]) }
        return said";
    let call = deployment.program("c1", program, Signal::never());
    let said = result(&deployment.tools.execute(call).await);
    let refused = |name: &str, why: &str| json!([true, name, why, ["toolName"]]);
    assert_eq!(said[0], refused("denied", "not on a Sunday"));
    assert_eq!(said[1], refused("guarded", "the guard is awake"));
    assert_eq!(said[2][0], true);
    assert_eq!(said[3], refused("blocked", "nobody may see this"));
    assert_eq!(said[4], "free");
    assert_eq!(bodies.begun(), 1, "only `free` ran");
    assert_eq!(blocked.begun(), 1, "a block comes after the body");
    let questions: Vec<_> = asked
        .requests()
        .iter()
        .map(|request| request.ticket.tool.to_string())
        .collect();
    assert_eq!(questions, [RUN_CODE, "asked"]);
    // What the approver is told when it says no, is what the program reads.
    let records = deployment.log.0.lock().clone();
    let of_asked = records
        .iter()
        .find(|event| event["type"] == "tool/code-dispatch" && event["data"]["name"] == "asked")
        .unwrap();
    let logged = of_asked["data"]["content"][0]["text"].as_str().unwrap();
    assert_eq!(logged, format!("Error: {}", said[2][2].as_str().unwrap()));
    runtime.dispose().await;
}

/// A denied program starts no worker of its own and calls nothing.
#[tokio::test]
async fn a_denied_program_never_runs() {
    let _alone = ALONE.lock().await;
    let runtime = runtime();
    eventually("the pool is full", || runtime.workers() == READY).await;
    let deployment = Deployment::new(&runtime);
    let bodies = Bodies::default();
    deployment.register(bodies.tool("free", false, true));
    deployment
        .global()
        .on_pre_execute(|execution, next| async move {
            match execution.name() {
                RUN_CODE => Ok(PreDecision::deny("no programs today")),
                _ => next.run().await,
            }
        })
        .unwrap();
    let call = deployment.program("c1", "await tools.free({})", Signal::never());
    let settled = deployment.tools.execute(call).await;
    assert_eq!(settled.error().unwrap().message, "no programs today");
    assert_eq!((bodies.begun(), runtime.workers()), (0, READY));
    assert_eq!(deployment.code.runtime().unwrap().isolation(), "process");
    assert_eq!(deployment.tools.mode(Some(&deployment.agent)), Mode::Code);
    runtime.dispose().await;
}

/// What is done to a call in the middle.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Interruption {
    Cancel,
    Drop,
}

/// Polls a future; after so many times something is done instead of the next one. `None` if the call was dropped.
async fn interrupted<F: Future>(
    future: F,
    polls: usize,
    mut interrupt: impl FnMut() -> Interruption,
) -> Option<F::Output> {
    let mut future = Some(Box::pin(future));
    let mut polled = 0;
    poll_fn(|cx| {
        let Some(running) = future.as_mut() else {
            return Poll::Ready(None);
        };
        if polled == polls && interrupt() == Interruption::Drop {
            future = None;
            return Poll::Ready(None);
        }
        polled += 1;
        running.as_mut().poll(cx).map(Some)
    })
    .await
}

/// C168, C174, C179, D5: whenever a call ends early, its worker ends, what it started is drained and recorded, and there is
/// one outcome.
#[tokio::test]
async fn an_interrupted_program_is_drained_wherever_it_was() {
    let _alone = ALONE.lock().await;
    let runtime = runtime();
    let program = "
        for (let i = 0; i < 3; i++) await tools.exclusive({v: i});
        await Promise.all([tools.safe({v: 1}), tools.safe({v: 2}), tools.exclusive({v: 3}), tools.safe({v: 4})]);
        tools.waits({}); await tools.safe({v: 5});
        await tools.waits({});
        return 'never'";
    let (mut latest, mut started) = (0, 0);
    for interruption in [Interruption::Cancel, Interruption::Drop] {
        for polls in 0..60 {
            let deployment = Deployment::new(&runtime);
            let bodies = Bodies::default();
            deployment.register(bodies.tool("safe", false, true));
            deployment.register(bodies.tool("exclusive", false, false));
            deployment.register(bodies.tool("waits", true, true));
            let outcomes = Arc::new(Mutex::new(Vec::new()));
            let seen = outcomes.clone();
            let observer = move |execution: &Execution, outcome: &Outcome| {
                seen.lock()
                    .push((execution.id().to_string(), outcome.is_error()));
            };
            deployment.global().on_result(observer).unwrap();
            let (canceller, signal) = Signal::pair();
            let call = deployment.program("c1", program, signal);
            let interrupt = || {
                if interruption == Interruption::Cancel {
                    canceller.cancel(Reason::Other {
                        message: "stop".into(),
                    });
                }
                interruption
            };
            let run = interrupted(deployment.tools.execute(call), polls, interrupt);
            // The program ends up waiting; a call that is not polled so often in all is dropped there, and the last one.
            let reached = tokio::time::timeout(Duration::from_millis(250), run).await;
            let is_too_late = reached.is_err();
            let settled = reached.ok().flatten();
            let place = format!("{interruption:?} after {polls} polls");
            if let Some(settled) = &settled {
                let message = &settled.error().unwrap_or_else(|| panic!("{place}")).message;
                let expected = [
                    "code run failed (abort): stop",
                    "tool call aborted before dispatch",
                ];
                assert!(expected.contains(&message.as_str()), "{place}: {message}");
                latest = latest.max(polls);
            }
            deployment.tools.close().await;
            assert_eq!(bodies.begun(), bodies.ended(), "{place}: a body was lost");
            started += bodies.begun();
            let outcomes = outcomes.lock().clone();
            let of_program: Vec<_> = outcomes.iter().filter(|(id, _)| id == "c1").collect();
            // A call whose future was never polled has not begun.
            let has_begun = interruption == Interruption::Cancel || polls > 0;
            assert_eq!(of_program.len(), usize::from(has_begun), "{place}");
            assert!(of_program.iter().all(|(_, is_error)| *is_error), "{place}");
            let mut pairs: HashMap<String, (usize, usize)> = HashMap::new();
            for event in deployment.log.0.lock().iter() {
                let id = event["data"]["subCallId"].as_str().unwrap().to_owned();
                let pair = pairs.entry(id).or_default();
                match event["type"].as_str() {
                    Some("tool/code-dispatch-start") => pair.0 += 1,
                    _ => pair.1 += 1,
                }
            }
            for (id, pair) in pairs {
                assert_eq!(pair, (1, 1), "{place}: {id}");
                let seen = outcomes.iter().filter(|(of, _)| *of == id).count();
                assert_eq!(seen, 1, "{place}: {id}");
            }
            eventually(&place, || runtime.workers() <= READY).await;
            if is_too_late {
                break;
            }
        }
    }
    assert!(
        latest > 5 && started > 100,
        "{latest} polls, {started} bodies"
    );
    runtime.dispose().await;
    assert_eq!(runtime.workers(), 0);
    #[cfg(target_os = "linux")]
    assert_eq!(support::children(), Default::default());
}

#[cfg(target_os = "linux")]
fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// A thousand runs of all kinds of ends leave neither a process nor a descriptor.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_thousand_runs_leave_nothing() {
    const RUNS: usize = 1000;
    let _alone = ALONE.lock().await;
    let runtime = runtime();
    let deployment = Deployment::new(&runtime);
    let bodies = Bodies::default();
    deployment.register(bodies.tool("safe", false, true));
    deployment.register(bodies.tool("waits", true, true));
    let is_idle = || runtime.workers() == READY && support::children().len() == READY;
    eventually("the pool is full", is_idle).await;
    let before = descriptors();
    let (start, tools) = (Instant::now(), &deployment.tools);
    let ends: Vec<(usize, Option<Settled>)> = futures_util::stream::iter(0..RUNS)
        .map(|run| {
            let (canceller, signal) = Signal::pair();
            let program = match run % 10 {
                0 => "throw new Error('on purpose')",
                1 => "return 1n << 70n",
                2 | 3 => "await tools.waits({})",
                4 => "enum A {}",
                5 => "return (await Promise.all([1, 2, 3].map((v: number) => tools.safe({v})))).length",
                _ => "return 1",
            };
            let call = deployment.program(&format!("c{run}"), program, signal);
            let polls = if matches!(run % 10, 2 | 3) { run % 7 + 1 } else { usize::MAX };
            async move {
                let interrupt = || match run % 10 {
                    2 => Interruption::Drop,
                    _ => {
                        canceller.cancel(Reason::Cancelled);
                        Interruption::Cancel
                    }
                };
                let settled = interrupted(tools.execute(call), polls, interrupt);
                // A program that waits is polled no more often than something happens.
                let settled = tokio::time::timeout(Duration::from_secs(20), async {
                    match run % 10 {
                        2 | 3 => tokio::time::timeout(Duration::from_millis(60), settled)
                            .await
                            .ok()
                            .flatten(),
                        _ => settled.await,
                    }
                });
                (run, settled.await.unwrap())
            }
        })
        .buffer_unordered(8)
        .collect()
        .await;
    let took = start.elapsed();
    for (run, settled) in &ends {
        let is_error = settled.as_ref().map(|settled| settled.is_error());
        match run % 10 {
            0 | 1 | 4 => assert_eq!(is_error, Some(true), "{run}"),
            2 | 3 => assert_ne!(is_error, Some(false), "{run}"),
            _ => assert_eq!(is_error, Some(false), "{run}: {settled:?}"),
        }
    }
    deployment.tools.close().await;
    assert_eq!(bodies.begun(), bodies.ended());
    eventually("the pool is full again", is_idle).await;
    eventually("descriptors are closed", || descriptors() <= before).await;
    println!("{RUNS} runs, 8 at once: {took:?}, {before} descriptors");
    runtime.dispose().await;
    assert_eq!(support::children(), Default::default());
}

/// Eight programs at once, each within its own memory: those that take too much end alone (C230).
#[tokio::test]
async fn programs_at_once_keep_to_their_memory() {
    const PROGRAMS: usize = 8;
    const HEAP: u64 = 16 << 20;
    let _alone = ALONE.lock().await;
    let runtime = Arc::new(
        QuickJs::new(Config {
            ready: 0,
            limits: support::limits(),
            ..support::config()
        })
        .unwrap(),
    );
    let config = CodeConfig {
        limits: Some(Limits {
            memory_bytes: HEAP,
            ..support::limits()
        }),
        ..CodeConfig::default()
    };
    let deployment = Deployment::with(&runtime, config);
    let bodies = Bodies::default();
    deployment.register(bodies.tool("waits", true, true));
    let (canceller, signal) = Signal::pair();
    let modest = "const held = 'x'.repeat(6 << 20) + ''; await tools.waits({}); return held.length";
    let greedy = "const held = []; for (;;) held.push('x'.repeat(1 << 16) + held.length)";
    let runs = (0..PROGRAMS).map(|run| {
        let program = if run % 2 == 0 { modest } else { greedy };
        let call = deployment.program(&format!("c{run}"), program, signal.clone());
        deployment.tools.execute(call)
    });
    let runs = futures_util::future::join_all(runs);
    let look = async {
        let half = || bodies.begun() == PROGRAMS / 2 && runtime.workers() == PROGRAMS / 2;
        eventually("the greedy half has ended", half).await;
        let private = private_kib();
        canceller.cancel(Reason::Cancelled);
        private
    };
    let (settled, private) = futures_util::future::join(runs, look).await;
    for (run, settled) in settled.iter().enumerate() {
        let message = settled.error().unwrap().message.as_str();
        let expected = if run % 2 == 0 {
            "code run failed (abort): cancelled"
        } else {
            "code run failed (worker-exit): program ran out of memory"
        };
        assert!(message.starts_with(expected), "{run}: {message}");
    }
    println!("private memory of programs that hold 6 MiB each: {private:?} KiB");
    // What a worker has beside the program's heap.
    const BESIDE: u64 = 8 << 10;
    assert!(private.iter().all(|kib| *kib < HEAP / 1024 + BESIDE));
    runtime.dispose().await;
}

/// Private memory of each process that this one has started, where the system tells.
fn private_kib() -> Vec<u64> {
    #[cfg(not(target_os = "linux"))]
    return Vec::new();
    #[cfg(target_os = "linux")]
    support::children()
        .keys()
        .filter_map(|id| {
            let rollup = std::fs::read_to_string(format!("/proc/{id}/smaps_rollup")).ok()?;
            let of = |key: &str| -> Option<u64> {
                let line = rollup.lines().find_map(|line| line.strip_prefix(key))?;
                line.split_ascii_whitespace().next()?.parse().ok()
            };
            Some(of("Private_Clean:")? + of("Private_Dirty:")?)
        })
        .collect()
}
