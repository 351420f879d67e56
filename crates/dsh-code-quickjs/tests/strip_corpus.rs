//! The stripper against a corpus of programs with the recorded answers of two other strippers, and
//! the values the programs return when the TypeScript compiler translates them.

use std::fs;
use std::path::PathBuf;

use dsh_code_quickjs::strip::strip;
use serde_json::{Value, json};

fn data(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/strip").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Not a check: writes the stripper's answers for `oracle/generate.mjs`, when that asks for them.
#[test]
fn answers_can_be_recorded() {
    let (Ok(from), Ok(to)) =
        (std::env::var("DSH_STRIP_RECORD_FROM"), std::env::var("DSH_STRIP_RECORD_TO"))
    else {
        return;
    };
    let mut answers = String::new();
    for line in fs::read_to_string(from).unwrap().lines() {
        let program: Value = serde_json::from_str(line).unwrap();
        let answer = match strip(program["source"].as_str().unwrap()) {
            Ok(strip) => json!({ "strip": strip }),
            Err(error) => {
                let errors: Vec<_> = error
                    .diagnostics()
                    .iter()
                    .map(|it| json!({ "line": it.line, "column": it.column, "message": it.message }))
                    .collect();
                json!({ "errors": errors })
            }
        };
        answers.push_str(&answer.to_string());
        answers.push('\n');
    }
    fs::write(to, answers).unwrap();
}
