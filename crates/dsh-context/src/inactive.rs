//! The refusal of an effect on a lifetime that is over or ending.

use std::{error::Error, fmt};

/// An effect was registered on a fiber that no longer accepts any.
///
/// The fiber is unloading, disposed or failed (L13, T71). The registration changed nothing: the undo
/// that was handed over is dropped without being run, so a caller either registers its effect before
/// it makes the change or takes the change back itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InactiveEffect;

impl InactiveEffect {
    /// The stable code of this error.
    pub const CODE: &'static str = "INACTIVE_EFFECT";

    /// The stable code of this error, `INACTIVE_EFFECT`.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        Self::CODE
    }
}

impl fmt::Display for InactiveEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cannot create effect on inactive context")
    }
}

impl Error for InactiveEffect {}
