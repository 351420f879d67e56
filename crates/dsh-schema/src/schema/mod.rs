//! The enforced subset of JSON Schema.
//!
//! Its rule is that a keyword nobody enforces is refused, never ignored (T369, T370). A schema is read once into a flat
//! list of typed nodes; from then on an unknown type or a malformed keyword cannot exist, and the validators are total.
//!
//! - `parse` reads schemas and lists every reason to refuse one;
//! - `verdict` answers yes or no without allocating;
//! - `violations` says what is wrong, once the verdict was no;
//! - `tree` is the list of nodes and the read-only walk over it;
//! - `view` lets the three walks above read a [`Document`] and a `serde_json::Value` alike.

mod allowed;
mod literal;
mod parse;
mod place;
mod tree;
mod verdict;
mod view;
mod violations;

use std::fmt;
use std::sync::Arc;

pub(crate) use place::{Place, Places, Step};

pub use literal::{Literal, LiteralValue};
pub use tree::{BranchesShape, NodeRef, ObjectShape, PropertyRef, Scalar, ScalarShape, Shape};

use crate::{Document, SchemaError, ValueRef};

/// A schema of the enforced subset, compiled.
///
/// Cheap to clone. The document that it was read from is kept, because it is what goes to a model, byte for byte.
///
/// # Examples
///
/// ```
/// use dsh_schema::{Document, Schema};
///
/// let schema = Document::parse(r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#)?;
/// let schema = Schema::parse(&schema)?;
/// let value = Document::parse(r#"{"n":1.5}"#)?;
/// assert!(!schema.is_valid(value.root()));
/// assert_eq!(schema.violations(value.root(), ""), [r#""n" must be an integer"#]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Schema {
    compiled: Arc<Compiled>,
}

struct Compiled {
    tree: tree::Tree,
    source: Document,
}

impl Schema {
    /// Reads a schema; any node may be the root (T372).
    ///
    /// # Errors
    ///
    /// Every reason why the schema is not in the subset, in walk order (T380, T381).
    pub fn parse(schema: &Document) -> Result<Self, SchemaError> {
        let tree = parse::parse(schema.root()).map_err(SchemaError::new)?;
        Ok(Self {
            compiled: Arc::new(Compiled {
                tree,
                source: schema.clone(),
            }),
        })
    }

    /// Reads a schema whose root must be `type: "object"`, as structured output demands (T384).
    ///
    /// # Errors
    ///
    /// As [`Schema::parse`]; and, when that finds nothing, the root that is not an object.
    pub fn parse_object(schema: &Document) -> Result<Self, SchemaError> {
        Self::parse(schema).and_then(Self::object_rooted)
    }

    /// Reads a schema from a `serde_json` value, which can hold what a [`Document`] cannot: negative zero, and nesting
    /// without a limit.
    ///
    /// # Errors
    ///
    /// As [`Schema::parse`]. A value that is in the subset but still not lossless is refused with the reason.
    pub fn parse_value(schema: &serde_json::Value) -> Result<Self, SchemaError> {
        match Document::from_value(schema) {
            Ok(document) => Self::parse(&document),
            Err(error) => {
                Err(SchemaError::new(parse::parse(schema).err().unwrap_or_else(
                    || vec![format!("schema is not lossless JSON: {error}")],
                )))
            }
        }
    }

    /// As [`Schema::parse_value`], and the root must be `type: "object"`.
    ///
    /// # Errors
    ///
    /// As [`Schema::parse_object`].
    pub fn parse_object_value(schema: &serde_json::Value) -> Result<Self, SchemaError> {
        Self::parse_value(schema).and_then(Self::object_rooted)
    }

    fn object_rooted(self) -> Result<Self, SchemaError> {
        if matches!(self.root().shape(), Shape::Object(_)) {
            return Ok(self);
        }
        Err(SchemaError::new(vec![
            "schema.type must be \"object\" (structured output is object-rooted)".to_owned(),
        ]))
    }

    /// The schema as it was given.
    #[must_use]
    pub fn source(&self) -> &Document {
        &self.compiled.source
    }

    /// The root node, where a walk over the compiled schema starts.
    #[must_use]
    pub fn root(&self) -> NodeRef<'_> {
        self.compiled.tree.root()
    }

    /// Whether `value` satisfies the schema. Allocates nothing.
    ///
    /// Follows the schema, so the stack that it needs is bounded by [`MAX_DEPTH`](crate::MAX_DEPTH) levels.
    #[must_use]
    pub fn is_valid(&self, value: ValueRef<'_>) -> bool {
        verdict::accepts(&self.compiled.tree, value)
    }

    /// Every violation of `value`, in order (T354, T356); empty exactly when [`Schema::is_valid`].
    ///
    /// `root` is the label of the value itself. With the empty label, properties of the root go by their bare names and
    /// the root itself is called `arguments` (T353).
    #[must_use]
    pub fn violations(&self, value: ValueRef<'_>, root: &str) -> Vec<String> {
        violations::list(&self.compiled.tree, value, root)
    }

    /// Whether a `serde_json` value satisfies the schema and is lossless JSON wherever the schema lets it through.
    #[must_use]
    pub fn is_valid_value(&self, value: &serde_json::Value) -> bool {
        verdict::accepts(&self.compiled.tree, value)
    }

    /// As [`Schema::violations`], for a `serde_json` value: what is not lossless JSON in it is a violation too.
    #[must_use]
    pub fn violations_of_value(&self, value: &serde_json::Value, root: &str) -> Vec<String> {
        violations::list(&self.compiled.tree, value, root)
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Schema")
            .field(&format_args!("{}", self.source().text()))
            .finish()
    }
}
