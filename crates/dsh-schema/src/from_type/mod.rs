//! Contracts of Rust types.
//!
//! The schema of a type is what `schemars` derives, folded (D40): integer widths, number formats and the `null` of
//! optional arguments are left out and enforced on decoding; unit enums become one `enum`; `serde_json::Value` and
//! [`Document`] become the unconstrained schema. What then lies outside the enforced subset makes a foreign contract.
//! A struct without `deny_unknown_fields` stays open. Field order, doc comments and defaults are kept.
//!
//! In an enum of which only some variants have doc comments, the variants without come first: derived schemas do not
//! tell the order of declaration.

mod absent;
mod decode;
mod fold;

use std::borrow::Cow;
use std::sync::Arc;

use schemars::JsonSchema;
use schemars::generate::{Contract as Direction, SchemaSettings};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::{Contract, Document, SchemaError, ValueRef};
use absent::AbsentNulls;
use fold::Side;

/// The contract of a type used as arguments: its deserialise side.
///
/// [`ArgumentsContract`] also takes a present `null` of an optional argument as absent, and decodes.
///
/// # Errors
///
/// The type is no object, or a part of it cannot be enforced; every such part is named.
pub fn arguments_of<T: JsonSchema + ?Sized>() -> Result<Contract, SchemaError> {
    compile(&arguments_schema::<T>()?)
}

/// The contract of a type used as output: its serialise side.
///
/// # Errors
///
/// A part of the type cannot be enforced; every such part is named.
pub fn output_of<T: JsonSchema + ?Sized>() -> Result<Contract, SchemaError> {
    compile(&folded::<T>(Side::Output)?)
}

/// The contract of a type used as arguments, together with what its schema leaves to decoding.
///
/// # Examples
///
/// ```
/// use dsh_schema::{ArgumentsContract, Document};
///
/// #[derive(schemars::JsonSchema, serde::Deserialize)]
/// struct Read {
///     file_path: String,
///     lines: Option<u8>,
/// }
///
/// let contract = ArgumentsContract::of::<Read>()?;
/// let arguments = Document::parse(r#"{"file_path":"a","lines":null}"#)?;
/// assert!(contract.is_valid(arguments.root()));
/// assert_eq!(contract.decode::<Read>(arguments.root()).unwrap().lines, None);
///
/// let arguments = Document::parse(r#"{"file_path":"a","lines":300}"#)?;
/// let violations = contract.decode::<Read>(arguments.root()).err().unwrap();
/// assert_eq!(violations, [r#""lines" must be an integer between 0 and 255"#]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ArgumentsContract {
    contract: Contract,
    absent: Option<Arc<AbsentNulls>>,
}

impl ArgumentsContract {
    /// The contract of `T`.
    ///
    /// # Errors
    ///
    /// As [`arguments_of`].
    pub fn of<T: JsonSchema + ?Sized>() -> Result<Self, SchemaError> {
        let schema = arguments_schema::<T>()?;
        let contract = compile(&schema)?;
        Ok(Self {
            contract,
            absent: AbsentNulls::of(&schema).map(Arc::new),
        })
    }

    /// What the schema alone asks for.
    #[must_use]
    pub fn contract(&self) -> &Contract {
        &self.contract
    }

    /// Whether `arguments` satisfy the schema, `null` for an optional argument counting as absent.
    #[must_use]
    pub fn is_valid(&self, arguments: ValueRef<'_>) -> bool {
        // The schema refuses a `null` that counts as absent, so that only a refusal has to look for one.
        self.contract.is_valid(arguments)
            || self
                .without_absent(arguments)
                .is_some_and(|rest| self.contract.is_valid(rest.root()))
    }

    /// Every violation of `arguments` against the schema, in order.
    #[must_use]
    pub fn violations(&self, arguments: ValueRef<'_>) -> Vec<String> {
        match self.without_absent(arguments) {
            Some(rest) => self.contract.violations(rest.root(), ""),
            None => self.contract.violations(arguments, ""),
        }
    }

    /// Decodes arguments that satisfy the schema.
    ///
    /// # Errors
    ///
    /// The violation that decoding stopped at: an integer too wide for its field, or whatever else the schema does
    /// not say. Arguments that do not satisfy the schema may decode or fail here; check them first.
    pub fn decode<T: DeserializeOwned>(&self, arguments: ValueRef<'_>) -> Result<T, Vec<String>> {
        let error = match arguments.decode() {
            Ok(decoded) => return Ok(decoded),
            Err(error) => error,
        };
        match self
            .without_absent(arguments)
            .map(|rest| rest.root().decode())
        {
            Some(Ok(decoded)) => Ok(decoded),
            Some(Err(error)) => Err(vec![decode::violation(&error)]),
            None => Err(vec![decode::violation(&error)]),
        }
    }

    fn without_absent(&self, arguments: ValueRef<'_>) -> Option<Document> {
        self.absent.as_ref()?.dropped(arguments)
    }
}

fn arguments_schema<T: JsonSchema + ?Sized>() -> Result<Value, SchemaError> {
    let mut schema = folded::<T>(Side::Arguments)?;
    if let Value::Object(root) = &mut schema {
        match root.get("type") {
            Some(word) if word == "object" => {
                let members = ["properties", "additionalProperties", "patternProperties"];
                if !members.iter().any(|keyword| root.contains_key(*keyword)) {
                    root.insert("properties".to_owned(), Value::Object(Map::new()));
                }
            }
            Some(word) => {
                return Err(SchemaError::new(vec![format!(
                    "schema.type must be \"object\": arguments have names, but `{}` is of type {word}",
                    T::schema_name()
                )]));
            }
            // Any JSON at all, of which arguments are the objects.
            None if !["oneOf", "anyOf", "allOf", "$ref"]
                .iter()
                .any(|key| root.contains_key(*key)) =>
            {
                let annotations = std::mem::take(root);
                root.insert("type".to_owned(), json!("object"));
                root.extend(annotations);
                root.insert("properties".to_owned(), Value::Object(Map::new()));
            }
            None => {}
        }
    }
    Ok(schema)
}

fn folded<T: JsonSchema + ?Sized>(side: Side) -> Result<Value, SchemaError> {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    settings.contract = match side {
        Side::Arguments => Direction::Deserialize,
        Side::Output => Direction::Serialize,
    };
    let mut schema = Value::from(settings.into_generator().into_root_schema_for::<T>());
    if let Value::Object(root) = &mut schema {
        // The name of a Rust type tells a model nothing; a title of the author's own stays.
        if root
            .get("title")
            .is_some_and(|title| *title == *T::schema_name())
        {
            root.shift_remove("title");
        }
    }
    fold::fold(&mut schema, side).map_err(SchemaError::new)?;
    Ok(schema)
}

fn compile(schema: &Value) -> Result<Contract, SchemaError> {
    match Document::from_value(schema) {
        Ok(document) => Contract::compile(&document),
        Err(error) => Err(SchemaError::new(vec![format!(
            "schema is not a lossless document: {error}"
        )])),
    }
}

/// Any JSON value.
impl JsonSchema for Document {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "AnyValue".into()
    }

    fn schema_id() -> Cow<'static, str> {
        "dsh_schema::Document".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::Schema::from(true)
    }
}
