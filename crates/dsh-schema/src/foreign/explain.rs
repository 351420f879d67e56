//! What a validator found, as messages that a model can act on.

use std::fmt::Write as _;

use jsonschema::error::{TypeKind, ValidationErrorKind as Found};
use jsonschema::{JsonType, ValidationError, Validator};
use serde_json::Value;

use crate::Document;
use crate::typescript::refs::unescape;

/// Bytes of a schema or pattern that a message repeats.
const LONGEST: usize = 200;

/// Every violation of `value`, in the order of the schema.
pub(super) fn violations(validator: &Validator, value: &Value, root: &str) -> Vec<String> {
    let list = List { value, root };
    let mut violations = Vec::new();
    for error in validator.iter_errors(value) {
        list.error(&error, &mut violations);
    }
    // Two branches or references may find the same.
    let mut seen = hashbrown::HashSet::new();
    violations.retain(|violation| seen.insert(violation.clone()));
    violations
}

/// Why the validator refused to compile `schema`.
pub(super) fn of_schema(error: &ValidationError<'_>, schema: &Value) -> String {
    let list = List {
        value: schema,
        root: "schema",
    };
    let place = list.path(error.instance_path().as_str());
    match demand(error.kind()) {
        Some(demand) => format!("{place} {demand}"),
        None => format!("{place} is refused: {}", cut(error.masked().to_string())),
    }
}

struct List<'a> {
    value: &'a Value,
    root: &'a str,
}

impl List<'_> {
    /// The path that a JSON pointer stands for. A number is an index only where the value has an array.
    fn path(&self, pointer: &str) -> String {
        let mut path = self.root.to_owned();
        let mut at = Some(self.value);
        for token in pointer.split('/').skip(1) {
            let token = unescape(token);
            let items = at.and_then(Value::as_array);
            if let (Some(items), Ok(index)) = (items, token.parse::<usize>()) {
                // Writing to a string cannot fail.
                let _ = write!(path, "[{index}]");
                at = items.get(index);
            } else {
                push_member(&mut path, &token);
                at = at.and_then(|value| value.get(&*token));
            }
        }
        path
    }

    fn subject(&self, pointer: &str) -> String {
        let path = self.path(pointer);
        if path.is_empty() {
            "arguments".to_owned()
        } else {
            path
        }
    }

    fn error(&self, error: &ValidationError<'_>, out: &mut Vec<String>) {
        let pointer = error.instance_path().as_str();
        let member = |key: &str| {
            let mut path = self.path(pointer);
            push_member(&mut path, key);
            path
        };
        match error.kind() {
            Found::Required { property } => {
                let property = property.as_str().unwrap_or_default();
                out.push(format!(
                    "missing required property \"{}\"",
                    member(property)
                ));
            }
            Found::AdditionalProperties { unexpected } => {
                out.extend(unexpected.iter().map(|key| {
                    format!(
                        "\"{}\" is not a declared property (additionalProperties: false)",
                        member(key)
                    )
                }))
            }
            Found::UnevaluatedProperties { unexpected } => {
                out.extend(unexpected.iter().map(|key| {
                    format!(
                        "\"{}\" is not a declared property (unevaluatedProperties: false)",
                        member(key)
                    )
                }))
            }
            Found::PropertyNames { error: inner } => {
                let name = inner.instance().as_str().unwrap_or_default();
                let demand = demand(inner.kind()).unwrap_or_else(|| "is not allowed".to_owned());
                out.push(format!(
                    "the name of property \"{}\" {demand}",
                    member(name)
                ));
            }
            Found::AnyOf { context } => self.branches(pointer, "anyOf", context, out),
            Found::OneOfNotValid { context } => self.branches(pointer, "oneOf", context, out),
            Found::OneOfMultipleValid { context } => {
                let matched = context
                    .iter()
                    .filter(|errors| errors.is_empty())
                    .count()
                    .max(2);
                let subject = self.subject(pointer);
                out.push(format!(
                    "\"{subject}\" must match exactly one oneOf branch (matched {matched})"
                ));
            }
            kind => {
                let subject = self.subject(pointer);
                out.push(match demand(kind) {
                    Some(demand) => format!("\"{subject}\" {demand}"),
                    None => format!(
                        "\"{subject}\" is refused: {}",
                        cut(error.masked().to_string())
                    ),
                });
            }
        }
    }

    /// The violations of the branch that was meant.
    fn branches(
        &self,
        here: &str,
        keyword: &str,
        branches: &[Vec<ValidationError<'static>>],
        out: &mut Vec<String>,
    ) {
        if let Some(demand) = alternatives(here, branches) {
            out.push(format!("\"{}\" must be {demand}", self.subject(here)));
            return;
        }
        let right_type = |errors: &&Vec<ValidationError<'static>>| {
            !errors.iter().any(|error| {
                error.instance_path().as_str() == here
                    && matches!(error.kind(), Found::Type { .. } | Found::FalseSchema)
            })
        };
        let mut candidates: Vec<_> = branches.iter().filter(right_type).collect();
        if candidates.is_empty() {
            candidates = branches.iter().collect();
        }
        let tags: Vec<_> = candidates
            .iter()
            .map(|errors| wrong_tag(here, errors))
            .collect();
        let tag = tags.iter().flatten().next().map(|(name, _)| name.clone());
        let mut suffix = String::new();
        if let Some(tag) = tag {
            let matching: Vec<_> = candidates
                .iter()
                .zip(&tags)
                .filter(|(_, wrong)| wrong.is_none())
                .map(|(errors, _)| *errors)
                .collect();
            if matching.is_empty() {
                let same = tags.iter().flatten().all(|(name, _)| *name == tag);
                if same {
                    let allowed: Vec<_> = tags
                        .into_iter()
                        .flatten()
                        .flat_map(|(_, values)| values)
                        .collect();
                    let path = self.subject(&format!("{here}/{tag}"));
                    out.push(format!(
                        "\"{path}\" must be one of {}",
                        json(&Value::Array(allowed))
                    ));
                    return;
                }
            } else {
                if let (1, Some(value)) =
                    (matching.len(), self.value.pointer(&format!("{here}/{tag}")))
                {
                    suffix = format!(
                        " (in the branch where \"{}\" is {})",
                        unescape(&tag),
                        cut(json(value))
                    );
                }
                candidates = matching;
            }
        }
        let Some(closest) = candidates.iter().min_by_key(|errors| errors.len()) else {
            out.push(format!(
                "\"{}\" must match a branch of {keyword}",
                self.subject(here)
            ));
            return;
        };
        if candidates.len() > 1 {
            suffix = format!(" (in the closest of {} {keyword} branches)", branches.len());
        }
        let first = out.len();
        for error in closest.iter() {
            self.error(error, out);
        }
        for violation in &mut out[first..] {
            violation.push_str(&suffix);
        }
    }
}

fn push_member(path: &mut String, key: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(key);
}

/// What the branches allow, when each of them only asks for a type or a literal of the value itself.
fn alternatives(here: &str, branches: &[Vec<ValidationError<'static>>]) -> Option<String> {
    let mut words: Vec<String> = Vec::new();
    let mut literals = Vec::new();
    for errors in branches {
        // The literal says more than the type beside it.
        let mut of_branch = None;
        for error in errors {
            if error.instance_path().as_str() != here {
                return None;
            }
            match error.kind() {
                Found::Type { .. } if of_branch.is_some() => {}
                kind @ (Found::Type { .. } | Found::Constant { .. } | Found::Enum { .. }) => {
                    of_branch = Some(kind)
                }
                _ => return None,
            }
        }
        match of_branch? {
            Found::Constant { expected_value } => literals.push((**expected_value).clone()),
            Found::Enum { options } => {
                literals.extend(options.as_array().into_iter().flatten().cloned())
            }
            Found::Type { kind } => words.extend(type_words(kind)),
            _ => return None,
        }
    }
    match literals.as_slice() {
        [] => {}
        [one] => words.insert(0, json(one)),
        _ => words.insert(0, format!("one of {}", json(&Value::Array(literals)))),
    }
    let mut seen = hashbrown::HashSet::new();
    words.retain(|word| seen.insert(word.clone()));
    Some(or(&words))
}

/// A property of the value that says by a literal that another branch is meant, and what this branch allows there.
fn wrong_tag(here: &str, errors: &[ValidationError<'static>]) -> Option<(String, Vec<Value>)> {
    errors.iter().find_map(|error| {
        let token = error
            .instance_path()
            .as_str()
            .strip_prefix(here)?
            .strip_prefix('/')?;
        if token.contains('/') {
            return None;
        }
        let allowed = match error.kind() {
            Found::Constant { expected_value } => vec![(**expected_value).clone()],
            Found::Enum { options } => options.as_array().cloned().unwrap_or_default(),
            _ => return None,
        };
        Some((token.to_owned(), allowed))
    })
}

/// What a value has to be, for errors that concern one value as a whole.
fn demand(kind: &Found) -> Option<String> {
    let count = |least: &str, count: u64, one: &str, many: &str| {
        format!(
            "must have at {least} {count} {}",
            if count == 1 { one } else { many }
        )
    };
    Some(match kind {
        Found::Type { kind } => format!("must be {}", or(&type_words(kind))),
        Found::Constant { expected_value } => format!("must be {}", json(expected_value)),
        Found::Enum { options } => format!("must be one of {}", json(options)),
        Found::Minimum { limit } => format!("must be at least {}", json(limit)),
        Found::Maximum { limit } => format!("must be at most {}", json(limit)),
        Found::ExclusiveMinimum { limit } => format!("must be greater than {}", json(limit)),
        Found::ExclusiveMaximum { limit } => format!("must be less than {}", json(limit)),
        Found::MultipleOf { multiple_of } => {
            format!("must be a multiple of {}", json(&Value::from(*multiple_of)))
        }
        Found::MinLength { limit } => count("least", *limit, "character", "characters"),
        Found::MaxLength { limit } => count("most", *limit, "character", "characters"),
        Found::MinItems { limit } => count("least", *limit, "item", "items"),
        Found::MaxItems { limit } => count("most", *limit, "item", "items"),
        Found::MinProperties { limit } => count("least", *limit, "property", "properties"),
        Found::MaxProperties { limit } => count("most", *limit, "property", "properties"),
        Found::AdditionalItems { limit } => count(
            "most",
            u64::try_from(*limit).unwrap_or(u64::MAX),
            "item",
            "items",
        ),
        Found::UnevaluatedItems { .. } => {
            "has items that the schema does not allow (unevaluatedItems: false)".to_owned()
        }
        Found::Pattern { pattern } => format!(
            "must match pattern {}",
            json(&Value::from(pattern.as_str()))
        ),
        Found::BacktrackLimitExceeded { .. } | Found::RegexEngineFailure { .. } => {
            "cannot be checked against its pattern".to_owned()
        }
        Found::Format { format } => {
            format!("must be of format {}", json(&Value::from(format.as_str())))
        }
        Found::ContentEncoding { content_encoding } => {
            format!("must be text in {content_encoding} encoding")
        }
        Found::ContentMediaType { content_media_type } => {
            format!("must be text of type {content_media_type}")
        }
        Found::UniqueItems => "must not have equal items".to_owned(),
        Found::Contains => "must have the items that contains asks for".to_owned(),
        Found::FalseSchema => "is not allowed".to_owned(),
        Found::Not { schema } => format!("must not match {}", cut(json(schema))),
        _ => return None,
    })
}

fn type_words(kind: &TypeKind) -> Vec<String> {
    let phrase = |one: JsonType| {
        match one {
            JsonType::Null => "null",
            JsonType::Boolean => "a boolean",
            JsonType::Integer => "an integer",
            JsonType::Number => "a number",
            JsonType::String => "a string",
            JsonType::Array => "an array",
            JsonType::Object => "an object",
        }
        .to_owned()
    };
    match kind {
        TypeKind::Single(one) => vec![phrase(*one)],
        TypeKind::Multiple(set) => set.iter().map(phrase).collect(),
    }
}

/// `a`, `a or b`, `a, b or c`.
fn or(words: &[String]) -> String {
    match words {
        [] => "something else".to_owned(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// Compact JSON with numbers as everywhere else.
fn json(value: &Value) -> String {
    Document::from_value(value).map_or_else(|_| value.to_string(), |document| document.to_json())
}

fn cut(mut text: String) -> String {
    if text.len() > LONGEST {
        text.truncate(text.floor_char_boundary(LONGEST));
        text.push('…');
    }
    text
}
