//! A specification on its way to text.
//!
//! Children are held as the text that they compile to. So nothing here is recursive, however deep an author nests, and
//! the bytes of a node are decided in one place.

use crate::{Document, Scalar};

/// Annotations in the order of a compiled node (T333).
pub(super) const ANNOTATIONS: [&str; 4] = ["description", "title", "default", "examples"];

/// What stands in a text for a literal that JSON cannot hold without loss; the subset refuses it where it stands.
pub(super) const NOT_LOSSLESS: &str = "-0";

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    /// Parallel to [`ANNOTATIONS`], as JSON texts.
    pub(super) annotations: [Option<String>; 4],
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Scalar {
        scalar: Scalar,
        /// The list as JSON text.
        values: Option<String>,
        /// The value as JSON text.
        constant: Option<String>,
    },
    Array {
        items: Option<String>,
    },
    Object {
        open: bool,
        /// `None` when the author did not speak of properties at all.
        properties: Option<Properties>,
    },
    Json,
    OneOf {
        branches: Vec<String>,
    },
}

/// Properties in the order of declaration, as compiled text.
#[derive(Clone, Debug, Default)]
pub(super) struct Properties {
    /// The members of `properties`, separated by commas.
    declared: String,
    /// The elements of `required`, separated by commas.
    required: String,
}

impl Properties {
    pub(super) fn push(&mut self, name: &str, value: &Node, required: bool) {
        let name = quoted(name);
        if !self.declared.is_empty() {
            self.declared.push(',');
        }
        self.declared.push_str(&name);
        self.declared.push(':');
        self.declared.push_str(&value.to_json());
        if required {
            if !self.required.is_empty() {
                self.required.push(',');
            }
            self.required.push_str(&name);
        }
    }

    /// Appends the members `properties` and, unless its list would be empty, `required` (T328).
    pub(super) fn write(&self, out: &mut String) {
        out.push_str(",\"properties\":{");
        out.push_str(&self.declared);
        out.push('}');
        if !self.required.is_empty() {
            out.push_str(",\"required\":[");
            out.push_str(&self.required);
            out.push(']');
        }
    }
}

impl Node {
    pub(super) fn new(kind: Kind) -> Self {
        Self {
            kind,
            annotations: [None, None, None, None],
        }
    }

    /// The compiled node.
    pub(super) fn to_json(&self) -> String {
        let mut out = String::from("{");
        match &self.kind {
            Kind::Scalar { scalar, .. } => {
                member(&mut out, "type", &format!("\"{}\"", scalar.name()))
            }
            Kind::Array { .. } => member(&mut out, "type", "\"array\""),
            Kind::Object { .. } => member(&mut out, "type", "\"object\""),
            Kind::Json => {}
            Kind::OneOf { branches } => {
                member(&mut out, "oneOf", &format!("[{}]", branches.join(",")))
            }
        }
        for (keyword, value) in ANNOTATIONS.into_iter().zip(&self.annotations) {
            if let Some(value) = value {
                member(&mut out, keyword, value);
            }
        }
        match &self.kind {
            Kind::Scalar {
                values, constant, ..
            } => {
                if let Some(values) = values {
                    member(&mut out, "enum", values);
                }
                if let Some(constant) = constant {
                    member(&mut out, "const", constant);
                }
            }
            Kind::Array { items: Some(items) } => member(&mut out, "items", items),
            Kind::Object { open, properties } => {
                member(
                    &mut out,
                    "additionalProperties",
                    if *open { "true" } else { "false" },
                );
                if let Some(properties) = properties {
                    properties.write(&mut out);
                }
            }
            Kind::Array { items: None } | Kind::Json | Kind::OneOf { .. } => {}
        }
        out.push('}');
        out
    }
}

fn member(out: &mut String, key: &str, value: &str) {
    if out.len() > 1 {
        out.push(',');
    }
    out.push('"');
    out.push_str(key);
    out.push_str("\":");
    out.push_str(value);
}

/// A string as JSON text.
pub(super) fn quoted(text: &str) -> String {
    Document::string(text).to_json()
}
