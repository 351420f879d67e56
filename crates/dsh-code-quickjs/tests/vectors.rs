//! The recorded programs, through registry, bridge and worker.
//!
//! The folder comes from `DSH_VECTORS`; without it, the copy beside this file is read. The test prints how many rows passed,
//! were skipped and failed, and fails on any failure. A row that a decision overrules is compared with what the decision says,
//! see `decided`; one that is overruled and not known there is skipped with the decision named.
//!
//! Of a recorded failure everything is compared but the frames of its stack, which are the engine's. Records of calls are
//! compared as far as their order is defined: starts among each other, settlements among each other, and each settlement
//! behind its own start (C156).

#![cfg(unix)]
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test that reports what it did"
)]

mod deployment;
mod support;

use std::fmt::Write as _;
use std::future::{Ready, ready};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use deployment::Deployment;
use dsh_code::{CodeConfig, CodeRuntime, Limits};
use dsh_code_quickjs::QuickJs;
use dsh_schema::spec::{self, ParameterSpec, ValueSpec};
use dsh_schema::{Document, ValueRef};
use dsh_tools::{
    Block, Content, ContextMessage, Denial, Execution, Reason, RunContext, Settled, Signal, Tool,
    ToolBuilder, ToolError,
};
use futures_util::future::{Either, select};
use parking_lot::Mutex;
use serde_json::{Value, json};

type Check = Result<(), String>;

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or("")
}

fn document(value: &Value) -> Document {
    Document::from_value(value).unwrap()
}

/// A string as it is, anything else as JSON.
fn plain(value: ValueRef<'_>) -> Content {
    let text = value
        .as_str()
        .map_or_else(|| value.to_json(), str::to_owned);
    Content::text(text)
}

type Trace = Arc<Mutex<Vec<String>>>;
type Turns = Arc<tokio::sync::Mutex<()>>;

/// A tool of the scenario before it has a body.
fn tool(
    name: &str,
    parameters: ParameterSpec,
    output: impl Into<ValueSpec>,
) -> ToolBuilder<Document, Document> {
    Tool::new(name, "A tool of the scenario.")
        .parameters(parameters)
        .returns(output)
        .render_value(|_, value| plain(value))
}

/// A body that is done when it is called.
fn at_once(
    body: impl Fn(ValueRef<'_>, &RunContext) -> Result<Document, ToolError> + Send + Sync + 'static,
) -> impl Fn(Document, RunContext) -> Ready<Result<Document, ToolError>> + Send + Sync + 'static {
    move |arguments, cx| ready(body(arguments.root(), &cx))
}

/// Returns its id after some time, or as soon as it is told to stop.
fn sleeper(name: &'static str, safe: bool, trace: &Trace, turns: &Turns) -> Tool {
    let parameters = ParameterSpec::new()
        .required("id", spec::string())
        .required("ms", spec::number());
    let mut tool = tool(name, parameters, spec::string());
    if safe {
        tool = tool.concurrency_safe();
    }
    let (trace, turns) = (trace.clone(), turns.clone());
    let body = move |arguments: Document, cx: RunContext| {
        let (trace, turns) = (trace.clone(), turns.clone());
        async move {
            let arguments = arguments.to_value();
            let id = text(&arguments, "id");
            trace.lock().push(format!("start:{name}:{id}"));
            let time = Duration::from_millis(arguments["ms"].as_u64().unwrap());
            let stop = std::pin::pin!(cx.signal().cancelled());
            let wait = std::pin::pin!(async {
                tokio::time::sleep(time).await;
                // Timers of one tick fire together; in the recording each end was seen before the next. The turn is handed on
                // by a task of its own, so what runs bodies has looked at this end by then.
                let turn = turns.lock_owned().await;
                tokio::spawn(async move { drop(turn) });
            });
            let is_stopped = matches!(select(stop, wait).await, Either::Left(_));
            let how = if is_stopped { ":aborted" } else { "" };
            trace.lock().push(format!("end:{name}:{id}{how}"));
            Ok(Document::string(id))
        }
    };
    tool.run(body).unwrap()
}

/// The tools that the recorded programs were bound to, in the order of their registration.
fn tools(trace: &Trace) -> Vec<Tool> {
    let none = ParameterSpec::new;
    let turns = Turns::default();
    let said = |text: &'static str| at_once(move |_, _| Ok(Document::string(text)));
    let tools = [
        tool("echo", none().optional("v", spec::json()), spec::json()).run(at_once(
            |arguments, _| {
                Ok(arguments
                    .get("v")
                    .map_or_else(|| document(&Value::Null), |v| document(&v.to_value())))
            },
        )),
        tool(
            "add",
            none()
                .required("a", spec::integer())
                .required("b", spec::integer()),
            spec::integer(),
        )
        .concurrency_safe()
        .run(at_once(|arguments, _| {
            let arguments = arguments.to_value();
            let sum = ["a", "b"].map(|key| arguments[key].as_i64().unwrap());
            Ok(document(&json!(sum.iter().sum::<i64>())))
        })),
        tool(
            "fail",
            none().required("message", spec::string()),
            spec::json(),
        )
        .concurrency_safe()
        .run(at_once(|arguments, _| {
            Err(ToolError::new(text(&arguments.to_value(), "message")))
        })),
        tool("coded", none(), spec::json()).run(at_once(|_, _| {
            Err(ToolError::coded("HarnessError", "CODED", "coded failure"))
        })),
        Ok(sleeper("slow", true, trace, &turns)),
        Ok(sleeper("excl", false, trace, &turns)),
        // Its value does not fit what it declares.
        tool("bad", none(), spec::integer()).run(said("no integer")),
        tool("denied", none(), spec::string()).run(said("never")),
        tool("image", none(), spec::string())
            .render_value(|_, _| {
                let image = json!({ "type": "image", "data": "AAAA", "mediaType": "image/png" });
                Content::from_iter([Block::from_document(&document(&image)).unwrap()])
            })
            .run(said("img")),
        tool("ctx", none(), spec::string()).run(at_once(|_, cx| {
            cx.defer_context(ContextMessage::plugin("context", "g", "from ctx"));
            Ok(Document::string("ok"))
        })),
        tool("done", none(), spec::string()).run(at_once(|_, cx| {
            cx.conclude_turn();
            Ok(Document::string("done"))
        })),
        tool("my-tool", none(), spec::string()).run(said("hyphen")),
    ];
    tools.into_iter().map(Result::unwrap).collect()
}

/// The result as it was recorded: without ids of contexts, and without the frames of stacks.
fn outcome(settled: &Settled) -> Value {
    let content = |content: &Content| -> Value {
        let mut content = serde_json::to_value(content).unwrap();
        for block in content.as_array_mut().unwrap() {
            if let Some(text) = block.get_mut("text") {
                *text = json!(without_frames(text.as_str().unwrap()));
            }
        }
        content
    };
    let mut outcome = json!({ "isError": settled.is_error() });
    if let Some(error) = settled.error() {
        outcome["error"] = serde_json::to_value(error).unwrap();
        outcome["error"]["message"] = json!(without_frames(&error.message));
        if let Some(error) = outcome["error"].as_object_mut() {
            error.remove("retryable");
        }
    }
    outcome["content"] = content(settled.content());
    let contexts: Vec<Value> = settled
        .contexts()
        .iter()
        .map(|context| {
            json!({
                "content": content(&context.content),
                "source": serde_json::to_value(&context.source).unwrap(),
            })
        })
        .collect();
    if !contexts.is_empty() {
        outcome["additionalContexts"] = json!(contexts);
    }
    if settled.concludes_turn() {
        outcome["concludesTurn"] = json!(true);
    }
    if let Some(value) = settled.value() {
        outcome["value"] = value.to_value();
    }
    outcome
}

fn without_frames(text: &str) -> String {
    let is_frame = |line: &&str| line.starts_with("    at ");
    let lines: Vec<_> = text.split('\n').filter(|line| !is_frame(line)).collect();
    lines.join("\n")
}

/// How the outcome of a row is compared.
enum Comparison {
    /// All of it.
    Whole,
    /// A success that printed one line: its layout is ours (D34).
    OneLine,
    /// A failure of this kind whose first line has this in it.
    Fails(&'static str, &'static str),
    /// A success with a text that has this in it.
    Says(&'static str),
}

/// What holds instead of what was recorded, for a row that is known to differ.
fn decided(row: &mut Value) -> Option<Comparison> {
    use Comparison::{Fails, OneLine, Says, Whole};
    let returns = |row: &mut Value, value: Value, text: &str| {
        row["outcome"] = json!({
            "isError": false, "content": [{ "type": "text", "text": text }],
            "value": { "logs": [], "result": value },
        });
        Whole
    };
    let id = text(row, "id").to_owned();
    Some(match id.as_str() {
        // D2: an integer is an integer, however the program holds it.
        "return-bigint" => returns(row, json!(10), "10"),
        "call-bigint" => {
            let call = json!({ "subCallId": "c1:code:1", "name": "echo", "arguments": { "v": 1 } });
            let (mut start, mut settle) = (call.clone(), call);
            start["type"] = json!("tool/code-dispatch-start");
            settle["type"] = json!("tool/code-dispatch");
            settle["isError"] = json!(false);
            settle["content"] = json!([{ "type": "text", "text": "1" }]);
            row["dispatch_events"] = json!([start, settle]);
            returns(row, json!(1), "1")
        }
        // C125: the recorded system does not have the hint yet that the rule asks for.
        "call-no-args" => {
            let text = "must be lossless JSON";
            let hint = format!("{text}; pass an arguments object such as `{{}}`");
            *row = serde_json::from_str(&row.to_string().replace(text, &hint)).unwrap();
            Whole
        }
        // D15: timers are there, the rest of a host is not. C277: a rejection that nobody handles ends nothing.
        "globals-clean" => {
            let types = "undefined,undefined,undefined,function,object,undefined,undefined";
            returns(row, json!(types), types)
        }
        "unhandled-rejection" => returns(row, json!(1), "1"),
        "wall-timeout" => Fails("exception", "nothing can settle"),
        // D16.
        "return-lone_surrogate" => Fails("invalid-output", "must be lossless JSON"),
        // D34: layout of inspected values, texts of engine and stripper.
        _ if id.starts_with("log-") && row.get("overruled_by").is_some() => OneLine,
        "throw-typeerror" => Fails("exception", "TypeError: "),
        "syntax-enum" => Fails("exception", "`enum`"),
        "ts-param-property" => Fails("exception", "parameter propert"),
        "call-unknown" => Says("not a function"),
        "heap-limit" => Fails("worker-exit", "out of memory"),
        "process-exit" => Fails("exception", "ReferenceError: "),
        // D35: an image carries its bytes under `mediaType`.
        "image-result" => {
            let renamed = row.to_string().replace("\"mimeType\"", "\"mediaType\"");
            *row = serde_json::from_str(&renamed).unwrap();
            Whole
        }
        _ => return None,
    })
}

fn compare(row: &Value, comparison: &Comparison, got: &Value) -> Check {
    let holds = match comparison {
        Comparison::Whole => *got == row["outcome"],
        Comparison::OneLine => {
            let logs = got["value"]["logs"].as_array();
            logs.is_some_and(|logs| logs.len() == 1 && logs[0] == got["content"][0]["text"])
        }
        Comparison::Fails(kind, part) => {
            let message = text(&got["error"], "message");
            let first = message.lines().next().unwrap_or_default();
            let rest = first.strip_prefix(&format!("code run failed ({kind}): "));
            got["error"]["info"]
                == json!({ "name": "CodeRunFailedError", "code": "CODE_RUN_FAILED" })
                && rest.is_some_and(|rest| rest.contains(part))
        }
        Comparison::Says(part) => text(&got["value"], "result").contains(part),
    };
    if holds {
        return Ok(());
    }
    Err(match comparison {
        Comparison::Whole => format!("got {got}, want {}", row["outcome"]),
        _ => format!("got {got}"),
    })
}

fn of_type(events: &[Value], kind: &str) -> Vec<Value> {
    let is_kind = |event: &&Value| text(event, "type") == kind;
    events.iter().filter(is_kind).cloned().collect()
}

fn compare_events(got: &[Value], want: &[Value]) -> Check {
    for kind in ["tool/code-dispatch-start", "tool/code-dispatch"] {
        let (got, want) = (of_type(got, kind), of_type(want, kind));
        if got != want {
            return Err(format!("{kind}: got {}, want {}", json!(got), json!(want)));
        }
    }
    for (index, event) in got.iter().enumerate() {
        let started = got[..index].iter().any(|earlier| {
            text(earlier, "type") == "tool/code-dispatch-start"
                && earlier["subCallId"] == event["subCallId"]
        });
        if text(event, "type") == "tool/code-dispatch" && !started {
            return Err(format!("settled before it started: {event}"));
        }
    }
    Ok(())
}

/// The records as they were recorded: the fields that do not follow from the outer call.
fn events(deployment: &Deployment) -> Result<Vec<Value>, String> {
    let mut events = Vec::new();
    for event in deployment.log.0.lock().iter() {
        let mut data = event["data"].clone();
        let fields = data.as_object_mut().unwrap();
        for ancestor in ["rootCallId", "parentCallId"] {
            if fields.remove(ancestor) != Some(json!("c1")) {
                return Err(format!("{ancestor} is not the outer call: {event}"));
            }
        }
        data["type"] = event["type"].clone();
        events.push(data);
    }
    Ok(events)
}

fn limits(row: &Value) -> Limits {
    let (of, default) = (&row["config"]["runtime"], Limits::default());
    let number = |key: &str| of[key].as_u64();
    Limits {
        compute_ms: number("computeMs").unwrap_or(default.compute_ms),
        wall_ms: number("maxWallMs").unwrap_or(default.wall_ms),
        memory_bytes: number("maxOldGenerationSizeMb").map_or(default.memory_bytes, |mb| mb << 20),
        output_bytes: number("maxOutputBytes").unwrap_or(default.output_bytes),
        ..default
    }
}

async fn check(runtime: &Arc<QuickJs>, row: &Value, comparison: &Comparison) -> Check {
    if let Some(key) = ["direct", "description", "needs"]
        .into_iter()
        .find(|key| row.get(key).is_some())
    {
        return Err(format!("this test does not know `{key}`"));
    }
    let cap = row["config"]["maxParallelSubCalls"].as_u64().unwrap_or(10);
    let deployment = Deployment::with(
        runtime,
        CodeConfig {
            max_parallel_sub_calls: usize::try_from(cap).unwrap(),
            limits: Some(limits(row)),
            ..CodeConfig::default()
        },
    );
    let trace = Trace::default();
    for tool in tools(&trace) {
        deployment.register(tool);
    }
    let refuse = |execution: &Execution| {
        (execution.name() == "denied").then(|| Denial::new("guard said no"))
    };
    deployment.global().guard(refuse).unwrap();

    let (canceller, signal) = Signal::pair();
    let reason = || Reason::Other {
        message: "caller".into(),
    };
    if row["abort"] == "before" {
        canceller.cancel(reason());
    }
    let call = deployment.program("c1", text(row, "code"), signal);
    let run = std::pin::pin!(deployment.tools.execute(call));
    let abort = std::pin::pin!(async {
        match row["abort"].as_u64() {
            Some(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
            None => std::future::pending().await,
        }
    });
    let settled = match select(run, abort).await {
        Either::Left((settled, _)) => settled,
        Either::Right(((), run)) => {
            canceller.cancel(reason());
            run.await
        }
    };

    compare(row, comparison, &outcome(&settled))?;
    let (trace, events) = (json!(*trace.lock()), events(&deployment)?);
    if text(row, "id") == "fire-and-forget-exclusive-queue" && events.is_empty() {
        // The program was over before its first call could start. Both are legal (chapter 6.6), half a pair is not.
        return if trace == json!([]) {
            Ok(())
        } else {
            Err(format!("tools ran without a record: {trace}"))
        };
    }
    if trace != row["tool_trace"] {
        return Err(format!("tools: got {trace}, want {}", row["tool_trace"]));
    }
    compare_events(&events, row["dispatch_events"].as_array().unwrap())
}

#[tokio::test]
async fn code_mode() {
    let folder = std::env::var_os("DSH_VECTORS").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors"),
        PathBuf::from,
    );
    let rows = std::fs::read_to_string(folder.join("code_mode.jsonl")).unwrap();
    let runtime = Arc::new(QuickJs::new(support::config()).unwrap());
    let (mut passed, mut skipped, mut failed, mut failures) = (0, 0, 0, String::new());
    for line in rows.lines().filter(|line| !line.trim().is_empty()) {
        let mut row: Value = serde_json::from_str(line).unwrap();
        let is_overruled = row.get("overruled_by").is_some();
        let comparison = match decided(&mut row) {
            Some(comparison) => comparison,
            None if is_overruled => {
                println!(
                    "code_mode.jsonl: skipped {}, overruled by {}",
                    row["id"], row["overruled_by"]
                );
                skipped += 1;
                continue;
            }
            None => Comparison::Whole,
        };
        match check(&runtime, &row, &comparison).await {
            Ok(()) => passed += 1,
            Err(why) => {
                failed += 1;
                writeln!(failures, "{}: {why}", row["id"]).unwrap();
            }
        }
    }
    runtime.dispose().await;
    println!("code_mode.jsonl: passed {passed}, skipped {skipped}, failed {failed}");
    assert!(failed == 0, "{failed} rows failed\n{failures}");
    assert!(passed > 0, "no rows to check");
}
