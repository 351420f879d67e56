//! Prints what a call costs. Nothing here is a test; figures are for people to compare.
//!
//! `cargo bench -p dsh-tools --bench engine [FILTER]`. Each row is the minimum and the median of many batches, in
//! nanoseconds for one operation unless the name says otherwise.
#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use std::future::Future;
use std::hint::black_box;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use dsh_context::{Fiber, Scope};
use dsh_schema::Document;
use dsh_schema::spec::{self, ParameterSpec};
use dsh_tools::{Arguments, Call, Outcome, Restriction, Settled, Signal, Tool, Tools, ToolsConfig};

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

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Numbers {
    numbers: Vec<i64>,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Text {
    text: String,
}

fn add() -> Tool {
    Tool::new("add", "Add two integers.")
        .args::<Add>()
        .output::<i64>()
        .read_only()
        .run(|args, _cx| async move { Ok(args.a + args.b) })
        .expect("a sound definition")
}

fn medium() -> Tool {
    Tool::new("medium", "Echo.")
        .args::<Medium>()
        .output::<Medium>()
        .read_only()
        .run(|args, _cx| async move { Ok(args) })
        .expect("a sound definition")
}

fn filler(index: usize) -> Tool {
    Tool::new(
        format!("tool_{index:05}"),
        "Does something with eight parameters.",
    )
    .parameters(
        ParameterSpec::new()
            .required("path", spec::string().description("A path."))
            .required("pattern", spec::string().description("A pattern."))
            .optional("limit", spec::integer().description("How many."))
            .optional("offset", spec::integer())
            .optional("case", spec::boolean())
            .optional("mode", spec::string().one_of_values(["a", "b", "c"]))
            .optional("globs", spec::array(spec::string()))
            .optional(
                "range",
                spec::object().open().optional("from", spec::integer()),
            ),
    )
    .returns(spec::string())
    .run(|_args, _cx| async move { Ok(Document::string("ok")) })
    .expect("a sound definition")
}

/// Polls a future that never waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    let mut cx = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut cx) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a bench body waited"),
    }
}

fn call(tools: &Tools, name: &str, arguments: impl Into<Arguments>) -> Settled {
    let settled = now(tools.execute(Call::new(
        "call_0123456789abcdef",
        name,
        arguments,
        Signal::never(),
    )));
    assert!(!settled.is_error(), "{:?}", settled.outcome());
    settled
}

/// Runs `batches` batches of `size` operations and prints minimum and median.
fn row(filter: Option<&str>, name: &str, size: u32, mut operation: impl FnMut()) {
    if filter.is_some_and(|filter| !name.contains(filter)) {
        return;
    }
    for _ in 0..size.min(1_000) {
        operation();
    }
    let mut batches: Vec<f64> = (0..600)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..size {
                operation();
            }
            start.elapsed().as_nanos() as f64 / f64::from(size)
        })
        .collect();
    batches.sort_by(f64::total_cmp);
    println!(
        "{name:<58} {:>12.1} {:>12.1}",
        batches[0],
        batches[batches.len() / 2]
    );
}

/// As [`row`] for operations that take over a text which a model has just produced.
fn prepared(filter: Option<&str>, name: &str, text: &str, mut operation: impl FnMut(String)) {
    if filter.is_some_and(|filter| !name.contains(filter)) {
        return;
    }
    let mut runs: Vec<f64> = (0..300)
        .map(|_| {
            let text = text.to_owned();
            let start = Instant::now();
            operation(text);
            start.elapsed().as_nanos() as f64
        })
        .collect();
    runs.sort_by(f64::total_cmp);
    println!(
        "{name:<58} {:>12.1} {:>12.1}",
        runs[0],
        runs[runs.len() / 2]
    );
}

fn with_listeners(tools: &Tools, fiber: &Fiber) {
    let global = tools.global(fiber);
    global
        .on_pre_execute(|_, next| async move { next.run().await })
        .expect("live");
    global.guard(|_: &dsh_tools::Execution| None).expect("live");
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

fn main() {
    let filter = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with('-'));
    let filter = filter.as_deref();
    let fiber = Fiber::root("bench");
    let small = r#"{"a":2,"b":40}"#;
    let medium_text = r#"{"path":"src/main.rs","pattern":"fn main","limit":100,"case":true,"range":{"from":1,"to":200},"globs":["*.rs","*.toml"]}"#;
    println!("{:<58} {:>12} {:>12}", "ns", "min", "median");

    let tools = Tools::new(ToolsConfig::default());
    tools.global(&fiber).register(add()).expect("fresh");
    tools.global(&fiber).register(medium()).expect("fresh");
    row(filter, "execute small", 20_000, || {
        black_box(call(&tools, "add", small));
    });
    row(filter, "execute medium", 10_000, || {
        black_box(call(&tools, "medium", medium_text));
    });
    let noise: Vec<_> = (0..10_000)
        .map(|index| tools.global(&fiber).register(filler(index)).expect("fresh"))
        .collect();
    row(filter, "execute small, 10,000 tools", 20_000, || {
        black_box(call(&tools, "add", small));
    });
    drop(noise);

    let listened = Tools::new(ToolsConfig::default());
    listened.global(&fiber).register(add()).expect("fresh");
    with_listeners(&listened, &fiber);
    row(filter, "execute small, five listeners", 20_000, || {
        black_box(call(&listened, "add", small));
    });

    let big = Tools::new(ToolsConfig::default());
    let numbers = Tool::new("numbers", "Count.")
        .args::<Numbers>()
        .output::<u64>()
        .run(|args, _cx| async move { Ok(args.numbers.len() as u64) })
        .expect("sound");
    let text = Tool::new("text", "Measure.")
        .args::<Text>()
        .output::<u64>()
        .run(|args, _cx| async move { Ok(args.text.len() as u64) })
        .expect("sound");
    big.global(&fiber).register(numbers).expect("fresh");
    big.global(&fiber).register(text).expect("fresh");
    let array = format!(
        r#"{{"numbers":[{}]}}"#,
        (0..10_000)
            .map(|n| n.to_string())
            .collect::<Vec<_>>()
            .join(",")
    );
    prepared(
        filter,
        "execute, 10,000-item array argument",
        &array,
        |text| {
            black_box(call(&big, "numbers", text));
        },
    );
    let string = format!(r#"{{"text":"{}"}}"#, "x".repeat(1 << 20));
    prepared(filter, "execute, 1 MiB string argument", &string, |text| {
        black_box(call(&big, "text", text));
    });

    let fillers: Vec<Tool> = (0..1_000).map(filler).collect();
    let many = Tools::new(ToolsConfig::default());
    let global = many.global(&fiber);
    row(
        filter,
        "register + dispose 1,000 tools one by one",
        1,
        || {
            let registrations: Vec<_> = fillers
                .iter()
                .map(|tool| global.register(tool.clone()).expect("fresh"))
                .collect();
            registrations
                .iter()
                .for_each(dsh_tools::Registration::dispose);
        },
    );
    row(
        filter,
        "register + dispose 1,000 tools in one update each",
        1,
        || {
            let registrations = many
                .update(|update| {
                    fillers
                        .iter()
                        .try_for_each(|tool| update.register(&global, tool.clone()))
                })
                .expect("fresh");
            many.update(|update| registrations.iter().try_for_each(|one| update.remove(one)))
                .expect("there");
        },
    );
    many.update(|update| {
        fillers
            .iter()
            .try_for_each(|tool| update.register(&global, tool.clone()))
    })
    .expect("fresh");
    row(filter, "schemas() of 1,000 tools, unchanged", 1_000, || {
        black_box(many.schemas(None));
    });
    row(
        filter,
        "schemas() of 1,000 tools, after a change",
        1,
        || {
            global.register(add()).expect("fresh").dispose();
            black_box(many.schemas(None));
        },
    );
    row(
        filter,
        "TypeScript SDK of 1,000 tools, unchanged",
        1_000,
        || {
            black_box(many.view(None).to_typescript());
        },
    );
    row(
        filter,
        "TypeScript SDK of 1,000 tools, after a change",
        1,
        || {
            global.register(add()).expect("fresh").dispose();
            black_box(many.view(None).to_typescript());
        },
    );
    let scopes: Vec<Scope> = (0..1_000)
        .map(|index| {
            let scope = Scope::new(format!("agent-{index}"));
            let deny = format!("tool_{index:05}");
            many.scoped(&scope)
                .restrict(Restriction::deny([deny]))
                .expect("known");
            scope
        })
        .collect();
    let one = &scopes[500];
    row(
        filter,
        "schemas(scope), one of 1,000 restricted, unchanged",
        1_000,
        || {
            black_box(many.schemas(Some(one)));
        },
    );
    let kept: Arc<str> = many.view(Some(one)).to_json();
    black_box(kept);
}
