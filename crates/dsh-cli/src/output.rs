//! Writing results.

use std::io::{self, Write};

use serde::Serialize;

use crate::exit::Failure;

/// Prints text and a line end, unless the text has one.
pub(crate) fn line(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        stdout.write_all(b"\n")?;
    }
    Ok(stdout.flush()?)
}

/// Prints one JSON document on a line.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(value).map_err(|error| Failure::failed(format!("cannot print: {error}")))?;
    line(&text)
}
