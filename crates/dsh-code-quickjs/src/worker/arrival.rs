//! From a document to engine values.
//!
//! Properties are defined, never set, so neither a `__proto__` key nor a setter that a program planted does anything.

use dsh_schema::{Document, Number, ValueRef};
use rquickjs::object::Property;
use rquickjs::{Array, BigInt, Ctx, IntoJs, Object, Result, String as Text, Value};

/// The largest integer up to which every one is a double.
const EXACT: u64 = 1 << 53;

/// Builds the value of a document. Recursion is as deep as a document, which is bounded (D4).
pub(super) fn build<'js>(cx: &Ctx<'js>, document: &Document) -> Result<Value<'js>> {
    value(cx, document.root())
}

fn value<'js>(cx: &Ctx<'js>, from: ValueRef<'_>) -> Result<Value<'js>> {
    if let Some(text) = from.as_str() {
        return Text::from_str(cx.clone(), text).map(Text::into_value);
    }
    if let Some(items) = from.as_array() {
        let array = Array::new(cx.clone())?.into_object();
        for (index, item) in items.iter().enumerate() {
            define(
                &array,
                u32::try_from(index).unwrap_or(u32::MAX),
                value(cx, item)?,
            )?;
        }
        return Ok(array.into_value());
    }
    if let Some(members) = from.as_object() {
        let object = Object::new(cx.clone())?;
        for (key, member) in members.iter() {
            define(&object, key, value(cx, member)?)?;
        }
        return Ok(object.into_value());
    }
    match (from.as_number(), from.as_bool()) {
        (Some(number), _) => self::number(cx, number),
        (None, Some(truth)) => truth.into_js(cx),
        (None, None) => Ok(Value::new_null(cx.clone())),
    }
}

fn define<'js>(
    object: &Object<'js>,
    key: impl rquickjs::IntoAtom<'js>,
    value: Value<'js>,
) -> Result<()> {
    object.prop(
        key,
        Property::from(value).writable().enumerable().configurable(),
    )
}

/// Integers beyond 2^53 arrive as `bigint`, exact (D2).
fn number<'js>(cx: &Ctx<'js>, number: Number) -> Result<Value<'js>> {
    match number {
        Number::Int(value) if value.unsigned_abs() <= EXACT => {
            Ok(Value::new_number(cx.clone(), value as f64))
        }
        Number::Int(value) => BigInt::from_i64(cx.clone(), value).map(BigInt::into_value),
        Number::UInt(value) => BigInt::from_u64(cx.clone(), value).map(BigInt::into_value),
        Number::Float(value) => Ok(Value::new_float(cx.clone(), value)),
    }
}
