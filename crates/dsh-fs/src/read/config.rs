//! The limits of the tool (F62).

use std::error::Error;
use std::fmt;

use serde::Deserialize;
use serde_json::Number;

/// What a configuration file may say, under the names it uses there.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ReadSettings {
    /// Lines returned at most, and by default.
    pub read_limit: Option<Number>,
    /// Characters of a line returned at most.
    pub read_max_line_length: Option<Number>,
    /// Bytes of text returned at most.
    pub read_max_bytes: Option<Number>,
    /// Accepted and checked for the sake of existing configurations. It has no effect: files of
    /// every size are streamed.
    pub read_stream_min_size: Option<Number>,
}

/// The limits of the `read` tool, all positive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadConfig {
    limit: u64,
    max_line_length: u64,
    max_bytes: u64,
}

impl Default for ReadConfig {
    /// 2,000 lines of 2,000 characters each, 51,200 bytes together.
    fn default() -> Self {
        Self {
            limit: 2000,
            max_line_length: 2000,
            max_bytes: 51200,
        }
    }
}

impl ReadConfig {
    /// Takes the limits from settings, and the default for each one that is absent.
    ///
    /// # Errors
    ///
    /// Names the first setting that is not a positive integer.
    pub fn new(settings: &ReadSettings) -> Result<Self, ConfigError> {
        let default = Self::default();
        let config = Self {
            limit: positive("readLimit", settings.read_limit.as_ref(), default.limit)?,
            max_line_length: positive(
                "readMaxLineLength",
                settings.read_max_line_length.as_ref(),
                default.max_line_length,
            )?,
            max_bytes: positive(
                "readMaxBytes",
                settings.read_max_bytes.as_ref(),
                default.max_bytes,
            )?,
        };
        positive(
            "readStreamMinSize",
            settings.read_stream_min_size.as_ref(),
            1,
        )?;
        Ok(config)
    }

    /// Lines returned at most, and by default.
    #[must_use]
    pub const fn limit(&self) -> u64 {
        self.limit
    }

    /// Characters (Unicode scalar values) of a line returned at most.
    #[must_use]
    pub const fn max_line_length(&self) -> u64 {
        self.max_line_length
    }

    /// Bytes of text returned at most.
    #[must_use]
    pub const fn max_bytes(&self) -> u64 {
        self.max_bytes
    }
}

/// A setting that is not a positive integer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    name: &'static str,
}

impl ConfigError {
    /// The name of the setting.
    #[must_use]
    pub const fn setting(&self) -> &'static str {
        self.name
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tool-fs: {} must be a positive integer", self.name)
    }
}

impl Error for ConfigError {}

fn positive(name: &'static str, value: Option<&Number>, default: u64) -> Result<u64, ConfigError> {
    match value {
        None => Ok(default),
        Some(value) => integer(value)
            .filter(|&value| value >= 1)
            .ok_or(ConfigError { name }),
    }
}

/// The number as a non-negative integer if it is one; `2.0` is (D2). What is too large for a `u64`
/// becomes its maximum, which is beyond every limit and every file.
pub(super) fn integer(number: &Number) -> Option<u64> {
    if let Some(integer) = number.as_u64() {
        return Some(integer);
    }
    let float = number.as_f64()?;
    // A float converts by saturation.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    (float >= 0.0 && float.fract() == 0.0).then_some(float as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(json: &str) -> Result<ReadConfig, String> {
        let settings = serde_json::from_str(json).map_err(|error| error.to_string())?;
        ReadConfig::new(&settings).map_err(|error| error.to_string())
    }

    #[test]
    fn f62_defaults() {
        let config = config("{}").unwrap();
        assert_eq!(config, ReadConfig::default());
        assert_eq!(
            (config.limit(), config.max_line_length(), config.max_bytes()),
            (2000, 2000, 51200)
        );
    }

    #[test]
    fn f62_every_value_is_a_positive_integer() {
        for name in [
            "readLimit",
            "readMaxLineLength",
            "readMaxBytes",
            "readStreamMinSize",
        ] {
            for value in ["0", "-1", "1.5", "-0.5", "0.0"] {
                let error = config(&format!("{{\"{name}\":{value}}}")).unwrap_err();
                assert_eq!(error, format!("tool-fs: {name} must be a positive integer"));
            }
            for value in ["1", "7.0", "1e3"] {
                config(&format!("{{\"{name}\":{value}}}")).unwrap();
            }
        }
        let set = config(r#"{"readLimit":3,"readMaxLineLength":4.0,"readMaxBytes":5}"#).unwrap();
        assert_eq!(
            (set.limit(), set.max_line_length(), set.max_bytes()),
            (3, 4, 5)
        );
    }

    #[test]
    fn integers_of_json() {
        let of = |json: &str| integer(&serde_json::from_str(json).unwrap());
        assert_eq!(of("2.0"), Some(2));
        assert_eq!(of("18446744073709551615"), Some(u64::MAX));
        assert_eq!(of("1e300"), Some(u64::MAX));
        assert_eq!(of("-1"), None);
        assert_eq!(of("1.5"), None);
    }
}
