//! Programs and what they see: chapters 8.3 to 8.5, 8.8 and 9.1 of the Code Mode specification.

mod support;

use dsh_code::{CodeRuntime, ErrorKind, Limits, Namespace, Phase};
use support::*;

async fn check(program: &str, expected: &str) {
    assert_eq!(value(program).await, expected, "{program}");
}

async fn thrown(program: &str) -> String {
    let (kind, message) = error(program).await;
    assert_eq!(kind, ErrorKind::Exception, "{program}: {message}");
    message
}

async fn logs(program: &str) -> Vec<String> {
    let result = run(program).await;
    assert_eq!(result.error, None, "{program}");
    result.logs
}

/// C180.
#[tokio::test]
async fn a_runtime_says_what_it_is() {
    let runtime = runtime();
    assert_eq!(
        (runtime.language(), runtime.isolation()),
        ("typescript", "process")
    );
}

/// C184, C202.
#[tokio::test]
async fn completions() {
    check("return 1", "1").await;
    check("", "undefined").await;
    check("return undefined", "undefined").await;
    check("return null", "null").await;
    check("return 'a\\u20ac\\n\\0\"'", r#""a€\n\u0000\"""#).await;
    check(
        "return [1.5, -3, 1e21, 5e-324, true, {}, [], '']",
        "[1.5,-3,1e+21,5e-324,true,{},[],\"\"]",
    )
    .await;
    check("return {b: 1, a: {c: [{}]}}", r#"{"b":1,"a":{"c":[{}]}}"#).await;
    check(
        "return JSON.parse('{\"__proto__\": 1}')",
        r#"{"__proto__":1}"#,
    )
    .await;
    check(
        "return Object.assign(Object.create(null), {a: 1})",
        r#"{"a":1}"#,
    )
    .await;
    check("return {get a() { return 1 }}", r#"{"a":1}"#).await;
    check("const s = {x: 1}; return [s, s]", r#"[{"x":1},{"x":1}]"#).await;
}

/// C195, C205.
#[tokio::test]
async fn a_program_is_the_body_of_an_async_function() {
    check("const x = await Promise.resolve(2); return x * 2", "4").await;
    check("return this === undefined", "true").await;
    check(
        "return (() => { try { undeclared = 1 } catch (e) { return e.name } })()",
        r#""ReferenceError""#,
    )
    .await;
    check("return {then(r: (v: number) => void) { r(7) }}", "7").await;
    check(
        "return typeof tools + typeof ToolCallError + typeof console",
        r#""objectfunctionobject""#,
    )
    .await;
    check("return 1 // trailing", "1").await;
}

/// C196, C201.
#[tokio::test]
async fn types_are_erased() {
    check(
        "interface A { x: number }\ntype B = A | null;\nconst f = <T,>(v: T): T => v;\nlet a: A = {x: 1} as const satisfies A;\nreturn f<number>(a!.x)",
        "1",
    )
    .await;
    check("const n: string = 5 as any; return n", "5").await;
}

/// C197, C198, C200: none of these calls anything.
#[tokio::test]
async fn what_cannot_be_erased_or_parsed_never_starts() {
    for (program, named) in [
        ("tools.echo(1); enum E { A }", "enum"),
        ("tools.echo(1); import x from 'y'", "import"),
        ("tools.echo(1); export const x = 1", "export"),
        ("tools.echo(1); let a = ;", ""),
        ("tools.echo(1); let a = 1; let a = 2;", "a"),
        ("tools.echo(1) }); tools.echo(2); (async () => {", ""),
        ("tools.echo(1); return 1 } function x() {", ""),
        ("}, tools.echo(1), async function () {", ""),
    ] {
        let runtime = runtime();
        let (namespace, functions) = namespace(functions());
        let mut request = dsh_code::RunRequest::new(program);
        request.namespaces = vec![namespace];
        let result = runtime.run(request).await.unwrap();
        let error = result.error.unwrap();
        assert_eq!(error.kind, ErrorKind::Exception, "{program}");
        assert!(
            error.message.contains(named),
            "{program}: {}",
            error.message
        );
        assert_eq!(result.report.phase, Phase::Stripping, "{program}");
        assert!(functions.calls.lock().unwrap().is_empty(), "{program}");
    }
}

/// C199.
#[tokio::test]
async fn positions_are_those_of_the_author() {
    let message = thrown("let x = 1;\n\n  null!.f;").await;
    assert!(message.contains("program.ts:3:"), "{message}");
    let message = thrown("throw new Error('first')").await;
    assert!(message.contains("program.ts:1:"), "{message}");
    let column = message.rsplit_once(":1:").unwrap().1.trim_end_matches(')');
    assert!(column.parse::<usize>().unwrap() < 20, "{message}");
    let message = thrown("let a = 1;\nlet a = 2;").await;
    assert!(message.contains(":2:"), "{message}");
    let message = thrown("let a = 1;\nlet b = ;").await;
    assert!(message.contains('2'), "{message}");
    check(
        "try { null.x } catch (e) { return /program\\.ts:1:\\d+/.test(e.stack) }",
        "true",
    )
    .await;
}

/// A text that the engine does not take is an exception, not a crash.
#[tokio::test]
async fn odd_characters_in_a_program() {
    let (kind, _) = error("return 'a\0b'").await;
    assert_eq!(kind, ErrorKind::Exception);
    check("return 'é€𝄞'.length", "4").await;
    check("\u{feff}return 1", "1").await;
    check("return 1\r\n;\u{2028}", "1").await;
}

/// C203 and C120.
#[tokio::test]
async fn lossy_completions_are_refused_whole() {
    for lossy in [
        "() => 1",
        "{a: [() => 1]}",
        "-0",
        "[-0]",
        "NaN",
        "Infinity",
        "Symbol('x')",
        "{a: undefined}",
        "[undefined]",
        "[1,,2]",
        "new Array(3)",
        "Object.assign([1], {extra: 1})",
        "Object.assign([1,,], {extra: 1})",
        "{[Symbol('s')]: 1}",
        "Object.defineProperty({}, 'x', {value: 1})",
        "Object.defineProperty([1], 0, {value: 1, enumerable: false})",
        "new Date(0)",
        "new Map()",
        "/x/",
        "new Error('x')",
        "new Number(1)",
        "new Uint8Array(2)",
        "new (class A { x = 1 })()",
        "new (class extends Array {})()",
        "Object.setPrototypeOf([], null)",
        "Object.setPrototypeOf({}, Array.prototype)",
        "Object.setPrototypeOf(new Date, Object.prototype)",
        "Object.setPrototypeOf(() => 1, Object.prototype)",
        "Object.create({})",
        "(() => { const a: any = {}; a.a = a; return a })()",
        "(() => { const a: any[] = []; a.push([a]); return a })()",
        "{get a() { throw new Error('x') }}",
        "(() => { const a: any[] = [1, 2]; Object.defineProperty(a, 0, {get() { a.length = 1; return 1 }, enumerable: true}); return a })()",
        "18446744073709551616n",
        "-9223372036854775809n",
        "'\\ud800'",
        "{'\\udfff': 1}",
        "new Proxy({}, {})",
        "(() => { const r = Proxy.revocable({}, {}); r.revoke(); return [r.proxy] })()",
    ] {
        let (kind, message) = error(&format!("return {lossy}")).await;
        assert_eq!(
            (kind, message.as_str()),
            (
                ErrorKind::InvalidOutput,
                "program completion must be lossless JSON"
            ),
            "{lossy}"
        );
    }
}

/// D2.
#[tokio::test]
async fn integers_stay_exact() {
    check("return 2 ** 53", "9007199254740992").await;
    // A double, printed as the language prints it.
    check("return 2 ** 60", "1152921504606847000").await;
    // The one whose printed digits no 64-bit integer has, though its value is one.
    check("return -(2 ** 63)", "-9223372036854775808").await;
    check("return 2 ** 64", "18446744073709552000").await;
    check("return 2n ** 60n", "1152921504606846976").await;
    check("return 18446744073709551615n", "18446744073709551615").await;
    check("return -9223372036854775808n", "-9223372036854775808").await;
    check(
        "return await tools.echo([9007199254740993n, 1n, -5n])",
        "[9007199254740993,1,-5]",
    )
    .await;
    check(
        "return typeof await tools.echo(9007199254740993n)",
        r#""bigint""#,
    )
    .await;
    check(
        "return typeof await tools.echo(9007199254740992n)",
        r#""number""#,
    )
    .await;
}

/// D4: the limit is the same in both directions.
#[tokio::test]
async fn nesting_has_a_limit() {
    let nested =
        |depth: usize| format!("let v: any = null; for (let i = 0; i < {depth}; i++) v = [v]; ");
    check(
        &format!(
            "{} const w = await tools.echo(v); return JSON.stringify(w).length",
            nested(512)
        ),
        "1028",
    )
    .await;
    let refused = format!(
        "{} try {{ await tools.echo(v) }} catch (e) {{ return e.message }}",
        nested(513)
    );
    check(&refused, r#""binding arguments must be lossless JSON""#).await;
    assert_eq!(
        error(&format!("{} return v", nested(513))).await.0,
        ErrorKind::InvalidOutput
    );
    assert_eq!(
        error(&format!("{} return v", nested(1_000_000))).await.0,
        ErrorKind::InvalidOutput
    );
}

/// C204.
#[tokio::test]
async fn uncaught_throws() {
    assert!(
        thrown("throw new RangeError('out')")
            .await
            .starts_with("RangeError: out\n")
    );
    assert_eq!(thrown("throw 'text'").await, "text");
    assert_eq!(thrown("throw 42").await, "42");
    assert_eq!(thrown("throw null").await, "null");
    assert_eq!(thrown("throw undefined").await, "undefined");
    assert_eq!(thrown("throw Symbol('s')").await, "Symbol(s)");
    assert_eq!(thrown("throw {}").await, "[object Object]");
    assert_eq!(thrown("throw {toString() { return 'mine' }}").await, "mine");
    let unrenderable = "program threw an unrenderable value";
    assert_eq!(thrown("throw {toString() { throw 1 }}").await, unrenderable);
    assert_eq!(thrown("throw Object.create(null)").await, unrenderable);
    assert_eq!(
        thrown("const e = new Error('m'); Object.defineProperty(e, 'stack', {value: 42}); throw e")
            .await,
        "42"
    );
    let bare =
        "const e = new Error('m'); Object.defineProperty(e, 'stack', {value: undefined}); throw e";
    assert!(thrown(bare).await.starts_with("Error: m"));
    assert!(
        thrown("await Promise.reject(new Error('rejected'))")
            .await
            .contains("rejected")
    );
    assert!(thrown("const e = new Error('m'); Object.defineProperty(e, 'message', {get() { throw 1 }}); throw e").await.contains("Error"));
    assert!(
        thrown("class Mine extends Error { name = 'Mine' }; throw new Mine('x')")
            .await
            .starts_with("Mine: x")
    );
    assert_eq!(thrown("throw 'a\\ud800b'").await, "a\u{fffd}b");
}

/// C208, C209, C210, C129.
#[tokio::test]
async fn console() {
    assert_eq!(
        logs("console.log('point', {x: 1, y: 2}); console.info('got', 42); console.warn(); console.error('%s', 'x'); console.debug('a\\n')").await,
        ["point { x: 1, y: 2 }", "got 42", "", "%s x", "a\n"]
    );
    check("return [Object.keys(console), Object.getPrototypeOf(console), console.trace === undefined]", r#"[["log","info","warn","error","debug"],null,true]"#).await;
    for (source, shown) in [
        ("[1, 'two', [3]]", "[ 1, 'two', [ 3 ] ]"),
        ("[]", "[]"),
        ("{}", "{}"),
        ("-0", "-0"),
        ("10n", "10n"),
        ("undefined, null, true", "undefined null true"),
        ("Symbol('s')", "Symbol(s)"),
        ("() => 1", "[Function (anonymous)]"),
        ("function named() {}", "[Function: named]"),
        ("class Named {}", "[Function: Named]"),
        ("new (class Point { x = 1 })()", "Point { x: 1 }"),
        ("Object.create(null)", "[Object: null prototype] {}"),
        ("new Error('bad')", "[Error: bad]"),
        ("new TypeError()", "[TypeError]"),
        ("new Map([['k', {v: 1}]])", "Map(1) { 'k' => { v: 1 } }"),
        ("new Set([1, 2])", "Set(2) { 1, 2 }"),
        ("new Uint8Array([1, 2])", "Uint8Array(2) [ 1, 2 ]"),
        ("new Date(0)", "1970-01-01T00:00:00.000Z"),
        ("/a+/gi", "/a+/gi"),
        ("Promise.resolve(1)", "Promise { <resolved> }"),
        ("{get a() { throw 1 }}", "{ a: [Getter] }"),
        (
            "new Proxy({}, {get() { throw 1 }, ownKeys() { throw 1 }})",
            "[Proxy]",
        ),
        ("{'a-b': 1, 2: 3}", "{ '2': 3, 'a-b': 1 }"),
        ("{a: \"it's\"}", "{ a: \"it's\" }"),
        ("[1,,,4]", "[ 1, <2 empty items>, 4 ]"),
        (
            "{a: {b: {c: {d: {e: {f: 1}}}}}}",
            "{ a: { b: { c: { d: { e: [Object] } } } } }",
        ),
        (
            "(() => { const a: any = {}; a.self = a; return a })()",
            "{ self: [Circular] }",
        ),
        ("'\\ud800'", "\u{fffd}"),
        (
            "new Array(200).fill(0).map((_, i) => i).slice(0, 101)",
            &format!(
                "[ {}, ... 1 more item ]",
                (0..100)
                    .map(|i| i.to_string())
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        ),
        (
            "['x'.repeat(10001)]",
            &format!("[ '{}'... 1 more characters ]", "x".repeat(10_000)),
        ),
    ] {
        assert_eq!(
            logs(&format!("console.log({source})")).await,
            [shown],
            "{source}"
        );
    }
}

/// C211, C213.
#[tokio::test]
async fn logs_survive_failures() {
    let result = run("console.log('before'); throw 1").await;
    assert_eq!(result.logs, ["before"]);
    let limits = Limits {
        compute_ms: 200,
        ..limits()
    };
    let result = run_within("console.log('before'); for (;;) {}", limits).await;
    assert_eq!(result.logs, ["before"]);
    assert_eq!(result.error.unwrap().kind, ErrorKind::Timeout);
}

/// C118, C194, C247.
#[tokio::test]
async fn namespaces() {
    check("return await tools['__proto__'](1)", "1").await;
    check("return await tools.constructor(2)", "2").await;
    check("return await tools['my-tool']({})", r#""hyphen""#).await;
    check(
        "return [typeof tools.hasOwnProperty, typeof tools.toString, Object.getPrototypeOf(tools)]",
        r#"["undefined","undefined",null]"#,
    )
    .await;
    assert!(
        thrown("await tools.missing({})")
            .await
            .starts_with("TypeError")
    );
    check(
        "try { tools.echo = 1 } catch (e) { return e.name }",
        r#""TypeError""#,
    )
    .await;
    check(
        "try { delete tools.echo } catch (e) { return e.name }",
        r#""TypeError""#,
    )
    .await;
}

/// C234, C125, C127, C246.
#[tokio::test]
async fn a_lossy_argument_rejects_its_call_and_nothing_else() {
    let runtime = runtime();
    let (namespace, functions) = namespace(functions());
    let mut request = dsh_code::RunRequest::new(
        "const texts: string[] = [];
        for (const bad of [() => 1, -0, {a: undefined}, Promise.resolve(1), {then() {}}, Symbol('x'), new Date()]) {
            try { await tools.echo(bad) } catch (e) { texts.push(e instanceof ToolCallError && e.toolName === 'echo' ? e.message : 'wrong') }
        }
        try { await tools.echo() } catch (e) { texts.push(e.message) }
        await tools.echo('fine', () => 'ignored');
        return texts",
    );
    request.namespaces = vec![namespace];
    let value = runtime.run(request).await.unwrap().value.unwrap();
    let texts: Vec<String> = value.decode().unwrap();
    assert_eq!(texts.len(), 8);
    assert!(
        texts[..7]
            .iter()
            .all(|text| text == "binding arguments must be lossless JSON"),
        "{texts:?}"
    );
    assert!(
        texts[7].contains("lossless JSON") && texts[7].contains("{}"),
        "{texts:?}"
    );
    let calls = functions.calls.lock().unwrap();
    assert_eq!(*calls, [("echo".to_owned(), r#""fine""#.to_owned())]);
}

/// C235, C236.
#[tokio::test]
async fn a_failed_call_is_an_error_of_the_namespace() {
    check(
        "try { await tools.fail({message: 'no such file'}) } catch (e) {
            return [e instanceof ToolCallError, e instanceof Error, Object.hasOwn(e, 'name'), e.name, Object.hasOwn(e, 'toolName'), e.toolName, e.message, String(e)]
        }",
        r#"[true,true,true,"ToolCallError",true,"fail","no such file","ToolCallError: no such file"]"#,
    )
    .await;
    assert!(
        thrown("await tools.fail({message: 'no such file'})")
            .await
            .starts_with("ToolCallError: no such file")
    );
    let runtime = runtime();
    let namespaces = |class: Option<(&str, &str)>| {
        let (namespace, _) = namespace(functions());
        vec![Namespace {
            global: "helpers".to_owned(),
            error_class: class.map(|(name, property)| dsh_code::ErrorClass {
                name: name.to_owned(),
                member_property: property.to_owned(),
            }),
            ..namespace
        }]
    };
    let mut request = dsh_code::RunRequest::new(
        "try { await helpers.fail({}) } catch (e) { return [e instanceof HelperCallError, e.helperName, e.name] }",
    );
    request.namespaces = namespaces(Some(("HelperCallError", "helperName")));
    let result = runtime.run(request).await.unwrap();
    assert_eq!(
        result.value.unwrap().to_json(),
        r#"[true,"fail","HelperCallError"]"#
    );
    let mut request = dsh_code::RunRequest::new(
        "try { await helpers.fail({}) } catch (e) { return [e.constructor === Error, e.name, Object.keys(e)] }",
    );
    request.namespaces = namespaces(None);
    let result = runtime.run(request).await.unwrap();
    assert_eq!(result.value.unwrap().to_json(), r#"[true,"Error",[]]"#);
}

/// C122, C123, C124, C223.
#[tokio::test]
async fn arguments_are_detached() {
    check(
        "const a: any = {n: 0}; let reads = 0;
        const p = tools.later({get x() { return ++reads }, a}); a.n = 9;
        const b = await p; return [b, reads]",
        r#"[{"x":1,"a":{"n":0}},1]"#,
    )
    .await;
    check("const r = await tools.echo({}); Object.prototype.hasOwnProperty.call(r, 'x'); r.x = 1; return r", r#"{"x":1}"#).await;
    check(
        "return (await tools.echo('x'.repeat(2_000_000))).length",
        "2000000",
    )
    .await;
    check("return (await Promise.all(Array.from({length: 200}, (_, i) => tools.later(i)))).reduce((a, b) => a + b)", "19900").await;
}

/// D15.
#[tokio::test]
async fn timers() {
    check("await new Promise(r => setTimeout(r, 5)); return 1", "1").await;
    check(
        "return await new Promise(r => setTimeout((a, b) => r([a, b]), 0, 1, 2))",
        "[1,2]",
    )
    .await;
    check(
        "const order: number[] = []; setTimeout(() => order.push(2), 20); setTimeout(() => order.push(1), 1);
        const t = setTimeout(() => order.push(3), 2); clearTimeout(t); clearTimeout('x'); clearTimeout();
        await new Promise(r => setTimeout(r, 40)); return order",
        "[1,2]",
    )
    .await;
    check(
        "try { setTimeout('code') } catch (e) { return e.name }",
        r#""TypeError""#,
    )
    .await;
    check("return typeof setInterval", r#""undefined""#).await;
    let result = run("setTimeout(() => { throw new Error('late') }, 1); await new Promise(r => setTimeout(r, 5)); return 1").await;
    assert_eq!(result.value.unwrap().to_json(), "1");
    assert_eq!(result.report.rejections, ["[Error: late]"]);
}

/// D15, C255, CM-01.
#[tokio::test]
async fn a_program_that_can_never_settle_fails_at_once() {
    for program in [
        "await new Promise(() => {})",
        "return new Promise(() => {})",
        "await tools.echo(1); await new Promise(() => {})",
    ] {
        let message = thrown(program).await;
        assert!(
            message.contains("nothing can settle"),
            "{program}: {message}"
        );
    }
}

/// D15, C277, CM-01, CM-02.
#[tokio::test]
async fn strays_are_reported_and_decide_nothing() {
    let result = run(
        "tools.echo(1); const p = tools.later(2); tools.fail({message: 'lost'}); await tools.echo(3);
        tools.echo(4).then(() => {}); await Promise.all([tools.echo(5), p]); Promise.reject(new TypeError('stray'));
        const handled = Promise.reject(1); handled.catch(() => {}); await 0; return 'fine'",
    )
    .await;
    assert_eq!(result.error, None);
    assert_eq!(result.value.unwrap().to_json(), r#""fine""#);
    assert_eq!(result.report.unawaited, ["tools.echo", "tools.fail"]);
    assert_eq!(
        result.report.rejections,
        ["[ToolCallError: lost]", "[TypeError: stray]"]
    );
    let result = run("throw new Error('only the outcome')").await;
    assert_eq!(result.report.rejections, Vec::<String>::new());
}

/// C249, C250, C251.
#[tokio::test]
async fn the_world_of_a_program() {
    check("return eval('1 + 1') + new Function('return 3')()", "5").await;
    check(
        "return await (async () => {}).constructor('return 4')()",
        "4",
    )
    .await;
    check(
        "try { await import('fs') } catch (e) { return e instanceof Error }",
        "true",
    )
    .await;
    check(
        "return ['process', 'require', 'Buffer', 'fetch', 'WebSocket', 'XMLHttpRequest', 'Deno', 'Bun', 'std', 'os', 'load', 'print', 'module', 'exports', '__dirname', 'navigator', 'scriptArgs', 'gc']
            .filter(name => typeof (globalThis as any)[name] !== 'undefined')",
        "[]",
    )
    .await;
    check("return [atob('aGk='), btoa('hi')]", r#"["hi","aGk="]"#).await;
    check(
        "return [...new TextEncoder().encode('é\\ud800')]",
        "[195,169,239,191,189]",
    )
    .await;
    check(
        "return new TextDecoder().decode(new Uint8Array([195, 169, 255]))",
        "\"é\u{fffd}\"",
    )
    .await;
    check("try { new TextDecoder('utf-8', {fatal: true}).decode(new Uint8Array([255])) } catch (e) { return e.name }", r#""TypeError""#).await;
    check(
        "return new TextDecoder().decode(new TextEncoder().encode('round').buffer)",
        r#""round""#,
    )
    .await;
}

#[tokio::test]
async fn structured_clone() {
    check(
        "const a: any = {d: new Date(5), m: new Map([[1, {x: 1}]]), s: new Set([2]), r: /x/gi, t: new Uint8Array([1, 2]), l: [1, , 3], e: new RangeError('no')};
        a.self = a; const b = structuredClone(a);
        return [b !== a, b.self === b, b.d.getTime(), b.m.get(1).x, b.m.get(1) !== a.m.get(1), b.s.has(2), String(b.r), [...b.t], b.l.length, 1 in b.l, b.e instanceof RangeError, b.e.message]",
        r#"[true,true,5,1,true,true,"/x/gi",[1,2],3,false,true,"no"]"#,
    )
    .await;
    for bad in [
        "() => 1",
        "Symbol('x')",
        "{f() {}}",
        "Promise.resolve(1)",
        "new WeakMap()",
    ] {
        check(
            &format!("try {{ structuredClone({bad}) }} catch (e) {{ return e.name }}"),
            r#""DataCloneError""#,
        )
        .await;
    }
    check(
        "return structuredClone(1) + structuredClone('a')",
        r#""1a""#,
    )
    .await;
}

/// C240, C241: the whole list, and then everything still works.
#[tokio::test]
async fn a_broken_world_alters_nothing_at_the_boundary() {
    let tamper = "
        const g: any = globalThis;
        const boom = () => { throw new Error('tampered') };
        Array.isArray = boom as any;
        for (const key of Object.getOwnPropertyNames(Array.prototype)) if (key !== 'constructor' && key !== 'length') try { (Array.prototype as any)[key] = boom } catch {}
        for (const key of ['keys', 'defineProperty', 'getOwnPropertyDescriptor', 'getPrototypeOf', 'setPrototypeOf', 'hasOwn', 'is', 'create', 'entries', 'fromEntries', 'freeze']) (Object as any)[key] = boom;
        Object.prototype.propertyIsEnumerable = boom;
        Number.isFinite = boom as any; Number.isSafeInteger = boom as any;
        Reflect.apply = boom as any; Reflect.ownKeys = boom as any; Reflect.getPrototypeOf = boom as any; Reflect.getOwnPropertyDescriptor = boom as any; Reflect.defineProperty = boom as any;
        Set.prototype.has = boom; Set.prototype.add = boom; Map.prototype.get = boom; Map.prototype.set = boom;
        for (const key of ['charCodeAt', 'slice', 'indexOf', 'replace', 'toString', 'valueOf', 'split', 'toWellFormed']) (String.prototype as any)[key] = boom;
        Function.prototype.toString = boom; Function.prototype.call = boom; Function.prototype.apply = boom; Function.prototype.bind = boom;
        Error.prototype.toString = boom;
        (Error as any).prepareStackTrace = boom; (Error as any).stackTraceLimit = 0;
        JSON.stringify = boom as any; JSON.parse = boom as any;
        (Promise as any).resolve = boom; (Promise as any).reject = boom; (Promise as any).all = boom;
        (Symbol as any).species; g.queueMicrotask = boom; g.structuredClone = boom; g.TextEncoder = undefined;
        Object.prototype.constructor = boom as any; Array.prototype.constructor = boom as any;
        for (const key of ['get', 'set', 'value', 'writable', 'enumerable', 'configurable']) (Object.prototype as any)[key] = 'planted';
        for (const key of ['Array', 'Error', 'Function', 'Number', 'Object', 'Reflect', 'Set', 'Map', 'String', 'Symbol', 'JSON', 'BigInt', 'Date', 'RegExp', 'InternalError', 'console', 'Promise']) g[key] = undefined;
    ";
    let program = format!(
        "{tamper}
        const echoed = await tools.echo({{list: [1, {{a: 'b'}}], text: 'x', big: 9007199254740993n}});
        let failed: any; try {{ await tools.fail({{message: 'still'}}) }} catch (e) {{ failed = e }}
        console.log('log', {{x: [1]}}, echoed.big);
        return {{list: echoed.list, text: echoed.text, ok: failed instanceof ToolCallError, message: failed.message, tool: failed.toolName, name: failed.name}}"
    );
    let result = run(&program).await;
    assert_eq!(result.error, None);
    assert_eq!(
        result.value.unwrap().to_json(),
        r#"{"list":[1,{"a":"b"}],"text":"x","ok":true,"message":"still","tool":"fail","name":"ToolCallError"}"#
    );
    assert_eq!(result.logs.len(), 1);
    assert!(
        result.logs[0].starts_with("log ") && result.logs[0].contains("9007199254740993n"),
        "{:?}",
        result.logs
    );
    // `await` does not need `then`; and a program that needs what it broke fails by itself.
    check(
        "Promise.prototype.then = () => { throw 1 }; return await tools.echo(1)",
        "1",
    )
    .await;
    let (kind, _) = error(&format!("{tamper} throw new ToolCallError('x')")).await;
    assert_eq!(kind, ErrorKind::Exception);
}

/// C241: a setter or a `then` that a program plants is its own affair, and stays inside.
#[tokio::test]
async fn planted_setters_see_no_data() {
    check(
        "let seen = 0; Object.defineProperty(Object.prototype, 'secret', {set() { seen++ }, configurable: true});
        Object.defineProperty(Array.prototype, 0, {set() { seen++ }, configurable: true});
        const r = await tools.echo(JSON.parse('{\"secret\": 1, \"list\": [7]}'));
        delete (Array.prototype as any)[0];
        return [seen, r.secret, r.list.length, Object.hasOwn(r, 'secret')]",
        "[0,1,1,true]",
    )
    .await;
}

/// C241: settling a call may run code of the program, which may call and print in turn.
#[tokio::test]
async fn settling_may_run_code_that_calls() {
    let result = run(
        "Object.defineProperty(Object.prototype, 'then', {get() { console.log('looked'); tools.echo(1); return undefined }, configurable: true});
        const r = await tools.echo({a: 1}); delete (Object.prototype as any).then; return r.a",
    )
    .await;
    assert_eq!(result.error, None);
    assert_eq!(result.value.unwrap().to_json(), "1");
    assert!(result.logs.contains(&"looked".to_owned()));
}

/// C242, C243, C244, C248.
#[tokio::test]
async fn pretenders_are_lossy() {
    for pretender in [
        "Object.setPrototypeOf({x: 1}, Object.create(null, {constructor: {value: function Object() {}}}))",
        "(() => { Function.prototype.toString = () => 'function Object() { [native code] }'; return new (class Object {})() })()",
        "Object.setPrototypeOf([1], Object.setPrototypeOf({...Array.prototype}, Array.prototype))",
        "{a: 1, constructor: (() => { const r = Proxy.revocable(function () {}, {}); r.revoke(); return r.proxy })()}",
    ] {
        assert_eq!(
            error(&format!("return {pretender}")).await.0,
            ErrorKind::InvalidOutput,
            "{pretender}"
        );
    }
    check("let n = 0; const v = {get a() { return ++n }}; await tools.echo(v); return [n, (await tools.echo(v)).a]", "[1,2]").await;
    check("const e = new ToolCallError('mine'); return [e.message, e instanceof ToolCallError, e.toolName === undefined]", r#"["mine",true,true]"#).await;
    assert!(
        thrown(
            "throw Object.assign(new Error('looks'), {name: 'ToolCallError', toolName: 'echo'})"
        )
        .await
        .contains("looks")
    );
}

/// C186, C252.
#[tokio::test]
async fn nothing_survives_a_run() {
    let runtime = runtime();
    let first =
        "globalThis.leak = 1; Object.prototype.leak = 2; setTimeout(() => {}, 60000); return 1";
    let second = "return [typeof (globalThis as any).leak, ({} as any).leak === undefined]";
    assert_eq!(runtime.run(request(first)).await.unwrap().error, None);
    let result = runtime.run(request(second)).await.unwrap();
    assert_eq!(result.value.unwrap().to_json(), r#"["undefined",true]"#);
    let both = futures_util::future::join(
        runtime.run(request("await tools.later(1); return 'a'")),
        runtime.run(request("await tools.later(2); return 'b'")),
    );
    let (a, b) = both.await;
    assert_eq!(a.unwrap().value.unwrap().to_json(), r#""a""#);
    assert_eq!(b.unwrap().value.unwrap().to_json(), r#""b""#);
}
