//! The compiled form: a flat list of nodes, and the read-only walk over it.
//!
//! Nodes refer to each other by index, and children always come after their parent. Nothing here is recursive, so a
//! schema of any depth is cloned and dropped in constant stack.

use hashbrown::HashMap;

use crate::Kind;

use super::allowed::Allowed;
use super::literal::{Literal, LiteralValue, is_same};
use super::view::View;

/// Index of a node; the root is 0.
pub(super) type NodeId = u32;

/// From this many strings on, a hash table finds one faster than comparing one after the other.
pub(super) const INDEXED_FROM: usize = 12;

/// One-ofs with more branches are not looked through for a tag, which costs the square of their number.
const TAGGED_UP_TO: u32 = 64;

type Index = HashMap<Box<str>, u32, foldhash::fast::RandomState>;

#[derive(Debug)]
pub(super) struct Tree {
    pub(super) nodes: Vec<Node>,
    /// Parallel to `nodes`, apart from them because validation never reads it.
    pub(super) notes: Vec<Notes>,
}

#[derive(Debug, Default)]
pub(super) struct Notes {
    pub(super) title: Option<Box<str>>,
    pub(super) description: Option<Box<str>>,
}

#[derive(Debug)]
pub(super) enum Node {
    Any,
    Scalar(Scalar, Option<Box<Allowed>>),
    Array(Option<NodeId>),
    Object(Box<ObjectNode>),
    /// First branch and number of branches, which are neighbours, and what tells them apart.
    OneOf(NodeId, u32, Option<Box<Tag>>),
}

/// A property that every branch of a one-of requires, each with a string of its own: a value fits the branch that its
/// string names, or none.
#[derive(Debug)]
pub(super) struct Tag {
    property: Box<str>,
    branches: Box<[(Box<str>, NodeId)]>,
}

impl Tag {
    /// The first property of the first branch that tells the branches apart.
    fn of(nodes: &[Node], first: NodeId, count: u32) -> Option<Self> {
        if count > TAGGED_UP_TO {
            return None;
        }
        let branches = || (first..first + count).map(|id| (id, &nodes[id as usize]));
        let Node::Object(object) = &nodes[first as usize] else {
            return None;
        };
        object.properties.iter().find_map(|candidate| {
            let mut tags: Vec<(Box<str>, NodeId)> = Vec::new();
            for (id, branch) in branches() {
                let Node::Object(object) = branch else {
                    return None;
                };
                let (_, property) = object.find(&candidate.name, 0)?;
                let Node::Scalar(Scalar::String, Some(allowed)) = &nodes[property.node as usize]
                else {
                    return None;
                };
                let LiteralValue::String(text) = allowed.constant.as_ref()?.value() else {
                    return None;
                };
                if !property.required || tags.iter().any(|(tag, _)| tag == text) {
                    return None;
                }
                tags.push((text.clone(), id));
            }
            Some(Self {
                property: candidate.name.clone(),
                branches: tags.into(),
            })
        })
    }

    /// The only branch that can accept `value`.
    #[inline]
    pub(super) fn branch<'a, V: View<'a>>(&self, value: V) -> Option<NodeId> {
        let text = V::member(value.object()?, &self.property)?.string()?;
        self.branches
            .iter()
            .find(|(tag, _)| is_same(tag, text))
            .map(|(_, id)| *id)
    }
}

/// Looks for the tags of a finished tree.
pub(super) fn tag(nodes: &mut [Node]) {
    for id in 0..nodes.len() {
        if let Node::OneOf(first, count, None) = nodes[id]
            && let Some(tag) = Tag::of(nodes, first, count)
        {
            nodes[id] = Node::OneOf(first, count, Some(Box::new(tag)));
        }
    }
}

#[derive(Debug)]
pub(super) struct ObjectNode {
    pub(super) properties: Box<[Property]>,
    /// Indices into `properties`, as `required` lists them, repetitions included: the order of violations.
    pub(super) required: Vec<u32>,
    /// How many properties are required, repetitions not counted.
    pub(super) required_count: usize,
    pub(super) closed: bool,
    index: Option<Box<Index>>,
}

#[derive(Debug)]
pub(super) struct Property {
    pub(super) name: Box<str>,
    pub(super) node: NodeId,
    pub(super) required: bool,
}

impl ObjectNode {
    pub(super) fn new(properties: Vec<Property>, closed: bool) -> Self {
        let names = || properties.iter().map(|property| property.name.clone());
        let index =
            (properties.len() >= INDEXED_FROM).then(|| Box::new(names().zip(0..).collect()));
        Self {
            properties: properties.into(),
            required: Vec::new(),
            required_count: 0,
            closed,
            index,
        }
    }

    /// Makes property `name` required; `false` if it is not declared.
    pub(super) fn require(&mut self, name: &str) -> bool {
        let Some((position, _)) = self.find(name, 0) else {
            return false;
        };
        let property = &mut self.properties[position];
        self.required_count += usize::from(!property.required);
        property.required = true;
        self.required
            .push(u32::try_from(position).unwrap_or(u32::MAX));
        true
    }

    /// Property `name` and its position. `expected` is where it is when the value's keys come in the schema's order.
    #[inline(always)]
    pub(super) fn find(&self, name: &str, expected: usize) -> Option<(usize, &Property)> {
        match self.properties.get(expected) {
            Some(property) if is_same(&property.name, name) => Some((expected, property)),
            _ => self.search(name),
        }
    }

    fn search(&self, name: &str) -> Option<(usize, &Property)> {
        match &self.index {
            Some(index) => {
                let position = *index.get(name)? as usize;
                self.properties
                    .get(position)
                    .map(|property| (position, property))
            }
            None => self
                .properties
                .iter()
                .enumerate()
                .find(|(_, property)| is_same(&property.name, name)),
        }
    }
}

impl Tree {
    pub(super) fn root(&self) -> NodeRef<'_> {
        NodeRef { tree: self, id: 0 }
    }
}

/// One node of a compiled schema. `Copy`.
#[derive(Clone, Copy)]
pub struct NodeRef<'a> {
    tree: &'a Tree,
    id: NodeId,
}

/// What a node allows.
#[derive(Clone, Copy, Debug)]
pub enum Shape<'a> {
    /// Any JSON value.
    Any,
    /// A string, a number, a boolean or null.
    Scalar(ScalarShape<'a>),
    /// An array; the node of its elements, or `None` when they may be anything.
    Array(Option<NodeRef<'a>>),
    /// An object.
    Object(ObjectShape<'a>),
    /// Exactly one of at least two nodes.
    OneOf(BranchesShape<'a>),
}

/// The type of a scalar node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// `"string"`.
    String,
    /// `"number"`.
    Number,
    /// `"integer"`.
    Integer,
    /// `"boolean"`.
    Boolean,
    /// `"null"`.
    Null,
}

impl Scalar {
    /// The type's name in a schema.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Integer => "integer",
            Self::Boolean => "boolean",
            Self::Null => "null",
        }
    }

    /// The kind of most values of the type; the others are numbers that are not integers.
    #[inline]
    pub(super) fn usual_kind(self) -> Kind {
        match self {
            Self::String => Kind::String,
            Self::Number | Self::Integer => Kind::Integer,
            Self::Boolean => Kind::Bool,
            Self::Null => Kind::Null,
        }
    }
}

/// A scalar node.
#[derive(Clone, Copy, Debug)]
pub struct ScalarShape<'a> {
    scalar: Scalar,
    allowed: Option<&'a Allowed>,
}

/// An object node.
#[derive(Clone, Copy, Debug)]
pub struct ObjectShape<'a> {
    tree: &'a Tree,
    object: &'a ObjectNode,
}

/// The branches of a one-of node.
#[derive(Clone, Copy, Debug)]
pub struct BranchesShape<'a> {
    tree: &'a Tree,
    first: NodeId,
    count: u32,
}

/// One declared property of an object node.
#[derive(Clone, Copy, Debug)]
pub struct PropertyRef<'a> {
    /// The property's name.
    pub name: &'a str,
    /// What its value has to be.
    pub node: NodeRef<'a>,
    /// Whether it must be there.
    pub required: bool,
}

impl<'a> NodeRef<'a> {
    /// What the node allows.
    #[must_use]
    pub fn shape(self) -> Shape<'a> {
        let Self { tree, id } = self;
        match &tree.nodes[id as usize] {
            Node::Any => Shape::Any,
            Node::Scalar(scalar, allowed) => Shape::Scalar(ScalarShape {
                scalar: *scalar,
                allowed: allowed.as_deref(),
            }),
            Node::Array(items) => Shape::Array(items.map(|id| Self { tree, id })),
            Node::Object(object) => Shape::Object(ObjectShape { tree, object }),
            Node::OneOf(first, count, _) => Shape::OneOf(BranchesShape {
                tree,
                first: *first,
                count: *count,
            }),
        }
    }

    /// The annotation `description`.
    #[must_use]
    pub fn description(self) -> Option<&'a str> {
        self.tree.notes[self.id as usize].description.as_deref()
    }

    /// The annotation `title`.
    #[must_use]
    pub fn title(self) -> Option<&'a str> {
        self.tree.notes[self.id as usize].title.as_deref()
    }
}

impl std::fmt::Debug for NodeRef<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("NodeRef").field(&self.id).finish()
    }
}

impl<'a> ScalarShape<'a> {
    /// The scalar's type.
    #[must_use]
    pub fn scalar(self) -> Scalar {
        self.scalar
    }

    /// The values that `enum` lists, in its order; empty when there is no `enum`.
    #[must_use]
    pub fn values(self) -> &'a [Literal] {
        self.allowed.map_or(&[], |allowed| &allowed.values)
    }

    /// The value of `const`; it is among [`ScalarShape::values`] when both are there.
    #[must_use]
    pub fn constant(self) -> Option<&'a Literal> {
        self.allowed.and_then(|allowed| allowed.constant.as_ref())
    }
}

impl<'a> ObjectShape<'a> {
    /// The declared properties, in their order.
    pub fn properties(self) -> impl ExactSizeIterator<Item = PropertyRef<'a>> + 'a {
        let tree = self.tree;
        self.object
            .properties
            .iter()
            .map(move |property| PropertyRef {
                name: &property.name,
                node: NodeRef {
                    tree,
                    id: property.node,
                },
                required: property.required,
            })
    }

    /// Whether undeclared properties are refused.
    #[must_use]
    pub fn is_closed(self) -> bool {
        self.object.closed
    }
}

impl<'a> BranchesShape<'a> {
    /// The branches, in their order; at least two.
    pub fn iter(self) -> impl ExactSizeIterator<Item = NodeRef<'a>> + 'a {
        let tree = self.tree;
        (0..self.count).map(move |offset| NodeRef {
            tree,
            id: self.first + offset,
        })
    }
}
