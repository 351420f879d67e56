//! The model-facing projection of a tool.

use std::fmt;
use std::sync::{Arc, OnceLock};

use dsh_schema::Document;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

/// What a model may be told of a tool: name, description, parameters, and nothing else (T1).
///
/// Shared and immutable, so a projection is handed out without copying and nobody can change what others see (T88).
#[derive(Clone)]
pub struct ToolSchema(Arc<Inner>);

struct Inner {
    name: Arc<str>,
    description: Arc<str>,
    parameters: Document,
    json: OnceLock<Box<str>>,
}

impl ToolSchema {
    pub(crate) fn new(name: Arc<str>, description: Arc<str>, parameters: Document) -> Self {
        Self(Arc::new(Inner {
            name,
            description,
            parameters,
            json: OnceLock::new(),
        }))
    }

    /// The tool's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    pub(crate) fn shared_name(&self) -> Arc<str> {
        self.0.name.clone()
    }

    /// What the tool is for.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.0.description
    }

    /// The JSON Schema of the arguments.
    #[must_use]
    pub fn parameters(&self) -> &Document {
        &self.0.parameters
    }

    /// The three fields as compact JSON, made once.
    #[must_use]
    pub fn to_json(&self) -> &str {
        self.0.json.get_or_init(|| {
            let mut out = String::with_capacity(
                64 + self.0.description.len() + self.0.parameters.text().len(),
            );
            out.push_str("{\"name\":");
            Document::string(&*self.0.name).root().write_json(&mut out);
            out.push_str(",\"description\":");
            Document::string(&*self.0.description)
                .root()
                .write_json(&mut out);
            out.push_str(",\"parameters\":");
            self.0.parameters.root().write_json(&mut out);
            out.push('}');
            out.into_boxed_str()
        })
    }
}

impl Serialize for ToolSchema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("ToolSchema", 3)?;
        fields.serialize_field("name", self.name())?;
        fields.serialize_field("description", self.description())?;
        fields.serialize_field("parameters", self.parameters())?;
        fields.end()
    }
}

impl PartialEq for ToolSchema {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.to_json() == other.to_json()
    }
}

impl fmt::Debug for ToolSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_json())
    }
}
