//! The host's end of a worker's socket, without waiting.

use std::io;
use std::os::unix::net::UnixStream as Plain;
use std::task::{Context, Poll};

use rustix::buffer::spare_capacity;
use rustix::io::{Errno, read, write};
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::runtime::Handle;

use crate::frame::Inbox;

/// A socket and what is to be written to it.
pub(super) struct Socket {
    stream: UnixStream,
    pub(super) inbox: Inbox,
    outbox: Vec<u8>,
    written: usize,
}

impl Socket {
    pub(super) fn new(plain: Plain, reactor: &Handle, max_frame: usize) -> io::Result<Self> {
        let _entered = reactor.enter();
        Ok(Self {
            stream: UnixStream::from_std(plain)?,
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
        loop {
            std::task::ready!(self.stream.poll_read_ready(cx))?;
            if let Some(result) = settled(self.try_read()) {
                return Poll::Ready(result);
            }
        }
    }

    /// Reads without asking whether anything is there.
    pub(super) fn try_read(&mut self) -> io::Result<usize> {
        let Self { stream, inbox, .. } = self;
        stream.try_io(Interest::READABLE, || {
            Ok(read(&*stream, spare_capacity(inbox.room()))?)
        })
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
                return Poll::Ready(Ok(()));
            }
            // Nearly always possible at once; the reactor is asked when it is not.
            match write(&self.stream, rest) {
                Ok(count) => self.written += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    std::task::ready!(self.stream.poll_write_ready(cx))?;
                    let stream = &self.stream;
                    let result = stream.try_io(Interest::WRITABLE, || Ok(write(stream, rest)?));
                    match settled(result) {
                        Some(Ok(count)) => self.written += count,
                        Some(Err(error)) => return Poll::Ready(Err(error)),
                        None => {}
                    }
                }
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
    }
}

/// A result that is no request to try again.
fn settled<T>(result: io::Result<T>) -> Option<io::Result<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
        Err(error) if error.kind() == io::ErrorKind::Interrupted => None,
        result => Some(result),
    }
}
