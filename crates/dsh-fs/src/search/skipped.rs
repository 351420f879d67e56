//! What a search could not look at.

use dsh_schema::ValueRef;
use dsh_schema::spec::{self, ObjectSpec};
use serde::{Deserialize, Serialize};

/// How many are named.
const NAMED: usize = 3;

/// Files and directories that a search had to leave out.
///
/// A search goes on past what it cannot read, as `ripgrep` does. What it left out belongs to its
/// result: "nothing found" and "nothing found where I could look" are different answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// How many there are.
    pub total: u64,
    /// The first few, each with the reason.
    pub examples: Vec<String>,
}

impl Skipped {
    pub(crate) fn add(&mut self, what: impl FnOnce() -> String) {
        self.total += 1;
        if self.examples.len() < NAMED {
            self.examples.push(what());
        }
    }

    /// Nothing if nothing was left out.
    pub(crate) fn into_option(self) -> Option<Self> {
        (self.total > 0).then_some(self)
    }

    /// A line in parentheses for the end of a rendered result.
    pub(crate) fn footer(&self) -> String {
        let examples = self.examples.join("; ");
        let more = self.total.saturating_sub(self.examples.len() as u64);
        let noun = if self.total == 1 { "place" } else { "places" };
        let more = match more {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        format!(
            "({} {noun} could not be searched: {examples}{more})",
            self.total
        )
    }
}

/// The schema of [`Skipped`].
pub(crate) fn skipped_spec() -> ObjectSpec {
    spec::object()
        .closed()
        .required("total", spec::integer())
        .required("examples", spec::array(spec::string()))
}

/// What the value of a search says that it left out.
pub(crate) fn skipped_of(value: ValueRef<'_>) -> Option<Skipped> {
    value.get("skipped")?.decode().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_few_are_named_and_all_are_counted() {
        let mut skipped = Skipped::default();
        assert_eq!(skipped.clone().into_option(), None);
        skipped.add(|| "a: denied".to_owned());
        assert_eq!(
            skipped.footer(),
            "(1 place could not be searched: a: denied)"
        );
        for _ in 0..4 {
            skipped.add(|| "b".to_owned());
        }
        assert_eq!(
            skipped.footer(),
            "(5 places could not be searched: a: denied; b; b; and 2 more)"
        );
    }
}
