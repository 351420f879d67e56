//! The worker: one program, then the end of the process.
//!
//! [`entry`] is the hidden half of `main`. It hardens the process while there is one thread and no program byte, builds
//! engine and world ahead of time, says hello, and then serves the one boot frame it gets. Every way out of a run ends the
//! process, so nothing here is ever torn down.

mod arrival;
mod call;
mod channel;
mod clock;
mod console;
mod failure;
mod globals;
pub(crate) mod harden;
mod heap;
mod inspect;
mod raw;
mod realm;
mod run;
mod stray;
mod timer;
mod walker;

use std::cell::RefCell;
use std::rc::Rc;

use channel::Channel;
use clock::Clock;
use heap::{Gauge, Heap};
use rquickjs::{Context, Runtime};

use crate::frame::Report;
use crate::start;

/// Depth of the engine's own stack. The native stack is larger, so the engine's check always comes first (C258).
const ENGINE_STACK: usize = 1 << 20;

/// Serves as a worker if this process was started as one, and then does not return.
pub(crate) fn entry() {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == start::MARKER) {
        let terms = arguments.next().and_then(|terms| terms.into_string().ok());
        let code = match terms.as_deref().and_then(start::Terms::parse) {
            Some(terms) => serve(terms),
            None => crate::WORKER_MISUSE,
        };
        std::process::exit(code);
    }
}

/// Exit code of a worker that could not build its engine.
const NO_ENGINE: i32 = 71;

fn serve(terms: start::Terms) -> i32 {
    let layers = harden::apply(&terms);
    let channel = Rc::new(RefCell::new(Channel::new()));
    let clock = Rc::new(Clock::new());
    let rejections = stray::Rejections::default();
    let gauge = Gauge::new(terms.memory_bytes);
    let Ok(runtime) = Runtime::new_with_alloc(Heap::new(&gauge)) else {
        return NO_ENGINE;
    };
    runtime.set_max_stack_size(ENGINE_STACK);
    run::watch(&runtime, &channel, &clock);
    rejections.watch(&runtime);
    let Ok(context) = Context::full(&runtime) else {
        return NO_ENGINE;
    };
    context.with(|cx| {
        let Ok(realm) = realm::Realm::capture(&cx) else {
            return NO_ENGINE;
        };
        channel.borrow_mut().send(&Report::Hello { layers });
        run::serve(&cx, realm, channel, clock, gauge, rejections)
    })
}
