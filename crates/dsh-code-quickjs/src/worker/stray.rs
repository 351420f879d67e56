//! What a program leaves behind: calls that it never awaited, rejections that nothing handled (D15).

use std::cell::RefCell;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::rc::Rc;

use rquickjs::{Ctx, Persistent, Runtime, Value};

use crate::frame::{LIST_ENTRIES, LIST_ENTRY_BYTES};

/// The first entries of a diagnostic list, each cut to a sensible length.
pub(super) fn short(entries: impl IntoIterator<Item = impl AsRef<str>>) -> Vec<String> {
    entries
        .into_iter()
        .take(LIST_ENTRIES)
        .map(|entry| {
            let text = entry.as_ref();
            let end = text.floor_char_boundary(LIST_ENTRY_BYTES);
            text.get(..end).unwrap_or_default().to_owned()
        })
        .collect()
}

/// Rejections without a handler so far. They are ignored, and told (C277).
#[derive(Clone, Default)]
pub(super) struct Rejections {
    entries: Rc<RefCell<Vec<Rejection>>>,
}

struct Rejection {
    key: u64,
    /// Keeps the promise alive, so that its key stays its own.
    promise: Persistent<Value<'static>>,
    reason: Persistent<Value<'static>>,
}

impl Rejections {
    /// Listens to the engine.
    pub(super) fn watch(&self, runtime: &Runtime) {
        let entries = Rc::clone(&self.entries);
        runtime.set_host_promise_rejection_tracker(Some(Box::new(
            move |cx, promise, reason, is_handled| {
                let key = identity(&promise);
                let mut entries = entries.borrow_mut();
                if is_handled {
                    entries.retain(|entry| entry.key != key);
                } else if entries.len() < LIST_ENTRIES {
                    entries.push(Rejection {
                        key,
                        promise: Persistent::save(&cx, promise),
                        reason: Persistent::save(&cx, reason),
                    });
                }
            },
        )));
    }

    /// Forgets every entry, while the context they belong to still lives.
    pub(super) fn clear(&self) {
        drop(std::mem::take(&mut *self.entries.borrow_mut()));
    }

    /// Adds what a timer's callback threw.
    pub(super) fn add<'js>(&self, cx: &Ctx<'js>, thrown: Value<'js>) {
        let mut entries = self.entries.borrow_mut();
        if entries.len() < LIST_ENTRIES {
            entries.push(Rejection {
                key: identity(&thrown),
                promise: Persistent::save(cx, Value::new_null(cx.clone())),
                reason: Persistent::save(cx, thrown),
            });
        }
    }

    /// The reasons, except that of the promise which decides the run.
    pub(super) fn reasons<'js>(
        &self,
        cx: &Ctx<'js>,
        except: Option<&Value<'js>>,
    ) -> Vec<Value<'js>> {
        let except = except.map(identity);
        let entries = std::mem::take(&mut *self.entries.borrow_mut());
        entries
            .into_iter()
            .filter(|entry| Some(entry.key) != except)
            .filter_map(|entry| {
                drop(entry.promise);
                entry.reason.restore(cx).ok()
            })
            .collect()
    }
}

fn identity(value: &Value<'_>) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(value)
}
