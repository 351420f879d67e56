//! The definition of the tool (F120, F122, F135).

use std::sync::Arc;

use dsh_schema::spec::{self, ObjectSpec, ParameterSpec};
use dsh_schema::{Document, ValueRef};
use dsh_tools::card::{CallKind, CallView, FileMatches, MatchedLine, SearchView};
use dsh_tools::{RegistryError, RunContext, Tool, ToolError};
use dsh_workspace::Workspace;
use serde::Deserialize;

use super::find::find_lines;
use super::render::{Shown, by_file, cut, render};
use super::request::GrepRequest;
use crate::search::{
    Fit, Rest, SearchConfig, SearchError, access, card_of, on_thread, skipped_of, skipped_spec,
};

/// The name of the tool.
pub(crate) const NAME: &str = "grep";

/// The prompt section of the tool (F120).
pub const PROMPT_SECTION: &str = "tool:grep";

/// Where that section stands among the others.
pub const PROMPT_ORDER: u32 = 104;

/// What that section says.
pub const PROMPT: &str = "Use the `grep` tool to search the contents of files instead of shell \
    commands such as `grep` or `rg`. Patterns are regular expressions as `ripgrep` has them; \
    escape what is meant literally. Hidden and ignored files are left out unless `include` matches \
    them or `path` names them.";

/// The arguments as the model gave them.
#[derive(Debug, Deserialize)]
struct GrepArguments {
    pattern: String,
    path: Option<String>,
    include: Option<String>,
}

/// Makes the `grep` tool for a workspace.
///
/// A call searches one file or directory tree through the workspace on a thread of its own, so it
/// never blocks an executor. It only looks, and may run beside any other call.
///
/// # Errors
///
/// None in practice: the schemas are constant.
///
/// # Cancellation
///
/// A running call asks its signal before every entry of a directory and before every 64 KiB of a
/// file, and settles with `SEARCH_ABORTED`. A search that does not get to ask within the configured
/// grace is left behind.
pub fn grep(workspace: Arc<Workspace>, config: SearchConfig) -> Result<Tool, RegistryError> {
    let judged = workspace.clone();
    Tool::new(NAME, description(&config))
        .parameters(parameters())
        .returns(output())
        .read_only()
        .concurrency_safe()
        .timeout(config.timeout())
        .access(move |arguments| [access(&judged, arguments)])
        .render_value(move |_, value| rendered(value, &config, Rest::Lost))
        .presentation_meta_value(move |_, value| meta(value, &config))
        .present_call(call_view)
        .present_result(|_, result| {
            card_of(result, |view| matches!(view, SearchView::Matches { .. }))
        })
        .run(move |arguments, cx| run(workspace.clone(), config, arguments, cx))
}

fn description(config: &SearchConfig) -> String {
    format!(
        "Search the contents of files of the workspace by regular expression. Returns matching lines \
         with their numbers, file by file, at most {} of them. Hidden and ignored files are left out.",
        config.max_matches()
    )
}

fn parameters() -> ParameterSpec {
    ParameterSpec::new()
        .required(
            "pattern",
            spec::string().description("The regular expression, in the syntax of `ripgrep`."),
        )
        .optional(
            "path",
            spec::string().description(
                "The file or directory to search, absolute or relative to the workspace. Default: \
                 the workspace.",
            ),
        )
        .optional(
            "include",
            spec::string()
                .description("One glob of the files to search, such as `*.rs` or `*.{ts,tsx}`."),
        )
}

fn output() -> ObjectSpec {
    let found = spec::object()
        .closed()
        .required("path", spec::string())
        .required("lineNumber", spec::integer())
        .required("line", spec::string());
    spec::object()
        .closed()
        .required("matches", spec::array(found))
        .optional("skipped", skipped_spec())
}

async fn run(
    workspace: Arc<Workspace>,
    config: SearchConfig,
    arguments: Document,
    cx: RunContext,
) -> Result<Document, ToolError> {
    let GrepArguments {
        pattern,
        path,
        include,
    } = arguments.decode()?;
    let request = GrepRequest::new(&pattern, path.as_deref(), include.as_deref())?;
    let output = on_thread(cx.signal().clone(), config.grace(), move |interrupt| {
        find_lines(&workspace, &request, config.max_raw_bytes(), interrupt)
    });
    let output = output.await.map_err(SearchError::into_tool_error)?;
    Ok(Document::from_serialize(&output)?)
}

/// The matches of a value; looked at where they are, for there may be very many.
fn matches(
    value: ValueRef<'_>,
) -> Result<impl ExactSizeIterator<Item = Shown<'_>> + Clone, ToolError> {
    let matches = value
        .get("matches")
        .and_then(ValueRef::as_array)
        .ok_or_else(|| ToolError::new("a result of `grep` has matches"))?;
    Ok(matches.iter().map(|found| {
        let text = |name| {
            found
                .get(name)
                .and_then(ValueRef::as_str)
                .unwrap_or_default()
        };
        let number = found.get("lineNumber").and_then(ValueRef::as_u64);
        Shown {
            path: text("path"),
            line_number: number.unwrap_or_default(),
            line: text("line"),
        }
    }))
}

/// The text for the model (F122).
pub(crate) fn rendered(
    value: ValueRef<'_>,
    config: &SearchConfig,
    rest: Rest<'_>,
) -> Result<String, ToolError> {
    let all = matches(value)?;
    let total = all.len();
    let max = usize::try_from(config.max_matches()).unwrap_or(usize::MAX);
    let mut text = render(all.take(max), total, config.max_line_bytes(), rest);
    if let Some(skipped) = skipped_of(value) {
        text.push_str("\n\n");
        text.push_str(&skipped.footer());
    }
    Ok(text)
}

/// All matches as text, if there are more than are shown (F134).
pub(crate) fn complete_text(value: ValueRef<'_>, config: &SearchConfig) -> Option<String> {
    let all = matches(value).ok()?;
    let total = all.len();
    (total as u64 > config.max_matches()).then(|| render(all, total, u64::MAX, Rest::Lost) + "\n")
}

/// The data of the card: matches by file, lines cut as in the text, files left out at the end until
/// it fits. Of a single file that does not fit, lines are left out.
fn meta(value: ValueRef<'_>, config: &SearchConfig) -> Result<SearchView, ToolError> {
    let all = matches(value)?;
    let total = all.len() as u64;
    let mut fit = Fit::new(config.max_meta_bytes());
    let mut files: Vec<FileMatches> = Vec::new();
    for (path, lines) in by_file(all) {
        let line = |found: &Shown<'_>| MatchedLine {
            line_number: found.line_number,
            line: cut(found.line, config.max_line_bytes()).into_owned(),
        };
        let mut matches: Vec<MatchedLine> = lines.iter().map(line).collect();
        if files.is_empty() {
            // It stays whatever its size, so it must not have any size.
            let mut inner = Fit::new(config.max_meta_bytes().saturating_sub(path.len() as u64));
            matches = matches.into_iter().take_while(|m| inner.takes(m)).collect();
        }
        let is_whole = matches.len() == lines.len();
        let path = path.to_owned();
        let file = FileMatches { path, matches };
        if !fit.takes(&file) {
            break;
        }
        files.push(file);
        if !is_whole {
            break;
        }
    }
    let kept: usize = files.iter().map(|file| file.matches.len()).sum();
    Ok(SearchView::Matches {
        title: None,
        truncated: (kept as u64) < total,
        total,
        files,
    })
}

fn call_view(arguments: &Document) -> Option<CallView> {
    let GrepArguments {
        pattern,
        path,
        include,
    } = arguments.decode().ok()?;
    let place = path.map(|path| format!(" in {path}")).unwrap_or_default();
    let include = include
        .map(|include| format!(" ({include})"))
        .unwrap_or_default();
    Some(CallView::Generic {
        title: format!("Grep {pattern}{place}{include}"),
        kind: Some(CallKind::Search),
        raw_input: Some(Document::string(pattern)),
        content: None,
        locations: None,
    })
}
