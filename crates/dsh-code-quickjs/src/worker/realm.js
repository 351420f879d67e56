// Runs before any byte of a program. What is captured here cannot be replaced later, and the functions returned use nothing
// else: no method calls, no iteration protocols, no templates over objects.
(() => {
    const { apply, getOwnPropertyDescriptor, ownKeys, getPrototypeOf, setPrototypeOf, defineProperty } = Reflect;
    const { create } = Object;
    const { isView } = ArrayBuffer;
    const text = String;
    const NativeError = Error;
    const NativeDate = Date, NativeMap = Map, NativeSet = Set, NativeRegExp = RegExp, NativeArray = Array;
    const Bytes = Uint8Array, Buffer = ArrayBuffer, Exception = DOMException, NativeTypeError = TypeError;
    const toWellFormed = "".toWellFormed;
    const getter = (prototype, key) => getOwnPropertyDescriptor(prototype, key).get;
    const typed = getPrototypeOf(Bytes.prototype);
    const typedName = getter(typed, Symbol.toStringTag);
    const typedLength = getter(typed, "length");
    const typedBuffer = getter(typed, "buffer");
    const typedOffset = getter(typed, "byteOffset");
    const bufferSlice = Buffer.prototype.slice;
    const source = getter(NativeRegExp.prototype, "source");
    const flagGetters = [
        ["d", "hasIndices"], ["g", "global"], ["i", "ignoreCase"], ["m", "multiline"],
        ["s", "dotAll"], ["u", "unicode"], ["v", "unicodeSets"], ["y", "sticky"],
    ].map(([letter, key]) => ({ letter, read: getter(NativeRegExp.prototype, key) }));
    const flags = (pattern) => {
        let letters = "";
        for (let index = 0; index < 8; index++) {
            if (apply(flagGetters[index].read, pattern, [])) letters += flagGetters[index].letter;
        }
        return letters;
    };
    const getTime = NativeDate.prototype.getTime;
    const toISOString = NativeDate.prototype.toISOString;
    const mapForEach = NativeMap.prototype.forEach, setForEach = NativeSet.prototype.forEach;
    const mapSize = getter(NativeMap.prototype, "size"), setSize = getter(NativeSet.prototype, "size");
    const mapGet = NativeMap.prototype.get, mapPut = NativeMap.prototype.set, setAdd = NativeSet.prototype.add;
    const put = (target, key, value) =>
        defineProperty(target, key, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
    // Entries of a Map or a Set as one flat, null-prototype list; never more than `limit` of them.
    const list = (collection, forEach, limit, pairs) => {
        const entries = create(null);
        let count = 0;
        apply(forEach, collection, [(value, key) => {
            if (count < limit) {
                if (pairs) put(entries, count++, key);
                put(entries, count++, value);
            }
        }]);
        put(entries, "length", count);
        return entries;
    };

    const typedConstructors = create(null);
    for (const each of [Bytes, Uint8ClampedArray, Int8Array, Uint16Array, Int16Array, Uint32Array, Int32Array,
        BigUint64Array, BigInt64Array, Float16Array, Float32Array, Float64Array]) put(typedConstructors, each.name, each);
    const errorPrototypes = create(null);
    for (const each of [NativeError, EvalError, RangeError, ReferenceError, SyntaxError, NativeTypeError, URIError])
        put(errorPrototypes, each.name, each);
    const { isArray } = NativeArray;
    const isError = NativeError.isError;
    const valueOf = [Number, String, Boolean, BigInt].map((each) => ({ read: each.prototype.valueOf }));

    const is = (read, value) => {
        try { apply(read, value, []); return true; } catch { return false; }
    };
    const refuse = (what) => { throw new Exception(`${what} could not be cloned`, "DataCloneError"); };
    const clone = (value, seen) => {
        if (typeof value === "symbol") refuse(text(value));
        if (typeof value === "function") refuse("a function");
        if (value === null || typeof value !== "object") return value;
        const known = apply(mapGet, seen, [value]);
        if (known !== undefined) return known;
        const keep = (copy) => { apply(mapPut, seen, [value, copy]); return copy; };
        const properties = (copy) => {
            const keys = ownKeys(value);
            for (let index = 0; index < keys.length; index++) {
                const key = keys[index];
                if (typeof key === "symbol") continue;
                const slot = getOwnPropertyDescriptor(value, key);
                if (slot && slot.enumerable) put(copy, key, clone(value[key], seen));
            }
            return copy;
        };
        if (isArray(value)) {
            const copy = keep([]);
            put(copy, "length", value.length);
            return properties(copy);
        }
        if (is(getTime, value)) return keep(new NativeDate(apply(getTime, value, [])));
        if (is(source, value) && value !== NativeRegExp.prototype)
            return keep(new NativeRegExp(apply(source, value, []), flags(value)));
        if (is(mapSize, value)) {
            const copy = keep(new NativeMap());
            const entries = list(value, mapForEach, Infinity, true);
            for (let index = 0; index < entries.length; index += 2)
                apply(mapPut, copy, [clone(entries[index], seen), clone(entries[index + 1], seen)]);
            return copy;
        }
        if (is(setSize, value)) {
            const copy = keep(new NativeSet());
            const entries = list(value, setForEach, Infinity, false);
            for (let index = 0; index < entries.length; index++) apply(setAdd, copy, [clone(entries[index], seen)]);
            return copy;
        }
        if (isView(value)) {
            const name = apply(typedName, value, []);
            if (name === undefined) refuse("a DataView");
            const buffer = clone(apply(typedBuffer, value, []), seen);
            return keep(new typedConstructors[name](buffer, apply(typedOffset, value, []), apply(typedLength, value, [])));
        }
        if (value instanceof Buffer) return keep(apply(bufferSlice, value, [0]));
        if (isError(value)) {
            const message = getOwnPropertyDescriptor(value, "message");
            const kind = errorPrototypes[value.name] ?? NativeError;
            const copy = keep(message ? new kind(text(message.value)) : new kind());
            if (getOwnPropertyDescriptor(value, "cause")) put(copy, "cause", clone(value.cause, seen));
            put(copy, "stack", text(value.stack));
            return copy;
        }
        for (let index = 0; index < 4; index++) {
            if (is(valueOf[index].read, value)) return keep(Object(apply(valueOf[index].read, value, [])));
        }
        if (value instanceof Promise || value instanceof WeakMap || value instanceof WeakSet || value instanceof WeakRef)
            refuse("this object");
        return properties(keep({}));
    };

    return {
        __proto__: null,
        // An integer that fits 64 bits as its digits, anything else as undefined.
        digits: (big) => big >= -9223372036854775808n && big <= 18446744073709551615n ? text(big) : undefined,
        // The conversion that `throw` is reported with; may throw.
        text,
        wellFormed: (string) => apply(toWellFormed, string, []),
        slot: (object, key) => getOwnPropertyDescriptor(object, key),
        date: (value) => {
            const time = apply(getTime, value, []);
            return time === time ? apply(toISOString, value, []) : "Invalid Date";
        },
        pattern: (value) => `/${apply(source, value, [])}/${flags(value)}`,
        mapEntries: (value, limit) => list(value, mapForEach, limit, true),
        mapSize: (value) => apply(mapSize, value, []),
        setEntries: (value, limit) => list(value, setForEach, limit, false),
        setSize: (value) => apply(setSize, value, []),
        typedName: (value) => apply(typedName, value, []),
        typedLength: (value) => apply(typedLength, value, []),
        isError,
        // An error whose message is own data and whose class is `prototype`.
        error: (message, prototype) => {
            const made = new NativeError(message);
            if (prototype) setPrototypeOf(made, prototype);
            return made;
        },
        classOf: (name) => {
            const made = class extends NativeError {};
            defineProperty(made, "name", { __proto__: null, value: name, configurable: true });
            defineProperty(made.prototype, "name", { __proto__: null, value: name, writable: true, configurable: true });
            return made;
        },
        structuredClone: function structuredClone(value) {
            if (arguments.length === 0) throw new NativeTypeError("structuredClone needs a value");
            return clone(value, new NativeMap());
        },
    };
})()
