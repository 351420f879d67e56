//! What is wrong with a value: every violation, in the order of T356.
//!
//! The cold walk, taken only after a verdict of no. Open work lies on a list of tasks, last in, first out.

use super::allowed::Allowed;
use super::literal::{is_integer, is_lossless};
use super::place::{Place, Places, Step};
use super::tree::{Node, NodeId, ObjectNode, Scalar, Tree};
use super::verdict;
use super::view::View;

pub(super) fn list<'a, V: View<'a>>(tree: &'a Tree, value: V, root: &'a str) -> Vec<String> {
    let mut walk = Walk {
        nodes: &tree.nodes,
        places: Places::new(root),
        violations: Vec::new(),
        tasks: vec![Task::Value {
            id: 0,
            value,
            place: Places::ROOT,
        }],
    };
    while let Some(task) = walk.tasks.pop() {
        match task {
            Task::Value { id, value, place } => walk.value(id, value, place),
            Task::Undeclared {
                object,
                members,
                place,
                before,
            } => walk.undeclared(object, members, place, before),
        }
    }
    walk.violations
}

enum Task<'a, V: View<'a>> {
    Value {
        id: NodeId,
        value: V,
        place: Place,
    },
    /// What is left of an object after its declared properties. `before` is the number of violations before the object.
    Undeclared {
        object: &'a ObjectNode,
        members: V::Object,
        place: Place,
        before: usize,
    },
}

struct Walk<'a, V: View<'a>> {
    nodes: &'a [Node],
    places: Places<'a>,
    violations: Vec<String>,
    tasks: Vec<Task<'a, V>>,
}

impl<'a, V: View<'a>> Walk<'a, V> {
    fn refuse(&mut self, place: Place, demand: &str) {
        self.violations
            .push(format!("\"{}\" {demand}", self.places.subject(place)));
    }

    fn value(&mut self, id: NodeId, value: V, place: Place) {
        match &self.nodes[id as usize] {
            Node::Any => {
                if !value.is_lossless() {
                    self.refuse(place, "must be a lossless JSON value");
                }
            }
            Node::Scalar(scalar, allowed) => {
                if let Some(demand) = unmet(*scalar, allowed.as_deref(), value) {
                    self.refuse(place, &demand);
                }
            }
            Node::Array(items) => match value.array() {
                Some(array) => self.array(*items, array, place),
                None => self.refuse(place, "must be an array"),
            },
            Node::Object(object) => match value.object() {
                Some(members) => self.object(object, members, place),
                None => self.refuse(place, "must be an object"),
            },
            Node::OneOf(first, count, _) => {
                let matched = verdict::matches(self.nodes, *first, *count, value, usize::MAX);
                if matched != 1 {
                    self.refuse(
                        place,
                        &format!("must match exactly one oneOf branch (matched {matched})"),
                    );
                }
            }
        }
    }

    fn array(&mut self, items: Option<NodeId>, array: V::Array, place: Place) {
        let Some(id) = items else {
            if !V::items(array).all(V::is_lossless) {
                self.refuse(place, "must be a dense lossless JSON array");
            }
            return;
        };
        let first = self.tasks.len();
        for (index, value) in V::items(array).enumerate() {
            let place = self.places.add(place, Step::Element(index));
            self.tasks.push(Task::Value { id, value, place });
        }
        self.tasks[first..].reverse();
    }

    fn object(&mut self, object: &'a ObjectNode, members: V::Object, place: Place) {
        let before = self.violations.len();
        for &position in &object.required {
            let name = &object.properties[position as usize].name;
            if V::member(members, name).is_none() {
                let path = self.places.member(place, name);
                self.violations
                    .push(format!("missing required property \"{path}\""));
            }
        }
        self.tasks.push(Task::Undeclared {
            object,
            members,
            place,
            before,
        });
        let first = self.tasks.len();
        for property in &object.properties {
            if let Some(value) = V::member(members, &property.name) {
                let place = self.places.add(place, Step::Member(&property.name));
                self.tasks.push(Task::Value {
                    id: property.node,
                    value,
                    place,
                });
            }
        }
        self.tasks[first..].reverse();
    }

    fn undeclared(&mut self, object: &ObjectNode, members: V::Object, place: Place, before: usize) {
        let mut is_lossless = true;
        for (key, value) in V::members(members) {
            if object.find(key, 0).is_some() {
                continue;
            }
            if object.closed {
                let path = self.places.member(place, key);
                self.violations.push(format!(
                    "\"{path}\" is not a declared property (additionalProperties: false)"
                ));
            }
            is_lossless = is_lossless && value.is_lossless();
        }
        if !is_lossless && self.violations.len() == before {
            self.refuse(place, "must be a lossless JSON object");
        }
    }
}

/// The first demand of a scalar node that `value` does not meet, in the order type, enum, const (T357).
fn unmet<'a, V: View<'a>>(scalar: Scalar, allowed: Option<&Allowed>, value: V) -> Option<String> {
    let of_type = match scalar {
        Scalar::String if value.string().is_none() => Err("must be a string"),
        Scalar::Number => match value.number() {
            None => Err("must be a number"),
            Some(number) if !is_lossless(number) => Err("must be a finite JSON number"),
            Some(_) => Ok(()),
        },
        Scalar::Integer if !value.number().is_some_and(is_integer) => Err("must be an integer"),
        Scalar::Boolean if value.boolean().is_none() => Err("must be a boolean"),
        Scalar::Null if !value.is_null() => Err("must be null"),
        _ => Ok(()),
    };
    if let Err(demand) = of_type {
        return Some(demand.to_owned());
    }
    let allowed = allowed?;
    let is_it = |literal: &super::Literal| {
        value.string().is_some_and(|text| literal.is_string(text))
            || value
                .number()
                .is_some_and(|number| literal.is_number(number))
            || value
                .boolean()
                .is_some_and(|boolean| literal.is_boolean(boolean))
            || (value.is_null() && matches!(literal.value(), super::LiteralValue::Null))
    };
    if !(allowed.values.is_empty() || allowed.values.iter().any(is_it)) {
        return Some(format!("must be one of {}", allowed.listed));
    }
    let constant = allowed.constant.as_ref()?;
    (!is_it(constant)).then(|| format!("must be {}", constant.json()))
}
