//! What the engine's safe interface does not offer.

use rquickjs::{TypedArray, Value, qjs};

/// The engine's class of an object, whatever its prototype pretends; 0 for anything that is no object.
#[expect(unsafe_code, reason = "the safe interface does not tell classes apart")]
pub(super) fn class_of(value: &Value<'_>) -> u32 {
    // SAFETY: the value is alive for the whole call, and the function only reads its tag and its class.
    unsafe { qjs::JS_GetClassID(value.as_raw()) }
}

/// A copy of the bytes of an array; `None` when its buffer is detached.
#[expect(unsafe_code, reason = "the safe interface reads one element at a time")]
pub(super) fn bytes_of(array: &TypedArray<'_, u8>) -> Option<Vec<u8>> {
    // SAFETY: no code of the engine runs between the borrow and the copy, so the buffer is neither detached nor written to
    // meanwhile; it is not shared with another thread, since an engine stays on its own.
    unsafe { array.as_bytes() }.map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rquickjs::{Context, Runtime};

    #[test]
    fn a_class_outlives_a_swapped_prototype() {
        let runtime = Runtime::new().unwrap();
        Context::full(&runtime).unwrap().with(|cx| {
            let class = |source: &str| class_of(&cx.eval::<Value<'_>, _>(source).unwrap());
            assert_eq!(class("({})"), class("Object.create(null)"));
            assert_eq!(class("[]"), class("Object.setPrototypeOf([], null)"));
            let date = class("Object.setPrototypeOf(new Date, Object.prototype)");
            assert_ne!(date, class("({})"));
            assert_ne!(class("new Proxy({}, {})"), class("({})"));
            assert_eq!(class("1"), 0);
        });
    }

    #[test]
    fn bytes_are_copied_unless_detached() {
        let runtime = Runtime::new().unwrap();
        Context::full(&runtime).unwrap().with(|cx| {
            let bytes = |source: &str| bytes_of(&cx.eval(source).unwrap());
            assert_eq!(
                bytes("new Uint8Array([0, 1, 2, 3]).subarray(1, 3)"),
                Some(vec![1, 2])
            );
            let detached =
                "(() => { const a = new Uint8Array(4); a.buffer.transfer(); return a })()";
            assert_eq!(bytes(detached).unwrap_or_default(), Vec::<u8>::new());
        });
    }
}
