//! A slab whose entries also form a doubly linked list.
//!
//! Fibers and both tables need the same four things: a stable order, removal from the middle in
//! constant time, keys that never hit a later tenant of the same slot, and no allocation per entry.

const NONE: u32 = u32::MAX;

/// Names one insertion of one table, and never a later one.
///
/// An id is only meaningful to the table that issued it and to clones of that table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EntryId {
    slot: u32,
    stamp: u64,
}

impl EntryId {
    /// Insertions are stamped in ascending order.
    pub(crate) const fn stamp(self) -> u64 {
        self.stamp
    }
}

#[derive(Debug, Clone)]
struct Slot<T> {
    /// The insertion that lives here; stale ids carry another stamp.
    stamp: u64,
    previous: u32,
    /// Next in order, or the next vacant slot.
    next: u32,
    linked: bool,
    value: Option<T>,
}

/// Insertion-ordered storage with exact, constant-time removal.
#[derive(Debug, Clone)]
pub(crate) struct Ordered<T> {
    slots: Vec<Slot<T>>,
    first: u32,
    last: u32,
    vacant: u32,
    stamps: u64,
    linked: usize,
}

impl<T> Default for Ordered<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Ordered<T> {
    pub(crate) const fn new() -> Self {
        Self {
            slots: Vec::new(),
            first: NONE,
            last: NONE,
            vacant: NONE,
            stamps: 0,
            linked: 0,
        }
    }

    /// Number of entries in the order; unlinked ones do not count.
    pub(crate) const fn len(&self) -> usize {
        self.linked
    }

    pub(crate) fn push_back(&mut self, value: T) -> EntryId {
        let id = self.occupy(value);
        self.link_back(id.slot);
        id
    }

    pub(crate) fn push_front(&mut self, value: T) -> EntryId {
        let id = self.occupy(value);
        self.link_front(id.slot);
        id
    }

    pub(crate) fn get(&self, id: EntryId) -> Option<&T> {
        let slot = self.slots.get(id.slot as usize)?;
        if slot.stamp == id.stamp {
            slot.value.as_ref()
        } else {
            None
        }
    }

    pub(crate) fn get_mut(&mut self, id: EntryId) -> Option<&mut T> {
        let slot = self.slots.get_mut(id.slot as usize)?;
        if slot.stamp == id.stamp {
            slot.value.as_mut()
        } else {
            None
        }
    }

    pub(crate) fn last(&self) -> Option<EntryId> {
        let slot = self.slots.get(self.last as usize)?;
        Some(EntryId {
            slot: self.last,
            stamp: slot.stamp,
        })
    }

    /// Takes an entry out of the order but keeps it, and its id, alive.
    pub(crate) fn unlink(&mut self, id: EntryId) {
        if self.get(id).is_some() {
            self.detach(id.slot);
        }
    }

    /// Puts an unlinked entry back, as the last of the order.
    pub(crate) fn relink_back(&mut self, id: EntryId) {
        if self.get(id).is_some() && !self.slots[id.slot as usize].linked {
            self.link_back(id.slot);
        }
    }

    pub(crate) fn remove(&mut self, id: EntryId) -> Option<T> {
        self.get(id)?;
        self.detach(id.slot);
        let vacant = self.vacant;
        let slot = &mut self.slots[id.slot as usize];
        slot.next = vacant;
        self.vacant = id.slot;
        slot.value.take()
    }

    /// Entries in order.
    pub(crate) const fn iter(&self) -> Iter<'_, T> {
        Iter {
            ordered: self,
            front: self.first,
            left: self.linked,
        }
    }

    /// Every entry, unlinked ones included, in no particular order.
    pub(crate) fn scan(&self) -> impl Iterator<Item = (EntryId, &T)> {
        self.slots.iter().enumerate().filter_map(|(at, slot)| {
            let value = slot.value.as_ref()?;
            Some((
                EntryId {
                    slot: index(at),
                    stamp: slot.stamp,
                },
                value,
            ))
        })
    }

    fn occupy(&mut self, value: T) -> EntryId {
        let stamp = self.stamps;
        self.stamps += 1;
        if self.vacant == NONE {
            let slot = index(self.slots.len());
            self.slots.push(Slot {
                stamp,
                previous: NONE,
                next: NONE,
                linked: false,
                value: Some(value),
            });
            return EntryId { slot, stamp };
        }
        let at = self.vacant;
        let slot = &mut self.slots[at as usize];
        self.vacant = slot.next;
        slot.stamp = stamp;
        slot.value = Some(value);
        EntryId { slot: at, stamp }
    }

    fn link_back(&mut self, at: u32) {
        let last = self.last;
        let slot = &mut self.slots[at as usize];
        slot.linked = true;
        slot.previous = last;
        slot.next = NONE;
        match self.slots.get_mut(last as usize) {
            Some(before) => before.next = at,
            None => self.first = at,
        }
        self.last = at;
        self.linked += 1;
    }

    fn link_front(&mut self, at: u32) {
        let first = self.first;
        let slot = &mut self.slots[at as usize];
        slot.linked = true;
        slot.previous = NONE;
        slot.next = first;
        match self.slots.get_mut(first as usize) {
            Some(after) => after.previous = at,
            None => self.last = at,
        }
        self.first = at;
        self.linked += 1;
    }

    fn detach(&mut self, at: u32) {
        let slot = &mut self.slots[at as usize];
        if !slot.linked {
            return;
        }
        slot.linked = false;
        let (previous, next) = (slot.previous, slot.next);
        match self.slots.get_mut(previous as usize) {
            Some(before) => before.next = next,
            None => self.first = next,
        }
        match self.slots.get_mut(next as usize) {
            Some(after) => after.previous = previous,
            None => self.last = previous,
        }
        self.linked -= 1;
    }
}

/// Iterator of [`Ordered::iter`].
#[derive(Debug)]
pub(crate) struct Iter<'a, T> {
    ordered: &'a Ordered<T>,
    front: u32,
    left: usize,
}

impl<T> Clone for Iter<'_, T> {
    fn clone(&self) -> Self {
        Self {
            ordered: self.ordered,
            front: self.front,
            left: self.left,
        }
    }
}

impl<'a, T> Iterator for Iter<'a, T> {
    type Item = (EntryId, &'a T);

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.front;
        let slot = self.ordered.slots.get(at as usize)?;
        self.front = slot.next;
        self.left -= 1;
        let value = slot.value.as_ref()?;
        Some((
            EntryId {
                slot: at,
                stamp: slot.stamp,
            },
            value,
        ))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<T> ExactSizeIterator for Iter<'_, T> {}

fn index(at: usize) -> u32 {
    // Four billion entries of at least forty bytes do not fit into any address space we run in.
    u32::try_from(at)
        .ok()
        .filter(|&at| at != NONE)
        .expect("a table holds fewer than 2^32 entries")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(ordered: &Ordered<u32>) -> Vec<u32> {
        ordered.iter().map(|(_, &value)| value).collect()
    }

    #[test]
    fn keeps_order_through_removal_and_slot_reuse() {
        let mut ordered = Ordered::new();
        let ids: Vec<_> = (0..5).map(|value| ordered.push_back(value)).collect();
        assert_eq!(ordered.remove(ids[1]), Some(1));
        assert_eq!(ordered.remove(ids[4]), Some(4));
        ordered.push_back(5);
        ordered.push_front(6);
        assert_eq!(values(&ordered), [6, 0, 2, 3, 5]);
        assert_eq!(ordered.slots.len(), 5, "vacant slots are reused");
        assert_eq!(ordered.len(), 5);
    }

    #[test]
    fn a_stale_id_never_reaches_the_next_tenant() {
        let mut ordered = Ordered::new();
        let stale = ordered.push_back(1);
        ordered.remove(stale);
        let fresh = ordered.push_back(2);
        assert_eq!(ordered.get(stale), None);
        assert_eq!(ordered.remove(stale), None);
        assert_eq!(ordered.get(fresh), Some(&2));
    }

    #[test]
    fn unlinked_entries_stay_reachable_by_id_only() {
        let mut ordered = Ordered::new();
        let first = ordered.push_back(1);
        ordered.push_back(2);
        ordered.unlink(first);
        ordered.unlink(first);
        assert_eq!(values(&ordered), [2]);
        assert_eq!(ordered.get(first), Some(&1));
        assert_eq!(ordered.scan().count(), 2);
        ordered.relink_back(first);
        ordered.relink_back(first);
        assert_eq!(values(&ordered), [2, 1]);
        assert_eq!(ordered.last(), Some(first));
    }

    #[test]
    fn drains_to_empty_from_either_end() {
        let mut ordered = Ordered::new();
        for _ in 0..2 {
            let ids: Vec<_> = (0..3).map(|value| ordered.push_back(value)).collect();
            for &id in &ids {
                ordered.remove(id);
            }
            assert_eq!(ordered.last(), None);
            assert_eq!(values(&ordered), []);
        }
    }
}
