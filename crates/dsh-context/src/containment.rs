//! Turning a panic of foreign code into a value.
//!
//! Every crate of the workspace calls foreign code through these: listeners, providers, undos, bodies. What foreign code can
//! leave half changed is its own, since no lock is held and no table is changed while it runs; that is why
//! `AssertUnwindSafe` is right throughout. All of this needs `panic = "unwind"`.

use std::{
    any::Any,
    borrow::Cow,
    fmt,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll},
};

/// A boxed future, as the callbacks of this crate return it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What foreign code panicked with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Panicked(Option<Cow<'static, str>>);

impl Panicked {
    fn new(payload: Box<dyn Any + Send>) -> Self {
        let message = if let Some(text) = payload.downcast_ref::<&'static str>() {
            Some(Cow::Borrowed(*text))
        } else {
            payload.downcast_ref::<String>().cloned().map(Cow::Owned)
        };
        discard(payload);
        Self(message)
    }

    /// The text of the panic; `None` when it was raised with a value that is no text.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message().unwrap_or("a panic without a message"))
    }
}

/// Runs foreign code; its panic becomes an error.
///
/// # Errors
///
/// What the code panicked with.
///
/// # Examples
///
/// ```
/// let panicked = dsh_context::contain(|| panic!("too bad")).unwrap_err();
/// assert_eq!(panicked.message(), Some("too bad"));
/// ```
pub fn contain<T>(run: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(run)).map_err(Panicked::new)
}

/// Drops a foreign value; a panicking destructor is logged and goes no further.
pub fn discard<T>(value: T) {
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

/// A foreign future, polled and dropped without letting a panic through.
///
/// It resolves to the future's output, or to what polling it panicked with. A destructor that panics behind an output does
/// not change that output; see [`discard`]. Polled again after its end it stays pending.
#[must_use = "futures do nothing unless they are awaited"]
pub struct Contained<F: ?Sized>(Option<Pin<Box<F>>>);

impl<F: ?Sized> Contained<F> {
    /// Contains a future.
    pub fn new(future: Pin<Box<F>>) -> Self {
        Self(Some(future))
    }
}

impl<F: Future + ?Sized> Future for Contained<F> {
    type Output = Result<F::Output, Panicked>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(future) = self.0.as_mut() else {
            return Poll::Pending;
        };
        let ended = match contain(|| future.as_mut().poll(cx)) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(output)) => Ok(output),
            Err(panicked) => Err(panicked),
        };
        discard(self.0.take());
        Poll::Ready(ended)
    }
}

impl<F: ?Sized> Drop for Contained<F> {
    fn drop(&mut self) {
        if let Some(future) = self.0.take() {
            discard(future);
        }
    }
}

impl<F: ?Sized> fmt::Debug for Contained<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Contained")
            .field("is_over", &self.0.is_none())
            .finish()
    }
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

#[cfg(test)]
mod tests {
    use std::panic::panic_any;

    use super::*;

    /// Panics when it is dropped.
    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                panic!("bomb");
            }
        }
    }

    #[test]
    fn a_panic_is_a_value() {
        let message = |run: fn()| {
            let panicked = contain(run).unwrap_err();
            (panicked.message().map(str::to_owned), panicked.to_string())
        };
        assert_eq!(
            message(|| panic!("plain")),
            (Some("plain".into()), "plain".into())
        );
        assert_eq!(
            message(|| panic!("formatted {}", 1)),
            (Some("formatted 1".into()), "formatted 1".into())
        );
        assert_eq!(
            message(|| panic_any(7)),
            (None, "a panic without a message".into())
        );
    }

    /// What was thrown may panic in turn when it is dropped.
    #[test]
    fn a_payload_whose_destructor_panics_is_contained() {
        let panicked = contain(|| panic_any(Bomb)).unwrap_err();
        assert_eq!(panicked.message(), None);
        let future = Box::pin(async { panic_any(Bomb) });
        let ended: Result<(), _> = pollster::block_on(Contained::new(future));
        assert_eq!(ended.unwrap_err().message(), None);
    }

    /// A destructor takes nothing from an output, and an unfinished future is dropped as quietly.
    #[test]
    fn a_future_whose_destructor_panics_is_contained() {
        let bomb = Bomb;
        let ready = Box::pin(poll_fn(move |_| {
            let _held = &bomb;
            Poll::Ready(1)
        }));
        assert_eq!(pollster::block_on(Contained::new(ready)), Ok(1));
        let bomb = Bomb;
        drop(Contained::new(Box::pin(async move {
            let _held = bomb;
            std::future::pending::<()>().await;
        })));
    }
}
