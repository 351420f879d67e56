//! A `null` that stands where an optional argument could be left out (D40).

use hashbrown::HashMap;
use serde_json::Value;

use crate::{Document, ValueRef};

/// The optional arguments of a schema for which `null` counts as absent.
#[derive(Debug)]
pub(super) struct AbsentNulls {
    nodes: Vec<Node>,
}

#[derive(Debug, Default)]
struct Node {
    properties: Vec<Property>,
    /// The schema of members that are not declared.
    others: Option<usize>,
    positions: Vec<usize>,
    items: Option<usize>,
    /// Schemas of the same value: branches and references.
    same: Vec<usize>,
}

#[derive(Debug)]
struct Property {
    name: String,
    /// Optional, and its schema has no use for `null`.
    nullable: bool,
    node: usize,
}

impl AbsentNulls {
    /// `None` when there is no such argument.
    pub(super) fn of(schema: &Value) -> Option<Self> {
        let mut build = Build {
            root: schema,
            nodes: Vec::new(),
            targets: HashMap::new(),
        };
        build.node(schema);
        let any = build
            .nodes
            .iter()
            .flat_map(|node| &node.properties)
            .any(|property| property.nullable);
        any.then_some(Self { nodes: build.nodes })
    }

    /// `value` without the members that count as absent; `None` when it has none of them.
    pub(super) fn dropped(&self, value: ValueRef<'_>) -> Option<Document> {
        if !self.occurs(0, value) {
            return None;
        }
        let mut value = value.to_value();
        self.drop_from(0, &mut value);
        Document::from_value(&value).ok()
    }

    fn occurs(&self, node: usize, value: ValueRef<'_>) -> bool {
        let node = &self.nodes[node];
        if node.same.iter().any(|same| self.occurs(*same, value)) {
            return true;
        }
        if let Some(object) = value.as_object() {
            object
                .iter()
                .any(|(name, member)| match node.property(name) {
                    Some(property) => {
                        property.nullable && member.is_null() || self.occurs(property.node, member)
                    }
                    None => node
                        .others
                        .is_some_and(|others| self.occurs(others, member)),
                })
        } else if let Some(array) = value.as_array() {
            array
                .iter()
                .enumerate()
                .any(|(index, item)| node.item(index).is_some_and(|node| self.occurs(node, item)))
        } else {
            false
        }
    }

    fn drop_from(&self, node: usize, value: &mut Value) {
        let node = &self.nodes[node];
        for same in &node.same {
            self.drop_from(*same, value);
        }
        match value {
            Value::Object(members) => {
                members.retain(|name, member| {
                    !(member.is_null()
                        && node
                            .property(name)
                            .is_some_and(|property| property.nullable))
                });
                for (name, member) in members {
                    match (node.property(name), node.others) {
                        (Some(property), _) => self.drop_from(property.node, member),
                        (None, Some(others)) => self.drop_from(others, member),
                        (None, None) => {}
                    }
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    if let Some(node) = node.item(index) {
                        self.drop_from(node, item);
                    }
                }
            }
            _ => {}
        }
    }
}

impl Node {
    fn property(&self, name: &str) -> Option<&Property> {
        self.properties
            .iter()
            .find(|property| property.name == name)
    }

    fn item(&self, index: usize) -> Option<usize> {
        self.positions.get(index).copied().or(self.items)
    }
}

struct Build<'a> {
    root: &'a Value,
    nodes: Vec<Node>,
    /// Nodes of references, which may lead back to where they stand.
    targets: HashMap<&'a str, usize>,
}

impl<'a> Build<'a> {
    fn node(&mut self, schema: &'a Value) -> usize {
        let id = self.nodes.len();
        self.nodes.push(Node::default());
        if id == 0 {
            self.targets.insert("#", 0);
        }
        let required = schema.get("required").and_then(Value::as_array);
        let is_required =
            |name: &str| required.is_some_and(|names| names.iter().any(|one| one == name));
        let mut node = Node::default();
        for (name, property) in schema
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            node.properties.push(Property {
                name: name.clone(),
                nullable: !is_required(name) && !has_use_for_null(property),
                node: self.node(property),
            });
        }
        node.others = schema
            .get("additionalProperties")
            .filter(|one| one.is_object())
            .map(|one| self.node(one));
        node.items = schema
            .get("items")
            .filter(|one| one.is_object())
            .map(|one| self.node(one));
        for position in schema
            .get("prefixItems")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            node.positions.push(self.node(position));
        }
        for keyword in ["oneOf", "anyOf", "allOf"] {
            for branch in schema
                .get(keyword)
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                node.same.push(self.node(branch));
            }
        }
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            node.same.extend(self.target(reference));
        }
        self.nodes[id] = node;
        id
    }

    fn target(&mut self, reference: &'a str) -> Option<usize> {
        if let Some(known) = self.targets.get(reference) {
            return Some(*known);
        }
        let schema = self.root.pointer(reference.strip_prefix('#')?)?;
        // The target is entered before its parts, where the reference may come again.
        self.targets.insert(reference, self.nodes.len());
        Some(self.node(schema))
    }
}

/// Whether `null` is a value of its own for `schema`.
fn has_use_for_null(schema: &Value) -> bool {
    let Some(node) = schema.as_object() else {
        return *schema == Value::Bool(true);
    };
    let any = |keyword: &str| {
        node.get(keyword)
            .and_then(Value::as_array)
            .map(|branches| branches.iter().any(has_use_for_null))
    };
    match node.get("type") {
        Some(Value::String(word)) => word == "null",
        Some(Value::Array(words)) => words.iter().any(|word| word == "null"),
        _ => {
            if let Some(literals) = node.get("enum").and_then(Value::as_array) {
                return literals.iter().any(Value::is_null);
            }
            if let Some(literal) = node.get("const") {
                return literal.is_null();
            }
            any("oneOf")
                .or_else(|| any("anyOf"))
                .unwrap_or(!node.contains_key("$ref") && !node.contains_key("allOf"))
        }
    }
}
