//! Effects of one fiber: order, single shot, refusal, listing.
#![allow(clippy::unwrap_used, reason = "a test")]

mod rig;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    task::Poll,
    thread,
};

use dsh_context::{EffectKind, Fiber, FiberState, InactiveEffect};
use pollster::block_on;
use rig::{Driven, Gate, Journal};

#[test]
fn handles_can_be_shared_between_threads() {
    fn shared<T: Clone + Send + Sync + 'static>() {}
    shared::<Fiber>();
    shared::<dsh_context::Scope>();
    shared::<dsh_context::Effect>();
    shared::<dsh_context::AsyncEffect>();
    shared::<dsh_context::CompositeEffect>();
    shared::<dsh_context::Disposal>();
    shared::<dsh_context::Undoing>();
    shared::<dsh_context::PluginHost>();
}

/// L18: synchronous undos run in exact reverse order of registration.
#[test]
fn l18_synchronous_undos_run_in_exact_reverse_order() {
    let (fiber, journal) = (Fiber::root("test"), Journal::default());
    for name in ["a", "b", "c"] {
        fiber.effect(name, journal.noting(name)).unwrap();
    }
    block_on(fiber.dispose());
    assert_eq!(journal.take(), ["c", "b", "a"]);
    assert_eq!(fiber.state(), FiberState::Disposed);
}

/// L18: an undo in the middle that was disposed of early does not disturb the order of the rest.
#[test]
fn l18_order_survives_removal_and_reuse_of_places() {
    let (fiber, journal) = (Fiber::root("test"), Journal::default());
    let effects: Vec<_> = ["a", "b", "c"]
        .into_iter()
        .map(|name| fiber.effect(name, journal.noting(name)).unwrap())
        .collect();
    effects[1].dispose();
    fiber.effect("d", journal.noting("d")).unwrap();
    block_on(fiber.dispose());
    assert_eq!(journal.take(), ["b", "d", "c", "a"]);
}

/// L18: asynchronous undos of different effects overlap; they begin in reverse order, in line with the
/// synchronous ones.
#[test]
fn l18_asynchronous_undos_of_different_effects_overlap() {
    let (fiber, journal) = (Fiber::root("test"), Journal::default());
    let (first, second) = (Gate::default(), Gate::default());
    fiber.effect_async("a", journal.gated("a", &first)).unwrap();
    fiber.effect("b", journal.noting("b")).unwrap();
    fiber
        .effect_async("c", journal.gated("c", &second))
        .unwrap();

    let mut disposal = Driven::new(fiber.dispose());
    assert_eq!(disposal.poll(), Poll::Pending);
    assert_eq!(journal.take(), ["c+", "b", "a+"]);
    first.open();
    assert_eq!(disposal.wakes(), 1);
    assert_eq!(disposal.poll(), Poll::Pending);
    assert_eq!(journal.take(), ["a-"]);
    assert_eq!(fiber.state(), FiberState::Unloading);
    second.open();
    assert_eq!(disposal.poll(), Poll::Ready(()));
    assert_eq!(journal.take(), ["c-"]);
}

/// L17, T66: the first call performs the undo, later ones do nothing, nor does the disposal.
#[test]
fn l17_undo_handles_are_single_shot() {
    let (fiber, journal) = (Fiber::root("test"), Journal::default());
    let effect = fiber.effect("a", journal.noting("a")).unwrap();
    let same = effect.clone();
    assert!(same.is_live());
    effect.dispose();
    assert_eq!(journal.lines(), ["a"], "T68: done when the call returns");
    assert!(!same.is_live());
    same.dispose();
    block_on(fiber.dispose());
    effect.dispose();
    assert_eq!(journal.take(), ["a"]);
}

/// T67: a stale handle never reaches a later effect, whatever place that one took.
#[test]
fn t67_a_stale_handle_leaves_later_effects_alone() {
    let (fiber, journal) = (Fiber::root("test"), Journal::default());
    let stale = fiber.effect("a", journal.noting("a")).unwrap();
    stale.dispose();
    let fresh = fiber.effect("b", journal.noting("b")).unwrap();
    stale.dispose();
    assert!(fresh.is_live());
    assert_eq!(journal.take(), ["a"]);
}

/// D10: dropping a handle detaches it.
#[test]
fn d10_dropping_a_handle_leaves_the_undo_to_the_fiber() {
    let (fiber, journal) = (Fiber::root("test"), Journal::default());
    drop(fiber.effect("a", journal.noting("a")));
    drop(fiber.effect_async("b", journal.gated("b", &Gate::default())));
    assert_eq!(journal.lines(), Vec::<String>::new());
    assert_eq!(fiber.live_effects().len(), 2);
}

/// L17: a second disposal of an asynchronous effect does not wait for the one in flight.
#[test]
fn l17_a_later_call_does_not_wait_for_an_undo_in_flight() {
    let (fiber, journal, gate) = (Fiber::root("test"), Journal::default(), Gate::default());
    let effect = fiber.effect_async("a", journal.gated("a", &gate)).unwrap();
    let mut first = Driven::new(effect.dispose());
    assert_eq!(first.poll(), Poll::Pending);
    assert!(!effect.is_live());
    assert_eq!(Driven::new(effect.dispose()).poll(), Poll::Ready(()));
    gate.open();
    assert_eq!(first.poll(), Poll::Ready(()));
    assert_eq!(journal.take(), ["a+", "a-"]);
}

/// L17: the fiber does wait for an undo in flight elsewhere.
#[test]
fn l17_the_fiber_waits_for_an_undo_in_flight() {
    let (fiber, journal, gate) = (Fiber::root("test"), Journal::default(), Gate::default());
    let effect = fiber.effect_async("a", journal.gated("a", &gate)).unwrap();
    let mut undoing = Driven::new(effect.dispose());
    assert_eq!(undoing.poll(), Poll::Pending);
    let mut disposal = Driven::new(fiber.dispose());
    assert_eq!(disposal.poll(), Poll::Pending);
    gate.open();
    assert_eq!(undoing.poll(), Poll::Ready(()));
    assert!(disposal.wakes() > 0);
    assert_eq!(disposal.poll(), Poll::Ready(()));
    assert_eq!(journal.take(), ["a+", "a-"]);
}

/// The disposal completes an undo that was taken by somebody who then went away, begun or not.
#[test]
fn an_abandoned_undo_is_completed_by_the_fiber() {
    for polls in [0, 1] {
        let (fiber, journal, gate) = (Fiber::root("test"), Journal::default(), Gate::default());
        let effect = fiber.effect_async("a", journal.gated("a", &gate)).unwrap();
        let mut undoing = Driven::new(effect.dispose());
        for _ in 0..polls {
            assert_eq!(undoing.poll(), Poll::Pending);
        }
        drop(undoing);
        let mut disposal = Driven::new(fiber.dispose());
        assert_eq!(disposal.poll(), Poll::Pending);
        gate.open();
        assert_eq!(disposal.poll(), Poll::Ready(()));
        assert_eq!(journal.take(), ["a+", "a-"]);
    }
}

/// The same for an undo that is taken while the teardown runs already.
#[test]
fn an_undo_taken_during_the_teardown_is_waited_for() {
    let (fiber, journal, gate) = (Fiber::root("test"), Journal::default(), Gate::default());
    let effect = fiber.effect_async("a", journal.gated("a", &gate)).unwrap();
    let disposal = fiber.dispose();
    drop(effect.dispose());
    let mut disposal = Driven::new(disposal);
    assert_eq!(disposal.poll(), Poll::Pending);
    gate.open();
    assert_eq!(disposal.poll(), Poll::Ready(()));
    assert_eq!(journal.take(), ["a+", "a-"]);
}

/// L17: a synchronous undo that another thread is in the middle of is waited for by the disposal, and not
/// by a second call of the handle.
#[test]
fn l17_the_fiber_waits_for_a_synchronous_undo_on_another_thread() {
    let fiber = Fiber::root("test");
    let (entered, has_entered) = mpsc::channel();
    let (leave, may_leave) = mpsc::channel::<()>();
    let effect = fiber
        .effect("a", move || {
            entered.send(()).unwrap();
            may_leave.recv().unwrap();
        })
        .unwrap();
    let undoing = thread::spawn({
        let effect = effect.clone();
        move || effect.dispose()
    });
    has_entered.recv().unwrap();
    effect.dispose();
    let mut disposal = Driven::new(fiber.dispose());
    assert_eq!(disposal.poll(), Poll::Pending);
    leave.send(()).unwrap();
    undoing.join().unwrap();
    assert!(disposal.wakes() > 0);
    assert_eq!(disposal.poll(), Poll::Ready(()));
}

/// L13, T71: from the call of `dispose` on, effects are refused, and a refused undo is not run.
#[test]
fn l13_an_ending_or_dead_fiber_refuses_effects() {
    let (fiber, journal) = (Fiber::root("test"), Journal::default());
    let disposal = fiber.dispose();
    for state in [FiberState::Unloading, FiberState::Disposed] {
        assert_eq!(fiber.state(), state);
        assert!(!fiber.is_active());
        let refused = fiber.effect("a", journal.noting("a")).unwrap_err();
        assert_eq!(refused.code(), "INACTIVE_EFFECT");
        assert_eq!(
            refused.to_string(),
            "cannot create effect on inactive context"
        );
        assert_eq!(fiber.child("b").unwrap_err(), InactiveEffect);
        assert!(fiber.effect_async("c", || async {}).is_err());
        assert!(
            fiber
                .composite("d", |_| {
                    journal.note("setup");
                    Ok::<_, ()>(())
                })
                .is_err()
        );
        block_on(disposal.clone());
    }
    assert_eq!(journal.take(), Vec::<String>::new());
    assert_eq!(fiber.live_effects(), []);
}

/// L13: a refused undo is dropped, with what it holds.
#[test]
fn l13_a_refused_undo_is_dropped() {
    let fiber = Fiber::root("test");
    block_on(fiber.dispose());
    let held = Arc::new(());
    let undo = {
        let held = Arc::clone(&held);
        move || drop(held)
    };
    assert!(fiber.effect("a", undo).is_err());
    assert_eq!(Arc::strong_count(&held), 1);
}

/// L19: a failing undo stops neither the others nor the disposal.
#[test]
fn l19_a_panicking_undo_stops_nothing() {
    let (fiber, journal) = (Fiber::root("test"), Journal::default());
    fiber.effect("a", journal.noting("a")).unwrap();
    fiber.effect("bad", || panic!("sync")).unwrap();
    fiber
        .effect_async("bad", || async { panic!("async") })
        .unwrap();
    fiber
        .effect_async("bad", || {
            if true {
                panic!("before the future")
            }
            async {}
        })
        .unwrap();
    fiber.effect("b", journal.noting("b")).unwrap();
    let child = fiber.child("child").unwrap();
    child.effect("bad", || panic!("child")).unwrap();
    block_on(fiber.dispose());
    assert_eq!(journal.take(), ["b", "a"]);
    assert_eq!(child.state(), FiberState::Disposed);
}

/// L19: the same for an undo that its handle runs; it counts as done.
#[test]
fn l19_a_panicking_undo_is_contained_by_its_handle() {
    let fiber = Fiber::root("test");
    let effect = fiber.effect("bad", || panic!("sync")).unwrap();
    effect.dispose();
    assert!(!effect.is_live());
    assert_eq!(fiber.live_effects(), []);
}

/// L20: labels, kinds and nesting, in order of acquisition.
#[test]
fn l20_live_effects_are_listed_with_nested_ones() {
    let fiber = Fiber::root("test");
    fiber.effect("first", || ()).unwrap().dispose();
    fiber.effect("second", || ()).unwrap();
    let child = fiber.child("child").unwrap();
    child.effect_async("inner", || async {}).unwrap();
    fiber.effect(format!("owned {}", 1), || ()).unwrap();
    fiber
        .composite("both", |both| {
            both.push("x", || ());
            both.adopt(fiber.effect("y", || ()).unwrap());
            both.push_async("z", || async {});
            Ok::<_, ()>(())
        })
        .unwrap();

    let listed = fiber.live_effects();
    let flat: Vec<_> = listed
        .iter()
        .map(|info| (&*info.label, info.kind))
        .collect();
    assert_eq!(
        flat,
        [
            ("second", EffectKind::Sync),
            ("child", EffectKind::Fiber),
            ("owned 1", EffectKind::Sync),
            ("both", EffectKind::Composite),
        ]
    );
    assert_eq!(listed[1].nested[0].label, "inner");
    let nested: Vec<_> = listed[3].nested.iter().map(|info| &*info.label).collect();
    assert_eq!(nested, ["x", "y", "z"]);
    block_on(fiber.dispose());
    assert_eq!(fiber.live_effects(), []);
}

/// L20: what is being undone is listed as such until it is over.
#[test]
fn l20_an_undo_in_flight_is_still_listed() {
    let (fiber, gate) = (Fiber::root("test"), Gate::default());
    let effect = fiber
        .effect_async("slow", Journal::default().gated("slow", &gate))
        .unwrap();
    let mut undoing = Driven::new(effect.dispose());
    assert_eq!(undoing.poll(), Poll::Pending);
    assert!(fiber.live_effects()[0].undoing);
    gate.open();
    assert_eq!(undoing.poll(), Poll::Ready(()));
    assert_eq!(fiber.live_effects(), []);
}

/// An undo may register, dispose and read on its own fiber.
#[test]
fn an_undo_may_reenter_its_fiber() {
    let (fiber, journal) = (Fiber::root("test"), Journal::default());
    let other = fiber.effect("other", journal.noting("other")).unwrap();
    let effect = fiber
        .effect("a", {
            let (fiber, journal) = (fiber.clone(), journal.clone());
            move || {
                other.dispose();
                fiber.effect("late", journal.noting("late")).unwrap();
                journal.note(format!("{} live", fiber.live_effects().len()));
            }
        })
        .unwrap();
    effect.dispose();
    assert_eq!(journal.take(), ["other", "2 live"]);
    block_on(fiber.dispose());
    assert_eq!(journal.take(), ["late"]);
}

/// Waking one of many asynchronous undos does not poll the others.
#[test]
fn a_wake_polls_only_what_was_woken() {
    let (fiber, polls) = (Fiber::root("test"), Arc::new(AtomicUsize::new(0)));
    let gates: Vec<_> = (0..100).map(|_| Gate::default()).collect();
    for gate in &gates {
        let (polls, passing) = (Arc::clone(&polls), gate.pass());
        fiber
            .effect_async("slow", move || async move {
                let mut passing = std::pin::pin!(passing);
                std::future::poll_fn(|cx| {
                    polls.fetch_add(1, Ordering::SeqCst);
                    passing.as_mut().poll(cx)
                })
                .await;
            })
            .unwrap();
    }
    let mut disposal = Driven::new(fiber.dispose());
    assert_eq!(disposal.poll(), Poll::Pending);
    for gate in &gates {
        gate.open();
        let _ = disposal.poll();
    }
    assert_eq!(fiber.state(), FiberState::Disposed);
    assert_eq!(polls.load(Ordering::SeqCst), 200);
}
