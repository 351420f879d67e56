//! Many waits at once, each polled only when it was woken.

use std::{
    mem,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
};

use parking_lot::Mutex;

use crate::flight::Join;

/// Asynchronous undos of different effects, running at the same time (L18).
#[derive(Default)]
pub(crate) struct Overlap {
    waits: Vec<Option<(Join, Waker)>>,
    open: usize,
    ready: Arc<Ready>,
}

#[derive(Default)]
struct Ready {
    woken: Mutex<Vec<usize>>,
    waker: Mutex<Option<Waker>>,
}

struct WaitWaker {
    ready: Arc<Ready>,
    wait: usize,
}

impl Wake for WaitWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ready.woken.lock().push(self.wait);
        let waker = self.ready.waker.lock().clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Overlap {
    pub(crate) fn push(&mut self, join: Join) {
        let wait = self.waits.len();
        let waker = Waker::from(Arc::new(WaitWaker {
            ready: Arc::clone(&self.ready),
            wait,
        }));
        self.waits.push(Some((join, waker)));
        self.open += 1;
        self.ready.woken.lock().push(wait);
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let replaced = {
            let mut waker = self.ready.waker.lock();
            match &*waker {
                Some(held) if held.will_wake(cx.waker()) => None,
                _ => waker.replace(cx.waker().clone()),
            }
        };
        drop(replaced);
        let woken = mem::take(&mut *self.ready.woken.lock());
        for wait in woken {
            let Some((join, waker)) = &mut self.waits[wait] else {
                continue;
            };
            let waker = waker.clone();
            if join.poll(&mut Context::from_waker(&waker), None).is_ready() {
                self.waits[wait] = None;
                self.open -= 1;
            }
        }
        if self.open == 0 {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}
