//! The tables behind the lock.

use std::collections::HashSet;
use std::sync::Arc;

use smallvec::SmallVec;

use dsh_context::{EntryTable, Layer as ContextLayer, Layers, NamedTable, Scope};

use super::restriction::Filter;
use crate::chain::{AroundListener, Entry, Observer, PostListener, PreListener};
use crate::decision::Denial;
use crate::tool::RUN_CODE;
use crate::{Approvals, Execution, Mode, Progress, Token, Tool, ToolError};

pub(crate) type Guard = dyn Fn(&Execution) -> Result<Option<Denial>, ToolError> + Send + Sync;
pub(crate) type ProgressListener = dyn Fn(&Execution, &Progress) + Send + Sync;
pub(crate) type ChangeListener = dyn Fn() + Send + Sync;

/// What one layer holds. It exists while one of its tables does (T72, T151).
#[derive(Default)]
pub(crate) struct Layer {
    pub(crate) tools: NamedTable<Tool>,
    pub(crate) restrictions: EntryTable<Arc<Filter>>,
    pub(crate) guards: EntryTable<Arc<Guard>>,
    pub(crate) mode: Option<Mode>,
}

impl ContextLayer for Layer {
    fn is_empty(&self) -> bool {
        self.tools.is_empty()
            && self.restrictions.is_empty()
            && self.guards.is_empty()
            && self.mode.is_none()
    }
}

#[derive(Default)]
pub(crate) struct Tables {
    /// Counts changes of what anybody sees.
    pub(crate) version: u64,
    pub(crate) layers: Layers<Layer>,
    /// How many guards there are in all layers, so that a registry without any does not look for them.
    pub(crate) guard_count: usize,
    pub(crate) pre: EntryTable<Entry<dyn PreListener>>,
    pub(crate) around: EntryTable<Entry<dyn AroundListener>>,
    pub(crate) post: EntryTable<Entry<dyn PostListener>>,
    pub(crate) observers: EntryTable<Entry<Observer>>,
    pub(crate) progress: EntryTable<Entry<ProgressListener>>,
    pub(crate) change: EntryTable<Entry<ChangeListener>>,
    pub(crate) approvals: EntryTable<Approvals>,
    /// The Code Mode transport, kept outside the layers.
    pub(crate) transport: EntryTable<Tool>,
}

/// What a name resolves to for a scope.
pub(crate) struct Lookup {
    pub(crate) tool: Option<Tool>,
    pub(crate) mode: Mode,
}

impl Lookup {
    /// Whether a model-direct call of a visible tool is refused because only the transport is callable (T119).
    pub(crate) fn collapses(&self, name: &str, parent: Option<Token>) -> bool {
        self.mode == Mode::Code && parent.is_none() && name != RUN_CODE && self.tool.is_some()
    }
}

impl Tables {
    /// The nearest declared mode on the chain.
    pub(crate) fn mode(&self, scope: Option<&Scope>) -> Option<Mode> {
        self.layers
            .nearest_first(scope)
            .find_map(|layer| layer.mode)
    }

    pub(crate) fn resolve(&self, name: &str, scope: Option<&Scope>, default: Mode) -> Lookup {
        let Some(scope) = scope else {
            let tool = self
                .transport_for(name, default)
                .or_else(|| self.layers.global().tools.get(name).cloned());
            return Lookup {
                tool,
                mode: default,
            };
        };
        let mode = self.mode(Some(scope)).unwrap_or(default);
        if let Some(transport) = self.transport_for(name, mode) {
            return Lookup {
                tool: Some(transport),
                mode,
            };
        }
        Lookup {
            tool: self.resolve_in(name, scope).cloned(),
            mode,
        }
    }

    /// The scope's own entry wins under any filter (T99); an inherited one has to pass every filter on the chain
    /// (T100, T105), the nearest ancestor's before a farther one's (T83).
    fn resolve_in(&self, name: &str, scope: &Scope) -> Option<&Tool> {
        if let Some(tool) = self
            .layers
            .exact(scope.id())
            .and_then(|layer| layer.tools.get(name))
        {
            return Some(tool);
        }
        let inherited = scope
            .chain()
            .skip(1)
            .filter_map(|ancestor| self.layers.exact(ancestor.id()))
            .find_map(|layer| layer.tools.get(name))
            .or_else(|| self.layers.global().tools.get(name))?;
        self.admits(name, scope).then_some(inherited)
    }

    /// Whether every filter on the scope's chain lets an inherited name through.
    fn admits(&self, name: &str, scope: &Scope) -> bool {
        self.layers
            .nearest_first(Some(scope))
            .all(|layer| layer.restrictions.iter().all(|filter| filter.admits(name)))
    }

    /// The transport, where the mode presents it; the last one mounted counts.
    pub(crate) fn transport(&self, mode: Mode) -> Option<Tool> {
        if mode.has_transport() {
            self.transport.iter().last().cloned()
        } else {
            None
        }
    }

    fn transport_for(&self, name: &str, mode: Mode) -> Option<Tool> {
        if name == RUN_CODE {
            self.transport(mode)
        } else {
            None
        }
    }

    /// Every tool the scope sees, in the order of T85, without the transport.
    pub(crate) fn visible(&self, scope: Option<&Scope>) -> Vec<Tool> {
        let own_layer = scope.and_then(|scope| self.layers.exact(scope.id()));
        let inherited = self.inherited_tables(scope);
        let merged = NamedTable::merge(inherited);
        let mut shadows: HashSet<&str> = HashSet::new();
        let mut tools = Vec::with_capacity(merged.len());
        for (name, tool) in merged {
            // A masked entry leaves no place for the scope's own entry of that name; see the note at T85.
            if scope.is_some_and(|scope| !self.admits(name, scope)) {
                continue;
            }
            match own_layer.and_then(|layer| layer.tools.get(name)) {
                Some(own) => {
                    shadows.insert(name);
                    tools.push(own.clone());
                }
                None => tools.push(tool.clone()),
            }
        }
        if let Some(layer) = own_layer {
            tools.extend(
                layer
                    .tools
                    .iter()
                    .filter(|(name, _)| !shadows.contains(&***name))
                    .map(|(_, tool)| tool.clone()),
            );
        }
        tools
    }

    /// The global table, then those of the scope's ancestors, farthest first.
    fn inherited_tables<'a>(&'a self, scope: Option<&Scope>) -> Vec<&'a NamedTable<Tool>> {
        let mut ancestors: Vec<&NamedTable<Tool>> = scope
            .into_iter()
            .flat_map(|scope| scope.chain().skip(1))
            .filter_map(|ancestor| self.layers.exact(ancestor.id()))
            .map(|layer| &layer.tools)
            .collect();
        ancestors.push(&self.layers.global().tools);
        ancestors.reverse();
        ancestors
    }

    /// The names a restriction of this scope may list (T96, T104), sorted.
    pub(crate) fn restrictable(&self, scope: &Scope) -> Vec<String> {
        let mut names: Vec<String> = NamedTable::merge(self.inherited_tables(Some(scope)))
            .into_iter()
            .map(|(name, _)| name.to_string())
            .collect();
        names.sort_unstable();
        names
    }

    /// The names the scope knows before restriction, sorted.
    pub(crate) fn known(&self, scope: Option<&Scope>, default: Mode) -> Vec<Arc<str>> {
        let mode = self.mode(scope).unwrap_or(default);
        let mut names: Vec<Arc<str>> = Vec::new();
        if mode != Mode::Code {
            let mut tables = self.inherited_tables(scope);
            tables.extend(
                scope
                    .and_then(|scope| self.layers.exact(scope.id()))
                    .map(|layer| &layer.tools),
            );
            names.extend(
                NamedTable::merge(tables)
                    .into_iter()
                    .map(|(name, _)| name.clone()),
            );
        }
        if mode.has_transport() {
            names.push(RUN_CODE.into());
        }
        names.sort_unstable();
        names
    }

    /// The guards that see calls of this scope: global ones, then those of its chain, farthest first (T108, T110).
    /// A snapshot: a guard that is added during the evaluation sees the next call (D8).
    pub(crate) fn guards(&self, scope: Option<&Scope>) -> SmallVec<[Arc<Guard>; 2]> {
        if self.guard_count == 0 {
            return SmallVec::new();
        }
        self.layers
            .visible(scope)
            .flat_map(|layer| layer.guards.iter().cloned())
            .collect()
    }
}
