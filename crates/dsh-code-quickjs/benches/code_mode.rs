//! What Code Mode costs through everything: registry, bridge, pool, worker. Prints; gates nothing.
//!
//! `cargo bench -p dsh-code-quickjs --bench code_mode`. Each row is the minimum and the median of many runs.
//! The `run` bench beside it measures the runtime alone.

#![cfg(unix)]
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints"
)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dsh_code::{CodeConfig, CodeMode, CodeRuntime};
use dsh_code_quickjs::{Config, QuickJs};
use dsh_context::{Fiber, Scope};
use dsh_prompt::{Prompt, PromptConfig};
use dsh_schema::Document;
use dsh_schema::spec::{self, ParameterSpec};
use dsh_tools::{
    Call, Execution, Mode, Outcome, RUN_CODE, Reason, Settled, Signal, TokioSpawner, Tool, Tools,
    ToolsConfig,
};
use futures_util::StreamExt as _;

fn main() {
    // This program is its own worker.
    dsh_code_quickjs::worker_entry();
    let only = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with('-'));
    let executor = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    executor.block_on(async { tokio::spawn(measure(only)).await.unwrap() });
}

/// A deployment of its own per measurement.
struct World {
    _fiber: Fiber,
    tools: Tools,
    agent: Scope,
    runtime: Arc<QuickJs>,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

impl World {
    fn new(ready: usize) -> Self {
        let fiber = Fiber::root("bench");
        let tools = Tools::new(ToolsConfig {
            mode: Mode::Code,
            spawner: Some(Arc::new(TokioSpawner::current())),
            ..ToolsConfig::default()
        });
        let prompt = Prompt::new(PromptConfig::default());
        let code = CodeMode::mount(&fiber, &tools, &prompt, CodeConfig::default()).unwrap();
        let config = Config {
            ready,
            ..Config::default()
        };
        let runtime = Arc::new(QuickJs::new(config).unwrap());
        let mounted: Arc<dyn CodeRuntime> = Arc::<QuickJs>::clone(&runtime);
        code.mount_runtime(&fiber, mounted).unwrap();
        let add = Tool::new("add", "Add two integers.")
            .args::<Add>()
            .output::<i64>()
            .concurrency_safe()
            .run(|args, _| async move { Ok(args.a + args.b) });
        let hold = Tool::new("hold", "Waits until it is told to stop.")
            .parameters(ParameterSpec::new())
            .returns(spec::json())
            .run(|_, cx| async move {
                cx.signal().cancelled().await;
                Ok(Document::string("stopped"))
            });
        for tool in [add, hold] {
            tools.global(&fiber).register(tool.unwrap()).unwrap();
        }
        Self {
            _fiber: fiber,
            tools,
            agent: Scope::new("agent"),
            runtime,
        }
    }

    /// With one listener at each stage.
    fn watched(ready: usize) -> Self {
        let world = Self::new(ready);
        let global = world.tools.global(&world._fiber);
        global
            .on_pre_execute(|_, next| async move { next.run().await })
            .unwrap();
        global.guard(|_: &Execution| None).unwrap();
        global
            .on_execute(|_, next| async move { Ok(next.run().await?.into()) })
            .unwrap();
        global
            .on_post_execute(|_, _, next| async move { next.run().await })
            .unwrap();
        global.on_result(|_, _| {}).unwrap();
        world
    }

    async fn execute(&self, program: &str, signal: Signal) -> Settled {
        let arguments = BTreeMap::from([("code", program), ("description", "a measurement")]);
        let arguments = Document::from_serialize(&arguments).unwrap();
        let call = Call::new("c1", RUN_CODE, arguments, signal).agent(&self.agent);
        self.tools.execute(call).await
    }

    async fn run(&self, program: &str) -> Duration {
        let start = Instant::now();
        let settled = self.execute(program, Signal::never()).await;
        let elapsed = start.elapsed();
        assert!(
            matches!(settled.outcome(), Outcome::Success(_)),
            "{settled:?}"
        );
        elapsed
    }

    /// Runs a program so many times, each with a pool that has caught up.
    async fn measure(&self, name: &str, program: &str, times: usize) {
        let mut durations = Vec::new();
        for _ in 0..times {
            tokio::time::sleep(Duration::from_millis(8)).await;
            durations.push(self.run(program).await);
        }
        durations.sort();
        let ms = |time: Option<&Duration>| time.map_or(0.0, |time| time.as_secs_f64() * 1e3);
        println!(
            "{name:<52} {:>8.3} / {:>8.3} ms",
            ms(durations.first()),
            ms(durations.get(durations.len() / 2))
        );
    }
}

const SEQUENTIAL: &str =
    "let s = 0; for (let i = 0; i < 1000; i++) s = await tools.add({a: s, b: i}); return s";
const OVERLAPPING: &str = "const all = await Promise.all(Array.from({length: 100}, (_, i) => tools.add({a: i, b: 1}))); return all.length";
const FIB: &str =
    "const fib = (n: number): number => n < 2 ? n : fib(n - 1) + fib(n - 2); return fib(32)";

async fn measure(only: Option<String>) {
    let wanted = |name: &str| {
        only.as_ref()
            .is_none_or(|only| name.contains(only.as_str()))
    };
    println!("{:<52} {:>8} / {:>8}", "", "minimum", "median");
    let cold = World::new(0);
    let (warm, watched) = (World::new(2), World::watched(2));
    for (name, world, program, times) in [
        ("`return 1`, a worker ready", &warm, "return 1", 200),
        ("`return 1`, none ready", &cold, "return 1", 200),
        ("1,000 calls in sequence", &warm, SEQUENTIAL, 40),
        (
            "1,000 calls in sequence, five listeners",
            &watched,
            SEQUENTIAL,
            40,
        ),
        ("100 safe calls at once", &warm, OVERLAPPING, 100),
        (
            "100 safe calls at once, five listeners",
            &watched,
            OVERLAPPING,
            100,
        ),
        ("fib(32)", &warm, FIB, 5),
    ] {
        if wanted(name) {
            world.measure(name, program, times).await;
        }
    }
    for (at_once, ready) in [(1, 2), (2, 2), (4, 4), (8, 8)] {
        let name = format!("sustained, {at_once} at once");
        if wanted(&name) {
            sustained(&name, at_once, ready).await;
        }
    }
    for world in [warm, watched] {
        world.runtime.dispose().await;
    }
    if wanted("memory") {
        memory(&cold, 8).await;
    }
    cold.runtime.dispose().await;
}

async fn sustained(name: &str, at_once: usize, ready: usize) {
    const RUNS: usize = 1000;
    let world = World::new(ready);
    let (world_ref, start) = (&world, Instant::now());
    futures_util::stream::iter(0..RUNS)
        .for_each_concurrent(at_once, |_| async move {
            world_ref.run("return 1").await;
        })
        .await;
    let rate = RUNS as f64 / start.elapsed().as_secs_f64();
    println!("{name:<52} {rate:>8.0} runs/s");
    world.runtime.dispose().await;
}

/// What each of some programs at work has to itself.
async fn memory(world: &World, programs: usize) {
    let (canceller, signal) = Signal::pair();
    let runs = (0..programs).map(|_| world.execute("await tools.hold({})", signal.clone()));
    let runs = futures_util::future::join_all(runs);
    let look = async {
        while world.runtime.workers() < programs {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
        let private = private_kib();
        canceller.cancel(Reason::Cancelled);
        private
    };
    let (_, private) = futures_util::future::join(runs, look).await;
    let (least, most) = (private.iter().min(), private.iter().max());
    println!(
        "{:<52} {} programs at work, {:?} to {:?} KiB",
        "private memory",
        private.len(),
        least.unwrap_or(&0),
        most.unwrap_or(&0)
    );
}

/// Private memory of each process that this one has started, where the system tells.
fn private_kib() -> Vec<u64> {
    let own = std::process::id();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            let (_, fields) = stat.rsplit_once(')')?;
            let parent: u32 = fields.split_ascii_whitespace().nth(1)?.parse().ok()?;
            if parent != own {
                return None;
            }
            let rollup = std::fs::read_to_string(entry.path().join("smaps_rollup")).ok()?;
            let of = |key: &str| -> Option<u64> {
                let line = rollup.lines().find_map(|line| line.strip_prefix(key))?;
                line.split_ascii_whitespace().next()?.parse().ok()
            };
            Some(of("Private_Clean:")? + of("Private_Dirty:")?)
        })
        .collect()
}
