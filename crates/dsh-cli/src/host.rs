//! The machine's own clock, randomness and sleep.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dsh_tools::{BoxFuture, Host};

/// The host of a process. Its clock starts with it and never goes back.
pub(crate) struct SystemHost {
    started: Instant,
    issued: AtomicU64,
}

impl SystemHost {
    /// A host whose clock is at zero now.
    pub(crate) fn start() -> Self {
        Self {
            started: Instant::now(),
            issued: AtomicU64::new(0),
        }
    }
}

impl Host for SystemHost {
    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn random(&self) -> u64 {
        // Seeded by the system for each state.
        RandomState::new().build_hasher().finish()
    }

    fn fresh_id(&self, kind: &str) -> String {
        format!("{kind}-{}", self.issued.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}
