//! From an engine value to compact JSON text, or the finding that it is not lossless (C120).
//!
//! The walker keeps its own stack and asks the engine's primitives only: own keys, prototype, class, one plain read per
//! slot. Nothing that a program replaced is ever called, except the accessors of its own data, each once (C122, C244).
//! Proxies are refused whole, so no trap runs (C245).

use rquickjs::object::Filter;
use rquickjs::{Atom, Object, Value};

use super::raw;
use super::realm::Realm;

/// Deepest nesting that crosses the boundary (D4).
const MAX_DEPTH: usize = dsh_schema::MAX_DEPTH;

/// Why a value does not cross.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It is no lossless JSON.
    Lossy,
    /// Its JSON is longer than the budget.
    TooLong,
}

/// A value on the way, with what is left of it.
enum Open<'js> {
    Array {
        array: Object<'js>,
        length: u32,
        next: u32,
    },
    Object {
        object: Object<'js>,
        keys: std::vec::IntoIter<Atom<'js>>,
        is_first: bool,
    },
}

impl<'js> Open<'js> {
    fn container(&self) -> &Object<'js> {
        match self {
            Self::Array { array, .. } => array,
            Self::Object { object, .. } => object,
        }
    }
}

/// Appends the JSON of `value`. `out` may hold a part of it when it is refused.
///
/// Any exception that reading a slot raises makes the value lossy and is swallowed.
pub(super) fn write<'js>(
    realm: &Realm<'js>,
    value: Value<'js>,
    out: &mut String,
    budget: usize,
) -> Result<(), Refusal> {
    let result = Walk {
        realm,
        out,
        budget,
        open: Vec::new(),
    }
    .run(value);
    if result.is_err() {
        drop(realm.promise.ctx().catch());
    }
    result
}

struct Walk<'w, 'js> {
    realm: &'w Realm<'js>,
    out: &'w mut String,
    budget: usize,
    open: Vec<Open<'js>>,
}

impl<'js> Walk<'_, 'js> {
    fn run(mut self, root: Value<'js>) -> Result<(), Refusal> {
        self.value(root)?;
        while let Some(top) = self.open.last_mut() {
            if self.out.len() > self.budget {
                return Err(Refusal::TooLong);
            }
            let next = match top {
                Open::Array {
                    array,
                    length,
                    next,
                } => {
                    if next == length {
                        None
                    } else {
                        if *next > 0 {
                            self.out.push(',');
                        }
                        *next += 1;
                        Some(array.get(*next - 1).map_err(|_| Refusal::Lossy)?)
                    }
                }
                Open::Object {
                    object,
                    keys,
                    is_first,
                } => match keys.next() {
                    None => None,
                    Some(key) => {
                        if !std::mem::take(is_first) {
                            self.out.push(',');
                        }
                        let text = key.to_js_string().and_then(|text| text.to_string());
                        quote(&text.map_err(|_| Refusal::Lossy)?, self.out);
                        self.out.push(':');
                        Some(object.get(key).map_err(|_| Refusal::Lossy)?)
                    }
                },
            };
            match next {
                Some(value) => self.value(value)?,
                None => {
                    let is_array = matches!(self.open.pop(), Some(Open::Array { .. }));
                    self.out.push(if is_array { ']' } else { '}' });
                }
            }
        }
        if self.out.len() > self.budget {
            return Err(Refusal::TooLong);
        }
        Ok(())
    }

    fn value(&mut self, value: Value<'js>) -> Result<(), Refusal> {
        if let Some(integer) = value.as_int() {
            self.out.push_str(itoa::Buffer::new().format(integer));
        } else if let Some(double) = value.as_float() {
            number(double, self.out)?;
        } else if let Some(truth) = value.as_bool() {
            self.out.push_str(if truth { "true" } else { "false" });
        } else if value.is_null() {
            self.out.push_str("null");
        } else if let Some(text) = value.as_string() {
            // Fails for unpaired surrogates (D16).
            quote(&text.to_string().map_err(|_| Refusal::Lossy)?, self.out);
        } else if value.is_big_int() {
            let digits: Option<String> = self
                .realm
                .call("digits", (value,))
                .map_err(|_| Refusal::Lossy)?;
            self.out.push_str(&digits.ok_or(Refusal::Lossy)?);
        } else if let Some(object) = value.as_object() {
            self.container(object.clone())?;
        } else {
            return Err(Refusal::Lossy);
        }
        Ok(())
    }

    fn container(&mut self, object: Object<'js>) -> Result<(), Refusal> {
        // A container inside itself; shared ones that are not are written twice (C121).
        if self.open.len() >= MAX_DEPTH || self.open.iter().any(|open| *open.container() == object)
        {
            return Err(Refusal::Lossy);
        }
        let class = raw::class_of(object.as_value());
        if class == self.realm.array_class {
            self.array(object)
        } else if class == self.realm.object_class {
            self.object(object)
        } else {
            Err(Refusal::Lossy)
        }
    }

    fn array(&mut self, array: Object<'js>) -> Result<(), Refusal> {
        if array.get_prototype().as_ref() != Some(&self.realm.array_prototype) {
            return Err(Refusal::Lossy);
        }
        // `length` of an array is own data; nothing runs.
        let length: f64 = array.get("length").map_err(|_| Refusal::Lossy)?;
        let length = length as u32;
        // Every index, nothing else that is enumerable, and `length` alone that is not.
        let mut indices = 0;
        for key in array.own_keys::<Atom<'_>>(everything().enum_only()) {
            let index = Atom::from_u32(array.ctx().clone(), indices);
            if indices == length || key.ok() != index.ok() {
                return Err(Refusal::Lossy);
            }
            indices += 1;
        }
        let all = array.own_keys::<Atom<'_>>(everything()).len();
        if indices != length || all != length as usize + 1 {
            return Err(Refusal::Lossy);
        }
        self.out.push('[');
        self.open.push(Open::Array {
            array,
            length,
            next: 0,
        });
        Ok(())
    }

    fn object(&mut self, object: Object<'js>) -> Result<(), Refusal> {
        match object.get_prototype() {
            None => {}
            Some(prototype) if prototype == self.realm.object_prototype => {}
            Some(_) => return Err(Refusal::Lossy),
        }
        let keys: Vec<Atom<'_>> = object
            .own_keys(Filter::default())
            .collect::<rquickjs::Result<_>>()
            .map_err(|_| Refusal::Lossy)?;
        // Symbols and keys that are not enumerable would be lost.
        if object.own_keys::<Atom<'_>>(everything()).len() != keys.len() {
            return Err(Refusal::Lossy);
        }
        self.out.push('{');
        self.open.push(Open::Object {
            object,
            keys: keys.into_iter(),
            is_first: true,
        });
        Ok(())
    }
}

fn everything() -> Filter {
    Filter::new().string().symbol()
}

/// Up to here every integer is a double.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// 2^63 and 2^64, the first doubles outside of `i64` and `u64`.
const TWO_63: f64 = 9_223_372_036_854_775_808.0;
const TWO_64: f64 = 18_446_744_073_709_551_616.0;

/// Beyond 2^53 a double has the digits that ECMAScript prints, like in every text that the program makes itself; exact
/// integers of that size are `bigint` (D2).
fn number(value: f64, out: &mut String) -> Result<(), Refusal> {
    use std::fmt::Write as _;
    if !value.is_finite() || (value == 0.0 && value.is_sign_negative()) {
        return Err(Refusal::Lossy);
    }
    let is_integral = value.fract() == 0.0;
    if is_integral && value.abs() <= EXACT {
        out.push_str(itoa::Buffer::new().format(value as i64));
    } else if is_integral && -TWO_63 < value && value < TWO_64 {
        out.push_str(ryu_js::Buffer::new().format_finite(value));
    } else if !is_integral && value.abs() >= 1e-6 {
        // Writing to a string does not fail.
        let _ = write!(out, "{value}");
    } else {
        // Never longer than what ECMAScript prints, and a double for every reader: digits alone would be an integer out of
        // range.
        let _ = write!(out, "{value:e}");
    }
    Ok(())
}

/// Appends a JSON string, escaping only what must be.
fn quote(text: &str, out: &mut String) {
    out.reserve(text.len() + 2);
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest
        .bytes()
        .position(|byte| byte < 32 || byte == b'"' || byte == b'\\')
    {
        let (plain, special) = rest.split_at(at);
        out.push_str(plain);
        match special.as_bytes().first() {
            Some(b'"') => out.push_str("\\\""),
            Some(b'\\') => out.push_str("\\\\"),
            Some(8) => out.push_str("\\b"),
            Some(9) => out.push_str("\\t"),
            Some(10) => out.push_str("\\n"),
            Some(12) => out.push_str("\\f"),
            Some(13) => out.push_str("\\r"),
            Some(control) => {
                out.push_str("\\u00");
                out.extend(
                    [control >> 4, control & 15]
                        .map(|digit| char::from_digit(digit.into(), 16).unwrap_or('0')),
                );
            }
            None => {}
        }
        rest = special.get(1..).unwrap_or_default();
    }
    out.push_str(rest);
    out.push('"');
}
