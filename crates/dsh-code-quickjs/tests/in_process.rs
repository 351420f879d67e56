//! The runtime on a thread of the host: D18's "for trusted embedding and tests", same results as with a process.

#![allow(clippy::unwrap_used, reason = "a broken test environment")]

mod support;

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use dsh_code::{CodeRuntime, ErrorKind, Limit, Limits, Phase, RunRequest, RunResult, Signal};
use dsh_code_quickjs::UnsandboxedInProcess;
use dsh_tools::Reason;
use support::{TURN, eventually, functions, limits, namespace, request};

fn runtime() -> UnsandboxedInProcess {
    UnsandboxedInProcess::new(limits()).unwrap()
}

async fn run_within(program: &str, limits: Limits) -> RunResult {
    let runtime = runtime();
    let mut request = request(program);
    request.limits = Some(limits);
    let result = runtime.run(request).await.unwrap();
    runtime.dispose().await;
    assert_eq!(runtime.threads(), 0, "{program}");
    result
}

async fn run(program: &str) -> RunResult {
    run_within(program, limits()).await
}

async fn value(program: &str) -> String {
    let result = run(program).await;
    assert_eq!(result.error, None, "{program}");
    result
        .value
        .map_or("undefined".to_owned(), |value| value.to_json())
}

async fn failure(program: &str, limits: Limits) -> (ErrorKind, String, Option<Limit>) {
    let result = run_within(program, limits).await;
    let error = result.error.unwrap_or_else(|| panic!("{program} succeeds"));
    (error.kind, error.message, result.report.limit)
}

/// Logs of a program, in the order in which its caller heard of them.
async fn heard(runtime: &UnsandboxedInProcess, program: &str) -> (Vec<String>, RunResult) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&lines);
    let mut request = request(program);
    request.log_sink = Some(Arc::new(move |line| {
        sink.lock().unwrap().push(line.to_owned());
    }));
    let result = runtime.run(request).await.unwrap();
    let heard = lines.lock().unwrap().clone();
    (heard, result)
}

#[test]
fn it_says_what_it_is() {
    let runtime = runtime();
    assert_eq!(runtime.language(), "typescript");
    assert_eq!(runtime.isolation(), "in-process");
    assert!(
        UnsandboxedInProcess::new(Limits {
            compute_ms: 0,
            ..limits()
        })
        .is_err()
    );
}

/// D18: no report may be taken for that of a sandbox.
#[tokio::test]
async fn the_report_says_that_there_is_no_sandbox() {
    let result = run("return 1").await;
    let [layer] = &*result.report.sandbox else {
        panic!("{:?}", result.report.sandbox);
    };
    assert_eq!((&*layer.name, layer.active), ("process", false));
    assert_eq!(result.report.phase, Phase::Finished);
}

#[tokio::test]
async fn values_and_logs_come_back() {
    assert_eq!(
        value("return { a: [1, 2n ** 60n, 'x'] as const }").await,
        r#"{"a":[1,1152921504606846976,"x"]}"#
    );
    assert_eq!(value("").await, "undefined");
    let runtime = runtime();
    let (heard, result) = heard(
        &runtime,
        "console.log('a', { b: 1 }); await 0; console.error(new TextEncoder().encode('é').length)",
    )
    .await;
    assert_eq!(heard, ["a { b: 1 }", "2"]);
    assert_eq!(result.logs, heard);
}

#[tokio::test]
async fn failures_are_those_of_a_process() {
    let (kind, message, _) = failure("throw new TypeError('bad')", limits()).await;
    assert_eq!(kind, ErrorKind::Exception);
    assert!(message.starts_with("TypeError: bad"), "{message}");
    let (kind, ..) = failure("return () => 1", limits()).await;
    assert_eq!(kind, ErrorKind::InvalidOutput);
    let (kind, ..) = failure("const = 1", limits()).await;
    assert_eq!(kind, ErrorKind::Exception);
    let (_, message, _) = failure("await new Promise(() => {})", limits()).await;
    assert!(message.contains("nothing can settle"), "{message}");
    let small = Limits {
        output_bytes: 64,
        ..limits()
    };
    for program in [
        "for (;;) console.log('x'.repeat(10))",
        "return 'x'.repeat(100)",
        "try { for (;;) console.log('x') } finally { for (;;) {} }",
    ] {
        let (kind, _, limit) = failure(program, small).await;
        assert_eq!((kind, limit), (ErrorKind::OutputLimit, Some(Limit::Output)));
    }
}

#[tokio::test]
async fn programs_call_tools() {
    let program = "
        const all = await Promise.all([tools.echo(1), tools.later({ x: [2] }), tools['my-tool']({})]);
        try { await tools.fail({ message: 'no' }); } catch (error) {
            all.push([error instanceof ToolCallError, error.name, error.toolName, error.message]);
        }
        await new Promise((resolve) => setTimeout(resolve, 1));
        return all;";
    assert_eq!(
        value(program).await,
        r#"[1,{"x":[2]},"hyphen",[true,"ToolCallError","fail","no"]]"#
    );
    let result = run("tools.echo(1); Promise.reject(new Error('lost')); await 0").await;
    assert_eq!(result.report.unawaited, ["tools.echo"]);
    assert_eq!(result.report.rejections.len(), 1);
    let (namespace, functions) = namespace(functions());
    let mut request = RunRequest::new("for (let i = 0; i < 300; i++) await tools.later(i)");
    request.namespaces = vec![namespace];
    assert_eq!(runtime().run(request).await.unwrap().error, None);
    assert_eq!(functions.calls.lock().unwrap().len(), 300);
}

/// C256, also where the program's own code would go on after an interruption (C253).
#[tokio::test]
async fn the_compute_budget_interrupts() {
    let _turn = TURN.lock().await;
    let budget = Limits {
        compute_ms: 50,
        ..limits()
    };
    for program in [
        "while (true) {}",
        "for (;;) { try { for (;;) {} } catch {} finally { for (;;) {} } }",
        "for (;;) await 0",
        "const f = async () => { for (;;) {} }; for (;;) { f(); await 0 }",
        "const f = async () => { for (;;) {} }; setTimeout(f, 0); setTimeout(f, 0); await f()",
        "const g = () => setTimeout(g, 0); g(); for (;;) await tools.later(1)",
        "return { get a() { for (;;) {} } }",
        "console.log({ get a() { for (;;) {} }, b: new Proxy({}, { get() { for (;;) {} } }) }); for (;;) {}",
    ] {
        let start = Instant::now();
        let (kind, message, limit) = failure(program, budget).await;
        assert_eq!(
            (kind, limit),
            (ErrorKind::Timeout, Some(Limit::Compute)),
            "{program}"
        );
        assert!(message.contains("compute budget exhausted"), "{message}");
        assert!(start.elapsed() < Duration::from_secs(5), "{program}");
    }
}

#[tokio::test]
async fn the_wall_clock_ends_a_run_that_waits_or_works() {
    let _turn = TURN.lock().await;
    let budget = Limits {
        wall_ms: 50,
        ..limits()
    };
    for program in ["await tools.never({})", "console.log('kept'); for (;;) {}"] {
        let result = run_within(program, budget).await;
        let error = result.error.unwrap();
        assert_eq!(error.kind, ErrorKind::Timeout, "{program}");
        assert_eq!(error.message, "wall-clock ceiling reached (50ms)");
        assert_eq!(result.report.limit, Some(Limit::Wall));
        let is_loud = program.contains("kept");
        assert_eq!(result.logs.len(), usize::from(is_loud), "{program}");
    }
}

/// C229.
#[tokio::test]
async fn cancellation_ends_a_program() {
    let _turn = TURN.lock().await;
    let runtime = runtime();
    for delay_us in (0..12).map(|step| step * step * 100) {
        for program in [
            "for (;;) {}",
            "await tools.never({})",
            "for (;;) await tools.later(1)",
            "for (;;) { try { for (;;) {} } catch {} }",
        ] {
            let (canceller, signal) = Signal::pair();
            let mut request = request(program);
            request.signal = signal;
            let run = runtime.run(request);
            let cancel = async {
                tokio::time::sleep(Duration::from_micros(delay_us)).await;
                canceller.cancel(Reason::Other {
                    message: "the user said stop".into(),
                });
            };
            let (result, ()) = futures_util::future::join(run, cancel).await;
            let error = result.unwrap().error.unwrap();
            assert_eq!(
                (error.kind, &*error.message),
                (ErrorKind::Abort, "the user said stop"),
                "{program}"
            );
        }
    }
    eventually("each thread ends", || runtime.threads() == 0).await;
}

/// A run that is dropped takes its thread along.
#[tokio::test]
async fn a_dropped_run_ends_its_thread() {
    let _turn = TURN.lock().await;
    let runtime = runtime();
    for polls in 0..10 {
        let mut run = pin!(runtime.run(request("for (let i = 0;; i++) await tools.later(i)")));
        for _ in 0..polls {
            let mut cx = Context::from_waker(Waker::noop());
            if let Poll::Ready(result) = run.as_mut().poll(&mut cx) {
                panic!("{result:?}");
            }
            tokio::task::yield_now().await;
        }
    }
    eventually("each thread ends", || runtime.threads() == 0).await;
}

/// The engine aborts its process when it ends with an object too many, so an interruption must lose none, wherever it comes.
#[tokio::test]
async fn an_interruption_loses_nothing() {
    let _turn = TURN.lock().await;
    let spin = "const spin = (n = 3) => { let s = 0; for (let i = 0; i < n * 1000; i++) s += i; return s; };";
    let programs = [
        "async function* g() { try { for (;;) { spin(); yield 1 } } finally { await 0; spin() } } for (;;) { for await (const x of g()) { spin(); if (spin() < 0) break } }",
        "function* g() { try { for (;;) { spin(); yield 1 } } finally { spin() } } for (;;) { const [a, b] = g(); const [...c] = [a, ...[1,2,3].values()]; for (const x of g()) { spin(); break } }",
        "for (;;) { JSON.parse('[1,2,{\"a\":3}]', (k, v) => { spin(); return v }); JSON.stringify({ toJSON() { spin(); return { get a() { return spin() } } } }) }",
        "for (;;) 'aXbXc'.replace(/X/g, () => { spin(); return 'y' })",
        "for (;;) /^(a+)+$/.test('a'.repeat(28) + 'b')",
        "for (;;) [5,3,1,2].toSorted((a, b) => { spin(); return a - b })",
        "for (;;) structuredClone({ a: [1, new Map([[1, { get x() { return spin() } }]])] })",
        "for (;;) { class A { static x = spin(); #p = spin(); static { spin() } get p() { return this.#p } } new (class extends A { constructor() { super(); spin() } })().p }",
        "for (;;) { const p = new Proxy({}, { get: () => spin(), ownKeys: () => { spin(); return ['a'] }, getOwnPropertyDescriptor: () => ({ value: spin(), enumerable: true, configurable: true }) }); ({ ...p }); Object.entries(p); with_(p) } function with_(p) { return p.x }",
        "for (;;) { await { then(ok) { spin(); ok(1) } }; class P extends Promise {} await P.all([P.resolve(1), tools.later(spin())]); await Array.fromAsync([1, 2], async (x) => { spin(); return x }) }",
        "for (;;) { Map.groupBy([1,2,3], (x) => { spin(); return x % 2 }); Reflect.construct(Set, [[1,2].values().map((x) => spin())]); Object.fromEntries([[spin(), 1]]) }",
        "const f = () => { try { f() } finally { spin(1) } }; for (;;) { try { f() } catch {} }",
        "const r = (n) => r(n + 1) + 1; for (;;) { try { r(0) } catch {} }",
        "for (;;) { await Promise.race([tools.echo(spin()), new Promise((r) => setTimeout(r, 0, spin()))]); Promise.reject(spin()); tools.fail({}) }",
        "const all = []; for (;;) { all.push((async () => { await tools.later(1); spin(); await all[0]; })()); spin(); await 0 }",
        "for (;;) { [1,2,3].flatMap((x) => [x, spin()]).reduce((a, b) => a + spin() + b); new Uint8Array([3,2,1]).sort((a, b) => spin() * 0 + a - b); `${{ toString() { spin(); return 'x' } }}` }",
        "for (;;) { const it = Iterator.from({ next() { spin(); return { value: 1, done: false } }, return() { spin(); return {} } }); it.take(3).toArray(); const [x] = it; console.log(it) }",
        "globalThis.x = new FinalizationRegistry(() => spin()); for (;;) { x.register({ a: spin() }, 1); eval('spin()'); new Function('return 1')() }",
    ];
    let runtime = runtime();
    for compute_ms in [1, 2, 3, 5, 8] {
        for program in programs {
            let mut request = request(&format!("{spin}{program}"));
            request.limits = Some(Limits {
                compute_ms,
                output_bytes: 4 << 20,
                ..limits()
            });
            let result = runtime.run(request).await.unwrap();
            assert_eq!(result.report.limit, Some(Limit::Compute), "{program}");
        }
    }
    runtime.dispose().await;
}

/// C260: caught or not, in program or job; the host goes on.
#[tokio::test]
async fn the_heap_is_capped() {
    let _turn = TURN.lock().await;
    let cap = Limits {
        memory_bytes: 8 << 20,
        ..limits()
    };
    for program in [
        "const all = []; for (;;) all.push('x'.repeat(1000) + all.length)",
        "return 'x'.repeat(64 << 20)",
        "const all = []; for (;;) { all.push(new Array(100).fill({})); await 0 }",
        "const all = []; for (;;) all.push(tools.later({ x: all.length }).then((x) => [x]))",
    ] {
        let (kind, message, limit) = failure(program, cap).await;
        assert_eq!(
            (kind, limit),
            (ErrorKind::WorkerExit, Some(Limit::Memory)),
            "{program}"
        );
        assert!(message.contains("out of memory"), "{message}");
    }
    assert_eq!(value("return 1").await, "1");
}

/// C186, also for what hangs together in circles through everything that the host put there.
#[tokio::test]
async fn each_run_starts_from_a_fresh_world() {
    let runtime = runtime();
    let program = "
        const before = [typeof globalThis.mark, typeof Array.prototype.mark];
        globalThis.mark = Array.prototype.mark = 1;
        ToolCallError.prototype.circle = [tools.echo, console, setTimeout, TextEncoder, structuredClone];
        const call = tools.echo({});
        Promise.circle = [call, Object.getPrototypeOf(call)];
        console.log.circle = tools;
        setTimeout(() => call, 1e9, call, tools);
        globalThis.circle = [globalThis, call, new Promise(() => {}), (async () => { await tools.never({}); })()];
        return before;";
    for _ in 0..5 {
        let result = runtime.run(request(program)).await.unwrap();
        assert_eq!(result.error, None);
        assert_eq!(
            result.value.unwrap().to_json(),
            r#"["undefined","undefined"]"#
        );
    }
    runtime.dispose().await;
}

#[tokio::test]
async fn runs_overlap() {
    let runtime = runtime();
    let runs = (0..8).map(|n| runtime.run(request(&format!("return await tools.later({n})"))));
    let results = futures_util::future::join_all(runs).await;
    for (n, result) in results.into_iter().enumerate() {
        assert_eq!(result.unwrap().value.unwrap().to_json(), n.to_string());
    }
}

/// C187.
#[tokio::test]
async fn disposal_fails_what_runs_and_refuses_what_comes() {
    let _turn = TURN.lock().await;
    let runtime = runtime();
    let runs: Vec<_> = ["for (;;) {}", "await tools.never({})", "for (;;) await 0"]
        .into_iter()
        .map(|program| tokio::spawn(runtime.run(request(program))))
        .collect();
    eventually("all have begun", || runtime.threads() == 3).await;
    runtime.dispose().await;
    assert_eq!(runtime.threads(), 0);
    for run in runs {
        let error = run.await.unwrap().unwrap().error.unwrap();
        assert_eq!(
            (error.kind, &*error.message),
            (ErrorKind::Abort, "runtime disposed")
        );
    }
    let refused = runtime.run(request("return 1")).await.unwrap_err();
    assert!(refused.to_string().contains("after disposal"), "{refused}");
}

/// Without tokio, on whatever polls.
#[test]
fn any_executor_will_do() {
    let mut run = pin!(async { runtime().run(request("return await tools.echo(7)")).await });
    let start = Instant::now();
    loop {
        if let Poll::Ready(result) = run.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            assert_eq!(result.unwrap().value.unwrap().to_json(), "7");
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(10));
        std::thread::yield_now();
    }
}

/// What a thread cannot do is end a built-in function at work. Its caller does not wait for that; disposal does.
#[tokio::test]
async fn a_function_of_the_engine_outlasts_its_run() {
    let _turn = TURN.lock().await;
    let runtime = runtime();
    let mut request = request("return [].indexOf.call({ length: 3e7 }, 1)");
    request.limits = Some(Limits {
        wall_ms: 50,
        ..limits()
    });
    let result = runtime.run(request).await.unwrap();
    assert_eq!(result.report.limit, Some(Limit::Wall));
    assert_eq!(runtime.threads(), 1);
    runtime.dispose().await;
    assert_eq!(runtime.threads(), 0);
}
