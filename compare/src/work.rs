//! The work that every candidate does: the types of two tools and the texts of their calls.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Arguments of the small tool.
#[derive(Deserialize, JsonSchema)]
pub struct Add {
    pub a: i64,
    pub b: i64,
}

impl Add {
    /// A call of the small tool.
    pub const TEXT: &str = r#"{"a":2,"b":40}"#;

    pub fn run(self) -> i64 {
        self.a + self.b
    }
}

/// Arguments of the medium tool.
#[derive(Deserialize, JsonSchema)]
pub struct Search {
    pub pattern: String,
    pub path: String,
    pub limit: u32,
    pub hidden: bool,
    pub range: Range,
    pub kinds: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
pub struct Range {
    pub from: i64,
    pub to: i64,
}

/// Result of the medium tool.
#[derive(Serialize, JsonSchema)]
pub struct Found {
    pub pattern: String,
    pub path: String,
    pub lines: i64,
    pub kinds: usize,
}

impl Search {
    /// A call of the medium tool: six members, a nested object, an array of strings.
    pub const TEXT: &str = r#"{"pattern":"fn main","path":"src/bin/tool","limit":50,"hidden":false,"range":{"from":1,"to":400},"kinds":["rs","toml"]}"#;

    pub fn run(self) -> Found {
        let lines =
            (self.range.to - self.range.from).min(i64::from(self.limit)) + i64::from(self.hidden);
        Found {
            pattern: self.pattern,
            path: self.path,
            lines,
            kinds: self.kinds.len(),
        }
    }

    /// What the arguments look like as JSON Schema.
    pub fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "pattern": { "type": "string" },
                "path": { "type": "string" },
                "limit": { "type": "integer" },
                "hidden": { "type": "boolean" },
                "range": {
                    "type": "object",
                    "properties": { "from": { "type": "integer" }, "to": { "type": "integer" } },
                    "required": ["from", "to"],
                    "additionalProperties": false
                },
                "kinds": { "type": "array", "items": { "type": "string", "enum": ["rs", "toml", "md"] } }
            },
            "required": ["pattern", "path", "limit", "hidden", "range", "kinds"],
            "additionalProperties": false
        })
    }
}

/// A value of nested alternatives, told apart by a constant member, and its schema.
pub fn nested() -> (Value, Value) {
    let branch = |kind: &str, member: &str, schema: Value| {
        json!({
            "type": "object",
            "properties": { "kind": { "type": "string", "const": kind }, member: schema },
            "required": ["kind", member],
            "additionalProperties": false
        })
    };
    let leaf = json!({ "oneOf": [
        branch("text", "text", json!({ "type": "string" })),
        branch("number", "number", json!({ "type": "number" })),
        branch("flag", "flag", json!({ "type": "boolean" })),
    ] });
    let schema = json!({
        "type": "object",
        "properties": { "filters": { "type": "array", "items": leaf } },
        "required": ["filters"],
        "additionalProperties": false
    });
    let value = json!({ "filters": [
        { "kind": "text", "text": "a" },
        { "kind": "number", "number": 1.5 },
        { "kind": "flag", "flag": true },
    ] });
    (schema, value)
}
