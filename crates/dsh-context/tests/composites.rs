//! Composite effects.
#![allow(clippy::unwrap_used, reason = "a test")]

mod rig;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    task::Poll,
};

use dsh_context::{CompositeError, Fiber, FiberState, Scope};
use pollster::block_on;
use rig::{Driven, Gate, Journal};

/// L16, L18: the undos of one composite run strictly one after the other, latest first.
#[test]
fn l18_one_composite_is_undone_strictly_in_sequence() {
    let (fiber, journal) = (Fiber::root("test"), Journal::default());
    let (slow, slower) = (Gate::default(), Gate::default());
    let (value, effect) = fiber
        .composite("all", |all| {
            all.push("a", journal.noting("a"));
            all.push_async("b", journal.gated("b", &slow));
            all.push_async("c", journal.gated("c", &slower));
            Ok::<_, ()>(7)
        })
        .unwrap();
    assert_eq!(value, 7);
    let mut disposal = Driven::new(fiber.dispose());
    assert_eq!(disposal.poll(), Poll::Pending);
    slow.open();
    assert_eq!(disposal.poll(), Poll::Pending);
    assert_eq!(journal.take(), ["c+"]);
    slower.open();
    assert_eq!(disposal.poll(), Poll::Ready(()));
    assert_eq!(journal.take(), ["c-", "b+", "b-", "a"]);
    assert!(!effect.is_live());
}

/// L17: a composite is single shot, too.
#[test]
fn l17_a_composite_is_single_shot() {
    let (fiber, journal) = (Fiber::root("test"), Journal::default());
    let ((), effect) = fiber
        .composite("all", |all| {
            all.push("a", journal.noting("a"));
            Ok::<_, ()>(())
        })
        .unwrap();
    block_on(effect.dispose());
    block_on(effect.dispose());
    block_on(fiber.dispose());
    assert_eq!(journal.take(), ["a"]);
}

/// L16: a failing setup undoes what it had produced, latest first, and its failure comes back.
#[test]
fn l16_a_failing_setup_is_rolled_back() {
    let (fiber, journal) = (Fiber::root("test"), Journal::default());
    let failed = fiber
        .composite("all", |all| {
            all.push("a", journal.noting("a"));
            all.push("b", journal.noting("b"));
            Err::<(), _>("no port")
        })
        .unwrap_err();
    assert_eq!(journal.take(), ["b", "a"], "complete when the call returns");
    assert_eq!(failed.to_string(), "no port");
    assert_eq!(failed.into_setup_error(), Some("no port"));
    assert_eq!(fiber.live_effects(), []);
    assert!(fiber.is_active());
}

/// L16: asynchronous undos of a failed setup can be awaited; the fiber waits for them in any case.
#[test]
fn l16_an_asynchronous_rollback_can_be_awaited() {
    for awaited in [true, false] {
        let (fiber, journal, gate) = (Fiber::root("test"), Journal::default(), Gate::default());
        let failed = fiber
            .composite("all", |all| {
                all.push("a", journal.noting("a"));
                all.push_async("b", journal.gated("b", &gate));
                Err::<(), _>("failed")
            })
            .unwrap_err();
        assert_eq!(journal.take(), ["b+"]);
        let CompositeError::Setup { rollback, .. } = failed else {
            panic!("{failed:?}");
        };
        let mut waiting = if awaited {
            Driven::new(rollback)
        } else {
            drop(rollback);
            Driven::new(fiber.dispose())
        };
        assert_eq!(waiting.poll(), Poll::Pending);
        gate.open();
        assert_eq!(waiting.poll(), Poll::Ready(()));
        assert_eq!(journal.take(), ["b-", "a"]);
    }
}

/// L16: a panic of the setup is rolled back and goes on.
#[test]
fn l16_a_panicking_setup_is_rolled_back() {
    let (fiber, journal) = (Fiber::root("test"), Journal::default());
    let panic = catch_unwind(AssertUnwindSafe(|| {
        let _ = fiber.composite("all", |all| -> Result<(), ()> {
            all.push("a", journal.noting("a"));
            panic!("setup")
        });
    }));
    assert!(panic.is_err());
    assert_eq!(journal.take(), ["a"]);
    assert_eq!(fiber.live_effects(), []);
}

/// L19: a failing undo in the middle of a sequence does not stop the sequence.
#[test]
fn l19_a_panicking_step_does_not_stop_the_sequence() {
    let (fiber, journal) = (Fiber::root("test"), Journal::default());
    fiber
        .composite("all", |all| {
            all.push("a", journal.noting("a"));
            all.push("bad", || panic!("sync"));
            all.push_async("bad", || async { panic!("async") });
            all.push("b", journal.noting("b"));
            Ok::<_, ()>(())
        })
        .unwrap();
    block_on(fiber.dispose());
    assert_eq!(journal.take(), ["b", "a"]);
}

/// L21: a teardown that begins while the setup runs waits for it and then undoes what it produced.
#[test]
fn l21_the_teardown_waits_for_a_running_setup() {
    let (fiber, journal) = (Fiber::root("test"), Journal::default());
    fiber.effect("before", journal.noting("before")).unwrap();
    let mut disposal = None;
    let ((), effect) = fiber
        .composite("all", |all| {
            all.push("a", journal.noting("a"));
            // Polled by another task, not from inside of the setup.
            let mut begun = Driven::new(fiber.dispose());
            disposal = Some(std::thread::scope(|threads| {
                threads
                    .spawn(move || {
                        assert_eq!(begun.poll(), Poll::Pending);
                        begun
                    })
                    .join()
                    .unwrap()
            }));
            assert_eq!(fiber.state(), FiberState::Unloading);
            all.push("b", journal.noting("b"));
            Ok::<_, ()>(())
        })
        .unwrap();
    let mut disposal = disposal.unwrap();
    assert!(disposal.wakes() > 0);
    assert_eq!(disposal.poll(), Poll::Ready(()));
    assert_eq!(journal.take(), ["before", "b", "a"]);
    assert!(!effect.is_live());
}

/// L21: a setup that waits for the end of its own fiber does not block itself; failing afterwards is
/// rolled back all the same.
#[test]
fn l21_a_setup_may_await_the_end_of_its_fiber() {
    for fails in [false, true] {
        let (fiber, journal) = (Fiber::root("test"), Journal::default());
        let outcome = fiber.composite("all", |all| {
            all.push("a", journal.noting("a"));
            block_on(fiber.dispose());
            if fails { Err("late") } else { Ok(()) }
        });
        assert_eq!(outcome.is_err(), fails);
        block_on(fiber.dispose());
        assert_eq!(journal.take(), ["a"]);
        assert_eq!(fiber.state(), FiberState::Disposed);
    }
}

/// T70: an adopted effect is undone at its position in the sequence, not in the fiber's order, also behind
/// an asynchronous step.
#[test]
fn t70_an_adopted_effect_keeps_its_position() {
    let (fiber, journal, gate) = (Fiber::root("test"), Journal::default(), Gate::default());
    fiber
        .composite("all", |all| {
            all.push("a", journal.noting("a"));
            all.adopt(fiber.effect("tool", journal.noting("tool")).unwrap());
            all.push_async("b", journal.gated("b", &gate));
            Ok::<_, ()>(())
        })
        .unwrap();
    fiber.effect("after", journal.noting("after")).unwrap();
    let mut disposal = Driven::new(fiber.dispose());
    assert_eq!(disposal.poll(), Poll::Pending);
    assert_eq!(journal.take(), ["after", "b+"]);
    gate.open();
    assert_eq!(disposal.poll(), Poll::Ready(()));
    assert_eq!(journal.take(), ["b-", "tool", "a"]);
}

/// T66: an adopted effect can still be disposed of by itself, once.
#[test]
fn t66_an_adopted_effect_is_undone_once() {
    let (fiber, journal) = (Fiber::root("test"), Journal::default());
    let tool = fiber.effect("tool", journal.noting("tool")).unwrap();
    fiber
        .composite("all", |all| {
            all.adopt(tool.clone());
            Ok::<_, ()>(())
        })
        .unwrap();
    tool.dispose();
    block_on(fiber.dispose());
    assert_eq!(journal.take(), ["tool"]);
}

/// T144: scopes, child fibers and asynchronous effects take their position as well.
#[test]
fn t144_an_adopted_scope_keeps_its_position() {
    let (fiber, journal, gate) = (Fiber::root("test"), Journal::default(), Gate::default());
    let scope = Scope::owned_by(&fiber, "agent").unwrap();
    scope
        .fiber()
        .effect_async("s", journal.gated("s", &gate))
        .unwrap();
    let nested = fiber
        .composite("nested", |nested| {
            nested.push("n", journal.noting("n"));
            Ok::<_, ()>(())
        })
        .unwrap()
        .1;
    let slow = fiber.effect_async("f", journal.gated("f", &gate)).unwrap();
    fiber
        .composite("all", |all| {
            all.push("a", journal.noting("a"));
            all.adopt(&scope);
            all.adopt(nested);
            all.adopt(slow);
            all.push("b", journal.noting("b"));
            Ok::<_, ()>(())
        })
        .unwrap();
    assert_eq!(fiber.live_effects().len(), 1);
    assert_eq!(fiber.live_effects()[0].nested.len(), 5);
    let mut disposal = Driven::new(fiber.dispose());
    assert_eq!(disposal.poll(), Poll::Pending);
    assert_eq!(journal.take(), ["b", "f+"]);
    gate.open();
    assert_eq!(disposal.poll(), Poll::Ready(()));
    assert_eq!(journal.take(), ["f-", "n", "s+", "s-", "a"]);
}

/// What belongs to another fiber ends with whichever ends first.
#[test]
fn a_foreign_effect_stays_with_its_own_fiber() {
    let (fiber, other, journal) = (
        Fiber::root("test"),
        Fiber::root("other"),
        Journal::default(),
    );
    let foreign = other.effect("foreign", journal.noting("foreign")).unwrap();
    fiber
        .composite("all", |all| {
            all.adopt(foreign);
            Ok::<_, ()>(())
        })
        .unwrap();
    assert_eq!(other.live_effects().len(), 1);
    block_on(other.dispose());
    assert_eq!(journal.take(), ["foreign"]);
    block_on(fiber.dispose());
    assert_eq!(journal.take(), Vec::<String>::new());
}
