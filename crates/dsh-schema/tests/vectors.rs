//! Recorded vectors of schemas, values, specifications and arguments.
//!
//! The folder comes from `DSH_VECTORS`; without it, the copy beside this file is read. Each test prints how many rows of
//! its file passed, were skipped and failed, and fails on any failure. Rows that a decision overrules are skipped with
//! the decision named; `schema_decisions.rs` asserts what the decisions say instead.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test that reports what it did"
)]

use std::fmt::Write as _;
use std::path::PathBuf;

use dsh_schema::spec::{ParameterSpec, ValueSpec};
use dsh_schema::{Document, DocumentErrorKind, Schema, SchemaError, python, typescript};
use serde_json::Value;

fn folder() -> PathBuf {
    std::env::var_os("DSH_VECTORS").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors"),
        PathBuf::from,
    )
}

/// Rows that a rule contradicts without a decision: the field that would have named one, the row, and the rule.
const CONTRADICTED: [(&str, &str, &str); 1] = [(
    "ts_overruled_by",
    "desc-whitespace-only",
    "C69: a description of white space only is treated as absent, the empty comment of the row is not wanted",
)];

/// Runs `check` on each row that no decision overrules.
#[track_caller]
fn run(file: &str, overruled: &[&str], check: impl Fn(&Value) -> Result<(), String>) {
    let path = folder().join(file);
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let (mut passed, mut skipped, mut failures) = (0, 0, String::new());
    let mut failed = 0;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let row: Value = serde_json::from_str(line).unwrap();
        if let Some(decision) = overruled.iter().find_map(|field| row.get(field)) {
            println!("{file}: skipped {}, overruled by {decision}", row["id"]);
            skipped += 1;
            continue;
        }
        let contradicted =
            |(field, id, _): &&(&str, &str, &str)| overruled.contains(field) && row["id"] == *id;
        if let Some((_, id, rule)) = CONTRADICTED.iter().find(contradicted) {
            println!("{file}: skipped \"{id}\", {rule}");
            skipped += 1;
            continue;
        }
        match check(&row) {
            Ok(()) => passed += 1,
            Err(why) => {
                failed += 1;
                writeln!(failures, "{}: {why}", row["id"]).unwrap();
            }
        }
    }
    println!("{file}: passed {passed}, skipped {skipped}, failed {failed}");
    assert!(failed == 0, "{file}: {failed} rows failed\n{failures}");
    assert!(passed > 0, "{file} has no rows to check");
}

/// A text on its way to the crate: a document, or what only a `serde_json` value can hold.
enum Input {
    Document(Document),
    NegativeZero(Value),
}

impl Input {
    fn read(text: &Value) -> Result<Self, String> {
        let text = text.as_str().ok_or("not a text")?;
        match Document::parse(text) {
            Ok(document) => Ok(Self::Document(document)),
            Err(error) if error.kind() == DocumentErrorKind::NegativeZero => Ok(
                Self::NegativeZero(serde_json::from_str(text).map_err(|error| error.to_string())?),
            ),
            Err(error) => Err(error.to_string()),
        }
    }

    fn schema(&self) -> Result<Schema, SchemaError> {
        match self {
            Self::Document(document) => Schema::parse(document),
            Self::NegativeZero(value) => Schema::parse_value(value),
        }
    }

    fn object_schema(&self) -> Result<Schema, SchemaError> {
        match self {
            Self::Document(document) => Schema::parse_object(document),
            Self::NegativeZero(value) => Schema::parse_object_value(value),
        }
    }

    fn judge(&self, schema: &Schema, root: &str) -> (bool, Vec<String>) {
        match self {
            Self::Document(document) => {
                // What a document says, its value has to say too.
                let verdict = (
                    schema.is_valid(document.root()),
                    schema.violations(document.root(), root),
                );
                let value = document.to_value();
                let of_value = (
                    schema.is_valid_value(&value),
                    schema.violations_of_value(&value, root),
                );
                assert_eq!(verdict, of_value);
                verdict
            }
            Self::NegativeZero(value) => (
                schema.is_valid_value(value),
                schema.violations_of_value(value, root),
            ),
        }
    }
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array()
        .into_iter()
        .flatten()
        .map(|text| text.as_str().unwrap().to_owned())
        .collect()
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, actual: T, expected: T) -> Result<(), String> {
    if actual == expected {
        return Ok(());
    }
    Err(format!(
        "{what}\n   is       {actual:?}\n   expected {expected:?}"
    ))
}

/// Compares a refusal with the recorded one, or an acceptance with `accepted`.
fn same_refusal(row: &Value, result: Result<&Schema, &SchemaError>) -> Result<(), String> {
    same(
        "accepted",
        result.is_ok(),
        row["accepted"].as_bool().unwrap(),
    )?;
    let Err(error) = result else { return Ok(()) };
    same(
        "violations",
        error.violations().to_vec(),
        texts(&row["violations"]),
    )?;
    if let Some(recorded) = row.get("error") {
        same(
            "error name",
            SchemaError::NAME,
            recorded["name"].as_str().unwrap(),
        )?;
        same(
            "error code",
            error.code(),
            recorded["code"].as_str().unwrap(),
        )?;
        same(
            "error message",
            error.to_string().as_str(),
            recorded["message"].as_str().unwrap(),
        )?;
    }
    Ok(())
}

#[test]
fn schema_assert() {
    run("schema_assert.jsonl", &["overruled_by"], |row| {
        let input = Input::read(&row["schema_json"])?;
        same_refusal(row, input.schema().as_ref())?;
        let object = input.object_schema();
        same(
            "object root",
            object.is_ok(),
            row["object_root"]["accepted"].as_bool().unwrap(),
        )?;
        let violations = object
            .err()
            .map_or_else(Vec::new, |error| error.violations().to_vec());
        same(
            "object root violations",
            violations,
            texts(&row["object_root"]["violations"]),
        )
    });
}

#[test]
fn schema_typescript() {
    run(
        "schema_assert.jsonl",
        &["overruled_by", "ts_overruled_by"],
        |row| {
            let Input::Document(schema) = Input::read(&row["schema_json"])? else {
                return Ok(());
            };
            same(
                "ts",
                typescript::type_of(&schema, 0).as_str(),
                row["ts"].as_str().unwrap(),
            )?;
            same(
                "ts_indent2",
                typescript::type_of(&schema, 2).as_str(),
                row["ts_indent2"].as_str().unwrap(),
            )
        },
    );
}

#[test]
fn schema_python() {
    run("schema_assert.jsonl", &["overruled_by"], |row| {
        let Input::Document(schema) = Input::read(&row["schema_json"])? else {
            return Ok(());
        };
        same(
            "py",
            python::type_of(&schema).as_str(),
            row["py"].as_str().unwrap(),
        )
    });
}

#[test]
fn value_validate() {
    run("value_validate.jsonl", &["overruled_by"], |row| {
        let schema = Input::read(&row["schema_json"])?
            .schema()
            .map_err(|error| error.to_string())?;
        let value = Input::read(&row["value_json"])?;
        let (valid, violations) = value.judge(&schema, row["path"].as_str().unwrap());
        same("violations", violations, texts(&row["violations"]))?;
        same("valid", valid, row["valid"].as_bool().unwrap())
    });
}

#[test]
fn param_spec() {
    run("param_spec.jsonl", &["overruled_by"], |row| {
        let Input::Document(spec) = Input::read(&row["spec_json"])? else {
            return Err("holds negative zero".into());
        };
        let compiled = match row["kind"].as_str().unwrap() {
            "value" => ValueSpec::from_json(&spec).and_then(|spec| spec.compile()),
            _ => ParameterSpec::from_json(&spec).and_then(|spec| spec.compile()),
        };
        same_refusal(row, compiled.as_ref())?;
        match compiled {
            Ok(schema) => same(
                "schema",
                schema.source().text(),
                row["schema_json"].as_str().unwrap(),
            ),
            Err(_) => Ok(()),
        }
    });
}

#[test]
fn validate_args() {
    run("validate_args.jsonl", &["overruled_by"], |row| {
        let Input::Document(spec) = Input::read(&row["spec_json"])? else {
            return Err("holds negative zero".into());
        };
        let schema = ParameterSpec::from_json(&spec)
            .and_then(|spec| spec.compile())
            .map_err(|error| error.to_string())?;
        let (valid, violations) = Input::read(&row["args_json"])?.judge(&schema, "");
        same("violations", violations, texts(&row["violations"]))?;
        same("valid", valid, row["valid"].as_bool().unwrap())
    });
}
