//! Why a text or a value is not a document, or does not decode.

use std::fmt;

/// What kind of problem a [`DocumentError`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DocumentErrorKind {
    /// The text is not JSON (RFC 8259).
    Syntax,
    /// Arrays and objects nest deeper than [`MAX_DEPTH`](crate::MAX_DEPTH) (D4).
    TooDeep,
    /// An object has the same key twice (D3).
    DuplicateKey,
    /// A number is negative zero, or rounds to it.
    NegativeZero,
    /// An integer is outside of `i64` and `u64` (D2).
    IntegerRange,
    /// A number is beyond the range of a double.
    NumberOverflow,
    /// A `\u` escape is half of a surrogate pair (D16).
    UnpairedSurrogate,
    /// A Rust float is NaN or infinite (T43).
    NotFinite,
    /// A map key is not a string (T47).
    NonStringKey,
    /// The text is longer than 4 GiB.
    TooLarge,
    /// A `Serialize` implementation failed.
    Encode,
    /// The value does not fit the Rust type that it was to be decoded to.
    Decode,
}

impl DocumentErrorKind {
    /// Whether the input was JSON, but not representable without loss.
    #[must_use]
    pub fn is_lossy(self) -> bool {
        !matches!(self, Self::Syntax | Self::Encode | Self::Decode)
    }
}

/// Why a text or a value is not a document, or does not decode.
///
/// The message says what is wrong and names the key or number; where it is stands in [`path`](Self::path) and, when the
/// input was text, in [`offset`](Self::offset), [`line`](Self::line) and [`column`](Self::column).
#[derive(Clone, PartialEq, Eq)]
pub struct DocumentError {
    // Boxed, so that a result is no larger for the failure that seldom happens.
    inner: Box<Inner>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    kind: DocumentErrorKind,
    message: String,
    path: Option<String>,
    position: Option<Position>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Position {
    offset: usize,
    line: usize,
    column: usize,
}

impl DocumentError {
    #[cold]
    pub(super) fn new(kind: DocumentErrorKind, message: impl Into<String>) -> Self {
        Self {
            inner: Box::new(Inner {
                kind,
                message: message.into(),
                path: None,
                position: None,
            }),
        }
    }

    /// Adds the position in the text; an earlier position wins.
    #[cold]
    pub(super) fn at_offset(mut self, text: &str, offset: usize) -> Self {
        self.inner.position.get_or_insert_with(|| {
            let before = text.get(..offset).unwrap_or(text);
            let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
            Position {
                offset,
                line: before.bytes().filter(|byte| *byte == b'\n').count() + 1,
                column: before
                    .get(line_start..)
                    .map_or(0, |line| line.chars().count())
                    + 1,
            }
        });
        self
    }

    /// Adds the path of the value; an earlier, inner path wins.
    #[cold]
    pub(super) fn at_path(mut self, path: impl FnOnce() -> String) -> Self {
        self.inner.path.get_or_insert_with(path);
        self
    }

    /// Takes the place away: it was one in another text.
    pub(super) fn unplaced(mut self) -> Self {
        (self.inner.path, self.inner.position) = (None, None);
        self
    }

    /// What kind of problem it is.
    #[must_use]
    pub fn kind(&self) -> DocumentErrorKind {
        self.inner.kind
    }

    /// What is wrong, without the place.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.inner.message
    }

    /// The JSON path of the value at fault, such as `servers[1].host`; empty for the root. Keys are not escaped.
    ///
    /// `None` for syntax errors, which have a position only.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        self.inner.path.as_deref()
    }

    /// Byte offset of the fault in the text, counted from 0; `None` when the input was no text.
    #[must_use]
    pub fn offset(&self) -> Option<usize> {
        self.inner.position.map(|position| position.offset)
    }

    /// Line of the fault, counted from 1.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.inner.position.map(|position| position.line)
    }

    /// Column of the fault in characters (not bytes), counted from 1.
    #[must_use]
    pub fn column(&self) -> Option<usize> {
        self.inner.position.map(|position| position.column)
    }
}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner {
            message,
            path,
            position,
            ..
        } = &*self.inner;
        f.write_str(message)?;
        if let Some(path) = path
            && !path.is_empty()
        {
            write!(f, " at `{path}`")?;
        }
        if let Some(Position { line, column, .. }) = position {
            write!(f, " at line {line} column {column}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner {
            kind,
            message,
            path,
            position,
        } = &*self.inner;
        f.debug_struct("DocumentError")
            .field("kind", kind)
            .field("message", message)
            .field("path", path)
            .field("position", position)
            .finish()
    }
}

impl std::error::Error for DocumentError {}

impl serde::ser::Error for DocumentError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(DocumentErrorKind::Encode, message.to_string())
    }
}

impl serde::de::Error for DocumentError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(DocumentErrorKind::Decode, message.to_string())
    }
}

// The lossless rules are said in one way, wherever the value comes from.

#[cold]
pub(super) fn too_deep() -> DocumentError {
    DocumentError::new(
        DocumentErrorKind::TooDeep,
        format!(
            "arrays and objects nest deeper than {} levels",
            super::MAX_DEPTH
        ),
    )
}

#[cold]
pub(super) fn duplicate_key(key: &str) -> DocumentError {
    DocumentError::new(
        DocumentErrorKind::DuplicateKey,
        format!("duplicate key `{}`", shortened(key)),
    )
}

#[cold]
pub(super) fn negative_zero(number: &str) -> DocumentError {
    DocumentError::new(
        DocumentErrorKind::NegativeZero,
        format!("`{}` is negative zero; write `0`", shortened(number)),
    )
}

#[cold]
pub(super) fn integer_range(number: &str) -> DocumentError {
    DocumentError::new(
        DocumentErrorKind::IntegerRange,
        format!(
            "integer `{}` does not fit in 64 bits; send it as a string",
            shortened(number)
        ),
    )
}

#[cold]
pub(super) fn number_overflow(number: &str) -> DocumentError {
    DocumentError::new(
        DocumentErrorKind::NumberOverflow,
        format!(
            "number `{}` is beyond the range of a double",
            shortened(number)
        ),
    )
}

#[cold]
pub(super) fn not_finite(value: f64) -> DocumentError {
    DocumentError::new(
        DocumentErrorKind::NotFinite,
        format!("`{value}` is not a JSON number"),
    )
}

#[cold]
pub(super) fn non_string_key(what: &str) -> DocumentError {
    DocumentError::new(
        DocumentErrorKind::NonStringKey,
        format!("a map key is {what}; only strings can be keys"),
    )
}

#[cold]
pub(super) fn too_large() -> DocumentError {
    DocumentError::new(DocumentErrorKind::TooLarge, "the text is longer than 4 GiB")
}

/// A key or number as it stands in a message: cut when it is long, since it comes from outside.
fn shortened(name: &str) -> String {
    const LONGEST: usize = 80;
    match name.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{}…", name.get(..cut).unwrap_or(name)),
        None => name.to_owned(),
    }
}
