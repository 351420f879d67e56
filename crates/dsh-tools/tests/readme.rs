//! The code of the README, which has to compile and to do what it says.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

use dsh_context::{Fiber, Scope};
use dsh_testkit::block_on;
use dsh_tools::{Call, Denial, Execution, PreDecision, Settled, Signal, Tools, ToolsConfig};

// README: a tool
use dsh_tools::{Progress, RunContext, ToolError, tool};

/// Count the words of a text.
#[tool(read_only, concurrency_safe)]
async fn count_words(
    /// The text.
    text: String,
    /// Count only words of at least this many letters.
    at_least: Option<u32>,
    cx: RunContext,
) -> Result<u64, ToolError> {
    cx.progress(Progress::message("counting"));
    let long_enough = |word: &&str| word.chars().count() >= at_least.unwrap_or(1) as usize;
    Ok(text.split_whitespace().filter(long_enough).count() as u64)
}
// README: end

async fn a_call(agent: Scope) -> Result<Settled, Box<dyn std::error::Error>> {
    #[rustfmt::skip]
    let outcome = {
// README: a runtime
let fiber = Fiber::root("app");                       // what is registered ends with it
let tools = Tools::new(ToolsConfig::default());
let global = tools.global(&fiber);
global.register(count_words()?)?;
global.on_pre_execute(|execution, next| async move {
    if execution.name() == "rm" { Ok(PreDecision::ask("deletes files")) } else { next.run().await }
})?;
global.guard(|execution: &Execution| execution.agent().is_none().then(|| Denial::new("no agent")))?;

let call = Call::new("call-1", "count_words", r#"{"text":"one two three"}"#, Signal::never());
let outcome = tools.execute(call.agent(&agent)).await;   // exactly one outcome, always
// README: end
        outcome
    };
    Ok(outcome)
}

#[test]
fn the_readme_counts_words() {
    let settled = block_on(a_call(Scope::new("agent"))).unwrap();
    assert_eq!(settled.content()[0].as_text(), Some("3"));
}

/// What compiles here is what stands there.
#[test]
fn the_readme_is_this_code() {
    let readme = include_str!("../../../README.md");
    let fences: Vec<&str> = readme
        .split("```rust\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    let source = include_str!("readme.rs");
    let blocks: Vec<&str> = source
        .split("\n// README: a")
        .skip(1)
        .map(|rest| {
            let (_, rest) = rest.split_once('\n').unwrap();
            rest.split("// README: end").next().unwrap()
        })
        .collect();
    assert_eq!(fences, blocks);
}
