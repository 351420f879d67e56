//! Serde's writing side: documents as values, and Rust values as documents.

use serde::ser::{self, Serialize, SerializeMap, SerializeSeq, Serializer};

use super::build::{Builder, Opened};
use super::node::Tag;
use super::{Document, DocumentError, Kind, MAX_DEPTH, Number, ValueRef, error};

impl Serialize for Document {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.root().serialize(serializer)
    }
}

impl Serialize for ValueRef<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.kind() {
            Kind::Null => serializer.serialize_unit(),
            Kind::Bool => serializer.serialize_bool(self.as_bool().unwrap_or_default()),
            Kind::Integer | Kind::Float => match self.as_number() {
                Some(Number::Int(value)) => serializer.serialize_i64(value),
                Some(Number::UInt(value)) => serializer.serialize_u64(value),
                Some(Number::Float(value)) => serializer.serialize_f64(value),
                None => serializer.serialize_unit(),
            },
            Kind::String => serializer.serialize_str(self.as_str().unwrap_or_default()),
            Kind::Array => {
                serializer.collect_seq(self.as_array().into_iter().flat_map(|array| array.iter()))
            }
            Kind::Object => {
                let object = self.as_object();
                let mut map = serializer.serialize_map(object.map(|object| object.len()))?;
                for (key, value) in object.into_iter().flat_map(|object| object.iter()) {
                    map.serialize_entry(key, &value)?;
                }
                map.end()
            }
        }
    }
}

pub(super) fn serialize<T: Serialize + ?Sized>(value: &T) -> Result<Document, DocumentError> {
    let mut encoder = Encoder {
        builder: Builder::new(),
        wrapped: 0,
    };
    match value.serialize(&mut encoder) {
        Ok(()) => encoder.builder.finish(),
        Err(error) => Err(encoder.builder.placed(error)),
    }
}

/// The names under which `serde_json` passes JSON text (`RawValue`) and number literals (with `arbitrary_precision`) through
/// other serialisers.
const LITERAL_STRUCTS: [&str; 2] = [
    "$serde_json::private::RawValue",
    "$serde_json::private::Number",
];

struct Encoder {
    builder: Builder,
    /// How many `Some` and newtypes are around the current value. They add no level to the JSON, but they do to the stack.
    wrapped: usize,
}

impl Encoder {
    fn wrapped<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), DocumentError> {
        if self.wrapped >= MAX_DEPTH {
            return Err(error::too_deep());
        }
        self.wrapped += 1;
        value.serialize(&mut *self)?;
        self.wrapped -= 1;
        Ok(())
    }

    fn container(&mut self, tag: Tag) -> Result<Container<'_>, DocumentError> {
        let opened = self.builder.open(tag)?;
        Ok(Container {
            encoder: self,
            outer: None,
            opened: Some(opened),
        })
    }

    /// The object of one member that stands for an enum variant with data.
    fn variant(&mut self, variant: &str) -> Result<Opened, DocumentError> {
        let outer = self.builder.open(Tag::Object)?;
        self.builder.key(variant)?;
        Ok(outer)
    }

    fn variant_container(
        &mut self,
        variant: &str,
        tag: Tag,
    ) -> Result<Container<'_>, DocumentError> {
        let outer = self.variant(variant)?;
        let opened = self.builder.open(tag)?;
        Ok(Container {
            encoder: self,
            outer: Some(outer),
            opened: Some(opened),
        })
    }
}

macro_rules! integers {
    ($($method:ident: $integer:ty,)*) => {$(
        fn $method(self, value: $integer) -> Result<(), DocumentError> {
            self.builder.integer(value)
        }
    )*};
}

impl<'e> Serializer for &'e mut Encoder {
    type Ok = ();
    type Error = DocumentError;
    type SerializeSeq = Container<'e>;
    type SerializeTuple = Container<'e>;
    type SerializeTupleStruct = Container<'e>;
    type SerializeTupleVariant = Container<'e>;
    type SerializeMap = Container<'e>;
    type SerializeStruct = Container<'e>;
    type SerializeStructVariant = Container<'e>;

    integers! {
        serialize_i8: i8,
        serialize_i16: i16,
        serialize_i32: i32,
        serialize_i64: i64,
        serialize_i128: i128,
        serialize_u8: u8,
        serialize_u16: u16,
        serialize_u32: u32,
        serialize_u64: u64,
        serialize_u128: u128,
    }

    fn serialize_bool(self, value: bool) -> Result<(), DocumentError> {
        self.builder.bool(value)
    }

    fn serialize_f32(self, value: f32) -> Result<(), DocumentError> {
        self.builder.double(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result<(), DocumentError> {
        self.builder.double(value)
    }

    fn serialize_char(self, value: char) -> Result<(), DocumentError> {
        self.builder.string(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), DocumentError> {
        self.builder.string(value)
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), DocumentError> {
        let opened = self.builder.open(Tag::Array)?;
        for byte in value {
            self.builder.integer(*byte)?;
        }
        self.builder.close(opened)
    }

    fn serialize_none(self) -> Result<(), DocumentError> {
        self.builder.null()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), DocumentError> {
        self.wrapped(value)
    }

    fn serialize_unit(self) -> Result<(), DocumentError> {
        self.builder.null()
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), DocumentError> {
        self.builder.null()
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), DocumentError> {
        self.builder.string(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), DocumentError> {
        self.wrapped(value)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), DocumentError> {
        let outer = self.variant(variant)?;
        value.serialize(&mut *self)?;
        self.builder.close(outer)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Container<'e>, DocumentError> {
        self.container(Tag::Array)
    }

    fn serialize_tuple(self, _: usize) -> Result<Container<'e>, DocumentError> {
        self.container(Tag::Array)
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Container<'e>, DocumentError> {
        self.container(Tag::Array)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Container<'e>, DocumentError> {
        self.variant_container(variant, Tag::Array)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Container<'e>, DocumentError> {
        self.container(Tag::Object)
    }

    fn serialize_struct(
        self,
        name: &'static str,
        _: usize,
    ) -> Result<Container<'e>, DocumentError> {
        if LITERAL_STRUCTS.contains(&name) {
            return Ok(Container {
                encoder: self,
                outer: None,
                opened: None,
            });
        }
        self.container(Tag::Object)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Container<'e>, DocumentError> {
        self.variant_container(variant, Tag::Object)
    }
}

/// An array or object whose parts are being written.
struct Container<'e> {
    encoder: &'e mut Encoder,
    /// The object around the data of an enum variant.
    outer: Option<Opened>,
    /// `None` for a struct that stands for a piece of JSON text.
    opened: Option<Opened>,
}

impl Container<'_> {
    fn finish(self) -> Result<(), DocumentError> {
        for opened in [self.opened, self.outer].into_iter().flatten() {
            self.encoder.builder.close(opened)?;
        }
        Ok(())
    }

    fn member<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), DocumentError> {
        if self.opened.is_none() {
            return self.literal(value);
        }
        self.encoder.builder.key(key)?;
        value.serialize(&mut *self.encoder)
    }

    /// Text that says to be JSON is checked like any other (T51).
    #[cold]
    fn literal<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), DocumentError> {
        let text = serialize(value)?;
        let document = Document::parse(text.root().as_str().unwrap_or_default())
            .map_err(DocumentError::unplaced)?;
        self.encoder.builder.splice(document.root())
    }
}

impl SerializeSeq for Container<'_> {
    type Ok = ();
    type Error = DocumentError;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), DocumentError> {
        value.serialize(&mut *self.encoder)
    }

    fn end(self) -> Result<(), DocumentError> {
        self.finish()
    }
}

impl ser::SerializeTuple for Container<'_> {
    type Ok = ();
    type Error = DocumentError;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), DocumentError> {
        value.serialize(&mut *self.encoder)
    }

    fn end(self) -> Result<(), DocumentError> {
        self.finish()
    }
}

impl ser::SerializeTupleStruct for Container<'_> {
    type Ok = ();
    type Error = DocumentError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), DocumentError> {
        value.serialize(&mut *self.encoder)
    }

    fn end(self) -> Result<(), DocumentError> {
        self.finish()
    }
}

impl ser::SerializeTupleVariant for Container<'_> {
    type Ok = ();
    type Error = DocumentError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), DocumentError> {
        value.serialize(&mut *self.encoder)
    }

    fn end(self) -> Result<(), DocumentError> {
        self.finish()
    }
}

impl SerializeMap for Container<'_> {
    type Ok = ();
    type Error = DocumentError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), DocumentError> {
        key.serialize(KeyEncoder {
            builder: &mut self.encoder.builder,
        })
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), DocumentError> {
        value.serialize(&mut *self.encoder)
    }

    fn end(self) -> Result<(), DocumentError> {
        self.finish()
    }
}

impl ser::SerializeStruct for Container<'_> {
    type Ok = ();
    type Error = DocumentError;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), DocumentError> {
        self.member(key, value)
    }

    fn end(self) -> Result<(), DocumentError> {
        self.finish()
    }
}

impl ser::SerializeStructVariant for Container<'_> {
    type Ok = ();
    type Error = DocumentError;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), DocumentError> {
        self.member(key, value)
    }

    fn end(self) -> Result<(), DocumentError> {
        self.finish()
    }
}

/// Writes map keys: strings, characters and names of variants, but nothing that would have to be spelled as a string first
/// (T47).
struct KeyEncoder<'e> {
    builder: &'e mut Builder,
}

type NoKey = ser::Impossible<(), DocumentError>;

macro_rules! no_keys {
    ($($method:ident($($argument:ty),*) -> $result:ty: $what:literal,)*) => {$(
        fn $method(self, $(_: $argument),*) -> Result<$result, DocumentError> {
            Err(error::non_string_key($what))
        }
    )*};
}

impl Serializer for KeyEncoder<'_> {
    type Ok = ();
    type Error = DocumentError;
    type SerializeSeq = NoKey;
    type SerializeTuple = NoKey;
    type SerializeTupleStruct = NoKey;
    type SerializeTupleVariant = NoKey;
    type SerializeMap = NoKey;
    type SerializeStruct = NoKey;
    type SerializeStructVariant = NoKey;

    fn serialize_str(self, key: &str) -> Result<(), DocumentError> {
        self.builder.key(key)
    }

    fn serialize_char(self, key: char) -> Result<(), DocumentError> {
        self.builder.key(key.encode_utf8(&mut [0; 4]))
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), DocumentError> {
        self.builder.key(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        key: &T,
    ) -> Result<(), DocumentError> {
        key.serialize(self)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, key: &T) -> Result<(), DocumentError> {
        key.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), DocumentError> {
        Err(error::non_string_key("an enum variant with data"))
    }

    no_keys! {
        serialize_bool(bool) -> (): "a boolean",
        serialize_i8(i8) -> (): "a number",
        serialize_i16(i16) -> (): "a number",
        serialize_i32(i32) -> (): "a number",
        serialize_i64(i64) -> (): "a number",
        serialize_i128(i128) -> (): "a number",
        serialize_u8(u8) -> (): "a number",
        serialize_u16(u16) -> (): "a number",
        serialize_u32(u32) -> (): "a number",
        serialize_u64(u64) -> (): "a number",
        serialize_u128(u128) -> (): "a number",
        serialize_f32(f32) -> (): "a number",
        serialize_f64(f64) -> (): "a number",
        serialize_bytes(&[u8]) -> (): "a byte string",
        serialize_none() -> (): "null",
        serialize_unit() -> (): "null",
        serialize_unit_struct(&'static str) -> (): "null",
        serialize_seq(Option<usize>) -> NoKey: "a list",
        serialize_tuple(usize) -> NoKey: "a tuple",
        serialize_tuple_struct(&'static str, usize) -> NoKey: "a tuple",
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> NoKey: "an enum variant with data",
        serialize_map(Option<usize>) -> NoKey: "a map",
        serialize_struct(&'static str, usize) -> NoKey: "a struct",
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> NoKey: "an enum variant with data",
    }
}
