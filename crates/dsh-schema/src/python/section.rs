//! The declarations of a set of tools.

use super::class::{Classes, TYPING};
use super::{Tool, name, text};
use crate::typescript::by_utf16;
use crate::typescript::text::push_string;
use crate::{Document, Schema};

/// The declarations of `tools`, sorted by name, without a trailing line end (C91).
#[must_use]
pub fn sdk(tools: &[Tool<'_>]) -> String {
    let mut tools: Vec<_> = tools.iter().collect();
    tools.sort_by(|a, b| by_utf16(a.name, b.name));
    let mut classes = Classes::none();
    let mut body = String::new();
    let mut has_method = false;
    for tool in tools {
        let camel = name::camel(tool.name);
        let args = position(&mut classes, tool.parameters, &name::join(&camel, "Args"));
        let output = position(&mut classes, tool.output, &name::join(&camel, "Output"));
        has_method |= push_tool(&mut body, tool, &args, &output);
    }
    if !has_method {
        body.insert_str(0, "    pass\n");
    }
    classes.typing("Protocol");
    let imports: Vec<_> = TYPING
        .iter()
        .zip(classes.used)
        .filter(|(_, used)| *used)
        .map(|(name, _)| *name)
        .collect();
    let mut out = format!("from typing import {}\n\n", imports.join(", "));
    out.push_str("class ToolCallError(Exception):\n    toolName: str\n\n");
    for class in &classes.declared {
        out.push_str(class);
        out.push('\n');
    }
    out.push_str("class Tools(Protocol):\n");
    out.push_str(&body);
    out.push_str("\ntools: Tools");
    out
}

fn position(classes: &mut Classes, schema: &Document, base: &str) -> String {
    if Schema::parse(schema).is_err() {
        return classes.typing("Any").to_owned();
    }
    classes.annotation(schema.root(), Some(base), 0)
}

/// Appends a method or, for a name that cannot be one, a comment (C90). Tells which.
fn push_tool(body: &mut String, tool: &Tool<'_>, args: &str, output: &str) -> bool {
    let description = text::one_line(tool.description);
    if name::is_method(tool.name) {
        body.push_str(&format!(
            "    async def {}(self, args: {args}) -> {output}:",
            tool.name
        ));
        match description {
            Some(line) => {
                body.push_str(&format!(
                    "\n        \"\"\"{}\"\"\"\n",
                    text::docstring(&line)
                ));
            }
            None => body.push_str(" ...\n"),
        }
        return true;
    }
    body.push_str("    # tools[");
    push_string(body, tool.name);
    body.push_str(&format!("](args: {args}) -> {output}\n"));
    if let Some(line) = description {
        body.push_str(&format!("    #   {line}\n"));
    }
    false
}
