//! The dispatch bridge: from the calls of a program to executions of the registry, on one ordered lane (chapters 6 and 7 of
//! the Code Mode specification).
//!
//! ```text
//! program ── Bridge::call ── lane: start, policy │ body │ post-execute, commit ── promise settles
//!                               │                              │
//!                        start is logged          contexts deferred, settlement logged
//! ```
//!
//! Everything ordered happens in the lane, in the order of submission; only bodies overlap. When the program is over the
//! run's signal fires, what never started is forgotten, and what started is awaited, committed and logged before the bridge
//! is done (C168).

use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use compact_str::CompactString;
use dsh_context::Scope;
use dsh_schema::Document;
use dsh_tools::lane::{LaneConfig, LaneEvents, LaneHandle, Overlap, Unstarted};
use dsh_tools::{
    Arguments, Call, CallId, ContextMessage, Host, Outcome, RUN_CODE, Reason, RunContext, Settled, ToolError,
};
use futures_util::FutureExt;

use crate::dispatch::LogEntry;
use crate::ledgering::{CallBook, Entry};
use crate::log_tasks::LogTasks;
use crate::{
    Binding, BoxFuture, CodeDispatchSink, CodeRuntime, Dispatch, DispatchLog, DispatchStart, ErrorClass, Limits, LogSink,
    Misuse, Namespace, RunRequest, RunResult, Signal, SubCall,
};

/// The global that a program calls tools by, and the class of failed calls (C117).
const TOOLS: &str = "tools";
const ERROR_CLASS: &str = "ToolCallError";
const MEMBER_PROPERTY: &str = "toolName";

/// Who says the messages that bring images back (C163).
const IMAGE_SOURCE: &str = "tools-code-mode";

/// What a run needs besides the program.
pub(crate) struct Setup {
    pub(crate) cap: usize,
    pub(crate) overlap: Overlap,
    pub(crate) sink: Option<Arc<dyn CodeDispatchSink>>,
    pub(crate) log_chain: Arc<[LogEntry]>,
    pub(crate) host: Option<Arc<dyn Host>>,
    pub(crate) limits: Option<Limits>,
    pub(crate) log_sink: Option<LogSink>,
    /// Whether anybody will look at the list of calls.
    pub(crate) observed: bool,
}

/// What a run came to.
pub(crate) struct Finished {
    pub(crate) result: Result<RunResult, ToolError>,
    pub(crate) calls: Vec<SubCall>,
}

/// Runs a program and everything it calls, to the end of both.
pub(crate) async fn run(cx: &RunContext, runtime: Arc<dyn CodeRuntime>, program: String, setup: Setup) -> Finished {
    let (canceller, signal) = Signal::following(std::slice::from_ref(cx.signal()));
    let book = Arc::new(CallBook::new(setup.host, setup.observed));
    let logs = Arc::new(LogTasks::new(setup.cap));
    let config =
        LaneConfig { cap: setup.cap, overlap: setup.overlap, signal: signal.clone(), unstarted: Unstarted::Forget };
    let clerk = Clerk {
        cx: cx.clone(),
        sink: setup.sink,
        log_chain: setup.log_chain,
        logs: logs.clone(),
        book: book.clone(),
        signal: signal.clone(),
    };
    let (handle, lane) = cx.tools().lane(config, clerk);
    let names = bound_names(cx);
    let bridge = Bridge {
        cx: cx.clone(),
        functions: names.clone(),
        signal: signal.clone(),
        submitted: AtomicU64::new(0),
        handle: handle.clone(),
        book: book.clone(),
    };
    let request = RunRequest {
        program,
        namespaces: vec![Namespace {
            global: TOOLS.to_owned(),
            functions: names.iter().map(ToString::to_string).collect(),
            error_class: Some(ErrorClass { name: ERROR_CLASS.to_owned(), member_property: MEMBER_PROPERTY.to_owned() }),
            binding: Arc::new(bridge),
        }],
        signal: signal.clone(),
        log_sink: setup.log_sink,
        limits: setup.limits,
    };

    let mut lane = pin!(lane);
    let mut lane_end: Option<Result<(), ToolError>> = None;
    let mut drive_lane = |cx: &mut Context<'_>| {
        if lane_end.is_none()
            && let Poll::Ready(end) = lane.as_mut().poll(cx)
        {
            lane_end = Some(end);
        }
        logs.poll(cx);
        lane_end.clone_failure()
    };

    // A runtime that panics is a backend that crashed (C109); what the program started is drained all the same.
    let mut run = pin!(AssertUnwindSafe(async move { runtime.run(request).await }).catch_unwind());
    let ran = poll_fn(|cx| {
        if let Some(failure) = drive_lane(cx) {
            // The log cannot be written: nothing more may happen.
            canceller.cancel(Reason::Other { message: failure });
        }
        run.as_mut().poll(cx)
    })
    .await;

    if !signal.is_cancelled() {
        canceller.cancel(Reason::Other { message: CompactString::const_new("run_code settled") });
    }
    handle.close();
    drop(handle);
    poll_fn(|cx| {
        drive_lane(cx);
        if lane_end.is_some() && logs.is_idle() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    let logged = lane_end.unwrap_or(Ok(())).and_then(|()| logs.failure());
    let result = match (logged, ran) {
        (Err(error), _) => Err(error),
        (Ok(()), Ok(result)) => result.map_err(ToolError::from),
        (Ok(()), Err(_)) => Err(ToolError::new("the code runtime panicked")),
    };
    Finished { result, calls: book.take() }
}
