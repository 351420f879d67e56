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
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use compact_str::CompactString;
use dsh_context::{Contained, Scope, contain};
use dsh_schema::Document;
use dsh_session::{CodeDispatch, CodeDispatchStart};
use dsh_tools::lane::{LaneConfig, LaneEvents, LaneHandle, Overlap, Unstarted};
use dsh_tools::{
    Arguments, Call, CallId, ContextMessage, Host, Outcome, RUN_CODE, Reason, RunContext, Settled,
    ToolError,
};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;

use crate::call_book::CallBook;
use crate::code_mode::Shared;
use crate::doorbell::Doorbell;
use crate::log_tasks::{self, LogTasks};
use crate::{
    Binding, BoxFuture, CodeDispatchSink, CodeRuntime, DispatchLog, DispatchLogNext, ErrorClass,
    Limits, LogSink, Namespace, RunRequest, RunResult, Signal, SubCall,
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
    /// Where the listeners of `tools/code-dispatch-log` are looked up.
    pub(crate) shared: Arc<Shared>,
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
pub(crate) async fn run(
    cx: &RunContext,
    runtime: Arc<dyn CodeRuntime>,
    program: String,
    setup: Setup,
) -> Finished {
    let (canceller, signal) = Signal::following(std::slice::from_ref(cx.signal()));
    let book = Arc::new(CallBook::new(setup.host, setup.observed));
    let logs = Arc::new(LogTasks::new(setup.cap, canceller.clone()));
    let config = LaneConfig {
        cap: setup.cap,
        overlap: setup.overlap,
        signal: signal.clone(),
        unstarted: Unstarted::Forget,
    };
    let clerk = Clerk {
        cx: cx.clone(),
        sink: setup.sink.zip(cx.execution().agent().cloned()),
        shared: setup.shared,
        logs: logs.clone(),
        book: book.clone(),
        signal: signal.clone(),
        unlogged: None,
    };
    let (handle, lane) = cx.tools().lane(config, clerk);
    let names = bound_names(cx);
    let called = Arc::new(AtomicBool::new(false));
    let bridge = Bridge {
        cx: cx.clone(),
        functions: names.clone(),
        signal: signal.clone(),
        accepted: Mutex::new(0),
        called: called.clone(),
        lane: handle.clone(),
        book: book.clone(),
    };
    let request = RunRequest {
        program,
        namespaces: vec![Namespace {
            global: TOOLS.to_owned(),
            functions: names.iter().map(ToString::to_string).collect(),
            error_class: Some(ErrorClass {
                name: ERROR_CLASS.to_owned(),
                member_property: MEMBER_PROPERTY.to_owned(),
            }),
            binding: Arc::new(bridge),
        }],
        signal: signal.clone(),
        log_sink: setup.log_sink,
        limits: setup.limits,
    };

    let mut work = Work {
        lane: Box::pin(lane),
        lane_end: None,
        logging: FuturesUnordered::new(),
        logs,
    };
    // A runtime that panics is a backend that crashed (C109); what the program started is drained all the same.
    let mut run = pin!(async { Contained::new(contain(|| runtime.run(request))?).await });
    let doorbell = Doorbell::new();
    let ran = poll_fn(|cx| {
        let was_called = || called.swap(false, Ordering::Relaxed);
        doorbell.attend(cx, was_called, |cx| {
            // The lane first: what it commits is what the program waits for.
            let _until_the_end = work.poll(cx);
            if let Some(Err(failure)) = &work.lane_end {
                // The log cannot be written, so nothing more may happen.
                canceller.cancel(Reason::Other {
                    message: failure.message().into(),
                });
            }
            run.as_mut().poll(cx)
        })
    })
    .await;

    if !signal.is_cancelled() {
        canceller.cancel(Reason::Other {
            message: CompactString::const_new("run_code settled"),
        });
    }
    handle.close();
    poll_fn(|cx| work.poll(cx)).await;
    let logged = work
        .lane_end
        .unwrap_or(Ok(()))
        .and_then(|()| work.logs.take_failure());
    let result = match (logged, ran) {
        (Err(error), _) => Err(error),
        (Ok(()), Ok(result)) => result.map_err(ToolError::from),
        (Ok(()), Err(_)) => Err(ToolError::new("the code runtime panicked")),
    };
    Finished {
        result,
        calls: book.take(),
    }
}

/// What a program may call: every tool that its agent sees now, and never the transport (C118, C23).
fn bound_names(cx: &RunContext) -> Vec<CompactString> {
    let view = cx.tools().view(cx.execution().agent());
    view.tools()
        .iter()
        .map(|tool| tool.name().into())
        .filter(|name: &CompactString| name != RUN_CODE)
        .collect()
}

/// The lane and the log, driven beside the program on the task of `run_code`.
struct Work {
    lane: BoxFuture<'static, Result<(), ToolError>>,
    lane_end: Option<Result<(), ToolError>>,
    logging: FuturesUnordered<BoxFuture<'static, Result<(), ToolError>>>,
    logs: Arc<LogTasks>,
}

impl Work {
    /// Ready when the lane has ended and everything is logged.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.lane_end.is_none()
            && let Poll::Ready(end) = self.lane.as_mut().poll(cx)
        {
            self.lane_end = Some(end);
        }
        for task in self.logs.take_new() {
            self.logging.push(Box::pin(log_tasks::contained(task)));
        }
        while let Poll::Ready(Some(written)) = self.logging.poll_next_unpin(cx) {
            self.logs.finished(written);
        }
        if self.lane_end.is_some() && self.logging.is_empty() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

/// What the program's `tools` object does.
struct Bridge {
    cx: RunContext,
    functions: Vec<CompactString>,
    signal: Signal,
    /// How many calls were accepted; held while one is, so that ids count in the order of the lane.
    accepted: Mutex<u64>,
    /// Set by each call, for the task: the lane has something to start.
    called: Arc<AtomicBool>,
    lane: LaneHandle,
    book: Arc<CallBook>,
}

impl Binding for Bridge {
    fn call(
        &self,
        function: usize,
        argument: Document,
    ) -> BoxFuture<'static, Result<Document, String>> {
        let Some(name) = self.functions.get(function).cloned() else {
            return refused(format!("unknown binding \"{TOOLS}.{function}\""));
        };
        if let Some(reason) = self.signal.reason() {
            return refused(format!(
                "run_code run is over ({reason}); {name} not dispatched"
            ));
        }
        let reply = {
            let mut accepted = self.accepted.lock();
            *accepted += 1;
            let id = self.cx.execution().id().sub_call(*accepted);
            self.book.submitted(&id, &name, &argument);
            let mut call = self.cx.call(id, name.clone(), argument);
            call.signal = self.signal.clone();
            self.called.store(true, Ordering::Relaxed);
            self.lane.submit(call)
        };
        let signal = self.signal.clone();
        Box::pin(async move {
            let settled = reply.await;
            match (settled, signal.reason()) {
                (Some(settled), None) => match settled.outcome() {
                    Outcome::Success(success) => Ok(success.value.clone()),
                    Outcome::Failure(failure) => Err(failure.error.message.to_string()),
                },
                (Some(_), Some(reason)) => Err(format!(
                    "run_code run is over ({reason}); {name} result discarded"
                )),
                (None, reason) => {
                    let reason = reason.unwrap_or(Reason::ParentEnded);
                    Err(format!(
                        "run_code run is over ({reason}); {name} tool call abandoned"
                    ))
                }
            }
        })
    }
}

fn refused(message: String) -> BoxFuture<'static, Result<Document, String>> {
    Box::pin(std::future::ready(Err(message)))
}

/// Keeps the records of a run, in the order of the lane.
struct Clerk {
    cx: RunContext,
    sink: Option<(Arc<dyn CodeDispatchSink>, Scope)>,
    shared: Arc<Shared>,
    logs: Arc<LogTasks>,
    book: Arc<CallBook>,
    signal: Signal,
    /// The call whose start could not be logged; the last one, since nothing starts after it.
    unlogged: Option<CallId>,
}

impl Clerk {
    fn start(&self, id: &CallId, name: &str, arguments: Document) -> CodeDispatchStart {
        let outer = self.cx.execution();
        CodeDispatchStart {
            root_call_id: Some(outer.root_id().clone()),
            parent_call_id: outer.id().clone(),
            sub_call_id: id.clone(),
            name: name.into(),
            arguments,
        }
    }

    /// Logs a settlement: at once, or beside the lane when somebody wants to change what is logged (C158).
    fn log(&self, settled: &Settled) -> Result<(), ToolError> {
        let Some((sink, agent)) = &self.sink else {
            return Ok(());
        };
        let execution = settled.execution();
        let arguments = execution.arguments().cloned().unwrap_or_default();
        let CodeDispatchStart {
            root_call_id,
            parent_call_id,
            sub_call_id,
            name,
            arguments,
        } = self.start(execution.id(), execution.name(), arguments);
        let dispatch = CodeDispatch {
            root_call_id,
            parent_call_id,
            sub_call_id,
            name,
            arguments,
            is_error: settled.is_error(),
            content: settled.content().clone(),
        };
        // Looked up for each call, so that nobody hears of one after its listener is gone.
        let log_chain = self.shared.log_chain();
        if !log_chain.iter().any(|entry| entry.admits(agent)) {
            return sink.settled(agent, &dispatch);
        }
        let log = DispatchLog {
            outer: self.cx.execution().clone(),
            agent: agent.clone(),
            sub_call_id: dispatch.sub_call_id.clone(),
            name: dispatch.name.clone(),
            is_error: dispatch.is_error,
            content: dispatch.content.clone(),
        };
        let next = DispatchLogNext::new(log_chain, log);
        let (sink, agent) = (sink.clone(), agent.clone());
        self.logs.push(async move {
            let mut dispatch = dispatch;
            match next.run().await {
                Ok(content) => dispatch.content = content,
                Err(error) => tracing::warn!(
                    call = %dispatch.sub_call_id,
                    error = error.message(),
                    "a tools/code-dispatch-log listener failed; the content is logged as it is"
                ),
            }
            sink.settled(&agent, &dispatch)
        });
        Ok(())
    }
}

impl LaneEvents for Clerk {
    fn starting(&mut self, call: &Call) -> Result<(), ToolError> {
        self.book.started();
        let (Some((sink, agent)), Arguments::Document(arguments)) = (&self.sink, &call.arguments)
        else {
            return Ok(());
        };
        let start = self.start(&call.id, &call.name, arguments.clone());
        if let Err(error) = log_tasks::contain(|| sink.started(agent, &start)) {
            // The run is cancelled with that, so the call is turned away at the door. The lane itself goes on, for what has
            // started before has to be settled in the log (C154, C155).
            self.unlogged = Some(call.id.clone());
            self.logs.fail(error);
        }
        Ok(())
    }

    fn committed(&mut self, settled: &Settled) -> Result<(), ToolError> {
        self.book
            .committed(settled.outcome(), self.signal.is_cancelled());
        if !settled.is_error()
            && settled
                .content()
                .iter()
                .any(|block| block.kind() == "image")
        {
            let id = format!("{}:image", settled.execution().id());
            self.cx.defer_context(ContextMessage::plugin(
                id,
                IMAGE_SOURCE,
                settled.content().clone(),
            ));
        }
        for context in settled.contexts() {
            self.cx.defer_context(context.clone());
        }
        if settled.concludes_turn() {
            self.cx.conclude_turn();
        }
        if self.unlogged.as_ref() != Some(settled.execution().id())
            && let Err(error) = log_tasks::contain(|| self.log(settled))
        {
            self.logs.fail(error);
        }
        Ok(())
    }

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.logs.poll_room(cx)
    }
}
