//! The typed builders.

use std::marker::PhantomData;

use serde::Serialize;

use crate::{Document, Scalar};

use super::ValueSpec;
use super::node::{Kind, NOT_LOSSLESS, Node, Properties, quoted};

/// A specification whose kind is known at compile time.
#[derive(Clone, Debug)]
#[must_use = "a specification does nothing until it is compiled"]
pub struct Typed<K> {
    node: Node,
    kind: PhantomData<K>,
}

/// The kinds that [`Typed`] is for.
mod kind {
    #[derive(Clone, Debug)]
    pub enum Text {}
    #[derive(Clone, Debug)]
    pub enum Number {}
    #[derive(Clone, Debug)]
    pub enum Integer {}
    #[derive(Clone, Debug)]
    pub enum Boolean {}
    #[derive(Clone, Debug)]
    pub enum Null {}
    #[derive(Clone, Debug)]
    pub enum Array {}
    #[derive(Clone, Debug)]
    pub enum Object {}
    #[derive(Clone, Debug)]
    pub enum Json {}
    #[derive(Clone, Debug)]
    pub enum OneOf {}
}

/// A string.
pub type StringSpec = Typed<kind::Text>;
/// A number.
pub type NumberSpec = Typed<kind::Number>;
/// An integer.
pub type IntegerSpec = Typed<kind::Integer>;
/// A boolean.
pub type BooleanSpec = Typed<kind::Boolean>;
/// Null.
pub type NullSpec = Typed<kind::Null>;
/// An array.
pub type ArraySpec = Typed<kind::Array>;
/// An object that said whether it is open.
pub type ObjectSpec = Typed<kind::Object>;
/// Any JSON value.
pub type JsonSpec = Typed<kind::Json>;
/// Exactly one of several.
pub type OneOfSpec = Typed<kind::OneOf>;

/// A string.
pub fn string() -> StringSpec {
    scalar(Scalar::String)
}

/// A number, integers included.
pub fn number() -> NumberSpec {
    scalar(Scalar::Number)
}

/// A number without a fraction, however it is spelled.
pub fn integer() -> IntegerSpec {
    scalar(Scalar::Integer)
}

/// A boolean.
pub fn boolean() -> BooleanSpec {
    scalar(Scalar::Boolean)
}

/// Null.
pub fn null() -> NullSpec {
    scalar(Scalar::Null)
}

/// Any JSON value.
pub fn json() -> JsonSpec {
    Typed::new(Kind::Json)
}

/// An array whose elements are all as `items` says.
pub fn array(items: impl Into<ValueSpec>) -> ArraySpec {
    Typed::new(Kind::Array {
        items: Some(items.into().node.to_json()),
    })
}

/// An array of any JSON values.
pub fn any_array() -> ArraySpec {
    Typed::new(Kind::Array { items: None })
}

/// An object; say next whether it is [open](UndecidedObject::open) or [closed](UndecidedObject::closed).
pub fn object() -> UndecidedObject {
    UndecidedObject { _private: () }
}

/// A value that exactly one of the branches accepts. Fewer than two branches do not compile.
pub fn one_of<const N: usize>(branches: [ValueSpec; N]) -> OneOfSpec {
    const { assert!(N >= 2, "a one-of has at least two branches") }
    Typed::new(Kind::OneOf {
        branches: branches
            .iter()
            .map(|branch| branch.node.to_json())
            .collect(),
    })
}

/// An object that did not say yet whether undeclared properties are allowed. Not a value until it does (T326).
#[derive(Clone, Debug)]
#[must_use = "say `open()` or `closed()`"]
pub struct UndecidedObject {
    _private: (),
}

impl UndecidedObject {
    /// Allows undeclared properties.
    pub fn open(self) -> ObjectSpec {
        Typed::new(Kind::Object {
            open: true,
            properties: None,
        })
    }

    /// Refuses undeclared properties.
    pub fn closed(self) -> ObjectSpec {
        Typed::new(Kind::Object {
            open: false,
            properties: None,
        })
    }
}

impl<K> Typed<K> {
    fn new(kind: Kind) -> Self {
        Self {
            node: Node::new(kind),
            kind: PhantomData,
        }
    }

    /// Says what the value is for.
    pub fn description(self, text: &str) -> Self {
        self.annotated(0, quoted(text))
    }

    /// Names the value.
    pub fn title(self, text: &str) -> Self {
        self.annotated(1, quoted(text))
    }

    /// Says what is assumed when the value is absent. An annotation: nothing fills it in (T345).
    ///
    /// A value that is not lossless JSON is refused when the specification is compiled.
    pub fn default(self, value: impl Serialize) -> Self {
        self.annotated(2, json_text(&value))
    }

    /// Gives examples, usually as a list.
    ///
    /// A value that is not lossless JSON is refused when the specification is compiled.
    pub fn examples(self, values: impl Serialize) -> Self {
        self.annotated(3, json_text(&values))
    }

    fn annotated(mut self, annotation: usize, json: String) -> Self {
        self.node.annotations[annotation] = Some(json);
        self
    }

    fn listing<const N: usize>(mut self, literals: [String; N]) -> Self {
        const { assert!(N >= 1, "a list of values is not empty") }
        if let Kind::Scalar { values, .. } = &mut self.node.kind {
            *values = Some(format!("[{}]", literals.join(",")));
        }
        self
    }

    fn fixed(mut self, literal: String) -> Self {
        if let Kind::Scalar { constant, .. } = &mut self.node.kind {
            *constant = Some(literal);
        }
        self
    }
}

impl StringSpec {
    /// Allows these values only (`enum`). An empty list does not compile.
    pub fn one_of_values<T: AsRef<str>, const N: usize>(self, values: [T; N]) -> Self {
        self.listing(values.map(|value| quoted(value.as_ref())))
    }

    /// Allows this value only (`const`).
    pub fn constant(self, value: &str) -> Self {
        self.fixed(quoted(value))
    }
}

impl NumberSpec {
    /// Allows these values only (`enum`). An empty list does not compile.
    ///
    /// NaN, infinities and negative zero are refused when the specification is compiled.
    pub fn one_of_values<T: Into<f64>, const N: usize>(self, values: [T; N]) -> Self {
        self.listing(values.map(|value| json_text(&value.into())))
    }

    /// Allows this value only (`const`); see [`NumberSpec::one_of_values`] for what is refused.
    pub fn constant(self, value: impl Into<f64>) -> Self {
        self.fixed(json_text(&value.into()))
    }
}

impl IntegerSpec {
    /// Allows these values only (`enum`). An empty list does not compile.
    ///
    /// A value outside `i64` and `u64` is refused when the specification is compiled.
    pub fn one_of_values<T: Into<i128>, const N: usize>(self, values: [T; N]) -> Self {
        self.listing(values.map(|value| value.into().to_string()))
    }

    /// Allows this value only (`const`); see [`IntegerSpec::one_of_values`] for what is refused.
    pub fn constant(self, value: impl Into<i128>) -> Self {
        self.fixed(value.into().to_string())
    }
}

impl BooleanSpec {
    /// Allows these values only (`enum`). An empty list does not compile.
    pub fn one_of_values<const N: usize>(self, values: [bool; N]) -> Self {
        self.listing(values.map(|value| value.to_string()))
    }

    /// Allows this value only (`const`).
    pub fn constant(self, value: bool) -> Self {
        self.fixed(value.to_string())
    }
}

impl ObjectSpec {
    /// Declares a property that must be there.
    pub fn required(self, name: &str, value: impl Into<ValueSpec>) -> Self {
        self.property(name, &value.into().node, true)
    }

    /// Declares a property that may be left out.
    pub fn optional(self, name: &str, value: impl Into<ValueSpec>) -> Self {
        self.property(name, &value.into().node, false)
    }

    fn property(mut self, name: &str, value: &Node, required: bool) -> Self {
        if let Kind::Object { properties, .. } = &mut self.node.kind {
            properties
                .get_or_insert_with(Properties::default)
                .push(name, value, required);
        }
        self
    }
}

impl<K> From<Typed<K>> for ValueSpec {
    fn from(typed: Typed<K>) -> Self {
        Self { node: typed.node }
    }
}

impl<K> Typed<K> {
    /// Compiles the specification.
    ///
    /// # Errors
    ///
    /// As [`ValueSpec::compile`].
    pub fn compile(self) -> Result<crate::Schema, crate::SchemaError> {
        ValueSpec::from(self).compile()
    }
}

fn scalar<K>(scalar: Scalar) -> Typed<K> {
    Typed::new(Kind::Scalar {
        scalar,
        values: None,
        constant: None,
    })
}

/// Any value as JSON text, or the text that is refused where it stands.
fn json_text<T: Serialize>(value: &T) -> String {
    Document::from_serialize(value)
        .map_or_else(|_| NOT_LOSSLESS.to_owned(), |document| document.to_json())
}
