//! Whose contributions: an identity, a label for people, a parent and a lifetime.

use std::{
    fmt,
    hash::{Hash, Hasher},
    iter,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::{
    fiber::{Disposal, Fiber},
    inactive::InactiveEffect,
};

/// Identity of a [`Scope`] within this process; not meant for logs or the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ScopeId(u64);

impl ScopeId {
    fn fresh() -> Self {
        // Only uniqueness matters, nothing is published through this counter.
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// A place for contributions that only some operations see, together with their lifetime.
///
/// Two scopes are equal when they are the same scope; labels are for people and may repeat (T124, D42).
/// What is registered through a scope is visible in it and in its descendants and ends with its
/// [`fiber`](Self::fiber) (L48, L51). A parent is fixed at creation, so a relation can neither be bound
/// twice nor close a cycle, and nobody can move somebody else's scope (T129–T131, T133).
///
/// The parent relation is about visibility only: disposing a parent does not dispose its children. A
/// scope that shall end with somebody is created with [`Scope::owned_by`].
///
/// Scopes route cooperating code; they are not a security boundary (L54).
///
/// # Examples
///
/// ```
/// use dsh_context::Scope;
///
/// let preset = Scope::new("preset");
/// let agent = Scope::new("agent-7").child_of(&preset);
///
/// let labels: Vec<_> = agent.chain().map(Scope::label).collect();
/// assert_eq!(labels, ["agent-7", "preset"]);
/// assert!(agent.is_within(&preset) && !preset.is_within(&agent));
/// ```
#[derive(Clone)]
pub struct Scope {
    core: Arc<ScopeCore>,
}

struct ScopeCore {
    id: ScopeId,
    label: Arc<str>,
    parent: Option<Scope>,
    fiber: Fiber,
}

impl Scope {
    /// A scope without parent and without owner; it lives until it is disposed.
    #[must_use]
    pub fn new(label: impl Into<Arc<str>>) -> Self {
        let label = label.into();
        Self::assemble(Arc::clone(&label), None, Fiber::root(label))
    }

    /// A scope that is disposed, at the latest, together with `owner`.
    ///
    /// # Errors
    ///
    /// [`InactiveEffect`] when `owner` no longer accepts effects.
    pub fn owned_by(owner: &Fiber, label: impl Into<Arc<str>>) -> Result<Self, InactiveEffect> {
        let label = label.into();
        let fiber = owner.child(Arc::clone(&label))?;
        Ok(Self::assemble(label, None, fiber))
    }

    /// The same label and lifetime as a new scope below `parent`.
    ///
    /// Meant to complete a creation: `Scope::new("agent-7").child_of(&preset)`. The result has a fresh
    /// identity; should `self` have been shared before, those handles keep denoting the old, parentless
    /// scope.
    #[must_use]
    pub fn child_of(self, parent: &Self) -> Self {
        Self::assemble(
            Arc::clone(&self.core.label),
            Some(parent.clone()),
            self.core.fiber.clone(),
        )
    }

    fn assemble(label: Arc<str>, parent: Option<Self>, fiber: Fiber) -> Self {
        Self {
            core: Arc::new(ScopeCore {
                id: ScopeId::fresh(),
                label,
                parent,
                fiber,
            }),
        }
    }

    /// The identity of this scope.
    #[must_use]
    pub fn id(&self) -> ScopeId {
        self.core.id
    }

    /// The label given at creation, for people.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.core.label
    }

    /// The scope that this one inherits from.
    #[must_use]
    pub fn parent(&self) -> Option<&Self> {
        self.core.parent.as_ref()
    }

    /// This scope, its parent, its grandparent and so on (T132).
    pub fn chain(&self) -> impl Iterator<Item = &Self> + Clone {
        iter::successors(Some(self), |scope| scope.parent())
    }

    /// Whether this scope is `ancestor` or a descendant of it.
    ///
    /// A listener of scope `l` is admitted to an operation for scope `s` exactly when
    /// `s.is_within(&l)` (T134, T135).
    #[must_use]
    pub fn is_within(&self, ancestor: &Self) -> bool {
        self.chain().any(|scope| scope == ancestor)
    }

    /// The lifetime that owns what is registered through this scope.
    #[must_use]
    pub fn fiber(&self) -> &Fiber {
        &self.core.fiber
    }

    /// Ends the scope: [`Fiber::dispose`] of its fiber (T141–T143).
    pub fn dispose(&self) -> Disposal {
        self.core.fiber.dispose()
    }
}

impl PartialEq for Scope {
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id()
    }
}

impl Eq for Scope {}

impl Hash for Scope {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id().hash(state);
    }
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope")
            .field("id", &self.core.id.0)
            .field("label", &self.core.label)
            .finish()
    }
}
