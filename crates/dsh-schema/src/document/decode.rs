//! Serde's reading side: Rust types straight from nodes.

use serde::Deserializer;
use serde::de::value::BorrowedStrDeserializer;
use serde::de::{
    self, DeserializeSeed, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};

use super::node::{Tag, after};
use super::tree::{push_index, push_key};
use super::value::{Items, Members};
use super::{Document, DocumentError, Kind, Number, ValueRef};

impl<'de> ValueRef<'de> {
    /// Adds this value's path to an error that has none yet.
    ///
    /// Errors pass the innermost value first, so the path is that of the part at fault.
    #[inline]
    fn place<T>(self, result: Result<T, DocumentError>) -> Result<T, DocumentError> {
        result.map_err(|error| error.at_path(|| path_of(self)))
    }

    #[cold]
    fn invalid_type<T>(self, visitor: &impl Visitor<'de>) -> Result<T, DocumentError> {
        let unexpected = match self.kind() {
            Kind::Null => Unexpected::Other("null"),
            Kind::Bool => Unexpected::Bool(self.as_bool().unwrap_or_default()),
            Kind::Integer | Kind::Float => match self.as_number() {
                Some(Number::Int(value)) => Unexpected::Signed(value),
                Some(Number::UInt(value)) => Unexpected::Unsigned(value),
                number => Unexpected::Float(number.map_or(0.0, Number::as_f64)),
            },
            Kind::String => Unexpected::Str(self.as_str().unwrap_or_default()),
            Kind::Array => Unexpected::Seq,
            Kind::Object => Unexpected::Map,
        };
        self.place(Err(de::Error::invalid_type(unexpected, visitor)))
    }

    #[inline]
    fn visit_number<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DocumentError> {
        let result = match self.as_number() {
            Some(Number::Int(value)) => match u64::try_from(value) {
                // As other formats do, since hand-written visitors may know unsigned integers only.
                Ok(value) => visitor.visit_u64(value),
                Err(_) => visitor.visit_i64(value),
            },
            Some(Number::UInt(value)) => visitor.visit_u64(value),
            Some(Number::Float(value)) => visitor.visit_f64(value),
            None => return self.invalid_type(&visitor),
        };
        self.place(result)
    }

    #[inline]
    fn visit_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DocumentError> {
        match self.as_str() {
            Some(value) => self.place(visitor.visit_borrowed_str(value)),
            None => self.invalid_type(&visitor),
        }
    }

    #[inline]
    fn visit_array<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DocumentError> {
        let Some(array) = self.as_array() else {
            return self.invalid_type(&visitor);
        };
        let mut items = ItemAccess {
            items: array.items(),
        };
        self.place(
            visitor
                .visit_seq(&mut items)
                .and_then(|value| match items.items.len() {
                    0 => Ok(value),
                    _ => Err(de::Error::invalid_length(
                        array.len(),
                        &"fewer elements in array",
                    )),
                }),
        )
    }

    #[inline]
    fn visit_object<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DocumentError> {
        let Some(object) = self.as_object() else {
            return self.invalid_type(&visitor);
        };
        let mut members = MemberAccess {
            members: object.members(),
            value: None,
        };
        self.place(
            visitor
                .visit_map(&mut members)
                .and_then(|value| match members.members.len() {
                    0 => Ok(value),
                    _ => Err(de::Error::invalid_length(
                        object.len(),
                        &"fewer elements in map",
                    )),
                }),
        )
    }
}

/// The path of a value from the root of its document.
#[cold]
fn path_of(value: ValueRef<'_>) -> String {
    let document: &Document = value.document();
    let target = value.index_in_document();
    let mut path = String::new();
    let mut container = 0;
    while container < target {
        let node = document.node(container);
        let mut child = container + 1;
        let mut position = 0;
        // The child whose subtree holds the target.
        loop {
            let key = (node.tag == Tag::Object).then(|| document.node(child));
            let value = child + u32::from(key.is_some());
            let next = after(&document.nodes, value);
            if target < next || next >= node.end() {
                match key {
                    Some(key) => push_key(&mut path, document.string_of(key)),
                    None => push_index(&mut path, position),
                }
                container = value;
                break;
            }
            child = next;
            position += 1;
        }
        if !document.node(container).is_container() {
            break;
        }
    }
    path
}

macro_rules! deserialize_as {
    ($visit:ident: $($method:ident)*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DocumentError> {
            self.$visit(visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for ValueRef<'de> {
    type Error = DocumentError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DocumentError> {
        match self.kind() {
            Kind::Null => self.place(visitor.visit_unit()),
            Kind::Bool => self.deserialize_bool(visitor),
            Kind::Integer | Kind::Float => self.visit_number(visitor),
            Kind::String => self.visit_string(visitor),
            Kind::Array => self.visit_array(visitor),
            Kind::Object => self.visit_object(visitor),
        }
    }

    deserialize_as! { visit_number:
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64
    }

    deserialize_as! { visit_string: deserialize_char deserialize_str deserialize_string deserialize_identifier }

    deserialize_as! { visit_array: deserialize_seq }

    deserialize_as! { visit_object: deserialize_map }

    #[inline]
    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DocumentError> {
        match self.as_bool() {
            Some(value) => self.place(visitor.visit_bool(value)),
            None => self.invalid_type(&visitor),
        }
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DocumentError> {
        if self.kind() == Kind::Array {
            self.visit_array(visitor)
        } else {
            self.visit_string(visitor)
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DocumentError> {
        self.deserialize_bytes(visitor)
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DocumentError> {
        self.place(if self.is_null() {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        })
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DocumentError> {
        if self.is_null() {
            self.place(visitor.visit_unit())
        } else {
            self.invalid_type(&visitor)
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, DocumentError> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, DocumentError> {
        self.place(visitor.visit_newtype_struct(self))
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, DocumentError> {
        self.visit_array(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, DocumentError> {
        self.visit_array(visitor)
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DocumentError> {
        if self.kind() == Kind::Array {
            self.visit_array(visitor)
        } else {
            self.visit_object(visitor)
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DocumentError> {
        let access = match self.kind() {
            Kind::String => Variant {
                name: self.as_str().unwrap_or_default(),
                at: self,
                content: None,
            },
            Kind::Object => {
                let mut members = self
                    .as_object()
                    .into_iter()
                    .flat_map(|object| object.members());
                match (members.next(), members.next()) {
                    (Some((name, content)), None) => Variant {
                        name,
                        at: self,
                        content: Some(content),
                    },
                    _ => {
                        let unexpected = Unexpected::Map;
                        return self.place(Err(de::Error::invalid_value(
                            unexpected,
                            &"an object with a single key",
                        )));
                    }
                }
            }
            _ => return self.invalid_type(&EnumVisitor),
        };
        self.place(visitor.visit_enum(access))
    }

    /// Skips the value, however large.
    #[inline]
    fn deserialize_ignored_any<V: Visitor<'de>>(
        self,
        visitor: V,
    ) -> Result<V::Value, DocumentError> {
        visitor.visit_unit()
    }
}

/// Says what an enum is expected to be.
struct EnumVisitor;

impl Visitor<'_> for EnumVisitor {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a string or an object with a single key")
    }
}

impl<'de> IntoDeserializer<'de, DocumentError> for ValueRef<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

struct ItemAccess<'de> {
    items: Items<'de>,
}

impl<'de> SeqAccess<'de> for ItemAccess<'de> {
    type Error = DocumentError;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DocumentError> {
        let Some(item) = self.items.next() else {
            return Ok(None);
        };
        item.place(seed.deserialize(item)).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

struct MemberAccess<'de> {
    members: Members<'de>,
    value: Option<ValueRef<'de>>,
}

impl<'de> MapAccess<'de> for MemberAccess<'de> {
    type Error = DocumentError;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, DocumentError> {
        let Some((key, value)) = self.members.next() else {
            return Ok(None);
        };
        self.value = Some(value);
        value
            .place(seed.deserialize(BorrowedStrDeserializer::new(key)))
            .map(Some)
    }

    #[inline]
    fn next_value_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<T::Value, DocumentError> {
        match self.value.take() {
            Some(value) => value.place(seed.deserialize(value)),
            None => Err(de::Error::custom("a value was asked for before its key")),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.members.len())
    }
}

/// One variant of an enum: a string, or the single member of an object.
struct Variant<'de> {
    name: &'de str,
    at: ValueRef<'de>,
    content: Option<ValueRef<'de>>,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = DocumentError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Self), DocumentError> {
        let variant = self
            .at
            .place(seed.deserialize(BorrowedStrDeserializer::new(self.name)))?;
        Ok((variant, self))
    }
}

impl<'de> Variant<'de> {
    fn content(&self, expected: &str) -> Result<ValueRef<'de>, DocumentError> {
        match self.content {
            Some(content) => Ok(content),
            None => self.at.place(Err(de::Error::invalid_type(
                Unexpected::UnitVariant,
                &expected,
            ))),
        }
    }
}

impl<'de> VariantAccess<'de> for Variant<'de> {
    type Error = DocumentError;

    fn unit_variant(self) -> Result<(), DocumentError> {
        match self.content {
            Some(content) => de::Deserialize::deserialize(content),
            None => Ok(()),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<T::Value, DocumentError> {
        let content = self.content("newtype variant")?;
        content.place(seed.deserialize(content))
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, DocumentError> {
        self.content("tuple variant")?.visit_array(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DocumentError> {
        let content = self.content("struct variant")?;
        content.deserialize_struct("", &[], visitor)
    }
}
