//! Writing results.
//!
//! A reader that has gone away wants no more and no complaint, so a closed pipe is no failure; the exit status says what
//! became of the command. Any other failed write is one: the result did not arrive.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use crate::exit::Failure;
use crate::terminal;

/// Whether anybody still reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    Listens,
    Gone,
}

/// Prints text and a line end, unless the text has one.
pub(crate) fn line(text: &str) -> Result<Reader, Failure> {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    match deliver(&mut io::stdout().lock(), &[text, end]) {
        Ok(()) => Ok(Reader::Listens),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Reader::Gone),
        Err(error) => Err(Failure::failed(format!("cannot write the result: {error}"))),
    }
}

/// Prints foreign text: exactly, but on a terminal with nothing in it that the terminal would act on.
pub(crate) fn foreign(text: &str) -> Result<Reader, Failure> {
    if io::stdout().is_terminal() {
        line(&terminal::visible_text(text))
    } else {
        line(text)
    }
}

/// Prints one JSON document on a line.
pub(crate) fn json(value: &impl Serialize) -> Result<Reader, Failure> {
    let text = serde_json::to_string(value)
        .map_err(|error| Failure::failed(format!("cannot print: {error}")))?;
    line(&text)
}

fn deliver(stdout: &mut impl Write, parts: &[&str]) -> io::Result<()> {
    for part in parts {
        stdout.write_all(part.as_bytes())?;
    }
    stdout.flush()
}
