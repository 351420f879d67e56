//! Panics of contributions become failures of the assembly.

use crate::PromptError;

/// Runs a contribution.
pub(crate) fn contain<T>(
    what: &str,
    run: impl FnOnce() -> Result<T, PromptError>,
) -> Result<T, PromptError> {
    dsh_context::contain(run).unwrap_or_else(|_| Err(PromptError::new(format!("{what} panicked"))))
}
