//! `dsh doctor`: what this installation can do here.

use std::io;

use dsh_code::{CodeRuntime as _, SandboxLayer};
use dsh_code_quickjs::{Config as EngineConfig, Isolation, QuickJs};
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
    /// What it is made of, one by one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    layers: Vec<SandboxLayer>,
}

impl Check {
    fn new(name: &'static str, ok: bool, found: impl Into<String>) -> Self {
        Self {
            name,
            ok,
            found: found.into(),
            layers: Vec::new(),
        }
    }
}

pub(crate) async fn run(global: &Global, json: bool) -> Result<Exit, Failure> {
    let runtime = Runtime::open(&global.directory)?;
    let checks = checks(&runtime, layers().await);
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

fn checks(runtime: &Runtime, layers: Result<Vec<SandboxLayer>, String>) -> [Check; 8] {
    let workspace = &runtime.workspace;
    let view = runtime.tools.view(Some(&runtime.agent));
    let names = view
        .names()
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ");
    let platform = format!("{} on {}", std::env::consts::OS, std::env::consts::ARCH);
    [
        Check::new("version", true, env!("CARGO_PKG_VERSION")),
        Check::new("platform", true, platform),
        listing(workspace),
        Check::new(
            "path resolution",
            true,
            resolution(workspace.uses_openat2()),
        ),
        Check::new("tools", !view.tools().is_empty(), names),
        Check::new(
            "permissions",
            true,
            "tools that only read may run; every other tool is refused",
        ),
        sandbox(layers, Isolation::default()),
        Check::new("configuration", true, configuration(workspace)),
    ]
}

/// The layers around programs, as a worker that was started for this tells them.
async fn layers() -> Result<Vec<SandboxLayer>, String> {
    let engine = QuickJs::new(EngineConfig {
        ready: 0,
        ..EngineConfig::default()
    })
    .map_err(|error| error.to_string())?;
    let layers = engine.layers().await;
    engine.dispose().await;
    layers
}

/// Whether programs can run, and behind what.
fn sandbox(layers: Result<Vec<SandboxLayer>, String>, isolation: Isolation) -> Check {
    let layers = match layers {
        Ok(layers) => layers,
        Err(error) => {
            return Check::new("sandbox", false, format!("no program can run: {error}"));
        }
    };
    let list = |active: bool| {
        let entries = layers.iter().filter(|layer| layer.active == active);
        entries.map(described).collect::<Vec<_>>().join(", ")
    };
    let (holding, missing) = (list(true), list(false));
    let is_complete = missing.is_empty() && !holding.is_empty();
    let mut found = match holding.as_str() {
        "" => "programs run in a process of their own".to_owned(),
        _ => format!("programs run in a process of their own behind {holding}"),
    };
    if !is_complete {
        found = match isolation {
            Isolation::Required => format!("no program can run; missing: {missing}"),
            Isolation::BestEffort => format!("{found}; missing: {missing}"),
        };
    }
    Check {
        layers,
        ..Check::new(
            "sandbox",
            is_complete || isolation == Isolation::BestEffort,
            found,
        )
    }
}

fn described(layer: &SandboxLayer) -> String {
    if layer.detail.is_empty() {
        layer.name.clone()
    } else {
        format!("{} ({})", layer.name, layer.detail)
    }
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
    Check::new("workspace", ok, found)
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
        let checks = [Check::new("a", true, "x"), Check::new("long", false, "y")];
        assert_eq!(table(&checks, Paint::PLAIN), "ok   a     x\nFAIL long  y");
    }

    #[test]
    fn a_sandbox_is_described_by_its_layers() {
        let layer = |name: &str, active, detail: &str| SandboxLayer {
            name: name.to_owned(),
            active,
            detail: detail.to_owned(),
        };
        #[track_caller]
        fn check(
            layers: Result<Vec<SandboxLayer>, String>,
            isolation: Isolation,
            ok: bool,
            found: &str,
        ) {
            let check = sandbox(layers, isolation);
            assert_eq!((check.ok, check.found.as_str()), (ok, found));
        }
        let whole = vec![layer("rlimits", true, "9 s"), layer("seccomp", true, "")];
        let holed = vec![
            layer("rlimits", true, "9 s"),
            layer("seccomp", false, "too old"),
        ];
        let found = "programs run in a process of their own behind rlimits (9 s), seccomp";
        check(Ok(whole), Isolation::Required, true, found);
        check(
            Ok(holed.clone()),
            Isolation::Required,
            false,
            "no program can run; missing: seccomp (too old)",
        );
        check(
            Ok(holed),
            Isolation::BestEffort,
            true,
            "programs run in a process of their own behind rlimits (9 s); missing: seccomp (too old)",
        );
        check(
            Ok(vec![layer("seccomp", false, "only on Linux")]),
            Isolation::BestEffort,
            true,
            "programs run in a process of their own; missing: seccomp (only on Linux)",
        );
        check(
            Err("no such file".to_owned()),
            Isolation::BestEffort,
            false,
            "no program can run: no such file",
        );
    }
}
