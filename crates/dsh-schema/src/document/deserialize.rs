//! Documents inside of other data: reading one from any serde format.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use super::build::Builder;
use super::node::Tag;
use super::{Document, DocumentError};

impl<'de> serde::Deserialize<'de> for Document {
    /// Builds a document from whatever the format holds; what is lossy in it is an error.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut builder = Builder::new();
        Append(&mut builder).deserialize(deserializer)?;
        builder.finish().map_err(D::Error::custom)
    }
}

/// Appends one value.
struct Append<'b>(&'b mut Builder);

impl Append<'_> {
    fn done<E: serde::de::Error>(self, result: Result<(), DocumentError>) -> Result<(), E> {
        result.map_err(|error| E::custom(self.0.placed(error)))
    }
}

impl<'de> DeserializeSeed<'de> for Append<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

macro_rules! visit_integers {
    ($($method:ident: $integer:ty,)*) => {$(
        fn $method<E: serde::de::Error>(self, value: $integer) -> Result<(), E> {
            let result = self.0.integer(value);
            self.done(result)
        }
    )*};
}

impl<'de> Visitor<'de> for Append<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    visit_integers! {
        visit_i64: i64,
        visit_i128: i128,
        visit_u64: u64,
        visit_u128: u128,
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<(), E> {
        let result = self.0.bool(value);
        self.done(result)
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<(), E> {
        let result = self.0.double(value);
        self.done(result)
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<(), E> {
        let result = self.0.string(value);
        self.done(result)
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        let result = self.0.null();
        self.done(result)
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<(), E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let opened = match self.0.open(Tag::Array) {
            Ok(opened) => opened,
            Err(error) => return self.done(Err(error)),
        };
        while items.next_element_seed(Append(self.0))?.is_some() {}
        let result = self.0.close(opened);
        self.done(result)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let opened = match self.0.open(Tag::Object) {
            Ok(opened) => opened,
            Err(error) => return self.done(Err(error)),
        };
        while members.next_key_seed(AppendKey(self.0))?.is_some() {
            members.next_value_seed(Append(self.0))?;
        }
        let result = self.0.close(opened);
        self.done(result)
    }
}

/// Appends one key, which must be a string.
struct AppendKey<'b>(&'b mut Builder);

impl<'de> DeserializeSeed<'de> for AppendKey<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for AppendKey<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string key")
    }

    fn visit_str<E: serde::de::Error>(self, key: &str) -> Result<(), E> {
        self.0.key(key).map_err(E::custom)
    }
}
