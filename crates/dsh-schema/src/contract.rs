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
            Self::Foreign(schema) => Schema::parse(schema.source())
                .err()
                .map_or_else(Vec::new, |error| error.violations().to_vec()),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn compile(schema: &str) -> Result<Contract, SchemaError> {
        Contract::compile(&Document::parse(schema).expect("a document"))
    }

    #[test]
    fn a_schema_within_the_subset_has_no_reason_to_be_foreign() {
        let contract = compile(r#"{"type":"string"}"#).expect("a contract");
        assert!(matches!(contract, Contract::Subset(_)));
        assert!(contract.subset_violations().is_empty());
    }

    #[test]
    fn a_foreign_schema_tells_why_it_is_outside_the_subset() {
        let contract = compile(r#"{"type":"string","minLength":1}"#).expect("a contract");
        assert!(matches!(contract, Contract::Foreign(_)));
        let violations = contract.subset_violations();
        assert!(
            violations[0].starts_with("schema.minLength is not a supported keyword"),
            "{violations:?}"
        );
    }

    #[test]
    fn a_refusal_names_the_word_that_nobody_enforces() {
        let error =
            compile(r#"{"type":"dict","properties":{"a":{"type":"float"}}}"#).expect_err("refused");
        assert!(error.to_string().contains("\"dict\""), "{error}");
    }
}
