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
mod hint;
mod host;
mod interrupt;
mod logging;
mod output;
mod terminal;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use args::Dsh;
use exit::{Exit, Failure};
use interrupt::Interrupt;
use terminal::Paint;

fn main() -> ExitCode {
    // A worker for Code Mode programs is this program again; nothing may happen before that is known.
    dsh_code_quickjs::worker_entry();
    let words: Vec<OsString> = std::env::args_os().collect();
    let dsh = match Dsh::from_words(&words) {
        Ok(dsh) => dsh,
        Err(error) => return said(&error),
    };
    let paint = Paint::of(dsh.global.color, &io::stderr());
    match run(dsh) {
        Ok(exit) => exit.into(),
        Err(failure) => failure.report(paint),
    }
}

fn run(dsh: Dsh) -> Result<Exit, Failure> {
    logging::init(&dsh.global)?;
    // One worker: commands block the main thread, and Ctrl-C has to be heard meanwhile.
    let executor = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("cannot start: {error}")))?;
    let ended = executor.block_on(async {
        let interrupt = Interrupt::watch()?;
        command::run(dsh, &interrupt).await
    });
    executor.shutdown_background();
    ended
}

/// Help and version are results; everything else that the parser says is about a wrong command line.
fn said(error: &clap::Error) -> ExitCode {
    let printed = error.print();
    if error.use_stderr() {
        return Exit::Usage.into();
    }
    match printed {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Failure::failed(format!("cannot write the result: {error}"))
                .report(Paint::of(args::When::Auto, &io::stderr()))
        }
        _ => Exit::Success.into(),
    }
}
