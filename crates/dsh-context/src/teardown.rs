//! The order in which a fiber's effects are undone.

use std::{
    borrow::Cow,
    pin::Pin,
    sync::{Arc, Weak},
    task::{Context, Poll},
};

use crate::{
    composite::Steps,
    containment::{Panicked, contain, contain_async},
    fiber::{AsyncUndo, FiberCore, Started, SyncUndo},
    flight::Join,
    ordered::EntryId,
    overlap::Overlap,
};

/// The work behind every disposal of one fiber.
///
/// It knows its fiber weakly: the fiber owns it, and the disposals that poll it keep the fiber alive.
pub(crate) struct Teardown {
    fiber: Weak<FiberCore>,
    overlap: Overlap,
}

/// Where a teardown stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Settled {
    /// There is something to undo or to drive.
    Again,
    /// Something is in flight.
    Waiting,
    Over,
}

impl Teardown {
    pub(crate) fn new(fiber: Weak<FiberCore>) -> Self {
        Self {
            fiber,
            overlap: Overlap::default(),
        }
    }
}

impl Future for Teardown {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Some(fiber) = self.fiber.upgrade() else {
            return Poll::Ready(());
        };
        loop {
            for flight in fiber.take_handover() {
                self.overlap.push(Join::new(flight));
            }
            while let Some((id, started)) = fiber.start_last() {
                match started {
                    Started::Inline(undo) => {
                        run_inline(&fiber, id, undo);
                        continue;
                    }
                    Started::Flight(flight) => self.overlap.push(Join::new(flight)),
                    Started::Child(child) => self.overlap.push(child.dispose().into_join()),
                    Started::Setup => continue,
                }
                // An asynchronous undo begins at its place in the order and then overlaps.
                let _ = self.overlap.poll(cx);
            }
            let driven = self.overlap.poll(cx).is_ready();
            match fiber.settle(driven, cx.waker()) {
                Settled::Again => {}
                Settled::Waiting => return Poll::Pending,
                Settled::Over => return Poll::Ready(()),
            }
        }
    }
}

/// Runs a synchronous undo that was taken out of its slot.
pub(crate) fn run_inline(fiber: &Arc<FiberCore>, id: EntryId, undo: SyncUndo) {
    if let Err(panicked) = contain(undo) {
        log(fiber.label(), &fiber.label_of(id), &panicked);
    }
    fiber.finish(id);
}

pub(crate) async fn undo(fiber: Weak<FiberCore>, id: EntryId, undo: AsyncUndo) {
    let outcome = contain_async(undo).await;
    if let Some(fiber) = fiber.upgrade() {
        if let Err(panicked) = outcome {
            log(fiber.label(), &fiber.label_of(id), &panicked);
        }
        fiber.finish(id);
    }
}

pub(crate) async fn undo_steps(fiber: Weak<FiberCore>, id: EntryId, steps: Steps) {
    // Not held across the steps: they are foreign and may drop the last handle of the fiber.
    let label = || {
        fiber
            .upgrade()
            .map_or(Cow::Borrowed(""), |fiber| fiber.label().to_owned().into())
    };
    while let Some(step) = steps.pop() {
        let name = step.label();
        if let Err(panicked) = step.undo().await {
            log(&label(), &name, &panicked);
        }
    }
    if let Some(fiber) = fiber.upgrade() {
        fiber.finish(id);
    }
}

fn log(fiber: &str, effect: &str, panicked: &Panicked) {
    tracing::error!(fiber, effect, panic = %panicked, "an undo panicked; the others go on");
}
