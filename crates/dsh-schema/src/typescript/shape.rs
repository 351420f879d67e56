//! Objects and arrays.

use hashbrown::HashSet;

use super::node::{Keywords, Renderer};
use super::text;
use crate::ValueRef;

/// What an object allows besides its declared members.
enum Others<'a> {
    Anything,
    Nothing,
    /// Values of one of these types.
    Typed(Vec<ValueRef<'a>>),
}

impl<'a> Renderer<'a, '_> {
    pub(super) fn object(&mut self, keywords: &Keywords<'a>, level: usize) {
        let properties = keywords.properties.and_then(ValueRef::as_object);
        let required = Required::of(keywords.required);
        let undeclared: Vec<&str> = required
            .names()
            .filter(|name| properties.is_none_or(|declared| declared.get(name).is_none()))
            .collect();
        let block =
            !undeclared.is_empty() || properties.is_some_and(|declared| !declared.is_empty());
        if block {
            self.out.push_str("{\n");
            for (name, schema) in properties.into_iter().flat_map(|declared| declared.iter()) {
                if let Some(description) = schema.get("description").and_then(ValueRef::as_str) {
                    text::push_doc(&mut self.out, description, level + 1);
                }
                text::push_indent(&mut self.out, level + 1);
                text::push_key(&mut self.out, name);
                self.out
                    .push_str(if required.contains(name) { ": " } else { "?: " });
                self.node(schema, level + 1);
                self.out.push_str(";\n");
            }
            let mut written = HashSet::new();
            for name in undeclared.into_iter().filter(|name| written.insert(*name)) {
                text::push_indent(&mut self.out, level + 1);
                text::push_key(&mut self.out, name);
                self.out.push_str(": JsonValue;\n");
            }
            text::push_indent(&mut self.out, level);
            self.out.push('}');
        }
        // An intersection, since a declared member need not be of the type of the others.
        match others(keywords) {
            Others::Nothing if block => {}
            Others::Nothing => self.out.push_str("Record<string, never>"),
            Others::Anything => {
                self.out.push_str(if block { " & " } else { "" });
                self.out.push_str("Record<string, JsonValue>");
            }
            Others::Typed(schemas) => {
                self.out.push_str(if block { " & " } else { "" });
                self.out.push_str("{ [key: string]: ");
                for (index, schema) in schemas.into_iter().enumerate() {
                    if index > 0 {
                        self.out.push_str(" | ");
                    }
                    self.node(schema, level);
                }
                self.out.push_str(" }");
            }
        }
    }

    pub(super) fn array(&mut self, keywords: &Keywords<'a>, level: usize) {
        let (positions, rest) = match (keywords.prefix_items, keywords.items) {
            (Some(positions), rest) => (positions.as_array(), rest),
            // Before 2020-12 a list of `items` was the tuple.
            (None, Some(items)) if items.as_array().is_some() => {
                (items.as_array(), keywords.additional_items)
            }
            (None, rest) => (None, rest),
        };
        let Some(positions) = positions.filter(|positions| !positions.is_empty()) else {
            return match rest {
                Some(rest) => self.suffixed(rest, level, "[]"),
                None => self.out.push_str("JsonValue[]"),
            };
        };
        let count = |value: Option<ValueRef<'_>>| {
            value
                .and_then(ValueRef::as_u64)
                .and_then(|count| usize::try_from(count).ok())
        };
        let least = count(keywords.min_items).unwrap_or(0);
        let most = count(keywords.max_items).unwrap_or(usize::MAX);
        let closed =
            rest.is_some_and(|rest| rest.as_bool() == Some(false)) || most <= positions.len();
        let fixed = positions.len().min(most);
        // A compiler puts off what stands in a tuple, which lets types be recursive: behind `?` only when the element is
        // labelled; behind `...` the other way round when a named type is what is repeated.
        let labelled = !closed || least < fixed;
        self.out.push('[');
        for (index, schema) in positions.iter().enumerate().take(fixed) {
            if index > 0 {
                self.out.push_str(", ");
            }
            if labelled {
                let optional = if index < least { "" } else { "?" };
                self.out.push_str(&format!("item{index}{optional}: "));
            }
            self.node(schema, level);
        }
        if !closed {
            let repeats_name = rest.is_some_and(|rest| names_a_type(rest, 0));
            self.out
                .push_str(if repeats_name { ", ..." } else { ", ...rest: " });
            match rest {
                Some(rest) => self.suffixed(rest, level, "[]"),
                None => self.out.push_str("JsonValue[]"),
            }
        }
        self.out.push(']');
    }

    /// Appends a type with `suffix` behind it, in parentheses when the text needs them (C62).
    fn suffixed(&mut self, schema: ValueRef<'a>, level: usize, suffix: &str) {
        let start = self.out.len();
        self.node(schema, level);
        // A comment at the end would seem to belong to the suffix; the subset has none there.
        if self.out[start..].contains(['|', '&']) || self.out.ends_with("*/") {
            self.out.insert(start, '(');
            self.out.push(')');
        }
        self.out.push_str(suffix);
    }
}

/// Whether the type of `schema` is a named type, or a union or intersection with one.
fn names_a_type(schema: ValueRef<'_>, depth: usize) -> bool {
    let Some(object) = schema.as_object().filter(|_| depth < 64) else {
        return false;
    };
    object.iter().any(|(keyword, value)| match keyword {
        "$ref" | "$dynamicRef" | "$recursiveRef" => true,
        "oneOf" | "anyOf" | "allOf" => value
            .as_array()
            .is_some_and(|list| list.iter().any(|one| names_a_type(one, depth + 1))),
        _ => false,
    })
}

fn others<'a>(keywords: &Keywords<'a>) -> Others<'a> {
    let patterns = || {
        let patterns = keywords.pattern_properties.and_then(ValueRef::as_object);
        patterns
            .into_iter()
            .flat_map(|patterns| patterns.iter().map(|(_, schema)| schema))
    };
    let Some(additional) = keywords.additional else {
        return Others::Anything;
    };
    let open = additional
        .as_object()
        .map_or(additional.as_bool() != Some(false), |schema| {
            schema.is_empty()
        });
    if open {
        return Others::Anything;
    }
    let mut typed: Vec<_> = patterns().collect();
    if additional.as_bool().is_none() {
        typed.push(additional);
    }
    if typed.is_empty() {
        Others::Nothing
    } else {
        Others::Typed(typed)
    }
}

/// The required names; a set only when there are many of them.
enum Required<'a> {
    Few(Vec<&'a str>),
    Many(Vec<&'a str>, HashSet<&'a str>),
}

impl<'a> Required<'a> {
    fn of(required: Option<ValueRef<'a>>) -> Self {
        let list = required.and_then(ValueRef::as_array);
        let names: Vec<_> = list
            .into_iter()
            .flat_map(|list| list.iter())
            .filter_map(ValueRef::as_str)
            .collect();
        if names.len() <= 8 {
            Self::Few(names)
        } else {
            let set = names.iter().copied().collect();
            Self::Many(names, set)
        }
    }

    fn names(&self) -> impl Iterator<Item = &'a str> + '_ {
        let (Self::Few(names) | Self::Many(names, _)) = self;
        names.iter().copied()
    }

    fn contains(&self, name: &str) -> bool {
        match self {
            Self::Few(names) => names.contains(&name),
            Self::Many(_, set) => set.contains(name),
        }
    }
}
