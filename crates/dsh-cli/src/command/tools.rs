//! `dsh tools`: what a model would see.

use std::fmt::Write as _;

use crate::args::{Global, ToolsArgs};
use crate::command::catalogue;
use crate::compose::Runtime;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::terminal::visible_line;

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
        let width = announced
            .iter()
            .map(|schema| schema.name().len())
            .max()
            .unwrap_or_default();
        let mut table = String::new();
        for schema in announced {
            let summary = visible_line(first_sentence(schema.description()));
            let _ = writeln!(table, "{:width$}  {summary}", schema.name());
        }
        output::line(&table)?;
    }
    Ok(Exit::Success)
}

/// A description up to its first full stop or line end: what fits beside a name.
fn first_sentence(description: &str) -> &str {
    let line = description.trim_start().lines().next().unwrap_or_default();
    line.split_once(". ")
        .map_or(line, |(sentence, _)| sentence)
        .trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_shows_the_first_sentence() {
        assert_eq!(
            first_sentence("Read a file. Returns lines.\nMore."),
            "Read a file"
        );
        assert_eq!(
            first_sentence("\nRead v1.2 of a file.\nMore."),
            "Read v1.2 of a file"
        );
        assert_eq!(first_sentence(""), "");
    }
}
