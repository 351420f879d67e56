//! Borrowed views of a document's values.

use serde::de::DeserializeOwned;

use super::build::Builder;
use super::node::{Node, Tag, after, string_of};
use super::{Document, DocumentError, Kind, Number, write};

/// A borrowed view of one value of a document. `Copy`.
///
/// Equality is that of JSON values: numbers by exact value, objects regardless of the order of their members.
#[derive(Clone, Copy)]
pub struct ValueRef<'a> {
    document: &'a Document,
    index: u32,
}

/// A borrowed view of an array. `Copy`.
#[derive(Clone, Copy)]
pub struct ArrayRef<'a> {
    value: ValueRef<'a>,
}

/// A borrowed view of an object. `Copy`.
#[derive(Clone, Copy)]
pub struct ObjectRef<'a> {
    value: ValueRef<'a>,
}

impl<'a> ValueRef<'a> {
    #[inline]
    pub(super) fn new(document: &'a Document, index: u32) -> Self {
        Self { document, index }
    }

    #[inline]
    pub(super) fn document(self) -> &'a Document {
        self.document
    }

    #[inline]
    pub(super) fn index_in_document(self) -> u32 {
        self.index
    }

    #[inline]
    pub(super) fn node(self) -> Node {
        self.document.node(self.index)
    }

    /// The index after this value and everything in it.
    #[inline]
    pub(super) fn end(self) -> u32 {
        after(&self.document.nodes, self.index)
    }

    /// The kind of the value.
    #[inline]
    #[must_use]
    pub fn kind(self) -> Kind {
        match self.node().tag {
            Tag::Null => Kind::Null,
            Tag::False | Tag::True => Kind::Bool,
            Tag::Int | Tag::UInt => Kind::Integer,
            Tag::Float => Kind::Float,
            Tag::Plain | Tag::Escaped => Kind::String,
            Tag::Array => Kind::Array,
            Tag::Object => Kind::Object,
        }
    }

    /// Whether the value is `null`.
    #[inline]
    #[must_use]
    pub fn is_null(self) -> bool {
        self.node().tag == Tag::Null
    }

    /// The value of a boolean.
    #[inline]
    #[must_use]
    pub fn as_bool(self) -> Option<bool> {
        match self.node().tag {
            Tag::False => Some(false),
            Tag::True => Some(true),
            _ => None,
        }
    }

    /// The exact value of an integer that fits.
    #[inline]
    #[must_use]
    pub fn as_i64(self) -> Option<i64> {
        self.as_number()?.as_i64()
    }

    /// The exact value of an integer that fits.
    #[inline]
    #[must_use]
    pub fn as_u64(self) -> Option<u64> {
        self.as_number()?.as_u64()
    }

    /// The value of any number; an integer beyond 2^53 is rounded.
    #[inline]
    #[must_use]
    pub fn as_f64(self) -> Option<f64> {
        self.as_number().map(Number::as_f64)
    }

    /// The exact value of any number.
    #[inline]
    #[must_use]
    pub fn as_number(self) -> Option<Number> {
        Number::of_node(self.node())
    }

    /// The text of a string.
    #[inline]
    #[must_use]
    pub fn as_str(self) -> Option<&'a str> {
        let node = self.node();
        matches!(node.tag, Tag::Plain | Tag::Escaped).then(|| self.document.string_of(node))
    }

    /// The array view of an array.
    #[inline]
    #[must_use]
    pub fn as_array(self) -> Option<ArrayRef<'a>> {
        (self.node().tag == Tag::Array).then_some(ArrayRef { value: self })
    }

    /// The object view of an object.
    #[inline]
    #[must_use]
    pub fn as_object(self) -> Option<ObjectRef<'a>> {
        (self.node().tag == Tag::Object).then_some(ObjectRef { value: self })
    }

    /// The member `key` of an object; `None` for anything else.
    #[inline]
    #[must_use]
    pub fn get(self, key: &str) -> Option<ValueRef<'a>> {
        self.as_object()?.get(key)
    }

    /// The item at `index` of an array, counted from 0; `None` for anything else. Takes linear time.
    #[must_use]
    pub fn index(self, index: usize) -> Option<ValueRef<'a>> {
        self.as_array()?.iter().nth(index)
    }

    /// A `serde_json` value, keys in document order.
    #[must_use]
    pub fn to_value(self) -> serde_json::Value {
        use serde_json::Value;
        // Recurses at most `MAX_DEPTH` levels.
        match self.node().tag {
            Tag::Null => Value::Null,
            Tag::False => Value::Bool(false),
            Tag::True => Value::Bool(true),
            Tag::Int | Tag::UInt | Tag::Float => match self.as_number() {
                Some(Number::Int(value)) => value.into(),
                Some(Number::UInt(value)) => value.into(),
                Some(Number::Float(value)) => value.into(),
                None => Value::Null,
            },
            Tag::Plain | Tag::Escaped => {
                Value::String(self.document.string_of(self.node()).to_owned())
            }
            Tag::Array => Value::Array(
                ArrayRef { value: self }
                    .iter()
                    .map(ValueRef::to_value)
                    .collect(),
            ),
            Tag::Object => {
                let members = ObjectRef { value: self }.iter();
                Value::Object(
                    members
                        .map(|(key, value)| (key.to_owned(), value.to_value()))
                        .collect(),
                )
            }
        }
    }

    /// A document of its own that has this value as its root.
    #[must_use]
    pub fn to_document(self) -> Document {
        if self.index == 0 {
            return self.document.clone();
        }
        Builder::copy(self)
    }

    /// Appends compact JSON.
    pub fn write_json(self, out: &mut String) {
        write::compact(self, out);
    }

    /// The compact JSON text, keys in document order, numbers as ECMAScript prints them.
    #[must_use]
    pub fn to_json(self) -> String {
        if self.index == 0 && self.document.is_compact {
            return self.document.text().to_owned();
        }
        let mut out = String::with_capacity(if self.index == 0 {
            self.document.text().len()
        } else {
            32
        });
        write::compact(self, &mut out);
        out
    }

    /// JSON indented by two spaces, as `JSON.stringify(value, null, 2)` prints it.
    #[must_use]
    pub fn to_json_pretty(self) -> String {
        let mut out = String::new();
        write::pretty(self, &mut out);
        out
    }

    /// Decodes a Rust type straight from the nodes.
    ///
    /// # Errors
    ///
    /// When the value does not fit the type; the error has the path, from the root of the document, of the part that does not.
    pub fn decode<T: DeserializeOwned>(self) -> Result<T, DocumentError> {
        T::deserialize(self)
    }
}

impl<'a> ArrayRef<'a> {
    /// Number of items.
    #[inline]
    #[must_use]
    pub fn len(self) -> usize {
        self.value.node().count() as usize
    }

    /// Whether there is no item.
    #[inline]
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The items, in order.
    #[inline]
    pub fn iter(self) -> impl ExactSizeIterator<Item = ValueRef<'a>> + Clone + 'a {
        self.items()
    }

    #[inline]
    pub(super) fn items(self) -> Items<'a> {
        Items {
            document: self.value.document,
            nodes: &self.value.document.nodes,
            next: self.value.index + 1,
            left: self.value.node().count(),
        }
    }
}

impl<'a> ObjectRef<'a> {
    /// Number of members.
    #[inline]
    #[must_use]
    pub fn len(self) -> usize {
        self.value.node().count() as usize
    }

    /// Whether there is no member.
    #[inline]
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Keys and values, in document order.
    #[inline]
    pub fn iter(self) -> impl ExactSizeIterator<Item = (&'a str, ValueRef<'a>)> + Clone + 'a {
        self.members()
    }

    #[inline]
    pub(super) fn members(self) -> Members<'a> {
        Members {
            document: self.value.document,
            nodes: &self.value.document.nodes,
            text: &self.value.document.text,
            next: self.value.index + 1,
            left: self.value.node().count(),
        }
    }

    /// The member `key`. Takes time linear in the number of members.
    #[inline]
    #[must_use]
    pub fn get(self, key: &str) -> Option<ValueRef<'a>> {
        let document = self.value.document;
        let mut index = self.value.index + 1;
        for _ in 0..self.value.node().count() {
            let node = document.node(index);
            if node.word == key.len() as u64 && document.string_of(node) == key {
                return Some(ValueRef {
                    document,
                    index: index + 1,
                });
            }
            index = after(&document.nodes, index + 1);
        }
        None
    }
}

/// The items of an array.
#[derive(Clone)]
pub(super) struct Items<'a> {
    document: &'a Document,
    /// The document's nodes, resolved once.
    nodes: &'a [Node],
    next: u32,
    left: u32,
}

impl<'a> Iterator for Items<'a> {
    type Item = ValueRef<'a>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let value = ValueRef {
            document: self.document,
            index: self.next,
        };
        self.next = after(self.nodes, self.next);
        Some(value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for Items<'_> {}

/// The members of an object.
#[derive(Clone)]
pub(super) struct Members<'a> {
    document: &'a Document,
    /// The document's nodes and text, resolved once.
    nodes: &'a [Node],
    text: &'a str,
    next: u32,
    left: u32,
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, ValueRef<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let key = string_of(
            *self.nodes.get(self.next as usize)?,
            self.text,
            &self.document.side,
        );
        let value = ValueRef {
            document: self.document,
            index: self.next + 1,
        };
        self.next = after(self.nodes, self.next + 1);
        Some((key, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for Members<'_> {}

impl Document {
    #[inline]
    pub(super) fn node(&self, index: u32) -> Node {
        // Indices come from the nodes themselves, so the fallback is never seen.
        self.nodes
            .get(index as usize)
            .copied()
            .unwrap_or(const { Node::new(Tag::Null) })
    }

    #[inline]
    pub(super) fn string_of(&self, node: Node) -> &str {
        string_of(node, &self.text, &self.side)
    }
}
