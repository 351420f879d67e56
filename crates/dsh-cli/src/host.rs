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
        // Keys from the system for each thread, and others for each state made from them.
        RandomState::new().build_hasher().finish()
    }

    fn fresh_id(&self, kind: &str) -> String {
        format!("{kind}-{}", self.issued.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn time_passes_and_nothing_comes_twice() {
        let host = SystemHost::start();
        let before = host.now_ms();
        host.sleep(Duration::from_millis(2)).await;
        assert!(host.now_ms() > before);
        assert_eq!(
            (0..100)
                .map(|_| host.random())
                .collect::<HashSet<_>>()
                .len(),
            100
        );
        assert_eq!(
            (host.fresh_id("run"), host.fresh_id("run")),
            ("run-1".into(), "run-2".into())
        );
    }
}
