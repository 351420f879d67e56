//! The corpus of the stripper, run: each program returns in the worker what the translation of the TypeScript compiler
//! returned in Node. `strip/oracle/README.md` says how the values were recorded.

#![cfg(unix)]
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test that reports what it did"
)]

mod support;

use std::fmt::Write as _;
use std::path::Path;

use dsh_code::{CodeRuntime, ErrorKind, RunRequest, RunResult};
use dsh_code_quickjs::QuickJs;
use futures_util::StreamExt as _;
use serde_json::Value;

/// The program with its value as text, as it was recorded: some values are no lossless JSON.
fn observed(source: &str) -> String {
    format!("return JSON.stringify(await (async function () {{ {source}\n}})())")
}

/// What a program came to, in the words of the corpus.
fn end(result: &RunResult) -> String {
    match &result.error {
        None => result
            .value
            .as_ref()
            .and_then(|value| value.root().as_str().map(str::to_owned))
            .unwrap_or_else(|| "undefined".to_owned()),
        Some(error) if error.kind == ErrorKind::Exception => {
            let name = error.message.split([':', '\n']).next();
            format!("throws {}", name.unwrap_or_default())
        }
        Some(error) => format!("{}: {}", error.kind, error.message),
    }
}

fn recorded(row: &Value) -> Option<String> {
    let throws = row["throws"].as_str().map(|name| format!("throws {name}"));
    row["value"].as_str().map(str::to_owned).or(throws)
}

#[tokio::test]
async fn programs_return_what_they_return_elsewhere() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/strip/corpus.jsonl");
    let corpus = std::fs::read_to_string(path).unwrap();
    let rows: Vec<Value> = corpus
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|row| recorded(row).is_some())
        .collect();
    let runtime = QuickJs::new(support::config()).unwrap();
    let (run, mut failures) = (&runtime, String::new());
    let mut ends = futures_util::stream::iter(&rows)
        .map(|row| async move {
            let program = observed(row["source"].as_str().unwrap());
            (row, run.run(RunRequest::new(program)).await.unwrap())
        })
        .buffer_unordered(4);
    while let Some((row, result)) = ends.next().await {
        let id = row["id"].as_str().unwrap();
        let (got, want) = (end(&result), recorded(row).unwrap());
        if got != want {
            writeln!(failures, "{id}: {got}, want {want}").unwrap();
        }
    }
    drop(ends);
    runtime.dispose().await;
    println!("{} programs", rows.len());
    assert!(failures.is_empty(), "{failures}");
    assert!(rows.len() > 100, "the corpus is too short");
}
