//! The engine itself: one tool of each size, called through the whole pipeline from raw text to outcome, with the output
//! contract checked. Bare, with one listener of each kind, and among many tools.

use std::hint::black_box;

use dsh_context::Fiber;
use dsh_tools::{Call, Execution, Outcome, Settled, Signal, Tool, Tools, ToolsConfig};

use crate::measure::{Report, ready};
use crate::work::{Add, Found, Search};

/// More tools than anybody shows to a model; the cost of a call must not depend on it.
const MANY: usize = 10_000;

pub fn run(report: &mut Report) {
    for (setting, listeners, others) in [
        ("bare", false, 0),
        ("listeners", true, 0),
        ("10,000 tools", false, MANY),
    ] {
        let fiber = Fiber::root("compare");
        let tools = tools(&fiber, others);
        if listeners {
            listen(&tools, &fiber);
        }
        report.measure(&format!("dsh execute/small/{setting}"), || {
            call(&tools, "add", Add::TEXT)
        });
        report.measure(&format!("dsh execute/medium/{setting}"), || {
            call(&tools, "search", Search::TEXT)
        });
    }
}

fn tools(fiber: &Fiber, others: usize) -> Tools {
    let tools = Tools::new(ToolsConfig::default());
    let add = Tool::new("add", "Add two numbers.")
        .args::<Add>()
        .output::<i64>()
        .run(|arguments, _| async move { Ok(arguments.run()) });
    let search = Tool::new("search", "Search.")
        .args::<Search>()
        .output::<Found>()
        .run(|arguments, _| async move { Ok(arguments.run()) });
    let fillers = (0..others).map(|number| {
        Tool::new(format!("tool_{number}"), "Another tool.")
            .args::<Add>()
            .output::<i64>()
            .run(|arguments, _| async move { Ok(arguments.run()) })
    });
    tools
        .update(|update| {
            let global = tools.global(fiber);
            for tool in [add, search].into_iter().chain(fillers) {
                update.register(&global, tool?)?;
            }
            Ok(())
        })
        .expect("sound definitions");
    tools
}

/// One listener of each kind, none of which does anything.
fn listen(tools: &Tools, fiber: &Fiber) {
    let global = tools.global(fiber);
    global
        .on_pre_execute(|_, next| async move { next.run().await })
        .expect("live");
    global.guard(|_: &Execution| None).expect("live");
    global
        .on_execute(|_, next| async move { Ok(next.run().await?.into()) })
        .expect("live");
    global
        .on_post_execute(|_, _, next| async move { next.run().await })
        .expect("live");
    global
        .on_result(|_, outcome: &Outcome| {
            black_box(outcome.is_error());
        })
        .expect("live");
}

fn call(tools: &Tools, name: &str, text: &str) -> Settled {
    let call = Call::new(
        "call_0123456789abcdef",
        name,
        black_box(text),
        Signal::never(),
    );
    let settled = ready(tools.execute(call));
    assert!(!settled.outcome().is_error(), "{:?}", settled.outcome());
    settled
}
