//! Several threads on the same fibers.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::{
    sync::{
        Arc, Barrier,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use dsh_context::Fiber;
use pollster::block_on;

const ROUNDS: usize = 200;
const EFFECTS: usize = 50;

/// L13: registration and disposal exclude each other, so every accepted undo runs exactly once and no
/// refused one runs, whoever else disposes of effects, children or the whole meanwhile.
#[test]
fn l13_every_accepted_undo_runs_exactly_once() {
    for _ in 0..ROUNDS {
        let fiber = Fiber::root("stress");
        let start = Arc::new(Barrier::new(5));
        let registering = [0, 1, 2].map(|kind| {
            let (fiber, start) = (fiber.clone(), Arc::clone(&start));
            thread::spawn(move || {
                start.wait();
                (0..EFFECTS)
                    .map(|nth| register(&fiber, kind, nth))
                    .collect::<Vec<_>>()
            })
        });
        let disposing = [0, 1].map(|_| {
            let (fiber, start) = (fiber.clone(), Arc::clone(&start));
            thread::spawn(move || {
                start.wait();
                block_on(fiber.dispose());
                assert!(!fiber.is_active());
                assert_eq!(fiber.live_effects(), []);
            })
        });
        for thread in disposing {
            thread.join().unwrap();
        }
        for thread in registering {
            for (accepted, runs) in thread.join().unwrap() {
                assert_eq!(runs.load(Ordering::SeqCst), usize::from(accepted));
            }
        }
    }
}

/// Registers one effect of some kind, disposing of every third one again.
fn register(fiber: &Fiber, kind: usize, nth: usize) -> (bool, Arc<AtomicUsize>) {
    let runs = Arc::new(AtomicUsize::new(0));
    let count = {
        let runs = Arc::clone(&runs);
        move || {
            runs.fetch_add(1, Ordering::SeqCst);
        }
    };
    let early = nth.is_multiple_of(3);
    let accepted = match kind {
        0 => {
            let effect = fiber.effect("sync", count);
            if let (Ok(effect), true) = (&effect, early) {
                effect.dispose();
            }
            effect.is_ok()
        }
        1 => {
            let effect = fiber.effect_async("async", move || async move {
                let mut yielded = false;
                std::future::poll_fn(|cx| {
                    if std::mem::replace(&mut yielded, true) {
                        return std::task::Poll::Ready(());
                    }
                    cx.waker().wake_by_ref();
                    std::task::Poll::Pending
                })
                .await;
                count();
            });
            if let (Ok(effect), true) = (&effect, early) {
                block_on(effect.dispose());
            }
            effect.is_ok()
        }
        _ => match fiber.child("child") {
            Ok(child) => {
                let accepted = child.effect("inner", count).is_ok();
                if early {
                    block_on(child.dispose());
                }
                accepted
            }
            Err(_) => false,
        },
    };
    (accepted, runs)
}

/// L12: parent, child and grandchild disposed from three threads; each sees its whole end.
#[test]
fn l12_a_family_disposed_from_everywhere() {
    for _ in 0..ROUNDS {
        let root = Fiber::root("root");
        let child = root.child("child").unwrap();
        let leaf = child.child("leaf").unwrap();
        let family = [root, child, leaf];
        let runs = Arc::new(AtomicUsize::new(0));
        for fiber in &family {
            for _ in 0..10 {
                let runs = Arc::clone(&runs);
                fiber
                    .effect_async("a", move || async move {
                        runs.fetch_add(1, Ordering::SeqCst);
                    })
                    .unwrap();
            }
        }
        let start = Barrier::new(3);
        thread::scope(|threads| {
            for fiber in &family {
                threads.spawn(|| {
                    start.wait();
                    block_on(fiber.dispose());
                    assert_eq!(fiber.live_effects(), []);
                });
            }
        });
        assert_eq!(runs.load(Ordering::SeqCst), 30);
    }
}

/// L21: undos on two threads that await the end of each other's fiber do not block each other, nor do
/// they wake each other without end.
#[test]
fn l21_fibers_that_await_each_other_from_two_threads() {
    for _ in 0..10 * ROUNDS {
        let (left, right) = (Fiber::root("left"), Fiber::root("right"));
        for (own, other) in [(&left, &right), (&right, &left)] {
            let other = other.clone();
            own.effect_async("a", move || async move { other.dispose().await })
                .unwrap();
        }
        let start = Barrier::new(2);
        thread::scope(|threads| {
            for fiber in [&left, &right] {
                threads.spawn(|| {
                    start.wait();
                    block_on(fiber.dispose());
                });
            }
        });
    }
}
