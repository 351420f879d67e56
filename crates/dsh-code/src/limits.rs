//! The budgets of a run.

use serde::{Deserialize, Serialize};

use crate::Misuse;

/// The budgets of a run (C224). Serialised under the names that the messages use: `computeMs`, `maxWallMs`,
/// `maxMemoryBytes`, `maxOutputBytes`, `maxSourceBytes`.
///
/// # Examples
///
/// ```
/// use dsh_code::Limits;
///
/// let limits = Limits { compute_ms: 0, ..Limits::default() };
/// assert_eq!(limits.validate().unwrap_err().to_string(), "computeMs must be a positive number");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Busy time of the program in milliseconds; waiting costs nothing (C226).
    #[serde(rename = "computeMs")]
    pub compute_ms: u64,
    /// Time from start to end in milliseconds; never pauses (C228).
    #[serde(rename = "maxWallMs")]
    pub wall_ms: u64,
    /// Bytes of memory that a program may hold.
    #[serde(rename = "maxMemoryBytes")]
    pub memory_bytes: u64,
    /// Bytes of the JSON of logs and completion together (C214).
    #[serde(rename = "maxOutputBytes")]
    pub output_bytes: u64,
    /// Bytes of the program's text (D17).
    #[serde(rename = "maxSourceBytes")]
    pub source_bytes: u64,
}

impl Limits {
    /// The longest wall ceiling, some 24 days. The bound keeps configurations portable (C225).
    pub const MAX_WALL_MS: u64 = 2_147_483_647;

    /// The smallest output cap: an empty list of logs and an empty message.
    pub const MIN_OUTPUT_BYTES: u64 = 4;

    /// The largest integer that every reader of a configuration holds exactly.
    const MAX_SAFE: u64 = (1 << 53) - 1;

    /// Checks that every limit makes sense.
    ///
    /// # Errors
    ///
    /// A limit of zero, an output cap below 4 or beyond 2^53, or a wall ceiling beyond [`Limits::MAX_WALL_MS`]; the
    /// message names it.
    pub fn validate(&self) -> Result<(), Misuse> {
        let positive = [
            ("computeMs", self.compute_ms),
            ("maxWallMs", self.wall_ms),
            ("maxMemoryBytes", self.memory_bytes),
            ("maxSourceBytes", self.source_bytes),
        ];
        for (name, value) in positive {
            if value == 0 {
                return Err(Misuse::new(format!("{name} must be a positive number")));
            }
        }
        if !(Self::MIN_OUTPUT_BYTES..=Self::MAX_SAFE).contains(&self.output_bytes) {
            return Err(Misuse::new(
                "maxOutputBytes must be a safe integer of at least 4",
            ));
        }
        if self.wall_ms > Self::MAX_WALL_MS {
            return Err(Misuse::new("maxWallMs must be at most 2147483647"));
        }
        Ok(())
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            compute_ms: 60_000,
            wall_ms: 600_000,
            memory_bytes: 512 << 20,
            output_bytes: 64 << 20,
            source_bytes: 256 << 10,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(limits: Limits, message: &str) {
        assert_eq!(limits.validate().unwrap_err().to_string(), message);
    }

    /// C224, C225.
    #[test]
    fn each_limit_has_its_bounds() {
        let good = Limits::default();
        assert_eq!(good.validate(), Ok(()));
        assert_eq!(good.output_bytes, 67_108_864);
        refused(
            Limits {
                compute_ms: 0,
                ..good
            },
            "computeMs must be a positive number",
        );
        refused(
            Limits { wall_ms: 0, ..good },
            "maxWallMs must be a positive number",
        );
        refused(
            Limits {
                memory_bytes: 0,
                ..good
            },
            "maxMemoryBytes must be a positive number",
        );
        refused(
            Limits {
                source_bytes: 0,
                ..good
            },
            "maxSourceBytes must be a positive number",
        );
        for output_bytes in [0, 3, 1 << 53] {
            let limits = Limits {
                output_bytes,
                ..good
            };
            refused(
                limits,
                "maxOutputBytes must be a safe integer of at least 4",
            );
        }
        assert_eq!(
            Limits {
                output_bytes: 4,
                ..good
            }
            .validate(),
            Ok(())
        );
        assert_eq!(
            Limits {
                wall_ms: Limits::MAX_WALL_MS,
                ..good
            }
            .validate(),
            Ok(())
        );
        refused(
            Limits {
                wall_ms: Limits::MAX_WALL_MS + 1,
                ..good
            },
            "maxWallMs must be at most 2147483647",
        );
    }

    #[test]
    fn a_configuration_names_limits_as_the_messages_do() {
        let limits: Limits = serde_json::from_str(r#"{"maxWallMs":5}"#).unwrap();
        assert_eq!(
            limits,
            Limits {
                wall_ms: 5,
                ..Limits::default()
            }
        );
        assert!(serde_json::from_str::<Limits>(r#"{"wallMs":5}"#).is_err());
    }
}
