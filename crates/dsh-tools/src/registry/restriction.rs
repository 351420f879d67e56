//! Masks over what a scope inherits.

use std::collections::HashSet;

/// Which inherited tools a scope sees (T31). Several restrictions intersect (T100).
///
/// A mask shapes what is visible; it is not a security boundary (T107).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restriction {
    pub(crate) allow: Option<Vec<String>>,
    pub(crate) deny: Option<Vec<String>>,
}

impl Restriction {
    /// Only these; an empty list hides everything inherited.
    pub fn allow<I: IntoIterator<Item = S>, S: Into<String>>(names: I) -> Self {
        Self {
            allow: Some(names.into_iter().map(Into::into).collect()),
            deny: None,
        }
    }

    /// Everything but these, tools registered later included (T102).
    pub fn deny<I: IntoIterator<Item = S>, S: Into<String>>(names: I) -> Self {
        Self {
            allow: None,
            deny: Some(names.into_iter().map(Into::into).collect()),
        }
    }

    /// Of what is allowed, not these either.
    #[must_use]
    pub fn and_deny<I: IntoIterator<Item = S>, S: Into<String>>(mut self, names: I) -> Self {
        self.deny
            .get_or_insert_default()
            .extend(names.into_iter().map(Into::into));
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.allow.is_none() && self.deny.is_none()
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.allow
            .iter()
            .chain(&self.deny)
            .flatten()
            .map(String::as_str)
    }

    pub(crate) fn compile(self) -> Filter {
        let set = |names: Vec<String>| names.into_iter().collect::<HashSet<_>>();
        Filter {
            allow: self.allow.map(set),
            deny: self.deny.map(set).unwrap_or_default(),
        }
    }
}

/// A compiled restriction (T98).
pub(crate) struct Filter {
    allow: Option<HashSet<String>>,
    deny: HashSet<String>,
}

impl Filter {
    pub(crate) fn admits(&self, name: &str) -> bool {
        self.allow.as_ref().is_none_or(|allow| allow.contains(name)) && !self.deny.contains(name)
    }
}
