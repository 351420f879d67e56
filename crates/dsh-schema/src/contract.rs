//! What a value has to satisfy: the enforced subset or a foreign schema.

use crate::{Document, ForeignSchema, Schema, SchemaError, ValueRef};

/// A compiled schema that is enforced in full.
#[derive(Clone, Debug)]
pub enum Contract {
    /// The schema lies inside the enforced subset.
    Subset(Schema),
    /// The schema lies outside it and is enforced by a general validator.
    Foreign(ForeignSchema),
}

impl Contract {
    /// Compiles a schema: the subset when it fits, else a foreign contract (D11).
    ///
    /// # Errors
    ///
    /// A schema that neither can enforce. The reasons are the general validator's: a keyword that only the subset lacks
    /// is no reason to refuse, so its list would lead astray.
    pub fn compile(schema: &Document) -> Result<Self, SchemaError> {
        match Schema::parse(schema) {
            Ok(schema) => Ok(Self::Subset(schema)),
            Err(_) => ForeignSchema::compile(schema).map(Self::Foreign),
        }
    }

    /// Why the schema is outside the enforced subset, in walk order; empty when it is inside.
    ///
    /// Reads the schema anew on each call: it is for people who want to know, not for the road of a call.
    #[must_use]
    pub fn subset_violations(&self) -> Vec<String> {
        match self {
            Self::Subset(_) => Vec::new(),
            Self::Foreign(schema) => {
                Schema::parse(schema.source()).err().map_or_else(Vec::new, |error| error.violations().to_vec())
            }
        }
    }

    /// The schema as it was given.
    #[must_use]
    pub fn source(&self) -> &Document {
        match self {
            Self::Subset(schema) => schema.source(),
            Self::Foreign(schema) => schema.source(),
        }
    }

    /// Whether `value` satisfies the schema. Cheaper than [`Contract::violations`].
    #[must_use]
    pub fn is_valid(&self, value: ValueRef<'_>) -> bool {
        match self {
            Self::Subset(schema) => schema.is_valid(value),
            Self::Foreign(schema) => schema.is_valid(value),
        }
    }

    /// Every violation of `value`, in order; `root` is the label of the value itself and `""` the implicit argument root.
    #[must_use]
    pub fn violations(&self, value: ValueRef<'_>, root: &str) -> Vec<String> {
        match self {
            Self::Subset(schema) => schema.violations(value, root),
            Self::Foreign(schema) => schema.violations(value, root),
        }
    }
}
