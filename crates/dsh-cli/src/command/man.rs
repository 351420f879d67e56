//! `dsh man`.

use clap::CommandFactory;

use crate::args::Dsh;
use crate::exit::{Exit, Failure};
use crate::output;

pub(crate) fn run() -> Result<Exit, Failure> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Dsh::command()).render(&mut page)?;
    output::line(&String::from_utf8_lossy(&page))?;
    Ok(Exit::Success)
}
