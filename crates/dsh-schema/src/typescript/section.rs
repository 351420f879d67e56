//! The declarations of a set of tools.

use std::cmp::Ordering;

use super::{node, text};
use crate::Document;

/// Any JSON value, for positions that a schema leaves open.
const JSON_VALUE: &str = "type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue };";

const TAIL: &str = "\
type ToolName = keyof ToolOutputMap;

declare class ToolCallError extends Error {
  readonly name: \"ToolCallError\";
  readonly toolName: ToolName;
}

declare const tools: {
  [K in ToolName]: (args: ToolArgsMap[K]) => Promise<ToolOutputMap[K]>;
};";

/// What the declarations need to know of a tool.
#[derive(Clone, Copy, Debug)]
pub struct Tool<'a> {
    /// The name that a program calls the tool by.
    pub name: &'a str,
    /// What the tool does; may be empty.
    pub description: &'a str,
    /// The schema of the arguments.
    pub parameters: &'a Document,
    /// The schema of the output.
    pub output: &'a Document,
}

/// The text of one tool, which depends on nothing but that tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolText {
    /// Its member of `ToolArgsMap`, with the description above it and a line end.
    pub args: String,
    /// Its member of `ToolOutputMap`, with a line end.
    pub output: String,
    /// The named types of both, each as one statement.
    pub declarations: Vec<String>,
}

impl ToolText {
    /// Renders a tool.
    #[must_use]
    pub fn render(tool: &Tool<'_>) -> Self {
        let mut declarations = Vec::new();
        let mut member_of = |schema: &Document, suffix, description| {
            let rendered = node::named_with(schema.root(), 1, || {
                let mut hint = type_prefix(tool.name);
                hint.push_str(suffix);
                hint
            });
            declarations.extend(
                rendered
                    .declarations
                    .iter()
                    .map(|(name, body)| format!("type {name} = {body};")),
            );
            member(tool.name, description, &rendered.text)
        };
        let args = member_of(tool.parameters, "Args", tool.description);
        let output = member_of(tool.output, "Output", "");
        Self {
            args,
            output,
            declarations,
        }
    }
}

/// One member of a map, at one level: the description as a comment, then `key: type;`.
#[must_use]
pub fn member(name: &str, description: &str, type_text: &str) -> String {
    let mut out = String::with_capacity(description.len() + name.len() + type_text.len() + 20);
    text::push_doc(&mut out, description, 1);
    text::push_indent(&mut out, 1);
    text::push_key(&mut out, name);
    out.push_str(": ");
    out.push_str(type_text);
    out.push_str(";\n");
    out
}

/// The declarations of `tools`, sorted by name, without a trailing line end (C73).
#[must_use]
pub fn sdk(tools: &[Tool<'_>]) -> String {
    let rendered: Vec<_> = tools
        .iter()
        .map(|tool| (tool.name, ToolText::render(tool)))
        .collect();
    sdk_of(rendered.iter().map(|(name, text)| (*name, text)))
}

/// The declarations of tools that are rendered already; the order of `tools` does not matter.
#[must_use]
pub fn sdk_of<'a>(tools: impl IntoIterator<Item = (&'a str, &'a ToolText)>) -> String {
    let tools = sorted(tools);
    let length: usize = tools
        .iter()
        .map(|(_, text)| {
            text.args.len()
                + text.output.len()
                + text
                    .declarations
                    .iter()
                    .map(|one| one.len() + 2)
                    .sum::<usize>()
        })
        .sum();
    let mut out = String::with_capacity(length + JSON_VALUE.len() + TAIL.len() + 128);
    out.push_str(JSON_VALUE);
    out.push_str("\n\n");
    for declaration in tools.iter().flat_map(|(_, text)| &text.declarations) {
        out.push_str(declaration);
        out.push_str("\n\n");
    }
    push_map(
        &mut out,
        "ToolArgsMap",
        tools.iter().map(|(_, text)| text.args.as_str()),
    );
    out.push_str("\n\n");
    push_map(
        &mut out,
        "ToolOutputMap",
        tools.iter().map(|(_, text)| text.output.as_str()),
    );
    out.push_str("\n\n");
    out.push_str(TAIL);
    out
}

/// The interface `ToolArgsMap` of `tools`.
#[must_use]
pub fn args_map(tools: &[Tool<'_>]) -> String {
    map_of(tools, "ToolArgsMap", |text| &text.args)
}

/// The interface `ToolOutputMap` of `tools`.
#[must_use]
pub fn output_map(tools: &[Tool<'_>]) -> String {
    map_of(tools, "ToolOutputMap", |text| &text.output)
}

fn map_of(tools: &[Tool<'_>], name: &str, part: impl Fn(&ToolText) -> &String) -> String {
    let rendered: Vec<_> = tools
        .iter()
        .map(|tool| (tool.name, ToolText::render(tool)))
        .collect();
    let mut out = String::new();
    let rendered = sorted(rendered.iter().map(|(name, text)| (*name, text)));
    push_map(
        &mut out,
        name,
        rendered.iter().map(|(_, text)| part(text).as_str()),
    );
    out
}

fn push_map<'a>(out: &mut String, name: &str, members: impl Iterator<Item = &'a str>) {
    out.push_str("interface ");
    out.push_str(name);
    out.push_str(" {");
    let empty = out.len();
    for member in members {
        if out.len() == empty {
            out.push('\n');
        }
        out.push_str(member);
    }
    out.push('}');
}

fn sorted<'a>(
    tools: impl IntoIterator<Item = (&'a str, &'a ToolText)>,
) -> Vec<(&'a str, &'a ToolText)> {
    let mut tools: Vec<_> = tools.into_iter().collect();
    tools.sort_by(|(a, _), (b, _)| by_utf16(a, b));
    tools
}

/// The order of names: by UTF-16 code unit, as the original sorts strings.
pub(crate) fn by_utf16(a: &str, b: &str) -> Ordering {
    if a.is_ascii() && b.is_ascii() {
        a.cmp(b)
    } else {
        a.encode_utf16().cmp(b.encode_utf16())
    }
}

/// What the named types of a tool begin with. Different tools get different prefixes, none of
/// which can meet a name of the fixed declarations, so a tool's text never depends on the others.
fn type_prefix(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let clean = name.starts_with(|c: char| plain(c) && !c.is_ascii_digit())
        && name.chars().all(plain)
        && name != "Tool"
        && !name.contains("Args")
        && !name.contains("Output");
    if clean {
        return name.to_owned();
    }
    let mut prefix = String::from("_");
    prefix.extend(
        name.chars()
            .take(64)
            .map(|c| if plain(c) { c } else { '_' }),
    );
    prefix.push('$');
    prefix.push_str(&format!("{:016x}", fnv(name)));
    prefix
}

/// FNV-1a: the same on every platform and in every version, since the name is text that is sent.
fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
