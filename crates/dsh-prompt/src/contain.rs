//! Panics of contributions become failures of the assembly.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::PromptError;

/// Runs a contribution.
pub(crate) fn contain<T>(
    what: &str,
    run: impl FnOnce() -> Result<T, PromptError>,
) -> Result<T, PromptError> {
    // Nothing of the registry is held or changed meanwhile, so its state is valid afterwards.
    catch_unwind(AssertUnwindSafe(run))
        .unwrap_or_else(|_| Err(PromptError::new(format!("{what} panicked"))))
}
