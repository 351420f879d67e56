//! `dsh doctor`: what this installation can do here.

use std::io;

use dsh_workspace::{Workspace, never};
use serde::Serialize;

use crate::args::Global;
use crate::compose::Runtime;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::terminal::{Paint, visible_line};

/// Files that other versions and other programs read, and that this one does not.
const UNREAD: &[&str] = &["dsh.toml", ".mcp.json"];

/// One thing looked at.
#[derive(Serialize)]
struct Check {
    name: &'static str,
    ok: bool,
    found: String,
}

pub(crate) async fn run(global: &Global, json: bool) -> Result<Exit, Failure> {
    let runtime = Runtime::open(&global.directory)?;
    let checks = checks(&runtime);
    runtime.close().await;
    if json {
        output::json(&checks)?;
    } else {
        output::line(&table(&checks, Paint::of(global.color, &io::stdout())))?;
    }
    Ok(if checks.iter().all(|check| check.ok) {
        Exit::Success
    } else {
        Exit::Failed
    })
}

fn checks(runtime: &Runtime) -> [Check; 8] {
    let workspace = &runtime.workspace;
    let view = runtime.tools.view(Some(&runtime.agent));
    let names = view
        .names()
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ");
    let fine = |name, found: String| Check {
        name,
        ok: true,
        found,
    };
    [
        fine("version", env!("CARGO_PKG_VERSION").to_owned()),
        fine(
            "platform",
            format!("{} on {}", std::env::consts::OS, std::env::consts::ARCH),
        ),
        listing(workspace),
        fine(
            "path resolution",
            resolution(workspace.uses_openat2()).to_owned(),
        ),
        Check {
            name: "tools",
            ok: !view.tools().is_empty(),
            found: names,
        },
        fine(
            "permissions",
            "tools that only read may run; every other tool is refused".to_owned(),
        ),
        fine(
            "sandbox",
            "none needed: no tool starts a process".to_owned(),
        ),
        fine("configuration", configuration(workspace)),
    ]
}

/// Whether the root can be looked into, by the road that tools take.
fn listing(workspace: &Workspace) -> Check {
    let root = workspace.root().display();
    let listed = workspace
        .resolve(".")
        .and_then(|target| workspace.list_dir(&target, &never));
    let (ok, found) = match listed {
        Ok(entries) => (true, format!("{root}, {} entries", entries.len())),
        Err(error) => (false, error.to_string()),
    };
    Check {
        name: "workspace",
        ok,
        found,
    }
}

fn resolution(openat2: bool) -> &'static str {
    if openat2 {
        "openat2: the kernel keeps every path below the root"
    } else {
        "component by component, without openat2"
    }
}

fn configuration(workspace: &Workspace) -> String {
    let present: Vec<_> = UNREAD
        .iter()
        .copied()
        .filter(|name| {
            workspace
                .lstat(name, &never)
                .is_ok_and(|found| found.is_some())
        })
        .collect();
    if present.is_empty() {
        "flags only".to_owned()
    } else {
        format!(
            "flags only; this version does not read {}",
            present.join(" and ")
        )
    }
}

fn table(checks: &[Check], paint: Paint) -> String {
    let width = checks
        .iter()
        .map(|check| check.name.len())
        .max()
        .unwrap_or_default();
    let lines: Vec<String> = checks
        .iter()
        .map(|check| {
            let mark = if check.ok {
                paint.good("ok  ")
            } else {
                paint.bad("FAIL")
            };
            format!(
                "{mark} {:width$}  {}",
                check.name,
                visible_line(&check.found)
            )
        })
        .collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_check_stands_out() {
        let checks = [
            Check {
                name: "a",
                ok: true,
                found: "x".to_owned(),
            },
            Check {
                name: "long",
                ok: false,
                found: "y".to_owned(),
            },
        ];
        assert_eq!(table(&checks, Paint::PLAIN), "ok   a     x\nFAIL long  y");
    }
}
