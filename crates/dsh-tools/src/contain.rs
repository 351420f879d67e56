//! Panics of user code stay where they happen (T206, T452): the containment of `dsh-context`, with the failures of calls.

use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::task::{Context, Poll};

pub(crate) use dsh_context::discard;

use crate::ToolError;

/// Runs user code; a panic becomes an error.
pub(crate) fn contain<T>(run: impl FnOnce() -> T) -> Result<T, ToolError> {
    dsh_context::contain(run).map_err(|panicked| ToolError::from_panic(&panicked))
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

/// A future of the user's, whose panic is its failure.
pub(crate) struct Contained<F: ?Sized>(dsh_context::Contained<F>);

impl<F: ?Sized> Contained<F> {
    pub(crate) fn new(future: Pin<Box<F>>) -> Self {
        Self(dsh_context::Contained::new(future))
    }
}

impl<T, F> Future for Contained<F>
where
    F: Future<Output = Result<T, ToolError>> + ?Sized,
{
    type Output = Result<T, ToolError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0)
            .poll(cx)
            .map(|ended| ended.unwrap_or_else(|panicked| Err(ToolError::from_panic(&panicked))))
    }
}
