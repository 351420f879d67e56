//! Instruments that the tests of this crate share: a journal, a gate and hand-driven futures.
#![allow(dead_code, reason = "each test file uses a part")]

use std::{
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
};

/// What happened, in order.
#[derive(Clone, Default)]
pub(crate) struct Journal(Arc<Mutex<Vec<String>>>);

impl Journal {
    pub(crate) fn note(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    /// An undo that notes its name.
    pub(crate) fn noting(&self, line: &str) -> impl FnOnce() + Send + 'static + use<> {
        let (journal, line) = (self.clone(), line.to_owned());
        move || journal.note(line)
    }

    /// An undo that notes its beginning and, once the gate is open, its end.
    pub(crate) fn gated(
        &self,
        line: &str,
        gate: &Gate,
    ) -> impl FnOnce() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + 'static + use<> {
        let (journal, line, gate) = (self.clone(), line.to_owned(), gate.clone());
        move || {
            Box::pin(async move {
                journal.note(format!("{line}+"));
                gate.pass().await;
                journal.note(format!("{line}-"));
            })
        }
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// Holds futures back until it is opened.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<Mutex<(bool, Vec<Waker>)>>);

impl Gate {
    pub(crate) fn open(&self) {
        let wakers = {
            let mut gate = self.0.lock().unwrap();
            gate.0 = true;
            std::mem::take(&mut gate.1)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    pub(crate) fn pass(&self) -> impl Future<Output = ()> + Send + use<> {
        let gate = Arc::clone(&self.0);
        std::future::poll_fn(move |cx| {
            let mut gate = gate.lock().unwrap();
            if gate.0 {
                return Poll::Ready(());
            }
            gate.1.push(cx.waker().clone());
            Poll::Pending
        })
    }
}

/// A future that is driven by hand.
pub(crate) struct Driven<T> {
    future: Pin<Box<dyn Future<Output = T> + Send>>,
    woken: Arc<Woken>,
}

#[derive(Default)]
struct Woken(std::sync::atomic::AtomicUsize);

impl std::task::Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    }
}

impl<T> Driven<T> {
    pub(crate) fn new(future: impl Future<Output = T> + Send + 'static) -> Self {
        Self {
            future: Box::pin(future),
            woken: Arc::default(),
        }
    }

    pub(crate) fn poll(&mut self) -> Poll<T> {
        let waker = Waker::from(Arc::clone(&self.woken));
        self.future.as_mut().poll(&mut Context::from_waker(&waker))
    }

    pub(crate) fn wakes(&self) -> usize {
        self.woken.0.load(std::sync::atomic::Ordering::SeqCst)
    }
}
