//! Prints the TypeScript of every schema of a corpus as one file, for a compiler to check.
//!
//! ```text
//! cargo run -p dsh-schema --example corpus_ts > corpus.ts
//! tsc --strict --noEmit --target es2022 corpus.ts
//! ```
//!
//! The corpus is JSON Lines, each with `parameters` and perhaps `outputSchema`; another file than the one in the
//! project may be named as the argument.

#![allow(clippy::print_stdout, reason = "an example that prints")]

use std::io::Write as _;
use std::path::PathBuf;

use dsh_schema::{Document, typescript};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpora/functions.jsonl"),
        PathBuf::from,
    );
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    writeln!(
        out,
        "type JsonValue = null | boolean | number | string | JsonValue[] | {{ [key: string]: JsonValue }};"
    )?;
    for (index, line) in std::fs::read_to_string(path)?.lines().enumerate() {
        let row = Document::parse(line)?;
        writeln!(out, "namespace Fn{index} {{")?;
        for (field, name) in [
            ("parameters", "Args"),
            ("parameters_raw", "Raw"),
            ("outputSchema", "Output"),
        ] {
            let Some(schema) = row.root().get(field) else {
                continue;
            };
            let schema = schema.to_document();
            let rendered = typescript::render(&schema, &format!("{name}Part"), 1);
            for (part, body) in &rendered.declarations {
                writeln!(out, "  export type {part} = {body};")?;
            }
            writeln!(out, "  export type {name} = {};", rendered.text)?;
            writeln!(
                out,
                "  export type {name}Inline = {};",
                typescript::type_of(&schema, 1)
            )?;
        }
        writeln!(out, "}}")?;
    }
    Ok(())
}
