//! From arguments to a request (F61).

use std::error::Error;
use std::fmt;

use serde_json::Number;

use super::config::{ReadConfig, integer};
use super::window::WindowLimits;

/// What one call asks for, its values checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadRequest {
    path: String,
    limits: WindowLimits,
}

/// An argument whose value is not acceptable although its type is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArgumentError {
    /// The path is blank.
    BlankPath,
    /// The argument of that name is not a positive integer.
    NotPositive(&'static str),
    /// `limit` is above this cap.
    LimitTooLarge(u64),
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BlankPath => f.write_str("file_path must be a non-empty string"),
            Self::NotPositive(name) => write!(f, "{name} must be a positive integer"),
            Self::LimitTooLarge(cap) => write!(f, "limit must be less than or equal to {cap}"),
        }
    }
}

impl Error for ArgumentError {}

impl ReadRequest {
    /// Checks the arguments of a call. An absent `offset` is 1, an absent `limit` the configured
    /// one.
    ///
    /// # Errors
    ///
    /// The first argument that is not acceptable, in the order path, offset, limit.
    pub fn new(
        file_path: &str,
        offset: Option<&Number>,
        limit: Option<&Number>,
        config: &ReadConfig,
    ) -> Result<Self, ArgumentError> {
        if file_path.trim().is_empty() {
            return Err(ArgumentError::BlankPath);
        }
        let positive = |name, value: Option<&Number>, default| match value {
            None => Ok(default),
            Some(value) => integer(value)
                .filter(|&value| value >= 1)
                .ok_or(ArgumentError::NotPositive(name)),
        };
        let offset = positive("offset", offset, 1)?;
        let limit = positive("limit", limit, config.limit())?;
        if limit > config.limit() {
            return Err(ArgumentError::LimitTooLarge(config.limit()));
        }
        let limits = WindowLimits {
            offset,
            limit,
            max_line_length: config.max_line_length(),
            max_bytes: config.max_bytes(),
        };
        Ok(Self {
            path: file_path.to_owned(),
            limits,
        })
    }

    /// The path as the caller spelled it.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The window asked for.
    #[must_use]
    pub const fn limits(&self) -> &WindowLimits {
        &self.limits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(path: &str, offset: &str, limit: &str) -> Result<ReadRequest, String> {
        let number = |json: &str| serde_json::from_str::<Option<Number>>(json).unwrap();
        let config = ReadConfig::default();
        ReadRequest::new(
            path,
            number(offset).as_ref(),
            number(limit).as_ref(),
            &config,
        )
        .map_err(|error| error.to_string())
    }

    #[test]
    fn f61_value_errors() {
        for (path, offset, limit, text) in [
            ("", "null", "null", "file_path must be a non-empty string"),
            (" \n", "0", "0", "file_path must be a non-empty string"),
            ("a", "0", "0", "offset must be a positive integer"),
            ("a", "-1", "null", "offset must be a positive integer"),
            ("a", "1.5", "null", "offset must be a positive integer"),
            ("a", "1", "0", "limit must be a positive integer"),
            ("a", "null", "0.1", "limit must be a positive integer"),
            (
                "a",
                "null",
                "2001",
                "limit must be less than or equal to 2000",
            ),
            (
                "a",
                "null",
                "1e300",
                "limit must be less than or equal to 2000",
            ),
        ] {
            assert_eq!(request(path, offset, limit).unwrap_err(), text);
        }
    }

    #[test]
    fn f61_acceptable_values() {
        let all = request("a b", "null", "null").unwrap();
        assert_eq!(
            (all.path(), all.limits().offset, all.limits().limit),
            ("a b", 1, 2000)
        );
        let some = request("a", "7.0", "2000").unwrap();
        assert_eq!((some.limits().offset, some.limits().limit), (7, 2000));
    }
}
