//! A finished call's card, as a terminal shows it.

use std::fmt::Write as _;

use dsh_tools::card::{CallView, ResultView, SearchView, WebView};
use dsh_tools::{Block, DurableResult};

use crate::terminal::{Paint, visible_line};

/// The line that says what a call does.
pub(crate) fn title(pending: &CallView) -> &str {
    let (CallView::Generic { title, .. }
    | CallView::Terminal { title, .. }
    | CallView::Diff { title, .. }) = pending;
    title
}

/// Draws the card of a finished call. Control and bidirectional characters of foreign text are shown, not obeyed.
pub(crate) fn draw(
    name: &str,
    pending: Option<&CallView>,
    result: Option<&ResultView>,
    durable: &DurableResult,
    paint: Paint,
) -> String {
    let mut out = String::new();
    let fallback = pending.map_or(name, title);
    let heading = |out: &mut String, title: Option<&String>| {
        let mark = if durable.is_error {
            paint.bad("✗")
        } else {
            paint.good("✓")
        };
        let _ = writeln!(
            out,
            "{mark} {}",
            visible_line(title.map_or(fallback, String::as_str))
        );
    };
    match result {
        Some(ResultView::Read {
            title,
            offset,
            lines,
            total_lines,
            ..
        }) => {
            heading(&mut out, title.as_ref());
            let width = lines.last().map_or(1, |line| line.number.to_string().len());
            for line in lines {
                let margin = paint.aside(&format!("{:>width$} │", line.number));
                let _ = writeln!(out, "  {margin} {}", visible_line(&line.text));
            }
            let last = lines
                .last()
                .map_or(offset.saturating_sub(1), |line| line.number);
            if last < *total_lines {
                let _ = writeln!(out, "  … {} of {total_lines} lines", lines.len());
            }
        }
        Some(ResultView::Terminal {
            title,
            output,
            exit_code,
            signal,
        }) => {
            heading(&mut out, title.as_ref());
            indented(&mut out, output.as_deref().unwrap_or_default());
            if let Some(code) = exit_code {
                let _ = writeln!(out, "  exit code {code}");
            }
            if let Some(signal) = signal {
                let _ = writeln!(out, "  killed by {}", visible_line(signal));
            }
        }
        Some(ResultView::Diff { title, diffs }) => {
            heading(&mut out, title.as_ref());
            for diff in diffs {
                let _ = writeln!(out, "  {}", visible_line(&diff.path));
            }
        }
        Some(ResultView::Search(SearchView::Matches {
            title,
            files,
            truncated,
            total,
        })) => {
            heading(&mut out, title.as_ref());
            for file in files {
                let _ = writeln!(out, "  {}", visible_line(&file.path));
                for line in &file.matches {
                    let _ = writeln!(
                        out,
                        "    {}: {}",
                        line.line_number,
                        visible_line(&line.line)
                    );
                }
            }
            total_line(&mut out, *truncated, *total);
        }
        Some(ResultView::Search(SearchView::Paths {
            title,
            paths,
            truncated,
            total,
        })) => {
            heading(&mut out, title.as_ref());
            for path in paths {
                let _ = writeln!(out, "  {}", visible_line(path));
            }
            total_line(&mut out, *truncated, *total);
        }
        Some(ResultView::Web(WebView::Search {
            title,
            sources,
            answer,
            ..
        })) => {
            heading(&mut out, title.as_ref());
            indented(&mut out, answer.as_deref().unwrap_or_default());
            for source in sources {
                let _ = writeln!(out, "  {}", visible_line(&source.url));
            }
        }
        Some(ResultView::Web(WebView::Fetch {
            title,
            url,
            status_code,
            ..
        })) => {
            heading(&mut out, title.as_ref());
            let _ = writeln!(out, "  {status_code} {}", visible_line(url));
        }
        Some(ResultView::Generic { title, content }) => {
            heading(&mut out, title.as_ref());
            blocks(&mut out, content.as_deref().unwrap_or(&durable.content));
        }
        None => {
            heading(&mut out, None);
            blocks(&mut out, &durable.content);
        }
    }
    out
}

fn total_line(out: &mut String, truncated: bool, total: u64) {
    if truncated {
        let _ = writeln!(out, "  … {total} in all");
    }
}

fn blocks(out: &mut String, blocks: &[Block]) {
    for block in blocks {
        match block.as_text() {
            Some(text) => indented(out, text),
            None => {
                let _ = writeln!(out, "  [{} content]", visible_line(block.kind()));
            }
        }
    }
}

fn indented(out: &mut String, text: &str) {
    for line in text.lines() {
        let _ = writeln!(out, "  {}", visible_line(line));
    }
}
