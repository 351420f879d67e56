//! `dsh schema`: JSON lines in, JSON lines out, one for each and in order.

use std::io::{self, BufRead, Read};

use dsh_schema::{Contract, Document, DocumentError, Schema, SchemaError, ValueRef, typescript};
use serde::Serialize;

use crate::args::SchemaCommand;
use crate::exit::{Exit, Failure};
use crate::output::{self, Reader};

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

/// The longest line, in bytes. What is longer is a malformed line, so that no input can fill the memory.
const LIMIT: u64 = 64 * 1024 * 1024;

pub(crate) fn run(command: SchemaCommand) -> Result<Exit, Failure> {
    let mut input = io::stdin().lock();
    let mut exit = Exit::Success;
    for number in 1u64.. {
        let line = next_line(&mut input, LIMIT).map_err(|error| {
            Failure::failed(format!("cannot read line {number} of stdin: {error}"))
        })?;
        let answer = match line {
            Line::End => break,
            Line::Text(bytes) if bytes.trim_ascii().is_empty() => continue,
            Line::Text(bytes) => answer(command, &bytes),
            Line::TooLong => Err(format!("longer than {LIMIT} bytes")),
        };
        let answer = answer.unwrap_or_else(|error| Answer::Malformed {
            line: number,
            error,
        });
        if matches!(answer, Answer::Malformed { .. } | Answer::Refused { .. }) {
            exit = Exit::Failed;
        }
        // Each answer leaves at once: whoever writes line by line reads line by line.
        if output::json(&answer)? == Reader::Gone {
            break;
        }
    }
    Ok(exit)
}

#[derive(Debug, PartialEq, Eq)]
enum Line {
    Text(Vec<u8>),
    TooLong,
    End,
}

/// Reads a line of at most `limit` bytes; of a longer one the rest is skipped.
fn next_line(input: &mut impl BufRead, limit: u64) -> io::Result<Line> {
    let mut bytes = Vec::new();
    // One more for the line end.
    let read = input
        .by_ref()
        .take(limit + 1)
        .read_until(b'\n', &mut bytes)?;
    if read == 0 {
        return Ok(Line::End);
    }
    if bytes.ends_with(b"\n") || bytes.len() as u64 <= limit {
        return Ok(Line::Text(bytes));
    }
    input.skip_until(b'\n')?;
    Ok(Line::TooLong)
}

fn answer(command: SchemaCommand, line: &[u8]) -> Result<Answer, String> {
    let text = str::from_utf8(line)
        .map_err(|error| format!("byte {}: not UTF-8", error.valid_up_to() + 1))?;
    let document = Document::parse(text.trim()).map_err(|error| misread(&error))?;
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
                Some(path) => path
                    .as_str()
                    .ok_or("`path` is a string: the label of the value in messages")?,
            };
            match Contract::compile(&schema) {
                Ok(contract) => {
                    let violations = contract.violations(value, label);
                    Answer::Validated {
                        id,
                        valid: violations.is_empty(),
                        violations,
                    }
                }
                Err(error) => Answer::Refused {
                    id,
                    error: error.to_string(),
                },
            }
        }
        SchemaCommand::Ts => {
            let rendered = typescript::render(&schema, "Schema", 0);
            let declarations = rendered
                .declarations
                .into_iter()
                .map(|(name, body)| (name, body.into()))
                .collect();
            Answer::TypeScript {
                id,
                ts: rendered.text,
                declarations,
            }
        }
    })
}

/// A line of JSON lines is one line, so only the column says where.
fn misread(error: &DocumentError) -> String {
    match error.column() {
        Some(column) => format!("column {column}: {}", error.message()),
        None => error.to_string(),
    }
}

fn check(id: Document, schema: &Document) -> Answer {
    let reasons = |error: SchemaError| error.violations().to_vec();
    let outside = match Schema::parse(schema) {
        Ok(_) => {
            return Answer::Checked {
                id,
                contract: "subset",
                violations: Vec::new(),
            };
        }
        Err(error) => reasons(error),
    };
    match Contract::compile(schema) {
        Ok(_) => Answer::Checked {
            id,
            contract: "foreign",
            violations: outside,
        },
        Err(error) => Answer::Checked {
            id,
            contract: "refused",
            violations: reasons(error),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_skipped_to_its_end() {
        let mut input = &b"12345\n123456\n1234567890\n\n12345"[..];
        let mut next = || next_line(&mut input, 5).unwrap();
        assert_eq!(next(), Line::Text(b"12345\n".to_vec()));
        assert_eq!(next(), Line::TooLong);
        assert_eq!(next(), Line::TooLong);
        assert_eq!(next(), Line::Text(b"\n".to_vec()));
        assert_eq!(next(), Line::Text(b"12345".to_vec()));
        assert_eq!(next(), Line::End);
    }
}
