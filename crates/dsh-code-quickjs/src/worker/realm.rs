//! What is captured of the world before a program can change it (C240, C241, C243).

use rquickjs::function::IntoArgs;
use rquickjs::{Ctx, FromJs, Function, Object, Result, String as Text, Value};

use super::raw;

/// Captured prototypes, classes and functions of one context.
pub(super) struct Realm<'js> {
    pub(super) object_prototype: Object<'js>,
    pub(super) array_prototype: Object<'js>,
    pub(super) promise: Object<'js>,
    pub(super) promise_prototype: Object<'js>,
    pub(super) object_class: u32,
    pub(super) array_class: u32,
    pub(super) internal_error: Object<'js>,
    functions: Object<'js>,
}

impl<'js> Realm<'js> {
    /// Captures a fresh context.
    pub(super) fn capture(cx: &Ctx<'js>) -> Result<Self> {
        let plain: Object<'_> = cx.eval("({})")?;
        let array: Object<'_> = cx.eval("[]")?;
        let promise: Object<'_> = cx.globals().get("Promise")?;
        let internal: Object<'_> = cx.eval("InternalError.prototype")?;
        Ok(Self {
            object_class: raw::class_of(plain.as_value()),
            array_class: raw::class_of(array.as_value()),
            object_prototype: plain.get_prototype().unwrap_or(plain),
            array_prototype: array.get_prototype().unwrap_or(array),
            promise_prototype: promise.get("prototype")?,
            promise,
            internal_error: internal,
            functions: cx.eval(include_str!("realm.js"))?,
        })
    }

    /// Calls one of the captured functions. Their object is not reachable from a program.
    pub(super) fn call<A, R>(&self, name: &str, arguments: A) -> Result<R>
    where
        A: IntoArgs<'js>,
        R: FromJs<'js>,
    {
        self.function(name)?.call(arguments)
    }

    /// One of the captured functions.
    pub(super) fn function(&self, name: &str) -> Result<Function<'js>> {
        self.functions.get(name)
    }

    /// The text of an engine string; unpaired surrogates become U+FFFD (C129).
    pub(super) fn lossy(&self, text: &Text<'js>) -> Result<String> {
        match text.to_string() {
            Err(rquickjs::Error::Utf8(_)) => self
                .call::<_, Text<'js>>("wellFormed", (text.clone(),))?
                .to_string(),
            text => text,
        }
    }

    /// An own property without running anything: its value, or that it is an accessor.
    pub(super) fn slot(
        &self,
        object: &Object<'js>,
        key: impl rquickjs::IntoJs<'js>,
    ) -> Option<Slot<'js>> {
        let descriptor: Object<'_> = self.call("slot", (object.clone(), key)).ok()?;
        // The descriptor is an ordinary object, but its own fields come first.
        let is_data = descriptor
            .own_keys::<String>(rquickjs::object::Filter::new().string())
            .any(|key| key.is_ok_and(|key| key == "value"));
        Some(Slot {
            value: if is_data {
                descriptor.get("value").ok()
            } else {
                None
            },
        })
    }
}

/// An own property as its descriptor tells it.
pub(super) struct Slot<'js> {
    /// Absent for accessors.
    pub(super) value: Option<Value<'js>>,
}
