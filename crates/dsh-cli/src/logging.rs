//! The operator's log, on stderr.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;

use crate::args::{Global, LogFormat, When};

/// Installs the log for this process.
pub(crate) fn init(global: &Global) {
    let level = match global.verbose {
        0 => "warn",
        1 => "info",
        2 => "debug",
        _ => "trace",
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    let installed = match global.log_format {
        LogFormat::Json => subscriber.json().try_init(),
        LogFormat::Text => {
            subscriber.without_time().with_target(false).with_ansi(colour(global.color, &io::stderr())).try_init()
        }
    };
    // Only a second call could fail, and there is one.
    drop(installed);
}

/// Whether a stream is to be coloured.
pub(crate) fn colour(when: When, stream: &impl IsTerminal) -> bool {
    match when {
        When::Always => true,
        When::Never => false,
        When::Auto => stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
    }
}
