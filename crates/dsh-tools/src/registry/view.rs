//! What one scope sees, as the bytes a model reads.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use dsh_context::{Scope, ScopeId};
use dsh_schema::{python, typescript};
use parking_lot::Mutex;

use super::Registry;
use crate::tool::RUN_CODE;
use crate::{Mode, Tool, ToolSchema};

/// Everything that a scope sees at one moment: an immutable snapshot.
///
/// Model-facing texts are made on first use and are a function of the visible set alone: the same set gives the same
/// bytes, in whatever order it was registered (T89). [`View::schemas`] keeps the order of T85 for direct callers.
pub struct View {
    mode: Mode,
    tools: Vec<Tool>,
    transport: Option<Tool>,
    schemas: OnceLock<Arc<[ToolSchema]>>,
    wire: OnceLock<Arc<str>>,
    typescript: OnceLock<Arc<str>>,
    python: OnceLock<Arc<str>>,
}

impl View {
    /// How the tools are presented.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The visible tools without the transport, in the order of T85.
    #[must_use]
    pub fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// The Code Mode transport, where the mode presents it.
    #[must_use]
    pub fn transport(&self) -> Option<&Tool> {
        self.transport.as_ref()
    }

    /// One schema per visible tool in the order of T85, the transport last.
    #[must_use]
    pub fn schemas(&self) -> Arc<[ToolSchema]> {
        self.schemas
            .get_or_init(|| {
                self.tools
                    .iter()
                    .chain(&self.transport)
                    .map(|tool| tool.schema().clone())
                    .collect()
            })
            .clone()
    }

    /// The visible names, sorted, the transport included.
    #[must_use]
    pub fn names(&self) -> Vec<Arc<str>> {
        let mut names: Vec<_> = self
            .tools
            .iter()
            .chain(&self.transport)
            .map(|tool| tool.schema().shared_name())
            .collect();
        names.sort_unstable();
        names
    }

    /// What is announced to a model in this mode, by name (T116).
    #[must_use]
    pub fn announced(&self) -> Vec<ToolSchema> {
        let native = if self.mode == Mode::Code {
            &[][..]
        } else {
            &self.tools[..]
        };
        let mut schemas: Vec<_> = native
            .iter()
            .chain(&self.transport)
            .map(|tool| tool.schema().clone())
            .collect();
        schemas.sort_unstable_by(|a, b| a.name().cmp(b.name()));
        schemas
    }

    /// What is announced to a model, as a JSON array in name order.
    #[must_use]
    pub fn to_json(&self) -> Arc<str> {
        self.wire
            .get_or_init(|| {
                let mut out = String::from("[");
                for (index, schema) in self.announced().iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    out.push_str(schema.to_json());
                }
                out.push(']');
                out.into()
            })
            .clone()
    }

    /// The TypeScript declarations of the visible tools, in name order.
    #[must_use]
    pub fn to_typescript(&self) -> Arc<str> {
        self.typescript
            .get_or_init(|| typescript::sdk(&self.declared()).into())
            .clone()
    }

    /// The Python declarations of the visible tools, in name order.
    #[must_use]
    pub fn to_python(&self) -> Arc<str> {
        self.python
            .get_or_init(|| python::sdk(&self.declared()).into())
            .clone()
    }

    /// The tools as the declaration renderers take them, by name; the transport does not declare itself.
    fn declared(&self) -> Vec<typescript::Tool<'_>> {
        let mut tools: Vec<&Tool> = self
            .tools
            .iter()
            .filter(|tool| tool.name() != RUN_CODE)
            .collect();
        tools.sort_unstable_by(|a, b| a.name().cmp(b.name()));
        tools
            .into_iter()
            .map(|tool| typescript::Tool {
                name: tool.name(),
                description: tool.schema().description(),
                parameters: tool.schema().parameters(),
                output: tool.output().source(),
            })
            .collect()
    }
}

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View")
            .field("mode", &self.mode)
            .field("names", &self.names())
            .finish_non_exhaustive()
    }
}

/// How many views are kept.
const FULL: usize = 8192;

/// The views of the registry as it is. A change throws them away; they are made anew on the first read after it.
#[derive(Default)]
pub(super) struct Views(Mutex<Cache>);

type Cache = HashMap<Option<ScopeId>, Arc<View>>;

/// Views on their way out. They may be the last to hold a tool, whose destructor is the user's: never dropped under a
/// lock.
#[derive(Default)]
pub(super) struct Stale(Option<Cache>);

impl Drop for Stale {
    fn drop(&mut self) {
        if let Some(views) = self.0.take() {
            crate::contain::discard(views);
        }
    }
}

impl Views {
    pub(super) fn of(&self, registry: &Registry, scope: Option<&Scope>) -> Arc<View> {
        let key = scope.map(Scope::id);
        // Before the locks, so that it is dropped after them.
        let mut stale = Stale::default();
        // The tables cannot change while they are read, so what is cached is of their version.
        let tables = registry.read();
        let mut cache = self.0.lock();
        if let Some(view) = cache.get(&key) {
            return view.clone();
        }
        // Scopes come and go without a change; a cache that is full starts over.
        if cache.len() >= FULL {
            stale.0 = Some(std::mem::take(&mut *cache));
        }
        let mode = tables.mode(scope).unwrap_or(registry.config.mode);
        let view = Arc::new(View {
            mode,
            tools: tables.visible(scope),
            transport: tables.transport(mode),
            schemas: OnceLock::new(),
            wire: OnceLock::new(),
            typescript: OnceLock::new(),
            python: OnceLock::new(),
        });
        cache.insert(key, view.clone());
        view
    }

    /// Takes all views out, for a change that makes them wrong.
    pub(super) fn outdated(&self) -> Stale {
        let mut cache = self.0.lock();
        Stale((!cache.is_empty()).then(|| std::mem::take(&mut *cache)))
    }
}
