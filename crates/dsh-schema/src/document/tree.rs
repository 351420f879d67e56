//! A document's nodes while they grow: open containers, depth and duplicate keys.

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::fmt::Write as _;
use std::hash::BuildHasher as _;

use super::MAX_DEPTH;
use super::node::{Node, Nodes, Tag, after, bytes_of, string_of};

/// Stands for the place outside of every container.
const ROOT: u32 = u32::MAX;

/// Nodes added at least when they no longer fit inside the document.
const FIRST_GROWTH: usize = 26;

/// Objects with more members than this look their keys up in a hash table. Below, comparing is faster.
const LINEAR_KEYS: u32 = 16;

/// Nodes under construction.
///
/// An open container needs no stack of its own: its node holds the index of its parent in `at`, and its counters in `word`
/// while one of its children is open.
pub(super) struct Tree {
    pub(super) nodes: Nodes,
    pub(super) side: String,
    seen: Option<Box<SeenKeys>>,
    current: u32,
    count: u32,
    /// One bit per class of keys that the current object has; a key of a new class needs no comparison.
    classes: u32,
    depth: u32,
    pub(super) in_object: bool,
}

/// The keys of every large object of the document.
struct SeenKeys {
    table: HashTable<SeenKey>,
    /// Seeded at random, since keys come from outside.
    hasher: RandomState,
}

struct SeenKey {
    hash: u64,
    container: u32,
    key: u32,
}

impl Tree {
    #[inline]
    pub(super) fn new(nodes: Nodes) -> Self {
        Self {
            nodes,
            side: String::new(),
            seen: None,
            current: ROOT,
            count: 0,
            classes: 0,
            depth: 0,
            in_object: false,
        }
    }

    /// Whether every container is closed.
    #[inline]
    pub(super) fn is_at_root(&self) -> bool {
        self.depth == 0
    }

    /// Number of finished values in the current container.
    #[inline]
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// Identifies the current container.
    pub(super) fn current(&self) -> u32 {
        self.current
    }

    #[inline]
    fn push(&mut self, node: Node) {
        if self.nodes.len() == self.nodes.capacity() {
            self.grow();
        }
        self.nodes.push(node);
    }

    /// Skips the small steps of the vector's own growth.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let length = self.nodes.len();
        self.nodes.reserve(length.max(FIRST_GROWTH));
    }

    /// Adds a value that is not a container.
    #[inline]
    pub(super) fn scalar(&mut self, node: Node) {
        self.push(node);
        self.count += 1;
    }

    /// Opens a container; `false` when that would exceed [`MAX_DEPTH`].
    #[inline]
    pub(super) fn open(&mut self, tag: Tag) -> bool {
        if self.depth as usize >= MAX_DEPTH {
            return false;
        }
        if let Some(parent) = self.nodes.get_mut(self.current as usize) {
            parent.word = u64::from(self.classes) << 32 | u64::from(self.count);
        }
        let index = self.nodes.len() as u32;
        self.nodes.push(Node {
            word: 0,
            at: self.current,
            tag,
        });
        self.current = index;
        self.count = 0;
        self.classes = 0;
        self.depth += 1;
        self.in_object = tag == Tag::Object;
        true
    }

    /// Closes the current container.
    #[inline]
    pub(super) fn close(&mut self) {
        let end = self.nodes.len() as u32;
        let Some(node) = self.nodes.get_mut(self.current as usize) else {
            return;
        };
        let parent = node.at;
        *node = Node::container(node.tag, self.count, end);
        self.current = parent;
        self.depth -= 1;
        if let Some(parent) = self.nodes.get(parent as usize) {
            self.count = parent.word as u32 + 1;
            self.classes = (parent.word >> 32) as u32;
            self.in_object = parent.tag == Tag::Object;
        } else {
            self.count = 1;
            self.classes = 0;
            self.in_object = false;
        }
    }

    /// Adds a key to the current object; `false` when the object has it already.
    #[inline]
    pub(super) fn key(&mut self, key: Node, text: &[u8]) -> bool {
        let bytes = bytes_of(key, text, self.side.as_bytes());
        let class = 1 << class_of(bytes);
        if (self.classes & class != 0 || self.count >= LINEAR_KEYS) && !self.is_new(key, text) {
            return false;
        }
        self.classes |= class;
        self.push(key);
        true
    }

    #[inline(never)]
    fn is_new(&mut self, key: Node, text: &[u8]) -> bool {
        let side = self.side.as_bytes();
        let bytes = bytes_of(key, text, side);
        let mut index = self.current + 1;
        if self.count < LINEAR_KEYS {
            for _ in 0..self.count {
                let Some(other) = self.nodes.get(index as usize) else {
                    break;
                };
                if other.word == key.word && bytes_of(*other, text, side) == bytes {
                    return false;
                }
                index = after(&self.nodes, index + 1);
            }
            return true;
        }
        let seen = self.seen.get_or_insert_with(|| {
            Box::new(SeenKeys {
                table: HashTable::new(),
                hasher: RandomState::default(),
            })
        });
        if self.count == LINEAR_KEYS {
            for _ in 0..self.count {
                let Some(other) = self.nodes.get(index as usize) else {
                    break;
                };
                seen.insert(self.current, index, bytes_of(*other, text, side), |_| false);
                index = after(&self.nodes, index + 1);
            }
        }
        let nodes = &self.nodes;
        seen.insert(self.current, nodes.len() as u32, bytes, |other| {
            nodes
                .get(other as usize)
                .is_some_and(|other| bytes_of(*other, text, side) == bytes)
        })
    }

    /// The JSON path of the current container, or of the value that comes next in it.
    #[cold]
    pub(super) fn path(&self, text: &str, with_next: bool) -> String {
        // From the innermost place outwards: the container and what is chosen in it.
        let mut steps = Vec::new();
        let mut container = self.current;
        if with_next {
            steps.push((container, self.count, self.nodes.len() as u32));
        }
        while let Some(node) = self.nodes.get(container as usize) {
            let parent = node.at;
            let count = self
                .nodes
                .get(parent as usize)
                .map_or(0, |parent| parent.word as u32);
            steps.push((parent, count, container));
            container = parent;
        }
        let mut path = String::new();
        for (container, count, child) in steps.into_iter().rev() {
            match self.nodes.get(container as usize).map(|node| node.tag) {
                Some(Tag::Object) => {
                    let key = self.nodes.get(child as usize - 1).copied();
                    push_key(
                        &mut path,
                        key.map_or("", |key| string_of(key, text, &self.side)),
                    );
                }
                Some(_) => push_index(&mut path, count as usize),
                None => {}
            }
        }
        path
    }
}

/// Appends a property step to a path. Keys are not escaped (T353).
pub(super) fn push_key(path: &mut String, key: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(key);
}

/// Appends an index step to a path.
pub(super) fn push_index(path: &mut String, index: usize) {
    // Writing into a string does not fail.
    let _ = write!(path, "[{index}]");
}

impl SeenKeys {
    /// Adds a key; `false` when its container has it already.
    fn insert(
        &mut self,
        container: u32,
        key: u32,
        bytes: &[u8],
        is_equal: impl Fn(u32) -> bool,
    ) -> bool {
        let hash = self.hasher.hash_one((container, bytes));
        let found = self.table.find(hash, |seen| {
            seen.hash == hash && seen.container == container && is_equal(seen.key)
        });
        if found.is_some() {
            return false;
        }
        self.table.insert_unique(
            hash,
            SeenKey {
                hash,
                container,
                key,
            },
            |seen| seen.hash,
        );
        true
    }
}

/// Sorts keys into 32 classes, cheaply; keys of different classes differ.
#[inline]
fn class_of(key: &[u8]) -> u32 {
    let first = key.first().copied().unwrap_or(0);
    let last = key.last().copied().unwrap_or(0);
    (u32::from(first) ^ u32::from(last).wrapping_mul(5) ^ (key.len() as u32).wrapping_mul(11)) & 31
}
