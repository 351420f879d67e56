//! Several undos that belong together and are undone strictly one after the other.

use std::{
    borrow::Cow,
    error::Error,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::Arc,
};

use parking_lot::Mutex;

use crate::{
    containment::{Panicked, contain, contain_async},
    effect::{AsyncEffect, CompositeEffect, Effect, EffectInfo, EffectKind, Handle, Undoing},
    fiber::{AsyncUndo, Fiber, SyncUndo},
    flight::Join,
    inactive::InactiveEffect,
    reentry::{self, Frame},
    scope::Scope,
};

impl Fiber {
    /// Runs `setup`, which acquires things one by one and tells the [`Composite`] how to undo each, as
    /// one effect.
    ///
    /// The undos run strictly one after the other, in reverse order of production, also when they are
    /// asynchronous (L18). If the fiber is disposed while `setup` runs, the teardown waits for it and then
    /// undoes what it produced (L21).
    ///
    /// # Errors
    ///
    /// [`CompositeError::Inactive`] when the fiber no longer accepts effects; `setup` is not run.
    /// [`CompositeError::Setup`] when `setup` failed; what it had produced is undone (L16).
    ///
    /// # Panics
    ///
    /// When `setup` panics, what it had produced is undone, and the panic goes on.
    ///
    /// # Examples
    ///
    /// ```
    /// use dsh_context::Fiber;
    ///
    /// let fiber = Fiber::root("server");
    /// let (port, effect) = fiber.composite("listener", |undo| {
    ///     undo.push("socket", || { /* close it */ });
    ///     undo.push_async("connections", || async { /* drain them */ });
    ///     Ok::<_, std::io::Error>(8080)
    /// })?;
    ///
    /// assert_eq!(port, 8080);
    /// pollster::block_on(effect.dispose()); // first the connections, then the socket
    /// # Ok::<(), dsh_context::CompositeError<std::io::Error>>(())
    /// ```
    pub fn composite<T, E>(
        &self,
        label: impl Into<Cow<'static, str>>,
        setup: impl FnOnce(&Composite) -> Result<T, E>,
    ) -> Result<(T, CompositeEffect), CompositeError<E>> {
        let id = self
            .core()
            .reserve(label.into())
            .map_err(CompositeError::Inactive)?;
        let handle = Handle::new(Arc::clone(self.core()), id);
        let composite = Composite {
            fiber: self.clone(),
            steps: Steps::default(),
        };
        let outcome = {
            let _frame = reentry::enter(Frame::Inline(Arc::clone(self.core())));
            catch_unwind(AssertUnwindSafe(|| setup(&composite)))
        };
        let steps = composite.steps;
        let roll_back = |steps| {
            let flight = self.core().roll_back(id, steps);
            if let Some(flight) = &flight {
                flight.nudge();
            }
            Undoing {
                join: flight.map(Join::new),
            }
        };
        match outcome {
            Ok(Ok(value)) => {
                self.core().furnish(id, steps);
                Ok((value, CompositeEffect(handle)))
            }
            Ok(Err(error)) => Err(CompositeError::Setup {
                error,
                rollback: roll_back(steps),
            }),
            Err(panic) => {
                drop(roll_back(steps));
                resume_unwind(panic)
            }
        }
    }
}

/// Collects the undos of a composite effect while its setup runs.
pub struct Composite {
    fiber: Fiber,
    steps: Steps,
}

impl Composite {
    /// The fiber that owns the composite effect.
    #[must_use]
    pub fn fiber(&self) -> &Fiber {
        &self.fiber
    }

    /// Adds a synchronous undo.
    pub fn push(&self, label: impl Into<Cow<'static, str>>, undo: impl FnOnce() + Send + 'static) {
        self.steps.push(Step::Sync(label.into(), Box::new(undo)));
    }

    /// Adds an asynchronous undo.
    pub fn push_async<F, Fut>(&self, label: impl Into<Cow<'static, str>>, undo: F)
    where
        F: FnOnce() -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.steps.push(Step::Async(
            label.into(),
            Box::new(move || Box::pin(undo())),
        ));
    }

    /// Takes over something that has its own undo, at this position (T70, T144).
    ///
    /// What belongs to the same fiber is from now on undone by the composite instead of by the fiber's own
    /// order; it can still be disposed of by itself. What belongs to another fiber ends with whichever is
    /// undone first.
    pub fn adopt(&self, owned: impl Into<Owned>) {
        let owned = owned.into();
        if let Some(handle) = owned.handle()
            && Arc::ptr_eq(handle.fiber(), self.fiber.core())
        {
            handle.hold();
        }
        self.steps.push(Step::Owned(owned));
    }
}

impl fmt::Debug for Composite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Composite")
            .field("fiber", &self.fiber.label())
            .finish_non_exhaustive()
    }
}

/// Something with an undo of its own that a [`Composite`] can take over.
#[derive(Debug, Clone)]
pub struct Owned(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Sync(Effect),
    Async(AsyncEffect),
    Composite(CompositeEffect),
    Fiber(Fiber),
}

impl Owned {
    fn handle(&self) -> Option<Handle> {
        match &self.0 {
            Kind::Sync(Effect(handle))
            | Kind::Async(AsyncEffect(handle))
            | Kind::Composite(CompositeEffect(handle)) => Some(handle.clone()),
            Kind::Fiber(fiber) => fiber.seat(),
        }
    }
}

impl From<Effect> for Owned {
    fn from(effect: Effect) -> Self {
        Self(Kind::Sync(effect))
    }
}

impl From<AsyncEffect> for Owned {
    fn from(effect: AsyncEffect) -> Self {
        Self(Kind::Async(effect))
    }
}

impl From<CompositeEffect> for Owned {
    fn from(effect: CompositeEffect) -> Self {
        Self(Kind::Composite(effect))
    }
}

impl From<&Fiber> for Owned {
    fn from(fiber: &Fiber) -> Self {
        Self(Kind::Fiber(fiber.clone()))
    }
}

impl From<&Scope> for Owned {
    fn from(scope: &Scope) -> Self {
        Self::from(scope.fiber())
    }
}

/// The undos of one composite effect that have not been begun yet.
#[derive(Clone, Default)]
pub(crate) struct Steps(Arc<Mutex<Vec<Step>>>);

impl Steps {
    fn push(&self, step: Step) {
        self.0.lock().push(step);
    }

    pub(crate) fn pop(&self) -> Option<Step> {
        self.0.lock().pop()
    }

    pub(crate) fn list(&self) -> Vec<EffectInfo> {
        enum Line {
            Own(EffectInfo),
            Owned(Owned),
        }

        let lines: Vec<Line> = self
            .0
            .lock()
            .iter()
            .map(|step| match step {
                Step::Sync(label, _) => {
                    Line::Own(EffectInfo::new(label.clone(), EffectKind::Sync, false))
                }
                Step::Async(label, _) => {
                    Line::Own(EffectInfo::new(label.clone(), EffectKind::Async, false))
                }
                Step::Owned(owned) => Line::Owned(owned.clone()),
            })
            .collect();
        lines
            .into_iter()
            .filter_map(|line| match line {
                Line::Own(info) => Some(info),
                Line::Owned(Owned(Kind::Fiber(fiber))) if fiber.is_over() => None,
                Line::Owned(Owned(Kind::Fiber(fiber))) => Some(
                    EffectInfo::of_fiber(&fiber, !fiber.is_active()).with(fiber.live_effects()),
                ),
                Line::Owned(owned) => owned.handle()?.describe(),
            })
            .collect()
    }
}

pub(crate) enum Step {
    Sync(Cow<'static, str>, SyncUndo),
    Async(Cow<'static, str>, AsyncUndo),
    Owned(Owned),
}

impl Step {
    pub(crate) fn label(&self) -> Cow<'static, str> {
        match self {
            Self::Sync(label, _) | Self::Async(label, _) => label.clone(),
            // Owned effects contain and name their own failures.
            Self::Owned(_) => Cow::Borrowed("an adopted effect"),
        }
    }

    pub(crate) async fn undo(self) -> Result<(), Panicked> {
        match self {
            Self::Sync(_, undo) => contain(undo),
            Self::Async(_, undo) => contain_async(undo).await,
            Self::Owned(Owned(owned)) => {
                match owned {
                    Kind::Sync(effect) => effect.dispose(),
                    Kind::Async(effect) => effect.dispose().await,
                    Kind::Composite(effect) => effect.dispose().await,
                    Kind::Fiber(fiber) => fiber.dispose().await,
                }
                Ok(())
            }
        }
    }
}

/// Why a composite effect did not come about.
#[non_exhaustive]
pub enum CompositeError<E> {
    /// The fiber no longer accepts effects; the setup was not run.
    Inactive(InactiveEffect),
    /// The setup failed.
    #[non_exhaustive]
    Setup {
        /// What the setup returned.
        error: E,
        /// The undo of what the setup had produced. It has been driven up to the first asynchronous undo
        /// that is not done at once; if there is none, it is complete. Without anybody awaiting it, it is
        /// completed when the fiber is disposed.
        rollback: Undoing,
    },
}

impl<E> CompositeError<E> {
    /// The failure of the setup, if it was run.
    pub fn into_setup_error(self) -> Option<E> {
        match self {
            Self::Inactive(_) => None,
            Self::Setup { error, .. } => Some(error),
        }
    }
}

impl<E: fmt::Debug> fmt::Debug for CompositeError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inactive(error) => f.debug_tuple("Inactive").field(error).finish(),
            Self::Setup { error, rollback } => f
                .debug_struct("Setup")
                .field("error", error)
                .field("rollback", rollback)
                .finish(),
        }
    }
}

impl<E: fmt::Display> fmt::Display for CompositeError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inactive(error) => error.fmt(f),
            Self::Setup { error, .. } => error.fmt(f),
        }
    }
}

impl<E: Error + 'static> Error for CompositeError<E> {
    // Transparent: the message above is the cause's own, so the chain continues below it.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Inactive(error) => error.source(),
            Self::Setup { error, .. } => error.source(),
        }
    }
}
