//! Counts what a call allocates; figures that do not depend on the machine's load.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use dsh_context::Fiber;
use dsh_tools::{Call, Execution, Outcome, Signal, Tool, Tools, ToolsConfig};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
struct Range {
    from: u64,
    to: u64,
}

#[derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
struct Medium {
    path: String,
    pattern: String,
    limit: u64,
    case: bool,
    range: Range,
    globs: Vec<String>,
}

const SMALL: &str = r#"{"a":2,"b":40}"#;
const MEDIUM: &str = r#"{"path":"src/main.rs","pattern":"fn main","limit":100,"case":true,"range":{"from":1,"to":200},"globs":["*.rs","*.toml"]}"#;

fn tools(fiber: &Fiber) -> Tools {
    let tools = Tools::new(ToolsConfig::default());
    let add = Tool::new("add", "Add two integers.")
        .args::<Add>()
        .output::<i64>()
        .run(|args, _cx| async move { Ok(args.a + args.b) })
        .unwrap();
    let echo = Tool::new("echo", "Echo.")
        .args::<Medium>()
        .output::<Medium>()
        .run(|args, _cx| async move { Ok(args) })
        .unwrap();
    tools.global(fiber).register(add).unwrap();
    tools.global(fiber).register(echo).unwrap();
    tools
}

/// Allocations of one call, after some that warm up what is made once.
fn allocations(tools: &Tools, name: &str, arguments: &str) -> u64 {
    let run = || {
        let call = Call::new(
            "call_0123456789abcdef",
            name,
            arguments.to_owned(),
            Signal::never(),
        );
        let mut cx = Context::from_waker(Waker::noop());
        match pin!(tools.execute(call)).poll(&mut cx) {
            Poll::Ready(settled) => assert!(!settled.is_error(), "{:?}", settled.outcome()),
            Poll::Pending => panic!("the body waited"),
        }
    };
    run();
    allocation_counter::measure(run).count_total
}

/// The text of the arguments is one allocation, the body's own are its own: the rest is the call's.
#[test]
fn a_small_call() {
    let fiber = Fiber::root("test");
    let tools = tools(&fiber);
    let counted = allocations(&tools, "add", SMALL);
    println!("small call: {counted} allocations");
    assert!(counted <= 4, "{counted}");
}

#[test]
fn a_medium_call() {
    let fiber = Fiber::root("test");
    let tools = tools(&fiber);
    let counted = allocations(&tools, "echo", MEDIUM);
    println!("medium call: {counted} allocations");
    assert!(counted <= 13, "{counted}");
}

#[test]
fn five_listeners() {
    let fiber = Fiber::root("test");
    let tools = tools(&fiber);
    let global = tools.global(&fiber);
    global
        .on_pre_execute(|_, next| async move { next.run().await })
        .unwrap();
    global.guard(|_: &Execution| None).unwrap();
    global
        .on_execute(|_, next| async move { Ok(next.run().await?.into()) })
        .unwrap();
    global
        .on_post_execute(|_, _, next| async move { next.run().await })
        .unwrap();
    global
        .on_result(|_, outcome: &Outcome| assert!(!outcome.is_error()))
        .unwrap();
    let counted = allocations(&tools, "add", SMALL);
    println!("small call with five listeners: {counted} allocations");
    assert!(counted <= 8, "{counted}");
}
