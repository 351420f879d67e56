//! The operator's log, on stderr.

use std::io;

use tracing_subscriber::EnvFilter;

use crate::args::{Global, LogFormat};
use crate::exit::Failure;
use crate::terminal::colour;

/// Installs the log for this process.
pub(crate) fn init(global: &Global) -> Result<(), Failure> {
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter(
            std::env::var("RUST_LOG").ok().as_deref(),
            global.verbose,
        )?)
        .with_writer(io::stderr)
        // With stderr gone there is nobody left to tell, and the attempt would panic.
        .log_internal_errors(false);
    let installed = match global.log_format {
        LogFormat::Json => subscriber.json().flatten_event(true).try_init(),
        LogFormat::Text => subscriber
            .without_time()
            .with_target(false)
            .with_ansi(colour(global.color, &io::stderr()))
            .try_init(),
    };
    // Only a second call could fail, and there is one.
    drop(installed);
    Ok(())
}

/// RUST_LOG wins over `-v`; an empty one counts as absent.
fn filter(environment: Option<&str>, verbose: u8) -> Result<EnvFilter, Failure> {
    let level = match verbose {
        0 => "warn",
        1 => "info",
        2 => "debug",
        _ => "trace",
    };
    match environment.map(str::trim).filter(|directives| !directives.is_empty()) {
        None => Ok(EnvFilter::new(level)),
        Some(directives) => EnvFilter::try_new(directives).map_err(|error| {
            Failure::usage(format!(
                "RUST_LOG is no log filter: {error}; give a level such as `debug`, or target=level pairs"
            ))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_wins_over_the_flag() {
        let text =
            |environment, verbose| filter(environment, verbose).map(|filter| filter.to_string());
        assert_eq!(text(None, 0).unwrap(), "warn");
        assert_eq!(text(Some(" "), 1).unwrap(), "info");
        assert_eq!(text(Some("dsh=debug"), 0).unwrap(), "dsh=debug");
        assert_eq!(text(None, 9).unwrap(), "trace");
        assert!(
            text(Some("a=b=c"), 0)
                .unwrap_err()
                .to_string()
                .starts_with("RUST_LOG is no log filter: ")
        );
    }
}
