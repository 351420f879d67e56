//! `cargo run -p xtask -- COMMAND`: checks and lists for people who work on this repository.

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use xtask::{Repository, error_pages, tidy};

const USAGE: &str = "usage: xtask COMMAND

  tidy    check the rules of the repository
  codes   list every error code and the file that declares it";

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<ExitCode, Box<dyn Error>> {
    let command = std::env::args().nth(1).ok_or(USAGE)?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .ok_or("xtask has no parent folder")?;
    let repository = Repository::read(root)?;
    let mut out = std::io::stdout().lock();
    match command.as_str() {
        "tidy" => {
            let findings = tidy(&repository);
            for finding in &findings {
                writeln!(out, "{finding}")?;
            }
            Ok(if findings.is_empty() {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            })
        }
        "codes" => {
            for (code, path) in error_pages::codes(&repository) {
                writeln!(out, "{code}\t{path}")?;
            }
            Ok(ExitCode::SUCCESS)
        }
        other => Err(format!("unknown command `{other}`\n\n{USAGE}").into()),
    }
}
