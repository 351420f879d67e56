//! Why a schema is refused.

/// A schema that cannot be enforced, with every reason in walk order (T379).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError {
    violations: Vec<String>,
}

impl SchemaError {
    /// The class name that failures carry on the wire.
    pub const NAME: &'static str = "JsonSchemaError";
    /// The stable machine code.
    pub const CODE: &'static str = "UNSUPPORTED_SCHEMA";

    /// Makes an error of one or more violations.
    #[must_use]
    pub fn new(violations: Vec<String>) -> Self {
        debug_assert!(
            !violations.is_empty(),
            "a schema error names at least one violation"
        );
        Self { violations }
    }

    /// The stable machine code, `UNSUPPORTED_SCHEMA`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        Self::CODE
    }

    /// Every violation, in walk order.
    #[must_use]
    pub fn violations(&self) -> &[String] {
        &self.violations
    }
}

impl std::fmt::Display for SchemaError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("unsupported JSON schema: ")?;
        for (index, violation) in self.violations.iter().enumerate() {
            if index > 0 {
                f.write_str("; ")?;
            }
            f.write_str(violation)?;
        }
        Ok(())
    }
}

impl std::error::Error for SchemaError {}
