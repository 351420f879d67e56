//! Bringing one instance of a plugin to life.

use std::{
    borrow::Cow,
    future::poll_fn,
    sync::{Arc, OnceLock},
    task::Poll,
};

use crate::{
    containment::{BoxFuture, Panicked, contain, contain_async},
    fiber::{Fiber, FiberState},
    flight::Join,
    inactive::InactiveEffect,
    plugin::{Plugin, PluginError},
};

/// A start that did not lead to a running instance.
pub(crate) struct Unstarted {
    /// The instance's fiber, which is over, if it came to having one.
    pub(crate) fiber: Option<Fiber>,
    /// `None` when the instance was disposed while it was starting.
    pub(crate) failure: Option<PluginError>,
}

impl Unstarted {
    /// The failure for reports.
    pub(crate) fn failure(self) -> PluginError {
        self.failure.unwrap_or_else(|| InactiveEffect.into())
    }
}

/// Starts a plugin on a fresh child of `owner`; whatever goes wrong, everything it registered is undone
/// before this returns (L8).
pub(crate) async fn start(owner: &Fiber, plugin: Arc<dyn Plugin>) -> Result<Fiber, Unstarted> {
    let name: Arc<str> = name(&*plugin);
    let Ok(fiber) = owner.child_in_state(Arc::clone(&name), FiberState::Loading) else {
        return Err(Unstarted {
            fiber: None,
            failure: None,
        });
    };
    let abandoned = Abandoned(Some(fiber.clone()));
    let outcome = Arc::new(OnceLock::new());
    let work = run(fiber.clone(), plugin, Arc::clone(&outcome));
    // As a part of the fiber's life: a disposal drives it to its end and waits for it.
    if let Ok(flight) = fiber.core().fly(Cow::Borrowed("start"), Box::pin(work)) {
        Join::new(flight).await;
    }
    let failure = match outcome.get() {
        Some(Ok(())) if fiber.activate() => {
            abandoned.settle();
            return Ok(fiber);
        }
        Some(Err(failure)) => Some(failure.clone()),
        Some(Ok(())) | None => None,
    };
    if let Some(failure) = &failure {
        tracing::error!(plugin = &*name, error = %failure, "a plugin failed to start");
        fiber.fail().await;
    } else {
        fiber.dispose().await;
    }
    abandoned.settle();
    Err(Unstarted {
        fiber: Some(fiber),
        failure,
    })
}

/// The name of a plugin; foreign code like everything of it.
pub(crate) fn name(plugin: &dyn Plugin) -> Arc<str> {
    contain(|| Arc::from(plugin.name())).unwrap_or_else(|_| Arc::from("plugin without a name"))
}

pub(crate) fn check(plugin: &dyn Plugin) -> Result<(), PluginError> {
    contain(|| plugin.check()).unwrap_or_else(|panicked| Err(panicked.into()))
}

async fn run(
    fiber: Fiber,
    plugin: Arc<dyn Plugin>,
    outcome: Arc<OnceLock<Result<(), PluginError>>>,
) {
    let instance = fiber.clone();
    let mut starting: BoxFuture<'static, _> =
        Box::pin(async move { contain_async(|| plugin.start(&instance)).await });
    let ended = poll_fn(|cx| {
        // Before the first instruction too (L10).
        if !fiber.is_active() {
            return Poll::Ready(None);
        }
        starting.as_mut().poll(cx).map(Some)
    })
    .await;
    let _ = contain(move || drop(starting));
    if let Some(ended) = ended {
        let _ = outcome.set(ended.unwrap_or_else(|panicked| Err(panicked.into())));
    }
}

impl From<Panicked> for PluginError {
    fn from(panicked: Panicked) -> Self {
        Self::new(format!("panicked: {panicked}"))
    }
}

/// Ends an instance that nobody will ever hear of, because the mounting was dropped half way.
struct Abandoned(Option<Fiber>);

impl Abandoned {
    fn settle(mut self) {
        self.0 = None;
    }
}

impl Drop for Abandoned {
    fn drop(&mut self) {
        if let Some(fiber) = self.0.take() {
            // Marks it; the owner's disposal does the rest.
            drop(fiber.dispose());
        }
    }
}
