//! One file per command.

mod call;
pub(crate) mod catalogue;
mod code;
mod completions;
mod doctor;
mod man;
mod schema;
mod tools;

use crate::args::{Command, Dsh};
use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupt;

/// Carries out a command line.
pub(crate) async fn run(dsh: Dsh, interrupt: &Interrupt) -> Result<Exit, Failure> {
    let Dsh { global, command } = dsh;
    match command {
        Command::Call(args) => call::run(&global, &args, interrupt).await,
        Command::Code(args) => code::run(&global, &args, interrupt).await,
        Command::Tools(args) => tools::run(&global, &args).await,
        Command::Schema(command) => schema::run(command),
        Command::Completions { shell } => completions::run(shell),
        Command::Man => man::run(),
        Command::Doctor { json } => doctor::run(&global, json).await,
    }
}
