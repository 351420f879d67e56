//! The tool `run_code` (chapter 5 of the Code Mode specification).

use std::sync::Arc;

use dsh_schema::{Document, spec};
use dsh_tools::card::{CallKind, CallView};
use dsh_tools::{RUN_CODE, RegistryError, RunContext, Tool, ToolError};
use serde::Serialize;

use crate::bridge::{self, Finished, Setup};
use crate::code_mode::Shared;
use crate::{Language, RunEnvelope, RunResult, codes, instructions, render};

/// The transport in the flavour of a language. It declares no concurrency classifier, no result card, no metadata and no
/// finalizer (C103, C104); its deadline is the runtime's (D14).
pub(crate) fn tool(language: Language, shared: &Arc<Shared>) -> Result<Tool, RegistryError> {
    let parameters = spec::ParameterSpec::new()
        .required(
            "code",
            spec::string().description(language.code_description()),
        )
        .required(
            "description",
            spec::string().description(instructions::DESCRIPTION),
        );
    let output = spec::object()
        .closed()
        .required("logs", spec::array(spec::string()))
        .optional("result", spec::json());
    let shared = shared.clone();
    Tool::new(RUN_CODE, language.tool_description())
        .parameters(parameters)
        .returns(output)
        .destructive(false)
        .owns_deadline()
        .render_value(|_, value| render::output(value))
        .present_call(|arguments: &Document| {
            Some(CallView::Generic {
                title: text_of(arguments, "description").to_owned(),
                kind: Some(CallKind::Execute),
                raw_input: Some(Document::string(text_of(arguments, "code"))),
                content: None,
                locations: None,
            })
        })
        .run(move |arguments, cx| run(shared.clone(), arguments, cx))
}

fn text_of<'a>(arguments: &'a Document, name: &str) -> &'a str {
    arguments
        .root()
        .get(name)
        .and_then(|value| value.as_str())
        .unwrap_or_default()
}

async fn run(
    shared: Arc<Shared>,
    arguments: Document,
    cx: RunContext,
) -> Result<Document, ToolError> {
    let description = text_of(&arguments, "description");
    if description.trim().is_empty() {
        return Err(ToolError::new(
            "invalid description: expected a non-empty string",
        ));
    }
    let Some(runtime) = shared.runtime() else {
        let mode = cx.tools().mode(cx.execution().agent());
        return Err(ToolError::new(crate::code_mode::no_runtime(mode)));
    };
    let config = &shared.config;
    let observer = config.observer.clone();
    let setup = Setup {
        cap: config.max_parallel_sub_calls,
        overlap: config.overlap,
        sink: config.sink.clone(),
        shared: shared.clone(),
        host: config.host.clone(),
        limits: config.limits,
        log_sink: observer.clone().map(|observer| {
            let execution = cx.execution().clone();
            let sink: crate::LogSink =
                Arc::new(move |line: &str| told(|| observer.printed(&execution, line)));
            sink
        }),
        observed: observer.is_some(),
    };
    let (language, isolation) = (
        runtime.language().to_owned(),
        runtime.isolation().to_owned(),
    );
    let program = text_of(&arguments, "code").to_owned();
    let Finished { result, calls } = bridge::run(&cx, runtime, program, setup).await;
    if let Ok(result) = &result {
        tell_operator(&cx, result);
    }
    if let Some(observer) = observer {
        let ran = result.as_ref().ok();
        let envelope = RunEnvelope {
            call_id: cx.execution().id().clone(),
            description: description.to_owned(),
            program_digest: crate::envelope::digest(text_of(&arguments, "code")),
            language,
            isolation,
            error: ran.and_then(|result| result.error.clone()),
            failure: result
                .as_ref()
                .err()
                .map(|error| error.message().to_owned()),
            calls,
            report: ran.map(|result| result.report.clone()).unwrap_or_default(),
        };
        told(|| observer.finished(cx.execution(), &envelope));
    }
    completion(result?)
}

/// Tells an observer. It looks on; what goes wrong in it changes nothing.
fn told(tell: impl FnOnce()) {
    if dsh_context::contain(tell).is_err() {
        tracing::warn!("an observer of programs panicked");
    }
}

/// What a program left behind is for the operator, never for the model (D15).
fn tell_operator(cx: &RunContext, result: &RunResult) {
    let (unawaited, rejections) = (&result.report.unawaited, &result.report.rejections);
    if !unawaited.is_empty() || !rejections.is_empty() {
        tracing::warn!(
            call = %cx.execution().id(),
            ?unawaited,
            ?rejections,
            "a program ended with calls it never awaited or rejections it never handled"
        );
    }
}

/// The canonical value, or the failure (C107, C108).
fn completion(result: RunResult) -> Result<Document, ToolError> {
    #[derive(Serialize)]
    struct Completion<'a> {
        logs: &'a [String],
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<&'a Document>,
    }
    if let Some(error) = result.error {
        return Err(failure(error.kind.as_str(), &error.message, &result.logs));
    }
    let completion = Completion {
        logs: &result.logs,
        result: result.value.as_ref(),
    };
    // A value of the deepest kind no longer fits once it is a member (D4).
    Document::from_serialize(&completion).map_err(|error| {
        let message = "program completion must be lossless JSON";
        failure(
            crate::ErrorKind::InvalidOutput.as_str(),
            message,
            &result.logs,
        )
        .with_source(error)
    })
}

fn failure(kind: &str, message: &str, logs: &[String]) -> ToolError {
    let mut text = format!("code run failed ({kind}): {message}");
    if !logs.is_empty() {
        text.push_str("\nCaptured output:\n");
        text.push_str(&logs.join("\n"));
    }
    ToolError::coded("CodeRunFailedError", codes::CODE_RUN_FAILED, text)
}
