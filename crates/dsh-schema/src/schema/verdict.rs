//! Whether a value satisfies a schema, and nothing else.
//!
//! The hot walk: it allocates nothing for a document. It is the one walk here that calls itself, once for each level of
//! the *schema*, which the parser limits to 512; a value cannot make it go deeper.

use super::literal::{is_integer, is_lossless};
use super::tree::{Node, NodeId, ObjectNode, Scalar, Tree};
use super::view::View;

pub(super) fn accepts<'a, V: View<'a>>(tree: &Tree, value: V) -> bool {
    node(&tree.nodes, 0, value)
}

/// Whether node `id` accepts `value`. Most values are scalars, and these are not worth a call.
#[inline(always)]
fn node<'a, V: View<'a>>(nodes: &[Node], id: NodeId, value: V) -> bool {
    match &nodes[id as usize] {
        Node::Scalar(kind, None) => is_of(*kind, value),
        Node::Scalar(kind, Some(allowed)) => is_of(*kind, value) && allowed.permits(value),
        Node::Any => V::LOSSLESS || value.is_lossless(),
        composite => self::composite(nodes, composite, value),
    }
}

fn composite<'a, V: View<'a>>(nodes: &[Node], composite: &Node, value: V) -> bool {
    if let Node::Object(declared) = composite {
        return value
            .object()
            .is_some_and(|members| object::<V>(nodes, declared, members));
    }
    match composite {
        Node::Array(None) => value
            .array()
            .is_some_and(|array| V::LOSSLESS || V::items(array).all(V::is_lossless)),
        Node::Array(Some(items)) => {
            value
                .array()
                .is_some_and(|array| match &nodes[*items as usize] {
                    // Long arrays are mostly of these; nothing is looked up again for each item.
                    Node::Scalar(kind, None) => V::items(array).all(|item| is_of(*kind, item)),
                    _ => V::items(array).all(|item| node(nodes, *items, item)),
                })
        }
        Node::OneOf(_, _, Some(tag)) => tag
            .branch(value)
            .is_some_and(|branch| node(nodes, branch, value)),
        Node::OneOf(first, count, None) => matches(nodes, *first, *count, value, 2) == 1,
        Node::Any | Node::Scalar(..) | Node::Object(_) => true,
    }
}

/// How many of the branches accept `value`, counted up to `enough`.
pub(super) fn matches<'a, V: View<'a>>(
    nodes: &[Node],
    first: NodeId,
    count: u32,
    value: V,
    enough: usize,
) -> usize {
    let mut matched = 0;
    for branch in first..first + count {
        if node(nodes, branch, value) {
            matched += 1;
            if matched == enough {
                break;
            }
        }
    }
    matched
}

#[inline(always)]
fn object<'a, V: View<'a>>(nodes: &[Node], declared: &ObjectNode, members: V::Object) -> bool {
    let mut expected = 0;
    let mut missing = declared.required_count;
    for (key, value) in V::members(members) {
        let Some((position, property)) = declared.find(key, expected) else {
            if declared.closed || !(V::LOSSLESS || value.is_lossless()) {
                return false;
            }
            continue;
        };
        if !node(nodes, property.node, value) {
            return false;
        }
        // Keys of an object are unique, so no required property is counted twice.
        missing -= usize::from(property.required);
        expected = position + 1;
    }
    missing == 0
}

#[inline(always)]
fn is_of<'a, V: View<'a>>(scalar: Scalar, value: V) -> bool {
    value.kind() == scalar.usual_kind() || is_unusual(scalar, value)
}

/// Numbers that are not held as integers.
fn is_unusual<'a, V: View<'a>>(scalar: Scalar, value: V) -> bool {
    match scalar {
        Scalar::Number => value.number().is_some_and(is_lossless),
        Scalar::Integer => value.number().is_some_and(is_integer),
        Scalar::String | Scalar::Boolean | Scalar::Null => false,
    }
}
