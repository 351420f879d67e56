//! Schemas and calls of the real world, and the JSON Schema test suite: no wrong verdict, and nothing accepted that is
//! not enforced. Origins and licences are in `corpora/README.md`.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeSet;
use std::path::Path;

use dsh_schema::{Contract, Document, SchemaError, ValueRef};

fn rows(file: &str) -> Vec<Document> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/corpora")
        .join(file);
    std::fs::read_to_string(path)
        .unwrap()
        .lines()
        .map(|line| Document::parse(line).unwrap())
        .collect()
}

fn compile(schema: ValueRef<'_>) -> Result<Contract, SchemaError> {
    Contract::compile(&schema.to_document())
}

fn text<'a>(row: &'a Document, key: &str) -> &'a str {
    row.root().get(key).and_then(ValueRef::as_str).unwrap()
}

/// A contract whose verdict and list of violations agree.
#[track_caller]
fn verdict(contract: &Contract, value: ValueRef<'_>) -> bool {
    let valid = contract.is_valid(value);
    assert_eq!(
        contract.violations(value, "").is_empty(),
        valid,
        "{value} against {:?}",
        contract.source()
    );
    valid
}

#[test]
fn the_json_schema_test_suite_has_no_wrong_verdict() {
    let mut wrong = Vec::new();
    for group in rows("json_schema_test_suite.jsonl") {
        let contract = compile(group.root().get("schema").unwrap())
            .unwrap_or_else(|error| panic!("{group}: {error}"));
        for test in group
            .root()
            .get("tests")
            .and_then(ValueRef::as_array)
            .unwrap()
            .iter()
        {
            let expected = test.get("valid").and_then(ValueRef::as_bool).unwrap();
            if verdict(&contract, test.get("data").unwrap()) != expected {
                wrong.push(format!(
                    "{}: {}",
                    text(&group, "description"),
                    test.get("description").unwrap()
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Whether a reason is one of those that the corpus counts as an extra keyword. It does not count `$schema`, nor an
/// `enum` whose values are not of the node's type.
fn is_extra_keyword(violation: &str) -> bool {
    let is_unknown =
        violation.contains(" is not a supported keyword ") && !violation.contains(".$schema ");
    is_unknown
        || violation.ends_with("(type arrays are not supported)")
        || violation.ends_with(".additionalProperties must be a boolean")
}

#[test]
fn published_schemas_are_enforced_or_refused_by_name() {
    let mut wrong = Vec::new();
    let (mut subset, mut foreign, mut refused) = (0, 0, 0);
    for row in rows("functions.jsonl") {
        let name = text(&row, "name");
        let parameters = row.root().get("parameters").unwrap();
        let extra_keywords = row
            .root()
            .get("extra_keywords")
            .and_then(ValueRef::as_array)
            .unwrap();
        match compile(parameters) {
            Ok(contract) => {
                match contract {
                    Contract::Subset(_) => subset += 1,
                    Contract::Foreign(_) => foreign += 1,
                }
                let why = contract.subset_violations();
                assert_eq!(why.is_empty(), matches!(contract, Contract::Subset(_)));
                let strict = row
                    .root()
                    .get("in_subset_strict")
                    .and_then(ValueRef::as_bool)
                    .unwrap();
                if strict == why.iter().any(|violation| is_extra_keyword(violation)) {
                    wrong.push(format!(
                        "{name} is on the wrong side of the subset: {why:?}"
                    ));
                }
            }
            Err(error) => {
                refused += 1;
                let error = error.to_string();
                if !extra_keywords
                    .iter()
                    .filter_map(ValueRef::as_str)
                    .any(|keyword| error.contains(keyword))
                {
                    wrong.push(format!("{name} is refused without a keyword: {error}"));
                }
            }
        }
        if let Some(Err(error)) = row.root().get("outputSchema").map(compile) {
            wrong.push(format!("the output of {name} is refused: {error}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{}: {:#?}",
        wrong.len(),
        &wrong[..wrong.len().min(20)]
    );
    assert!(
        subset > 2000 && foreign > 100 && refused < 10,
        "{subset} {foreign} {refused}"
    );
}

/// The words in the place of a type that JSON Schema does not know.
fn foreign_types<'a>(schema: ValueRef<'a>) -> BTreeSet<&'a str> {
    const TYPES: [&str; 7] = [
        "object", "array", "string", "number", "integer", "boolean", "null",
    ];
    let mut found = BTreeSet::new();
    let mut open = vec![schema];
    while let Some(schema) = open.pop() {
        found.extend(
            schema
                .get("type")
                .and_then(ValueRef::as_str)
                .filter(|name| !TYPES.contains(name)),
        );
        for map in ["properties", "$defs"] {
            let members = schema.get(map).and_then(ValueRef::as_object);
            open.extend(
                members
                    .into_iter()
                    .flat_map(|members| members.iter())
                    .map(|(_, schema)| schema),
            );
        }
        for list in ["anyOf", "oneOf", "allOf"] {
            let branches = schema.get(list).and_then(ValueRef::as_array);
            open.extend(branches.into_iter().flat_map(|branches| branches.iter()));
        }
        open.extend(
            ["items", "additionalProperties"]
                .into_iter()
                .filter_map(|key| schema.get(key)),
        );
    }
    found
}

#[test]
fn schemas_with_types_that_json_schema_lacks_are_refused_by_the_word() {
    let mut wrong = Vec::new();
    let mut refused = 0;
    for row in rows("functions.jsonl") {
        let Some(raw) = row.root().get("parameters_raw") else {
            continue;
        };
        let words = foreign_types(raw);
        match compile(raw) {
            Ok(_) if words.is_empty() => {}
            Err(error)
                if words
                    .iter()
                    .any(|word| error.to_string().contains(&format!("\"{word}\""))) =>
            {
                refused += 1
            }
            Ok(_) => wrong.push(format!(
                "{} was accepted with {words:?}",
                text(&row, "name")
            )),
            Err(error) => wrong.push(format!("{} with {words:?}: {error}", text(&row, "name"))),
        }
    }
    assert!(
        wrong.is_empty(),
        "{}: {:#?}",
        wrong.len(),
        &wrong[..wrong.len().min(20)]
    );
    assert!(refused > 2000, "{refused}");
}

#[test]
fn verdicts_on_recorded_calls_are_those_of_the_reference() {
    let contracts: Vec<_> = rows("call_schemas.jsonl")
        .iter()
        .map(|schema| Contract::compile(schema).unwrap())
        .collect();
    let mut wrong = Vec::new();
    for row in rows("calls.jsonl") {
        let schema = row.root().get("schema").and_then(ValueRef::as_u64).unwrap();
        let contract = &contracts[usize::try_from(schema).unwrap()];
        let expected = row
            .root()
            .get("reference_valid")
            .and_then(ValueRef::as_bool)
            .unwrap();
        if verdict(contract, row.root().get("arguments").unwrap()) != expected {
            wrong.push(row.to_json());
        }
    }
    assert!(
        wrong.is_empty(),
        "{}: {:#?}",
        wrong.len(),
        &wrong[..wrong.len().min(20)]
    );
}
