//! What arguments have to satisfy.

use dsh_schema::{ArgumentsContract, Contract, Document, ValueRef};

/// Whether the arguments of a raw definition are validated against its parameters (D12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checking {
    /// A violation is `INVALID_ARGS`, as for every other tool.
    Checked,
    /// The parameters only describe; the body looks at its arguments itself.
    Unchecked,
}

/// The argument side of a definition.
pub(crate) enum ArgumentContract {
    /// Made from a Rust type; a `null` for an optional member counts as absent (D40).
    Typed(ArgumentsContract),
    /// Made from a schema.
    Checked(Contract),
    /// A schema that only describes.
    Unchecked(Document),
}

impl ArgumentContract {
    pub(crate) fn contract(&self) -> Option<&Contract> {
        match self {
            Self::Typed(typed) => Some(typed.contract()),
            Self::Checked(contract) => Some(contract),
            Self::Unchecked(_) => None,
        }
    }

    pub(crate) fn source(&self) -> &Document {
        match self {
            Self::Typed(typed) => typed.contract().source(),
            Self::Checked(contract) => contract.source(),
            Self::Unchecked(schema) => schema,
        }
    }

    pub(crate) fn accepts(&self, arguments: ValueRef<'_>) -> bool {
        match self {
            Self::Typed(typed) => typed.is_valid(arguments),
            Self::Checked(contract) => contract.is_valid(arguments),
            Self::Unchecked(_) => true,
        }
    }

    pub(crate) fn violations(&self, arguments: ValueRef<'_>) -> Vec<String> {
        match self {
            Self::Typed(typed) => typed.violations(arguments),
            Self::Checked(contract) => contract.violations(arguments, ""),
            Self::Unchecked(_) => Vec::new(),
        }
    }
}
