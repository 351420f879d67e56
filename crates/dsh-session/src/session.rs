//! The log of one session, in memory (chapter 4.1 of the loop specification).

use std::fmt;
use std::sync::Arc;
use std::thread::{self, ThreadId};

use dsh_context::{Effect, EntryTable, Fiber};
use dsh_tools::Host;
use parking_lot::{Mutex, RwLock};
use serde::{Deserialize, Serialize};

use crate::surface::check_message;
use crate::{Draft, EndSeed, Event, Message, Order, Payload, SessionError, Surface};

/// What is known of a session besides its events, and never changes (L126).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// The version of the format.
    pub version: u32,
    /// The session's id, which is its agent's too (L193).
    pub id: String,
    /// When it was made, in milliseconds since the epoch.
    pub created_at: u64,
    /// The absolute path it works in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The session it was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<String>,
    /// How many events it inherited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed_length: Option<u64>,
    /// How it came about, if not by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// How many delegations lie above it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delegation_depth: Option<u32>,
    /// The preset its agent was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_preset: Option<String>,
}

/// The version of the log's format.
pub const FORMAT_VERSION: u32 = 0;

impl Header {
    /// A session of its own.
    ///
    /// # Errors
    ///
    /// An empty id (L130).
    pub fn new(id: impl Into<String>, host: &dyn Host) -> Result<Self, SessionError> {
        let id = id.into();
        if id.is_empty() {
            return Err(SessionError::refused("a session needs an id"));
        }
        Ok(Self {
            version: FORMAT_VERSION,
            id,
            created_at: host.now_ms(),
            cwd: None,
            parent_session: None,
            seed_length: None,
            origin: None,
            delegation_depth: None,
            agent_preset: None,
        })
    }
}

/// Sees each event once it is in the log, in the order of the log, before its append returns (L123, L124).
///
/// It does not wait for storage, nor for another thread that appends to the same session; what it wants to append it appends
/// later (L122, L125).
pub trait SessionSink: Send + Sync {
    /// An event is in the log.
    fn committed(&self, session: &Session, event: &Event);
}

impl<F: Fn(&Session, &Event) + Send + Sync> SessionSink for F {
    fn committed(&self, session: &Session, event: &Event) {
        self(session, event);
    }
}

/// Sees each event before it is in the log, and can keep it out (L39, L120).
pub trait SessionGate: Send + Sync {
    /// Lets the event in, or not.
    ///
    /// # Errors
    ///
    /// The append fails with it, and the log stays as it is.
    fn admit(&self, session: &Session, event: &Event) -> Result<(), SessionError>;
}

/// An append-only log that holds its invariants. Cheap to clone; all clones are one session.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use dsh_session::{Header, Session, TurnStart};
/// use dsh_testkit::FakeHost;
///
/// let host = Arc::new(FakeHost::new());
/// let session = Session::new(Header::new("session-1", &*host)?, host);
/// session.append(TurnStart { turn: 1 })?;
/// assert_eq!(session.open_turn(), Some(1));
/// assert_eq!(session.append(TurnStart { turn: 2 }).unwrap_err().code(), "SESSION_ORDER_VIOLATED");
/// # Ok::<(), dsh_session::SessionError>(())
/// ```
#[derive(Clone)]
pub struct Session(Arc<Core>);

struct Core {
    header: Header,
    host: Arc<dyn Host>,
    first_live: u64,
    /// Held from the checks of an append to the last observer of it, so that observers see events in order.
    publishing: Mutex<()>,
    publisher: Mutex<Option<ThreadId>>,
    log: RwLock<Log>,
    sinks: RwLock<EntryTable<Arc<dyn SessionSink>>>,
    gates: RwLock<EntryTable<Arc<dyn SessionGate>>>,
}

#[derive(Default)]
struct Log {
    events: Vec<Event>,
    order: Order,
    surface: Surface,
}

impl Log {
    fn at(&self, seq: u64) -> Option<&Event> {
        self.events.get(usize::try_from(seq).ok()?)
    }

    fn check(&self, event: &Event) -> Result<(), SessionError> {
        check_message(event.payload())?;
        self.surface.check(event, |seq| self.at(seq))?;
        self.order.check(event)
    }

    fn push(&mut self, event: Event) {
        self.order.apply(&event);
        self.surface.apply(&event);
        self.events.push(event);
    }
}

impl Session {
    /// An empty log.
    #[must_use]
    pub fn new(header: Header, host: Arc<dyn Host>) -> Self {
        Self::of(header, host, Log::default())
    }

    /// A log that goes on from inherited or stored events, which are checked like appended ones and announced to nobody.
    /// One `session/end-seed` is added unless they end in one (L127).
    ///
    /// # Errors
    ///
    /// The first event that no log can hold.
    pub fn from_seed(
        header: Header,
        host: Arc<dyn Host>,
        seed: impl IntoIterator<Item = Event>,
    ) -> Result<Self, SessionError> {
        let mut log = Log::default();
        for event in seed {
            log.check(&event)?;
            log.push(event);
        }
        if !matches!(
            log.events.last().map(Event::payload),
            Some(Payload::EndSeed(_))
        ) {
            let time = log.events.last().map_or_else(|| host.now_ms(), Event::time);
            let end = Event::new(log.events.len() as u64, time, Draft::new(EndSeed {}))?;
            log.push(end);
        }
        Ok(Self::of(header, host, log))
    }

    fn of(header: Header, host: Arc<dyn Host>, log: Log) -> Self {
        Self(Arc::new(Core {
            header,
            host,
            first_live: log.events.len() as u64,
            publishing: Mutex::default(),
            publisher: Mutex::default(),
            log: RwLock::new(log),
            sinks: RwLock::default(),
            gates: RwLock::default(),
        }))
    }

    /// The session's id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.0.header.id
    }

    /// What is known of it besides its events.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.0.header
    }

    /// The place of the first event that this process appends (L128).
    #[must_use]
    pub fn first_live_seq(&self) -> u64 {
        self.0.first_live
    }

    /// Appends an event; it is returned as it is stored (L120, L121).
    ///
    /// # Errors
    ///
    /// Data that is not lossless, a place on the surface that is not right, an order that no log can have, a gate that
    /// refuses, or an append from inside an observer of this session. The log is unchanged then.
    pub fn append(&self, draft: impl Into<Draft>) -> Result<Event, SessionError> {
        let current = thread::current().id();
        if *self.0.publisher.lock() == Some(current) {
            return Err(SessionError::refused(
                "session append cannot reenter while another append is being published",
            ));
        }
        let _order = self.0.publishing.lock();
        *self.0.publisher.lock() = Some(current);
        let _done = Done(&self.0.publisher);
        // Before the lock: both are foreign code.
        let (draft, now) = (draft.into(), self.0.host.now_ms());
        let event = {
            let log = self.0.log.read();
            let event = Event::new(log.events.len() as u64, now, draft)?;
            log.check(&event)?;
            event
        };
        let gates = self.0.gates.read().snapshot();
        for gate in gates.iter() {
            dsh_context::contain(|| gate.admit(self, &event))
                .unwrap_or_else(|_| Err(SessionError::refused("a gate of the session panicked")))?;
        }
        self.0.log.write().push(event.clone());
        let sinks = self.0.sinks.read().snapshot();
        for sink in sinks.iter() {
            if dsh_context::contain(|| sink.committed(self, &event)).is_err() {
                tracing::warn!(
                    session = self.id(),
                    seq = event.seq(),
                    "a session/event observer panicked"
                );
            }
        }
        Ok(event)
    }

    /// Observes events for the lifetime of a fiber.
    ///
    /// # Errors
    ///
    /// A lifetime that has ended.
    pub fn observe(
        &self,
        fiber: &Fiber,
        sink: impl SessionSink + 'static,
    ) -> Result<Effect, SessionError> {
        let sink: Arc<dyn SessionSink> = Arc::new(sink);
        let id = self.0.sinks.write().push(sink);
        let core = Arc::downgrade(&self.0);
        let undo = move || {
            let removed = core
                .upgrade()
                .and_then(|core| core.sinks.write().remove(id));
            drop(removed);
        };
        fiber
            .effect("session observer", undo.clone())
            .inspect_err(|_| undo())
            .map_err(Into::into)
    }

    /// Guards the log for the lifetime of a fiber.
    ///
    /// # Errors
    ///
    /// A lifetime that has ended.
    pub fn guard(
        &self,
        fiber: &Fiber,
        gate: impl SessionGate + 'static,
    ) -> Result<Effect, SessionError> {
        let gate: Arc<dyn SessionGate> = Arc::new(gate);
        let id = self.0.gates.write().push(gate);
        let core = Arc::downgrade(&self.0);
        let undo = move || {
            let removed = core
                .upgrade()
                .and_then(|core| core.gates.write().remove(id));
            drop(removed);
        };
        fiber
            .effect("session gate", undo.clone())
            .inspect_err(|_| undo())
            .map_err(Into::into)
    }

    /// How many events there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.log.read().events.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The events from a place on.
    #[must_use]
    pub fn events_from(&self, seq: u64) -> Vec<Event> {
        let log = self.0.log.read();
        let start = usize::try_from(seq).unwrap_or(usize::MAX);
        log.events.get(start..).unwrap_or_default().to_vec()
    }

    /// All events.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        self.events_from(0)
    }

    /// The open turn.
    #[must_use]
    pub fn open_turn(&self) -> Option<u64> {
        self.0.log.read().order.open_turn()
    }

    /// The open step of the open turn.
    #[must_use]
    pub fn open_step(&self) -> Option<u64> {
        self.0.log.read().order.open_step()
    }

    /// The number of the last turn; 0 before the first.
    #[must_use]
    pub fn last_turn(&self) -> u64 {
        self.0.log.read().order.last_turn()
    }

    /// The messages that the model sees now (L145).
    #[must_use]
    pub fn history(&self) -> Vec<Message> {
        let log = self.0.log.read();
        log.surface.history(|seq| log.at(seq))
    }

    /// Whether two handles are of one session.
    #[must_use]
    pub fn same(a: &Self, b: &Self) -> bool {
        Arc::ptr_eq(&a.0, &b.0)
    }
}

/// Marks the end of an append, however it ends.
struct Done<'a>(&'a Mutex<Option<ThreadId>>);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        *self.0.lock() = None;
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("id", &self.id())
            .field("events", &self.len())
            .finish_non_exhaustive()
    }
}
