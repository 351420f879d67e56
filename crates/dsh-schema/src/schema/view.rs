//! One reading of two representations, so that each rule of the subset is written once.
//!
//! A [`Document`](crate::Document) is lossless by construction; a `serde_json::Value` can hold negative zero and can be
//! nested without a limit.

use serde_json::Value;

use crate::{ArrayRef, Document, Kind, MAX_DEPTH, Number, ObjectRef, ValueRef};

use super::literal::is_lossless;

/// A borrowed JSON value.
pub(super) trait View<'a>: Copy {
    /// A borrowed array.
    type Array: Copy;
    /// A borrowed object.
    type Object: Copy;
    /// Whether every value of this representation is lossless JSON, which spares the walks from looking.
    const LOSSLESS: bool;

    /// The kind; a number is an integer when it has an integral value in the range of `i64` or `u64`.
    fn kind(self) -> Kind;
    fn is_null(self) -> bool;
    fn boolean(self) -> Option<bool>;
    /// The number, normalised: an integral value in the range of `i64` or `u64` is never a float. A float that is
    /// not lossless stays what it is.
    fn number(self) -> Option<Number>;
    fn string(self) -> Option<&'a str>;
    fn array(self) -> Option<Self::Array>;
    fn object(self) -> Option<Self::Object>;
    fn items(array: Self::Array) -> impl Iterator<Item = Self>;
    fn members(object: Self::Object) -> impl Iterator<Item = (&'a str, Self)>;
    fn member(object: Self::Object, key: &str) -> Option<Self>;
    /// Whether the value and all it contains is lossless JSON (T36).
    fn is_lossless(self) -> bool;
    /// The value as compact JSON.
    fn json(self) -> String;
}

impl<'a> View<'a> for ValueRef<'a> {
    type Array = ArrayRef<'a>;
    type Object = ObjectRef<'a>;
    const LOSSLESS: bool = true;

    #[inline]
    fn kind(self) -> Kind {
        ValueRef::kind(self)
    }

    #[inline]
    fn is_null(self) -> bool {
        ValueRef::is_null(self)
    }

    #[inline]
    fn boolean(self) -> Option<bool> {
        self.as_bool()
    }

    #[inline]
    fn number(self) -> Option<Number> {
        self.as_number()
    }

    #[inline]
    fn string(self) -> Option<&'a str> {
        self.as_str()
    }

    #[inline]
    fn array(self) -> Option<ArrayRef<'a>> {
        self.as_array()
    }

    #[inline]
    fn object(self) -> Option<ObjectRef<'a>> {
        self.as_object()
    }

    #[inline]
    fn items(array: ArrayRef<'a>) -> impl Iterator<Item = Self> {
        array.iter()
    }

    #[inline]
    fn members(object: ObjectRef<'a>) -> impl Iterator<Item = (&'a str, Self)> {
        object.iter()
    }

    #[inline]
    fn member(object: ObjectRef<'a>, key: &str) -> Option<Self> {
        object.get(key)
    }

    #[inline]
    fn is_lossless(self) -> bool {
        true
    }

    fn json(self) -> String {
        self.to_json()
    }
}

impl<'a> View<'a> for &'a Value {
    type Array = &'a Vec<Value>;
    type Object = &'a serde_json::Map<String, Value>;
    const LOSSLESS: bool = false;

    fn kind(self) -> Kind {
        match self {
            Value::Null => Kind::Null,
            Value::Bool(_) => Kind::Bool,
            Value::Number(_) => match self.number() {
                Some(Number::Int(_) | Number::UInt(_)) => Kind::Integer,
                _ => Kind::Float,
            },
            Value::String(_) => Kind::String,
            Value::Array(_) => Kind::Array,
            Value::Object(_) => Kind::Object,
        }
    }

    fn is_null(self) -> bool {
        Value::is_null(self)
    }

    fn boolean(self) -> Option<bool> {
        self.as_bool()
    }

    fn number(self) -> Option<Number> {
        let Value::Number(number) = self else {
            return None;
        };
        if let Some(int) = number.as_i64() {
            return Some(Number::Int(int));
        }
        if let Some(uint) = number.as_u64() {
            return Some(Number::UInt(uint));
        }
        number.as_f64().map(normalised)
    }

    fn string(self) -> Option<&'a str> {
        self.as_str()
    }

    fn array(self) -> Option<Self::Array> {
        self.as_array()
    }

    fn object(self) -> Option<Self::Object> {
        self.as_object()
    }

    fn items(array: Self::Array) -> impl Iterator<Item = Self> {
        array.iter()
    }

    fn members(object: Self::Object) -> impl Iterator<Item = (&'a str, Self)> {
        object.iter().map(|(key, value)| (key.as_str(), value))
    }

    fn member(object: Self::Object, key: &str) -> Option<Self> {
        object.get(key)
    }

    fn is_lossless(self) -> bool {
        let mut open = vec![(self, 0)];
        while let Some((value, depth)) = open.pop() {
            match value {
                Value::Number(_) if !value.number().is_some_and(is_lossless) => return false,
                Value::Array(_) | Value::Object(_) if depth >= MAX_DEPTH => return false,
                Value::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
                Value::Object(members) => {
                    open.extend(members.values().map(|member| (member, depth + 1)))
                }
                _ => {}
            }
        }
        true
    }

    fn json(self) -> String {
        // Only asked for what passed as lossless; the other spelling is for completeness.
        Document::from_value(self).map_or_else(|_| self.to_string(), |document| document.to_json())
    }
}

/// The number that a float is.
fn normalised(float: f64) -> Number {
    const TWO_POW_63: f64 = 9_223_372_036_854_775_808.0;
    const TWO_POW_64: f64 = 18_446_744_073_709_551_616.0;
    let is_negative_zero = float == 0.0 && float.is_sign_negative();
    if is_negative_zero || float.fract() != 0.0 {
        Number::Float(float)
    } else if (-TWO_POW_63..TWO_POW_63).contains(&float) {
        #[expect(clippy::cast_possible_truncation, reason = "integral and in range")]
        Number::Int(float as i64)
    } else if (TWO_POW_63..TWO_POW_64).contains(&float) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "integral and in range"
        )]
        Number::UInt(float as u64)
    } else {
        Number::Float(float)
    }
}
