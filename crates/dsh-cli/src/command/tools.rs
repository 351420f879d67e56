//! `dsh tools`: what a model would see.

use std::fmt::Write as _;

use crate::args::{Global, ToolsArgs};
use crate::command::catalogue;
use crate::compose::Runtime;
use crate::exit::{Exit, Failure};
use crate::output;

pub(crate) async fn run(global: &Global, args: &ToolsArgs) -> Result<Exit, Failure> {
    if args.markdown {
        output::line(&catalogue::document().await?)?;
        return Ok(Exit::Success);
    }
    let runtime = Runtime::open(&global.directory)?;
    let view = runtime.tools.view(Some(&runtime.agent));
    runtime.close().await;
    if args.json {
        output::line(&view.to_json())?;
    } else if args.ts {
        output::line(&view.to_typescript())?;
    } else if args.py {
        output::line(&view.to_python())?;
    } else {
        let announced = view.announced();
        let width = announced.iter().map(|schema| schema.name().len()).max().unwrap_or_default();
        let mut table = String::new();
        for schema in announced {
            let summary = schema.description().lines().next().unwrap_or_default();
            let _ = writeln!(table, "{:width$}  {summary}", schema.name());
        }
        output::line(&table)?;
    }
    Ok(Exit::Success)
}
