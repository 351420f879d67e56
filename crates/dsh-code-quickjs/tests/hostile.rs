//! Hostile programs: chapters 8.6, 8.7 and 9.2 of the Code Mode specification.
//!
//! Each test asserts which limit fired (CM-09) and that no process is left. How far a budget was overrun is printed.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a broken test environment; overruns are told"
)]

mod support;

use std::time::{Duration, Instant};

use dsh_code::{CodeRuntime, ErrorKind, Limit, Limits, RunResult};
use support::*;

/// A run is over at the latest so long after its budget.
const BOUND: Duration = Duration::from_secs(2);

const COMPUTE_MS: u64 = 200;

fn tight() -> Limits {
    Limits {
        compute_ms: COMPUTE_MS,
        wall_ms: 30_000,
        memory_bytes: 64 << 20,
        ..Limits::default()
    }
}

async fn timed(program: &str, limits: Limits, budget_ms: u64) -> RunResult {
    let runtime = runtime();
    let mut request = request(program);
    request.limits = Some(limits);
    let start = Instant::now();
    let result = runtime.run(request).await.unwrap();
    let elapsed = start.elapsed();
    let over = elapsed.saturating_sub(Duration::from_millis(budget_ms));
    println!("{:>6} ms over: {program:.70}", over.as_millis());
    assert!(over < BOUND, "{program}: {elapsed:?}");
    let start = Instant::now();
    runtime.dispose().await;
    assert!(
        start.elapsed() < BOUND,
        "{program}: {:?} to reap",
        start.elapsed()
    );
    assert_eq!(runtime.workers(), 0);
    #[cfg(target_os = "linux")]
    assert_eq!(children(), Default::default(), "{program}");
    result
}

async fn exhausts_compute(program: &str) {
    let result = timed(program, tight(), COMPUTE_MS).await;
    let error = result.error.unwrap_or_else(|| panic!("{program} succeeds"));
    assert_eq!(
        error.kind,
        ErrorKind::Timeout,
        "{program}: {}",
        error.message
    );
    assert!(
        error.message.starts_with("compute budget exhausted ("),
        "{program}: {}",
        error.message
    );
    assert_eq!(result.report.limit, Some(Limit::Compute), "{program}");
}

/// C253, C254, C257.
#[tokio::test]
async fn endless_loops_end_by_the_compute_budget() {
    let _turn = TURN.lock().await;
    for program in [
        "for (;;) {}",
        "for (;;) { try { for (;;) {} } catch {} finally { for (;;) {} } }",
        "try { for (;;) {} } finally { await tools.echo('finally ran') }",
        "await 0; for (;;) {}",
        "for (;;) await 0",
        "const again = () => { Promise.resolve().then(again) }; again(); await new Promise(() => {})",
        "queueMicrotask(function again() { queueMicrotask(again) }); await new Promise(() => {})",
        "return {get x() { for (;;) {} }}",
        "await tools.echo({get x() { for (;;) {} }})",
        "throw {toString() { for (;;) {} }}",
        "const e = new Error(); Object.defineProperty(e, 'stack', {get() { for (;;) {} }}); throw e",
        "return {then() { for (;;) {} }}",
        "setTimeout(() => { for (;;) {} }, 1); await new Promise(() => {})",
        "tools.never({}); for (;;) {}",
        "/(a+)+$/.test('a'.repeat(40) + 'b')",
        "/^(([a-z])+.)+[A-Z]([a-z])+$/.test('a'.repeat(60))",
        "eval('for (;;) {}')",
        "new Function('for (;;) {}')()",
        "class A { static { for (;;) {} } }",
        "[1, 2].sort(() => { for (;;) {} })",
        "new Proxy({}, {get() { for (;;) {} }}).x",
        "function* g() { for (;;) yield 1 } for (const _ of g()) {}",
        "JSON.parse('[1]', () => { for (;;) {} })",
        "Error.prepareStackTrace = () => { for (;;) {} }; try { await tools.fail({}) } catch {}",
    ] {
        exhausts_compute(program).await;
    }
}

/// C256: what the engine does not interrupt is ended from outside.
#[tokio::test]
async fn long_native_operations_end_by_the_compute_budget() {
    let _turn = TURN.lock().await;
    for program in [
        "const s = 'a'.repeat(20_000_000); for (;;) s.indexOf('b')",
        "const a = new Array(2_000_000).fill(1); for (;;) a.indexOf(2)",
        "const a = new Array(1_000_000).fill('xy'); for (;;) a.join('-')",
        "const a = Array.from({length: 500_000}, (_, i) => i % 7); for (;;) a.slice().sort()",
        "const a = new Array(1_000_000).fill(1.5); for (;;) JSON.stringify(a)",
        "const t = new Float64Array(2_000_000); for (;;) t.fill(1.5)",
        "for (;;) 'x'.repeat(10_000_000).split('')",
        "let b = 3n; for (;;) b = b * b",
        "[].indexOf.call({length: 2 ** 53 - 1}, 1)",
        "Array.prototype.includes.call({length: 2 ** 53 - 1}, 1)",
        "new Array(2 ** 32 - 1).reverse()",
        "return Array.from({length: 2 ** 32 - 1})",
    ] {
        let result = timed(
            program,
            Limits {
                memory_bytes: 512 << 20,
                ..tight()
            },
            COMPUTE_MS,
        )
        .await;
        let error = result.error.unwrap_or_else(|| panic!("{program} succeeds"));
        match result.report.limit {
            Some(Limit::Compute) => assert_eq!(error.kind, ErrorKind::Timeout, "{program}"),
            // A few of them need the memory before they need the time.
            Some(Limit::Memory) => assert_eq!(error.kind, ErrorKind::WorkerExit, "{program}"),
            // And some the engine refuses as what they are.
            limit => assert_eq!(
                (limit, error.kind),
                (None, ErrorKind::Exception),
                "{program}: {}",
                error.message
            ),
        }
    }
}

/// C230, C260.
#[tokio::test]
async fn memory_bombs_end_by_the_memory_cap() {
    let _turn = TURN.lock().await;
    for program in [
        "const a = []; for (;;) a.push(new Array(1000).fill(0))",
        "const a = []; for (;;) a.push({})",
        "let s = 'x'; const a = []; for (;;) a.push(s += s.slice(0, 1_000_000) + 'y')",
        "new ArrayBuffer(1_000_000_000)",
        "const m = new Map(); for (let i = 0;; i++) m.set(i, 'value ' + i)",
        "const f: any = (n: number) => [n, () => f]; const a = []; for (let i = 0;; i++) a.push(f(i))",
        "const a = []; for (;;) a.push(new Uint8Array(1 << 20))",
        "for (let a: any = [];;) a = [a, new Array(100)]",
        "const again = (): any => Promise.resolve().then(again); await again()",
    ] {
        let result = timed(
            program,
            Limits {
                compute_ms: 20_000,
                ..tight()
            },
            10_000,
        )
        .await;
        let error = result.error.unwrap_or_else(|| panic!("{program} succeeds"));
        assert_eq!(
            error.kind,
            ErrorKind::WorkerExit,
            "{program}: {}",
            error.message
        );
        assert!(
            error.message.contains("67108864 bytes"),
            "{program}: {}",
            error.message
        );
        assert_eq!(result.report.limit, Some(Limit::Memory), "{program}");
    }
}

/// C260: a program that catches it goes on under the same cap.
#[tokio::test]
async fn caught_memory_exhaustion_is_survived() {
    let _turn = TURN.lock().await;
    let program = "try { const a = []; for (;;) a.push(new Array(1000).fill(0)) } catch (e) { } return 'alive'";
    let result = timed(
        program,
        Limits {
            compute_ms: 20_000,
            ..tight()
        },
        10_000,
    )
    .await;
    assert_eq!(result.error, None);
    assert_eq!(result.value.unwrap().to_json(), r#""alive""#);
    let runtime = runtime();
    let bomb = runtime
        .run(request("const a = []; for (;;) a.push({})"))
        .await
        .unwrap();
    assert_eq!(bomb.report.limit, Some(Limit::Memory));
    let next = runtime.run(request("return 1")).await.unwrap();
    assert_eq!(next.error, None);
}

/// C258, C259.
#[tokio::test]
async fn recursion_is_an_error_of_the_program() {
    let _turn = TURN.lock().await;
    for program in [
        "const f = () => f(); f()",
        "const f = (): any => [f()]; return f()",
        "let o: any = {}; const top = o; for (let i = 0; i < 200_000; i++) o = o.x = {}; JSON.stringify(top)",
        "let s = '['.repeat(200_000); JSON.parse(s)",
        "let f: any = () => 1; for (let i = 0; i < 100_000; i++) f = f.bind(null); f()",
        "let p: any = {}; for (let i = 0; i < 100_000; i++) p = new Proxy(p, {}); p.x",
        "class A { toString(): any { return `${this}` } } `${new A()}`",
        "const a: any = []; a[0] = a; String(a); const b: any[] = []; let c: any = b; for (let i = 0; i < 100_000; i++) { const d: any[] = []; c.push(d); c = d } String(b)",
        "eval('('.repeat(100_000))",
        "new RegExp('('.repeat(100_000))",
        "const g: any = {get x() { return this.x }}; g.x",
        "let v: any = null; for (let i = 0; i < 100_000; i++) v = [v]; structuredClone(v)",
        "async function f(): Promise<any> { return await f() } await f()",
    ] {
        let result = timed(
            program,
            Limits {
                compute_ms: 5_000,
                memory_bytes: 256 << 20,
                ..tight()
            },
            5_000,
        )
        .await;
        if let Some(error) = result.error {
            // A chain of calls may need the memory before it needs the stack.
            let expected = match result.report.limit {
                Some(Limit::Memory) => ErrorKind::WorkerExit,
                Some(Limit::Compute) => ErrorKind::Timeout,
                _ => ErrorKind::Exception,
            };
            assert_eq!(error.kind, expected, "{program}: {}", error.message);
            assert!(
                !error.message.contains("signal"),
                "{program}: {}",
                error.message
            );
        }
    }
    let caught =
        "const f = () => f(); try { f() } catch (e) { return [e.name, await tools.echo(1)] }";
    assert_eq!(value(caught).await, r#"["RangeError",1]"#);
}

/// C259, C276: the parser is the worker's, and so is its stack.
#[tokio::test]
async fn nested_sources_end_in_an_exception() {
    let _turn = TURN.lock().await;
    let nested = |open: &str, middle: &str, close: &str| {
        format!(
            "return {}{middle}{}",
            open.repeat(30_000),
            close.repeat(30_000)
        )
    };
    for program in [
        nested("(", "1", ")"),
        nested("[", "", "]"),
        nested("{a:", "1", "}"),
        nested("!", "1", ""),
        nested("- ", "1", ""),
        nested("typeof ", "1", ""),
        nested("1?1:", "1", ""),
        nested("1?", "1", ":1"),
        nested("a=>", "1", ""),
        nested("a=>{", "", "}"),
        nested("`${", "1", "}`"),
        nested("1+(", "1", ")"),
        nested("f(", "", ")"),
        nested("new ", "X", ""),
        nested("await ", "1", ""),
        nested("a[", "1", "]"),
        nested("1**", "1", ""),
        nested("<T>", "1", ""),
        nested("function(){", "", "}"),
        nested("class{[", "1", "]}"),
        format!("{}{}", "{".repeat(30_000), "}".repeat(30_000)),
        format!("{} x{}", "if(1)".repeat(30_000), ";"),
        format!("let x: {}1{}", "[".repeat(30_000), "]".repeat(30_000)),
        format!("let x: {}1{}", "A<".repeat(30_000), ">".repeat(30_000)),
        format!("let x: {}1", "keyof ".repeat(30_000)),
        "a:".repeat(30_000),
    ] {
        let limits = Limits {
            compute_ms: 5_000,
            source_bytes: 1 << 20,
            ..tight()
        };
        let result = timed(&program, limits, 5_000).await;
        // Some of them are legal and not even deep for this parser; none of them harms anything.
        if let Some(error) = result.error {
            let expected = match result.report.limit {
                Some(Limit::Memory) => ErrorKind::WorkerExit,
                _ => ErrorKind::Exception,
            };
            assert_eq!(
                error.kind, expected,
                "{program:.40}: {:.200}",
                error.message
            );
        }
    }
}

/// C261, C214, C217.
#[tokio::test]
async fn output_floods_end_by_the_output_limit() {
    let _turn = TURN.lock().await;
    for program in [
        "for (;;) console.log('flood')",
        "console.log('x'.repeat(2_000_000))",
        "for (;;) console.log(new Array(100).fill('x'.repeat(10_000)))",
        "for (;;) console.log()",
        "return 'x'.repeat(2_000_000)",
        "return new Array(600_000).fill(0)",
        "throw 'x'.repeat(2_000_000)",
        "throw new Error('x'.repeat(2_000_000))",
        "const e = new Error('x'); Object.defineProperty(e, 'stack', {value: 'y'.repeat(2_000_000)}); throw e",
        "console.log('x'.repeat(1_000_000)); return 'y'.repeat(100_000)",
    ] {
        let limits = Limits {
            output_bytes: 1 << 20,
            compute_ms: 10_000,
            ..tight()
        };
        let result = timed(program, limits, 5_000).await;
        let error = result.error.unwrap_or_else(|| panic!("{program} succeeds"));
        assert_eq!(
            error.kind,
            ErrorKind::OutputLimit,
            "{program}: {:.100}",
            error.message
        );
        assert_eq!(error.message, "outer output exceeded 1048576 bytes");
        assert_eq!(result.report.limit, Some(Limit::Output), "{program}");
        assert_eq!(result.value, None);
        let size = serde_json::to_string(&result.logs).unwrap().len()
            + serde_json::to_string(&error.message).unwrap().len();
        assert!(size <= 1 << 20, "{program}: {size}");
    }
}

/// C216, at and over the cap, through the whole way.
#[tokio::test]
async fn the_cap_is_exact() {
    let _turn = TURN.lock().await;
    let runtime = runtime();
    for (program, cap, fits) in [
        ("return '€'", 7, true),
        ("return '€'", 6, false),
        ("console.log('abc'); return 'xy'", 11, true),
        ("console.log('abc'); return 'xy'", 10, false),
        ("console.log('abc'); throw 'xy'", 11, true),
        ("console.log('abc'); throw 'xy'", 10, false),
        ("console.log('ab'); return {k: [1, null]}", 20, true),
        ("console.log('ab'); return {k: [1, null]}", 19, false),
        ("return 1e21", 7, true),
        ("return 1e21", 6, false),
        ("return 0.1", 5, true),
        ("return 0.1", 4, false),
    ] {
        let mut request = request(program);
        request.limits = Some(Limits {
            output_bytes: cap,
            ..limits()
        });
        let result = runtime.run(request).await.unwrap();
        let kind = result.error.map(|error| error.kind);
        assert_eq!(
            kind != Some(ErrorKind::OutputLimit),
            fits,
            "{program} at {cap}: {kind:?}"
        );
    }
    let whole = "return 'x'.repeat(67_108_860)";
    assert_eq!(runtime.run(request(whole)).await.unwrap().error, None);
    let over = "return 'x'.repeat(67_108_861)";
    let error = runtime.run(request(over)).await.unwrap().error.unwrap();
    assert_eq!(error.kind, ErrorKind::OutputLimit);
}

/// C226: waiting costs nothing, a decoy buys nothing.
#[tokio::test]
async fn only_busy_time_counts() {
    let _turn = TURN.lock().await;
    let program = "await new Promise(r => setTimeout(r, 600)); return 1";
    let result = timed(program, tight(), 600).await;
    assert_eq!(result.error, None);
    assert!(
        result.report.timings.busy_us < 200_000,
        "{:?}",
        result.report.timings
    );
    exhausts_compute("const decoy = tools.never({}); for (;;) {}").await;
}

/// C228.
#[tokio::test]
async fn the_wall_ceiling_catches_what_waits() {
    let _turn = TURN.lock().await;
    for program in [
        "await tools.never({})",
        "await new Promise(r => setTimeout(r, 60_000))",
        "await Promise.race([tools.never({}), tools.never({})])",
    ] {
        let result = timed(
            program,
            Limits {
                wall_ms: 300,
                ..tight()
            },
            300,
        )
        .await;
        let error = result.error.unwrap();
        assert_eq!(error.kind, ErrorKind::Timeout, "{program}");
        assert_eq!(error.message, "wall-clock ceiling reached (300ms)");
        assert_eq!(result.report.limit, Some(Limit::Wall), "{program}");
    }
}

/// C262.
#[tokio::test]
async fn a_hundred_thousand_calls_that_nobody_awaits() {
    let _turn = TURN.lock().await;
    let program = "for (let i = 0; i < 100_000; i++) tools.echo(i); return 'done'";
    let result = timed(
        program,
        Limits {
            compute_ms: 30_000,
            memory_bytes: 512 << 20,
            ..tight()
        },
        15_000,
    )
    .await;
    assert_eq!(result.error, None);
    assert_eq!(result.value.unwrap().to_json(), r#""done""#);
    assert!(result.report.unawaited.len() <= 64);
    let program =
        "for (let i = 0; i < 100_000; i++) tools.later(i); await tools.later(0); return 'done'";
    let result = timed(
        program,
        Limits {
            compute_ms: 30_000,
            memory_bytes: 512 << 20,
            ..tight()
        },
        15_000,
    )
    .await;
    assert_eq!(result.error, None);
}

/// C173, C232: a program that is over leaves more calls than are taken at once. Its end lies behind them, and counts although
/// the worker has gone by the time it is read.
#[tokio::test]
async fn the_end_behind_many_calls_counts() {
    let _turn = TURN.lock().await;
    let limits = Limits {
        compute_ms: 30_000,
        memory_bytes: 512 << 20,
        ..tight()
    };
    let program = "for (let i = 0; i < 4_600; i++) tools.in_turn(i); return 'done'";
    let result = timed(program, limits, 15_000).await;
    assert_eq!(result.error, None);
    assert_eq!(result.value.unwrap().to_json(), r#""done""#);
}

/// C262, C263: answers that nobody reads and calls that nobody takes do not wait for each other.
#[tokio::test]
async fn large_calls_in_both_directions_do_not_block_each_other() {
    let _turn = TURN.lock().await;
    let program = "const big = 'x'.repeat(20_000); for (let i = 0; i < 2_000; i++) tools.echo(big); return 'done'";
    let limits = Limits {
        compute_ms: 30_000,
        memory_bytes: 512 << 20,
        ..tight()
    };
    let result = timed(program, limits, 15_000).await;
    assert_eq!(result.error, None);
    // What nobody awaits does not stay in memory once it is answered.
    let program = "for (let i = 0; i < 300; i++) { for (let j = 0; j < 1000; j++) tools.echo(j); await tools.echo(0) } return 'done'";
    let result = timed(
        program,
        Limits {
            memory_bytes: 32 << 20,
            ..limits
        },
        15_000,
    )
    .await;
    assert_eq!(result.error, None);
    let program = "return (await tools.echo('x'.repeat(50_000_000))).length";
    let result = timed(program, limits, 15_000).await;
    assert_eq!(result.value.unwrap().to_json(), "50000000");
}

/// C245.
#[tokio::test]
async fn getters_proxies_and_thenables() {
    let _turn = TURN.lock().await;
    for program in [
        "return [new Proxy([], {ownKeys() { for (;;) {} }, get() { for (;;) {} }})]",
        "return [new Proxy({}, {getPrototypeOf() { for (;;) {} }})]",
        "return {get a() { throw new Error('no') }}",
    ] {
        let result = timed(program, tight(), 0).await;
        assert_eq!(
            result.error.unwrap().kind,
            ErrorKind::InvalidOutput,
            "{program}"
        );
    }
    let result = timed(
        "return {then(_: any, no: any) { no(new Error('adopted')) }}",
        tight(),
        0,
    )
    .await;
    assert!(result.error.unwrap().message.contains("adopted"));
    exhausts_compute("const t: any = {then(r: any) { r(t) }}; await t").await;
}

/// D17.
#[tokio::test]
async fn a_source_beyond_its_cap_starts_nothing() {
    let _turn = TURN.lock().await;
    let program = format!("return 1 // {}", "x".repeat(300_000));
    let result = timed(&program, tight(), 0).await;
    let error = result.error.unwrap();
    assert_eq!(error.kind, ErrorKind::Exception);
    assert!(
        error.message.contains("maxSourceBytes"),
        "{}",
        error.message
    );
    assert_eq!(result.report.limit, Some(Limit::Source));
}
