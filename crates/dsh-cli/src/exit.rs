//! How the process ends.

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

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

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Success => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Interrupted => 130,
        })
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
        Self { exit: Exit::Usage, message: message.into() }
    }

    /// Something went wrong on the way.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self { exit: Exit::Failed, message: message.into() }
    }

    /// Says on stderr what went wrong, and how the process ends.
    pub(crate) fn report(self) -> ExitCode {
        if !self.message.is_empty() {
            // With stderr gone there is nobody left to tell.
            let _ = writeln!(io::stderr(), "error: {self}");
        }
        self.exit.into()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<io::Error> for Failure {
    /// A reader that has gone away wants no more and no complaint; any other failed write is a failure.
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self { exit: Exit::Success, message: String::new() }
        } else {
            Self::failed(format!("cannot write the result: {error}"))
        }
    }
}
