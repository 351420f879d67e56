//! One global layer and one layer per scope that contributed something.

use foldhash::{HashMap, HashMapExt};

use crate::scope::{Scope, ScopeId};

/// What a scope, or everybody, contributed: typically a struct of tables.
pub trait Layer: Default {
    /// Whether nothing is contributed here any more, in *any* of the tables (T151).
    fn is_empty(&self) -> bool;
}

/// A global layer plus the layers of scopes.
///
/// The global layer exists from the start. A scope's layer appears with its first contribution and goes
/// away with its last one; reading never creates any (T72, T148, L52). Like the tables, this type does
/// no locking of its own.
///
/// # Examples
///
/// ```
/// use dsh_context::{EntryTable, Layer, Layers, Scope};
///
/// #[derive(Default)]
/// struct Names(EntryTable<&'static str>);
///
/// impl Layer for Names {
///     fn is_empty(&self) -> bool {
///         self.0.is_empty()
///     }
/// }
///
/// let mut layers = Layers::<Names>::default();
/// let agent = Scope::new("agent");
/// layers.global_mut().0.push("everywhere");
/// let id = layers.contribute(&agent, |layer| layer.0.push("here"));
///
/// let seen: Vec<_> = layers.visible(Some(&agent)).flat_map(|layer| &layer.0).copied().collect();
/// assert_eq!(seen, ["everywhere", "here"]);
///
/// layers.withdraw(agent.id(), |layer| layer.0.remove(id));
/// assert!(layers.exact(agent.id()).is_none());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Layers<L> {
    global: L,
    scoped: HashMap<ScopeId, L>,
}

impl<L: Layer> Layers<L> {
    /// An empty global layer and no other.
    #[must_use]
    pub fn new() -> Self {
        Self {
            global: L::default(),
            scoped: HashMap::new(),
        }
    }

    /// The layer that everybody sees.
    #[must_use]
    pub const fn global(&self) -> &L {
        &self.global
    }

    /// The layer that everybody sees, for contributing to it or withdrawing from it.
    #[must_use]
    pub const fn global_mut(&mut self) -> &mut L {
        &mut self.global
    }

    /// What exactly this scope contributed itself, nothing inherited (T149).
    #[must_use]
    pub fn exact(&self, scope: ScopeId) -> Option<&L> {
        self.scoped.get(&scope)
    }

    /// The layers of a scope's chain, farthest ancestor first and the scope itself last, absent ones
    /// skipped (T149).
    pub fn chain<'a>(&'a self, scope: Option<&Scope>) -> impl Iterator<Item = &'a L> + use<'a, L> {
        let mut layers: Vec<&'a L> = Vec::new();
        // Most registries have no scoped layer at all; do not walk for them.
        if !self.scoped.is_empty() {
            for scope in scope.into_iter().flat_map(Scope::chain) {
                layers.extend(self.scoped.get(&scope.id()));
            }
        }
        layers.into_iter().rev()
    }

    /// The same layers as [`chain`](Self::chain), the scope itself first; for finding the one entry
    /// that wins without merging anything.
    pub fn nearest_first<'a>(
        &'a self,
        scope: Option<&'a Scope>,
    ) -> impl Iterator<Item = &'a L> + use<'a, L> {
        scope
            .into_iter()
            .flat_map(Scope::chain)
            .filter_map(|scope| self.scoped.get(&scope.id()))
    }

    /// Everything that an operation for `scope` sees: the global layer, then [`chain`](Self::chain).
    pub fn visible<'a>(
        &'a self,
        scope: Option<&Scope>,
    ) -> impl Iterator<Item = &'a L> + use<'a, L> {
        std::iter::once(&self.global).chain(self.chain(scope))
    }

    /// Contributes to a scope's layer, which is created when it does not exist yet.
    ///
    /// When nothing was contributed in the end, because `add` failed or panicked, a layer made for it is
    /// taken away again, while one that others contribute to stays as it is (T150).
    pub fn contribute<T>(&mut self, scope: &Scope, add: impl FnOnce(&mut L) -> T) -> T {
        self.scoped.entry(scope.id()).or_default();
        self.reclaiming(scope.id(), add)
            .expect("the layer was created on the line above")
    }

    /// Takes something out of a scope's layer, and the layer away when it became empty (T151).
    ///
    /// `None` when the scope has no layer; none is created. The id suffices, so that an undo need not
    /// keep the scope alive.
    pub fn withdraw<T>(&mut self, scope: ScopeId, take: impl FnOnce(&mut L) -> T) -> Option<T> {
        self.reclaiming(scope, take)
    }

    /// The scopes that contribute something at the moment, in no particular order.
    pub fn scopes(&self) -> impl Iterator<Item = ScopeId> {
        self.scoped.keys().copied()
    }

    fn reclaiming<T>(&mut self, scope: ScopeId, change: impl FnOnce(&mut L) -> T) -> Option<T> {
        /// Also runs when `change` panics.
        struct Reclaim<'a, L: Layer>(&'a mut HashMap<ScopeId, L>, ScopeId);

        impl<L: Layer> Drop for Reclaim<'_, L> {
            fn drop(&mut self) {
                if self.0.get(&self.1).is_some_and(L::is_empty) {
                    self.0.remove(&self.1);
                }
            }
        }

        let reclaim = Reclaim(&mut self.scoped, scope);
        reclaim.0.get_mut(&scope).map(change)
    }
}
