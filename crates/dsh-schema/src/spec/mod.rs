//! The author's DSL for arguments and outputs.
//!
//! One vocabulary in two forms. The typed builders of this module make most authoring errors impossible: an object has no
//! properties before it said whether it is closed, an enum of strings takes strings, a one-of has at least two branches.
//! The JSON form ([`ValueSpec::from_json`], [`ParameterSpec::from_json`]) is for specifications that arrive at run time
//! and reports those errors by name (T337, T338).
//!
//! Both compile to the same bytes: the order of keys in a compiled node is fixed (T333), so equal specifications are
//! equal texts for a model.
//!
//! # Examples
//!
//! ```
//! use dsh_schema::spec::{self, ParameterSpec};
//!
//! let parameters = ParameterSpec::new()
//!     .required("city", spec::string().description("where to look"))
//!     .optional("unit", spec::string().one_of_values(["c", "f"]))
//!     .optional("at", spec::object().closed().required("lat", spec::number()).required("lon", spec::number()));
//! let schema = parameters.compile()?;
//! assert!(schema.source().text().starts_with(r#"{"type":"object","properties":{"city":{"type":"string","#));
//! # Ok::<(), dsh_schema::SchemaError>(())
//! ```
//!
//! ```compile_fail
//! // An object has to say whether it is open.
//! dsh_schema::spec::object().required("a", dsh_schema::spec::json());
//! ```
//!
//! ```compile_fail
//! // A one-of has at least two branches.
//! dsh_schema::spec::one_of([dsh_schema::spec::string().into()]);
//! ```
//!
//! ```compile_fail
//! // The values of a string are strings.
//! dsh_schema::spec::string().one_of_values([1, 2]);
//! ```

mod author;
mod builder;
mod node;

pub use builder::{
    ArraySpec, BooleanSpec, IntegerSpec, JsonSpec, NullSpec, NumberSpec, ObjectSpec, OneOfSpec,
    StringSpec, Typed, UndecidedObject, any_array, array, boolean, integer, json, null, number,
    object, one_of, string,
};

use crate::{Document, Schema, SchemaError};

use node::{Node, Properties};

/// The specification of one value.
///
/// Made by the functions of [this module](self), or from JSON.
#[derive(Clone, Debug)]
pub struct ValueSpec {
    node: Node,
}

impl ValueSpec {
    /// Reads the JSON form; paths in errors start with `schema`.
    ///
    /// # Errors
    ///
    /// The first authoring error (T338). What the JSON form leaves to the subset, such as the type of an enum's values,
    /// is reported by [`ValueSpec::compile`].
    pub fn from_json(spec: &Document) -> Result<Self, SchemaError> {
        let node =
            author::value(spec.root()).map_err(|violation| SchemaError::new(vec![violation]))?;
        Ok(Self { node })
    }

    /// Compiles the specification.
    ///
    /// # Errors
    ///
    /// Every violation of the enforced subset, in walk order.
    pub fn compile(&self) -> Result<Schema, SchemaError> {
        compile(self.node.to_json())
    }
}

/// The specification of named values: an implicitly open object, as the arguments of a tool are (T327).
#[derive(Clone, Debug, Default)]
pub struct ParameterSpec {
    properties: Properties,
}

impl ParameterSpec {
    /// No parameters.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a parameter that must be given.
    #[must_use]
    pub fn required(mut self, name: &str, value: impl Into<ValueSpec>) -> Self {
        self.properties.push(name, &value.into().node, true);
        self
    }

    /// Adds a parameter that may be left out.
    #[must_use]
    pub fn optional(mut self, name: &str, value: impl Into<ValueSpec>) -> Self {
        self.properties.push(name, &value.into().node, false);
        self
    }

    /// Reads the JSON form, a map from name to value with `required: true` beside the value's own keys; paths in errors
    /// start with `parameters`.
    ///
    /// # Errors
    ///
    /// As [`ValueSpec::from_json`].
    pub fn from_json(spec: &Document) -> Result<Self, SchemaError> {
        let properties = author::parameters(spec.root())
            .map_err(|violation| SchemaError::new(vec![violation]))?;
        Ok(Self { properties })
    }

    /// Compiles the specification.
    ///
    /// # Errors
    ///
    /// Every violation of the enforced subset, in walk order; their paths start with `schema`, as the compiled schema is
    /// what is checked.
    pub fn compile(&self) -> Result<Schema, SchemaError> {
        let mut text = String::from("{\"type\":\"object\"");
        self.properties.write(&mut text);
        text.push('}');
        compile(text)
    }
}

fn compile(text: String) -> Result<Schema, SchemaError> {
    match Document::parse(text.as_str()) {
        Ok(document) => Schema::parse(&document),
        // The builders write a literal that is not lossless as `-0`, which names its place here.
        Err(error) => {
            match serde_json::from_str(&text).map(|schema| Schema::parse_value(&schema)) {
                Ok(Err(refused)) => Err(refused),
                _ => Err(SchemaError::new(vec![format!(
                    "schema is not lossless JSON: {error}"
                )])),
            }
        }
    }
}
