//! Tables whose entries have unique names.

use std::{error::Error, fmt, sync::Arc};

use foldhash::{HashMap, HashMapExt};

use crate::ordered::{EntryId, Iter, Ordered};

/// A table of uniquely named values in insertion order.
///
/// Lookup by name, insertion and removal take constant time; removal keeps the order of the rest. A
/// removal names one *insertion* by its [`EntryId`], so a stale undo never takes away a newcomer that
/// reuses the name (T67, T145).
///
/// The table does no locking of its own: its owner keeps it behind whatever it publishes from.
///
/// # Examples
///
/// ```
/// use dsh_context::NamedTable;
///
/// let mut table = NamedTable::new();
/// let first = table.insert("read", 1).unwrap();
/// assert!(table.insert("read", 2).is_err());
///
/// assert_eq!(table.remove(first), Some(1));
/// table.insert("read", 3).unwrap();
/// assert_eq!(table.remove(first), None, "the newcomer stays");
/// assert_eq!(table.get("read"), Some(&3));
/// ```
#[derive(Debug, Clone)]
pub struct NamedTable<V> {
    entries: Ordered<(Arc<str>, V)>,
    index: HashMap<Arc<str>, EntryId>,
}

impl<V> Default for NamedTable<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V> NamedTable<V> {
    /// An empty table.
    #[must_use]
    pub fn new() -> Self {
        Self {
            entries: Ordered::new(),
            index: HashMap::new(),
        }
    }

    /// Adds a value under a name that is free, as the last entry.
    ///
    /// # Errors
    ///
    /// [`Duplicate`] when the name is taken; it hands the value back, and the table is unchanged. The
    /// owner words its own message from it.
    pub fn insert(&mut self, name: impl Into<Arc<str>>, value: V) -> Result<EntryId, Duplicate<V>> {
        let name = name.into();
        if let Some(&existing) = self.index.get(&name) {
            return Err(Duplicate {
                name,
                value,
                existing,
            });
        }
        let id = self.entries.push_back((Arc::clone(&name), value));
        self.index.insert(name, id);
        Ok(id)
    }

    /// The value under `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&V> {
        self.entry(name).map(|(_, value)| value)
    }

    /// The value under `name` together with the id of its insertion.
    #[must_use]
    pub fn entry(&self, name: &str) -> Option<(EntryId, &V)> {
        let &id = self.index.get(name)?;
        self.entries.get(id).map(|(_, value)| (id, value))
    }

    /// The name and value of one insertion, while it is present.
    #[must_use]
    pub fn get_by_id(&self, id: EntryId) -> Option<(&Arc<str>, &V)> {
        self.entries.get(id).map(|(name, value)| (name, value))
    }

    /// The value of one insertion, for changing it in place.
    #[must_use]
    pub fn get_mut(&mut self, id: EntryId) -> Option<&mut V> {
        self.entries.get_mut(id).map(|(_, value)| value)
    }

    /// Whether `name` is taken.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.index.contains_key(name)
    }

    /// Removes exactly one insertion; `None` when it is gone already (T66, T67).
    pub fn remove(&mut self, id: EntryId) -> Option<V> {
        let (name, value) = self.entries.remove(id)?;
        self.index.remove(&name);
        Some(value)
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

    /// Names and values in insertion order.
    #[must_use]
    pub fn iter(&self) -> NamedIter<'_, V> {
        NamedIter {
            entries: self.entries.iter(),
        }
    }

    /// Merges tables, given from farthest to nearest (T149).
    ///
    /// A later table's entry replaces an earlier one of the same name and keeps the *position* of the
    /// one that it shadows.
    ///
    /// ```
    /// use dsh_context::NamedTable;
    ///
    /// let (mut global, mut scoped) = (NamedTable::new(), NamedTable::new());
    /// global.insert("a", 1).unwrap();
    /// global.insert("b", 2).unwrap();
    /// scoped.insert("c", 3).unwrap();
    /// scoped.insert("a", 4).unwrap();
    ///
    /// let merged = NamedTable::merge([&global, &scoped]);
    /// let merged: Vec<_> = merged.into_iter().map(|(name, &value)| (&**name, value)).collect();
    /// assert_eq!(merged, [("a", 4), ("b", 2), ("c", 3)]);
    /// ```
    pub fn merge<'a>(tables: impl IntoIterator<Item = &'a Self>) -> Vec<(&'a Arc<str>, &'a V)> {
        let mut merged: Vec<(&'a Arc<str>, &'a V)> = Vec::new();
        let mut places: HashMap<&'a str, usize> = HashMap::new();
        for table in tables {
            for (name, value) in table {
                let place = *places.entry(name).or_insert(merged.len());
                match merged.get_mut(place) {
                    Some(shadowed) => *shadowed = (name, value),
                    None => merged.push((name, value)),
                }
            }
        }
        merged
    }
}

impl<'a, V> IntoIterator for &'a NamedTable<V> {
    type Item = (&'a Arc<str>, &'a V);
    type IntoIter = NamedIter<'a, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Iterator of [`NamedTable::iter`].
#[derive(Debug, Clone)]
pub struct NamedIter<'a, V> {
    entries: Iter<'a, (Arc<str>, V)>,
}

impl<'a, V> Iterator for NamedIter<'a, V> {
    type Item = (&'a Arc<str>, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        self.entries.next().map(|(_, (name, value))| (name, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.entries.size_hint()
    }
}

impl<V> ExactSizeIterator for NamedIter<'_, V> {}

/// A name is taken already; carries the rejected value back to its owner.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Duplicate<V> {
    /// The name that was asked for.
    pub name: Arc<str>,
    /// The value that was not inserted.
    pub value: V,
    /// The insertion that holds the name.
    pub existing: EntryId,
}

impl<V> fmt::Debug for Duplicate<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Duplicate")
            .field("name", &self.name)
            .field("existing", &self.existing)
            .finish_non_exhaustive()
    }
}

impl<V> fmt::Display for Duplicate<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the name `{}` is already taken in this table", self.name)
    }
}

impl<V> Error for Duplicate<V> {}
