//! The `dsh` binary. It is thin: [`args`] says what the flags are, [`compose`] puts a runtime together, and each
//! [`command`] is a file that maps a parsed command to an exit status.
//!
//! Results go to stdout and nothing else does; logs, questions and progress go to stderr. Exit status: 0 success, 1 the
//! call failed, 2 usage or configuration error, 130 interrupted.

mod args;
mod arguments;
mod card;
mod command;
mod compose;
mod exit;
mod interrupt;
mod logging;
mod output;

use std::process::ExitCode;

use clap::Parser;

use args::Dsh;
use exit::{Exit, Failure};

fn main() -> ExitCode {
    let dsh = match Dsh::try_parse() {
        Ok(dsh) => dsh,
        Err(error) => {
            // Help and version are results; everything else is a usage error. Clap prints each where it belongs.
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage } else { Exit::Success }.into();
        }
    };
    logging::init(&dsh.global);
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let ended = match executor {
        Ok(executor) => executor.block_on(command::run(dsh)),
        Err(error) => Err(Failure::failed(format!("cannot start: {error}"))),
    };
    match ended {
        Ok(exit) => exit.into(),
        Err(failure) => failure.report(),
    }
}
