//! Where a walk is: paths that are written out only when something is wrong there.

use std::fmt::Write as _;

/// Index into [`Places`].
pub(crate) type Place = u32;

/// One step from a place to one below it.
#[derive(Clone, Copy)]
pub(crate) enum Step<'a> {
    /// A member of a value.
    Member(&'a str),
    /// An element of a value.
    Element(usize),
    /// The schema of a property.
    Property(&'a str),
    /// The schema of an array's elements.
    Items,
    /// A branch of a one-of.
    Branch(usize),
}

/// The places of one walk, each with the place above it.
pub(crate) struct Places<'a> {
    root: &'a str,
    below_root: Vec<(Place, Step<'a>)>,
}

impl<'a> Places<'a> {
    pub(crate) const ROOT: Place = 0;

    pub(crate) fn new(root: &'a str) -> Self {
        Self {
            root,
            below_root: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, above: Place, step: Step<'a>) -> Place {
        self.below_root.push((above, step));
        // A walk adds at most one place for each node or value that is in memory, so this is no limit in practice;
        // should it ever be reached, paths become vague and verdicts stay right.
        Place::try_from(self.below_root.len()).unwrap_or(Self::ROOT)
    }

    /// The path of `place`; keys are not escaped (T353).
    pub(crate) fn path(&self, place: Place) -> String {
        let mut steps = Vec::new();
        let mut at = place;
        while at != Self::ROOT {
            let (above, step) = self.below_root[at as usize - 1];
            steps.push(step);
            at = above;
        }
        let mut path = self.root.to_owned();
        for (depth, step) in steps.into_iter().rev().enumerate() {
            let result = match step {
                // A top-level property under the empty label is just its key.
                Step::Member(key) if depth == 0 && self.root.is_empty() => write!(path, "{key}"),
                Step::Member(key) => write!(path, ".{key}"),
                Step::Element(index) => write!(path, "[{index}]"),
                Step::Property(key) => write!(path, ".properties.{key}"),
                Step::Items => write!(path, ".items"),
                Step::Branch(index) => write!(path, ".oneOf[{index}]"),
            };
            debug_assert!(result.is_ok(), "writing to a string cannot fail");
        }
        path
    }

    /// The path of the value at `place`, for a message about the value itself: the root under the empty label is
    /// `arguments` (T353).
    pub(crate) fn subject(&self, place: Place) -> String {
        if place == Self::ROOT && self.root.is_empty() {
            "arguments".to_owned()
        } else {
            self.path(place)
        }
    }

    /// The path of member `key` of the value at `place`.
    pub(crate) fn member(&self, place: Place, key: &str) -> String {
        if place == Self::ROOT && self.root.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path(place))
        }
    }
}
