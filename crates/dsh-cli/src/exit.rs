//! How the process ends.

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use crate::terminal::{Paint, visible_text};

/// The exit statuses of the command line contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It worked.
    Success,
    /// The call, program or task failed.
    Failed,
    /// The command line or the configuration is wrong.
    Usage,
    /// Somebody pressed Ctrl-C.
    Interrupted,
}

impl Exit {
    /// The number that the process ends with.
    pub(crate) const fn status(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.status())
    }
}

/// A command that could not do its work.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    message: String,
}

impl Failure {
    /// The command line asks for something that cannot be.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Usage,
            message: message.into(),
        }
    }

    /// Something went wrong on the way.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Failed,
            message: message.into(),
        }
    }

    /// Says on stderr what went wrong, and how the process ends.
    pub(crate) fn report(self, paint: Paint) -> ExitCode {
        // With stderr gone there is nobody left to tell.
        let _ = writeln!(
            io::stderr(),
            "{} {}",
            paint.bad("error:"),
            visible_text(&self.message)
        );
        self.exit.into()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
