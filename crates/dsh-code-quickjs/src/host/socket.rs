//! The host's end of a worker's socket, without waiting.

use std::io;
use std::os::unix::net::UnixStream as Plain;
use std::task::{Context, Poll};

use rustix::buffer::spare_capacity;
use rustix::io::{Errno, read, write};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::runtime::Handle;

use crate::frame::Inbox;

/// A socket and what is to be written to it.
pub(super) struct Socket {
    stream: AsyncFd<Plain>,
    /// The socket again, registered for writing while it is full. Were it always, each read of the worker would wake a thread
    /// of the reactor for nothing.
    full: Option<AsyncFd<Plain>>,
    reactor: Handle,
    pub(super) inbox: Inbox,
    outbox: Vec<u8>,
    written: usize,
}

impl Socket {
    pub(super) fn new(plain: Plain, reactor: &Handle, max_frame: usize) -> io::Result<Self> {
        let _entered = reactor.enter();
        Ok(Self {
            stream: register(plain, Interest::READABLE)?,
            full: None,
            reactor: reactor.clone(),
            inbox: Inbox::new(max_frame),
            outbox: Vec::new(),
            written: 0,
        })
    }

    /// Where frames are appended.
    pub(super) fn outbox(&mut self) -> &mut Vec<u8> {
        &mut self.outbox
    }

    /// Bytes that wait for the worker to read.
    pub(super) fn backlog(&self) -> usize {
        self.outbox.len() - self.written
    }

    /// Forgets what waits: nobody reads it any more.
    pub(super) fn discard(&mut self) {
        self.outbox.clear();
        self.written = 0;
    }

    /// Reads what is there. Ready with the number of bytes, 0 at the end.
    pub(super) fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let Self { stream, inbox, .. } = self;
        loop {
            let mut readable = std::task::ready!(stream.poll_read_ready(cx))?;
            let read = |stream: &AsyncFd<Plain>| Ok(read(stream, spare_capacity(inbox.room()))?);
            match readable.try_io(read) {
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(result) => return Poll::Ready(result),
                Err(_nothing_yet) => {}
            }
        }
    }

    /// Reads past the reactor, which learns nothing of it.
    pub(super) fn peek(&mut self) -> io::Result<usize> {
        Ok(read(&self.stream, spare_capacity(self.inbox.room()))?)
    }

    /// Writes what waits. Ready when nothing does.
    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let rest = self.outbox.get(self.written..).unwrap_or_default();
            if rest.is_empty() {
                self.outbox.clear();
                self.written = 0;
                self.full = None;
                return Poll::Ready(Ok(()));
            }
            // Nearly always possible at once; the reactor is asked when it is not.
            match write(&self.stream, rest) {
                Ok(count) => self.written += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    let full = match &mut self.full {
                        Some(full) => full,
                        none => {
                            let _entered = self.reactor.enter();
                            let again = self.stream.get_ref().try_clone()?;
                            none.insert(register(again, Interest::WRITABLE)?)
                        }
                    };
                    let mut writable = std::task::ready!(full.poll_write_ready(cx))?;
                    match writable.try_io(|stream| Ok(write(stream, rest)?)) {
                        Ok(Ok(count)) => self.written += count,
                        Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                        Ok(Err(error)) => return Poll::Ready(Err(error)),
                        Err(_still_full) => {}
                    }
                }
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
    }
}

/// Registers a socket with the reactor that is entered.
#[expect(unsafe_code, reason = "the safe way to do this is deprecated")]
fn register(socket: Plain, interest: Interest) -> io::Result<AsyncFd<Plain>> {
    // SAFETY: the socket owns its descriptor, which is the same and open until the value that owns the socket from here on
    // is dropped.
    Ok(unsafe { AsyncFd::register_with_interest(socket, interest) }?)
}
