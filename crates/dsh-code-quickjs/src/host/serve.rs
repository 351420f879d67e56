//! One run: from its request to its result.

use std::future::{Future, poll_fn};
use std::ops::Range;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use dsh_code::ledger::{Ledger, Output};
use dsh_code::{
    BoxFuture, ErrorKind, Limit, Limits, LogSink, Namespace, Phase, RunError, RunReport,
    RunRequest, RunResult, SandboxLayer, Signal,
};
use dsh_schema::Document;
use futures_util::future::{Either, select};
use futures_util::stream::{FuturesUnordered, Stream as _};
use rustix::process::Signal as Signals;
use tokio::runtime::Handle;
use tokio::time::{Sleep, sleep_until};

use super::pool::{Death, Pool, Worker};
use super::socket::Socket;
use super::{Isolation, processor};
use crate::frame::{Declared, Failure, Order, Report, Strays};

/// For a process to say hello. A worker needs some milliseconds.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Processor time beyond the budget after which the host ends a worker that did not end itself (C256). It covers the
/// start of the process and the grain of the system's clock.
const GRACE: Duration = Duration::from_millis(100);

/// The shortest time between two looks at a worker's processor time.
const SAMPLE: Duration = Duration::from_millis(25);

/// Calls in progress beyond which no frame is read, so that a flood stays in the worker (C262).
const MAX_IN_FLIGHT: usize = 4096;

/// Bytes of answers that the worker has not taken, beyond which no frame is read.
const MAX_BACKLOG: usize = 8 << 20;

/// Reads in one poll before other tasks get their turn.
const READS_PER_POLL: u32 = 64;

/// How long to look for a worker's next frame before the task is parked: about as long as waking it takes. A program that
/// awaits one quick call after the other answers well within.
const SPIN: Duration = Duration::from_micros(20);

/// Frame bytes beside the value in it.
const FRAME_OVERHEAD: u64 = 1 << 20;

const LOSSY_ARGUMENT: &str = "binding arguments must be lossless JSON";
const LOSSY_COMPLETION: &str = "program completion must be lossless JSON";

/// A worker, as a run deals with it.
pub(super) trait Post {
    /// The host's end of its socket, not blocking. The run makes it its own.
    fn socket(&mut self) -> Option<UnixStream>;

    /// The process that it is, whose processor time can be looked at from outside.
    fn process(&self) -> Option<u32>;

    /// Ends it. From here on it answers nobody.
    fn kill(&mut self);
}

/// What a run needs of the runtime it belongs to.
pub(super) struct Station<'p> {
    pub(super) reactor: Option<Handle>,
    pub(super) disposed: &'p Signal,
    pub(super) isolation: Isolation,
}

/// Runs a program whose request was found valid, on a thread that `employ` starts.
pub(super) async fn run_on_thread<P: Post>(
    station: &Station<'_>,
    request: RunRequest,
    limits: Limits,
    start: Instant,
    employ: impl FnOnce() -> Result<P, String>,
) -> RunResult {
    let mut outcome = match Outcome::admit(&request, limits, start) {
        Ok(outcome) => outcome,
        Err(refused) => return *refused,
    };
    let mut thread = match employ() {
        Ok(thread) => thread,
        Err(message) => return outcome.fail(ErrorKind::WorkerExit, message, None),
    };
    outcome.report.timings.spawn_us = micros(start.elapsed());
    match attend(station, &request, limits, &mut outcome, &mut thread).await {
        Ending::Gone => {
            let message = "the thread of the program ended before completing";
            outcome.fail(ErrorKind::WorkerExit, message, None)
        }
        ending => outcome.end(ending, &limits),
    }
}

/// Runs a program whose request was found valid, in a process of the pool.
pub(super) async fn run(
    pool: &Arc<Pool>,
    request: RunRequest,
    limits: Limits,
    start: Instant,
) -> RunResult {
    let mut outcome = match Outcome::admit(&request, limits, start) {
        Ok(outcome) => outcome,
        Err(refused) => return *refused,
    };
    let station = Station {
        reactor: pool.reactor(),
        disposed: pool.disposed(),
        isolation: pool.config().isolation,
    };
    let mut may_try_again = true;
    loop {
        let taken = {
            let take = pin!(pool.take(&limits));
            let stop = pin!(stopped(&request.signal, pool.disposed()));
            match select(take, stop).await {
                Either::Left((taken, _)) => taken,
                Either::Right((reason, _)) => {
                    return outcome.fail(ErrorKind::Abort, reason, None);
                }
            }
        };
        let mut worker = match taken {
            Ok(worker) => worker,
            Err(message) => return outcome.fail(ErrorKind::WorkerExit, message, None),
        };
        outcome.report.timings.spawn_us = micros(start.elapsed());
        match attend(&station, &request, limits, &mut outcome, &mut worker).await {
            Ending::Gone => {
                let was_idle = worker.was_idle;
                let death = worker.autopsy().await;
                // One that was started ahead may have met its end while it waited. Nothing ran before the program started,
                // and no parser ends by this signal.
                let is_innocent = match outcome.report.phase {
                    Phase::NotStarted => true,
                    Phase::Stripping => death.signal() == Some(Signals::KILL.as_raw()),
                    Phase::Running | Phase::Finished => false,
                };
                if was_idle && is_innocent && std::mem::take(&mut may_try_again) {
                    outcome.report = RunReport::default();
                    continue;
                }
                return outcome.died(&death, &limits);
            }
            ending => return outcome.end(ending, &limits),
        }
    }
}

/// Serves a worker until the run ends. Unless the worker went by itself, it has been killed then.
async fn attend(
    station: &Station<'_>,
    request: &RunRequest,
    limits: Limits,
    outcome: &mut Outcome,
    worker: &mut impl Post,
) -> Ending {
    let start = outcome.start;
    let wall = start.checked_add(Duration::from_millis(limits.wall_ms));
    let first = wall.map_or(start + HANDSHAKE, |wall| wall.min(start + HANDSHAKE));
    let max_frame = limits
        .memory_bytes
        .saturating_add(FRAME_OVERHEAD)
        .min(u32::MAX.into());
    let max_frame = usize::try_from(max_frame).unwrap_or(usize::MAX);
    let parts = match (worker.socket(), &station.reactor) {
        (Some(plain), Some(reactor)) => {
            Socket::new(plain, reactor, max_frame).map(|socket| (socket, timer(reactor, first)))
        }
        _ => Err(std::io::Error::other("no reactor")),
    };
    let (socket, timer) = match parts {
        Ok(parts) => parts,
        Err(error) => return Ending::Unfit(format!("cannot reach the code worker: {error}")),
    };
    let mut service = Service {
        socket,
        process: worker.process(),
        program: &request.program,
        namespaces: &request.namespaces,
        sink: request.log_sink.as_ref(),
        limits,
        isolation: station.isolation,
        outcome,
        calls: FuturesUnordered::new(),
        last_call: 0,
        timer,
        wall,
        processor: None,
        is_deaf: false,
        is_drained: false,
    };
    let ending = {
        let mut stop = pin!(stopped(&request.signal, station.disposed));
        poll_fn(|cx| match stop.as_mut().poll(cx) {
            Poll::Ready(reason) => Poll::Ready(Ending::Abort(reason)),
            Poll::Pending => service.poll(cx),
        })
        .await
    };
    // Whatever it was: from here on the process does not run any more, and is reaped in the background.
    if !matches!(ending, Ending::Gone) {
        worker.kill();
    }
    if ending.is_abrupt() {
        service.collect_logs();
    }
    ending
}

/// Waits for a worker's hello and returns its layers.
pub(super) async fn layers(
    mut worker: Worker,
    reactor: Option<Handle>,
) -> Result<Vec<SandboxLayer>, String> {
    let lost = || "cannot reach the code worker".to_owned();
    let (plain, reactor) = worker.socket().zip(reactor).ok_or_else(lost)?;
    let mut socket = Socket::new(plain, &reactor, 1 << 20).map_err(|error| error.to_string())?;
    let mut timer = timer(&reactor, Instant::now() + HANDSHAKE);
    let hello = poll_fn(|cx| {
        loop {
            if let Ok(Some(place)) = socket.inbox.next() {
                return Poll::Ready(match Report::read(socket.inbox.get(place)) {
                    Some(Report::Hello { layers }) => Some(layers),
                    _ => None,
                });
            }
            if timer.as_mut().poll(cx).is_ready() {
                return Poll::Ready(None);
            }
            match std::task::ready!(socket.poll_read(cx)) {
                Ok(read) if read > 0 => {}
                _ => return Poll::Ready(None),
            }
        }
    })
    .await;
    match hello {
        Some(layers) => Ok(layers),
        None => Err(no_hello(&worker.autopsy().await)),
    }
}

/// The text of the reason for which a run has to stop.
async fn stopped(signal: &Signal, disposed: &Signal) -> String {
    let (cancelled, disposed) = (pin!(signal.cancelled()), pin!(disposed.cancelled()));
    select(cancelled, disposed)
        .await
        .factor_first()
        .0
        .to_string()
}

fn timer(reactor: &Handle, at: Instant) -> Pin<Box<Sleep>> {
    let _entered = reactor.enter();
    Box::pin(sleep_until(at.into()))
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// How a run ended, as far as it is known when it does.
enum Ending {
    Done(Option<Document>, Strays),
    Failed(RunError, Strays),
    OutputLimit(Strays),
    Exhausted(Duration, Strays),
    OutOfMemory(Strays),
    Wall,
    Abort(String),
    /// The worker closed its socket.
    Gone,
    /// The worker broke the protocol, or must not be used.
    Unfit(String),
}

impl Ending {
    /// Whether frames of the worker may still wait to be read.
    fn is_abrupt(&self) -> bool {
        matches!(self, Self::Exhausted(..) | Self::Wall | Self::Abort(_))
    }
}

/// What a run has so far.
struct Outcome {
    ledger: Ledger,
    report: RunReport,
    start: Instant,
}

impl Outcome {
    /// The outcome of a run that may begin.
    ///
    /// # Errors
    ///
    /// The result of one that may not.
    fn admit(request: &RunRequest, limits: Limits, start: Instant) -> Result<Self, Box<RunResult>> {
        let outcome = Self {
            ledger: Ledger::new(limits.output_bytes),
            report: RunReport::default(),
            start,
        };
        if let Some(reason) = request.signal.reason() {
            return Err(Box::new(outcome.fail(
                ErrorKind::Abort,
                reason.to_string(),
                None,
            )));
        }
        let length = request.program.len() as u64;
        if length > limits.source_bytes {
            let message = format!(
                "the program has {length} bytes, more than the {} of `maxSourceBytes`; make it shorter",
                limits.source_bytes
            );
            let refused = outcome.fail(ErrorKind::Exception, message, Some(Limit::Source));
            return Err(Box::new(refused));
        }
        Ok(outcome)
    }

    fn fail(self, kind: ErrorKind, message: impl Into<String>, limit: Option<Limit>) -> RunResult {
        let output = self.ledger.fail(RunError::new(kind, message));
        finish(output, self.report, limit, self.start)
    }

    fn end(mut self, ending: Ending, limits: &Limits) -> RunResult {
        let started = self.report.phase >= Phase::Running;
        let mut note = |strays: Strays| {
            self.report.unawaited = strays.unawaited;
            self.report.rejections = strays.rejections;
            self.report.timings.busy_us = self.report.timings.busy_us.max(strays.busy_us);
        };
        match ending {
            Ending::Done(value, strays) => {
                note(strays);
                self.report.phase = Phase::Finished;
                finish(self.ledger.complete(value), self.report, None, self.start)
            }
            Ending::Failed(error, strays) => {
                note(strays);
                self.report.phase = if started {
                    Phase::Finished
                } else {
                    Phase::Stripping
                };
                finish(self.ledger.fail(error), self.report, None, self.start)
            }
            Ending::OutputLimit(strays) => {
                note(strays);
                finish(
                    self.ledger.output_limit(),
                    self.report,
                    Some(Limit::Output),
                    self.start,
                )
            }
            Ending::Exhausted(busy, strays) => {
                note(strays);
                self.report.timings.busy_us = micros(busy);
                let message = format!("compute budget exhausted ({}ms busy)", busy.as_millis());
                self.fail(ErrorKind::Timeout, message, Some(Limit::Compute))
            }
            Ending::OutOfMemory(strays) => {
                note(strays);
                self.fail(
                    ErrorKind::WorkerExit,
                    out_of_memory(limits),
                    Some(Limit::Memory),
                )
            }
            Ending::Wall => {
                let message = format!("wall-clock ceiling reached ({}ms)", limits.wall_ms);
                self.fail(ErrorKind::Timeout, message, Some(Limit::Wall))
            }
            Ending::Abort(reason) => self.fail(ErrorKind::Abort, reason, None),
            Ending::Unfit(message) => self.fail(ErrorKind::WorkerExit, message, None),
            Ending::Gone => self.died(&Death::default(), limits),
        }
    }

    /// The worker ended without a word (C231, C276).
    fn died(self, death: &Death, limits: &Limits) -> RunResult {
        let budget = Duration::from_millis(limits.compute_ms);
        // The kernel's own limit of processor time: the third line behind the engine's handler and the host's samples.
        if death.signal() == Some(Signals::XCPU.as_raw()) {
            return self.end(Ending::Exhausted(budget, Strays::default()), limits);
        }
        let no_memory = death.last_words.contains("memory allocation of");
        match self.report.phase {
            Phase::NotStarted => self.fail(ErrorKind::WorkerExit, no_hello(death), None),
            _ if no_memory => self.fail(
                ErrorKind::WorkerExit,
                out_of_memory(limits),
                Some(Limit::Memory),
            ),
            Phase::Stripping => {
                let message = format!(
                    "program could not be parsed: the parser {}; the program may be nested too deeply",
                    cause(death)
                );
                self.fail(ErrorKind::Exception, message, None)
            }
            Phase::Running | Phase::Finished => {
                let message = format!("worker {} before completing", cause(death));
                self.fail(ErrorKind::WorkerExit, message, None)
            }
        }
    }
}

fn finish(
    output: Output,
    mut report: RunReport,
    limit: Option<Limit>,
    start: Instant,
) -> RunResult {
    let overflowed = output
        .error
        .as_ref()
        .is_some_and(|error| error.kind == ErrorKind::OutputLimit);
    report.limit = if overflowed {
        Some(Limit::Output)
    } else {
        limit
    };
    report.timings.wall_us = micros(start.elapsed());
    RunResult {
        value: output.value,
        logs: output.logs,
        error: output.error,
        report,
    }
}

fn out_of_memory(limits: &Limits) -> String {
    format!(
        "program ran out of memory: its heap may have {} bytes (`maxMemoryBytes`)",
        limits.memory_bytes
    )
}

fn no_hello(death: &Death) -> String {
    let words = match death.last_words.as_str() {
        "" => String::new(),
        words => format!(": {words}"),
    };
    format!(
        "the program that was started as code worker {} without answering as one; does its `main` begin with \
         `dsh_code_quickjs::worker_entry()`?{words}",
        cause(death)
    )
}

/// `exited with code 7`, `was ended by signal 9`.
fn cause(death: &Death) -> String {
    match death.status.map(|status| (status.code(), status.signal())) {
        Some((Some(code), _)) => format!("exited with code {code}"),
        Some((None, Some(signal))) => format!("was ended by signal {signal}"),
        Some((None, None)) | None => "exited".to_owned(),
    }
}

type Answer = (u64, Result<Document, String>);

/// The service of one worker.
struct Service<'r> {
    socket: Socket,
    /// `None` on a thread, whose processor time nobody samples.
    process: Option<u32>,
    program: &'r str,
    namespaces: &'r [Namespace],
    sink: Option<&'r LogSink>,
    limits: Limits,
    isolation: Isolation,
    outcome: &'r mut Outcome,
    calls: FuturesUnordered<BoxFuture<'static, Answer>>,
    last_call: u64,
    timer: Pin<Box<Sleep>>,
    wall: Option<Instant>,
    /// When to look at the worker's processor time; set once it has a program.
    processor: Option<Instant>,
    /// The worker does not read any more. What it wrote before still counts.
    is_deaf: bool,
    /// No whole frame is left in the inbox.
    is_drained: bool,
}

impl Service<'_> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Ending> {
        for _ in 0..READS_PER_POLL {
            if let Some(ending) = self.frames(cx) {
                return Poll::Ready(ending);
            }
            let answered = self.answers(cx);
            if !self.is_deaf
                && let Poll::Ready(Err(_)) = self.socket.poll_flush(cx)
            {
                self.is_deaf = true;
                self.socket.discard();
            }
            if let Some(ending) = self.times(cx) {
                return Poll::Ready(ending);
            }
            if self.is_full() {
                // A call that ends wakes this task, and so does a socket that can be written to.
                return Poll::Pending;
            }
            if !self.is_drained {
                // The calls that have ended made room for frames that are here already. The socket may be at its end by
                // now, and they count before it does (C232).
                continue;
            }
            if answered && self.calls.is_empty() && self.spin() {
                continue;
            }
            match self.socket.poll_read(cx) {
                Poll::Ready(Ok(read)) if read > 0 => {}
                Poll::Ready(_) => return Poll::Ready(Ending::Gone),
                Poll::Pending => return Poll::Pending,
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn is_full(&self) -> bool {
        self.calls.len() >= MAX_IN_FLIGHT || self.socket.backlog() > MAX_BACKLOG
    }

    /// Looks for the next frame a moment longer; whether something came.
    fn spin(&mut self) -> bool {
        let until = Instant::now() + SPIN;
        loop {
            match self.socket.peek() {
                Ok(read) => return read > 0,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => return false,
            }
            if Instant::now() >= until {
                return false;
            }
            std::hint::spin_loop();
        }
    }

    /// Handles the frames at hand.
    fn frames(&mut self, cx: &mut Context<'_>) -> Option<Ending> {
        self.is_drained = false;
        while !self.is_full() {
            match self.socket.inbox.next() {
                Ok(Some(place)) => {
                    if let Some(ending) = self.frame(place, cx) {
                        return Some(ending);
                    }
                }
                Ok(None) => {
                    self.is_drained = true;
                    break;
                }
                Err(too_long) => {
                    let message = format!(
                        "worker sent a frame of {} bytes, more than a program can hold",
                        too_long.length
                    );
                    return Some(Ending::Unfit(message));
                }
            }
        }
        None
    }

    /// Handles one frame. What is no frame, or comes at the wrong time, is dropped (C264).
    fn frame(&mut self, place: Range<usize>, cx: &mut Context<'_>) -> Option<Ending> {
        let report = Report::read(self.socket.inbox.get(place))?;
        if self.outcome.report.phase == Phase::NotStarted {
            return match report {
                Report::Hello { layers } => self.boot(layers),
                _ => None,
            };
        }
        match report {
            Report::Hello { .. } => None,
            Report::Started { strip_us } => {
                self.outcome.report.phase = Phase::Running;
                self.outcome.report.timings.strip_us = strip_us;
                None
            }
            Report::Log { text } => {
                book(self.outcome, self.sink, text);
                self.outcome
                    .ledger
                    .overflowed()
                    .then(|| Ending::OutputLimit(Strays::default()))
            }
            Report::Call {
                id,
                namespace,
                function,
                argument,
            } => {
                // Ids grow; one that does not was seen before, or is forged (C266).
                if id > self.last_call {
                    self.last_call = id;
                    let argument = argument.parse::<Document>();
                    self.call(id, namespace, function, argument.ok(), cx);
                }
                None
            }
            Report::Done {
                value: None,
                strays,
            } => Some(Ending::Done(None, strays)),
            Report::Done {
                value: Some(json),
                strays,
            } => Some(match json.parse() {
                Ok(value) => Ending::Done(Some(value), strays),
                Err(_) => Ending::Failed(
                    RunError::new(ErrorKind::InvalidOutput, LOSSY_COMPLETION),
                    strays,
                ),
            }),
            Report::Failed {
                failure,
                message,
                strays,
            } => {
                let kind = match failure {
                    Failure::Exception => ErrorKind::Exception,
                    Failure::InvalidOutput => ErrorKind::InvalidOutput,
                };
                Some(Ending::Failed(RunError::new(kind, message), strays))
            }
            Report::OutputLimit { strays } => Some(Ending::OutputLimit(strays)),
            Report::Exhausted { strays } => Some(Ending::Exhausted(
                Duration::from_micros(strays.busy_us),
                strays,
            )),
            Report::OutOfMemory { strays } => Some(Ending::OutOfMemory(strays)),
        }
    }

    /// The worker is ready: judges its sandbox and hands it the program.
    fn boot(&mut self, layers: Vec<SandboxLayer>) -> Option<Ending> {
        let missing: Vec<String> = layers
            .iter()
            .filter(|layer| !layer.active)
            .map(|layer| format!("`{}` ({})", layer.name, layer.detail))
            .collect();
        let is_bare = layers.is_empty();
        self.outcome.report.sandbox = layers;
        if self.isolation == Isolation::Required && (is_bare || !missing.is_empty()) {
            return Some(Ending::Unfit(format!(
                "the code sandbox is incomplete and isolation is required; missing: {}; \
                 configure `best-effort` isolation to run programs without",
                missing.join(", ")
            )));
        }
        let namespaces = self
            .namespaces
            .iter()
            .map(|namespace| Declared {
                global: &namespace.global,
                functions: namespace.functions.iter().map(String::as_str).collect(),
                error_class: namespace
                    .error_class
                    .as_ref()
                    .map(|class| (class.name.as_str(), class.member_property.as_str())),
            })
            .collect();
        Order::Boot {
            compute_ms: self.limits.compute_ms,
            memory_bytes: self.limits.memory_bytes,
            output_bytes: self.limits.output_bytes,
            namespaces,
            program: self.program,
        }
        .write(self.socket.outbox());
        self.outcome.report.phase = Phase::Stripping;
        self.processor = Instant::now().checked_add(self.budget());
        self.set_timer();
        None
    }

    fn budget(&self) -> Duration {
        Duration::from_millis(self.limits.compute_ms).saturating_add(GRACE)
    }

    /// Hands a call to its binding. A call that is answered at once costs no more than that.
    fn call(
        &mut self,
        id: u64,
        namespace: u32,
        function: u32,
        argument: Option<Document>,
        cx: &mut Context<'_>,
    ) {
        let function_index = usize::try_from(function).unwrap_or(usize::MAX);
        let declared = usize::try_from(namespace)
            .ok()
            .and_then(|index| self.namespaces.get(index))
            .filter(|namespace| function_index < namespace.functions.len());
        let (Some(declared), Some(argument)) = (declared, argument) else {
            let refusal = match declared {
                None => format!("unknown binding \"{namespace}.{function}\""),
                Some(_) => LOSSY_ARGUMENT.to_owned(),
            };
            self.answer(id, Err(refusal));
            return;
        };
        let mut future = declared.binding.call(function_index, argument);
        match future.as_mut().poll(cx) {
            Poll::Ready(result) => self.answer(id, result),
            Poll::Pending => self.calls.push(Box::pin(async move { (id, future.await) })),
        }
    }

    fn answer(&mut self, id: u64, result: Result<Document, String>) {
        if self.is_deaf {
            return;
        }
        match &result {
            Ok(value) => Order::Resolve {
                id,
                value: value.text(),
            },
            Err(message) => Order::Reject { id, message },
        }
        .write(self.socket.outbox());
    }

    /// Passes on the answers that are there; whether anything waits to be written.
    fn answers(&mut self, cx: &mut Context<'_>) -> bool {
        while let Poll::Ready(Some((id, result))) = Pin::new(&mut self.calls).poll_next(cx) {
            self.answer(id, result);
        }
        self.socket.backlog() > 0
    }

    /// Looks at the clocks.
    fn times(&mut self, cx: &mut Context<'_>) -> Option<Ending> {
        while self.timer.as_mut().poll(cx).is_ready() {
            let now = Instant::now();
            if self.wall.is_some_and(|wall| wall <= now) {
                self.note_busy();
                return Some(Ending::Wall);
            }
            if self.outcome.report.phase == Phase::NotStarted
                && self.outcome.start + HANDSHAKE <= now
            {
                return Some(Ending::Unfit(format!(
                    "the code worker did not answer within {} s",
                    HANDSHAKE.as_secs()
                )));
            }
            if self.processor.is_some_and(|at| at <= now) {
                let used = self.process.and_then(processor::used);
                let left = used.map(|used| self.budget().saturating_sub(used));
                if left == Some(Duration::ZERO) {
                    // The time at which the run was ended, less what is not the program's.
                    let busy = used.unwrap_or_default().saturating_sub(GRACE);
                    let busy = busy.max(Duration::from_millis(self.limits.compute_ms));
                    return Some(Ending::Exhausted(busy, Strays::default()));
                }
                // One thread cannot use it up faster than time passes.
                self.processor = left.and_then(|left| now.checked_add(left.max(SAMPLE)));
            }
            self.set_timer();
        }
        None
    }

    fn set_timer(&mut self) {
        let handshake = (self.outcome.report.phase == Phase::NotStarted)
            .then(|| self.outcome.start + HANDSHAKE);
        let next = [self.wall, self.processor, handshake]
            .into_iter()
            .flatten()
            .min();
        if let Some(next) = next {
            self.timer.as_mut().reset(next.into());
        }
    }

    fn note_busy(&mut self) {
        let used = self.process.and_then(processor::used).unwrap_or_default();
        self.outcome.report.timings.busy_us = micros(used);
    }

    /// Books the log lines that were written before the end and not read yet (C232). The worker is dead: what is in the
    /// socket is all there will be.
    fn collect_logs(&mut self) {
        loop {
            while let Ok(Some(place)) = self.socket.inbox.next() {
                if let Some(Report::Log { text }) = Report::read(self.socket.inbox.get(place)) {
                    book(self.outcome, self.sink, text);
                }
                if self.outcome.ledger.overflowed() {
                    return;
                }
            }
            match self.socket.peek() {
                Ok(read) if read > 0 => {}
                _ => return,
            }
        }
    }
}

fn book(outcome: &mut Outcome, sink: Option<&LogSink>, text: &str) {
    let kept = outcome.ledger.log(text);
    if let (Some(kept), Some(sink)) = (kept, sink) {
        sink(kept);
    }
}
