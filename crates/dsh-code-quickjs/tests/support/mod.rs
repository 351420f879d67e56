//! What the tests of the runtime share.

#![allow(dead_code, reason = "each test binary uses its part")]
#![allow(clippy::unwrap_used, reason = "a broken test environment")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use dsh_code::{
    Binding, BoxFuture, CodeRuntime, ErrorClass, ErrorKind, Limits, Namespace, RunRequest,
    RunResult,
};
use dsh_code_quickjs::{Config, Executable, QuickJs};
use dsh_schema::Document;

pub(crate) type Body =
    Box<dyn Fn(Document) -> BoxFuture<'static, Result<Document, String>> + Send + Sync>;

/// Held by tests that look at the processes of this one, or that measure time: one at a time.
pub(crate) static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// Functions by name, with a record of what was called.
#[derive(Default)]
pub(crate) struct Functions {
    pub(crate) bodies: Vec<(String, Body)>,
    pub(crate) calls: Mutex<Vec<(String, String)>>,
}

impl Functions {
    pub(crate) fn with<F, R>(mut self, name: &str, body: F) -> Self
    where
        F: Fn(Document) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Document, String>> + Send + 'static,
    {
        self.bodies.push((
            name.to_owned(),
            Box::new(move |argument| Box::pin(body(argument))),
        ));
        self
    }
}

impl Binding for Functions {
    fn call(
        &self,
        function: usize,
        argument: Document,
    ) -> BoxFuture<'static, Result<Document, String>> {
        let (name, body) = &self.bodies[function];
        self.calls
            .lock()
            .unwrap()
            .push((name.clone(), argument.to_json()));
        body(argument)
    }
}

/// `echo`, `fail`, `never`, `later`, `in_turn` (one call ends at a time), and a few with awkward names.
pub(crate) fn functions() -> Functions {
    let turn = Arc::new(tokio::sync::Mutex::new(()));
    Functions::default()
        .with("echo", async |argument| Ok(argument))
        .with("fail", async |argument| {
            Err(argument
                .root()
                .get("message")
                .and_then(|message| message.as_str())
                .unwrap_or("failed")
                .to_owned())
        })
        .with("never", |_| std::future::pending())
        .with("later", async |argument| {
            tokio::task::yield_now().await;
            Ok(argument)
        })
        .with("in_turn", move |argument| {
            let turn = turn.clone();
            async move {
                let _turn = turn.lock().await;
                tokio::task::yield_now().await;
                Ok(argument)
            }
        })
        .with("__proto__", async |argument| Ok(argument))
        .with("constructor", async |argument| Ok(argument))
        .with("my-tool", async |_| Ok(Document::string("hyphen")))
}

pub(crate) fn namespace(functions: Functions) -> (Namespace, Arc<Functions>) {
    let functions = Arc::new(functions);
    let namespace = Namespace {
        global: "tools".to_owned(),
        functions: functions
            .bodies
            .iter()
            .map(|(name, _)| name.clone())
            .collect(),
        error_class: Some(ErrorClass {
            name: "ToolCallError".to_owned(),
            member_property: "toolName".to_owned(),
        }),
        binding: functions.clone(),
    };
    (namespace, functions)
}

pub(crate) fn request(program: &str) -> RunRequest {
    let mut request = RunRequest::new(program);
    request.namespaces = vec![namespace(functions()).0];
    request
}

pub(crate) fn config() -> Config {
    Config {
        executable: Executable::Path(env!("CARGO_BIN_EXE_dsh-code-worker").into()),
        ready: 1,
        ..Config::default()
    }
}

/// Budgets that no test of something else runs into.
pub(crate) fn limits() -> Limits {
    Limits {
        compute_ms: 20_000,
        wall_ms: 60_000,
        ..Limits::default()
    }
}

pub(crate) fn runtime() -> QuickJs {
    QuickJs::new(Config {
        limits: limits(),
        ..config()
    })
    .unwrap()
}

pub(crate) async fn run(program: &str) -> RunResult {
    let runtime = runtime();
    let result = runtime.run(request(program)).await.unwrap();
    runtime.dispose().await;
    assert_eq!(runtime.workers(), 0);
    result
}

pub(crate) async fn run_within(program: &str, limits: Limits) -> RunResult {
    let runtime = runtime();
    let mut request = request(program);
    request.limits = Some(limits);
    let result = runtime.run(request).await.unwrap();
    runtime.dispose().await;
    assert_eq!(runtime.workers(), 0);
    result
}

/// The JSON of a successful run.
pub(crate) async fn value(program: &str) -> String {
    let result = run(program).await;
    assert_eq!(result.error, None, "{program}");
    result
        .value
        .map_or("undefined".to_owned(), |value| value.to_json())
}

/// Kind and message of a failed run.
pub(crate) async fn error(program: &str) -> (ErrorKind, String) {
    let result = run(program).await;
    assert_eq!(result.value, None, "{program}");
    let error = result.error.unwrap_or_else(|| panic!("{program} succeeds"));
    (error.kind, error.message)
}

/// The processes that this one has started and that exist, zombies included.
#[cfg(target_os = "linux")]
pub(crate) fn children() -> BTreeMap<u32, String> {
    let own = std::process::id().to_string();
    let mut children = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(id) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        let (name, fields) = stat.rsplit_once(')').unwrap();
        if fields.split_ascii_whitespace().nth(1) == Some(&own) {
            children.insert(id, name.to_owned());
        }
    }
    children
}

/// Waits until a condition holds.
pub(crate) async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(10), "{what}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
