//! Workers started ahead, and the thread that starts and reaps them.
//!
//! Starting a process blocks for a millisecond and reaping one may, so neither happens on a task. The thread also has to
//! outlive its children: the kernel's parent-death signal, which workers ask for, is bound to the thread that forked.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use dsh_code::{Limits, Signal};
use dsh_tools::{Canceller, Reason};
use parking_lot::Mutex;
use rustix::process::{Pid, Signal as Kill, kill_process_group};
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};

use super::reactor::Reactor;
use super::serve::Post;
use super::{Config, Executable};
use crate::start::{MARKER, Terms};

/// Between two looks at processes that were killed and have not ended.
const REAP_EVERY: Duration = Duration::from_millis(1);

/// For a process that closed its socket to end by itself, so that its own exit code is seen.
const OWN_END: Duration = Duration::from_millis(200);

/// A started process. It may not have said hello yet.
pub(super) struct Process {
    child: Child,
    /// The host's end of the socket; non-blocking. The run takes it.
    socket: Option<UnixStream>,
    stderr: Option<ChildStderr>,
    terms: Terms,
}

/// A process on loan to a run. Dropping it kills the process and has it reaped.
pub(super) struct Worker {
    process: Option<Process>,
    pool: Arc<Pool>,
    /// Whether it was started ahead.
    pub(super) was_idle: bool,
}

/// How a process ended by itself.
#[derive(Debug, Default)]
pub(super) struct Death {
    pub(super) status: Option<ExitStatus>,
    /// The beginning of what it wrote to its error output.
    pub(super) last_words: String,
}

impl Death {
    /// The signal by which it ended.
    pub(super) fn signal(&self) -> Option<i32> {
        self.status.and_then(|status| status.signal())
    }
}

enum Errand {
    /// Start processes until enough are idle.
    Refill,
    /// Start one for a run that waits.
    Start(Terms, oneshot::Sender<Result<Worker, String>>),
    /// Wait for the end of a process that was killed.
    Reap(Child),
    /// Wait for the end of a process that closed its socket, and kill it when it does not come soon.
    Await(Process, oneshot::Sender<Death>),
    /// End what is idle, and tell.
    Retire(Option<oneshot::Sender<()>>),
}

/// The pool of one runtime.
pub(super) struct Pool {
    config: Config,
    idle: Mutex<Vec<Process>>,
    errands: Sender<Errand>,
    live: watch::Sender<usize>,
    retired: AtomicBool,
    disposed: Signal,
    disposer: Canceller,
    reactor: Reactor,
}

impl Pool {
    pub(super) fn start(config: Config) -> io::Result<Arc<Self>> {
        let (errands, inbox) = channel();
        let (disposer, disposed) = Signal::pair();
        let pool = Arc::new(Self {
            config,
            idle: Mutex::default(),
            errands,
            live: watch::Sender::new(0),
            retired: AtomicBool::new(false),
            disposed,
            disposer,
            reactor: Reactor::default(),
        });
        let attendant = Attendant {
            // Weak, so that a dropped runtime ends the thread.
            pool: Arc::downgrade(&pool),
            live: pool.live.clone(),
            leaving: Vec::new(),
        };
        thread::Builder::new()
            .name("code-workers".to_owned())
            .spawn(move || attendant.attend(&inbox))?;
        pool.send(Errand::Refill);
        Ok(pool)
    }

    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    /// Fires when the runtime is disposed.
    pub(super) fn disposed(&self) -> &Signal {
        &self.disposed
    }

    pub(super) fn live(&self) -> usize {
        *self.live.borrow()
    }

    /// The thread lives as long as the pool, so an errand always has a taker.
    fn send(&self, errand: Errand) {
        let _ = self.errands.send(errand);
    }

    /// A worker whose terms leave room for `limits`: an idle one, or else one that is started now.
    pub(super) async fn take(self: &Arc<Self>, limits: &Limits) -> Result<Worker, String> {
        let (idle, left) = loop {
            let (mut process, left) = {
                let mut idle = self.idle.lock();
                let fit = idle.iter().rposition(|process| process.terms.cover(limits));
                match fit.map(|at| idle.remove(at)) {
                    Some(process) => (process, idle.len()),
                    None => break (None, 0),
                }
            };
            // Something else may have ended it while it waited: a lack of memory, a person.
            match process.child.try_wait() {
                Ok(None) => break (Some(process), left),
                _ => self.send(Errand::Reap(process.child)),
            }
        };
        let Some(process) = idle else {
            let (sender, started) = oneshot::channel();
            self.send(Errand::Start(Terms::of(limits), sender));
            let ended = || Err("the worker pool has ended".to_owned());
            return started.await.unwrap_or_else(|_| ended());
        };
        // Otherwise the end of this run refills: a process that starts now competes with it.
        if left == 0 {
            self.send(Errand::Refill);
        }
        Ok(Worker {
            process: Some(process),
            pool: Arc::clone(self),
            was_idle: true,
        })
    }

    /// Fails what runs, and waits until every process is gone (C187).
    pub(super) async fn dispose(&self) {
        self.disposer.cancel(Reason::Other {
            message: "runtime disposed".into(),
        });
        let (sender, retired) = oneshot::channel();
        self.retire_and_tell(Some(sender));
        // From then on nothing is started any more, so that a count of zero stays one.
        let _ = retired.await;
        let mut live = self.live.subscribe();
        // An error would mean that the pool, which is borrowed here, is gone.
        let _ = live.wait_for(|live| *live == 0).await;
    }

    /// Ends idle processes, and starts none ahead from now on.
    pub(super) fn retire(&self) {
        self.retire_and_tell(None);
    }

    fn retire_and_tell(&self, sender: Option<oneshot::Sender<()>>) {
        self.retired.store(true, Ordering::Relaxed);
        self.send(Errand::Retire(sender));
    }

    /// Where sockets and timers of a run that is polled here belong.
    pub(super) fn reactor(&self) -> Option<Handle> {
        self.reactor.handle()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        for process in std::mem::take(self.idle.get_mut()) {
            self.send(Errand::Reap(killed(process)));
        }
    }
}

impl Post for Worker {
    fn socket(&mut self) -> Option<UnixStream> {
        self.process.as_mut()?.socket.take()
    }

    fn process(&self) -> Option<u32> {
        self.process.as_ref().map(|process| process.child.id())
    }

    /// Ends the process at once; it is reaped in the background.
    fn kill(&mut self) {
        if let Some(process) = self.process.take() {
            self.pool.send(Errand::Reap(killed(process)));
            self.pool.send(Errand::Refill);
        }
    }
}

impl Worker {
    /// Waits for the end of a process that closed its socket.
    pub(super) async fn autopsy(mut self) -> Death {
        let Some(process) = self.process.take() else {
            return Death::default();
        };
        let (sender, death) = oneshot::channel();
        self.pool.send(Errand::Await(process, sender));
        self.pool.send(Errand::Refill);
        death.await.unwrap_or_default()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Kills a process and its group.
fn killed(mut process: Process) -> Child {
    kill(&mut process.child);
    process.child
}

fn kill(child: &mut Child) {
    // Not after the process was waited for: its number could be another's by then.
    if let Ok(None) = child.try_wait() {
        if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Kill::KILL);
        }
        let _ = child.kill();
    }
}

fn last_words(mut stderr: ChildStderr) -> String {
    use std::io::Read as _;
    let mut bytes = vec![0; 4096];
    let read = stderr.read(&mut bytes).unwrap_or_default();
    bytes.truncate(read);
    String::from_utf8_lossy(&bytes).trim().to_owned()
}

/// The state of the pool's thread.
struct Attendant {
    pool: std::sync::Weak<Pool>,
    live: watch::Sender<usize>,
    leaving: Vec<Leaving>,
}

/// A process that is on its way out.
struct Leaving {
    child: Child,
    /// Who wants to know, and until when the process may end by itself.
    witness: Option<(oneshot::Sender<Death>, Option<ChildStderr>, Instant)>,
}

impl Attendant {
    fn attend(mut self, inbox: &Receiver<Errand>) {
        loop {
            let errand = if self.leaving.is_empty() {
                inbox.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                inbox.recv_timeout(REAP_EVERY)
            };
            match errand {
                Ok(Errand::Refill) => self.refill(),
                Ok(Errand::Start(terms, sender)) => {
                    let pool = self
                        .pool
                        .upgrade()
                        .filter(|pool| !pool.disposed.is_cancelled());
                    let started = match pool {
                        Some(pool) => {
                            self.start(&pool.config.executable, terms)
                                .map(|process| Worker {
                                    process: Some(process),
                                    pool,
                                    was_idle: false,
                                })
                        }
                        None => Err("the runtime is gone".to_owned()),
                    };
                    // A run that does not wait any more drops what it is sent, and a worker that is dropped comes back
                    // here.
                    let _ = sender.send(started);
                }
                Ok(Errand::Reap(child)) => self.leave(child),
                Ok(Errand::Await(mut process, sender)) => {
                    let stderr = process.stderr.take();
                    self.leaving.push(Leaving {
                        child: process.child,
                        witness: Some((sender, stderr, Instant::now() + OWN_END)),
                    });
                }
                Ok(Errand::Retire(sender)) => {
                    let idle = self
                        .pool
                        .upgrade()
                        .map(|pool| std::mem::take(&mut *pool.idle.lock()));
                    for process in idle.unwrap_or_default() {
                        self.leave(killed(process));
                    }
                    if let Some(sender) = sender {
                        let _ = sender.send(());
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) if self.leaving.is_empty() => return,
                // Nothing more can come; what is left has been killed and only needs to be waited for.
                Err(RecvTimeoutError::Disconnected) => thread::sleep(REAP_EVERY),
            }
            self.reap();
        }
    }

    fn refill(&mut self) {
        while let Some(pool) = self.pool.upgrade() {
            let is_full = pool.idle.lock().len() >= pool.config.ready;
            if is_full || pool.retired.load(Ordering::Relaxed) {
                return;
            }
            // A process that cannot be started is told to the run that needs one.
            let Ok(process) = self.start(&pool.config.executable, Terms::of(&pool.config.limits))
            else {
                return;
            };
            pool.idle.lock().push(process);
        }
    }

    fn start(&mut self, executable: &Executable, terms: Terms) -> Result<Process, String> {
        let path = match executable {
            // Stays the same program when the file is replaced, as an update does.
            Executable::Current if cfg!(target_os = "linux") => {
                Path::new("/proc/self/exe").to_owned()
            }
            Executable::Current => std::env::current_exe()
                .map_err(|error| format!("cannot find this program: {error}"))?,
            Executable::Path(path) => path.clone(),
        };
        let failed = |error: io::Error| {
            format!(
                "cannot start a code worker from `{}`: {error}",
                path.display()
            )
        };
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        ours.set_nonblocking(true).map_err(failed)?;
        // No closure before the start of the program: with one, the standard library would have to fork this process.
        let mut child = Command::new(&path)
            .arg(MARKER)
            .arg(terms.to_argument())
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        self.live.send_modify(|live| *live += 1);
        Ok(Process {
            stderr: child.stderr.take(),
            child,
            socket: Some(ours),
            terms,
        })
    }

    fn leave(&mut self, child: Child) {
        self.leaving.push(Leaving {
            child,
            witness: None,
        });
    }

    fn reap(&mut self) {
        let mut index = 0;
        while let Some(leaving) = self.leaving.get_mut(index) {
            let status = match leaving.child.try_wait() {
                Ok(None) => {
                    if leaving
                        .witness
                        .as_ref()
                        .is_some_and(|(_, _, until)| *until <= Instant::now())
                    {
                        kill(&mut leaving.child);
                    }
                    index += 1;
                    continue;
                }
                Ok(status) => status,
                Err(_) => None,
            };
            let leaving = self.leaving.swap_remove(index);
            self.live.send_modify(|live| *live = live.saturating_sub(1));
            if let Some((sender, stderr, _)) = leaving.witness {
                // The process is gone, so reading does not wait.
                let last_words = stderr.map(last_words).unwrap_or_default();
                let _ = sender.send(Death { status, last_words });
            }
        }
    }
}
