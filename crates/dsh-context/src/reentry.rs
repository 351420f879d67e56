//! Which undo code the current thread is inside of.
//!
//! Undo code may ask for the end of the very fiber that is waiting for it (L21). Such a wait can never
//! succeed, so it is recognised by the frames on this thread and ends at once. What is asked for that way
//! is carried on by the work that it was asked from.

use std::{cell::RefCell, marker::PhantomData, sync::Arc};

use crate::{
    fiber::{Fiber, FiberCore},
    flight::Flight,
};

/// Foreign code that runs right now, below the current point of this thread's stack.
pub(crate) enum Frame {
    /// A poll of shared work.
    Work(Arc<Flight>),
    /// A synchronous undo or the setup of a composite effect.
    Inline(Arc<FiberCore>),
}

impl Frame {
    fn fiber(&self) -> Option<Arc<FiberCore>> {
        match self {
            Self::Work(flight) => flight.owner(),
            Self::Inline(core) => Some(Arc::clone(core)),
        }
    }
}

thread_local! {
    static FRAMES: RefCell<Vec<Frame>> = const { RefCell::new(Vec::new()) };
}

/// Leaves the frame when dropped.
pub(crate) struct Entered {
    entered: bool,
    /// The frame belongs to this thread.
    _local: PhantomData<*const ()>,
}

pub(crate) fn enter(frame: Frame) -> Entered {
    // While the thread's locals are being destroyed there is nobody left to wait.
    let entered = FRAMES
        .try_with(|frames| frames.borrow_mut().push(frame))
        .is_ok();
    Entered {
        entered,
        _local: PhantomData,
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        if self.entered {
            // The frame may hold the last handle of a fiber, whose effects are foreign code: drop it
            // after the borrow has ended.
            let frame = FRAMES.try_with(|frames| frames.borrow_mut().pop());
            drop(frame);
        }
    }
}

/// Whether this thread is inside the given work.
pub(crate) fn is_inside(work: &Arc<Flight>) -> bool {
    FRAMES
        .try_with(|frames| {
            frames
                .borrow()
                .iter()
                .any(|frame| matches!(frame, Frame::Work(flight) if Arc::ptr_eq(flight, work)))
        })
        .unwrap_or(false)
}

/// Whether waiting here for the end of `target` would wait for code that is waiting here.
///
/// If so, and if nothing further down drives that end already, the outermost work takes it over.
pub(crate) fn defer(target: &Fiber, teardown: &Arc<Flight>) -> bool {
    let carrier = FRAMES.try_with(|frames| {
        let frames = frames.borrow();
        let inside = frames
            .iter()
            .filter_map(Frame::fiber)
            .any(|core| core.is_within(target.core()));
        if !inside {
            return None;
        }
        let mut works = frames.iter().filter_map(|frame| match frame {
            Frame::Work(flight) => Some(flight),
            Frame::Inline(_) => None,
        });
        let outermost = works.next().cloned();
        let driven = outermost
            .iter()
            .chain(works)
            .any(|flight| Arc::ptr_eq(flight, teardown));
        Some(if driven { None } else { outermost })
    });
    match carrier {
        Ok(Some(carrier)) => {
            if let Some(carrier) = carrier {
                carrier.follow_up(target.clone());
            }
            true
        }
        Ok(None) | Err(_) => false,
    }
}
