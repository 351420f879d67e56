//! Equality of values, without recursion.

use std::collections::HashMap;

use super::node::Tag;
use super::number::Number;
use super::value::ValueRef;

/// Objects with more members than this are looked up in a hash map when their orders differ.
const LINEAR_MEMBERS: usize = 16;

impl PartialEq for ValueRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        if std::ptr::eq(self.document(), other.document())
            && self.index_in_document() == other.index_in_document()
        {
            return true;
        }
        let mut pending = Vec::new();
        if !shallow_equal(*self, *other, &mut pending) {
            return false;
        }
        while let Some((left, right)) = pending.pop() {
            if !children_equal(left, right, &mut pending) {
                return false;
            }
        }
        true
    }
}

type Pending<'a, 'b> = Vec<(ValueRef<'a>, ValueRef<'b>)>;

/// Compares all but the children of containers, which are put off.
fn shallow_equal<'a, 'b>(
    left: ValueRef<'a>,
    right: ValueRef<'b>,
    pending: &mut Pending<'a, 'b>,
) -> bool {
    let (a, b) = (left.node(), right.node());
    match (a.tag, b.tag) {
        (Tag::Array, Tag::Array) | (Tag::Object, Tag::Object) => {
            if a.count() != b.count() {
                return false;
            }
            if a.count() > 0 {
                pending.push((left, right));
            }
            true
        }
        (Tag::Plain | Tag::Escaped, Tag::Plain | Tag::Escaped) => {
            a.word == b.word && left.document().string_of(a) == right.document().string_of(b)
        }
        (Tag::Int, Tag::Int) => a.word == b.word,
        (Tag::Int | Tag::UInt | Tag::Float, Tag::Int | Tag::UInt | Tag::Float) => {
            Number::of_node(a) == Number::of_node(b)
        }
        (a, b) => a == b,
    }
}

/// Compares the children of two arrays or two objects of the same length.
fn children_equal<'a, 'b>(
    left: ValueRef<'a>,
    right: ValueRef<'b>,
    pending: &mut Pending<'a, 'b>,
) -> bool {
    if let (Some(left), Some(right)) = (left.as_array(), right.as_array()) {
        return left
            .items()
            .zip(right.items())
            .all(|(a, b)| shallow_equal(a, b, pending));
    }
    let (Some(left), Some(right)) = (left.as_object(), right.as_object()) else {
        return false;
    };
    let mut in_order = right.members();
    let mut index: Option<HashMap<&str, ValueRef<'b>>> = None;
    left.members().all(|(key, a)| {
        let b = match in_order.next() {
            // The usual case: same members in the same order.
            Some((other, b)) if other == key => Some(b),
            _ if right.len() > LINEAR_MEMBERS => index
                .get_or_insert_with(|| right.members().collect())
                .get(key)
                .copied(),
            _ => right.get(key),
        };
        b.is_some_and(|b| shallow_equal(a, b, pending))
    })
}
