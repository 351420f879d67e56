//! The stripper against a corpus of programs with the recorded answers of two other strippers, and
//! the values the programs return when the TypeScript compiler translates them.
//!
//! `strip/oracle/README.md` says how the corpus is recorded. The values need an engine; they were
//! compared when the corpus was recorded, and are part of it for the tests of the engine.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use dsh_code_quickjs::strip::strip;
use serde_json::{Value, json};

/// Answers of the oracles that are not ours, and why ours is right.
const DEVIATIONS: &[(&str, &str, &str)] = &[
    (
        "ts_blank_space",
        "annotation/astral-characters",
        "one space per UTF-16 unit moves the columns, which count characters",
    ),
    (
        "ts_blank_space",
        "arrow/generic-lines-with-comments",
        "keeps a comment next to a parenthesis that moves",
    ),
    (
        "ts_blank_space",
        "statement/declare",
        "refuses `declare module` with a plain name",
    ),
    (
        "ts_blank_space",
        "statement/type-only-namespace",
        "refuses `module` in place of `namespace`",
    ),
    (
        "ts_blank_space",
        "class/optional-and-definite",
        "leaves the types of an optional method with a computed name",
    ),
    (
        "ts_blank_space",
        "lines/separators",
        "blanks U+2028 and U+2029, which end lines",
    ),
    (
        "ts_blank_space",
        "lines/arrow-separator",
        "does not see that U+2028 puts `=>` on a line of its own",
    ),
    (
        "amaro",
        "lines/spaces",
        "keeps unusual spaces inside a type",
    ),
    (
        "amaro",
        "plain/type-words-as-names",
        "refuses `declare` as a statement of its own",
    ),
    ("amaro", "annotation/tabs", "keeps tabs inside a type"),
    (
        "amaro",
        "annotation/astral-characters",
        "one space per UTF-16 unit moves the columns, which count characters",
    ),
    (
        "amaro",
        "function/declaration-without-body",
        "refuses `async` in a declaration",
    ),
    (
        "amaro",
        "arrow/return-type-on-the-next-line",
        "keeps comments next to a parenthesis that moves",
    ),
    (
        "amaro",
        "arrow/generic-lines-with-comments",
        "keeps comments next to a parenthesis that moves",
    ),
    (
        "amaro",
        "statement/type-only-namespace",
        "refuses `module` in place of `namespace`",
    ),
    (
        "amaro",
        "class/fields-joined-by-lines",
        "leaves `readonly` on the line after `static`, which makes it a field",
    ),
    (
        "amaro",
        "class/field-marked-without-a-type",
        "overwrites the parenthesis of the method that follows",
    ),
    (
        "amaro",
        "class/accessibility-order",
        "refuses `readonly private`, which is only unusual",
    ),
];

fn data(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/strip")
        .join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn corpus() -> Vec<Value> {
    let rows: Vec<Value> = data("corpus.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(rows.len() > 500, "the corpus is incomplete");
    rows
}

fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row[key]
        .as_str()
        .unwrap_or_else(|| panic!("{}: no {key}", row["id"]))
}

/// The characters of the program that are still there, with everything else blank.
fn kept(source: &str, output: &str) -> String {
    let mut source = source.chars();
    output
        .chars()
        .map(|it| if source.next() == Some(it) { it } else { ' ' })
        .collect()
}

#[test]
fn accepted_programs_are_stripped_as_recorded() {
    for row in corpus().iter().filter(|row| row.get("strip").is_some()) {
        let output =
            strip(text(row, "source")).unwrap_or_else(|error| panic!("{}: {error}", row["id"]));
        assert_eq!(output, text(row, "strip"), "{}", row["id"]);
    }
}

#[test]
fn refused_programs_are_refused_by_name_and_position() {
    let mut failures = Vec::new();
    for row in corpus().iter().filter(|row| row.get("error").is_some()) {
        let (id, expected) = (text(row, "id"), &row["error"]);
        match strip(text(row, "source")) {
            Ok(output) => failures.push(format!("{id}: accepted:\n{output}")),
            Err(error) => {
                let first = &error.diagnostics()[0];
                let at = (u64::from(first.line), u64::from(first.column));
                let wanted = (expected["line"].as_u64(), expected["column"].as_u64());
                if (Some(at.0), Some(at.1)) != wanted
                    || !first.message.contains(text(expected, "text"))
                {
                    failures.push(format!("{id}: {error}, but expected {expected}"));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// C199: same lines, same columns, nothing moved.
#[test]
fn positions_do_not_move() {
    for row in corpus().iter().filter(|row| row.get("strip").is_some()) {
        let source = text(row, "source");
        let output = strip(source).unwrap();
        let lines = |text: &str| {
            text.split('\n')
                .map(|it| it.chars().count())
                .collect::<Vec<_>>()
        };
        assert_eq!(lines(source), lines(&output), "{}", row["id"]);
        for (before, after) in source.chars().zip(output.chars()) {
            let is_repair = matches!(after, ' ' | ';' | '(' | ')');
            assert!(
                before == after || is_repair,
                "{}: {before:?} became {after:?}",
                row["id"]
            );
        }
    }
}

#[test]
fn stripping_twice_is_stripping_once() {
    for row in corpus().iter().filter(|row| row.get("strip").is_some()) {
        let once = strip(text(row, "source")).unwrap();
        let twice = strip(&once).unwrap_or_else(|error| panic!("{}: {error}\n{once}", row["id"]));
        assert_eq!(once, twice, "{}", row["id"]);
    }
}

#[test]
fn other_strippers_agree_except_where_they_are_wrong() {
    let mut deviations: BTreeMap<_, _> = DEVIATIONS
        .iter()
        .map(|&(oracle, id, reason)| ((oracle, id), reason))
        .collect();
    let mut failures = Vec::new();
    let corpus = corpus();
    for row in corpus.iter().filter(|row| row.get("strip").is_some()) {
        let (id, source) = (text(row, "id"), text(row, "source"));
        for oracle in ["ts_blank_space", "amaro"] {
            // `=` stands for an answer that keeps the same characters as the recorded one.
            let answer = match row[oracle].as_str() {
                Some("=") => Some(kept(source, text(row, "strip"))),
                answer => answer.map(|answer| kept(source, answer)),
            };
            let agrees = answer == Some(kept(source, &strip(source).unwrap()));
            let deviates = deviations.remove(&(oracle, id)).is_some();
            if agrees == deviates {
                failures.push(format!("{id}: {oracle}: agrees: {agrees}\n{answer:?}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(deviations.is_empty(), "not in the corpus: {deviations:?}");
}

/// The Markdown file is what people edit: nothing in it may be missing from the corpus.
#[test]
fn the_corpus_is_current() {
    let written = data("programs.md");
    let sources: BTreeSet<_> = corpus()
        .iter()
        .map(|row| {
            format!(
                "## {}\n```ts\n{}\n```\n",
                text(row, "id"),
                text(row, "source")
            )
        })
        .collect();
    let mut count = 0;
    for section in written.split("\n## ").skip(1) {
        let fenced = section
            .find("\n```\n")
            .map_or(section, |end| &section[..end + 5]);
        let fenced = format!("## {fenced}");
        let fenced = fenced.replacen("```ts\n```", "```ts\n\n```", 1);
        assert!(
            sources.contains(&fenced),
            "not in corpus.jsonl, record it again: {fenced}"
        );
        count += 1;
    }
    assert!(count > 150, "only {count} programs found");
}

/// Not a check: writes the stripper's answers for `oracle/generate.mjs`, when that asks for them.
#[test]
fn answers_can_be_recorded() {
    let (Ok(from), Ok(to)) = (
        std::env::var("DSH_STRIP_RECORD_FROM"),
        std::env::var("DSH_STRIP_RECORD_TO"),
    ) else {
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
                    .map(
                        |it| json!({ "line": it.line, "column": it.column, "message": it.message }),
                    )
                    .collect();
                json!({ "errors": errors })
            }
        };
        answers.push_str(&answer.to_string());
        answers.push('\n');
    }
    fs::write(to, answers).unwrap();
}
