//! Many calls over many registrations on several threads, cancelled and dropped at random: each has one outcome and one
//! observation, no body is lost, and nothing is left (T153, T154, T443–T445, D5).

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod rig;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use dsh_context::{Fiber, Scope};
use dsh_schema::Document;
use dsh_testkit::{Driven, ManualSpawner, yield_once};
use dsh_tools::{
    Call, Canceller, Denial, Execution, Reason, Registration, Settled, Signal, Tool, ToolError,
    Tools, ToolsConfig,
};
use rig::{Rig, tool, without_deadlock, yield_in_every_stage};

const TOOLS: usize = 1_000;
const THREADS: usize = 4;
const CALLS_AT_ONCE: usize = 50;
const ROUNDS: usize = 40;

/// A small generator; each thread has its own, with a seed of its own.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % sides
    }
}

#[derive(Default)]
struct Bodies {
    started: AtomicUsize,
    ended: AtomicUsize,
    lost: AtomicUsize,
}

/// Counts a body that is dropped before its end.
struct Visit(Arc<Bodies>, bool);

impl Visit {
    fn end(mut self) {
        self.1 = true;
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        let ended = self.1 || thread::panicking();
        let count = if ended { &self.0.ended } else { &self.0.lost };
        count.fetch_add(1, Ordering::AcqRel);
    }
}

/// A tool that behaves by its number.
fn numbered(number: usize, bodies: &Arc<Bodies>) -> Tool {
    let bodies = bodies.clone();
    tool(&format!("tool-{number}"), move |_, cx| {
        bodies.started.fetch_add(1, Ordering::AcqRel);
        let visit = Visit(bodies.clone(), false);
        async move {
            let result = match number % 8 {
                0 => Ok(Document::null()),
                1 => Err(ToolError::new("no")),
                2 => {
                    yield_once().await;
                    panic!("body {number}");
                }
                3 => {
                    let _reason = cx.signal().cancelled().await;
                    Ok(Document::null())
                }
                4 => {
                    cx.spawn(async {
                        yield_once().await;
                        Ok(())
                    });
                    Ok(Document::null())
                }
                5 => {
                    let nested = cx
                        .execute(cx.call("nested", format!("tool-{}", number + 1), "{}"))
                        .await;
                    Ok(Document::string(nested.code().unwrap_or("ok")))
                }
                sides => {
                    for _ in 0..sides {
                        yield_once().await;
                    }
                    Ok(Document::null())
                }
            };
            visit.end();
            result
        }
    })
}

/// Registers and disposes of tools, guards, listeners and scopes until told to stop.
fn churn(tools: &Tools, bodies: &Arc<Bodies>, part: usize, ready: &Barrier, stop: &AtomicBool) {
    let (fiber, mut dice) = (Fiber::root("churn"), Dice(0x5eed + part as u64));
    let own = TOOLS / THREADS;
    let register = |index| {
        tools
            .global(&fiber)
            .register(numbered(part * own + index, bodies))
            .unwrap()
    };
    let mut live: Vec<Option<Registration>> = (0..own).map(|index| Some(register(index))).collect();
    ready.wait();
    let mut extras: Vec<Registration> = Vec::new();
    while !stop.load(Ordering::Acquire) {
        for _ in 0..64 {
            let index = dice.roll(own);
            live[index] = match live[index].take() {
                Some(registration) if dice.roll(3) == 0 => {
                    registration.dispose();
                    None
                }
                Some(registration) => Some(registration),
                None => Some(register(index)),
            };
            match dice.roll(40) {
                0 => extras.push(
                    tools
                        .global(&fiber)
                        .guard(|_: &Execution| None::<Denial>)
                        .unwrap(),
                ),
                1 => {
                    let short = fiber.child("short").unwrap();
                    yield_in_every_stage(&tools.global(&short)).unwrap();
                    thread::yield_now();
                    dsh_testkit::block_on(short.dispose());
                }
                2 => extras
                    .drain(..)
                    .for_each(|registration| registration.dispose()),
                3 => {
                    let scope = Scope::new("passing");
                    tools
                        .scoped(&scope)
                        .register(numbered(index, bodies))
                        .unwrap();
                    let _view = tools.view(Some(&scope));
                    dsh_testkit::block_on(scope.dispose());
                }
                4 => _ = tools.schemas(None).len(),
                _ => {}
            }
        }
        thread::yield_now();
    }
    dsh_testkit::block_on(fiber.dispose());
}

struct Running<'a> {
    future: Driven<'a, Settled>,
    canceller: Canceller,
}

/// Runs calls side by side, polling, cancelling and dropping at random. Returns how many were begun.
fn calls(tools: &Tools, part: usize, ready: &Barrier) -> usize {
    let mut dice = Dice(0xca11 + part as u64);
    ready.wait();
    let mut begun = 0;
    for _ in 0..ROUNDS {
        let mut running: Vec<Running<'_>> = (0..CALLS_AT_ONCE)
            .map(|_| {
                let (canceller, signal) = Signal::pair();
                let name = format!("tool-{}", dice.roll(TOOLS + 10));
                let call = Call::new(format!("call-{begun}"), name, "{}", signal);
                begun += 1;
                let mut future = Driven::new(async move { tools.execute(call).await });
                // A future that is never polled is no call.
                let settled = future.poll();
                (settled, Running { future, canceller })
            })
            .filter_map(|(settled, running)| settled.is_none().then_some(running))
            .collect();
        while !running.is_empty() {
            let index = dice.roll(running.len());
            match dice.roll(12) {
                0 => drop(running.swap_remove(index)),
                1 => _ = running[index].canceller.cancel(Reason::Cancelled),
                _ if running[index].future.is_woken() => {
                    if running[index].future.poll().is_some() {
                        running.swap_remove(index);
                    }
                }
                _ => thread::yield_now(),
            }
        }
    }
    begun
}

#[test]
fn calls_registrations_cancellations_and_drops_at_random() {
    without_deadlock(|| {
        let spawner = ManualSpawner::new();
        let rig = Rig::configured(ToolsConfig {
            spawner: Some(Arc::new(spawner.clone())),
            ..ToolsConfig::default()
        });
        let bodies = Arc::new(Bodies::default());
        let nested = Arc::new(AtomicUsize::new(0));
        let count = nested.clone();
        rig.global()
            .on_result(move |execution, _| {
                if execution.parent().is_some() {
                    count.fetch_add(1, Ordering::AcqRel);
                }
            })
            .unwrap();
        let (stop, drained, ready) = (
            AtomicBool::new(false),
            AtomicBool::new(false),
            Barrier::new(2 * THREADS),
        );
        let begun = thread::scope(|threads| {
            let (tools, bodies, ready) = (&rig.tools, &bodies, &ready);
            let (stop, drained, drainer) = (&stop, &drained, &spawner);
            threads.spawn(move || {
                while !drained.load(Ordering::Acquire) {
                    drainer.run_until_stalled();
                    thread::yield_now();
                }
            });
            let churners: Vec<_> = (0..THREADS)
                .map(|part| threads.spawn(move || churn(tools, bodies, part, ready, stop)))
                .collect();
            let callers: Vec<_> = (0..THREADS)
                .map(|part| threads.spawn(move || calls(tools, part, ready)))
                .collect();
            let begun: usize = callers
                .into_iter()
                .map(|caller| caller.join().unwrap())
                .sum();
            stop.store(true, Ordering::Release);
            churners
                .into_iter()
                .for_each(|churner| churner.join().unwrap());
            dsh_testkit::block_on(tools.close());
            drained.store(true, Ordering::Release);
            begun
        });
        spawner.run_until_stalled();
        assert_eq!(begun, THREADS * CALLS_AT_ONCE * ROUNDS);
        assert_eq!(
            rig.invariants.executions(),
            begun + nested.load(Ordering::Acquire)
        );
        rig.invariants.check();
        assert_eq!(
            bodies.lost.load(Ordering::Acquire),
            0,
            "no body is dropped unfinished"
        );
        assert_eq!(
            bodies.started.load(Ordering::Acquire),
            bodies.ended.load(Ordering::Acquire)
        );
        assert!(bodies.ended.load(Ordering::Acquire) > 0);
        assert_eq!(spawner.pending(), 0, "no task is left");
        assert!(
            rig.tools.schemas(None).is_empty(),
            "no registration is left"
        );
    });
}
