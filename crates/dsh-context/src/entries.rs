//! Tables whose entries have no name.

use std::sync::{Arc, OnceLock};

use crate::ordered::{EntryId, Iter, Ordered};

/// An ordered table of anonymous values; equal values are independent entries (T146).
///
/// Evaluation runs over a [`snapshot`](Self::snapshot), never over the table itself, so a callback may
/// change the table while it is being evaluated and sees its change from the next evaluation on (D8).
///
/// # Examples
///
/// ```
/// use dsh_context::EntryTable;
///
/// let mut table = EntryTable::new();
/// let last = table.push("b");
/// table.prepend("a");
/// let before = table.snapshot();
/// table.remove(last);
///
/// assert_eq!(*before, ["a", "b"]);
/// assert_eq!(*table.snapshot(), ["a"]);
/// ```
#[derive(Debug, Clone)]
pub struct EntryTable<V> {
    entries: Ordered<V>,
    /// Filled by the first reader after a change, emptied by the next change.
    snapshot: OnceLock<Arc<[V]>>,
}

impl<V> Default for EntryTable<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V> EntryTable<V> {
    /// An empty table.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            entries: Ordered::new(),
            snapshot: OnceLock::new(),
        }
    }

    /// Adds a value behind all others.
    pub fn push(&mut self, value: V) -> EntryId {
        self.snapshot.take();
        self.entries.push_back(value)
    }

    /// Adds a value in front of all others.
    pub fn prepend(&mut self, value: V) -> EntryId {
        self.snapshot.take();
        self.entries.push_front(value)
    }

    /// Removes exactly one insertion; `None` when it is gone already.
    pub fn remove(&mut self, id: EntryId) -> Option<V> {
        let value = self.entries.remove(id)?;
        self.snapshot.take();
        Some(value)
    }

    /// The value of one insertion, while it is present.
    #[must_use]
    pub fn get(&self, id: EntryId) -> Option<&V> {
        self.entries.get(id)
    }

    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the table has no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Values in order.
    #[must_use]
    pub fn iter(&self) -> EntryIter<'_, V> {
        EntryIter {
            entries: self.entries.iter(),
        }
    }
}

impl<V: Clone> EntryTable<V> {
    /// The values at this moment, in order.
    ///
    /// The slice is built by the first call after a change and shared by all further ones, so an
    /// unchanged table costs one reference count per evaluation.
    #[must_use]
    pub fn snapshot(&self) -> Arc<[V]> {
        Arc::clone(self.snapshot.get_or_init(|| self.iter().cloned().collect()))
    }
}

impl<'a, V> IntoIterator for &'a EntryTable<V> {
    type Item = &'a V;
    type IntoIter = EntryIter<'a, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Iterator of [`EntryTable::iter`].
#[derive(Debug, Clone)]
pub struct EntryIter<'a, V> {
    entries: Iter<'a, V>,
}

impl<'a, V> Iterator for EntryIter<'a, V> {
    type Item = &'a V;

    fn next(&mut self) -> Option<Self::Item> {
        self.entries.next().map(|(_, value)| value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.entries.size_hint()
    }
}

impl<V> ExactSizeIterator for EntryIter<'_, V> {}
