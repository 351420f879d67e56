//! What happened, in the order it happened.

use std::sync::Arc;

use parking_lot::Mutex;

/// A shared list of notes; all clones write to the same one.
///
/// # Examples
///
/// ```
/// let trace = dsh_testkit::Trace::new();
/// trace.clone().note("first");
/// trace.note("second");
/// assert_eq!(trace.take(), ["first", "second"]);
/// assert!(trace.entries().is_empty());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Trace(Arc<Mutex<Vec<String>>>);

impl Trace {
    /// An empty trace.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a note at the end.
    pub fn note(&self, entry: impl Into<String>) {
        self.0.lock().push(entry.into());
    }

    /// The notes so far.
    #[must_use]
    pub fn entries(&self) -> Vec<String> {
        self.0.lock().clone()
    }

    /// The notes so far; the trace is empty afterwards.
    #[must_use = "notes that nobody looks at need not be taken"]
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock())
    }

    /// How many notes are exactly this one.
    #[must_use]
    pub fn count(&self, entry: &str) -> usize {
        self.0.lock().iter().filter(|note| *note == entry).count()
    }
}
