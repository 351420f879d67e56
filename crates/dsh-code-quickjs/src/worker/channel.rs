//! The worker's end of the socket, blocking: descriptor 0 of a process, a socket of its own on a thread.
//!
//! Frames are collected and written when the worker is about to wait, so that many calls cost one write. What must not be
//! lost when the worker is killed, a log line, goes out at once (C211).

use std::io;
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::exit;
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read};
use rustix::net::{SendFlags, send};

use crate::frame::{Inbox, Order, Report};

/// Exit code when the host went away.
const HOST_GONE: i32 = 70;

/// Collected bytes beyond which they are written.
const ENOUGH: usize = 64 << 10;

/// What ended a wait.
pub(super) enum Wake {
    /// A frame is there.
    Frame,
    /// The time is up.
    Time,
    /// The host is gone, or sent what is no frame.
    Gone,
}

/// What ends with the run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Vessel {
    /// The process, at once: nothing unwinds.
    Process,
    /// The thread, once the engine's code was left.
    Thread,
}

/// The channel to the host.
pub(super) struct Channel {
    input: Box<dyn AsFd>,
    vessel: Vessel,
    /// The run is over: whatever else is pushed or sent goes nowhere.
    is_over: bool,
    inbox: Inbox,
    frame: Range<usize>,
    outbox: Vec<u8>,
}

impl Channel {
    /// The channel of a process that is a worker.
    pub(super) fn of_process() -> Self {
        Self::new(Box::new(io::stdin()), Vessel::Process)
    }

    /// The channel of a worker on a thread.
    pub(super) fn of_thread(socket: UnixStream) -> Self {
        Self::new(Box::new(socket), Vessel::Thread)
    }

    fn new(input: Box<dyn AsFd>, vessel: Vessel) -> Self {
        Self {
            input,
            vessel,
            is_over: false,
            // The host is trusted with sizes: it sends what a program may hold.
            inbox: Inbox::new(usize::MAX),
            frame: 0..0,
            outbox: Vec::new(),
        }
    }

    /// Ends the run. In a process this does not return. On a thread it does: the caller returns in turn, the engine's
    /// handler interrupts whatever runs on meanwhile, and nothing of that reaches the host.
    pub(super) fn end(&mut self) {
        self.leave(0);
    }

    /// Ends the run of a host that is gone, as [`end`](Self::end) does.
    pub(super) fn abandon(&mut self) {
        self.leave(HOST_GONE);
    }

    fn leave(&mut self, code: i32) {
        match self.vessel {
            Vessel::Process => exit(code),
            Vessel::Thread => {
                self.is_over = true;
                self.outbox = Vec::new();
            }
        }
    }

    /// Whether the run is over.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Collects a frame.
    pub(super) fn push(&mut self, report: &Report<'_>) {
        if self.is_over {
            return;
        }
        report.write(&mut self.outbox);
        if self.outbox.len() >= ENOUGH {
            self.flush();
        }
    }

    /// Sends a frame, and those collected before it.
    pub(super) fn send(&mut self, report: &Report<'_>) {
        if self.is_over {
            return;
        }
        report.write(&mut self.outbox);
        self.flush();
    }

    /// Writes what was collected. A host that is gone ends the run.
    ///
    /// While the host does not read, what it writes is read: were both sides to wait for the other to read, neither would
    /// go on.
    pub(super) fn flush(&mut self) {
        let mut written = 0;
        while let Some(rest) = self.outbox.get(written..).filter(|rest| !rest.is_empty()) {
            match send(self.input.as_fd(), rest, SendFlags::DONTWAIT) {
                Ok(count) => written += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => self.make_way(),
                Err(_) => self.abandon(),
            }
        }
        self.outbox.clear();
    }

    /// Waits until the host reads, reading meanwhile what it writes.
    fn make_way(&mut self) {
        let mut descriptors = [PollFd::from_borrowed_fd(
            self.input.as_fd(),
            PollFlags::IN | PollFlags::OUT,
        )];
        if poll(&mut descriptors, None).is_err() {
            return;
        }
        let [descriptor] = descriptors;
        if descriptor.revents().contains(PollFlags::IN)
            && !matches!(
                read(self.input.as_fd(), spare_capacity(self.inbox.room())),
                Ok(1..) | Err(Errno::INTR)
            )
        {
            self.abandon();
        }
    }

    /// Whether frames were collected and not written.
    pub(super) fn is_dirty(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// Waits for a frame, at most so long; without a limit, as long as the host lives.
    pub(super) fn wait(&mut self, limit: Option<Duration>) -> Wake {
        self.flush();
        loop {
            if self.is_over {
                return Wake::Gone;
            }
            match self.inbox.next() {
                Ok(Some(place)) => {
                    self.frame = place;
                    return Wake::Frame;
                }
                Ok(None) => {}
                Err(_) => return Wake::Gone,
            }
            if let Some(limit) = limit
                && !self.is_readable(limit)
            {
                return Wake::Time;
            }
            match read(self.input.as_fd(), spare_capacity(self.inbox.room())) {
                Ok(0) => return Wake::Gone,
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return Wake::Gone,
            }
        }
    }

    /// The frame that the last wait found.
    pub(super) fn order(&self) -> Option<Order<'_>> {
        Order::read(self.inbox.get(self.frame.clone()))
    }

    fn is_readable(&self, limit: Duration) -> bool {
        let timeout = Timespec {
            tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: limit.subsec_nanos().into(),
        };
        let mut descriptors = [PollFd::from_borrowed_fd(self.input.as_fd(), PollFlags::IN)];
        matches!(poll(&mut descriptors, Some(&timeout)), Ok(ready) if ready > 0)
    }

    /// Whether the host has hung up. Does not wait.
    pub(super) fn is_gone(&self) -> bool {
        let mut descriptors = [PollFd::from_borrowed_fd(
            self.input.as_fd(),
            PollFlags::empty(),
        )];
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        matches!(poll(&mut descriptors, Some(&now)), Ok(ready) if ready > 0)
    }
}
