//! Handles of effects and their diagnostic listing.

use std::{
    borrow::Cow,
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use crate::{
    fiber::{Fiber, FiberCore, Started},
    flight::Join,
    ordered::EntryId,
    reentry::{self, Frame},
    teardown::run_inline,
};

/// One insertion into one fiber.
#[derive(Clone)]
pub(crate) struct Handle {
    fiber: Arc<FiberCore>,
    id: EntryId,
}

impl Handle {
    pub(crate) const fn new(fiber: Arc<FiberCore>, id: EntryId) -> Self {
        Self { fiber, id }
    }

    pub(crate) fn fiber(&self) -> &Arc<FiberCore> {
        &self.fiber
    }

    pub(crate) fn is_live(&self) -> bool {
        self.fiber.is_live(self.id)
    }

    pub(crate) fn hold(&self) {
        self.fiber.hold(self.id);
    }

    pub(crate) fn describe(&self) -> Option<EffectInfo> {
        self.fiber.describe(self.id)
    }

    /// Performs a synchronous undo here and returns what is left to wait for.
    pub(crate) fn dispose(&self) -> Undoing {
        match self.fiber.start(self.id) {
            Some(Started::Inline(undo)) => {
                let _frame = reentry::enter(Frame::Inline(Arc::clone(&self.fiber)));
                run_inline(&self.fiber, self.id, undo);
                Undoing { join: None }
            }
            Some(Started::Flight(flight)) => Undoing {
                join: Some(Join::new(flight)),
            },
            Some(Started::Child(_) | Started::Setup) | None => Undoing { join: None },
        }
    }

    fn fmt(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(name)
            .field("fiber", &self.fiber.label())
            .field("live", &self.is_live())
            .finish_non_exhaustive()
    }
}

/// A registered synchronous undo; see [`Fiber::effect`].
///
/// Dropping the handle detaches it: the fiber runs the undo later (D10).
#[derive(Clone)]
pub struct Effect(pub(crate) Handle);

impl Effect {
    /// Runs the undo now, unless it was run already or is being run.
    ///
    /// When the call that performs the undo returns, the undo is done (T68, T70). Every other call does
    /// nothing and returns at once; in particular it does not wait for an undo that another thread is in
    /// the middle of, since two undos that dispose of each other's effects would then block each other
    /// (L17). A panic of the undo is contained and logged.
    pub fn dispose(&self) {
        drop(self.0.dispose());
    }

    /// Whether the undo has not been begun yet.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.0.is_live()
    }
}

impl fmt::Debug for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt("Effect", f)
    }
}

/// A registered asynchronous undo; see [`Fiber::effect_async`].
///
/// Dropping the handle detaches it: the fiber runs the undo later (D10).
#[derive(Clone)]
pub struct AsyncEffect(pub(crate) Handle);

impl AsyncEffect {
    /// Takes the undo, so that nobody else runs it, and performs it while the returned future is polled.
    ///
    /// If the undo was taken before, there is nothing to do or to wait for (L17).
    ///
    /// # Cancellation
    ///
    /// When the future is dropped before it is done, the undo stays where it stopped until the fiber is
    /// disposed, which completes it.
    pub fn dispose(&self) -> Undoing {
        self.0.dispose()
    }

    /// Whether the undo has not been taken yet.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.0.is_live()
    }
}

impl fmt::Debug for AsyncEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt("AsyncEffect", f)
    }
}

/// Several undos as one effect; see [`Fiber::composite`].
///
/// Dropping the handle detaches it: the fiber runs the undos later (D10).
#[derive(Clone)]
pub struct CompositeEffect(pub(crate) Handle);

impl CompositeEffect {
    /// Takes the undos and performs them one after the other, latest first, while the returned future is
    /// polled; otherwise like [`AsyncEffect::dispose`].
    pub fn dispose(&self) -> Undoing {
        self.0.dispose()
    }

    /// Whether the undos have not been taken yet.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.0.is_live()
    }
}

impl fmt::Debug for CompositeEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt("CompositeEffect", f)
    }
}

/// An undo in progress, to be awaited.
#[derive(Clone)]
#[must_use = "an asynchronous undo does nothing until it is polled or its fiber is disposed"]
pub struct Undoing {
    pub(crate) join: Option<Join>,
}

impl Future for Undoing {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.join
            .as_mut()
            .map_or(Poll::Ready(()), |join| join.poll(cx, None))
    }
}

impl fmt::Debug for Undoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let done = self
            .join
            .as_ref()
            .is_none_or(|join| join.flight().is_done());
        f.debug_struct("Undoing")
            .field("done", &done)
            .finish_non_exhaustive()
    }
}

/// What a live effect is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EffectKind {
    /// A synchronous undo.
    Sync,
    /// An asynchronous undo.
    Async,
    /// Several undos in one.
    Composite,
    /// A child fiber.
    Fiber,
}

/// One line of [`Fiber::live_effects`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EffectInfo {
    /// The label given at registration.
    pub label: Cow<'static, str>,
    /// What it is.
    pub kind: EffectKind,
    /// Whether its undo has begun.
    pub undoing: bool,
    /// The undos of a composite effect, or the effects of a child fiber, in order of acquisition.
    pub nested: Vec<EffectInfo>,
}

impl EffectInfo {
    pub(crate) const fn new(label: Cow<'static, str>, kind: EffectKind, undoing: bool) -> Self {
        Self {
            label,
            kind,
            undoing,
            nested: Vec::new(),
        }
    }

    pub(crate) fn of_fiber(fiber: &Fiber, undoing: bool) -> Self {
        Self::new(
            Cow::Owned(fiber.label().to_owned()),
            EffectKind::Fiber,
            undoing,
        )
    }

    pub(crate) fn with(mut self, nested: Vec<Self>) -> Self {
        self.nested = nested;
        self
    }
}
