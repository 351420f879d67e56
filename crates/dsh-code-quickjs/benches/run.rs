//! Latency of runs, sub-calls and starts. Prints; gates nothing.
//!
//! `cargo bench -p dsh-code-quickjs --bench run`

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use dsh_code::{Binding, BoxFuture, CodeRuntime as _, Limits, Namespace, RunRequest};
use dsh_code_quickjs::{Config, Executable, QuickJs};
use dsh_schema::Document;

struct Echo;

impl Binding for Echo {
    fn call(&self, _: usize, argument: Document) -> BoxFuture<'static, Result<Document, String>> {
        Box::pin(std::future::ready(Ok(argument)))
    }
}

/// Ready at the second poll, as a call that has to wait for something is.
struct Later;

impl Binding for Later {
    fn call(&self, _: usize, argument: Document) -> BoxFuture<'static, Result<Document, String>> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            Ok(argument)
        })
    }
}

fn main() {
    // With this program as its own worker.
    dsh_code_quickjs::worker_entry();
    for (name, executor) in [
        (
            "current thread",
            tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap(),
        ),
        (
            "two threads",
            tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .unwrap(),
        ),
    ] {
        println!("{name}");
        executor.block_on(async { tokio::spawn(measure()).await.unwrap() });
    }
}

async fn measure() {
    let config = |ready| Config {
        executable: Executable::Current,
        limits: Limits::default(),
        ready,
        ..Config::default()
    };
    let warm = QuickJs::new(config(2)).unwrap();
    let cold = QuickJs::new(config(0)).unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    let pause = || tokio::time::sleep(Duration::from_millis(8));
    let mut times = Vec::new();
    for _ in 0..100 {
        pause().await;
        times.push(run(&warm, "return 1", Arc::new(Echo)).await);
    }
    print("`return 1`, a worker ready", times);
    let mut times = Vec::new();
    for _ in 0..100 {
        pause().await;
        times.push(run(&cold, "return 1", Arc::new(Echo)).await);
    }
    print("`return 1`, none ready", times);
    for (name, program) in [
        (
            "1,000 calls, one after the other",
            "for (let i = 0; i < 1000; i++) await tools.f({i})",
        ),
        (
            "100 calls at once",
            "await Promise.all(Array.from({length: 100}, (_, i) => tools.f({i})))",
        ),
    ] {
        for (kind, binding) in [
            ("ready", Arc::new(Echo) as Arc<dyn Binding>),
            ("later", Arc::new(Later)),
        ] {
            let mut times = Vec::new();
            for _ in 0..30 {
                pause().await;
                times.push(run(&warm, program, Arc::clone(&binding)).await);
            }
            print(&format!("{name} ({kind})"), times);
        }
    }
    let mut times = Vec::new();
    for _ in 0..30 {
        pause().await;
        times.push(run_with(&warm, "return 1", Arc::new(Echo), 1000).await);
    }
    print("`return 1` beside 1,000 functions", times);
    let mut times = Vec::new();
    let fib =
        "const fib = (n: number): number => n < 2 ? n : fib(n - 1) + fib(n - 2); return fib(27)";
    for _ in 0..10 {
        pause().await;
        times.push(run(&warm, fib, Arc::new(Echo)).await);
    }
    print("fib(27)", times);
    let start = Instant::now();
    for _ in 0..500 {
        run(&warm, "return 1", Arc::new(Echo)).await;
    }
    println!(
        "  {:<44} {:>8.0} runs/s",
        "sustained",
        500.0 / start.elapsed().as_secs_f64()
    );
    warm.dispose().await;
    cold.dispose().await;
}

async fn run(runtime: &QuickJs, program: &str, binding: Arc<dyn Binding>) -> Duration {
    run_with(runtime, program, binding, 1).await
}

async fn run_with(
    runtime: &QuickJs,
    program: &str,
    binding: Arc<dyn Binding>,
    functions: usize,
) -> Duration {
    let mut request = RunRequest::new(program);
    request.namespaces = vec![Namespace {
        global: "tools".to_owned(),
        functions: (0..functions)
            .map(|index| {
                if index == 0 {
                    "f".to_owned()
                } else {
                    format!("f{index}")
                }
            })
            .collect(),
        error_class: None,
        binding,
    }];
    let start = Instant::now();
    let result = runtime.run(request).await.unwrap();
    let elapsed = start.elapsed();
    assert_eq!(result.error, None);
    elapsed
}

fn print(name: &str, mut times: Vec<Duration>) {
    times.sort();
    let ms = |time: Option<&Duration>| time.map_or(0.0, |time| time.as_secs_f64() * 1e3);
    println!(
        "  {name:<44} {:>8.3} / {:>7.3} ms (least / median)",
        ms(times.first()),
        ms(times.get(times.len() / 2))
    );
}
