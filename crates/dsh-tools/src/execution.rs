//! One execution: the call's identity, its state and its outcome in one allocation.

use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use compact_str::CompactString;
use dsh_context::Scope;
use dsh_schema::{Document, DocumentError};
use event_listener::Event;
use parking_lot::Mutex;

use crate::journal::Verdict;
use crate::outcome::Outcome;
use crate::signal::Latch;
use crate::{Call, CallId, ContextMessage, Reason, Signal, Token, Tool};

/// A live or finished execution, cheap to clone and read-only (T12, T15).
///
/// Every phase of a call sees the same one, so policy, log, card and body read the same arguments (T169). It is also
/// where the outcome is set, once: that is what makes it exactly one.
#[derive(Clone)]
pub struct Execution(Arc<Inner>);

struct Inner {
    token: Token,
    id: CallId,
    root: Option<CallId>,
    name: CompactString,
    arguments: Result<Document, DocumentError>,
    caller: Signal,
    own: Latch,
    agent: Option<Scope>,
    parent: Option<Token>,
    attempt: u32,
    deadline_ms: Option<u64>,
    admitted: Option<Tool>,
    /// The version of the registry that the tool was looked up in.
    version: u64,
    fits: bool,
    invoked: AtomicBool,
    sealed: AtomicBool,
    concluded: AtomicBool,
    replayed: AtomicBool,
    /// What few calls need, made when one does.
    extra: OnceLock<Box<Extra>>,
    outcome: OnceLock<Arc<Outcome>>,
}

#[derive(Default)]
struct Extra {
    journal: OnceLock<Verdict>,
    journal_turn: futures_util::lock::Mutex<()>,
    granted: OnceLock<String>,
    deferred: Mutex<Vec<ContextMessage>>,
    tasks: AtomicUsize,
    tasks_done: Event,
}

impl Execution {
    /// Admits a call: mints its token and materialises its arguments (phase 0).
    pub(crate) fn admit(call: &mut Call, admitted: Option<Tool>, version: u64) -> Self {
        let arguments = std::mem::take(&mut call.arguments).materialise();
        let fits = match (&arguments, &admitted) {
            (Ok(document), Some(tool)) => tool.accepts(document),
            _ => false,
        };
        Self(Arc::new(Inner {
            token: Token::mint(),
            id: std::mem::take(&mut call.id),
            root: call.root.take(),
            name: std::mem::take(&mut call.name),
            arguments,
            caller: std::mem::replace(&mut call.signal, Signal::never()),
            own: Latch::default(),
            agent: call.agent.take(),
            parent: call.parent,
            attempt: call.attempt,
            deadline_ms: call.deadline_ms,
            admitted,
            version,
            fits,
            invoked: AtomicBool::new(false),
            sealed: AtomicBool::new(false),
            concluded: AtomicBool::new(false),
            replayed: AtomicBool::new(false),
            extra: OnceLock::new(),
            outcome: OnceLock::new(),
        }))
    }

    /// The identity that nested calls pass as their parent.
    #[must_use]
    pub fn token(&self) -> Token {
        self.0.token
    }

    /// The caller's id of this call.
    #[must_use]
    pub fn id(&self) -> &CallId {
        &self.0.id
    }

    /// The id of the model-requested call at the root of this one (T11).
    #[must_use]
    pub fn root_id(&self) -> &CallId {
        self.0.root.as_ref().unwrap_or(&self.0.id)
    }

    /// The tool's name as it was asked for.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The arguments; `None` if they could not be materialised, which no policy ever sees (T167).
    #[must_use]
    pub fn arguments(&self) -> Option<&Document> {
        self.0.arguments.as_ref().ok()
    }

    /// Why the arguments could not be materialised, for the operator's log (D2).
    #[must_use]
    pub fn argument_error(&self) -> Option<&DocumentError> {
        self.0.arguments.as_ref().err()
    }

    /// Whether the arguments satisfy the schema of the tool that was visible at admission.
    ///
    /// Known before policy runs, so that policy need not ask about a call that its body will refuse (D37).
    #[must_use]
    pub fn arguments_fit(&self) -> bool {
        self.0.fits
    }

    /// The scope the call is made for.
    #[must_use]
    pub fn agent(&self) -> Option<&Scope> {
        self.0.agent.as_ref()
    }

    /// The token of the enclosing execution of a nested call.
    #[must_use]
    pub fn parent(&self) -> Option<Token> {
        self.0.parent
    }

    /// How often the call was started, 1 for the first time.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.0.attempt
    }

    /// When the call has to be over, in milliseconds on the host's clock.
    #[must_use]
    pub fn deadline_ms(&self) -> Option<u64> {
        self.0.deadline_ms
    }

    /// The definition that was visible at admission. The body may run on a later one (T201).
    #[must_use]
    pub fn tool(&self) -> Option<&Tool> {
        self.0.admitted.as_ref()
    }

    /// The caller's own signal, whatever wrappers did to the body's (T286).
    #[must_use]
    pub fn caller_signal(&self) -> &Signal {
        &self.0.caller
    }

    /// Whether the call is cancelled: by its caller's signal, or because its future was dropped.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.own.is_fired() || self.0.caller.is_cancelled()
    }

    /// Why the call is cancelled.
    #[must_use]
    pub fn cancel_reason(&self) -> Option<Reason> {
        self.0
            .own
            .reason()
            .cloned()
            .or_else(|| self.0.caller.reason())
    }

    /// Whether the body was invoked; side effects may exist from then on (T203).
    #[must_use]
    pub fn is_invoked(&self) -> bool {
        self.0.invoked.load(Ordering::Acquire)
    }

    /// The outcome, once there is one.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome> {
        self.0.outcome.get().map(|outcome| &**outcome)
    }

    pub(crate) fn admitted_version(&self) -> u64 {
        self.0.version
    }

    pub(crate) fn own_latch(&self) -> &Latch {
        &self.0.own
    }

    /// Cancels this call alone; its caller's signal and its siblings are not touched (D5).
    pub(crate) fn abandon(&self, reason: Reason) {
        self.0.own.fire(reason);
    }

    fn extra(&self) -> &Extra {
        self.0.extra.get_or_init(Box::default)
    }

    pub(crate) fn mark_invoked(&self) {
        self.0.invoked.store(true, Ordering::Release);
    }

    /// No context and no conclusion counts after this (T211).
    pub(crate) fn seal(&self) -> Vec<ContextMessage> {
        self.0.sealed.store(true, Ordering::Release);
        self.0
            .extra
            .get()
            .map(|extra| std::mem::take(&mut *extra.deferred.lock()))
            .unwrap_or_default()
    }

    /// Whether the body has had its say.
    pub(crate) fn is_sealed(&self) -> bool {
        self.0.sealed.load(Ordering::Acquire)
    }

    pub(crate) fn defer(&self, message: ContextMessage) {
        let mut deferred = self.extra().deferred.lock();
        if !self.is_sealed() {
            deferred.push(message);
        }
    }

    pub(crate) fn conclude(&self) {
        if !self.is_sealed() {
            self.0.concluded.store(true, Ordering::Release);
        }
    }

    pub(crate) fn is_concluded(&self) -> bool {
        self.0.concluded.load(Ordering::Acquire)
    }

    pub(crate) fn mark_replayed(&self) {
        self.0.replayed.store(true, Ordering::Release);
    }

    pub(crate) fn is_replayed(&self) -> bool {
        self.0.replayed.load(Ordering::Acquire)
    }

    /// What the journal said of this call. It holds for every run of the body: a wrapper that runs it again gets the
    /// same answer.
    pub(crate) fn verdict(&self) -> Option<&Verdict> {
        self.0.extra.get()?.journal.get()
    }

    /// Keeps the journal's answer; the first one stays.
    pub(crate) fn judge(&self, verdict: Verdict) {
        let _first = self.extra().journal.set(verdict);
    }

    /// Waits for the turn to ask the journal, since a wrapper may run the inner chain twice at once.
    pub(crate) async fn journal_turn(&self) -> futures_util::lock::MutexGuard<'_, ()> {
        self.extra().journal_turn.lock().await
    }

    /// Remembers for which call exactly an approval was given.
    pub(crate) fn grant(&self, digest: String) {
        let _first = self.extra().granted.set(digest);
    }

    /// Whether an approval, if one was given, was given for this very definition.
    pub(crate) fn still_granted(&self, tool: &Tool) -> bool {
        self.0
            .extra
            .get()
            .and_then(|extra| extra.granted.get())
            .is_none_or(|granted| {
                *granted == crate::approval::digest(self.name(), self.arguments(), Some(tool))
            })
    }

    /// Counts a task of the body until the guard is dropped.
    pub(crate) fn enter_task(&self) -> RunningTask {
        self.extra().tasks.fetch_add(1, Ordering::AcqRel);
        RunningTask(self.clone())
    }

    pub(crate) fn has_tasks(&self) -> bool {
        self.0
            .extra
            .get()
            .is_some_and(|extra| extra.tasks.load(Ordering::Acquire) > 0)
    }

    /// Waits until no task of the body runs.
    pub(crate) async fn join_tasks(&self) {
        while self.has_tasks() {
            let done = self.extra().tasks_done.listen();
            if self.has_tasks() {
                done.await;
            }
        }
    }

    /// Sets the outcome; the first one stays.
    pub(crate) fn settle(&self, outcome: Arc<Outcome>) -> bool {
        self.0.outcome.set(outcome).is_ok()
    }
}

impl fmt::Debug for Execution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Execution")
            .field("id", &self.0.id.as_str())
            .field("name", &self.0.name)
            .field("cancelled", &self.is_cancelled())
            .field("outcome", &self.0.outcome.get())
            .finish_non_exhaustive()
    }
}

/// A task of a body that runs; see [`Execution::enter_task`].
pub(crate) struct RunningTask(Execution);

impl Drop for RunningTask {
    fn drop(&mut self) {
        let extra = self.0.extra();
        if extra.tasks.fetch_sub(1, Ordering::AcqRel) == 1 {
            extra.tasks_done.notify(usize::MAX);
        }
    }
}

/// A finished execution; dereferences to its [`Outcome`].
///
/// Callers and observers hold the same one (T155): see [`Settled::same`].
#[derive(Clone)]
pub struct Settled(Execution);

impl Settled {
    /// Wraps an execution whose outcome is set, setting `fallback` if a broken invariant left it without.
    pub(crate) fn new(execution: Execution, fallback: impl FnOnce() -> Arc<Outcome>) -> Self {
        execution.0.outcome.get_or_init(fallback);
        Self(execution)
    }

    /// The execution.
    #[must_use]
    pub fn execution(&self) -> &Execution {
        &self.0
    }

    /// The outcome.
    #[must_use]
    pub fn outcome(&self) -> &Outcome {
        self
    }

    /// Whether two handles are of one execution, and so share one outcome.
    #[must_use]
    pub fn same(a: &Self, b: &Self) -> bool {
        Arc::ptr_eq(&a.0.0, &b.0.0)
    }
}

impl Deref for Settled {
    type Target = Outcome;

    fn deref(&self) -> &Outcome {
        match self.0.0.outcome.get() {
            Some(outcome) => outcome,
            // `new` is the only constructor and sets the outcome; a `OnceLock` is never emptied.
            None => unreachable!("a settled execution has an outcome"),
        }
    }
}

impl fmt::Debug for Settled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
