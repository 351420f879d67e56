//! Lifetimes that own effects and other lifetimes.

use std::{
    borrow::Cow,
    fmt,
    pin::Pin,
    sync::{Arc, OnceLock, Weak},
    task::{Context, Poll, Waker},
};

use parking_lot::Mutex;

use crate::{
    composite::Steps,
    containment::BoxFuture,
    effect::{AsyncEffect, Effect, EffectInfo, EffectKind, Handle},
    flight::{Flight, Join},
    inactive::InactiveEffect,
    ordered::{EntryId, Ordered},
    teardown::{self, Teardown},
};

/// What a fiber is doing.
///
/// There is no `PENDING` (L1): services are wired by types and handed over by value, so a plugin cannot
/// be mounted before what it needs exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FiberState {
    /// The start code of a plugin runs. Effects are accepted.
    Loading,
    /// In use. Effects are accepted.
    Active,
    /// Being undone; refuses effects.
    Unloading,
    /// Undone after the start code of its plugin failed; terminal (L8).
    Failed,
    /// Undone; terminal.
    Disposed,
}

impl FiberState {
    /// Whether effects can be registered in this state (L13).
    #[must_use]
    pub const fn accepts_effects(self) -> bool {
        matches!(self, Self::Loading | Self::Active)
    }
}

/// A lifetime: it owns effects and child fibers and undoes them, latest first, when it is disposed.
///
/// A `Fiber` is a cheap handle; clones and equality denote the same lifetime. Dropping handles never
/// undoes anything. The last handle of a fiber that still has effects takes the chance to undo them away,
/// which is logged as a warning.
///
/// # Examples
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use dsh_context::Fiber;
///
/// let undone = Arc::new(Mutex::new(Vec::new()));
/// let fiber = Fiber::root("demo");
/// for name in ["first", "second"] {
///     let undone = Arc::clone(&undone);
///     fiber.effect(name, move || undone.lock().unwrap().push(name))?;
/// }
///
/// pollster::block_on(fiber.dispose());
///
/// assert_eq!(*undone.lock().unwrap(), ["second", "first"]);
/// assert_eq!(fiber.effect("late", || ()).unwrap_err().code(), "INACTIVE_EFFECT");
/// # Ok::<(), dsh_context::InactiveEffect>(())
/// ```
#[derive(Clone)]
pub struct Fiber {
    core: Arc<FiberCore>,
}

pub(crate) struct FiberCore {
    label: Arc<str>,
    /// The parent and the entry that this fiber takes up there. The parent holds its children strongly.
    seat: OnceLock<(Weak<FiberCore>, EntryId)>,
    effects: Mutex<Effects>,
    teardown: OnceLock<Arc<Flight>>,
}

/// Everything a fiber owns. Foreign code never runs under the lock around this, nor is any foreign value
/// dropped under it.
struct Effects {
    state: FiberState,
    /// Which terminal state the teardown leads to.
    failed: bool,
    /// Linked: to be undone by the teardown. Unlinked: in flight, or held by a composite effect.
    slots: Ordered<Slot>,
    /// Undos and setups in flight; the teardown waits for them (L17, L21).
    flying: usize,
    /// Flights that were started elsewhere and that the teardown has to drive as well, since whoever
    /// started them may have gone away.
    handover: Vec<Arc<Flight>>,
    /// Wakes the teardown when any of the above changes.
    waker: Option<Waker>,
}

struct Slot {
    label: Cow<'static, str>,
    place: Place,
    work: Work,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the fiber's order.
    Live,
    /// In a composite's order.
    Held,
    /// Being undone or set up.
    Flying,
}

pub(crate) type SyncUndo = Box<dyn FnOnce() + Send>;
pub(crate) type AsyncUndo = Box<dyn FnOnce() -> BoxFuture<'static, ()> + Send>;

enum Work {
    Sync(SyncUndo),
    Async(AsyncUndo),
    Steps(Steps),
    Child(Fiber),
    /// A composite whose setup is still running.
    Setup,
    Busy(Busy),
}

enum Busy {
    Inline,
    Flight(EffectKind, Arc<Flight>),
    Steps(Steps, Arc<Flight>),
    Child(Fiber),
}

/// An undo that has just been taken out of its slot, for exactly one caller to perform.
pub(crate) enum Started {
    Inline(SyncUndo),
    Flight(Arc<Flight>),
    Child(Fiber),
    /// Somebody else's setup; it reports when it has finished.
    Setup,
}

impl Fiber {
    /// A lifetime that nobody owns.
    #[must_use]
    pub fn root(label: impl Into<Arc<str>>) -> Self {
        Self::in_state(label.into(), FiberState::Active)
    }

    fn in_state(label: Arc<str>, state: FiberState) -> Self {
        Self {
            core: Arc::new(FiberCore {
                label,
                seat: OnceLock::new(),
                effects: Mutex::new(Effects {
                    state,
                    failed: false,
                    slots: Ordered::new(),
                    flying: 0,
                    handover: Vec::new(),
                    waker: None,
                }),
                teardown: OnceLock::new(),
            }),
        }
    }

    /// A lifetime that ends, at the latest, with this one: an effect in acquisition position (T144).
    ///
    /// # Errors
    ///
    /// [`InactiveEffect`] when this fiber no longer accepts effects.
    pub fn child(&self, label: impl Into<Arc<str>>) -> Result<Self, InactiveEffect> {
        self.child_in_state(label.into(), FiberState::Active)
    }

    pub(crate) fn child_in_state(
        &self,
        label: Arc<str>,
        state: FiberState,
    ) -> Result<Self, InactiveEffect> {
        let child = Self::in_state(label, state);
        // The seat is set under the parent's lock: a disposal of the child finds it in place.
        self.core
            .register(Cow::Borrowed("fiber"), Work::Child(child.clone()), |id| {
                let _ = child.core.seat.set((Arc::downgrade(&self.core), id));
            })?;
        Ok(child)
    }

    /// The label given at creation, for people.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.core.label
    }

    /// What the fiber is doing at this moment.
    #[must_use]
    pub fn state(&self) -> FiberState {
        self.core.effects.lock().state
    }

    /// Whether the fiber accepts effects at this moment.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.state().accepts_effects()
    }

    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state(), FiberState::Disposed | FiberState::Failed)
    }

    /// Registers a synchronous undo, to be run at most once: by the returned handle, or else when the
    /// fiber is disposed.
    ///
    /// The handle may be dropped; that changes nothing (D10). Registration and disposal from different
    /// threads exclude each other: either the undo is registered and will be run, or it is refused.
    ///
    /// # Errors
    ///
    /// [`InactiveEffect`] when the fiber no longer accepts effects; `undo` is dropped without being run.
    pub fn effect(
        &self,
        label: impl Into<Cow<'static, str>>,
        undo: impl FnOnce() + Send + 'static,
    ) -> Result<Effect, InactiveEffect> {
        let id = self
            .core
            .register(label.into(), Work::Sync(Box::new(undo)), |_| ())?;
        Ok(Effect(Handle::new(Arc::clone(&self.core), id)))
    }

    /// Registers an asynchronous undo; otherwise like [`effect`](Self::effect).
    ///
    /// Undos of different effects overlap when the fiber is disposed (L18). What must be undone in order
    /// belongs into one [`composite`](Self::composite).
    ///
    /// # Errors
    ///
    /// [`InactiveEffect`] when the fiber no longer accepts effects; `undo` is dropped without being run.
    pub fn effect_async<F, Fut>(
        &self,
        label: impl Into<Cow<'static, str>>,
        undo: F,
    ) -> Result<AsyncEffect, InactiveEffect>
    where
        F: FnOnce() -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let undo: AsyncUndo = Box::new(move || Box::pin(undo()));
        let id = self
            .core
            .register(label.into(), Work::Async(undo), |_| ())?;
        Ok(AsyncEffect(Handle::new(Arc::clone(&self.core), id)))
    }

    /// Ends the fiber: undoes its effects, latest first, and disposes its child fibers.
    ///
    /// The call itself marks the fiber, so that it refuses effects from then on; the undos are run by
    /// polling the returned future. All disposals of a fiber share one teardown: whoever polls drives it,
    /// everybody waits for the same completion, and dropping one of them leaves the rest to the others
    /// (L11, L12, T142, T143). Disposing a fiber that is over completes at once.
    ///
    /// Synchronous undos run in exact reverse order of registration. Asynchronous ones start in that
    /// order and overlap (L18). An undo that panics is logged and stops neither the others nor the
    /// disposal (L19). Undos and setups in flight elsewhere are waited for (L17, L21).
    ///
    /// Code that runs as part of the teardown, such as an undo, may ask for the disposal that waits for
    /// it, or for that of an enclosing fiber. Waiting would never end there, so that future completes at
    /// once, and the disposal goes on after the code has returned: as part of the disposal or asynchronous
    /// undo that runs the code, or, below a plain [`Effect::dispose`] or a setup, by the next disposal that
    /// is polled. This is recognised when the code polls the future itself, not when it waits for another
    /// task that does.
    ///
    /// # Cancellation
    ///
    /// A dropped disposal does not revive the fiber: what was not undone yet is undone by the next
    /// disposal that is polled.
    pub fn dispose(&self) -> Disposal {
        self.core.close(false);
        Disposal {
            join: Join::new(self.core.teardown()),
            fiber: self.clone(),
        }
    }

    /// [`dispose`](Self::dispose), ending in [`FiberState::Failed`] if no disposal was there before.
    pub(crate) fn fail(&self) -> Disposal {
        self.core.close(true);
        Disposal {
            join: Join::new(self.core.teardown()),
            fiber: self.clone(),
        }
    }

    /// Start code has succeeded.
    pub(crate) fn activate(&self) -> bool {
        let mut effects = self.core.effects.lock();
        if effects.state == FiberState::Loading {
            effects.state = FiberState::Active;
        }
        effects.state == FiberState::Active
    }

    /// Lists what would have to be undone, in order of acquisition, with what is nested in it (L20).
    ///
    /// A listing that is empty after everything was taken back proves that nothing leaked.
    #[must_use]
    pub fn live_effects(&self) -> Vec<EffectInfo> {
        self.core.list()
    }

    pub(crate) fn core(&self) -> &Arc<FiberCore> {
        &self.core
    }

    pub(crate) fn seat(&self) -> Option<Handle> {
        let (parent, id) = self.core.seat.get()?;
        Some(Handle::new(parent.upgrade()?, *id))
    }
}

impl PartialEq for Fiber {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.core, &other.core)
    }
}

impl Eq for Fiber {}

impl fmt::Debug for Fiber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fiber")
            .field("label", &self.core.label)
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}

impl FiberCore {
    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    /// Whether this is `ancestor` or below it.
    pub(crate) fn is_within(self: &Arc<Self>, ancestor: &Arc<Self>) -> bool {
        let mut core = Arc::clone(self);
        while !Arc::ptr_eq(&core, ancestor) {
            match core.seat.get().and_then(|(parent, _)| parent.upgrade()) {
                Some(parent) => core = parent,
                None => return false,
            }
        }
        true
    }

    fn register(
        &self,
        label: Cow<'static, str>,
        work: Work,
        seated: impl FnOnce(EntryId),
    ) -> Result<EntryId, InactiveEffect> {
        let slot = Slot {
            label,
            place: Place::Live,
            work,
        };
        {
            let mut effects = self.effects.lock();
            if effects.state.accepts_effects() {
                let id = effects.slots.push_back(slot);
                seated(id);
                return Ok(id);
            }
        }
        drop(slot);
        Err(InactiveEffect)
    }

    /// Takes up the place of a composite effect before its setup runs.
    pub(crate) fn reserve(&self, label: Cow<'static, str>) -> Result<EntryId, InactiveEffect> {
        self.register(label, Work::Setup, |_| ())
    }

    /// The setup of a composite effect has succeeded.
    pub(crate) fn furnish(&self, id: EntryId, steps: Steps) {
        self.change(|effects| effects.furnish(id, steps));
    }

    /// The setup of a composite effect has failed: what it produced is undone at once (L16).
    pub(crate) fn roll_back(self: &Arc<Self>, id: EntryId, steps: Steps) -> Option<Arc<Flight>> {
        let started = self.change(|effects| {
            effects.furnish(id, steps);
            effects.start_elsewhere(id, self)
        });
        match started? {
            Started::Flight(flight) => Some(flight),
            Started::Inline(_) | Started::Child(_) | Started::Setup => None,
        }
    }

    /// Runs work as a part of this fiber's life: the teardown drives it and waits for it.
    pub(crate) fn fly(
        self: &Arc<Self>,
        label: Cow<'static, str>,
        work: BoxFuture<'static, ()>,
    ) -> Result<Arc<Flight>, InactiveEffect> {
        let id = self.register(label, Work::Async(Box::new(move || work)), |_| ())?;
        match self.start(id) {
            Some(Started::Flight(flight)) => Ok(flight),
            _ => Err(InactiveEffect),
        }
    }

    /// Moves an effect from the fiber's order into that of a composite.
    pub(crate) fn hold(&self, id: EntryId) {
        let mut effects = self.effects.lock();
        if let Some(slot) = effects.slots.get_mut(id)
            && slot.place == Place::Live
        {
            slot.place = Place::Held;
            effects.slots.unlink(id);
        }
    }

    pub(crate) fn is_live(&self, id: EntryId) -> bool {
        let effects = self.effects.lock();
        effects
            .slots
            .get(id)
            .is_some_and(|slot| !matches!(slot.work, Work::Busy(_)))
    }

    /// Takes an undo for running it; `None` when somebody else did (L17).
    pub(crate) fn start(self: &Arc<Self>, id: EntryId) -> Option<Started> {
        self.change(|effects| effects.start_elsewhere(id, self))
    }

    /// The teardown's next undo: the most recently acquired one.
    pub(crate) fn start_last(self: &Arc<Self>) -> Option<(EntryId, Started)> {
        let mut effects = self.effects.lock();
        let id = effects.slots.last()?;
        effects.start(id, self).map(|started| (id, started))
    }

    /// An undo or its setup is over.
    pub(crate) fn finish(&self, id: EntryId) {
        let slot = self.change(|effects| {
            let slot = effects.slots.remove(id)?;
            if slot.place == Place::Flying {
                effects.flying -= 1;
            }
            Some(slot)
        });
        drop(slot);
    }

    pub(crate) fn label_of(&self, id: EntryId) -> Cow<'static, str> {
        let effects = self.effects.lock();
        effects
            .slots
            .get(id)
            .map_or(Cow::Borrowed(""), |slot| slot.label.clone())
    }

    /// Marks the fiber as ending.
    fn close(&self, failed: bool) {
        let mut effects = self.effects.lock();
        if effects.state.accepts_effects() {
            effects.state = FiberState::Unloading;
            effects.failed = failed;
            let flights: Vec<_> = effects
                .slots
                .scan()
                .filter_map(|(_, slot)| match &slot.work {
                    Work::Busy(Busy::Flight(_, flight) | Busy::Steps(_, flight)) => {
                        Some(Arc::clone(flight))
                    }
                    _ => None,
                })
                .collect();
            effects.handover = flights;
        }
    }

    fn teardown(self: &Arc<Self>) -> Arc<Flight> {
        let flight = self.teardown.get_or_init(|| {
            let owner = Arc::downgrade(self);
            Flight::new(Weak::clone(&owner), Box::pin(Teardown::new(owner)))
        });
        Arc::clone(flight)
    }

    pub(crate) fn take_handover(&self) -> Vec<Arc<Flight>> {
        std::mem::take(&mut self.effects.lock().handover)
    }

    /// Completes the teardown, or has `waker` told when there is something to do for it.
    ///
    /// `driven` is whether everything that the teardown itself drives is done.
    pub(crate) fn settle(&self, driven: bool, waker: &Waker) -> teardown::Settled {
        let (settled, replaced) = {
            let mut effects = self.effects.lock();
            if effects.slots.len() > 0 || !effects.handover.is_empty() {
                (teardown::Settled::Again, None)
            } else if effects.flying > 0 || !driven {
                (
                    teardown::Settled::Waiting,
                    effects.waker.replace(waker.clone()),
                )
            } else {
                effects.state = if effects.failed {
                    FiberState::Failed
                } else {
                    FiberState::Disposed
                };
                (teardown::Settled::Over, effects.waker.take())
            }
        };
        drop(replaced);
        if matches!(settled, teardown::Settled::Over)
            && let Some((parent, id)) = self.seat.get()
            && let Some(parent) = parent.upgrade()
        {
            parent.finish(*id);
        }
        settled
    }

    /// Changes the effects and wakes the teardown if there is one.
    fn change<T>(&self, change: impl FnOnce(&mut Effects) -> T) -> T {
        let (result, waker) = {
            let mut effects = self.effects.lock();
            let result = change(&mut effects);
            (result, effects.waker.take())
        };
        if let Some(waker) = waker {
            waker.wake();
        }
        result
    }

    fn list(&self) -> Vec<EffectInfo> {
        enum Nested {
            Nothing,
            Steps(Steps),
            Child(Fiber),
        }

        // Nested listings take other locks, so they come after this one is released.
        let mut found: Vec<(u64, EffectInfo, Nested)> = Vec::new();
        {
            let effects = self.effects.lock();
            for (id, slot) in effects
                .slots
                .scan()
                .filter(|(_, slot)| slot.place != Place::Held)
            {
                let (info, nested) = slot.describe();
                let nested = match nested {
                    (Some(steps), _) => Nested::Steps(steps),
                    (None, Some(child)) => Nested::Child(child),
                    (None, None) => Nested::Nothing,
                };
                found.push((id.stamp(), info, nested));
            }
        }
        found.sort_by_key(|&(stamp, ..)| stamp);
        found
            .into_iter()
            .map(|(_, info, nested)| match nested {
                Nested::Nothing => info,
                Nested::Steps(steps) => info.with(steps.list()),
                Nested::Child(child) => info.with(child.live_effects()),
            })
            .collect()
    }

    /// The listing of one effect that a composite holds.
    pub(crate) fn describe(&self, id: EntryId) -> Option<EffectInfo> {
        let (info, nested) = self.effects.lock().slots.get(id)?.describe();
        Some(match nested {
            (Some(steps), _) => info.with(steps.list()),
            (None, Some(child)) => info.with(child.live_effects()),
            (None, None) => info,
        })
    }
}

impl Effects {
    /// An undo that the teardown does not start itself, but has to drive once it is under way.
    fn start_elsewhere(&mut self, id: EntryId, owner: &Arc<FiberCore>) -> Option<Started> {
        let started = self.start(id, owner)?;
        if self.state == FiberState::Unloading
            && let Started::Flight(flight) = &started
        {
            self.handover.push(Arc::clone(flight));
        }
        Some(started)
    }

    /// A setup is over; its place in the order is kept unless the teardown came by meanwhile (L21).
    fn furnish(&mut self, id: EntryId, steps: Steps) {
        let Some(slot) = self.slots.get_mut(id) else {
            return;
        };
        slot.work = Work::Steps(steps);
        if slot.place == Place::Flying {
            slot.place = Place::Live;
            self.flying -= 1;
            self.slots.relink_back(id);
        }
    }

    fn start(&mut self, id: EntryId, owner: &Arc<FiberCore>) -> Option<Started> {
        let slot = self.slots.get_mut(id)?;
        if matches!(slot.work, Work::Busy(_)) || slot.place == Place::Flying {
            return None;
        }
        let work = std::mem::replace(&mut slot.work, Work::Busy(Busy::Inline));
        let started = match work {
            Work::Sync(undo) => Started::Inline(undo),
            Work::Async(undo) => {
                let owner = Arc::downgrade(owner);
                let work = Box::pin(teardown::undo(Weak::clone(&owner), id, undo));
                let flight = Flight::new(owner, work);
                slot.work = Work::Busy(Busy::Flight(EffectKind::Async, Arc::clone(&flight)));
                Started::Flight(flight)
            }
            Work::Steps(steps) => {
                let owner = Arc::downgrade(owner);
                let work = Box::pin(teardown::undo_steps(Weak::clone(&owner), id, steps.clone()));
                let flight = Flight::new(owner, work);
                slot.work = Work::Busy(Busy::Steps(steps, Arc::clone(&flight)));
                Started::Flight(flight)
            }
            Work::Child(child) => {
                slot.work = Work::Busy(Busy::Child(child.clone()));
                Started::Child(child)
            }
            Work::Setup => {
                slot.work = Work::Setup;
                Started::Setup
            }
            Work::Busy(_) => return None,
        };
        slot.place = Place::Flying;
        self.slots.unlink(id);
        self.flying += 1;
        Some(started)
    }
}

impl Slot {
    fn describe(&self) -> (EffectInfo, (Option<Steps>, Option<Fiber>)) {
        let label = self.label.clone();
        let info = |kind, undoing| EffectInfo::new(label.clone(), kind, undoing);
        match &self.work {
            Work::Sync(_) => (info(EffectKind::Sync, false), (None, None)),
            Work::Async(_) => (info(EffectKind::Async, false), (None, None)),
            Work::Setup => (info(EffectKind::Composite, false), (None, None)),
            Work::Steps(steps) => (
                info(EffectKind::Composite, false),
                (Some(steps.clone()), None),
            ),
            Work::Busy(Busy::Inline) => (info(EffectKind::Sync, true), (None, None)),
            Work::Busy(Busy::Flight(kind, _)) => (info(*kind, true), (None, None)),
            Work::Busy(Busy::Steps(steps, _)) => (
                info(EffectKind::Composite, true),
                (Some(steps.clone()), None),
            ),
            Work::Child(child) => (
                EffectInfo::of_fiber(child, false),
                (None, Some(child.clone())),
            ),
            Work::Busy(Busy::Child(child)) => (
                EffectInfo::of_fiber(child, true),
                (None, Some(child.clone())),
            ),
        }
    }
}

impl Drop for FiberCore {
    fn drop(&mut self) {
        let live = self.effects.get_mut().slots.scan().count();
        if live > 0 {
            tracing::warn!(
                fiber = &*self.label,
                effects = live,
                "the last handle of a fiber was dropped before it was disposed; its effects stay"
            );
        }
    }
}

/// The end of a fiber, to be awaited; see [`Fiber::dispose`].
#[derive(Clone)]
#[must_use = "a disposal undoes nothing until it is polled"]
pub struct Disposal {
    fiber: Fiber,
    join: Join,
}

impl Disposal {
    pub(crate) fn join(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.join.poll(cx, Some(&self.fiber))
    }

    pub(crate) fn into_join(self) -> Join {
        self.join
    }
}

impl Future for Disposal {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.join(cx)
    }
}

impl fmt::Debug for Disposal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Disposal")
            .field("fiber", &self.fiber)
            .finish_non_exhaustive()
    }
}
