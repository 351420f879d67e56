//! Where registrations are made (D42).

use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::sync::{Arc, Weak};

use dsh_context::{Effect, EntryId, EntryTable, Fiber, Scope};

use super::tables::{Layer, Tables};
use super::{Registry, Tools};
use crate::chain::{AroundListener, Entry, Observer, PostListener, PreListener};
use crate::contain::Kept;
use crate::decision::{Around, IntoVerdict, PostDecision, PreDecision};
use crate::tool::RUN_CODE;
use crate::{
    Approvals, AroundNext, Execution, Mode, Outcome, PostNext, PreNext, Progress, RegistryError,
    Restriction, Tool, ToolError,
};

/// Registers tools, guards and listeners in one layer, for one lifetime.
///
/// Everything registered through it is undone when its fiber ends (T65), or before with
/// [`Registration::dispose`]. A scoped receiver's listeners hear that scope and what is nested in it (T134).
#[derive(Clone)]
pub struct Receiver {
    tools: Tools,
    fiber: Fiber,
    scope: Option<Scope>,
    prepend: bool,
    unfiltered: bool,
}

/// A [`Receiver`] of a scope's layer, which alone can restrict and choose a presentation (D42).
#[derive(Clone)]
pub struct ScopedReceiver {
    receiver: Receiver,
    scope: Scope,
}

/// One registration.
///
/// Dropping it leaves the registration to its fiber (D10); [`dispose`](Registration::dispose) ends it now.
#[derive(Debug)]
pub struct Registration {
    effect: Effect,
    tool: Option<ToolPlace>,
}

/// Where a tool sits, for updates.
#[derive(Clone, Debug)]
pub(super) struct ToolPlace {
    pub(super) scope: Option<Scope>,
    pub(super) entry: EntryId,
}

impl Registration {
    pub(super) fn new(effect: Effect, tool: Option<ToolPlace>) -> Self {
        Self { effect, tool }
    }

    /// Removes what was registered, and nothing else (T67). When it returns, nobody sees it any more (T68); calls in
    /// progress finish on the definition they started with (T69). Disposing again does nothing (T66).
    pub fn dispose(&self) {
        self.effect.dispose();
    }

    pub(super) fn tool_parts(&self) -> Option<(ToolPlace, Effect)> {
        Some((self.tool.clone()?, self.effect.clone()))
    }

    /// Whether it still stands.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.effect.is_live()
    }
}

impl Receiver {
    pub(crate) fn new(tools: Tools, fiber: Fiber, scope: Option<Scope>) -> Self {
        Self {
            tools,
            fiber,
            scope,
            prepend: false,
            unfiltered: false,
        }
    }

    /// Puts the listeners registered through the result in front of all that are there (T157).
    #[must_use]
    pub fn prepend(mut self) -> Self {
        self.prepend = true;
        self
    }

    /// Lets the listeners registered through the result hear every scope; their lifetime stays the same (T137).
    #[must_use]
    pub fn unfiltered(mut self) -> Self {
        self.unfiltered = true;
        self
    }

    pub(super) fn scope(&self) -> Option<&Scope> {
        self.scope.as_ref()
    }

    pub(super) fn fiber(&self) -> &Fiber {
        &self.fiber
    }

    /// Registers a tool in this layer (T53).
    ///
    /// # Errors
    ///
    /// The reserved name, a name that this layer has already, or a lifetime that has ended.
    pub fn register(&self, tool: Tool) -> Result<Registration, RegistryError> {
        check_name(&tool)?;
        let scoped = self.scope.is_some();
        let name = tool.schema().shared_name();
        let inserted = self.change(|layer| layer.tools.insert(name, tool));
        let entry = match inserted {
            Ok(entry) => entry,
            Err(duplicate) => return Err(RegistryError::duplicate(&duplicate.name, scoped)),
        };
        let place = ToolPlace {
            scope: self.scope.clone(),
            entry,
        };
        let undo = undo_tool(&self.tools, &place);
        match self.fiber.effect("tool", undo) {
            Ok(effect) => {
                self.tools.notify_change();
                Ok(Registration::new(effect, Some(place)))
            }
            Err(inactive) => {
                // The rollback of an insertion that nobody was told of is silent.
                let removed = take_tool(&self.tools.0, &place);
                drop(removed);
                Err(inactive.into())
            }
        }
    }

    /// Registers a guard (T108): it sees every call of this layer's scopes after policy and approval, and can only deny.
    ///
    /// # Errors
    ///
    /// A lifetime that has ended.
    pub fn guard<F, V>(&self, guard: F) -> Result<Registration, RegistryError>
    where
        F: Fn(&Execution) -> V + Send + Sync + 'static,
        V: IntoVerdict,
    {
        let guard = Kept::new(guard);
        let guard: Arc<super::Guard> =
            Arc::new(move |execution: &Execution| (*guard)(execution).into_verdict());
        let entry = {
            let mut tables = self.tools.0.write();
            tables.guard_count += 1;
            in_layer(&mut tables, self.scope.as_ref(), |layer| {
                layer.guards.push(guard)
            })
        };
        let (registry, scope) = (Arc::downgrade(&self.tools.0), self.scope.clone());
        self.undoable("guard", move || {
            with(&registry, |registry| {
                let mut tables = registry.write();
                let removed = out_of_layer(&mut tables, scope.as_ref(), |layer| {
                    layer.guards.remove(entry)
                })
                .flatten();
                if removed.is_some() {
                    tables.guard_count -= 1;
                }
                removed
            });
        })
    }

    /// Listens before the execution of a call: allow, deny or ask (phase 2).
    ///
    /// # Errors
    ///
    /// A lifetime that has ended.
    ///
    /// # Examples
    ///
    /// ```
    /// use dsh_context::Fiber;
    /// use dsh_tools::{PreDecision, Tools, ToolsConfig};
    ///
    /// let fiber = Fiber::root("app");
    /// let tools = Tools::new(ToolsConfig::default());
    /// tools.global(&fiber).on_pre_execute(|execution, next| async move {
    ///     if execution.name() == "rm" { Ok(PreDecision::deny("not here")) } else { next.run().await }
    /// })?;
    /// # Ok::<(), dsh_tools::RegistryError>(())
    /// ```
    pub fn on_pre_execute<F, Fut>(&self, listener: F) -> Result<Registration, RegistryError>
    where
        F: Fn(Execution, PreNext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<PreDecision, ToolError>> + Send + 'static,
    {
        let listener = Kept::new(listener);
        let listener: Arc<dyn PreListener> =
            Arc::new(move |execution, next| (*listener)(execution, next));
        self.listen("pre-execute listener", listener, |tables| &mut tables.pre)
    }

    /// Wraps the execution of a body (phase 6).
    ///
    /// # Errors
    ///
    /// A lifetime that has ended.
    pub fn on_execute<F, Fut>(&self, listener: F) -> Result<Registration, RegistryError>
    where
        F: Fn(Execution, AroundNext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Around, ToolError>> + Send + 'static,
    {
        let listener = Kept::new(listener);
        let listener: Arc<dyn AroundListener> =
            Arc::new(move |execution, next| (*listener)(execution, next));
        self.listen("execute listener", listener, |tables| &mut tables.around)
    }

    /// Judges a result before it is published (phase 9).
    ///
    /// # Errors
    ///
    /// A lifetime that has ended.
    pub fn on_post_execute<F, Fut>(&self, listener: F) -> Result<Registration, RegistryError>
    where
        F: Fn(Execution, Arc<Outcome>, PostNext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<PostDecision, ToolError>> + Send + 'static,
    {
        let listener = Kept::new(listener);
        let listener: Arc<dyn PostListener> =
            Arc::new(move |execution, result, next| (*listener)(execution, result, next));
        self.listen("post-execute listener", listener, |tables| &mut tables.post)
    }

    /// Sees every outcome, once (phase 14). Synchronous; whatever it starts is its own business (T247).
    ///
    /// # Errors
    ///
    /// A lifetime that has ended.
    pub fn on_result<F>(&self, observer: F) -> Result<Registration, RegistryError>
    where
        F: Fn(&Execution, &Outcome) + Send + Sync + 'static,
    {
        let observer = Kept::new(observer);
        let observer: Arc<Observer> = Arc::new(move |execution: &Execution, outcome: &Outcome| {
            (*observer)(execution, outcome)
        });
        self.listen("result observer", observer, |tables| &mut tables.observers)
    }

    /// Hears how far bodies are.
    ///
    /// # Errors
    ///
    /// A lifetime that has ended.
    pub fn on_progress<F>(&self, listener: F) -> Result<Registration, RegistryError>
    where
        F: Fn(&Execution, &Progress) + Send + Sync + 'static,
    {
        let listener = Kept::new(listener);
        let listener: Arc<super::tables::ProgressListener> =
            Arc::new(move |execution: &Execution, progress: &Progress| {
                (*listener)(execution, progress)
            });
        self.listen("progress listener", listener, |tables| &mut tables.progress)
    }

    /// Hears that what somebody sees may have changed; consumers read again (T73). Every listener hears every change,
    /// whatever layer it is in (T74).
    ///
    /// # Errors
    ///
    /// A lifetime that has ended.
    pub fn on_change<F>(&self, listener: F) -> Result<Registration, RegistryError>
    where
        F: Fn() + Send + Sync + 'static,
    {
        let listener = Kept::new(listener);
        let listener: Arc<super::tables::ChangeListener> = Arc::new(move || (*listener)());
        self.listen("change listener", listener, |tables| &mut tables.change)
    }

    /// Mounts the approval service; an `ask` without one is a denial (T265). The last one mounted answers.
    ///
    /// # Errors
    ///
    /// A lifetime that has ended.
    pub fn mount_approvals(&self, approvals: Approvals) -> Result<Registration, RegistryError> {
        let id = self.tools.0.write().approvals.push(approvals);
        let registry = Arc::downgrade(&self.tools.0);
        self.undoable("approvals", move || {
            with(&registry, |registry| registry.write().approvals.remove(id));
        })
    }

    /// Mounts the Code Mode transport under its reserved name; it is visible where the mode presents it (T117).
    ///
    /// # Errors
    ///
    /// A tool of another name, or a lifetime that has ended.
    pub fn mount_transport(&self, tool: Tool) -> Result<Registration, RegistryError> {
        if tool.name() != RUN_CODE {
            return Err(RegistryError::definition(format!(
                "the Code Mode transport is called \"{RUN_CODE}\", not \"{}\"",
                tool.name()
            )));
        }
        let id = {
            let mut tables = self.tools.0.write();
            tables.version += 1;
            tables.transport.push(tool)
        };
        let registry = Arc::downgrade(&self.tools.0);
        let registration = self.undoable("transport", move || {
            with(&registry, |registry| {
                let mut tables = registry.write();
                tables.version += 1;
                tables.transport.remove(id)
            });
            notify(&registry);
        })?;
        self.tools.notify_change();
        Ok(registration)
    }

    fn change<T>(&self, change: impl FnOnce(&mut Layer) -> T) -> T {
        let mut tables = self.tools.0.write();
        tables.version += 1;
        in_layer(&mut tables, self.scope.as_ref(), change)
    }

    fn listen<L>(
        &self,
        label: &'static str,
        listener: Arc<L>,
        table: fn(&mut Tables) -> &mut EntryTable<Entry<L>>,
    ) -> Result<Registration, RegistryError>
    where
        L: ?Sized + Send + Sync + 'static,
    {
        let entry = Entry {
            scope: self.scope.clone(),
            unfiltered: self.unfiltered,
            listener,
        };
        let id = {
            let mut tables = self.tools.0.write();
            let table = table(&mut tables);
            if self.prepend {
                table.prepend(entry)
            } else {
                table.push(entry)
            }
        };
        let registry = Arc::downgrade(&self.tools.0);
        self.undoable(label, move || {
            with(&registry, |registry| {
                table(&mut registry.write()).remove(id)
            });
        })
    }

    /// Hands an undo to the fiber; a fiber that has ended gets it run at once and refuses.
    fn undoable(
        &self,
        label: &'static str,
        undo: impl FnOnce() + Send + 'static,
    ) -> Result<Registration, RegistryError> {
        let undo = Arc::new(parking_lot::Mutex::new(Some(undo)));
        let kept = undo.clone();
        let run = move || {
            let undo = kept.lock().take();
            if let Some(undo) = undo {
                undo();
            }
        };
        match self.fiber.effect(label, run) {
            Ok(effect) => Ok(Registration::new(effect, None)),
            Err(inactive) => {
                let undo = undo.lock().take();
                if let Some(undo) = undo {
                    undo();
                }
                Err(inactive.into())
            }
        }
    }
}

impl ScopedReceiver {
    pub(crate) fn new(tools: Tools, scope: Scope) -> Self {
        Self {
            receiver: Receiver::new(tools, scope.fiber().clone(), Some(scope.clone())),
            scope,
        }
    }

    /// Masks inherited tools for this scope and what is nested in it (T93–T107).
    ///
    /// # Errors
    ///
    /// A restriction that does nothing, that names the transport or a name the scope does not inherit, or a lifetime
    /// that has ended.
    pub fn restrict(&self, restriction: Restriction) -> Result<Registration, RegistryError> {
        if restriction.is_empty() {
            return Err(RegistryError::empty_restriction());
        }
        if restriction.names().any(|name| name == RUN_CODE) {
            return Err(RegistryError::reserved_restriction(RUN_CODE));
        }
        let entry = {
            let mut tables = self.receiver.tools.0.write();
            let known = tables.restrictable(&self.scope);
            let unknown: Vec<&str> = restriction
                .names()
                .filter(|name| known.binary_search_by(|k| k.as_str().cmp(name)).is_err())
                .collect();
            if !unknown.is_empty() {
                return Err(RegistryError::unknown_restriction(&unknown, &known));
            }
            tables.version += 1;
            let filter = Arc::new(restriction.compile());
            tables
                .layers
                .contribute(&self.scope, |layer| layer.restrictions.push(filter))
        };
        let (registry, scope) = (Arc::downgrade(&self.receiver.tools.0), self.scope.clone());
        let registration = self.receiver.undoable("restriction", move || {
            with(&registry, |registry| {
                let mut tables = registry.write();
                tables.version += 1;
                tables
                    .layers
                    .withdraw(scope.id(), |layer| layer.restrictions.remove(entry))
                    .flatten()
            });
            notify(&registry);
        })?;
        self.receiver.tools.notify_change();
        Ok(registration)
    }

    /// Chooses how this scope's tools are presented, and those of scopes nested in it that do not choose (T118).
    ///
    /// # Errors
    ///
    /// The scope has chosen already, or its lifetime has ended.
    pub fn present_as(&self, mode: Mode) -> Result<Registration, RegistryError> {
        {
            let mut tables = self.receiver.tools.0.write();
            if let Some(declared) = tables
                .layers
                .exact(self.scope.id())
                .and_then(|layer| layer.mode)
            {
                return Err(RegistryError::mode_conflict(mode, declared));
            }
            tables.version += 1;
            tables
                .layers
                .contribute(&self.scope, |layer| layer.mode = Some(mode));
        }
        let (registry, scope) = (Arc::downgrade(&self.receiver.tools.0), self.scope.clone());
        let registration = self.receiver.undoable("presentation", move || {
            with(&registry, |registry| {
                let mut tables = registry.write();
                tables.version += 1;
                tables
                    .layers
                    .withdraw(scope.id(), |layer| layer.mode = None)
            });
            notify(&registry);
        })?;
        self.receiver.tools.notify_change();
        Ok(registration)
    }

    /// See [`Receiver::prepend`].
    #[must_use]
    pub fn prepend(self) -> Receiver {
        self.receiver.prepend()
    }

    /// See [`Receiver::unfiltered`].
    #[must_use]
    pub fn unfiltered(self) -> Receiver {
        self.receiver.unfiltered()
    }
}

impl Deref for ScopedReceiver {
    type Target = Receiver;

    fn deref(&self) -> &Receiver {
        &self.receiver
    }
}

pub(super) fn check_name(tool: &Tool) -> Result<(), RegistryError> {
    if tool.name() == RUN_CODE {
        Err(RegistryError::reserved(RUN_CODE))
    } else {
        Ok(())
    }
}

pub(super) fn in_layer<T>(
    tables: &mut Tables,
    scope: Option<&Scope>,
    change: impl FnOnce(&mut Layer) -> T,
) -> T {
    match scope {
        None => change(tables.layers.global_mut()),
        Some(scope) => tables.layers.contribute(scope, change),
    }
}

pub(super) fn out_of_layer<T>(
    tables: &mut Tables,
    scope: Option<&Scope>,
    change: impl FnOnce(&mut Layer) -> T,
) -> Option<T> {
    match scope {
        None => Some(change(tables.layers.global_mut())),
        Some(scope) => tables.layers.withdraw(scope.id(), change),
    }
}

/// Runs a change that hands back what it removed, and drops that after the lock is gone (T441).
fn with<T>(registry: &Weak<Registry>, change: impl FnOnce(&Registry) -> T) {
    if let Some(registry) = registry.upgrade() {
        crate::contain::discard(change(&registry));
    }
}

fn notify(registry: &Weak<Registry>) {
    if let Some(registry) = registry.upgrade() {
        Tools(registry).notify_change();
    }
}

pub(super) fn take_tool(registry: &Registry, place: &ToolPlace) -> Option<Tool> {
    let mut tables = registry.write();
    let removed = out_of_layer(&mut tables, place.scope.as_ref(), |layer| {
        layer.tools.remove(place.entry)
    })
    .flatten();
    if removed.is_some() {
        tables.version += 1;
    }
    removed
}

/// The undo of one tool: it removes that very insertion, and tells of it only if it was there (T66, T67).
pub(super) fn undo_tool(tools: &Tools, place: &ToolPlace) -> impl FnOnce() + Send + 'static {
    let (registry, place) = (Arc::downgrade(&tools.0), place.clone());
    move || {
        let Some(registry) = registry.upgrade() else {
            return;
        };
        let removed = take_tool(&registry, &place);
        if removed.is_some() {
            crate::contain::discard(removed);
            Tools(registry).notify_change();
        }
    }
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver")
            .field("scope", &self.scope)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ScopedReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.receiver.fmt(f)
    }
}
