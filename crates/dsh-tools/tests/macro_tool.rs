//! `#[tool]`: what an annotated function becomes, and that it behaves like the builder.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use dsh_context::Fiber;
use dsh_schema::Document;
use dsh_tools::card::{CallView, ResultView};
use dsh_tools::{
    Access, Block, Call, Content, DurableResult, Effect, Outcome, Reason, RegistryError,
    RunContext, Settled, Signal, Tool, ToolError, Tools, ToolsConfig, tool,
};
use serde::{Deserialize, Serialize};

/// Runs one call of a tool in a runtime of its own.
async fn call(tool: Tool, arguments: &str) -> Settled {
    let fiber = Fiber::root("test");
    let tools = Tools::new(ToolsConfig::default());
    let name = tool.name().to_owned();
    tools
        .global(&fiber)
        .register(tool)
        .expect("a fresh runtime takes any tool");
    tools
        .execute(Call::new("call-1", name, arguments, Signal::never()))
        .await
}

fn text(outcome: &Outcome) -> String {
    outcome
        .content()
        .iter()
        .filter_map(Block::as_text)
        .collect()
}

fn arguments(text: &str) -> Document {
    Document::parse(text).expect("JSON")
}

#[derive(Debug, Deserialize, Serialize, schemars::JsonSchema)]
struct Line {
    number: u64,
    text: String,
}

/// Read one line
/// of a text.
///
/// # Notes
///
/// Not for a model.
#[tool(
    read_only,
    concurrency_safe = |args| args.number.is_none(),
    timeout = "30s",
    access = |args| [Access::read(&args.file_path)],
    render = line_text,
    present_call = |args| CallView::Generic {
        title: format!("Read {}", args.file_path),
        kind: None,
        raw_input: None,
        content: None,
        locations: None,
    },
    present_result = |_, result| title_of(result),
    presentation_meta = |_, line| line.number,
)]
async fn read_line(
    /// Where the text is,
    /// as a path.
    file_path: String,
    /// Which line, from 1.
    number: Option<u8>,
    #[serde(rename = "maxBytes", default = "limit")]
    #[schemars(range(min = 1))]
    max_bytes: u32,
    cx: RunContext,
) -> Result<Line, ToolError> {
    if cx.signal().is_cancelled() {
        return Err(ToolError::new("cancelled"));
    }
    Ok(Line {
        number: number.unwrap_or(1).into(),
        text: format!("{file_path}:{max_bytes}"),
    })
}

fn limit() -> u32 {
    80
}

fn line_text(args: &ReadLineArgs, line: &Line) -> String {
    format!("{} of {}: {}", line.number, args.file_path, line.text)
}

fn title_of(result: &DurableResult) -> ResultView {
    ResultView::Generic {
        title: result.meta.as_ref().map(|meta| meta.text().to_owned()),
        content: None,
    }
}

#[test]
fn the_definition_comes_from_the_function() -> Result<(), RegistryError> {
    let tool = read_line()?;
    assert_eq!(tool.name(), "read_line");
    assert_eq!(tool.schema().description(), "Read one line of a text.");
    let parameters = serde_json::to_value(tool.schema().parameters()).unwrap();
    assert_eq!(
        parameters,
        serde_json::json!({
            "type": "object",
            "properties": {
                "file_path": { "type": "string", "description": "Where the text is, as a path." },
                "number": { "type": "integer", "description": "Which line, from 1." },
                "maxBytes": { "type": "integer", "minimum": 1, "default": 80 },
            },
            "required": ["file_path"],
        })
    );
    assert_eq!(tool.effect(), Effect::ReadOnly);
    assert_eq!(tool.timeout(), Some(Duration::from_secs(30)));
    assert!(!tool.is_destructive() && !tool.is_open_world() && !tool.owns_deadline());
    Ok(())
}

#[test]
fn callbacks_get_typed_arguments() -> Result<(), RegistryError> {
    let tool = read_line()?;
    let (first, second) = (
        arguments(r#"{"file_path":"a"}"#),
        arguments(r#"{"file_path":"a","number":2}"#),
    );
    assert_eq!(tool.access(&first), Some(vec![Access::read("a")]));
    assert!(tool.is_concurrency_safe(&first));
    assert!(!tool.is_concurrency_safe(&second));
    let card = tool.present_call(&first);
    assert!(matches!(card, Some(CallView::Generic { title, .. }) if title == "Read a"));
    Ok(())
}

#[tokio::test]
async fn a_call_runs_the_function() -> Result<(), RegistryError> {
    let tool = read_line()?;
    let arguments_text = r#"{"file_path":"a.txt","number":7,"more":true}"#;
    // T327: the arguments are an open object.
    let settled = call(tool.clone(), arguments_text).await;
    assert_eq!(text(&settled), "7 of a.txt: a.txt:80");
    assert_eq!(
        settled.value().unwrap().text(),
        r#"{"number":7,"text":"a.txt:80"}"#
    );
    let card = tool.present_result(&arguments(arguments_text), &settled.durable());
    assert!(matches!(card, Some(ResultView::Generic { title: Some(title), .. }) if title == "7"));
    Ok(())
}

#[tokio::test]
async fn arguments_that_do_not_fit_never_reach_the_function() -> Result<(), RegistryError> {
    let settled = call(read_line()?, r#"{"number":"one"}"#).await;
    assert_eq!(settled.code(), Some("INVALID_ARGS"));
    let message = &settled.error().unwrap().message;
    assert!(
        message.contains("file_path") && message.contains("number"),
        "{message}"
    );
    Ok(())
}

/// State with two handles: one call's clone and the test's own.
#[derive(Clone, Default)]
struct Counter(Arc<AtomicU64>);

/// Count up.
#[tool(
    name = "count-up",
    idempotent,
    destructive = false,
    open_world,
    owns_deadline,
    concurrency_safe,
    access = |args| [Access::other(format!("{label}/{}", args.by))],
    finalize_content = |_, outcome| {
        let total = total.0.load(Ordering::SeqCst);
        Ok((!outcome.is_error()).then(|| Content::text(format!("total {total}"))))
    },
)]
async fn count(
    #[state] label: &'static str,
    by: u64,
    _: RunContext,
    #[state] total: Counter,
) -> u64 {
    assert_eq!(label, "hits");
    total.0.fetch_add(by, Ordering::SeqCst) + by
}

#[tokio::test]
async fn state_is_given_when_the_tool_is_made() -> Result<(), RegistryError> {
    let total = Counter::default();
    let tool = count("hits", total.clone())?;
    assert_eq!(tool.name(), "count-up");
    assert_eq!(tool.effect(), Effect::Idempotent);
    assert!(tool.is_open_world() && tool.owns_deadline() && !tool.is_destructive());
    assert_eq!(
        tool.access(&arguments(r#"{"by":2}"#)),
        Some(vec![Access::other("hits/2")])
    );
    assert!(tool.is_concurrency_safe(&arguments(r#"{"by":2}"#)));
    assert_eq!(text(&*call(tool.clone(), r#"{"by":2}"#).await), "total 2");
    let settled = call(tool, r#"{"by":3}"#).await;
    assert_eq!(settled.value().unwrap().text(), "5");
    assert_eq!(total.0.load(Ordering::SeqCst), 5);
    Ok(())
}

/// Parse a number.
#[tool]
async fn parse(text: String) -> Result<u32, std::num::ParseIntError> {
    text.parse()
}

#[tokio::test]
async fn any_error_becomes_the_failure() -> Result<(), RegistryError> {
    let settled = call(parse()?, r#"{"text":"x"}"#).await;
    assert_eq!(text(&settled), "Error: invalid digit found in string");
    assert_eq!(
        call(parse()?, r#"{"text":"12"}"#)
            .await
            .value()
            .unwrap()
            .text(),
        "12"
    );
    Ok(())
}

/// Say where.
#[tool]
async fn locate(place: String) -> std::io::Result<String> {
    if place.is_empty() {
        Err(std::io::ErrorKind::NotFound.into())
    } else {
        Ok(place)
    }
}

#[tokio::test]
async fn an_alias_of_result_is_a_result() -> Result<(), RegistryError> {
    assert!(call(locate()?, r#"{"place":""}"#).await.is_error());
    assert_eq!(text(&*call(locate()?, r#"{"place":"here"}"#).await), "here");
    Ok(())
}

/// Do nothing.
#[tool]
async fn idle() {}

#[tokio::test]
async fn neither_arguments_nor_output_are_needed() -> Result<(), RegistryError> {
    let tool = idle()?;
    assert_eq!(tool.effect(), Effect::Once);
    assert!(tool.is_destructive());
    assert_eq!(tool.timeout(), None);
    assert!(tool.access(&arguments("{}")).is_none());
    assert_eq!(call(tool, "").await.value().unwrap().text(), "null");
    Ok(())
}

const LIMIT: Duration = Duration::from_millis(1500);

/// A name that is a keyword, arguments that are closed and renamed together, and text of its own.
#[tool(
    timeout = LIMIT,
    description = concat!("Send ", "something."),
    args = pub(crate) Parcel,
    once,
    render_value = |args, value| format!("{}:{}", args.get("sendTo").is_some(), value.as_str().unwrap_or_default()),
    presentation_meta_value = |_, value| Ok(value.as_str().map(str::len)),
)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[allow(clippy::unused_async)]
async fn r#yield(
    send_to: BTreeMap<String, u32>,
    #[allow(unused_mut)] mut r#type: Vec<String>,
) -> String {
    r#type.extend(send_to.into_keys());
    r#type.join(",")
}

#[tokio::test]
async fn attributes_on_the_function_reach_the_arguments() -> Result<(), RegistryError> {
    let tool = r#yield()?;
    assert_eq!(tool.name(), "yield");
    assert_eq!(tool.schema().description(), "Send something.");
    assert_eq!(tool.timeout(), Some(LIMIT));
    let settled = call(tool.clone(), r#"{"sendTo":{"b":1},"type":["a"]}"#).await;
    assert_eq!(text(&settled), "true:a,b");
    assert_eq!(settled.meta().unwrap().text(), "3");
    assert!(
        call(tool, r#"{"sendTo":{},"type":[],"more":1}"#)
            .await
            .is_error()
    );
    let parcel = Parcel {
        send_to: BTreeMap::new(),
        r#type: Vec::new(),
    };
    assert!(parcel.send_to.is_empty() && parcel.r#type.is_empty());
    Ok(())
}

/// Wait for the end.
#[tool]
async fn wait(cx: RunContext) -> Result<String, ToolError> {
    Err(ToolError::new(cx.signal().cancelled().await.to_string()))
}

#[tokio::test]
async fn the_signal_reaches_the_function() -> Result<(), RegistryError> {
    let fiber = Fiber::root("test");
    let tools = Tools::new(ToolsConfig::default());
    tools.global(&fiber).register(wait()?)?;
    let (canceller, signal) = Signal::pair();
    let running = tools.execute(Call::new("call-1", "wait", "{}", signal));
    let (settled, ()) = tokio::join!(running, async {
        // Polled second: the body is waiting by now.
        canceller.cancel(Reason::Cancelled);
    });
    assert_eq!(text(&settled), "Error: cancelled");
    Ok(())
}

/// Only `dsh_tools` has to be a dependency, and it may be called anything.
mod renamed {
    pub(crate) mod runtime {
        pub(crate) use dsh_tools::{__private, RegistryError, RunContext, Tool, tool};
    }

    /// Say what was said.
    #[runtime::tool(crate = crate::renamed::runtime)]
    pub(crate) async fn repeat(text: String) -> Result<String, std::convert::Infallible> {
        Ok(text)
    }
}

#[tokio::test]
async fn the_runtime_may_be_elsewhere() -> Result<(), RegistryError> {
    assert_eq!(
        text(&*call(renamed::repeat()?, r#"{"text":"hi"}"#).await),
        "hi"
    );
    Ok(())
}

/// Switched off.
#[tool]
#[cfg(any())]
async fn absent(nothing: NoSuchType) {}

/// Names that the expansion could have used for itself.
#[tool(access = |arguments| [Access::other(format!("{builder}{}", arguments.arguments))])]
async fn hygiene(
    #[state] builder: String,
    #[state] future: u8,
    arguments: u8,
    cx: u8,
    output: u8,
    context: RunContext,
) -> Result<String, std::fmt::Error> {
    assert!(!context.signal().is_cancelled());
    Ok(format!("{builder}{future}{arguments}{cx}{output}"))
}

#[tokio::test]
async fn an_expansion_keeps_its_names_to_itself() -> Result<(), RegistryError> {
    let tool = hygiene("b".to_owned(), 1)?;
    let text_of_arguments = r#"{"arguments":2,"cx":3,"output":4}"#;
    assert_eq!(
        tool.access(&arguments(text_of_arguments)),
        Some(vec![Access::other("b2")])
    );
    assert_eq!(text(&*call(tool, text_of_arguments).await), "b1234");
    Ok(())
}
