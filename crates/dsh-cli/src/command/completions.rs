//! `dsh completions`.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Dsh;
use crate::exit::{Exit, Failure};
use crate::output;

pub(crate) fn run(shell: Shell) -> Result<Exit, Failure> {
    // Generated into memory: the generator panics when a pipe is closed.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Dsh::command(), "dsh", &mut script);
    output::line(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Success)
}
