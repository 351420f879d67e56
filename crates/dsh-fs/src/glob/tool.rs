//! The definition of the tool (F110, F113, F135).

use std::sync::Arc;

use dsh_schema::spec::{self, ObjectSpec, ParameterSpec};
use dsh_schema::{Document, ValueRef};
use dsh_tools::card::{CallKind, CallView, SearchView};
use dsh_tools::{RegistryError, RunContext, Tool, ToolError};
use dsh_workspace::Workspace;
use serde::Deserialize;

use super::find::find_paths;
use super::page::page;
use super::request::GlobRequest;
use crate::search::{
    Fit, Rest, SearchConfig, SearchError, access, card_of, on_thread, skipped_of, skipped_spec,
};

/// The name of the tool.
pub(crate) const NAME: &str = "glob";

/// The prompt section of the tool (F110).
pub const PROMPT_SECTION: &str = "tool:glob";

/// Where that section stands among the others.
pub const PROMPT_ORDER: u32 = 103;

/// What that section says.
pub const PROMPT: &str = "Use the `glob` tool to find files by name instead of shell commands such \
    as `find` or `ls -R`. A pattern without a slash matches file names at any depth; with a slash it \
    matches paths from the workspace's root. Hidden and ignored files are found too, so narrow the \
    pattern or the path in trees with generated files.";

/// The arguments as the model gave them.
#[derive(Debug, Deserialize)]
struct GlobArguments {
    pattern: String,
    path: Option<String>,
}

/// Makes the `glob` tool for a workspace.
///
/// A call walks one directory tree through the workspace on a thread of its own, so it never blocks
/// an executor. It only looks, and may run beside any other call.
///
/// # Errors
///
/// None in practice: the schemas are constant.
///
/// # Cancellation
///
/// A running call asks its signal before every entry of a directory and settles with
/// `SEARCH_ABORTED`.
pub fn glob(workspace: Arc<Workspace>, config: SearchConfig) -> Result<Tool, RegistryError> {
    let judged = workspace.clone();
    Tool::new(NAME, description(&config))
        .parameters(parameters())
        .returns(output())
        .read_only()
        .concurrency_safe()
        .timeout(config.timeout())
        .access(move |arguments| [access(&judged, arguments)])
        .render_value(move |_, value| rendered(value, &config, Rest::Lost))
        .presentation_meta_value(move |_, value| meta(value, config.max_meta_bytes()))
        .present_call(call_view)
        .present_result(|_, result| {
            card_of(result, |view| matches!(view, SearchView::Paths { .. }))
        })
        .run(move |arguments, cx| run(workspace.clone(), config, arguments, cx))
}

fn description(config: &SearchConfig) -> String {
    format!(
        "Find files of the workspace by glob pattern. Returns paths of files, never of directories, \
         oldest modification first, at most {} of them. Hidden and ignored files are included, \
         version control directories are not.",
        config.max_paths()
    )
}

fn parameters() -> ParameterSpec {
    ParameterSpec::new()
        .required(
            "pattern",
            spec::string().description(
                "The glob. Without a slash it matches file names at any depth (`*.rs`), with one \
                 paths from the workspace's root (`src/**/*.rs`).",
            ),
        )
        .optional(
            "path",
            spec::string().description(
                "The directory to search, absolute or relative to the workspace. Default: the \
                 workspace.",
            ),
        )
}

fn output() -> ObjectSpec {
    spec::object()
        .closed()
        .required("root", spec::string())
        .required("paths", spec::array(spec::string()))
        .optional("skipped", skipped_spec())
}

async fn run(
    workspace: Arc<Workspace>,
    config: SearchConfig,
    arguments: Document,
    cx: RunContext,
) -> Result<Document, ToolError> {
    let arguments = arguments.decode::<GlobArguments>()?;
    let request = GlobRequest::new(&arguments.pattern, arguments.path.as_deref())?;
    let output = on_thread(cx.signal().clone(), config.grace(), move |interrupt| {
        find_paths(&workspace, &request, config.max_raw_bytes(), interrupt)
    });
    let output = output.await.map_err(SearchError::into_tool_error)?;
    Ok(Document::from_serialize(&output)?)
}

/// Root and paths of a value.
fn parts(value: ValueRef<'_>) -> Result<(&str, Vec<&str>), ToolError> {
    let malformed = || ToolError::new("a result of `glob` has a root and paths");
    let root = value.get("root").and_then(ValueRef::as_str);
    let paths = value.get("paths").and_then(ValueRef::as_array);
    let (root, paths) = root.zip(paths).ok_or_else(malformed)?;
    let paths = paths.iter().map(ValueRef::as_str).collect::<Option<_>>();
    Ok((root, paths.ok_or_else(malformed)?))
}

/// The text for the model (F113).
pub(crate) fn rendered(
    value: ValueRef<'_>,
    config: &SearchConfig,
    rest: Rest<'_>,
) -> Result<String, ToolError> {
    let (root, paths) = parts(value)?;
    let max = usize::try_from(config.max_paths()).unwrap_or(usize::MAX);
    let mut text = if paths.is_empty() {
        "No files found".to_owned()
    } else if paths.len() <= max {
        paths.join("\n")
    } else {
        page(root, &paths, max, config.is_sampled()).render(paths.len(), rest)
    };
    if let Some(skipped) = skipped_of(value) {
        text.push_str("\n\n");
        text.push_str(&skipped.footer());
    }
    Ok(text)
}

/// All paths, if there are more than are shown (F134).
pub(crate) fn complete_text(value: ValueRef<'_>, config: &SearchConfig) -> Option<String> {
    let (_, paths) = parts(value).ok()?;
    (paths.len() as u64 > config.max_paths()).then(|| paths.join("\n") + "\n")
}

fn meta(value: ValueRef<'_>, max_bytes: u64) -> Result<SearchView, ToolError> {
    let (_, all) = parts(value)?;
    let mut fit = Fit::new(max_bytes);
    let paths: Vec<String> = all
        .iter()
        .take_while(|path| fit.takes(path))
        .map(|path| (*path).to_owned())
        .collect();
    Ok(SearchView::Paths {
        title: None,
        truncated: paths.len() < all.len(),
        total: all.len() as u64,
        paths,
    })
}

fn call_view(arguments: &Document) -> Option<CallView> {
    let GlobArguments { pattern, path } = arguments.decode().ok()?;
    let place = path.map(|path| format!(" in {path}")).unwrap_or_default();
    Some(CallView::Generic {
        title: format!("Glob {pattern}{place}"),
        kind: Some(CallKind::Search),
        raw_input: Some(Document::string(pattern)),
        content: None,
        locations: None,
    })
}
