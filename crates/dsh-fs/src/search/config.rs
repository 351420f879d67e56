//! The limits of both tools (F114, F132).

use std::error::Error;
use std::fmt;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Number;

/// What a configuration file may say, under the names it uses there.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct SearchSettings {
    /// Paths that `glob` shows at most.
    pub glob_max_results: Option<Number>,
    /// Whether `glob` shows a sample of all parts of the tree when there are more paths than it
    /// shows. The one setting without a default.
    pub sample_over_cap_glob_results: Option<bool>,
    /// Matches that `grep` shows at most.
    pub grep_max_matches: Option<Number>,
    /// Bytes of a line that `grep` shows at most.
    pub grep_max_line_bytes: Option<Number>,
    /// Bytes that a complete result may have.
    pub raw_output_max_bytes: Option<Number>,
    /// Milliseconds that a search may take.
    pub timeout_ms: Option<Number>,
    /// Milliseconds that a cancelled search may take to stop before it is left behind.
    pub grace_ms: Option<Number>,
    /// Accepted and checked for the sake of existing configurations. It has no effect: no program is
    /// run that could print errors.
    pub stderr_max_bytes: Option<Number>,
    /// Bytes of the data behind a card.
    pub search_meta_max_bytes: Option<Number>,
}

/// The limits of `glob` and `grep`, all positive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchConfig {
    sampled: bool,
    max_paths: u64,
    max_matches: u64,
    max_line_bytes: u64,
    max_raw_bytes: u64,
    timeout_ms: u64,
    grace_ms: u64,
    max_meta_bytes: u64,
}

impl SearchConfig {
    /// The defaults, and the choice that has none: whether too many paths are sampled (F114).
    ///
    /// 100 paths, 250 matches, 2,000 bytes of a line, 20,000,000 bytes of a result, 30 seconds, 3
    /// seconds of grace, 65,536 bytes behind a card.
    #[must_use]
    pub const fn sampled(sampled: bool) -> Self {
        Self {
            sampled,
            max_paths: 100,
            max_matches: 250,
            max_line_bytes: 2000,
            max_raw_bytes: 20_000_000,
            timeout_ms: 30_000,
            grace_ms: 3000,
            max_meta_bytes: 65_536,
        }
    }

    /// Takes the limits from settings, and the default for each one that is absent.
    ///
    /// # Errors
    ///
    /// `sampleOverCapGlobResults` is absent, or another setting is not a positive integer; the first
    /// such setting is named.
    pub fn new(settings: &SearchSettings) -> Result<Self, SearchConfigError> {
        let sampled = settings
            .sample_over_cap_glob_results
            .ok_or(SearchConfigError::NotChosen("sampleOverCapGlobResults"))?;
        let default = Self::sampled(sampled);
        let config = Self {
            sampled,
            max_paths: positive(
                "globMaxResults",
                &settings.glob_max_results,
                default.max_paths,
            )?,
            max_matches: positive(
                "grepMaxMatches",
                &settings.grep_max_matches,
                default.max_matches,
            )?,
            max_line_bytes: positive(
                "grepMaxLineBytes",
                &settings.grep_max_line_bytes,
                default.max_line_bytes,
            )?,
            max_raw_bytes: positive(
                "rawOutputMaxBytes",
                &settings.raw_output_max_bytes,
                default.max_raw_bytes,
            )?,
            timeout_ms: positive("timeoutMs", &settings.timeout_ms, default.timeout_ms)?,
            grace_ms: positive("graceMs", &settings.grace_ms, default.grace_ms)?,
            max_meta_bytes: positive(
                "searchMetaMaxBytes",
                &settings.search_meta_max_bytes,
                default.max_meta_bytes,
            )?,
        };
        positive("stderrMaxBytes", &settings.stderr_max_bytes, 1)?;
        Ok(config)
    }

    /// Whether `glob` samples when there are more paths than it shows.
    #[must_use]
    pub const fn is_sampled(&self) -> bool {
        self.sampled
    }

    /// Paths that `glob` shows at most.
    #[must_use]
    pub const fn max_paths(&self) -> u64 {
        self.max_paths
    }

    /// Matches that `grep` shows at most.
    #[must_use]
    pub const fn max_matches(&self) -> u64 {
        self.max_matches
    }

    /// Bytes of a line that `grep` shows at most.
    #[must_use]
    pub const fn max_line_bytes(&self) -> u64 {
        self.max_line_bytes
    }

    /// Bytes that a complete result may have.
    #[must_use]
    pub const fn max_raw_bytes(&self) -> u64 {
        self.max_raw_bytes
    }

    /// How long a search may take. The tools declare it; a deadline policy enforces it.
    #[must_use]
    pub const fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }

    /// How long a cancelled search may take to stop before it is left behind.
    #[must_use]
    pub const fn grace(&self) -> Duration {
        Duration::from_millis(self.grace_ms)
    }

    /// Bytes of the data behind a card.
    #[must_use]
    pub const fn max_meta_bytes(&self) -> u64 {
        self.max_meta_bytes
    }
}

/// A setting that is missing or not acceptable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchConfigError {
    /// The setting of that name has no default and was not given.
    NotChosen(&'static str),
    /// The setting of that name is not a positive integer.
    NotPositive(&'static str),
}

impl fmt::Display for SearchConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotChosen(name) => write!(f, "tool-search: {name} must be true or false"),
            Self::NotPositive(name) => write!(f, "tool-search: {name} must be a positive integer"),
        }
    }
}

impl Error for SearchConfigError {}

fn positive(
    name: &'static str,
    value: &Option<Number>,
    default: u64,
) -> Result<u64, SearchConfigError> {
    match value {
        None => Ok(default),
        Some(value) => integer(value)
            .filter(|&value| value >= 1)
            .ok_or(SearchConfigError::NotPositive(name)),
    }
}

/// `2.0` is an integer (D2); one beyond `u64` is as good as its maximum.
fn integer(number: &Number) -> Option<u64> {
    number.as_u64().or_else(|| {
        let float = number.as_f64()?;
        // A float converts by saturation.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        (float >= 0.0 && float.fract() == 0.0).then_some(float as u64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(json: &str) -> Result<SearchConfig, String> {
        let settings = serde_json::from_str(json).map_err(|error| error.to_string())?;
        SearchConfig::new(&settings).map_err(|error| error.to_string())
    }

    #[test]
    fn f132_defaults() {
        let config = config(r#"{"sampleOverCapGlobResults":true}"#).unwrap();
        assert_eq!(config, SearchConfig::sampled(true));
        assert!(config.is_sampled());
        assert_eq!((config.max_paths(), config.max_matches()), (100, 250));
        assert_eq!(config.max_line_bytes(), 2000);
        assert_eq!(config.max_raw_bytes(), 20_000_000);
        assert_eq!(config.timeout(), Duration::from_secs(30));
        assert_eq!(config.grace(), Duration::from_secs(3));
        assert_eq!(config.max_meta_bytes(), 65_536);
    }

    #[test]
    fn f114_sampling_has_to_be_chosen() {
        assert_eq!(
            config("{}").unwrap_err(),
            "tool-search: sampleOverCapGlobResults must be true or false"
        );
        let plain = config(r#"{"sampleOverCapGlobResults":false}"#).unwrap();
        assert!(!plain.is_sampled());
    }

    #[test]
    fn f132_every_other_value_is_a_positive_integer() {
        for name in [
            "globMaxResults",
            "grepMaxMatches",
            "grepMaxLineBytes",
            "rawOutputMaxBytes",
            "timeoutMs",
            "graceMs",
            "stderrMaxBytes",
            "searchMetaMaxBytes",
        ] {
            let with =
                |value: &str| format!(r#"{{"sampleOverCapGlobResults":true,"{name}":{value}}}"#);
            for value in ["0", "-1", "1.5", "0.0"] {
                let error = config(&with(value)).unwrap_err();
                assert_eq!(
                    error,
                    format!("tool-search: {name} must be a positive integer")
                );
            }
            for value in ["1", "7.0", "1e3"] {
                config(&with(value)).unwrap();
            }
        }
        assert!(
            config(r#"{"sampleOverCapGlobResults":true,"globMax":1}"#)
                .unwrap_err()
                .contains("globMax")
        );
    }
}
