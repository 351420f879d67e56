//! Regular expressions of foreign schemas.
//!
//! Nearly all patterns run in linear time. One with look-around or back references cannot; its search ends after a
//! fixed number of steps, and a value that it could not judge by then does not satisfy it.

use jsonschema::{FancyRegex, PatternOptions};

/// Steps back that a pattern with look-around may take.
const BACKTRACK_LIMIT: usize = 100_000;
/// Bytes that a compiled pattern may take.
const SIZE_LIMIT: usize = 1 << 20;

pub(super) fn options() -> PatternOptions<FancyRegex> {
    PatternOptions::fancy_regex()
        .backtrack_limit(BACKTRACK_LIMIT)
        .size_limit(SIZE_LIMIT)
        .dfa_size_limit(SIZE_LIMIT)
}

/// Whether the validator can compile `pattern`.
pub(super) fn compiles(pattern: &str) -> bool {
    let schema = serde_json::json!({ "pattern": pattern });
    jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .with_pattern_options(options())
        .offline()
        .build(&schema)
        .is_ok()
}
