//! Ctrl-C: the first one cancels, the second one ends the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dsh_tools::{Canceller, Reason, Signal};

/// A signal that Ctrl-C fires.
pub(crate) struct Interrupt {
    signal: Signal,
    fired: Arc<AtomicBool>,
}

impl Interrupt {
    /// Watches for Ctrl-C on the current tokio runtime.
    pub(crate) fn watch() -> Self {
        let (canceller, signal) = Signal::pair();
        let fired = Arc::new(AtomicBool::new(false));
        drop(tokio::spawn(listen(canceller, fired.clone())));
        Self { signal, fired }
    }

    pub(crate) fn signal(&self) -> &Signal {
        &self.signal
    }

    /// Whether Ctrl-C was pressed.
    pub(crate) fn was_pressed(&self) -> bool {
        self.fired.load(Ordering::Acquire)
    }
}

async fn listen(canceller: Canceller, fired: Arc<AtomicBool>) {
    if let Err(error) = tokio::signal::ctrl_c().await {
        tracing::warn!(%error, "cannot watch for Ctrl-C");
        return;
    }
    fired.store(true, Ordering::Release);
    canceller.cancel(Reason::Cancelled);
    if tokio::signal::ctrl_c().await.is_ok() {
        std::process::exit(130);
    }
}
