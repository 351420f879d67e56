//! The run of one program: boot, event loop, end.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use dsh_code::ledger::LogMeter;
use dsh_schema::Document;
use rquickjs::context::EvalOptions;
use rquickjs::function::Args;
use rquickjs::promise::PromiseState;
use rquickjs::{Ctx, Function, Promise, Result, Runtime, Value};

use super::call::{Calls, Declaration};
use super::channel::{Channel, Wake};
use super::clock::{Clock, micros};
use super::heap::Gauge;
use super::realm::Realm;
use super::stray::{self, Rejections};
use super::timer::{self, Timers};
use super::walker::{self, Refusal};
use super::{call, console, failure, globals, inspect};
use crate::frame::{Failure, Order, Report, Strays};
use crate::strip;

const LOSSY_COMPLETION: &str = "program completion must be lossless JSON";
const NEVER_SETTLES: &str = "the program waits for a promise that nothing can settle any more: \
    no call and no timer is pending";

/// Polls of the engine's handler between two looks at whether the host still lives.
const POLLS: u32 = 64;

/// Jobs between two looks at the budget. The engine's own polls miss short ones (C254).
const JOBS: u32 = 16;

/// Installs the handler that the engine asks while it runs code. In a process it ends that itself: an interruption that
/// unwinds could meet code that runs on (C253). On a thread there is no other way, so there it interrupts again and again.
pub(super) fn watch(runtime: &Runtime, channel: &Rc<RefCell<Channel>>, clock: &Rc<Clock>) {
    let (channel, clock) = (Rc::clone(channel), Rc::clone(clock));
    let mut polls = 0_u32;
    runtime.set_interrupt_handler(Some(Box::new(move || {
        // Never borrowed while the engine runs code; if it were, the next poll would do.
        let Ok(mut channel) = channel.try_borrow_mut() else {
            return false;
        };
        if clock.is_over() {
            exhausted(&mut channel, &clock);
        }
        polls = polls.wrapping_add(1);
        if polls.is_multiple_of(POLLS) && channel.is_gone() {
            channel.abandon();
        }
        // Calls made before a long stretch of work start during it.
        if channel.is_dirty() {
            channel.flush();
        }
        channel.is_over()
    })));
}

fn exhausted(channel: &mut Channel, clock: &Clock) {
    let strays = Strays {
        busy_us: micros(clock.busy()),
        ..Strays::default()
    };
    channel.send(&Report::Exhausted { strays });
    channel.end();
}

/// What the program's functions share.
pub(super) struct World<'js> {
    pub(super) realm: Rc<Realm<'js>>,
    pub(super) calls: Calls<'js>,
    channel: Rc<RefCell<Channel>>,
    clock: Rc<Clock>,
    gauge: Rc<Gauge>,
    logs: RefCell<LogMeter>,
    rejections: Rejections,
    memory_bytes: u64,
}

impl<'js> World<'js> {
    /// Collects a frame for the host.
    pub(super) fn push(&self, report: &Report<'_>) {
        self.channel.borrow_mut().push(report);
    }

    /// Bytes that the JSON of an argument may have: no more than the program may hold.
    pub(super) fn argument_room(&self) -> usize {
        usize::try_from(self.memory_bytes.min(u32::MAX.into())).unwrap_or(usize::MAX) / 2
    }

    /// Bytes that a log line may have at most.
    pub(super) fn log_room(&self) -> u64 {
        self.logs.borrow().left()
    }

    /// Sends a log line at once. The first that does not fit ends the run (C217, C261).
    pub(super) fn log(&self, line: &str) {
        let (kept, is_over) = {
            let mut logs = self.logs.borrow_mut();
            (logs.admit(line), logs.overflowed())
        };
        if let Some(text) = kept {
            self.channel.borrow_mut().send(&Report::Log { text });
        }
        if is_over {
            self.end(&Report::OutputLimit {
                strays: self.brief(),
            });
        }
    }

    /// Ends the run if its budget is used up. For loops of ours that the engine does not poll in.
    pub(super) fn tick(&self) {
        if self.clock.is_over() {
            exhausted(&mut self.channel.borrow_mut(), &self.clock);
        }
    }

    /// Whether an uncaught throw is the engine's report of an exhausted heap (C260).
    fn is_out_of_memory(&self, thrown: &Value<'js>) -> bool {
        self.gauge.was_hit() && failure::is_out_of_memory(&self.realm, thrown)
    }

    /// Ends the run with a report. In a process it does not return.
    fn end(&self, report: &Report<'_>) {
        let mut channel = self.channel.borrow_mut();
        channel.send(report);
        channel.end();
    }

    /// Whether the run has ended. Asked wherever the program's code was left.
    fn is_over(&self) -> bool {
        self.channel.borrow().is_over()
    }

    /// The part of the report that needs no look at values.
    fn brief(&self) -> Strays {
        Strays {
            busy_us: micros(self.clock.busy()),
            unawaited: self.calls.unawaited(),
            rejections: Vec::new(),
        }
    }

    fn strays(&self, cx: &Ctx<'js>, main: Option<&Value<'js>>) -> Strays {
        let reasons = self.rejections.reasons(cx, main);
        let texts = reasons
            .iter()
            .map(|reason| inspect::text(&self.realm, reason));
        Strays {
            rejections: stray::short(texts),
            ..self.brief()
        }
    }
}

/// Serves the boot frame. Returns when the run is over, which a process does not live to see.
///
/// # Errors
///
/// When the engine cannot be prepared.
pub(super) fn serve<'js>(
    cx: &Ctx<'js>,
    realm: Realm<'js>,
    channel: Rc<RefCell<Channel>>,
    clock: Rc<Clock>,
    gauge: Rc<Gauge>,
    rejections: Rejections,
) -> Result<()> {
    let wake = channel.borrow_mut().wait(None);
    let boot = match (wake, channel.borrow().order()) {
        (
            Wake::Frame,
            Some(Order::Boot {
                compute_ms,
                memory_bytes,
                output_bytes,
                namespaces,
                program,
            }),
        ) => Some(Boot {
            compute: Duration::from_millis(compute_ms),
            memory_bytes,
            output_bytes,
            namespaces: namespaces
                .into_iter()
                .map(|namespace| Declaration {
                    global: namespace.global.to_owned(),
                    functions: namespace.functions.into_iter().map(str::to_owned).collect(),
                    error_class: namespace
                        .error_class
                        .map(|(class, property)| (class.to_owned(), property.to_owned())),
                })
                .collect(),
            program: program.to_owned(),
        }),
        _ => None,
    };
    let Some(boot) = boot else {
        channel.borrow_mut().abandon();
        return Ok(());
    };
    clock.start(boot.compute);
    gauge.set_cap(boot.memory_bytes);
    let realm = Rc::new(realm);
    let world = Rc::new(World {
        calls: Calls::new(cx, &realm)?,
        realm,
        channel,
        clock,
        gauge,
        logs: RefCell::new(LogMeter::new(boot.output_bytes)),
        rejections,
        memory_bytes: boot.memory_bytes,
    });
    run(cx, &world, &boot);
    Ok(())
}

/// The content of the boot frame.
struct Boot {
    compute: Duration,
    memory_bytes: u64,
    output_bytes: u64,
    namespaces: Vec<Declaration>,
    program: String,
}

fn run<'js>(cx: &Ctx<'js>, world: &Rc<World<'js>>, boot: &Boot) {
    let started = Instant::now();
    let stripped = match strip::strip(&boot.program) {
        Ok(stripped) => stripped,
        Err(error) => return throw_text(world, &error.to_string()),
    };
    let strip_us = micros(started.elapsed());
    let timers = Rc::new(Timers::default());
    // The heading shares the first line with the program, so that lines are those of the author.
    let mut source = String::with_capacity(stripped.len() + 256);
    let Ok(scope) = scope(cx, world, boot, &timers) else {
        return fail(cx, world, cx.catch(), None, 0);
    };
    source.push_str("(async function (");
    source.push_str(&scope.names.join(", "));
    source.push_str(") { ");
    let shift = source.len();
    source.push_str(&stripped);
    source.push_str("\n})");
    let mut options = EvalOptions::default();
    options.filename = Some(failure::FILE.to_owned());
    let body: Function<'_> = match cx.eval_with_options(source, options) {
        Ok(body) => body,
        Err(rquickjs::Error::Exception) => return fail(cx, world, cx.catch(), None, shift),
        // The engine takes no text with a NUL in it.
        Err(error) => return throw_text(world, &format!("SyntaxError: {error}")),
    };
    world
        .channel
        .borrow_mut()
        .send(&Report::Started { strip_us });
    let mut arguments = Args::new(cx.clone(), scope.values.len());
    let main = arguments
        .push_args(scope.values)
        .and_then(|()| body.call_arg::<Promise<'_>>(arguments));
    match main {
        Ok(main) => pump(cx, world, &main, &timers, shift),
        Err(_) => fail(cx, world, cx.catch(), None, shift),
    }
}

/// Names and values that the program's function has as parameters.
struct Scope<'js> {
    names: Vec<String>,
    values: Vec<Value<'js>>,
}

fn scope<'js>(
    cx: &Ctx<'js>,
    world: &Rc<World<'js>>,
    boot: &Boot,
    timers: &Rc<Timers<'js>>,
) -> Result<Scope<'js>> {
    timer::install(cx, timers)?;
    globals::install(cx, &world.realm)?;
    let mut names = vec!["console".to_owned()];
    let mut values = vec![console::object(cx, world)?.into_value()];
    for (index, declaration) in (0_u32..).zip(&boot.namespaces) {
        let (object, class) = call::namespace(cx, world, index, declaration)?;
        names.push(declaration.global.clone());
        values.push(object.into_value());
        if let (Some(class), Some((name, _))) = (class, &declaration.error_class) {
            names.push(name.clone());
            values.push(class);
        }
    }
    Ok(Scope { names, values })
}

/// The event loop: jobs, then timers and answers as they come, until the program's own promise is settled.
fn pump<'js>(
    cx: &Ctx<'js>,
    world: &World<'js>,
    main: &Promise<'js>,
    timers: &Timers<'js>,
    shift: usize,
) {
    let mut jobs = 0_u32;
    loop {
        while cx.execute_pending_job() {
            jobs = jobs.wrapping_add(1);
            if jobs.is_multiple_of(JOBS) {
                world.tick();
            }
            if world.is_over() {
                return;
            }
        }
        match main.state() {
            PromiseState::Pending => {}
            PromiseState::Resolved | PromiseState::Rejected => {
                return finish(cx, world, main, shift);
            }
        }
        world.tick();
        if world.is_over() {
            return;
        }
        if let Some(fired) = timers.fire(cx) {
            if fired.is_err() {
                // As in a browser: reported, and the program goes on.
                let thrown = cx.catch();
                if world.is_out_of_memory(&thrown) {
                    return fail(cx, world, thrown, None, shift);
                }
                world.rejections.add(cx, thrown);
            }
            continue;
        }
        let limit = timers.next();
        if limit.is_none() && !world.calls.is_waiting() {
            world.gauge.lift();
            if world.gauge.was_hit() {
                // A job that had no memory left to say so.
                return out_of_memory(world);
            }
            return throw_text(world, NEVER_SETTLES);
        }
        let wake = world.channel.borrow_mut().wait(limit);
        match wake {
            Wake::Gone => return world.channel.borrow_mut().abandon(),
            Wake::Time => {}
            Wake::Frame => settle(cx, world, shift),
        }
    }
}

/// An answer of the host, detached from the channel: settling runs code that may call, and print.
enum Answer {
    Resolved(u64, Option<Document>),
    Rejected(u64, String),
}

fn settle<'js>(cx: &Ctx<'js>, world: &World<'js>, shift: usize) {
    let answer = match world.channel.borrow().order() {
        // The host is trusted, its encoding is checked all the same (C275).
        Some(Order::Resolve { id, value }) => Answer::Resolved(id, value.parse().ok()),
        Some(Order::Reject { id, message }) => Answer::Rejected(id, message.to_owned()),
        Some(Order::Boot { .. }) | None => return,
    };
    let settled = match &answer {
        Answer::Resolved(id, value) => world.calls.resolve(cx, &world.realm, *id, value.as_ref()),
        Answer::Rejected(id, message) => world.calls.reject(cx, &world.realm, *id, message),
    };
    if settled.is_err() {
        // There is no memory for the answer: the program cannot learn of it.
        fail(cx, world, cx.catch(), None, shift);
    }
}

/// The program's promise is settled.
fn finish<'js>(cx: &Ctx<'js>, world: &World<'js>, main: &Promise<'js>, shift: usize) {
    if world.is_over() {
        return;
    }
    let value = match main.result::<Value<'_>>() {
        Some(Ok(value)) => value,
        _ => return fail(cx, world, cx.catch(), Some(main), shift),
    };
    // Reporting has to work even when the program used up its heap.
    world.gauge.lift();
    if value.is_undefined() {
        let strays = world.strays(cx, Some(main.as_value()));
        return world.end(&Report::Done {
            value: None,
            strays,
        });
    }
    let budget = usize::try_from(world.log_room()).unwrap_or(usize::MAX);
    let mut json = String::new();
    let written = walker::write(&world.realm, value, &mut json, budget);
    let strays = world.strays(cx, Some(main.as_value()));
    match written {
        Ok(()) => world.end(&Report::Done {
            value: Some(&json),
            strays,
        }),
        Err(Refusal::TooLong) => world.end(&Report::OutputLimit { strays }),
        Err(Refusal::Lossy) => world.end(&Report::Failed {
            failure: Failure::InvalidOutput,
            message: LOSSY_COMPLETION,
            strays,
        }),
    }
}

/// The program threw.
fn fail<'js>(
    cx: &Ctx<'js>,
    world: &World<'js>,
    thrown: Value<'js>,
    main: Option<&Promise<'js>>,
    shift: usize,
) {
    if world.is_over() {
        return;
    }
    world.gauge.lift();
    if world.is_out_of_memory(&thrown) {
        return out_of_memory(world);
    }
    let message = failure::text(&world.realm, &thrown, shift);
    let strays = world.strays(cx, main.map(|main| main.as_value()));
    exception(world, &message, strays)
}

fn out_of_memory(world: &World<'_>) {
    world.end(&Report::OutOfMemory {
        strays: world.brief(),
    });
}

fn throw_text(world: &World<'_>, message: &str) {
    exception(world, message, world.brief())
}

fn exception(world: &World<'_>, message: &str, strays: Strays) {
    // Not even shipped when it cannot fit (C221).
    if message.len() as u64 > world.log_room() {
        return world.end(&Report::OutputLimit { strays });
    }
    world.end(&Report::Failed {
        failure: Failure::Exception,
        message,
        strays,
    })
}
