//! The worker: one program, then the end of the process.
//!
//! [`entry`] is the hidden half of `main`. It hardens the process while there is one thread and no program byte, builds
//! engine and world ahead of time, says hello, and then serves the one boot frame it gets. Every way out of a run ends the
//! process, so nothing here is ever torn down.
//!
//! [`on_thread`] is the same without a process around it. There a run does end by returning, so whatever the engine's own
//! objects refer to on this side they refer to weakly: the world belongs to the stack, and with it goes what it holds.

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
use std::mem::ManuallyDrop;
use std::os::unix::net::UnixStream;
use std::rc::Rc;

use channel::Channel;
use clock::Clock;
use dsh_code::SandboxLayer;
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
            Some(terms) => {
                let layers = harden::apply(&terms);
                work(Channel::of_process(), terms.memory_bytes, layers);
                NO_ENGINE
            }
            None => crate::WORKER_MISUSE,
        };
        std::process::exit(code);
    }
}

/// Exit code of a worker that could not build its engine.
const NO_ENGINE: i32 = 71;

/// Serves as a worker on this thread until the run is over. The stack has to be that of a process or larger.
pub(crate) fn on_thread(socket: UnixStream, memory_bytes: u64) {
    let layer = SandboxLayer {
        name: "process".to_owned(),
        active: false,
        detail: "the program runs in the process of its host".to_owned(),
    };
    work(Channel::of_thread(socket), memory_bytes, vec![layer]);
}

/// Builds an engine and runs the one program in it. Returns without an engine, or at the end of a run on a thread; then it
/// tells whether the engine gave everything back.
fn work(channel: Channel, memory_bytes: u64, layers: Vec<SandboxLayer>) -> bool {
    let channel = Rc::new(RefCell::new(channel));
    let clock = Rc::new(Clock::new());
    let rejections = stray::Rejections::default();
    let gauge = Gauge::new(memory_bytes);
    let Ok(runtime) = Runtime::new_with_alloc(Heap::new(&gauge)) else {
        return false;
    };
    let runtime = ManuallyDrop::new(runtime);
    runtime.set_max_stack_size(ENGINE_STACK);
    run::watch(&runtime, &channel, &clock);
    rejections.watch(&runtime);
    if let Ok(context) = Context::full(&runtime) {
        context.with(|cx| {
            let Ok(realm) = realm::Realm::capture(&cx) else {
                return;
            };
            channel.borrow_mut().send(&Report::Hello { layers });
            let gauge = Rc::clone(&gauge);
            // What cannot be prepared ends without a report, and the host sees that.
            let _ = run::serve(&cx, realm, channel, clock, gauge, rejections.clone());
            rejections.clear();
            drop(cx.catch());
        });
    }
    gauge.lift();
    release(runtime, &gauge)
}

/// Ends an engine whose context is gone; whether it could be.
///
/// The engine aborts the process when an object is left at its end, which on a thread is the host. One that had no memory
/// left in an unlucky place may have lost one, so it is only swept, and what remains of it is never freed.
fn release(runtime: ManuallyDrop<Runtime>, gauge: &Gauge) -> bool {
    // What the handlers hold, the socket among it, goes in any case.
    runtime.set_interrupt_handler(None);
    runtime.set_host_promise_rejection_tracker(None);
    if gauge.was_hit() {
        runtime.run_gc();
        return false;
    }
    drop(ManuallyDrop::into_inner(runtime));
    true
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::thread;

    use super::*;
    use crate::frame::{Declared, Order};

    /// Runs a program on a thread to its end, with calls that nobody answers; whether the engine gave everything back.
    fn gives_back(program: &str) -> bool {
        let (mut host, theirs) = UnixStream::pair().unwrap();
        let mut boot = Vec::new();
        Order::Boot {
            compute_ms: 100,
            memory_bytes: 32 << 20,
            output_bytes: 4096,
            namespaces: vec![Declared {
                global: "tools",
                functions: vec!["echo"],
                error_class: Some(("ToolCallError", "toolName")),
            }],
            program,
        }
        .write(&mut boot);
        host.write_all(&boot).unwrap();
        let worker = thread::Builder::new()
            .stack_size(16 << 20)
            .spawn(move || work(Channel::of_thread(theirs), 32 << 20, Vec::new()))
            .unwrap();
        // Whatever becomes of the engine, the socket is closed.
        host.read_to_end(&mut Vec::new()).unwrap();
        worker.join().unwrap()
    }

    #[test]
    fn an_engine_is_torn_down_whatever_a_program_ties_together() {
        for program in [
            "return 1",
            "throw new Error('x')",
            "const = 1",
            "ToolCallError.prototype.circle = [tools.echo, console.log, setTimeout, clearTimeout, TextEncoder]",
            "const call = tools.echo({}); Promise.circle = [call, Object.getPrototypeOf(call)]",
            "console.log.circle = globalThis; globalThis.circle = tools.echo(tools)",
            "setTimeout(() => tools, 1e9, tools, ToolCallError); globalThis.f = async () => { await tools.echo({}) }; f()",
            "Promise.reject(globalThis); Promise.reject(tools.echo({}))",
            "new TextEncoder().encode.circle = TextEncoder; globalThis.m = new Map([[globalThis, new WeakRef(tools)]])",
            "for (;;) console.log('x'.repeat(100))",
            "for (;;) {}",
            "for (;;) await 0",
            "const f = async () => { try { for (;;) {} } finally { console.log(1) } }; f(); await f()",
            "function* g() { for (;;) yield 1 } for (const _ of g()) {}",
            "await Promise.all([1, 2].map(async (n) => { await n; for (;;) {} }))",
            "[3, 1, 2].sort(() => { for (;;) {} })",
            "return { get a() { for (;;) {} } }",
        ] {
            assert!(gives_back(program), "{program}");
        }
    }

    /// Where the heap ends is chance; whichever way it goes, the process lives on.
    #[test]
    fn an_engine_without_memory_costs_its_memory_at_most() {
        for program in [
            "const all = []; for (;;) all.push('x'.repeat(1000) + all.length)",
            "const all = []; for (;;) all.push(async () => { await all })",
            "const all = []; for (;;) { all.push(tools.echo({})); await 0 }",
            "class A { x = new Array(100).fill({}) } const all = []; for (;;) all.push(new A)",
        ] {
            gives_back(program);
        }
    }
}
