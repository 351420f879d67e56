//! The end of a fiber: sharing, nesting, re-entrancy.
#![allow(clippy::unwrap_used, reason = "a test")]

mod rig;

use std::{sync::Arc, task::Poll};

use dsh_context::{Fiber, FiberState, Scope};
use pollster::block_on;
use rig::{Driven, Gate, Journal};

/// L11, T142: concurrent and repeated disposals share one completion.
#[test]
fn t142_disposals_share_one_completion() {
    let (fiber, journal, gate) = (Fiber::root("test"), Journal::default(), Gate::default());
    fiber.effect_async("a", journal.gated("a", &gate)).unwrap();
    let mut first = Driven::new(fiber.dispose());
    let mut second = Driven::new(fiber.dispose());
    assert_eq!(first.poll(), Poll::Pending);
    assert_eq!(second.poll(), Poll::Pending);
    gate.open();
    assert!(first.wakes() > 0 && second.wakes() > 0);
    assert_eq!(second.poll(), Poll::Ready(()));
    assert_eq!(first.poll(), Poll::Ready(()));
    assert_eq!(Driven::new(fiber.dispose()).poll(), Poll::Ready(()));
    assert_eq!(journal.take(), ["a+", "a-"]);
}

/// The teardown goes on although the caller that drove it went away.
#[test]
fn a_dropped_disposal_leaves_the_teardown_to_the_others() {
    let (fiber, journal, gate) = (Fiber::root("test"), Journal::default(), Gate::default());
    fiber.effect_async("a", journal.gated("a", &gate)).unwrap();
    let mut first = Driven::new(fiber.dispose());
    let mut second = Driven::new(fiber.dispose());
    assert_eq!(second.poll(), Poll::Pending);
    assert_eq!(first.poll(), Poll::Pending);
    drop(first);
    gate.open();
    assert!(second.wakes() > 0);
    assert_eq!(second.poll(), Poll::Ready(()));
}

/// A disposal that nobody polled, or that was dropped half way, is caught up with by a later one.
#[test]
fn a_later_disposal_completes_an_abandoned_one() {
    let (fiber, journal, gate) = (Fiber::root("test"), Journal::default(), Gate::default());
    fiber.effect("a", journal.noting("a")).unwrap();
    fiber.effect_async("b", journal.gated("b", &gate)).unwrap();
    drop(fiber.dispose());
    assert_eq!(fiber.state(), FiberState::Unloading);
    let mut half = Driven::new(fiber.dispose());
    assert_eq!(half.poll(), Poll::Pending);
    drop(half);
    gate.open();
    block_on(fiber.dispose());
    assert_eq!(journal.take(), ["b+", "a", "b-"]);
}

/// L11, T144: child fibers are disposed recursively, in acquisition position.
#[test]
fn t144_children_are_disposed_in_acquisition_position() {
    let (root, journal) = (Fiber::root("root"), Journal::default());
    root.effect("a", journal.noting("a")).unwrap();
    let child = root.child("child").unwrap();
    root.effect("b", journal.noting("b")).unwrap();
    child.effect("c", journal.noting("c")).unwrap();
    let grandchild = child.child("grandchild").unwrap();
    grandchild.effect("d", journal.noting("d")).unwrap();
    block_on(root.dispose());
    assert_eq!(journal.take(), ["b", "d", "c", "a"]);
    assert_eq!(grandchild.state(), FiberState::Disposed);
}

/// A child that ended by itself leaves nothing behind in its parent.
#[test]
fn a_disposed_child_leaves_its_parent() {
    let root = Fiber::root("root");
    let child = root.child("child").unwrap();
    assert_eq!(root.live_effects().len(), 1);
    block_on(child.dispose());
    assert_eq!(root.live_effects(), []);
    assert!(root.is_active());
    assert!(!child.is_active());
}

/// L12: parent and child disposed at the same time from different places; both wait for the whole.
#[test]
fn l12_parent_and_child_disposed_at_the_same_time() {
    for child_first in [true, false] {
        let (root, journal, gate) = (Fiber::root("root"), Journal::default(), Gate::default());
        let child = root.child("child").unwrap();
        child.effect_async("a", journal.gated("a", &gate)).unwrap();
        let (mut parent, mut inner) = if child_first {
            let inner = Driven::new(child.dispose());
            (Driven::new(root.dispose()), inner)
        } else {
            (Driven::new(root.dispose()), Driven::new(child.dispose()))
        };
        for disposal in [&mut parent, &mut inner] {
            assert_eq!(disposal.poll(), Poll::Pending);
        }
        gate.open();
        assert_eq!(inner.poll(), Poll::Ready(()));
        assert_eq!(parent.poll(), Poll::Ready(()));
        assert_eq!(journal.take(), ["a+", "a-"]);
    }
}

/// L12: the parent waits for a child whose disposal was begun and abandoned.
#[test]
fn l12_the_parent_completes_an_abandoned_disposal_of_its_child() {
    let (root, journal) = (Fiber::root("root"), Journal::default());
    let child = root.child("child").unwrap();
    child.effect("a", journal.noting("a")).unwrap();
    drop(child.dispose());
    block_on(root.dispose());
    assert_eq!(journal.take(), ["a"]);
}

/// T143: disposing a scope waits for its asynchronous cleanups; T65: with its owner it ends as well.
#[test]
fn t143_scopes_end_like_fibers() {
    let (owner, journal, gate) = (Fiber::root("owner"), Journal::default(), Gate::default());
    let scope = Scope::owned_by(&owner, "agent").unwrap();
    scope
        .fiber()
        .effect_async("a", journal.gated("a", &gate))
        .unwrap();
    let mut disposal = Driven::new(scope.dispose());
    assert_eq!(disposal.poll(), Poll::Pending);
    let mut owners = Driven::new(owner.dispose());
    assert_eq!(owners.poll(), Poll::Pending);
    gate.open();
    assert_eq!(owners.poll(), Poll::Ready(()));
    assert_eq!(disposal.poll(), Poll::Ready(()));
    assert!(Scope::owned_by(&owner, "late").is_err());
}

/// L21: an asynchronous undo that awaits the disposal that waits for it.
#[test]
fn l21_an_undo_may_await_its_own_fiber() {
    let (fiber, journal, gate) = (Fiber::root("test"), Journal::default(), Gate::default());
    fiber.effect("before", journal.noting("before")).unwrap();
    fiber
        .effect_async("a", {
            let (fiber, journal, gate) = (fiber.clone(), journal.clone(), gate.clone());
            move || async move {
                fiber.dispose().await;
                journal.note("a+");
                gate.pass().await;
                fiber.dispose().await;
                journal.note("a-");
            }
        })
        .unwrap();
    let mut disposal = Driven::new(fiber.dispose());
    assert_eq!(disposal.poll(), Poll::Pending);
    gate.open();
    assert_eq!(disposal.poll(), Poll::Ready(()));
    assert_eq!(journal.take(), ["a+", "before", "a-"]);
}

/// L21: an undo of a child that awaits the disposal of its parent, when only the child was to end. The
/// parent's disposal is carried on by that of the child.
#[test]
fn l21_an_undo_may_await_an_enclosing_fiber() {
    let (root, journal) = (Fiber::root("root"), Journal::default());
    let (gate, slow) = (Gate::default(), Gate::default());
    root.effect_async("root", journal.gated("root", &slow))
        .unwrap();
    let child = root.child("child").unwrap();
    child
        .effect_async("a", {
            let (root, journal, gate) = (root.clone(), journal.clone(), gate.clone());
            move || async move {
                root.dispose().await;
                journal.note("a+");
                gate.pass().await;
                journal.note("a-");
            }
        })
        .unwrap();
    let mut disposal = Driven::new(child.dispose());
    assert_eq!(disposal.poll(), Poll::Pending);
    assert_eq!(root.state(), FiberState::Unloading);
    gate.open();
    assert_eq!(
        disposal.poll(),
        Poll::Pending,
        "the root is carried on here"
    );
    assert_eq!(child.state(), FiberState::Disposed);
    slow.open();
    assert_eq!(disposal.poll(), Poll::Ready(()));
    assert_eq!(root.state(), FiberState::Disposed);
    assert_eq!(journal.take(), ["root+", "a+", "a-", "root-"]);
}

/// L21: siblings whose undos await each other.
#[test]
fn l21_undos_may_await_each_other() {
    let (root, gate) = (Fiber::root("root"), Gate::default());
    let left = root.child("left").unwrap();
    let right = root.child("right").unwrap();
    for (own, other) in [(&left, &right), (&right, &left)] {
        let (other, gate) = (other.clone(), gate.clone());
        own.effect_async("a", move || async move {
            gate.pass().await;
            other.dispose().await;
        })
        .unwrap();
    }
    let mut disposal = Driven::new(root.dispose());
    assert_eq!(disposal.poll(), Poll::Pending);
    gate.open();
    let mut polls = 0;
    while disposal.poll().is_pending() {
        polls += 1;
        assert!(polls < 10, "stuck");
    }
    assert_eq!(
        (left.state(), right.state()),
        (FiberState::Disposed, FiberState::Disposed)
    );
}

/// L21: a synchronous undo that blocks on the end of its own fiber, run by its handle and by the fiber.
#[test]
fn l21_a_synchronous_undo_may_block_on_its_own_fiber() {
    for by_handle in [true, false] {
        let (fiber, journal) = (Fiber::root("test"), Journal::default());
        fiber.effect("before", journal.noting("before")).unwrap();
        let effect = fiber
            .effect("a", {
                let (fiber, journal) = (fiber.clone(), journal.clone());
                move || {
                    block_on(fiber.dispose());
                    journal.note("a");
                }
            })
            .unwrap();
        if by_handle {
            effect.dispose();
        }
        block_on(fiber.dispose());
        let mut noted = journal.take();
        noted.sort();
        assert_eq!(noted, ["a", "before"]);
    }
}

/// A disposal holds no reference circle: once nobody has a handle, everything is freed.
#[test]
fn nothing_outlives_its_handles() {
    let held = Arc::new(());
    let fiber = Fiber::root("test");
    let child = fiber.child("child").unwrap();
    for fiber in [&fiber, &child] {
        let captured = Arc::clone(&held);
        fiber.effect("a", move || drop(captured)).unwrap();
        let captured = Arc::clone(&held);
        fiber
            .effect_async("b", move || async move {
                let _captured = captured;
                std::future::pending::<()>().await;
            })
            .unwrap();
    }
    let mut disposal = Driven::new(fiber.dispose());
    assert_eq!(disposal.poll(), Poll::Pending);
    drop((disposal, fiber, child));
    assert_eq!(Arc::strong_count(&held), 1);
}
