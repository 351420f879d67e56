//! Recorded declarations: the maps of the SDK section.
//!
//! `DSH_VECTORS` names another folder than the copy in the project.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that reports what it did"
)]

use std::path::PathBuf;

use dsh_schema::{Document, typescript};
use serde_json::Value;

fn rows(file: &str) -> Vec<Value> {
    let folder = std::env::var_os("DSH_VECTORS").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors"),
        PathBuf::from,
    );
    let path = folder.join(file);
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn text<'a>(row: &'a Value, field: &str) -> &'a str {
    row[field]
        .as_str()
        .unwrap_or_else(|| panic!("{field} of {}", row["id"]))
}

/// A count of rows, printed as every vectors test does.
fn report(file: &str, passed: usize, skipped: usize, failures: &[String]) {
    println!(
        "{file}: {passed} passed, {skipped} skipped, {} failed",
        failures.len()
    );
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn sdk_maps() {
    let (mut passed, mut failures) = (0, Vec::new());
    for row in rows("sdk.jsonl") {
        let tools: Vec<Value> = serde_json::from_str(text(&row, "tools_json")).unwrap();
        let documents: Vec<_> = tools
            .iter()
            .map(|tool| {
                (
                    Document::from_value(&tool["parameters"]).unwrap(),
                    Document::from_value(&tool["output"]).unwrap(),
                )
            })
            .collect();
        let tools: Vec<_> = tools
            .iter()
            .zip(&documents)
            .map(|(tool, (parameters, output))| typescript::Tool {
                name: tool["name"].as_str().unwrap(),
                description: tool["description"].as_str().unwrap(),
                parameters,
                output,
            })
            .collect();
        let (args, output) = (typescript::args_map(&tools), typescript::output_map(&tools));
        let sdk = typescript::sdk(&tools);
        if args == text(&row, "ts_args_map")
            && output == text(&row, "ts_output_map")
            && sdk.contains(&args)
            && sdk.contains(&output)
        {
            passed += 1;
        } else {
            failures.push(format!("{}: {args}\n{output}", row["id"]));
        }
    }
    report("sdk.jsonl", passed, 0, &failures);
}
