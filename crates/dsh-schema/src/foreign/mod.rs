//! Foreign contracts: full JSON Schema, for schemas that others wrote.
//!
//! A schema that lies outside the enforced subset is compiled with a general validator (D11). Everything it declares
//! is enforced; a keyword or a type word that would be ignored is refused, and so is a schema that refers to anything
//! outside itself or that could hang the validator. `format` is an annotation in every draft.
//!
//! Start reading at [`survey`]: it decides what is refused. [`explain`] turns what the validator finds into messages.

mod cost;
mod explain;
mod patterns;
mod stack;
mod survey;
mod vocabulary;

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::{Document, SchemaError, ValueRef};
use cost::Cost;
use vocabulary::Draft;

/// Bytes that the text of a foreign schema may have.
const MAX_TEXT: usize = 1 << 20;
/// Judgements that a verdict may take; a value that could need more is refused unchecked.
const MAX_VERDICT_WORK: f64 = 200_000_000.0;
/// Judgements that listing violations may take; beyond it only the verdict is given.
const MAX_LIST_WORK: f64 = 2_000_000.0;

/// A schema outside the enforced subset, compiled. Cheap to clone.
#[derive(Clone)]
pub struct ForeignSchema {
    inner: Arc<Inner>,
}

struct Inner {
    source: Document,
    validator: jsonschema::Validator,
    cost: Cost,
}

impl ForeignSchema {
    /// Compiles `schema` by the draft that its `$schema` names, else 2020-12.
    ///
    /// # Errors
    ///
    /// Every reason why the schema cannot be enforced in full, in walk order: an unknown or malformed keyword, an
    /// unknown type word, a reference that is not local or leads nowhere, a pattern that cannot be checked, a schema
    /// that is too large or too entangled.
    pub fn compile(schema: &Document) -> Result<Self, SchemaError> {
        let refuse = |violation: String| SchemaError::new(vec![violation]);
        let length = schema.text().len();
        if length > MAX_TEXT {
            return Err(refuse(format!(
                "schema has {length} bytes; at most {MAX_TEXT} are compiled"
            )));
        }
        let mut value = schema.to_value();
        let draft = match value.get("$schema") {
            None => Draft::V2020,
            Some(Value::String(uri)) => Draft::of_uri(uri).ok_or_else(|| {
                refuse(format!(
                    "schema.$schema \"{uri}\" is not a draft of JSON Schema that can be enforced"
                ))
            })?,
            Some(_) => return Err(refuse("schema.$schema must be a string".to_owned())),
        };
        let survey = survey::survey(&value, draft).map_err(SchemaError::new)?;
        if let Value::Object(members) = &mut value {
            // The draft is set, and without a name of its own the schema cannot be mistaken for another resource.
            for keyword in ["$schema", "$id", "id"] {
                members.shift_remove(keyword);
            }
        }
        let built = stack::with_room(8 * depth_of(&value), || {
            let validator = jsonschema::options()
                .with_draft(draft.of_crate())
                .with_pattern_options(patterns::options())
                .should_validate_formats(false)
                .offline()
                .build(&value);
            validator.map_err(|error| explain::of_schema(&error, &value))
        });
        let validator = match built {
            Some(Ok(validator)) => validator,
            Some(Err(violation)) => return Err(refuse(violation)),
            None => {
                return Err(refuse(
                    "schema cannot be compiled now: no thread to be had".to_owned(),
                ));
            }
        };
        Ok(Self {
            inner: Arc::new(Inner {
                source: schema.clone(),
                validator,
                cost: survey.cost,
            }),
        })
    }

    /// The schema as it was given.
    #[must_use]
    pub fn source(&self) -> &Document {
        &self.inner.source
    }

    /// Whether `value` satisfies the schema.
    #[must_use]
    pub fn is_valid(&self, value: ValueRef<'_>) -> bool {
        self.inner.is_valid(&value.to_value())
    }

    /// Every violation of `value`; `root` is the label of the value itself and `""` the implicit argument root.
    ///
    /// Where a value fits no branch of a `oneOf` or `anyOf`, the violations of the branch that was meant are listed:
    /// the one whose constant property matches, else the one of the right type, else the closest.
    #[must_use]
    pub fn violations(&self, value: ValueRef<'_>, root: &str) -> Vec<String> {
        let value = value.to_value();
        if self.inner.is_valid(&value) {
            return Vec::new();
        }
        self.inner.explain(&value, root)
    }
}

impl Inner {
    fn frames(&self, value: &Value) -> usize {
        // Most schemas are shallow, whatever the value.
        match self.cost.depth {
            Some(depth) if depth < 32 => depth,
            _ => self.cost.frames(depth_of(value)),
        }
    }

    /// Whether the verdict on `value` could take too long. Only for schemas with very many alternatives.
    fn is_too_much(&self, value: &Value) -> bool {
        let visits = self.cost.verdict_visits;
        visits > 100.0 && visits * size_of(value) as f64 > MAX_VERDICT_WORK
    }

    fn is_valid(&self, value: &Value) -> bool {
        if self.is_too_much(value) {
            return false;
        }
        stack::with_room(self.frames(value), || self.validator.is_valid(value)).unwrap_or(false)
    }

    fn explain(&self, value: &Value, root: &str) -> Vec<String> {
        let work = self.cost.visits(depth_of(value)) * size_of(value) as f64;
        let listed = if work > MAX_LIST_WORK {
            None
        } else {
            stack::with_room(2 * self.frames(value), || {
                explain::violations(&self.validator, value, root)
            })
        };
        match listed {
            Some(violations) if !violations.is_empty() => violations,
            _ => {
                let root = if root.is_empty() { "arguments" } else { root };
                vec![if self.is_too_much(value) {
                    format!("\"{root}\" is too large to be checked against its schema")
                } else {
                    format!("\"{root}\" does not satisfy the schema, in too many ways to list them")
                }]
            }
        }
    }
}

impl fmt::Debug for ForeignSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ForeignSchema")
            .field(&self.inner.source.text())
            .finish()
    }
}

/// Levels of arrays and objects.
fn depth_of(value: &Value) -> usize {
    walk(value).1
}

/// Values in `value`, itself included.
fn size_of(value: &Value) -> usize {
    walk(value).0
}

fn walk(value: &Value) -> (usize, usize) {
    let (mut size, mut deepest) = (0, 0);
    let mut open = vec![(value, 0)];
    while let Some((value, depth)) = open.pop() {
        size += 1;
        deepest = deepest.max(depth);
        match value {
            Value::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(members) => {
                open.extend(members.values().map(|member| (member, depth + 1)))
            }
            _ => {}
        }
    }
    (size, deepest)
}
