//! `setTimeout` and `clearTimeout` (D15). Waiting for one is idle time, bounded by the wall ceiling.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use rquickjs::function::{Args, Opt, Rest};
use rquickjs::object::Property;
use rquickjs::{Ctx, Exception, Function, Result, Value};

/// The longest delay, as everywhere on the web.
const MAX_DELAY_MS: f64 = 2_147_483_647.0;

/// Timers that have not fired, in the order in which they are due.
#[derive(Default)]
pub(super) struct Timers<'js> {
    queue: RefCell<BTreeMap<(Instant, u32), Entry<'js>>>,
    due: RefCell<BTreeMap<u32, Instant>>,
    last: Cell<u32>,
}

struct Entry<'js> {
    callback: Function<'js>,
    arguments: Vec<Value<'js>>,
}

impl<'js> Timers<'js> {
    /// How long until the next one is due; `None` without any.
    pub(super) fn next(&self) -> Option<Duration> {
        let queue = self.queue.borrow();
        let ((due, _), _) = queue.first_key_value()?;
        Some(due.saturating_duration_since(Instant::now()))
    }

    /// Runs the next timer if it is due. What its callback throws is a rejection that nothing handled.
    pub(super) fn fire(&self, cx: &Ctx<'js>) -> Option<Result<()>> {
        let now = Instant::now();
        let entry = {
            let mut queue = self.queue.borrow_mut();
            let first = queue.first_entry().filter(|first| first.key().0 <= now)?;
            self.due.borrow_mut().remove(&first.key().1);
            first.remove()
        };
        let mut arguments = Args::new(cx.clone(), entry.arguments.len());
        if let Err(error) = arguments.push_args(entry.arguments) {
            return Some(Err(error));
        }
        Some(entry.callback.call_arg::<Value<'_>>(arguments).map(drop))
    }

    fn set(&self, callback: Function<'js>, delay: f64, arguments: Vec<Value<'js>>) -> u32 {
        // Out of range, NaN included, means at once.
        let delay = if (1.0..=MAX_DELAY_MS).contains(&delay) {
            delay
        } else {
            0.0
        };
        let due = Instant::now() + Duration::from_millis(delay as u64);
        let id = self.last.get().wrapping_add(1);
        self.last.set(id);
        self.due.borrow_mut().insert(id, due);
        self.queue.borrow_mut().insert(
            (due, id),
            Entry {
                callback,
                arguments,
            },
        );
        id
    }

    fn clear(&self, id: u32) {
        let due = self.due.borrow_mut().remove(&id);
        // The entry is dropped after the queue is free again: it may hold the last reference to anything.
        let entry = due.and_then(|due| self.queue.borrow_mut().remove(&(due, id)));
        drop(entry);
    }
}

/// Defines both functions.
pub(super) fn install<'js>(cx: &Ctx<'js>, timers: &Rc<Timers<'js>>) -> Result<()> {
    let globals = cx.globals();
    let owner = Rc::downgrade(timers);
    let set = Function::new(
        cx.clone(),
        move |cx: Ctx<'js>,
              callback: Opt<Value<'js>>,
              delay: Opt<Value<'js>>,
              arguments: Rest<Value<'js>>| {
            let Some(callback) = callback.0.and_then(Value::into_function) else {
                return Err(Exception::throw_type(&cx, "setTimeout needs a function"));
            };
            let delay = delay
                .0
                .and_then(|delay| delay.as_number())
                .unwrap_or_default();
            Ok(owner
                .upgrade()
                .map(|timers| timers.set(callback, delay, arguments.0)))
        },
    )?;
    let owner = Rc::downgrade(timers);
    let clear = Function::new(cx.clone(), move |id: Opt<Value<'js>>| {
        let id = id.0.and_then(|id| id.as_number());
        if let (Some(id), Some(timers)) = (id, owner.upgrade()) {
            timers.clear(id as u32);
        }
    })?;
    for (name, function) in [("setTimeout", set), ("clearTimeout", clear)] {
        globals.prop(
            name,
            Property::from(function.with_name(name)?)
                .writable()
                .configurable(),
        )?;
    }
    Ok(())
}
