//! The host's half: [`QuickJs`], its pool of workers, and the service of one run. [`UnsandboxedInProcess`] shares the service
//! and has a thread where the pool has a process.
//!
//! A run's frames are served on the task that polls the run: its socket, its timers, the futures of its calls and its
//! cancellation meet in one poll function, and nothing is handed to another thread on the way (the round trip of a call
//! is what a program spends most of its time in). Only starting and reaping processes happens elsewhere, on one thread of
//! the pool.
//!
//! The socket and the timers are tokio's. On a task of a tokio runtime they are that runtime's, which must have both
//! enabled; on any other executor they belong to a small runtime of our own, started when first needed.

#[cfg(test)]
mod forged;
mod in_process;
mod pool;
mod processor;
mod reactor;
mod serve;
mod socket;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use dsh_code::{
    BoxFuture, CodeRuntime, Limits, Misuse, RunRequest, RunResult, SandboxLayer, validate,
};

pub use in_process::UnsandboxedInProcess;
use pool::Pool;

/// Set once this process has called [`worker_entry`](crate::worker_entry).
static ENTRY_CALLED: AtomicBool = AtomicBool::new(false);

pub(crate) fn entry_was_called() {
    ENTRY_CALLED.store(true, Ordering::Relaxed);
}

/// The program that workers run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Executable {
    /// This program, whose `main` begins with [`worker_entry`](crate::worker_entry).
    #[default]
    Current,
    /// Another one, usually `dsh-code-worker`.
    Path(PathBuf),
}

/// What happens when a layer of the sandbox is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// No program runs.
    Required,
    /// Programs run; each report names the layers that hold.
    BestEffort,
}

impl Default for Isolation {
    /// Required where the layers exist, which is on Linux.
    fn default() -> Self {
        if cfg!(target_os = "linux") {
            Self::Required
        } else {
            Self::BestEffort
        }
    }
}

/// The configuration of a [`QuickJs`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// What workers run.
    pub executable: Executable,
    /// Budgets of runs that bring none of their own.
    pub limits: Limits,
    /// Whether a program may run without a complete sandbox.
    pub isolation: Isolation,
    /// Workers that are kept started ahead, each with an engine of 0.6 MB of private memory.
    pub ready: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            executable: Executable::default(),
            limits: Limits::default(),
            isolation: Isolation::default(),
            ready: 2,
        }
    }
}

/// A code runtime for TypeScript: each program in a QuickJS of its own, in a process of its own, in a sandbox.
///
/// Dropping the runtime ends its idle workers; runs in progress keep theirs until they are done.
///
/// # Examples
///
/// ```no_run
/// use dsh_code::{CodeRuntime, RunRequest};
/// use dsh_code_quickjs::{Config, QuickJs};
///
/// # async fn example() -> Result<(), dsh_code::Misuse> {
/// // At the very start of `main`:
/// dsh_code_quickjs::worker_entry();
///
/// let runtime = QuickJs::new(Config::default())?;
/// let result = runtime.run(RunRequest::new("return [1, 2].map((n: number) => n + 1)")).await?;
/// assert_eq!(result.value.map(|value| value.to_json()), Some("[2,3]".to_owned()));
/// # Ok(())
/// # }
/// ```
pub struct QuickJs {
    pool: Arc<Pool>,
}

impl QuickJs {
    /// A runtime; its first workers are started in the background.
    ///
    /// # Errors
    ///
    /// When a limit makes no sense, when [`Executable::Current`] is asked for and this process never called
    /// [`worker_entry`](crate::worker_entry) (its `main` would be run again), or when no thread can be started.
    pub fn new(config: Config) -> Result<Self, Misuse> {
        config.limits.validate()?;
        if config.executable == Executable::Current && !ENTRY_CALLED.load(Ordering::Relaxed) {
            return Err(Misuse::new(
                "this program cannot be its own code worker: call `dsh_code_quickjs::worker_entry()` first in `main`, \
                 or configure the path of `dsh-code-worker`",
            ));
        }
        let pool = Pool::start(config).map_err(|error| {
            Misuse::new(format!(
                "cannot start the thread of the worker pool: {error}"
            ))
        })?;
        Ok(Self { pool })
    }

    /// The layers of the sandbox as a worker reports them, and whether each holds. For `doctor`.
    ///
    /// # Errors
    ///
    /// When no worker can be started, with the reason.
    pub async fn layers(&self) -> Result<Vec<SandboxLayer>, String> {
        let worker = self.pool.take(&self.pool.config().limits).await?;
        serve::layers(worker, self.pool.reactor()).await
    }

    /// How many worker processes there are: idle, running, or not yet reaped.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.pool.live()
    }
}

impl CodeRuntime for QuickJs {
    fn language(&self) -> &str {
        "typescript"
    }

    fn isolation(&self) -> &str {
        "process"
    }

    fn run(&self, request: RunRequest) -> BoxFuture<'static, Result<RunResult, Misuse>> {
        let pool = Arc::clone(&self.pool);
        Box::pin(async move {
            let start = Instant::now();
            validate(&request.namespaces)?;
            let limits = request.limits.unwrap_or(pool.config().limits);
            limits.validate()?;
            if pool.disposed().is_cancelled() {
                return Err(Misuse::after_disposal());
            }
            Ok(serve::run(&pool, request, limits, start).await)
        })
    }

    fn dispose(&self) -> BoxFuture<'static, ()> {
        let pool = Arc::clone(&self.pool);
        Box::pin(async move { pool.dispose().await })
    }
}

impl Drop for QuickJs {
    fn drop(&mut self) {
        self.pool.retire();
    }
}

impl fmt::Debug for QuickJs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QuickJs")
            .field("config", self.pool.config())
            .field("workers", &self.workers())
            .finish()
    }
}
