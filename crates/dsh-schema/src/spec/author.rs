//! The JSON form of the DSL, with its authoring errors (T337, T338).
//!
//! Stops at the first error, in the order of a depth-first walk. Nodes whose children are being compiled lie on a list, innermost
//! last; a finished child is handed to the last of them.

use crate::schema::{Place, Places, Step};
use crate::{ObjectRef, Scalar, ValueRef};

use super::node::{ANNOTATIONS, Kind, Node, Properties};

/// An authoring error as text.
type Refusal = String;

/// Compiles the specification of a value.
pub(super) fn value(spec: ValueRef<'_>) -> Result<Node, Refusal> {
    let mut author = Author {
        places: Places::new("schema"),
    };
    author.run(Pending {
        spec,
        place: Places::ROOT,
        name: None,
    })
}

/// Compiles a parameter map.
pub(super) fn parameters(spec: ValueRef<'_>) -> Result<Properties, Refusal> {
    let mut author = Author {
        places: Places::new("parameters"),
    };
    let Some(members) = spec.as_object() else {
        return author.refuse(Places::ROOT, " must be an object of value schemas");
    };
    let mut properties = Properties::default();
    for (name, spec) in members.iter() {
        let place = author.places.add(Places::ROOT, Step::Member(name));
        let is_required = is_required(spec);
        let node = author.run(Pending {
            spec,
            place,
            name: Some(name),
        })?;
        properties.push(name, &node, is_required);
    }
    Ok(properties)
}

/// A node that waits for its turn.
#[derive(Clone, Copy)]
struct Pending<'a> {
    spec: ValueRef<'a>,
    place: Place,
    /// The property's name, for entries of a property map; only these may say `required` (T329).
    name: Option<&'a str>,
}

/// A node whose children are being compiled.
struct Open<'a> {
    node: Node,
    children: std::vec::IntoIter<Pending<'a>>,
    pending: Pending<'a>,
}

struct Author<'a> {
    places: Places<'a>,
}

impl<'a> Author<'a> {
    fn refuse<T>(&self, place: Place, text: &str) -> Result<T, Refusal> {
        Err(self.places.path(place) + text)
    }

    fn run(&mut self, root: Pending<'a>) -> Result<Node, Refusal> {
        let mut above = Vec::new();
        let mut current = self.enter(root)?;
        loop {
            if let Some(child) = current.children.next() {
                let child = self.enter(child)?;
                above.push(std::mem::replace(&mut current, child));
                continue;
            }
            let Some(parent) = above.pop() else {
                return Ok(current.node);
            };
            let child = std::mem::replace(&mut current, parent);
            current.adopt(&child);
        }
    }

    /// Checks one node and lists its children.
    fn enter(&mut self, pending: Pending<'a>) -> Result<Open<'a>, Refusal> {
        let place = pending.place;
        let Some(object) = pending.spec.as_object() else {
            return self.refuse(place, " must be a value schema object");
        };
        if pending.name.is_some()
            && object
                .get("required")
                .is_some_and(|required| required.as_bool() != Some(true))
        {
            return self.refuse(place, ".required must be true when present");
        }
        let one_of = object.get("oneOf");
        if object.get("type").is_some() && one_of.is_some() {
            return self.refuse(place, " cannot declare both type and oneOf");
        }
        let mut children = Vec::new();
        let kind = if let Some(one_of) = one_of {
            self.only(object, pending, &["oneOf"])?;
            let Some(branches) = one_of.as_array() else {
                return self.refuse(
                    place,
                    ".oneOf must be an array of at least two value schemas",
                );
            };
            for (index, spec) in branches.iter().enumerate() {
                let place = self.places.add(place, Step::Branch(index));
                children.push(Pending {
                    spec,
                    place,
                    name: None,
                });
            }
            Kind::OneOf {
                branches: Vec::new(),
            }
        } else {
            match object
                .get("type")
                .and_then(ValueRef::as_str)
                .unwrap_or_default()
            {
                "string" => self.scalar(object, pending, Scalar::String)?,
                "number" => self.scalar(object, pending, Scalar::Number)?,
                "integer" => self.scalar(object, pending, Scalar::Integer)?,
                "boolean" => self.scalar(object, pending, Scalar::Boolean)?,
                "null" => self.scalar(object, pending, Scalar::Null)?,
                "array" => {
                    self.only(object, pending, &["type", "items"])?;
                    if let Some(spec) = object.get("items") {
                        let place = self.places.add(place, Step::Items);
                        children.push(Pending {
                            spec,
                            place,
                            name: None,
                        });
                    }
                    Kind::Array { items: None }
                }
                "object" => self.object(object, pending, &mut children)?,
                "json" => {
                    self.only(object, pending, &["type"])?;
                    Kind::Json
                }
                _ => {
                    return self.refuse(
                        place,
                        ".type must be string/number/integer/boolean/null/array/object/json, or use oneOf",
                    );
                }
            }
        };
        let annotations = ANNOTATIONS.map(|keyword| object.get(keyword).map(ValueRef::to_json));
        Ok(Open {
            node: Node { kind, annotations },
            children: children.into_iter(),
            pending,
        })
    }

    /// Refuses the first key that is neither in `own` nor an annotation.
    fn only(
        &self,
        object: ObjectRef<'a>,
        pending: Pending<'a>,
        own: &[&str],
    ) -> Result<(), Refusal> {
        let is_foreign = |key: &str| {
            !(own.contains(&key)
                || ANNOTATIONS.contains(&key)
                || (pending.name.is_some() && key == "required"))
        };
        match object.iter().find(|(key, _)| is_foreign(key)) {
            Some((key, _)) => self.refuse(
                pending.place,
                &format!(".{key} is not supported by the value schema DSL"),
            ),
            None => Ok(()),
        }
    }

    fn scalar(
        &self,
        object: ObjectRef<'a>,
        pending: Pending<'a>,
        scalar: Scalar,
    ) -> Result<Kind, Refusal> {
        self.only(object, pending, &["type", "enum", "const"])?;
        let values = object.get("enum");
        if values.is_some_and(|values| values.as_array().is_none()) {
            return self.refuse(
                pending.place,
                ".enum must be a non-empty array of scalar values",
            );
        }
        Ok(Kind::Scalar {
            scalar,
            values: values.map(ValueRef::to_json),
            constant: object.get("const").map(ValueRef::to_json),
        })
    }

    fn object(
        &mut self,
        object: ObjectRef<'a>,
        pending: Pending<'a>,
        children: &mut Vec<Pending<'a>>,
    ) -> Result<Kind, Refusal> {
        let place = pending.place;
        self.only(
            object,
            pending,
            &["type", "additionalProperties", "properties"],
        )?;
        let Some(open) = object
            .get("additionalProperties")
            .and_then(ValueRef::as_bool)
        else {
            return self.refuse(
                place,
                ".additionalProperties must be explicitly true or false",
            );
        };
        let declared = object.get("properties");
        if let Some(declared) = declared {
            let Some(members) = declared.as_object() else {
                return self.refuse(place, ".properties must be an object of value schemas");
            };
            for (name, spec) in members.iter() {
                let place = self.places.add(place, Step::Property(name));
                children.push(Pending {
                    spec,
                    place,
                    name: Some(name),
                });
            }
        }
        Ok(Kind::Object {
            open,
            properties: declared.map(|_| Properties::default()),
        })
    }
}

impl Open<'_> {
    /// Takes a finished child.
    fn adopt(&mut self, child: &Self) {
        let Pending { spec, name, .. } = child.pending;
        match &mut self.node.kind {
            Kind::Array { items } => *items = Some(child.node.to_json()),
            Kind::OneOf { branches } => branches.push(child.node.to_json()),
            Kind::Object {
                properties: Some(properties),
                ..
            } => {
                properties.push(name.unwrap_or_default(), &child.node, is_required(spec));
            }
            Kind::Object {
                properties: None, ..
            }
            | Kind::Scalar { .. }
            | Kind::Json => {}
        }
    }
}

fn is_required(spec: ValueRef<'_>) -> bool {
    spec.get("required").is_some()
}
