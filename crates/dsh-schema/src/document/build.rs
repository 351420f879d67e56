//! Building a document from values: compact text and nodes grow together.

use compact_str::CompactString;

use super::error::{self, DocumentError, DocumentErrorKind};
use super::node::{Node, Nodes, Tag};
use super::number::Number;
use super::tree::Tree;
use super::value::ValueRef;
use super::{Document, write};

/// Bytes reserved for the text: a usual result fits, and one that does not grows in few steps.
const FIRST_CAPACITY: usize = 128;

/// A document under construction.
///
/// Calls in an impossible order (a value without a key, a container closed twice) are errors, since they can come from a
/// faulty `Serialize` implementation.
pub(super) struct Builder {
    text: String,
    /// The text of a document that is one number, which needs no buffer.
    number: Option<CompactString>,
    tree: Tree,
    /// A key waits for its value.
    has_key: bool,
    /// No number is spelled other than ECMAScript spells it.
    is_compact: bool,
}

/// An open container, to be given back when it ends.
#[derive(Clone, Copy)]
pub(super) struct Opened {
    container: u32,
}

impl Builder {
    pub(super) fn new() -> Self {
        Self {
            text: String::new(),
            number: None,
            tree: Tree::new(Nodes::new()),
            has_key: false,
            is_compact: true,
        }
    }

    /// Copies a value of another document.
    pub(super) fn copy(value: ValueRef<'_>) -> Document {
        let mut builder = Self::new();
        // A value inside of a document breaks no rule, so the fallback is never seen.
        match builder.splice(value) {
            Ok(()) => builder.finish().unwrap_or_default(),
            Err(_) => Document::null(),
        }
    }

    /// Appends a value of another document.
    pub(super) fn splice(&mut self, value: ValueRef<'_>) -> Result<(), DocumentError> {
        let document = value.document();
        let end = value.end();
        let mut index = value.index_in_document();
        let mut open: Vec<(u32, Opened)> = Vec::new();
        while index < end {
            let node = document.node(index);
            match node.tag {
                Tag::Null => self.null()?,
                Tag::False => self.bool(false)?,
                Tag::True => self.bool(true)?,
                Tag::Int | Tag::UInt | Tag::Float => {
                    if let Some(number) = Number::of_node(node) {
                        self.number(number)?;
                    }
                }
                Tag::Plain | Tag::Escaped if self.tree.in_object && !self.has_key => {
                    self.key(document.string_of(node))?;
                }
                Tag::Plain | Tag::Escaped => self.string(document.string_of(node))?,
                Tag::Array | Tag::Object => {
                    let opened = self.open(node.tag)?;
                    open.push((node.end(), opened));
                }
            }
            index += 1;
            while let Some((_, opened)) = open.pop_if(|(end, _)| *end == index) {
                self.close(opened)?;
            }
        }
        Ok(())
    }

    /// Prepares for a value: its comma and the check that there is room for it.
    #[inline]
    fn begin(&mut self) -> Result<(), DocumentError> {
        if self.has_key {
            self.has_key = false;
        } else if self.tree.in_object {
            return Err(misuse("a value without a key"));
        } else if self.tree.is_at_root() {
            if self.tree.count() > 0 {
                return Err(misuse("more than one value"));
            }
        } else if self.tree.count() > 0 {
            self.text.push(',');
        }
        self.check_size()
    }

    #[inline]
    fn check_size(&self) -> Result<(), DocumentError> {
        if u32::try_from(self.text.len()).is_ok() {
            Ok(())
        } else {
            Err(error::too_large())
        }
    }

    fn literal(&mut self, text: &str, node: Node) -> Result<(), DocumentError> {
        self.begin()?;
        self.text.push_str(text);
        self.tree.scalar(node);
        Ok(())
    }

    pub(super) fn null(&mut self) -> Result<(), DocumentError> {
        self.literal("null", Node::new(Tag::Null))
    }

    pub(super) fn bool(&mut self, value: bool) -> Result<(), DocumentError> {
        self.literal(if value { "true" } else { "false" }, Node::bool(value))
    }

    pub(super) fn number(&mut self, number: Number) -> Result<(), DocumentError> {
        let is_whole = self.tree.is_at_root();
        self.begin()?;
        match number {
            Number::Int(value) if is_whole => {
                self.number = Some(CompactString::new(itoa::Buffer::new().format(value)));
            }
            Number::UInt(value) if is_whole => {
                self.number = Some(CompactString::new(itoa::Buffer::new().format(value)));
            }
            _ => self.is_compact &= number.write_parseable(&mut self.text),
        }
        self.tree.scalar(number.to_node());
        Ok(())
    }

    /// A double, which becomes an integer if it is one.
    pub(super) fn double(&mut self, value: f64) -> Result<(), DocumentError> {
        if !value.is_finite() {
            return Err(error::not_finite(value));
        }
        if value == 0.0 && value.is_sign_negative() {
            return Err(error::negative_zero("-0"));
        }
        self.number(Number::of_double(value))
    }

    /// An integer of any width.
    pub(super) fn integer<T>(&mut self, value: T) -> Result<(), DocumentError>
    where
        T: Copy + ToString + TryInto<i64> + TryInto<u64>,
    {
        if let Ok(value) = value.try_into() {
            self.number(Number::Int(value))
        } else if let Ok(value) = value.try_into() {
            self.number(Number::UInt(value))
        } else {
            Err(error::integer_range(&value.to_string()))
        }
    }

    pub(super) fn string(&mut self, value: &str) -> Result<(), DocumentError> {
        self.begin()?;
        let node = self.string_node(value);
        self.tree.scalar(node);
        self.check_size()
    }

    /// Writes a string; the node refers to the text, or to the side buffer if it has escapes.
    fn string_node(&mut self, value: &str) -> Node {
        let start = self.text.len() + 1;
        if write::string(value, &mut self.text) {
            return Node::string(Tag::Plain, start, value.len());
        }
        let node = Node::string(Tag::Escaped, self.tree.side.len(), value.len());
        self.tree.side.push_str(value);
        node
    }

    pub(super) fn key(&mut self, key: &str) -> Result<(), DocumentError> {
        if !self.tree.in_object || self.has_key {
            return Err(misuse("a key without a value"));
        }
        if self.tree.count() > 0 {
            self.text.push(',');
        }
        let node = self.string_node(key);
        self.check_size()?;
        if !self.tree.key(node, self.text.as_bytes()) {
            let path = self.tree.path(&self.text, false);
            return Err(error::duplicate_key(key).at_path(|| path));
        }
        self.text.push(':');
        self.has_key = true;
        Ok(())
    }

    pub(super) fn open(&mut self, tag: Tag) -> Result<Opened, DocumentError> {
        self.begin()?;
        if !self.tree.open(tag) {
            self.has_key = self.tree.in_object;
            return Err(error::too_deep());
        }
        if self.text.is_empty() {
            self.text.reserve(FIRST_CAPACITY);
        }
        self.text.push(if tag == Tag::Object { '{' } else { '[' });
        Ok(Opened {
            container: self.tree.current(),
        })
    }

    pub(super) fn close(&mut self, opened: Opened) -> Result<(), DocumentError> {
        if self.tree.current() != opened.container || self.has_key {
            return Err(misuse("a container that ends early"));
        }
        self.text.push(if self.tree.in_object { '}' } else { ']' });
        self.tree.close();
        Ok(())
    }

    /// Adds to an error the path of the place reached.
    #[cold]
    pub(super) fn placed(&self, error: DocumentError) -> DocumentError {
        let is_value = self.has_key || !self.tree.in_object;
        error.at_path(|| {
            self.tree
                .path(&self.text, is_value && !self.tree.is_at_root())
        })
    }

    pub(super) fn finish(self) -> Result<Document, DocumentError> {
        if !self.tree.is_at_root() || self.tree.count() != 1 {
            return Err(misuse("no complete value"));
        }
        self.check_size()?;
        Ok(Document {
            text: self.number.unwrap_or_else(|| self.text.into()),
            nodes: self.tree.nodes,
            side: self.tree.side,
            is_compact: self.is_compact,
        })
    }
}

#[cold]
fn misuse(what: &str) -> DocumentError {
    DocumentError::new(
        DocumentErrorKind::Encode,
        format!("a `Serialize` implementation produced {what}"),
    )
}
