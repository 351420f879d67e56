//! A call whose future is dropped goes on without its caller (D5, T292).

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::{BoxFuture, Tools};

/// A future that is not lost when it is dropped: its work is cancelled and handed to the spawner.
pub(crate) struct Drained<T: 'static, C: FnOnce()> {
    tools: Tools,
    cancel: Option<C>,
    future: Option<BoxFuture<'static, T>>,
}

impl<T, C: FnOnce()> Drained<T, C> {
    pub(crate) fn new(tools: &Tools, cancel: C, future: BoxFuture<'static, T>) -> Self {
        Self {
            tools: tools.clone(),
            cancel: Some(cancel),
            future: Some(future),
        }
    }
}

// Nothing in it is pinned in place: the future is boxed.
impl<T, C: FnOnce()> Unpin for Drained<T, C> {}

impl<T, C: FnOnce()> Future for Drained<T, C> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let Some(future) = self.future.as_mut() else {
            return Poll::Pending;
        };
        let output = std::task::ready!(future.as_mut().poll(cx));
        self.future = None;
        Poll::Ready(output)
    }
}

impl<T, C: FnOnce()> Drop for Drained<T, C> {
    fn drop(&mut self) {
        if let Some(future) = self.future.take() {
            if let Some(cancel) = self.cancel.take() {
                cancel();
            }
            self.tools.drain(async move {
                let _output = future.await;
            });
        }
    }
}

impl Tools {
    /// Runs what a dropped future left, and lets [`Tools::close`] wait for it.
    pub(crate) fn drain(&self, rest: impl Future<Output = ()> + Send + 'static) {
        let draining = self.enter_drain();
        let future: BoxFuture<'static, ()> = Box::pin(async move {
            rest.await;
            drop(draining);
        });
        let spawner = self.spawner();
        if crate::contain::contain(|| spawner.spawn(future)).is_err() {
            tracing::error!("the spawner panicked; a dropped call did not finish");
        }
    }
}
