//! Runs the binary on a terminal.

use std::fs::File;
use std::io::Read;
use std::process::Child;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::fixture::{PATIENCE, Place};

/// A terminal with a process on it.
pub(crate) struct Terminal {
    ours: File,
    pub(crate) child: Child,
    sent: Vec<u8>,
}

impl Terminal {
    pub(crate) fn start(place: &Place, words: &[&str], no_color: &str) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        let end = || {
            rustix::fs::open(
                &*name,
                OFlags::RDWR | OFlags::NOCTTY,
                rustix::fs::Mode::empty(),
            )
            .unwrap()
        };
        let mut command = place.dsh(words);
        command
            .stdout(File::from(end()))
            .stderr(File::from(end()))
            .env("NO_COLOR", no_color)
            .env("TERM", "xterm");
        let child = command.spawn().unwrap();
        Self {
            ours: ours.into(),
            child,
            sent: Vec::new(),
        }
    }

    /// Takes what is sent until `text` is among it.
    pub(crate) fn until(&mut self, text: &str) {
        while !String::from_utf8_lossy(&self.sent).contains(text) {
            let mut watched = [PollFd::new(&self.ours, PollFlags::IN)];
            let time = Timespec {
                tv_sec: PATIENCE.as_secs().try_into().unwrap(),
                tv_nsec: 0,
            };
            let is_quiet = poll(&mut watched, Some(&time)).unwrap() == 0;
            let mut bytes = [0; 4096];
            let read = match is_quiet {
                true => 0,
                false => self.ours.read(&mut bytes).unwrap_or_default(),
            };
            if read == 0 {
                let sent = String::from_utf8_lossy(&self.sent);
                panic!("{text:?} is missing: {sent:?}; {:?}", self.child.kill());
            }
            self.sent.extend_from_slice(&bytes[..read]);
        }
    }

    /// Everything that was sent, and the exit status.
    pub(crate) fn finish(mut self) -> (String, Option<i32>) {
        // The terminal reports an error when nobody holds its other end any more.
        drop(self.ours.read_to_end(&mut self.sent));
        let status = self.child.wait().unwrap().code();
        let sent = String::from_utf8(self.sent).unwrap();
        (sent.replace("\r\n", "\n"), status)
    }
}

/// Runs on a terminal and returns what it was sent.
pub(crate) fn on_terminal(place: &Place, words: &[&str], no_color: &str) -> String {
    Terminal::start(place, words, no_color).finish().0
}
