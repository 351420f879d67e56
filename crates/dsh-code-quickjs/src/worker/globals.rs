//! What a program has besides the language: `structuredClone`, `TextEncoder`, `TextDecoder`. `atob`, `btoa`,
//! `queueMicrotask` and `performance` are the engine's own. Nothing here reaches out of the worker (C251).

use std::rc::Rc;

use rquickjs::function::Opt;
use rquickjs::object::Property;
use rquickjs::{Ctx, Exception, Function, Object, Result, String as Text, TypedArray, Value};

use super::raw;
use super::realm::Realm;

/// Classes over two native functions. They are the program's to break; nothing of ours relies on them.
const CODECS: &str = r#"((encode, decode, invalid) => {
    class TextEncoder {
        get encoding() { return "utf-8"; }
        encode(text = "") { return encode(`${text}`); }
    }
    class TextDecoder {
        #fatal; #keepBom;
        constructor(label = "utf-8", options = {}) {
            if (!["utf-8", "utf8", "unicode-1-1-utf-8"].includes(`${label}`.trim().toLowerCase()))
                throw new RangeError(`only utf-8 is supported, not ${label}`);
            this.#fatal = !!options.fatal;
            this.#keepBom = !!options.ignoreBOM;
        }
        get encoding() { return "utf-8"; }
        get fatal() { return this.#fatal; }
        get ignoreBOM() { return this.#keepBom; }
        decode(bytes) {
            if (bytes === undefined) return "";
            const view = ArrayBuffer.isView(bytes)
                ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
                : new Uint8Array(bytes);
            const text = decode(view, this.#fatal);
            if (text === undefined) throw new TypeError("the encoded data is not valid utf-8");
            return this.#keepBom || text.charCodeAt(0) !== 0xfeff ? text : text.slice(1);
        }
    }
    return { TextEncoder, TextDecoder };
})"#;

/// Defines the globals of every program.
pub(super) fn install<'js>(cx: &Ctx<'js>, realm: &Rc<Realm<'js>>) -> Result<()> {
    let globals = cx.globals();
    let owner = Rc::downgrade(realm);
    let encode = Function::new(cx.clone(), move |text: Text<'js>| -> Result<Value<'js>> {
        let Some(realm) = owner.upgrade() else {
            return Ok(Value::new_undefined(text.ctx().clone()));
        };
        let bytes = realm.lossy(&text)?.into_bytes();
        TypedArray::<u8>::new(text.ctx().clone(), bytes).map(TypedArray::into_value)
    })?;
    let decode = Function::new(
        cx.clone(),
        |cx: Ctx<'js>, bytes: TypedArray<'js, u8>, fatal: Opt<bool>| -> Result<Option<Text<'js>>> {
            let Some(bytes) = raw::bytes_of(&bytes) else {
                return Err(Exception::throw_type(&cx, "the buffer is detached"));
            };
            if fatal.0 == Some(true) {
                return str::from_utf8(&bytes)
                    .ok()
                    .map(|text| Text::from_str(cx, text))
                    .transpose();
            }
            Text::from_str(cx, &String::from_utf8_lossy(&bytes)).map(Some)
        },
    )?;
    let codecs: Function<'_> = cx.eval(CODECS)?;
    let codecs: Object<'_> = codecs.call((encode, decode))?;
    for name in ["TextEncoder", "TextDecoder"] {
        let class: Value<'_> = codecs.get(name)?;
        globals.prop(name, Property::from(class).writable().configurable())?;
    }
    let clone = realm.function("structuredClone")?;
    globals.prop(
        "structuredClone",
        Property::from(clone).writable().configurable(),
    )
}
