//! Stable machine codes of this crate. One page each under `docs/errors/`.

/// Code Mode was set up in a way that cannot work.
pub const CODE_MODE_REFUSED: &str = "CODE_MODE_REFUSED";
/// A program did not come to a result (C108).
pub const CODE_RUN_FAILED: &str = "CODE_RUN_FAILED";
