//! `dsh doctor`: what this installation can do here.

use serde::Serialize;

use crate::args::Global;
use crate::compose::Runtime;
use crate::exit::{Exit, Failure};
use crate::output;

/// One thing looked at.
#[derive(Serialize)]
struct Check {
    name: &'static str,
    ok: bool,
    found: String,
}

pub(crate) async fn run(global: &Global, json: bool) -> Result<Exit, Failure> {
    let runtime = Runtime::open(&global.directory)?;
    let workspace = &runtime.workspace;
    let view = runtime.tools.view(Some(&runtime.agent));
    let names = view.names().iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let checks = [
        Check { name: "version", ok: true, found: env!("CARGO_PKG_VERSION").to_owned() },
        Check { name: "workspace", ok: true, found: workspace.root().display().to_string() },
        Check { name: "path resolution", ok: true, found: resolution(workspace.uses_openat2()).to_owned() },
        Check { name: "tools", ok: !view.tools().is_empty(), found: names },
        Check {
            name: "permissions",
            ok: true,
            found: "tools that only read may run; every other tool is refused".to_owned(),
        },
        Check {
            name: "sandbox",
            ok: true,
            found: "none needed: no tool starts a process".to_owned(),
        },
    ];
    runtime.close().await;
    if json {
        output::json(&checks)?;
    } else {
        let width = checks.iter().map(|check| check.name.len()).max().unwrap_or_default();
        let lines: Vec<String> = checks
            .iter()
            .map(|check| format!("{} {:width$}  {}", if check.ok { "ok  " } else { "FAIL" }, check.name, check.found))
            .collect();
        output::line(&lines.join("\n"))?;
    }
    Ok(if checks.iter().all(|check| check.ok) { Exit::Success } else { Exit::Failed })
}

fn resolution(openat2: bool) -> &'static str {
    if openat2 { "openat2: the kernel keeps every path below the root" } else { "component by component, without openat2" }
}
