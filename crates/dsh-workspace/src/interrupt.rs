//! How blocking work learns that nobody wants its answer any more.

/// A question that blocking functions ask before and after each step: has the caller given up?
///
/// It is asked often, at least once for every 64 KiB read, so it should be as cheap as an atomic
/// load. Once it has answered `true` it must not go back to `false`.
pub type Interrupt<'a> = &'a (dyn Fn() -> bool + 'a);

/// The interrupt of a caller that waits for as long as it takes.
///
/// # Examples
///
/// ```
/// # use dsh_workspace::{Workspace, never};
/// # let directory = tempfile::tempdir()?;
/// let workspace = Workspace::open(directory.path())?;
/// let target = workspace.resolve("missing.txt")?;
/// assert!(workspace.stat(&target, &never)?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn never() -> bool {
    false
}
