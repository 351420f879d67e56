//! What an abrupt end can still tell: the calls that have no answer.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::clock::{Clock, micros};
use crate::frame::{LIST_ENTRIES, LIST_ENTRY_BYTES, Strays};

/// Calls without an answer, by id.
#[derive(Default)]
pub(super) struct Outstanding {
    names: RefCell<BTreeMap<u64, Rc<str>>>,
}

impl Outstanding {
    pub(super) fn add(&self, id: u64, name: Rc<str>) {
        self.names.borrow_mut().insert(id, name);
    }

    pub(super) fn remove(&self, id: u64) {
        self.names.borrow_mut().remove(&id);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.names.borrow().is_empty()
    }

    /// The report of a run that ends without a look at its values.
    pub(super) fn strays(&self, clock: &Clock) -> Strays {
        Strays {
            busy_us: micros(clock.busy()),
            unawaited: Vec::new(),
            rejections: Vec::new(),
        }
    }
}

/// The first entries of a diagnostic list, each cut to a sensible length.
pub(super) fn short<'t>(entries: impl IntoIterator<Item = &'t str>) -> Vec<String> {
    entries
        .into_iter()
        .take(LIST_ENTRIES)
        .map(|text| {
            text.get(..text.floor_char_boundary(LIST_ENTRY_BYTES))
                .unwrap_or_default()
                .to_owned()
        })
        .collect()
}
