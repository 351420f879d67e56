//! The definition of the tool (F60): everything else of this module, put on the road of a call.

use std::sync::Arc;

use dsh_schema::spec::{self, ObjectSpec, ParameterSpec};
use dsh_schema::{Document, ValueRef};
use dsh_tools::card::{CallKind, CallView, Location, NumberedLine, ResultView};
use dsh_tools::{Access, DurableResult, RegistryError, RunContext, Tool, ToolError};
use dsh_workspace::{FsError, Workspace};
use serde::{Deserialize, Serialize};
use serde_json::Number;

use super::config::ReadConfig;
use super::render::render;
use super::request::ReadRequest;
use super::scan::read_window;
use super::view::{self, ReadMeta};
use super::window::{Line, Window};

/// The prompt section of the tool (F60).
pub const PROMPT_SECTION: &str = "tool:read";

/// Where that section stands among the others.
pub const PROMPT_ORDER: u32 = 100;

/// What that section says.
pub const PROMPT: &str = "Use the `read` tool for text files instead of shell commands such as \
    `cat`, `head`, `tail` or `sed`. Its result numbers every line. When a result says that the file \
    goes on, call `read` again with the `offset` it names, and with `limit` to ask for fewer lines.";

/// The arguments as the model gave them.
#[derive(Debug, Deserialize)]
struct ReadArguments {
    file_path: String,
    offset: Option<Number>,
    limit: Option<Number>,
}

impl ReadArguments {
    fn request(&self, config: &ReadConfig) -> Result<ReadRequest, ToolError> {
        let (offset, limit) = (self.offset.as_ref(), self.limit.as_ref());
        Ok(ReadRequest::new(&self.file_path, offset, limit, config)?)
    }
}

/// The canonical value (F69).
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReadOutput {
    path: String,
    offset: u64,
    lines: Vec<Line>,
    total_lines: u64,
}

/// Makes the `read` tool for a workspace.
///
/// A call reads one text file through the workspace on a thread of its own, so it never blocks an
/// executor. It only looks, and may run beside any other call.
///
/// # Errors
///
/// None in practice: the schemas are constant.
///
/// # Cancellation
///
/// A running call asks its signal before every 64 KiB and settles with `FS_ABORTED`.
pub fn read(workspace: Arc<Workspace>, config: ReadConfig) -> Result<Tool, RegistryError> {
    let judged = workspace.clone();
    Tool::new("read", description(&config))
        .parameters(parameters(&config))
        .returns(output())
        .read_only()
        .concurrency_safe()
        .access(move |arguments| [access(&judged, arguments)])
        .render_value(move |arguments, value| rendered(arguments, value, &config))
        .presentation_meta_value(|_, value| meta(value))
        .present_call(call_view)
        .present_result(|_, result| result_view(result))
        .run(move |arguments, cx| run(workspace.clone(), config, arguments, cx))
}

fn description(config: &ReadConfig) -> String {
    format!(
        "Read a UTF-8 text file of the workspace. Returns numbered lines, at most {} of them and \
         {} bytes; lines longer than {} characters are cut. Use `offset` and `limit` to read on.",
        config.limit(),
        config.max_bytes(),
        config.max_line_length()
    )
}

fn parameters(config: &ReadConfig) -> ParameterSpec {
    let path = "Path of the file, absolute or relative to the workspace.";
    let limit = format!(
        "How many lines to return at most. Default and maximum: {}.",
        config.limit()
    );
    ParameterSpec::new()
        .required("file_path", spec::string().description(path))
        .optional(
            "offset",
            spec::number().description("The first line to return, from 1."),
        )
        .optional("limit", spec::number().description(&limit))
}

fn output() -> ObjectSpec {
    let line = spec::object()
        .closed()
        .required("number", spec::integer())
        .required("text", spec::string());
    spec::object()
        .closed()
        .required("path", spec::string())
        .required("offset", spec::integer())
        .required("lines", spec::array(line))
        .required("totalLines", spec::integer())
}

/// What rules judge is the resolved path, so that no link gets around them. A path that does not
/// resolve is judged as it is spelled; the body will refuse it.
fn access(workspace: &Workspace, arguments: &Document) -> Access {
    let path = arguments
        .root()
        .get("file_path")
        .and_then(ValueRef::as_str)
        .unwrap_or_default();
    match workspace.resolve(path) {
        Ok(target) => Access::read(target.key().to_string_lossy()),
        Err(_) => Access::read(path),
    }
}

async fn run(
    workspace: Arc<Workspace>,
    config: ReadConfig,
    arguments: Document,
    cx: RunContext,
) -> Result<Document, ToolError> {
    let request = arguments.decode::<ReadArguments>()?.request(&config)?;
    let signal = cx.signal().clone();
    let output = blocking::unblock(move || {
        let target = workspace.resolve(request.path())?;
        let interrupt = || signal.is_cancelled();
        let (window, _) = read_window(&workspace, &target, request.limits(), &interrupt)?;
        Ok(ReadOutput {
            path: target.display().to_owned(),
            offset: request.limits().offset,
            lines: window.lines,
            total_lines: window.total_lines,
        })
    })
    .await
    .map_err(tool_error)?;
    Ok(Document::from_serialize(&output)?)
}

fn tool_error(error: FsError) -> ToolError {
    ToolError::coded(error.name(), error.code().as_str(), error.to_string()).with_source(error)
}

/// Arguments may be of a call that never ran; then the configured limit is as good as any.
fn rendered(
    arguments: ValueRef<'_>,
    value: ValueRef<'_>,
    config: &ReadConfig,
) -> Result<String, ToolError> {
    let output = value.decode::<ReadOutput>()?;
    let limit = arguments
        .decode::<ReadArguments>()
        .ok()
        .and_then(|arguments| arguments.request(config).ok())
        .map_or(config.limit(), |request| request.limits().limit);
    Ok(render(
        &output.path,
        output.offset,
        limit,
        &output.lines,
        output.total_lines,
    ))
}

fn meta(value: ValueRef<'_>) -> Result<ReadMeta, ToolError> {
    let ReadOutput {
        path,
        offset,
        lines,
        total_lines,
    } = value.decode()?;
    Ok(ReadMeta::new(&path, offset, Window { lines, total_lines }))
}

fn call_view(arguments: &Document) -> Option<CallView> {
    let arguments = arguments.decode::<ReadArguments>().ok()?;
    let (offset, limit) = (arguments.offset.as_ref(), arguments.limit.as_ref());
    let (title, line) = view::title(&arguments.file_path, offset, limit);
    Some(CallView::Generic {
        title,
        kind: Some(CallKind::Read),
        raw_input: None,
        content: None,
        locations: Some(vec![Location {
            path: arguments.file_path,
            line: Some(line),
        }]),
    })
}

fn result_view(result: &DurableResult) -> Option<ResultView> {
    if result.is_error {
        return None;
    }
    let meta: ReadMeta = result.meta.as_ref()?.decode().ok()?;
    let [block] = result.content.blocks() else {
        return None;
    };
    let content = view::content_of(block.as_text()?)?;
    meta.is_consistent().then(|| ResultView::Read {
        title: None,
        path: meta.path,
        offset: meta.offset,
        lines: meta
            .lines
            .into_iter()
            .map(|line| NumberedLine {
                number: line.number,
                text: line.text,
            })
            .collect(),
        total_lines: meta.total_lines,
        lang: meta.lang,
        content: Some(content.to_owned()),
    })
}
