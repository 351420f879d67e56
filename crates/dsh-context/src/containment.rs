//! Turning a panic of foreign code into a value.

use std::{
    any::Any,
    borrow::Cow,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::Poll,
};

/// A boxed future, as the callbacks of this crate return it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What foreign code panicked with.
#[derive(Debug, Clone)]
pub(crate) struct Panicked(pub(crate) Cow<'static, str>);

/// Runs foreign code; the values it can leave half changed are its own.
pub(crate) fn contain<T>(run: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|payload| Panicked(message(&*payload)))
}

/// [`contain`] for a future, including its creation and its destruction.
pub(crate) async fn contain_async<'a, T>(
    make: impl FnOnce() -> BoxFuture<'a, T>,
) -> Result<T, Panicked> {
    let mut future = contain(make)?;
    let outcome = poll_fn(|cx| match contain(|| future.as_mut().poll(cx)) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
        Err(panicked) => Poll::Ready(Err(panicked)),
    })
    .await;
    contain(move || drop(future))?;
    outcome
}

fn message(payload: &(dyn Any + Send)) -> Cow<'static, str> {
    if let Some(text) = payload.downcast_ref::<&'static str>() {
        Cow::Borrowed(text)
    } else if let Some(text) = payload.downcast_ref::<String>() {
        Cow::Owned(text.clone())
    } else {
        Cow::Borrowed("a panic without a message")
    }
}
