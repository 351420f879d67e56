//! `dsh call`: one tool, once.

use std::io::{self, Write};

use dsh_tools::{Arguments, Call, Outcome, Settled};

use crate::args::{CallArgs, Global};
use crate::compose::Runtime;
use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::terminal::{Paint, visible_line};
use crate::{arguments, card, hint, output};

/// A process makes one call (D36), so its id needs no counter.
const ID: &str = "call-1";

pub(crate) async fn run(
    global: &Global,
    args: &CallArgs,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let runtime = Runtime::open(&global.directory)?;
    let ended = call(&runtime, global, args, interrupt).await;
    runtime.close().await;
    ended
}

async fn call(
    runtime: &Runtime,
    global: &Global,
    args: &CallArgs,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let agent = &runtime.agent;
    let name = args.name.as_str();
    let tool = runtime.tools.get(name, Some(agent));
    let schema = tool.as_ref().map(|tool| tool.schema().parameters());
    let document = arguments::read(&args.arguments, schema, io::stdin())?;

    let request = Call::new(ID, name, Arguments::Document(document), interrupt.call());
    tracing::debug!(
        tool = name,
        call = ID,
        agent = agent.label(),
        "a call starts"
    );
    let settled = runtime.tools.execute(request.agent(agent)).await;
    let cancelled = interrupt.settled();
    let outcome = settled.outcome();
    tracing::info!(
        tool = name,
        call = ID,
        failed = outcome.is_error(),
        code = outcome.code(),
        "a call has settled"
    );

    if args.json {
        output::json(outcome)?;
    } else if args.card {
        output::line(&drawn(&settled, Paint::of(global.color, &io::stdout())))?;
    } else {
        output::foreign(&settled.content().summary())?;
    }
    if !args.json
        && let Some(hint) = hint::after(outcome, name, tool.as_ref())
    {
        let paint = Paint::of(global.color, &io::stderr());
        // A hint that nobody can read is no failure.
        let _ = writeln!(
            io::stderr(),
            "{} {}",
            paint.aside("hint:"),
            visible_line(&hint)
        );
    }
    Ok(match outcome {
        Outcome::Success(_) => Exit::Success,
        Outcome::Failure(_) if cancelled => Exit::Interrupted,
        Outcome::Failure(_) => Exit::Failed,
    })
}

fn drawn(settled: &Settled, paint: Paint) -> String {
    let execution = settled.execution();
    let durable = settled.durable();
    let (pending, finished) = match execution.tool().zip(execution.arguments()) {
        Some((tool, arguments)) => (
            tool.present_call(arguments),
            tool.present_result(arguments, &durable),
        ),
        None => (None, None),
    };
    card::draw(
        execution.name(),
        pending.as_ref(),
        finished.as_ref(),
        &durable,
        paint,
    )
}
