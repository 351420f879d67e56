//! The registry: what is registered where, and who sees it.
//!
//! One lock guards the tables. It is held for look-ups and insertions only, never while user code runs, and never while a
//! value of the user's is dropped (T441). Views that cost something to make are cached per scope and version.

mod receiver;
mod restriction;
mod tables;
mod update;
mod view;

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};

use dsh_context::{Fiber, Scope};
use dsh_schema::Document;
use event_listener::Event;
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

pub use receiver::{Receiver, Registration, ScopedReceiver};
pub use restriction::Restriction;
pub(crate) use tables::{Guard, Tables};
pub use update::Update;
pub use view::View;

use crate::contain::contain;
use crate::{
    Approvals, Arguments, Call, CallJournal, Execution, ExecutionMode, Host, Mode, Progress,
    RegistryError, Spawner, ThreadSpawner, Tool, ToolSchema,
};

/// What a runtime is made with.
#[derive(Clone, Default)]
pub struct ToolsConfig {
    /// How tools are presented where no scope says otherwise.
    pub mode: Mode,
    /// Clock, randomness and sleep.
    pub host: Option<Arc<dyn Host>>,
    /// Where drained calls and tasks of bodies run; a thread each by default.
    pub spawner: Option<Arc<dyn Spawner>>,
    /// The write-ahead seam; none by default, which costs nothing.
    pub journal: Option<Arc<dyn CallJournal>>,
}

/// The tool runtime: registry and pipeline. Cheap to clone; all clones are one runtime.
#[derive(Clone)]
pub struct Tools(pub(crate) Arc<Registry>);

pub(crate) struct Registry {
    tables: RwLock<Tables>,
    /// The version of the tables, for readers that only have to know whether anything changed.
    version: AtomicU64,
    /// Which stages have listeners, for calls that find none.
    stages: AtomicU8,
    pub(crate) config: ToolsConfig,
    spawner: Arc<dyn Spawner>,
    views: view::Views,
    closed: AtomicBool,
    draining: AtomicUsize,
    drained: Event,
}

/// Bits of [`Registry::stages`]: somebody listens before the body or around it.
pub(crate) const POLICY: u8 = 1;
/// Somebody listens behind the body.
pub(crate) const POST: u8 = 2;
/// Somebody observes results.
pub(crate) const OBSERVERS: u8 = 4;

impl Registry {
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Tables> {
        self.tables.read()
    }

    pub(crate) fn write(&self) -> Writing<'_> {
        Writing {
            registry: self,
            tables: self.tables.write(),
            stale: view::Stale::default(),
        }
    }

    /// Counts changes of what anybody sees.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Whether a stage has listeners, of whatever scope.
    pub(crate) fn listens(&self, stage: u8) -> bool {
        self.stages.load(Ordering::Acquire) & stage != 0
    }
}

/// The tables while they change; what readers look at without the lock is brought up to date at the end.
pub(crate) struct Writing<'a> {
    registry: &'a Registry,
    tables: RwLockWriteGuard<'a, Tables>,
    /// Views that the change made wrong, dropped after the lock, since they may be the last to hold a tool.
    stale: view::Stale,
}

impl Deref for Writing<'_> {
    type Target = Tables;

    fn deref(&self) -> &Tables {
        &self.tables
    }
}

impl DerefMut for Writing<'_> {
    fn deref_mut(&mut self) -> &mut Tables {
        &mut self.tables
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        let tables = &*self.tables;
        let policy = !tables.pre.is_empty() || !tables.around.is_empty() || tables.guard_count > 0;
        let stages = [
            (policy, POLICY),
            (!tables.post.is_empty(), POST),
            (!tables.observers.is_empty(), OBSERVERS),
        ]
        .into_iter()
        .fold(
            0,
            |bits, (listens, bit)| if listens { bits | bit } else { bits },
        );
        self.registry.stages.store(stages, Ordering::Release);
        let before = self.registry.version.swap(tables.version, Ordering::AcqRel);
        if before != tables.version {
            // Now, not on the next read: a tool that is gone must not live on in a view that nobody reads (T141).
            self.stale = self.registry.views.outdated();
        }
    }
}

impl Tools {
    /// An empty runtime.
    #[must_use]
    pub fn new(config: ToolsConfig) -> Self {
        let spawner = config
            .spawner
            .clone()
            .unwrap_or_else(|| Arc::new(ThreadSpawner));
        Self(Arc::new(Registry {
            tables: RwLock::new(Tables::default()),
            version: AtomicU64::new(0),
            stages: AtomicU8::new(0),
            config,
            spawner,
            views: view::Views::default(),
            closed: AtomicBool::new(false),
            draining: AtomicUsize::new(0),
            drained: Event::new(),
        }))
    }

    /// The receiver of global registrations; what is registered here ends with the fiber.
    #[must_use]
    pub fn global(&self, fiber: &Fiber) -> Receiver {
        Receiver::new(self.clone(), fiber.clone(), None)
    }

    /// The receiver of a scope's registrations; what is registered here ends with the scope.
    #[must_use]
    pub fn scoped(&self, scope: &Scope) -> ScopedReceiver {
        ScopedReceiver::new(self.clone(), scope.clone())
    }

    /// Changes several registrations as one: all of them or none, and one notification (D9).
    ///
    /// `plan` only collects; the change happens when it returns, so it may read the registry as it was.
    ///
    /// # Errors
    ///
    /// What `plan` returned, or the first change that cannot be made; nothing has changed then.
    pub fn update(
        &self,
        plan: impl FnOnce(&mut Update) -> Result<(), RegistryError>,
    ) -> Result<Vec<Registration>, RegistryError> {
        let mut update = Update::default();
        plan(&mut update)?;
        update.commit(self)
    }

    /// The definition that `scope` resolves a name to (T87).
    #[must_use]
    pub fn get(&self, name: &str, scope: Option<&Scope>) -> Option<Tool> {
        self.0.read().resolve(name, scope, self.0.config.mode).tool
    }

    /// What `scope` sees, computed once per change of the registry (T80, T89).
    #[must_use]
    pub fn view(&self, scope: Option<&Scope>) -> Arc<View> {
        self.0.views.of(&self.0, scope)
    }

    /// The schemas of the tools that `scope` sees, in the order of T85.
    #[must_use]
    pub fn schemas(&self, scope: Option<&Scope>) -> Arc<[ToolSchema]> {
        self.view(scope).schemas()
    }

    /// The names that `scope` sees after restriction, sorted (T92).
    #[must_use]
    pub fn visible(&self, scope: Option<&Scope>) -> Vec<Arc<str>> {
        self.view(scope).names()
    }

    /// The names that `scope` knows before restriction, sorted (T92, T116).
    #[must_use]
    pub fn known_names(&self, scope: Option<&Scope>) -> Vec<Arc<str>> {
        self.0.read().known(scope, self.0.config.mode)
    }

    /// The presentation mode of a scope: the nearest declaration on its chain, else the configured one (T118).
    #[must_use]
    pub fn mode(&self, scope: Option<&Scope>) -> Mode {
        self.0.read().mode(scope).unwrap_or(self.0.config.mode)
    }

    /// Whether a call may overlap with others, by the definition that is visible now (T307, T308, T315).
    #[must_use]
    pub fn execution_mode(&self, call: &Call) -> ExecutionMode {
        let mut parsed = None;
        self.classify(call, || match &call.arguments {
            Arguments::Document(document) => Some(document),
            text => Some(parsed.insert(text.clone().materialise().ok()?)),
        })
        .0
    }

    /// As [`execution_mode`](Tools::execution_mode), with what the call declares to touch. The arguments are asked for
    /// only if the tool looks at them.
    pub(crate) fn classify<'a>(
        &self,
        call: &Call,
        arguments: impl FnOnce() -> Option<&'a Document>,
    ) -> (ExecutionMode, Option<Vec<crate::Access>>) {
        let lookup = self
            .0
            .read()
            .resolve(&call.name, call.agent.as_ref(), self.0.config.mode);
        let tool = match lookup.tool {
            Some(tool) if tool.says_overlap() && !lookup.collapses(&call.name, call.parent) => tool,
            _ => return (ExecutionMode::Exclusive, None),
        };
        let Some(arguments) = arguments() else {
            return (ExecutionMode::Exclusive, None);
        };
        let mode = if tool.is_concurrency_safe(arguments) {
            ExecutionMode::Parallel
        } else {
            ExecutionMode::Exclusive
        };
        (mode, tool.access(arguments))
    }

    /// Stops admitting calls and waits for those that were dropped before they were over.
    ///
    /// Calls whose futures somebody still holds belong to their callers. A call made after this ends as
    /// `ABORTED_BEFORE_DISPATCH`. A body must not await this: once it is drained itself, it would wait for its own end.
    ///
    /// # Cancellation
    ///
    /// Dropping the future leaves the runtime closed; it may be awaited again.
    pub async fn close(&self) {
        self.0.closed.store(true, Ordering::Release);
        loop {
            let drained = self.0.drained.listen();
            if self.0.draining.load(Ordering::Acquire) == 0 {
                return;
            }
            drained.await;
        }
    }

    /// Whether [`close`](Tools::close) was called.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.closed.load(Ordering::Acquire)
    }

    /// The visible name that is closest to an unknown one, if any is close.
    pub(crate) fn nearest_name(&self, name: &str, scope: Option<&Scope>) -> Option<Arc<str>> {
        const CLOSE: f64 = 0.7;
        // The cost grows with the length of what the model wrote, and nobody means a tool by such a name.
        const LONG: usize = 128;
        if name.len() > LONG {
            return None;
        }
        self.visible(scope)
            .into_iter()
            .map(|known| (strsim::normalized_damerau_levenshtein(name, &known), known))
            .filter(|(similarity, _)| *similarity >= CLOSE)
            // Names come sorted; of equally close ones the first wins.
            .reduce(|best, next| if next.0 > best.0 { next } else { best })
            .map(|(_, known)| known)
    }

    pub(crate) fn spawner(&self) -> &Arc<dyn Spawner> {
        &self.0.spawner
    }

    pub(crate) fn approvals(&self) -> Option<Approvals> {
        self.0.read().approvals.iter().last().cloned()
    }

    /// Counts a dropped call until the guard goes.
    pub(crate) fn enter_drain(&self) -> Draining {
        self.0.draining.fetch_add(1, Ordering::AcqRel);
        Draining(self.clone())
    }

    pub(crate) fn publish_progress(&self, execution: &Execution, progress: &Progress) {
        let listeners = {
            let tables = self.0.read();
            if tables.progress.is_empty() {
                return;
            }
            tables.progress.snapshot()
        };
        for entry in listeners
            .iter()
            .filter(|entry| entry.admits(execution.agent()))
        {
            if let Err(error) = contain(|| (entry.listener)(execution, progress)) {
                tracing::warn!(
                    tool = execution.name(),
                    error = error.message(),
                    "a progress listener panicked"
                );
            }
        }
    }

    /// Tells every change listener; each on its own (T73–T76, D9).
    pub(crate) fn notify_change(&self) {
        let listeners = {
            let tables = self.0.read();
            if tables.change.is_empty() {
                return;
            }
            tables.change.snapshot()
        };
        for entry in listeners.iter() {
            if let Err(error) = contain(|| (entry.listener)()) {
                tracing::warn!(error = error.message(), "tools/change listener failed");
            }
        }
    }
}

/// A dropped call that is on its way to its end.
pub(crate) struct Draining(Tools);

impl Drop for Draining {
    fn drop(&mut self) {
        if self.0.0.draining.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.0.drained.notify(usize::MAX);
        }
    }
}

impl fmt::Debug for Tools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tools")
            .field("closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ToolsConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolsConfig")
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}
