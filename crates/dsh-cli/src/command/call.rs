//! `dsh call`: one tool, once.

use std::io;

use dsh_tools::{Arguments, Call, Outcome, Settled};

use crate::args::{CallArgs, Global};
use crate::compose::Runtime;
use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::{arguments, card, output};

pub(crate) async fn run(global: &Global, args: &CallArgs) -> Result<Exit, Failure> {
    let runtime = Runtime::open(&global.directory)?;
    let ended = call(&runtime, args).await;
    runtime.close().await;
    ended
}

async fn call(runtime: &Runtime, args: &CallArgs) -> Result<Exit, Failure> {
    let agent = &runtime.agent;
    let tool = runtime.tools.get(&args.name, Some(agent));
    let schema = tool.as_ref().map(|tool| tool.schema().parameters());
    let document = arguments::read(&args.arguments, schema, io::stdin())?;

    let interrupt = Interrupt::watch();
    let request = Call::new("call-1", args.name.as_str(), Arguments::Document(document), interrupt.signal().clone());
    let settled = runtime.tools.execute(request.agent(agent)).await;

    if args.json {
        output::json(settled.outcome())?;
    } else if args.card {
        output::line(&drawn(&settled))?;
    } else {
        output::line(&settled.content().summary())?;
    }
    Ok(match settled.outcome() {
        Outcome::Success(_) => Exit::Success,
        Outcome::Failure(_) if interrupt.was_pressed() => Exit::Interrupted,
        Outcome::Failure(_) => Exit::Failed,
    })
}

fn drawn(settled: &Settled) -> String {
    let execution = settled.execution();
    let durable = settled.durable();
    let (pending, finished) = match execution.tool().zip(execution.arguments()) {
        Some((tool, arguments)) => (tool.present_call(arguments), tool.present_result(arguments, &durable)),
        None => (None, None),
    };
    card::draw(execution.name(), pending.as_ref(), finished.as_ref(), &durable)
}
