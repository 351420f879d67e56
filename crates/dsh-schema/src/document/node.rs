//! The 16-byte nodes that a document is made of.

use smallvec::SmallVec;

/// Nodes kept inside the document itself: enough for a scalar or a flat object of two members without an allocation.
const INLINE_NODES: usize = 6;

/// The flat list of nodes, in pre-order. A member of an object is two entries: its key, then its value.
pub(super) type Nodes = SmallVec<[Node; INLINE_NODES]>;

/// What a node is. Containers come last, so that telling them apart is one comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Tag {
    Null,
    False,
    True,
    /// `word` holds an `i64`.
    Int,
    /// `word` holds a `u64` above `i64::MAX`.
    UInt,
    /// `word` holds the bits of a finite `f64` that is not negative zero.
    Float,
    /// `at` and `word` are start and length in the raw text, which has no escape in between.
    Plain,
    /// `at` and `word` are start and length in the side buffer.
    Escaped,
    /// `word` holds the number of items and the end of the subtree.
    Array,
    /// `word` holds the number of members and the end of the subtree.
    Object,
}

/// One value or key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) word: u64,
    pub(super) at: u32,
    pub(super) tag: Tag,
}

const _: () = assert!(
    size_of::<Node>() == 16,
    "the node layout is part of the speed of this crate"
);

impl Node {
    pub(super) const fn new(tag: Tag) -> Self {
        Self {
            word: 0,
            at: 0,
            tag,
        }
    }

    pub(super) const fn bool(value: bool) -> Self {
        Self::new(if value { Tag::True } else { Tag::False })
    }

    pub(super) const fn int(value: i64) -> Self {
        Self {
            word: value.cast_unsigned(),
            at: 0,
            tag: Tag::Int,
        }
    }

    /// Any unsigned integer; those that fit are stored as signed, so that one value has one representation.
    #[inline]
    pub(super) const fn unsigned(value: u64) -> Self {
        let tag = if value > i64::MAX.cast_unsigned() {
            Tag::UInt
        } else {
            Tag::Int
        };
        Self {
            word: value,
            at: 0,
            tag,
        }
    }

    pub(super) const fn float(value: f64) -> Self {
        Self {
            word: value.to_bits(),
            at: 0,
            tag: Tag::Float,
        }
    }

    #[inline]
    pub(super) const fn string(tag: Tag, start: usize, length: usize) -> Self {
        Self {
            word: length as u64,
            at: start as u32,
            tag,
        }
    }

    pub(super) const fn container(tag: Tag, count: u32, end: u32) -> Self {
        Self {
            word: (end as u64) << 32 | count as u64,
            at: 0,
            tag,
        }
    }

    #[inline]
    pub(super) fn is_container(self) -> bool {
        self.tag >= Tag::Array
    }

    #[inline]
    pub(super) const fn count(self) -> u32 {
        self.word as u32
    }

    /// One past the last node of a container's subtree.
    #[inline]
    pub(super) const fn end(self) -> u32 {
        (self.word >> 32) as u32
    }
}

/// The index after the subtree at `index`.
#[inline]
pub(super) fn after(nodes: &[Node], index: u32) -> u32 {
    match nodes.get(index as usize) {
        Some(node) if node.is_container() => node.end(),
        _ => index + 1,
    }
}

/// The text of a string node; empty for any other node.
#[inline]
pub(super) fn string_of<'a>(node: Node, text: &'a str, side: &'a str) -> &'a str {
    let start = node.at as usize;
    let source = match node.tag {
        Tag::Plain => text,
        Tag::Escaped => side,
        _ => return "",
    };
    source.get(start..start + node.word as usize).unwrap_or("")
}

/// Like [`string_of`], without the check for character boundaries.
#[inline]
pub(super) fn bytes_of<'a>(node: Node, text: &'a [u8], side: &'a [u8]) -> &'a [u8] {
    let start = node.at as usize;
    let source = if node.tag == Tag::Plain { text } else { side };
    source.get(start..start + node.word as usize).unwrap_or(b"")
}
