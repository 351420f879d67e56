//! Where sockets and timers of runs belong.

use std::sync::OnceLock;

use tokio::runtime::{Builder, Handle, Runtime};

/// The tokio runtime of the task that polls a run, or else one of our own, started when first needed.
#[derive(Default)]
pub(super) struct Reactor {
    own: OnceLock<Option<Runtime>>,
}

impl Reactor {
    /// The one for a run that is polled here; `None` when there is none and none can be started.
    pub(super) fn handle(&self) -> Option<Handle> {
        if let Ok(current) = Handle::try_current() {
            return Some(current);
        }
        let own = self.own.get_or_init(|| {
            let mut builder = Builder::new_multi_thread();
            builder
                .worker_threads(1)
                .thread_name("code-reactor")
                .enable_io()
                .enable_time();
            builder.build().ok()
        });
        own.as_ref().map(|runtime| runtime.handle().clone())
    }
}

impl Drop for Reactor {
    fn drop(&mut self) {
        // An ordinary drop would block, which a task may not.
        if let Some(Some(own)) = self.own.take() {
            own.shutdown_background();
        }
    }
}
