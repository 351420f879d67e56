//! Recorded declarations: the maps of the SDK section and the types of single schemas.
//!
//! `DSH_VECTORS` names another folder than the copy in the project.

use std::path::PathBuf;

use dsh_schema::{Document, python, typescript};
use serde_json::Value;

fn rows(file: &str) -> Vec<Value> {
    let folder = std::env::var_os("DSH_VECTORS")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors"), PathBuf::from);
    let path = folder.join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text<'a>(row: &'a Value, field: &str) -> &'a str {
    row[field].as_str().unwrap_or_else(|| panic!("{field} of {}", row["id"]))
}

/// A count of rows, printed as every vectors test does.
fn report(file: &str, passed: usize, skipped: usize, failures: &[String]) {
    println!("{file}: {passed} passed, {skipped} skipped, {} failed", failures.len());
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
                (Document::from_value(&tool["parameters"]).unwrap(), Document::from_value(&tool["output"]).unwrap())
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

/// The types of schemas of the subset. Schemas outside of it follow D13, not the recording.
#[test]
fn types_of_single_schemas() {
    let (mut passed, mut skipped, mut failures) = (0, 0, Vec::new());
    for row in rows("schema_assert.jsonl") {
        // Skipped by decision (D2, D3, D4, D13); rows with a generator are all of D4.
        if row.get("overruled_by").is_some() || row.get("generator").is_some() || row["accepted"] == false {
            skipped += 1;
            continue;
        }
        // C69 settles what the recording leaves as an empty comment.
        if row["id"] == "desc-whitespace-only" {
            skipped += 1;
            continue;
        }
        let schema = Document::parse(text(&row, "schema_json")).unwrap();
        let found = (typescript::type_of(&schema, 0), typescript::type_of(&schema, 2), python::type_of(&schema));
        if found.0 == text(&row, "ts") && found.1 == text(&row, "ts_indent2") && found.2 == text(&row, "py") {
            passed += 1;
        } else {
            failures.push(format!("{}: {found:?}\n  expected {} {}", row["id"], row["ts"], row["py"]));
        }
    }
    report("schema_assert.jsonl (types)", passed, skipped, &failures);
}

/// Schemas that are refused are `Any` in Python (C80), and in TypeScript never fail (C54).
#[test]
fn types_of_refused_schemas() {
    let (mut passed, mut skipped, mut failures) = (0, 0, Vec::new());
    for row in rows("schema_assert.jsonl") {
        if row["accepted"] == true || row.get("overruled_by").is_some() || row.get("generator").is_some() {
            skipped += 1;
            continue;
        }
        let Ok(schema) = Document::parse(text(&row, "schema_json")) else {
            skipped += 1;
            continue;
        };
        let found = python::type_of(&schema);
        if found == text(&row, "py") && !typescript::type_of(&schema, 0).is_empty() {
            passed += 1;
        } else {
            failures.push(format!("{}: {found}", row["id"]));
        }
    }
    report("schema_assert.jsonl (refused)", passed, skipped, &failures);
}
