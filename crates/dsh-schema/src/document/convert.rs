//! Conversions to and from `serde_json` values and plain Rust values.

use serde_json::Value;

use super::build::{Builder, Opened};
use super::node::Tag;
use super::{Document, DocumentError, error};

/// A container of a `serde_json` value that is being read.
enum Reading<'v> {
    Array(std::slice::Iter<'v, Value>, Opened),
    Object(serde_json::map::Iter<'v>, Opened),
}

impl Document {
    /// Converts a `serde_json` value.
    ///
    /// An integral float in the range of `i64` or `u64` becomes an integer. The value may be of any depth: reading it does
    /// not recurse.
    ///
    /// # Errors
    ///
    /// When the value is deeper than [`MAX_DEPTH`](crate::MAX_DEPTH) or contains a negative zero; the error has the path.
    pub fn from_value(value: &Value) -> Result<Self, DocumentError> {
        let mut builder = Builder::new();
        match read(&mut builder, value) {
            Ok(()) => builder.finish(),
            Err(error) => Err(builder.placed(error)),
        }
    }

    /// Converts a `serde_json` value and disposes of it.
    ///
    /// Dropping a `serde_json::Value` recurses, so one that is too deep overflows the stack; this takes it apart instead
    /// (T49).
    ///
    /// # Errors
    ///
    /// As [`from_value`](Self::from_value).
    pub fn from_owned_value(value: Value) -> Result<Self, DocumentError> {
        let result = Self::from_value(&value);
        if result.is_err() {
            let mut pending = vec![value];
            while let Some(value) = pending.pop() {
                match value {
                    Value::Array(items) => pending.extend(items),
                    Value::Object(members) => {
                        pending.extend(members.into_iter().map(|(_, value)| value))
                    }
                    _ => {}
                }
            }
        }
        result
    }
}

fn read(builder: &mut Builder, value: &Value) -> Result<(), DocumentError> {
    let mut reading = Vec::new();
    read_one(builder, value, &mut reading)?;
    while let Some(container) = reading.last_mut() {
        let next = match container {
            Reading::Array(items, opened) => match items.next() {
                Some(item) => Ok(item),
                None => Err(*opened),
            },
            Reading::Object(members, opened) => match members.next() {
                Some((key, member)) => {
                    builder.key(key)?;
                    Ok(member)
                }
                None => Err(*opened),
            },
        };
        match next {
            Ok(value) => read_one(builder, value, &mut reading)?,
            Err(opened) => {
                builder.close(opened)?;
                reading.pop();
            }
        }
    }
    Ok(())
}

fn read_one<'v>(
    builder: &mut Builder,
    value: &'v Value,
    reading: &mut Vec<Reading<'v>>,
) -> Result<(), DocumentError> {
    match value {
        Value::Null => builder.null(),
        Value::Bool(value) => builder.bool(*value),
        Value::Number(number) => {
            if let Some(value) = number.as_i64() {
                builder.integer(value)
            } else if let Some(value) = number.as_u64() {
                builder.integer(value)
            } else if let Some(value) = number.as_f64() {
                builder.double(value)
            } else {
                Err(error::number_overflow(&number.to_string()))
            }
        }
        Value::String(value) => builder.string(value),
        Value::Array(items) => {
            let opened = builder.open(Tag::Array)?;
            reading.push(Reading::Array(items.iter(), opened));
            Ok(())
        }
        Value::Object(members) => {
            let opened = builder.open(Tag::Object)?;
            reading.push(Reading::Object(members.iter(), opened));
            Ok(())
        }
    }
}

impl TryFrom<Value> for Document {
    type Error = DocumentError;

    fn try_from(value: Value) -> Result<Self, DocumentError> {
        Self::from_owned_value(value)
    }
}

impl TryFrom<&Value> for Document {
    type Error = DocumentError;

    fn try_from(value: &Value) -> Result<Self, DocumentError> {
        Self::from_value(value)
    }
}

impl From<&Document> for Value {
    fn from(document: &Document) -> Self {
        document.to_value()
    }
}

impl From<Document> for Value {
    fn from(document: Document) -> Self {
        document.to_value()
    }
}

impl From<&str> for Document {
    /// A document that is one string (not JSON text: see [`Document::parse`]).
    fn from(value: &str) -> Self {
        Self::string(value)
    }
}

impl From<String> for Document {
    /// A document that is one string (not JSON text: see [`Document::parse`]).
    fn from(value: String) -> Self {
        Self::string(value)
    }
}

impl From<bool> for Document {
    fn from(value: bool) -> Self {
        Self::scalar(|builder| builder.bool(value))
    }
}

macro_rules! from_integers {
    ($($integer:ty)*) => {$(
        impl From<$integer> for Document {
            fn from(value: $integer) -> Self {
                Self::scalar(|builder| builder.integer(value))
            }
        }
    )*};
}

from_integers!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize);

impl TryFrom<f64> for Document {
    type Error = DocumentError;

    fn try_from(value: f64) -> Result<Self, DocumentError> {
        let mut builder = Builder::new();
        builder.double(value)?;
        builder.finish()
    }
}

impl Document {
    /// A document of one scalar that breaks no rule.
    pub(super) fn scalar(build: impl FnOnce(&mut Builder) -> Result<(), DocumentError>) -> Self {
        let mut builder = Builder::new();
        match build(&mut builder) {
            Ok(()) => builder.finish().unwrap_or_default(),
            // Scalars fail only when they are longer than 4 GiB.
            Err(_) => Self::null(),
        }
    }
}
