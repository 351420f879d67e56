//! The scalars that `enum` and `const` list.

use crate::Number;

use super::view::View;

/// One literal of an `enum` or a `const`.
#[derive(Clone, Debug)]
pub struct Literal {
    value: LiteralValue,
    json: Box<str>,
}

/// What a literal is.
#[derive(Clone, Debug)]
pub enum LiteralValue {
    /// `null`.
    Null,
    /// `true` or `false`.
    Boolean(bool),
    /// A finite number other than negative zero.
    Number(Number),
    /// A string.
    String(Box<str>),
}

impl Literal {
    /// Reads a scalar; `None` for an array, an object and a number that is not lossless.
    pub(super) fn read<'a, V: View<'a>>(value: V) -> Option<Self> {
        let literal = if let Some(text) = value.string() {
            LiteralValue::String(text.into())
        } else if let Some(number) = value.number() {
            if !is_lossless(number) {
                return None;
            }
            LiteralValue::Number(number)
        } else if let Some(boolean) = value.boolean() {
            LiteralValue::Boolean(boolean)
        } else if value.is_null() {
            LiteralValue::Null
        } else {
            return None;
        };
        Some(Self {
            value: literal,
            json: value.json().into(),
        })
    }

    /// The literal itself.
    #[must_use]
    pub fn value(&self) -> &LiteralValue {
        &self.value
    }

    /// The literal as compact JSON, numbers as ECMAScript prints them (T355).
    #[must_use]
    pub fn json(&self) -> &str {
        &self.json
    }

    pub(super) fn is_equal(&self, other: &Self) -> bool {
        match (&self.value, &other.value) {
            (LiteralValue::Null, LiteralValue::Null) => true,
            (LiteralValue::Boolean(left), LiteralValue::Boolean(right)) => left == right,
            (LiteralValue::Number(left), LiteralValue::Number(right)) => is_equal(*left, *right),
            (LiteralValue::String(left), LiteralValue::String(right)) => left == right,
            _ => false,
        }
    }

    pub(super) fn is_string(&self, text: &str) -> bool {
        matches!(&self.value, LiteralValue::String(literal) if is_same(literal, text))
    }

    pub(super) fn is_number(&self, number: Number) -> bool {
        matches!(&self.value, LiteralValue::Number(literal) if is_equal(*literal, number))
    }

    pub(super) fn is_boolean(&self, boolean: bool) -> bool {
        matches!(&self.value, LiteralValue::Boolean(literal) if *literal == boolean)
    }
}

/// Numeric equality (T359). Both sides are normalised: an integral value in range is never a float, so two numbers that
/// are equal are of one variant and nothing is rounded.
pub(super) fn is_equal(left: Number, right: Number) -> bool {
    match (left, right) {
        (Number::Int(left), Number::Int(right)) => left == right,
        (Number::UInt(left), Number::UInt(right)) => left == right,
        (Number::Float(left), Number::Float(right)) => left == right,
        _ => false,
    }
}

/// Whether a number survives JSON: finite and not negative zero (T36).
pub(super) fn is_lossless(number: Number) -> bool {
    match number {
        Number::Int(_) | Number::UInt(_) => true,
        Number::Float(float) => float.is_finite() && !(float == 0.0 && float.is_sign_negative()),
    }
}

/// Whether a number is a lossless integer, by value and not by spelling (T358).
pub(super) fn is_integer(number: Number) -> bool {
    match number {
        Number::Int(_) | Number::UInt(_) => true,
        Number::Float(float) => is_lossless(number) && float.fract() == 0.0,
    }
}

/// Equality of strings that are mostly short: compares what overlaps in words instead of calling into the C library.
#[inline(always)]
pub(super) fn is_same(left: &str, right: &str) -> bool {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    if left.len() != right.len() {
        return false;
    }
    if (8..=16).contains(&left.len()) {
        left.first_chunk::<8>() == right.first_chunk::<8>()
            && left.last_chunk::<8>() == right.last_chunk::<8>()
    } else if (4..8).contains(&left.len()) {
        left.first_chunk::<4>() == right.first_chunk::<4>()
            && left.last_chunk::<4>() == right.last_chunk::<4>()
    } else if (1..4).contains(&left.len()) {
        // The first, the middle and the last of up to three bytes are all of them.
        let (middle, last) = (left.len() / 2, left.len() - 1);
        left[0] == right[0] && left[middle] == right[middle] && left[last] == right[last]
    } else {
        left == right
    }
}
