//! Panics of user code stay where they happen (T206, T452).
//!
//! Nothing of the registry is changed while user code runs, so its state is valid after a caught panic; that is why
//! `AssertUnwindSafe` is right throughout. All of this needs `panic = "unwind"`.

use std::future::Future;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::ToolError;

/// Runs user code; a panic becomes an error.
pub(crate) fn contain<T>(run: impl FnOnce() -> T) -> Result<T, ToolError> {
    catch_unwind(AssertUnwindSafe(run)).map_err(ToolError::from_panic)
}

/// Drops a value of the user's; a panicking destructor is logged and goes no further.
pub(crate) fn discard<T>(value: T) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        tracing::error!("a destructor panicked");
        // The payload's own destructor may panic as well; leaking it once is the way out.
        if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            #[expect(
                clippy::mem_forget,
                reason = "a payload whose destructor panics must not be dropped again"
            )]
            std::mem::forget(second);
        }
    }
}

/// A value of the user's that may be dropped anywhere: whoever holds it last is often a call, not its owner (T452).
pub(crate) struct Kept<T>(Option<T>);

impl<T> Kept<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Some(value))
    }
}

impl<T> Deref for Kept<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match &self.0 {
            Some(value) => value,
            // Only the destructor takes the value out.
            None => unreachable!("a kept value is there until it is dropped"),
        }
    }
}

impl<T> Drop for Kept<T> {
    fn drop(&mut self) {
        if let Some(value) = self.0.take() {
            discard(value);
        }
    }
}

/// A future of the user's, polled and dropped without letting a panic through.
pub(crate) struct Contained<F: ?Sized> {
    future: Option<Pin<Box<F>>>,
}

impl<F: ?Sized> Contained<F> {
    pub(crate) fn new(future: Pin<Box<F>>) -> Self {
        Self {
            future: Some(future),
        }
    }
}

impl<T, F> Future for Contained<F>
where
    F: Future<Output = Result<T, ToolError>> + ?Sized,
{
    type Output = Result<T, ToolError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(future) = self.future.as_mut() else {
            return Poll::Ready(Err(ToolError::new("polled after completion")));
        };
        let result = match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(result)) => result,
            Err(payload) => Err(ToolError::from_panic(payload)),
        };
        if let Some(future) = self.future.take() {
            discard(future);
        }
        Poll::Ready(result)
    }
}

impl<F: ?Sized> Drop for Contained<F> {
    fn drop(&mut self) {
        if let Some(future) = self.future.take() {
            discard(future);
        }
    }
}
