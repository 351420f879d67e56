//! The lossless JSON document.
//!
//! Start reading at [`Document`]. `parse` turns text into nodes, `build` turns values into text and nodes; both let `tree`
//! keep the rules on depth and duplicate keys. `value` holds the views that everything else walks through.

mod build;
mod convert;
mod decode;
mod deserialize;
mod equal;
mod error;
mod node;
mod number;
mod parse;
mod scan;
mod serialize;
mod tree;
mod value;
mod write;

use std::fmt;
use std::str::FromStr;

use compact_str::CompactString;
use serde::de::DeserializeOwned;

pub use error::{DocumentError, DocumentErrorKind};
pub use number::Number;
pub use value::{ArrayRef, ObjectRef, ValueRef};

use node::{Node, Nodes, Tag};

/// Deepest nesting of arrays and objects that a document may have (D4).
pub const MAX_DEPTH: usize = 512;

/// The kind of a JSON value; integers and other numbers are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool,
    /// An integer in the range of `i64` or `u64`, however it was spelled (`2`, `2.0`, `2e0`).
    Integer,
    /// Any other finite number.
    Float,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

/// A JSON value that lost nothing: its text, and a flat list of nodes that refer to it.
///
/// A document is valid by construction. It holds no number that is not finite or is a negative zero, no integer that was
/// rounded, no key twice, no half of a surrogate pair, and at most [`MAX_DEPTH`] levels of arrays and objects (T36, D2–D4,
/// D16). It never changes. Making, cloning, comparing, writing and dropping one never recurses.
///
/// Equality is that of JSON values: numbers by exact value (`1` equals `1.0`), objects regardless of the order of their
/// members. The text does not count.
///
/// # Examples
///
/// ```
/// use dsh_schema::Document;
///
/// let document = Document::parse(r#"{"path": "a.txt", "lines": [1, 2.0]}"#)?;
/// assert_eq!(document.root().get("path").and_then(|path| path.as_str()), Some("a.txt"));
/// assert_eq!(document.to_json(), r#"{"path":"a.txt","lines":[1,2]}"#);
///
/// let error = Document::parse(r#"{"a": 1, "a": 2}"#).unwrap_err();
/// assert_eq!(error.to_string(), "duplicate key `a` at line 1 column 10");
/// # Ok::<(), dsh_schema::DocumentError>(())
/// ```
pub struct Document {
    text: CompactString,
    nodes: Nodes,
    /// The decoded strings that have escapes in the text.
    side: String,
    /// Whether the text is known to be what `to_json` writes.
    is_compact: bool,
}

impl Document {
    /// Parses JSON text, checking losslessness in the same pass.
    ///
    /// The text is kept; an owned `String` is taken over without copying (unless it is very short). For borrowed text
    /// `text.parse::<Document>()` saves an allocation.
    ///
    /// # Errors
    ///
    /// When the text is not JSON, or is JSON that cannot be represented without loss. The error names key or number and
    /// has the position.
    pub fn parse(text: impl Into<String>) -> Result<Self, DocumentError> {
        Self::of_text(CompactString::from(text.into()))
    }

    /// As [`parse`](Document::parse), handing the text back when it is refused.
    ///
    /// # Errors
    ///
    /// As [`parse`](Document::parse), with the text.
    pub fn parse_owned(text: String) -> Result<Self, (DocumentError, String)> {
        let text = CompactString::from(text);
        match parse::parse(&text) {
            Ok((nodes, side)) => Ok(Self {
                text,
                nodes,
                side,
                is_compact: false,
            }),
            Err(error) => Err((error, text.into_string())),
        }
    }

    fn of_text(text: CompactString) -> Result<Self, DocumentError> {
        let (nodes, side) = parse::parse(&text)?;
        Ok(Self {
            text,
            nodes,
            side,
            is_compact: false,
        })
    }

    /// Serialises a Rust value in one pass.
    ///
    /// Each field is read once: text and nodes are made together (T38). Structs, enums and options take the shape that
    /// `serde_json` gives them.
    ///
    /// # Errors
    ///
    /// When the value has no lossless JSON: NaN, infinities, negative zero, integers beyond 64 bits, map keys that are not
    /// strings, duplicate keys (of flattened structs), too many levels; or when a `Serialize` implementation fails. The
    /// error has the path.
    pub fn from_serialize<T: serde::Serialize + ?Sized>(value: &T) -> Result<Self, DocumentError> {
        serialize::serialize(value)
    }

    /// `null`.
    #[must_use]
    pub fn null() -> Self {
        let mut nodes = Nodes::new();
        nodes.push(Node::new(Tag::Null));
        Self {
            text: CompactString::const_new("null"),
            nodes,
            side: String::new(),
            is_compact: true,
        }
    }

    /// A document that is one string.
    #[must_use]
    pub fn string(text: impl Into<String>) -> Self {
        let text = text.into();
        Self::scalar(|builder| builder.string(&text))
    }

    /// The whole value.
    #[inline]
    #[must_use]
    pub fn root(&self) -> ValueRef<'_> {
        ValueRef::new(self, 0)
    }

    /// The compact JSON text, keys in document order, numbers as ECMAScript prints them.
    #[must_use]
    pub fn to_json(&self) -> String {
        self.root().to_json()
    }

    /// JSON indented by two spaces, as `JSON.stringify(value, null, 2)` prints it.
    #[must_use]
    pub fn to_json_pretty(&self) -> String {
        self.root().to_json_pretty()
    }

    /// A `serde_json` value, keys in document order.
    #[must_use]
    pub fn to_value(&self) -> serde_json::Value {
        self.root().to_value()
    }

    /// Decodes a Rust type straight from the nodes.
    ///
    /// # Errors
    ///
    /// When the value does not fit the type; the error has the path of the part that does not.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, DocumentError> {
        self.root().decode()
    }

    /// The text the document was parsed from; compact JSON when it was built from a value.
    ///
    /// It always parses to the same value.
    #[inline]
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The kind of the whole value.
    #[inline]
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.root().kind()
    }
}

impl Clone for Document {
    fn clone(&self) -> Self {
        // Copies the nodes in one piece, which the derived form does one by one.
        Self {
            text: self.text.clone(),
            nodes: Nodes::from_slice(&self.nodes),
            side: self.side.clone(),
            is_compact: self.is_compact,
        }
    }
}

impl Default for Document {
    /// `null`.
    fn default() -> Self {
        Self::null()
    }
}

impl PartialEq for Document {
    fn eq(&self, other: &Self) -> bool {
        self.root() == other.root()
    }
}

impl FromStr for Document {
    type Err = DocumentError;

    /// As [`Document::parse`].
    fn from_str(text: &str) -> Result<Self, DocumentError> {
        Self::of_text(CompactString::new(text))
    }
}

impl fmt::Display for Document {
    /// Compact JSON; indented with the alternate flag.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.root().fmt(f)
    }
}

impl fmt::Display for ValueRef<'_> {
    /// Compact JSON; indented with the alternate flag.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&if f.alternate() {
            self.to_json_pretty()
        } else {
            self.to_json()
        })
    }
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for ValueRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for ArrayRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl fmt::Debug for ObjectRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}
