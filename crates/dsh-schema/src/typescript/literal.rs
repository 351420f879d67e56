//! Literal types of JSON values.

use super::text;
use crate::{Kind, ValueRef};

/// Appends the type that has exactly `value` as its value.
pub(super) fn push_literal(out: &mut String, value: ValueRef<'_>) {
    if let Some(array) = value.as_array() {
        out.push('[');
        for (index, item) in array.iter().enumerate() {
            if index > 0 {
                out.push_str(", ");
            }
            push_literal(out, item);
        }
        out.push(']');
    } else if let Some(object) = value.as_object() {
        if object.is_empty() {
            out.push_str("Record<string, never>");
            return;
        }
        out.push_str("{ ");
        for (key, member) in object.iter() {
            text::push_key(out, key);
            out.push_str(": ");
            push_literal(out, member);
            out.push_str("; ");
        }
        out.push('}');
    } else {
        value.write_json(out);
    }
}

/// Whether `value` is of the JSON Schema type `word`.
pub(super) fn is_of_type(value: ValueRef<'_>, word: &str) -> bool {
    match value.kind() {
        Kind::Null => word == "null",
        Kind::Bool => word == "boolean",
        Kind::Integer => matches!(word, "integer" | "number"),
        // An integral number beyond the 64-bit range is still an integer.
        Kind::Float => {
            word == "number"
                || word == "integer" && value.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        Kind::String => word == "string",
        Kind::Array => word == "array",
        Kind::Object => word == "object",
    }
}
