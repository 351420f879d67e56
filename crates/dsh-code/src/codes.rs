//! Stable machine codes of this crate. One page each under `docs/errors/`.

/// A program did not come to a result (C108).
pub const CODE_RUN_FAILED: &str = "CODE_RUN_FAILED";
