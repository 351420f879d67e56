//! `dsh schema`: JSON lines in, JSON lines out, one for each and in order.

use std::io::{self, BufRead, BufWriter, Write};

use dsh_schema::{Contract, Document, Schema, SchemaError, ValueRef, typescript};
use serde::Serialize;

use crate::args::SchemaCommand;
use crate::exit::{Exit, Failure};

#[derive(Serialize)]
#[serde(untagged)]
enum Answer {
    Checked {
        id: Document,
        contract: &'static str,
        violations: Vec<String>,
    },
    Validated {
        id: Document,
        valid: bool,
        violations: Vec<String>,
    },
    Refused {
        id: Document,
        error: String,
    },
    TypeScript {
        id: Document,
        ts: String,
        #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
        declarations: serde_json::Map<String, serde_json::Value>,
    },
    Malformed {
        line: u64,
        error: String,
    },
}

pub(crate) fn run(command: SchemaCommand) -> Result<Exit, Failure> {
    let mut input = io::stdin().lock();
    let mut output = BufWriter::new(io::stdout().lock());
    let mut exit = Exit::Success;
    let mut bytes = Vec::new();
    for line in 1u64.. {
        bytes.clear();
        let read = input
            .read_until(b'\n', &mut bytes)
            .map_err(|error| Failure::failed(format!("cannot read line {line} of stdin: {error}")))?;
        if read == 0 {
            break;
        }
        if bytes.trim_ascii().is_empty() {
            continue;
        }
        let answer = answer(command, &bytes).unwrap_or_else(|error| {
            exit = Exit::Failed;
            Answer::Malformed { line, error }
        });
        if matches!(answer, Answer::Refused { .. }) {
            exit = Exit::Failed;
        }
        serde_json::to_writer(&mut output, &answer).map_err(io::Error::from)?;
        output.write_all(b"\n")?;
        // Whoever writes line by line reads line by line.
        output.flush()?;
    }
    Ok(exit)
}

fn answer(command: SchemaCommand, line: &[u8]) -> Result<Answer, String> {
    let text = str::from_utf8(line).map_err(|error| format!("not UTF-8: byte {}", error.valid_up_to()))?;
    let document = Document::parse(text.trim()).map_err(|error| error.to_string())?;
    let root = document.root();
    if root.as_object().is_none() {
        return Err("a line is an object with `id` and `schema`".to_owned());
    }
    let member = |name: &str| root.get(name).map(ValueRef::to_document);
    let id = member("id").unwrap_or_else(Document::null);
    let schema = member("schema").ok_or("the line has no `schema`")?;
    Ok(match command {
        SchemaCommand::Check => check(id, &schema),
        SchemaCommand::Validate => {
            let value = root.get("value").ok_or("the line has no `value`")?;
            let label = match root.get("path") {
                None => "value",
                Some(path) => path.as_str().ok_or("`path` is a string: the label of the value in messages")?,
            };
            match Contract::compile(&schema) {
                Ok(contract) => {
                    let violations = contract.violations(value, label);
                    Answer::Validated { id, valid: violations.is_empty(), violations }
                }
                Err(error) => Answer::Refused { id, error: error.to_string() },
            }
        }
        SchemaCommand::Ts => {
            let rendered = typescript::render(&schema, "Schema", 0);
            let declarations = rendered.declarations.into_iter().map(|(name, body)| (name, body.into())).collect();
            Answer::TypeScript { id, ts: rendered.text, declarations }
        }
    })
}

fn check(id: Document, schema: &Document) -> Answer {
    let reasons = |error: SchemaError| error.violations().to_vec();
    let outside = match Schema::parse(schema) {
        Ok(_) => return Answer::Checked { id, contract: "subset", violations: Vec::new() },
        Err(error) => reasons(error),
    };
    match Contract::compile(schema) {
        Ok(_) => Answer::Checked { id, contract: "foreign", violations: outside },
        Err(error) => Answer::Checked { id, contract: "refused", violations: reasons(error) },
    }
}
