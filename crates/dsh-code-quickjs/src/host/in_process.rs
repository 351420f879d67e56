//! [`UnsandboxedInProcess`]: the worker on a thread of the host, without anything around it.

use std::fmt;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use dsh_code::{BoxFuture, CodeRuntime, Limits, Misuse, RunRequest, RunResult, Signal, validate};
use dsh_tools::{Canceller, Reason};
use tokio::sync::watch;

use super::Isolation;
use super::reactor::Reactor;
use super::serve::{self, Post, Station};
use crate::worker;

/// Bytes of a program's stack. Only what is used of it takes memory. The parser recurses in proportion to the nesting of a
/// program, and here an overflow would end the host.
const STACK: usize = 64 << 20;

/// A code runtime **without a sandbox**: each program in a QuickJS of its own, on a thread of this process.
///
/// For trusted programs and for tests: it needs no worker executable and no call of
/// [`worker_entry`](crate::worker_entry), and runs wherever the engine does. Programs behave as with
/// [`QuickJs`](crate::QuickJs), each in a fresh world, and results, logs, calls and budgets look the same. Reports carry one
/// sandbox layer, `process`, which is not active.
///
/// What it cannot do, and the process can:
///
/// - Contain anything. A bug in the engine or the parser that a program reaches is a bug in the host, with its memory and
///   its rights.
/// - Survive a crash. A program that overflows the parser's stack, or exhausts memory outside of the engine's heap, ends the
///   host.
/// - Kill. Budgets and cancellation interrupt the engine's code, not a built-in function at work (a sort, a pattern that
///   backtracks) or the removal of types. The run is over for its caller then at its wall clock or cancellation, while
///   the thread stays busy until that function returns, and [`dispose`](CodeRuntime::dispose) waits for it. Nothing the
///   program still does reaches the caller.
///
/// Memory is capped in the engine's heap only. An engine that was ever refused memory is swept but not torn down, since it may
/// have lost track of an object: what its globals still hold, half a megabyte or more, is lost to the process.
///
/// # Examples
///
/// ```
/// use dsh_code::{CodeRuntime, Limits, RunRequest};
/// use dsh_code_quickjs::UnsandboxedInProcess;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), dsh_code::Misuse> {
/// let runtime = UnsandboxedInProcess::new(Limits::default())?;
/// let result = runtime.run(RunRequest::new("return [1, 2].map((n: number) => n + 1)")).await?;
/// assert_eq!(result.value.map(|value| value.to_json()), Some("[2,3]".to_owned()));
/// # Ok(())
/// # }
/// ```
pub struct UnsandboxedInProcess {
    shared: Arc<Shared>,
}

struct Shared {
    limits: Limits,
    live: watch::Sender<usize>,
    disposed: Signal,
    disposer: Canceller,
    reactor: Reactor,
}

impl UnsandboxedInProcess {
    /// A runtime with the budgets of runs that bring none of their own.
    ///
    /// # Errors
    ///
    /// When a limit makes no sense.
    pub fn new(limits: Limits) -> Result<Self, Misuse> {
        limits.validate()?;
        let (disposer, disposed) = Signal::pair();
        let shared = Arc::new(Shared {
            limits,
            live: watch::Sender::new(0),
            disposed,
            disposer,
            reactor: Reactor::default(),
        });
        Ok(Self { shared })
    }

    /// How many threads there are: running, or interrupted and not at their end.
    #[must_use]
    pub fn threads(&self) -> usize {
        *self.shared.live.borrow()
    }
}

impl CodeRuntime for UnsandboxedInProcess {
    fn language(&self) -> &str {
        "typescript"
    }

    fn isolation(&self) -> &str {
        "in-process"
    }

    fn run(&self, request: RunRequest) -> BoxFuture<'static, Result<RunResult, Misuse>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let start = Instant::now();
            validate(&request.namespaces)?;
            let limits = request.limits.unwrap_or(shared.limits);
            limits.validate()?;
            if shared.disposed.is_cancelled() {
                return Err(Misuse::after_disposal());
            }
            let station = Station {
                reactor: shared.reactor.handle(),
                disposed: &shared.disposed,
                // A caller that wants a sandbox does not choose this runtime.
                isolation: Isolation::BestEffort,
            };
            let employ = || Thread::start(&shared.live, limits.memory_bytes);
            Ok(serve::run_on_thread(&station, request, limits, start, employ).await)
        })
    }

    fn dispose(&self) -> BoxFuture<'static, ()> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            shared.disposer.cancel(Reason::Other {
                message: "runtime disposed".into(),
            });
            let mut live = shared.live.subscribe();
            // An error would mean that the sender, which is borrowed here, is gone.
            let _ = live.wait_for(|live| *live == 0).await;
        })
    }
}

impl fmt::Debug for UnsandboxedInProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnsandboxedInProcess")
            .field("limits", &self.shared.limits)
            .field("threads", &self.threads())
            .finish()
    }
}

/// The thread of one run, known by its socket: the end of that is the end of the thread.
struct Thread {
    /// The host's end; the run takes it.
    socket: Option<UnixStream>,
    /// The same again, to hang up.
    line: UnixStream,
}

impl Thread {
    fn start(live: &watch::Sender<usize>, memory_bytes: u64) -> Result<Self, String> {
        let failed = |error| format!("cannot start the thread of a program: {error}");
        let (socket, theirs) = UnixStream::pair().map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        let line = socket.try_clone().map_err(failed)?;
        let alive = Alive::new(live.clone(), theirs.try_clone().map_err(failed)?);
        thread::Builder::new()
            .name("code-in-process".to_owned())
            .stack_size(STACK)
            .spawn(move || {
                let _alive = alive;
                worker::on_thread(theirs, memory_bytes);
            })
            .map_err(failed)?;
        Ok(Self {
            socket: Some(socket),
            line,
        })
    }
}

impl Post for Thread {
    fn socket(&mut self) -> Option<UnixStream> {
        self.socket.take()
    }

    fn process(&self) -> Option<u32> {
        None
    }

    fn kill(&mut self) {
        // What it sent before can still be read.
        let _ = self.line.shutdown(Shutdown::Both);
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Counts a thread for as long as it lives, and hangs up for it, however it ends.
struct Alive {
    live: watch::Sender<usize>,
    line: UnixStream,
}

impl Alive {
    fn new(live: watch::Sender<usize>, line: UnixStream) -> Self {
        live.send_modify(|live| *live += 1);
        Self { live, line }
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        let _ = self.line.shutdown(Shutdown::Both);
        self.live.send_modify(|live| *live -= 1);
    }
}
