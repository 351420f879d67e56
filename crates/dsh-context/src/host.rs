//! Mounting, replacing and unmounting of plugins.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::Mutex;

use crate::{
    containment::{BoxFuture, contain_async},
    fiber::{Fiber, FiberState},
    flight::{Flight, Join},
    host_error::HostError,
    plugin::{Plugin, PluginError},
    reentry,
    startup::{self, Unstarted},
};

/// Names one mounted plugin of one host; it survives replacements and reloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PluginId(u64);

/// Owns plugin instances, each on a child fiber of its own.
///
/// Operations on one plugin run one after the other in the order of their requests; operations on
/// different plugins do not wait for each other.
///
/// # Cancellation
///
/// A replacement, reload or unmounting that was begun is never torn in half: if its future is dropped, it
/// stays where it stopped and is carried on by the next operation on the same plugin. A mounting that is
/// dropped leaves nothing mounted.
#[derive(Clone)]
pub struct PluginHost {
    core: Arc<HostCore>,
}

struct HostCore {
    fiber: Fiber,
    mounts: Mutex<HashMap<PluginId, Arc<Mount>>>,
}

/// One place for a plugin.
struct Mount {
    instance: Mutex<Instance>,
    queue: Mutex<Queue>,
}

#[derive(Clone)]
struct Instance {
    plugin: Arc<dyn Plugin>,
    fiber: Fiber,
}

/// Operations that are not over, the running one first.
#[derive(Default)]
struct Queue {
    operations: VecDeque<Arc<Flight>>,
    /// The reload that further requests join: the last operation, not begun yet (L57).
    joinable: Option<Operation>,
    /// Unmounted: what was requested meanwhile finds nothing to work on.
    gone: bool,
}

type Outcome = Result<(), HostError>;

/// One operation on one plugin, shared by those who asked for it.
#[derive(Clone)]
struct Operation {
    flight: Arc<Flight>,
    outcome: Arc<OnceLock<Outcome>>,
}

impl Operation {
    async fn wait(self) -> Outcome {
        Join::new(self.flight).await;
        self.outcome
            .get()
            .cloned()
            .unwrap_or_else(|| Err(HostError::inactive()))
    }
}

impl PluginHost {
    /// A host whose plugins end, at the latest, with `fiber`.
    #[must_use]
    pub fn new(fiber: &Fiber) -> Self {
        Self {
            core: Arc::new(HostCore {
                fiber: fiber.clone(),
                mounts: Mutex::default(),
            }),
        }
    }

    /// Checks and starts a plugin.
    ///
    /// # Errors
    ///
    /// `PLUGIN_REJECTED` when the check fails, `PLUGIN_START_FAILED` when the start fails: everything it
    /// registered is undone, its fiber ends as [`FiberState::Failed`], no other plugin is affected (L8).
    /// `INACTIVE_EFFECT` when the host's fiber no longer accepts effects or the instance was disposed
    /// before it was started.
    pub async fn mount(&self, plugin: Arc<dyn Plugin>) -> Result<PluginId, HostError> {
        // Unique in the process, so that an id of another host is unknown here instead of somebody else.
        static NEXT: AtomicU64 = AtomicU64::new(0);

        let name = startup::name(&*plugin);
        startup::check(&*plugin).map_err(|failure| HostError::rejected(&name, failure))?;
        let fiber = match startup::start(&self.core.fiber, Arc::clone(&plugin)).await {
            Ok(fiber) => fiber,
            Err(Unstarted {
                failure: Some(failure),
                ..
            }) => {
                return Err(HostError::start(&name, failure));
            }
            Err(Unstarted { failure: None, .. }) => return Err(HostError::inactive()),
        };
        let id = PluginId(NEXT.fetch_add(1, Ordering::Relaxed));
        let mount = Mount {
            instance: Mutex::new(Instance { plugin, fiber }),
            queue: Mutex::default(),
        };
        self.core.mounts.lock().insert(id, Arc::new(mount));
        Ok(id)
    }

    /// Puts another plugin in the place of a mounted one, or leaves everything as it was (L55).
    ///
    /// First `make` obtains the replacement and it is checked, while the old one works on. Then the old
    /// instance is undone and that is waited for. Then the new one is started; should that fail, the old
    /// one is started again.
    ///
    /// # Errors
    ///
    /// `PLUGIN_REJECTED`: the old instance was not touched. `PLUGIN_START_FAILED`: the old plugin runs
    /// again. `PLUGIN_ROLLBACK_FAILED`: it could not be started again either; the error has both
    /// failures, and the place stays, failed, for another replacement. Also `PLUGIN_UNKNOWN`,
    /// `PLUGIN_BUSY` and `INACTIVE_EFFECT`.
    pub async fn replace<F, Fut>(&self, id: PluginId, make: F) -> Result<(), HostError>
    where
        F: FnOnce() -> Fut + Send + 'static,
        Fut: Future<Output = Result<Arc<dyn Plugin>, PluginError>> + Send + 'static,
    {
        let mount = self.mounted(id)?;
        let host = self.core.fiber.clone();
        let work = replace(host, Arc::clone(&mount), Box::new(move || Box::pin(make())));
        mount.request(Box::pin(work))?.wait().await
    }

    /// Undoes a mounted plugin and starts the same one again (L14, L56).
    ///
    /// While one reload runs, any number of further requests cause exactly one more afterwards, whose
    /// outcome they all get (L57).
    ///
    /// # Errors
    ///
    /// `PLUGIN_REJECTED` when the check fails: the running instance was not touched.
    /// `PLUGIN_START_FAILED` when the start fails: the place stays, failed, for another reload or
    /// replacement (L9). Also `PLUGIN_UNKNOWN`, `PLUGIN_BUSY` and `INACTIVE_EFFECT`.
    pub async fn reload(&self, id: PluginId) -> Result<(), HostError> {
        let mount = self.mounted(id)?;
        let operation = mount.request_reload(&self.core.fiber)?;
        // Not across the wait: the place must not outlive its unmounting because of this.
        drop(mount);
        operation.wait().await
    }

    /// Undoes a mounted plugin, waits for that and forgets it.
    ///
    /// # Errors
    ///
    /// `PLUGIN_UNKNOWN` and `PLUGIN_BUSY`.
    pub async fn unmount(&self, id: PluginId) -> Result<(), HostError> {
        let mount = self.mounted(id)?;
        let work = unmount(Arc::clone(&self.core), id, Arc::clone(&mount));
        mount.request(Box::pin(work))?.wait().await
    }

    /// What the current instance of a plugin is doing; `None` when nothing is mounted under the id.
    #[must_use]
    pub fn state(&self, id: PluginId) -> Option<FiberState> {
        self.instance(id).map(|fiber| fiber.state())
    }

    /// The fiber of the current instance of a plugin.
    #[must_use]
    pub fn instance(&self, id: PluginId) -> Option<Fiber> {
        let mount = self.mounted(id).ok()?;
        let fiber = mount.instance.lock().fiber.clone();
        Some(fiber)
    }

    /// The mounted plugins, in order of mounting.
    #[must_use]
    pub fn mounted_ids(&self) -> Vec<PluginId> {
        let mut ids: Vec<_> = self.core.mounts.lock().keys().copied().collect();
        ids.sort_by_key(|id| id.0);
        ids
    }

    fn mounted(&self, id: PluginId) -> Result<Arc<Mount>, HostError> {
        self.core
            .mounts
            .lock()
            .get(&id)
            .cloned()
            .ok_or_else(HostError::unknown)
    }
}

impl fmt::Debug for PluginHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PluginHost")
            .field("fiber", &self.core.fiber)
            .field("mounted", &self.mounted_ids())
            .finish()
    }
}

impl Mount {
    /// Queues an operation behind all others on this plugin.
    fn request(
        self: &Arc<Self>,
        work: BoxFuture<'static, Outcome>,
    ) -> Result<Operation, HostError> {
        self.refuse_reentry()?;
        Ok(self.enqueue(&mut self.queue.lock(), work))
    }

    fn request_reload(self: &Arc<Self>, host: &Fiber) -> Result<Operation, HostError> {
        self.refuse_reentry()?;
        let work = Box::pin(reload(host.clone(), Arc::clone(self)));
        let mut queue = self.queue.lock();
        if let Some(operation) = queue.joinable.clone() {
            drop(queue);
            return Ok(operation);
        }
        let operation = self.enqueue(&mut queue, work);
        queue.joinable = Some(operation.clone());
        Ok(operation)
    }

    /// An operation that waits for one that waits for it would never begin.
    fn refuse_reentry(&self) -> Result<(), HostError> {
        if !self.queue.lock().operations.iter().any(reentry::is_inside) {
            return Ok(());
        }
        let plugin = Arc::clone(&self.instance.lock().plugin);
        Err(HostError::busy(&startup::name(&*plugin)))
    }

    fn enqueue(
        self: &Arc<Self>,
        queue: &mut Queue,
        work: BoxFuture<'static, Outcome>,
    ) -> Operation {
        let before = queue.operations.back().cloned();
        let outcome = Arc::new(OnceLock::new());
        let flight = Flight::new(
            Weak::new(),
            Box::pin(perform(
                Arc::clone(self),
                before,
                work,
                Arc::clone(&outcome),
            )),
        );
        queue.operations.push_back(Arc::clone(&flight));
        // What comes after another operation must not be done before it.
        queue.joinable = None;
        Operation { flight, outcome }
    }

    fn instance(&self) -> Instance {
        self.instance.lock().clone()
    }

    fn set(&self, plugin: Arc<dyn Plugin>, fiber: Fiber) {
        let old = std::mem::replace(&mut *self.instance.lock(), Instance { plugin, fiber });
        drop(old);
    }
}

async fn perform(
    mount: Arc<Mount>,
    before: Option<Arc<Flight>>,
    work: BoxFuture<'static, Outcome>,
    outcome: Arc<OnceLock<Outcome>>,
) {
    if let Some(before) = before {
        // Drives it, too, should those who asked for it have gone away.
        Join::new(before).await;
    }
    let (gone, begun) = {
        let mut queue = mount.queue.lock();
        let first = queue.operations.front();
        let begins = queue
            .joinable
            .as_ref()
            .zip(first)
            .is_some_and(|(joinable, first)| Arc::ptr_eq(&joinable.flight, first));
        (
            queue.gone,
            if begins { queue.joinable.take() } else { None },
        )
    };
    drop(begun);
    let done = if gone {
        Err(HostError::unknown())
    } else {
        work.await
    };
    let _ = outcome.set(done);
    let over = mount.queue.lock().operations.pop_front();
    drop(over);
}

type Make = Box<dyn FnOnce() -> BoxFuture<'static, Result<Arc<dyn Plugin>, PluginError>> + Send>;

async fn replace(host: Fiber, mount: Arc<Mount>, make: Make) -> Outcome {
    let old = mount.instance();
    let old_name = startup::name(&*old.plugin);
    let fresh = match contain_async(make).await {
        Ok(Ok(fresh)) => fresh,
        Ok(Err(failure)) => return Err(HostError::rejected(&old_name, failure)),
        Err(panicked) => return Err(HostError::rejected(&old_name, panicked.into())),
    };
    let name = startup::name(&*fresh);
    startup::check(&*fresh).map_err(|failure| HostError::rejected(&name, failure))?;
    if !host.is_active() {
        return Err(HostError::inactive());
    }
    old.fiber.dispose().await;
    let failed = match startup::start(&host, Arc::clone(&fresh)).await {
        Ok(fiber) => {
            mount.set(fresh, fiber);
            return Ok(());
        }
        Err(failed) => failed,
    };
    match startup::start(&host, Arc::clone(&old.plugin)).await {
        Ok(fiber) => {
            mount.set(old.plugin, fiber);
            Err(HostError::start(&name, failed.failure()))
        }
        Err(Unstarted { fiber: None, .. }) => Err(HostError::inactive()),
        Err(again) => {
            if let Some(fiber) = &again.fiber {
                mount.set(old.plugin, fiber.clone());
            }
            Err(HostError::rollback(
                &name,
                failed.failure(),
                again.failure(),
            ))
        }
    }
}

async fn reload(host: Fiber, mount: Arc<Mount>) -> Outcome {
    let Instance { plugin, fiber } = mount.instance();
    let name = startup::name(&*plugin);
    startup::check(&*plugin).map_err(|failure| HostError::rejected(&name, failure))?;
    if !host.is_active() {
        return Err(HostError::inactive());
    }
    fiber.dispose().await;
    match startup::start(&host, Arc::clone(&plugin)).await {
        Ok(fiber) => {
            mount.set(plugin, fiber);
            Ok(())
        }
        Err(Unstarted { fiber, failure }) => {
            if let Some(fiber) = fiber {
                mount.set(plugin, fiber);
            }
            Err(failure.map_or_else(HostError::inactive, |failure| {
                HostError::start(&name, failure)
            }))
        }
    }
}

async fn unmount(host: Arc<HostCore>, id: PluginId, mount: Arc<Mount>) -> Outcome {
    let fiber = mount.instance().fiber;
    fiber.dispose().await;
    mount.queue.lock().gone = true;
    let forgotten = host.mounts.lock().remove(&id);
    drop(forgotten);
    Ok(())
}
