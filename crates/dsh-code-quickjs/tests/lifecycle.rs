//! Cancellation, dropping, disposal, and what is left afterwards: C187, C229, C231, D18.

mod support;

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use dsh_code::{CodeRuntime, ErrorClass, ErrorKind, Limits, Phase, RunRequest, Signal};
use dsh_code_quickjs::{Config, Executable, Isolation, QuickJs};
use dsh_tools::Reason;
use support::*;

fn because(message: &str) -> Reason {
    Reason::Other {
        message: message.into(),
    }
}

/// C229: at every moment of a run, and inside of a synchronous loop.
#[tokio::test]
async fn cancellation_ends_a_program_hard() {
    let _turn = TURN.lock().await;
    let runtime = runtime();
    for delay_us in (0..40).map(|step| step * step * 20) {
        for program in [
            "for (;;) {}",
            "await tools.never({})",
            "for (;;) await tools.later(1)",
            "return 1",
        ] {
            let (canceller, signal) = Signal::pair();
            let mut request = request(program);
            request.signal = signal;
            let start = Instant::now();
            let run = runtime.run(request);
            let cancel = async {
                tokio::time::sleep(Duration::from_micros(delay_us)).await;
                canceller.cancel(because("the user said stop"));
            };
            let (result, ()) = futures_util::future::join(run, cancel).await;
            let result = result.unwrap();
            assert!(start.elapsed() < Duration::from_secs(2), "{program}");
            match result.error {
                Some(error) => {
                    assert_eq!(error.kind, ErrorKind::Abort, "{program}");
                    assert_eq!(error.message, "the user said stop");
                }
                None => assert_eq!(program, "return 1"),
            }
        }
    }
    runtime.dispose().await;
    assert_eq!(runtime.workers(), 0);
}

/// C229, C220.
#[tokio::test]
async fn a_cancelled_request_starts_nothing() {
    let _turn = TURN.lock().await;
    let runtime = runtime();
    let (canceller, signal) = Signal::pair();
    canceller.cancel(because("x"));
    let mut request = request("return 1");
    request.signal = signal;
    let result = runtime.run(request).await.unwrap();
    assert_eq!(result.error.unwrap().kind, ErrorKind::Abort);
    assert_eq!(result.report.phase, Phase::NotStarted);
    let (canceller, signal) = Signal::pair();
    canceller.cancel(because(&"y".repeat(1000)));
    let mut request = support::request("return 1");
    request.signal = signal;
    request.limits = Some(Limits {
        output_bytes: 64,
        ..limits()
    });
    let error = runtime.run(request).await.unwrap().error.unwrap();
    assert_eq!(
        (error.kind, &*error.message),
        (ErrorKind::OutputLimit, "outer output exceeded 64 bytes")
    );
}

/// A run that is dropped after any number of polls leaves no process.
#[tokio::test]
async fn a_dropped_run_takes_its_process_along() {
    let _turn = TURN.lock().await;
    let runtime = runtime();
    for polls in 0..30 {
        let mut run = runtime.run(request("for (let i = 0;; i++) await tools.later(i)"));
        let mut left = polls;
        poll_fn(|cx| {
            if left == 0 {
                return Poll::Ready(());
            }
            left -= 1;
            match run.as_mut().poll(cx) {
                Poll::Ready(result) => panic!("{result:?}"),
                Poll::Pending => Poll::Pending,
            }
        })
        .await;
        drop(run);
    }
    // One idle process is kept ahead.
    eventually("dropped runs are reaped", || runtime.workers() <= 1).await;
    runtime.dispose().await;
    assert_eq!(runtime.workers(), 0);
}

/// C187.
#[tokio::test]
async fn disposal_fails_what_runs_and_refuses_what_comes() {
    let _turn = TURN.lock().await;
    let runtime = Arc::new(runtime());
    // Each says that it runs before it goes on for ever; nothing has to be awaited for that.
    let (runs, called): (Vec<_>, Vec<_>) =
        ["for (;;) {}", "await tools.never({})", "for (;;) await 0"]
            .into_iter()
            .map(|program| {
                let (namespace, functions) = namespace(functions());
                let mut request = RunRequest::new(format!("void tools.echo(1); {program}"));
                request.namespaces = vec![namespace];
                (tokio::spawn(runtime.run(request)), functions)
            })
            .unzip();
    eventually("each program runs", || {
        called
            .iter()
            .all(|functions| !functions.calls.lock().unwrap().is_empty())
    })
    .await;
    runtime.dispose().await;
    assert_eq!(runtime.workers(), 0, "each worker is really gone");
    #[cfg(target_os = "linux")]
    assert_eq!(children(), Default::default());
    for run in runs {
        let error = run.await.unwrap().unwrap().error.unwrap();
        assert_eq!(
            (error.kind, &*error.message),
            (ErrorKind::Abort, "runtime disposed")
        );
    }
    let refused = runtime.run(request("return 1")).await.unwrap_err();
    assert!(refused.to_string().contains("after disposal"), "{refused}");
    runtime.dispose().await;
}

/// C188–C192, C224: misuse is the only error.
#[tokio::test]
async fn misuse_is_refused() {
    let _turn = TURN.lock().await;
    let runtime = runtime();
    let refused = async |change: fn(&mut RunRequest)| {
        let mut request = request("return 1");
        change(&mut request);
        runtime.run(request).await.unwrap_err().to_string()
    };
    assert!(
        refused(|request| request.namespaces[0].global = "a$b".to_owned())
            .await
            .contains("not a usable identifier")
    );
    assert!(
        refused(|request| request.namespaces[0].global = "console".to_owned())
            .await
            .contains("reserved binding global")
    );
    assert!(
        refused(|request| request.namespaces.push(request.namespaces[0].clone()))
            .await
            .contains("duplicate")
    );
    let class = |request: &mut RunRequest| {
        request.namespaces[0].error_class = Some(ErrorClass {
            name: "E".to_owned(),
            member_property: "stack".to_owned(),
        });
    };
    assert!(refused(class).await.contains("member property"));
    assert!(
        refused(|request| request.limits = Some(Limits {
            compute_ms: 0,
            ..limits()
        }))
        .await
        .contains("positive number")
    );
    assert_eq!(runtime.run(request("return 1")).await.unwrap().error, None);
}

/// D18: two hundred runs leave neither processes nor descriptors.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn two_hundred_runs_leak_nothing() {
    let _turn = TURN.lock().await;
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let runtime = runtime();
    let warm = runtime
        .run(request("return await tools.echo(1)"))
        .await
        .unwrap();
    assert_eq!(warm.error, None);
    eventually("idle", || runtime.workers() == 1).await;
    let before = descriptors();
    for round in 0..50_u32 {
        let programs = [
            "return await tools.echo(1)",
            "throw 1",
            "tools.never({}); return 2",
            "return () => 1",
        ];
        let runs = programs.map(|program| runtime.run(request(program)));
        for result in futures_util::future::join_all(runs).await {
            let error = result.unwrap().error;
            assert!(
                error.is_none_or(|error| error.kind != ErrorKind::WorkerExit),
                "{round}"
            );
        }
    }
    eventually("reaped", || runtime.workers() == 1).await;
    eventually("closed", || descriptors() <= before).await;
    assert_eq!(children().len(), 1, "{:?}", children());
    runtime.dispose().await;
    assert_eq!(children(), Default::default());
}

/// A worker that dies while it waits is replaced: no program was lost with it.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_idle_worker_that_died_is_replaced() {
    let _turn = TURN.lock().await;
    let runtime = runtime();
    for _ in 0..3 {
        eventually("an idle worker", || runtime.workers() == 1).await;
        for worker in children().keys() {
            let worker = rustix::process::Pid::from_raw(i32::try_from(*worker).unwrap()).unwrap();
            rustix::process::kill_process(worker, rustix::process::Signal::KILL).unwrap();
        }
        let result = runtime.run(request("return 1")).await.unwrap();
        assert_eq!(result.error, None);
    }
}

/// A runtime that is dropped ends its idle workers, without being disposed of.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_dropped_runtime_leaves_nothing() {
    let _turn = TURN.lock().await;
    let runtime = QuickJs::new(Config {
        ready: 4,
        ..config()
    })
    .unwrap();
    eventually("started", || runtime.workers() == 4).await;
    let run = runtime.run(request("await tools.later(1); return 1"));
    drop(runtime);
    assert_eq!(
        run.await.unwrap().error,
        None,
        "a run in progress keeps its worker"
    );
    eventually("gone", || children().is_empty()).await;
}

/// D18: the marker is never given to a program that would not know it.
#[tokio::test]
async fn a_host_that_is_no_worker_gets_an_error() {
    let _turn = TURN.lock().await;
    let error = QuickJs::new(Config {
        executable: Executable::Current,
        ..config()
    })
    .unwrap_err();
    assert!(error.to_string().contains("worker_entry"), "{error}");
    for (path, says) in [
        ("/bin/true", "worker_entry"),
        ("/bin/false", "exited with code 1"),
        ("/no/such/program", "/no/such/program"),
    ] {
        let runtime = QuickJs::new(Config {
            executable: Executable::Path(path.into()),
            ..config()
        })
        .unwrap();
        let result = runtime.run(request("return 1")).await.unwrap();
        let error = result.error.unwrap();
        assert_eq!(error.kind, ErrorKind::WorkerExit, "{path}");
        assert!(error.message.contains(says), "{path}: {}", error.message);
        assert!(runtime.layers().await.is_err());
        runtime.dispose().await;
        assert_eq!(runtime.workers(), 0);
    }
}

/// The runtime works on any executor, with a reactor of its own where there is none.
#[test]
fn no_executor_is_assumed() {
    let _turn = TURN.blocking_lock();
    let runtime = runtime();
    let mut run = pin!(runtime.run(request(
        "await new Promise(r => setTimeout(r, 5)); return await tools.echo(7)"
    )));
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut cx = Context::from_waker(&waker);
    let result = loop {
        match run.as_mut().poll(&mut cx) {
            Poll::Ready(result) => break result.unwrap(),
            Poll::Pending => std::thread::park_timeout(Duration::from_secs(5)),
        }
    };
    assert_eq!(result.value.unwrap().to_json(), "7");
}

struct Unpark(std::thread::Thread);

impl std::task::Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// A run with larger budgets than the pool's gets a worker of its own terms.
#[tokio::test]
async fn limits_of_a_run_may_exceed_the_configuration() {
    let _turn = TURN.lock().await;
    let small = Limits {
        memory_bytes: 16 << 20,
        compute_ms: 1000,
        ..limits()
    };
    let runtime = QuickJs::new(Config {
        limits: small,
        ..config()
    })
    .unwrap();
    let program = "return new Array(4_000_000).fill(1.5).length";
    let result = runtime.run(request(program)).await.unwrap();
    assert_eq!(result.error.unwrap().kind, ErrorKind::WorkerExit);
    let mut request = request(program);
    request.limits = Some(limits());
    assert_eq!(runtime.run(request).await.unwrap().error, None);
}

/// The sink hears each line while the program runs.
#[tokio::test]
async fn log_lines_are_heard_as_they_come() {
    let _turn = TURN.lock().await;
    let heard = Arc::new(std::sync::Mutex::new(Vec::new()));
    let runtime = QuickJs::new(Config {
        isolation: Isolation::BestEffort,
        limits: limits(),
        ..config()
    })
    .unwrap();
    let (canceller, signal) = Signal::pair();
    let mut request = request("console.log('one'); console.log('two'); await tools.never({})");
    let ears = heard.clone();
    request.log_sink = Some(Arc::new(move |line: &str| {
        let mut heard = ears.lock().unwrap();
        heard.push(line.to_owned());
        if heard.len() == 2 {
            canceller.cancel(because("heard enough"));
        }
    }));
    request.signal = signal;
    let result = runtime.run(request).await.unwrap();
    assert_eq!(result.logs, ["one", "two"]);
    assert_eq!(*heard.lock().unwrap(), ["one", "two"]);
    assert_eq!(result.error.unwrap().message, "heard enough");
}
