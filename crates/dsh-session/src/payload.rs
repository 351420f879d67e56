//! The event vocabulary (chapter 4.2 of the loop specification). Names are those of the log, so that logs are exchangeable
//! (D29).

use compact_str::CompactString;
use dsh_schema::{Document, ValueRef};
use dsh_tools::{ApprovalOutcome, ApprovalPolicy, CallId, Content, ErrorInfo};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Message, SessionError};

macro_rules! vocabulary {
    ($($(#[$doc:meta])* $variant:ident($data:ty) = $name:literal,)*) => {
        /// What an event says, by its type.
        ///
        /// The set is open: an event of a type that is not known here is kept as it came.
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum Payload {
            $($(#[$doc])* $variant($data),)*
            /// An event of another type.
            Unknown {
                /// The type.
                kind: CompactString,
                /// The data.
                data: Document,
            },
        }

        impl Payload {
            /// The types that are known here.
            pub const KINDS: &'static [&'static str] = &[$($name),*];

            /// The event's type.
            #[must_use]
            pub fn kind(&self) -> &str {
                match self {
                    $(Self::$variant(_) => $name,)*
                    Self::Unknown { kind, .. } => kind,
                }
            }

            /// Reads the data of an event.
            ///
            /// # Errors
            ///
            /// Data that is not what a known type says.
            pub fn decode(kind: &str, data: &Document) -> Result<Self, SessionError> {
                let malformed = |error: dsh_schema::DocumentError| {
                    SessionError::malformed(format!("event `{kind}` is malformed: {error}")).with_source(error)
                };
                match kind {
                    $($name => data.decode().map(Self::$variant).map_err(malformed),)*
                    _ => Ok(Self::Unknown { kind: kind.into(), data: data.clone() }),
                }
            }

            /// The data, as lossless JSON.
            ///
            /// # Errors
            ///
            /// Something in it is not lossless.
            pub fn encode(&self) -> Result<Document, SessionError> {
                let encoded = match self {
                    $(Self::$variant(data) => Document::from_serialize(data),)*
                    Self::Unknown { data, .. } => Ok(data.clone()),
                };
                encoded.map_err(|error| {
                    let kind = self.kind();
                    SessionError::malformed(format!("event `{kind}` is not lossless JSON: {error}")).with_source(error)
                })
            }
        }

        $(impl From<$data> for Payload {
            fn from(data: $data) -> Self {
                Self::$variant(data)
            }
        })*
    };
}

vocabulary! {
    /// A turn begins.
    TurnStart(TurnStart) = "turn/start",
    /// A turn is over.
    TurnEnd(TurnEnd) = "turn/end",
    /// A step begins.
    StepStart(StepStart) = "step/start",
    /// A step is over.
    StepEnd(StepEnd) = "step/end",
    /// Pending messages came or went.
    InboxSpliced(InboxSpliced) = "agent/inbox/spliced",
    /// A message that the model reads in the user's role.
    UserMessage(Message) = "user/message",
    /// A piece of a model's stream.
    AssistantChunk(AssistantChunk) = "assistant/chunk",
    /// What a model said.
    AssistantMessage(AssistantMessage) = "assistant/message",
    /// A call is started (L132).
    ToolCall(ToolCall) = "tool/call",
    /// A call is answered.
    ToolResult(ToolResult) = "tool/result",
    /// A call of a program is started (L137).
    CodeDispatchStart(CodeDispatchStart) = "tool/code-dispatch-start",
    /// A call of a program is over.
    CodeDispatch(CodeDispatch) = "tool/code-dispatch",
    /// What requests are made with, besides messages (L148).
    RequestHeader(RequestHeader) = "request/header",
    /// Where requests go (L149).
    RequestContext(RequestContext) = "request/context",
    /// A failed request will be tried again.
    LlmRetry(LlmRetry) = "llm/retry",
    /// A failed request is tried again.
    LlmRetryStarted(LlmRetryStarted) = "llm/retry-started",
    /// Somebody is asked.
    ApprovalAsked(ApprovalAsked) = "approval/asked",
    /// The question is over.
    ApprovalDecided(ApprovalDecided) = "approval/decided",
    /// Whether questions are asked.
    ApprovalPolicy(ApprovalPolicyChange) = "approval/policy",
    /// An external hook is run.
    HookInvoked(HookInvoked) = "hook/invoked",
    /// An external hook has answered.
    HookResult(HookResult) = "hook/result",
    /// What came before was inherited (L127).
    EndSeed(EndSeed) = "session/end-seed",
    /// The list of things to do, whole; the last one counts.
    TodoWrite(TodoWrite) = "todo/write",
}

/// `turn/start`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnStart {
    /// Its number, from 1.
    pub turn: u64,
}

/// `turn/end`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnEnd {
    /// Its number.
    pub turn: u64,
    /// How it ended.
    pub reason: TurnEnding,
}

/// How a turn ended (L140). The set is open.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum TurnEnding {
    /// In good order.
    Completed,
    /// It was cancelled.
    Aborted(CancelCause),
    /// A step was not allowed to begin.
    Blocked,
    /// Something failed.
    Error(FailureRecord),
    /// Some step hit the output limit.
    MaxTokens,
    /// The process went away; only recovery writes it.
    Interrupted,
    /// Another ending, as it came.
    Other(Document),
}

/// Why a turn was cancelled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum CancelCause {
    /// The user asked for it.
    User,
    /// Whoever delegated the work did.
    Parent,
    /// A hook did.
    Hook {
        /// What it said.
        text: String,
    },
    /// The agent was disposed.
    Disposed,
    /// Not known: the log is older than causes.
    Legacy,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum KnownEnding {
    Completed,
    Aborted { reason: CancelCause },
    Blocked,
    Error { failure: FailureRecord },
    MaxTokens,
    Interrupted,
}

impl Serialize for TurnEnding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let known = match self {
            Self::Completed => KnownEnding::Completed,
            Self::Aborted(reason) => KnownEnding::Aborted {
                reason: reason.clone(),
            },
            Self::Blocked => KnownEnding::Blocked,
            Self::Error(failure) => KnownEnding::Error {
                failure: failure.clone(),
            },
            Self::MaxTokens => KnownEnding::MaxTokens,
            Self::Interrupted => KnownEnding::Interrupted,
            Self::Other(ending) => return ending.serialize(serializer),
        };
        known.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for TurnEnding {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let document = Document::deserialize(deserializer)?;
        if document
            .root()
            .get("kind")
            .and_then(ValueRef::as_str)
            .is_none()
        {
            return Err(D::Error::custom(
                "the reason of a turn's end is an object with a textual `kind`",
            ));
        }
        Ok(match document.decode::<KnownEnding>() {
            Ok(KnownEnding::Completed) => Self::Completed,
            Ok(KnownEnding::Aborted { reason }) => Self::Aborted(reason),
            Ok(KnownEnding::Blocked) => Self::Blocked,
            Ok(KnownEnding::Error { failure }) => Self::Error(failure),
            Ok(KnownEnding::MaxTokens) => Self::MaxTokens,
            Ok(KnownEnding::Interrupted) => Self::Interrupted,
            Err(_) => Self::Other(document),
        })
    }
}

/// What is known of a failed request or turn (L107).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FailureRecord {
    /// What happened.
    pub message: String,
    /// The code; `UNKNOWN` without one.
    pub code: String,
    /// The status of the provider's response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// When the provider says to try again, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_retry_after_ms: Option<u64>,
    /// The provider's name for the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

/// `step/start`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepStart {
    /// The turn.
    pub turn: u64,
    /// Its number in the turn, from 1.
    pub step: u64,
}

/// `step/end`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepEnd {
    /// The turn.
    pub turn: u64,
    /// Its number in the turn.
    pub step: u64,
}

/// `agent/inbox/spliced` (L202).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InboxSpliced {
    /// Which list.
    pub target: InboxTarget,
    /// From which place, from 0.
    pub start: u64,
    /// How many went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed_count: Option<u64>,
    /// What came.
    pub inserted: Vec<Message>,
    /// Why they went, if not because they were claimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<SpliceOutcome>,
}

/// A list of pending messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InboxTarget {
    /// Each opens a turn.
    NextTurn,
    /// All enter the next step.
    NextStep,
}

/// Why pending messages went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SpliceOutcome {
    /// They were taken back.
    Canceled,
}

/// `assistant/chunk`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AssistantChunk {
    /// The turn.
    pub turn: u64,
    /// The step.
    pub step: u64,
    /// The piece, as the stream had it.
    pub chunk: Document,
}

/// `assistant/message`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AssistantMessage {
    /// The turn.
    pub turn: u64,
    /// The step.
    pub step: u64,
    /// What the model said.
    pub message: Message,
    /// What it cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Whether it was cut off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
}

/// Tokens of a request; the counters of input are disjoint (L96).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Input that no cache knew.
    pub input_tokens: u64,
    /// Output.
    pub output_tokens: u64,
    /// Input from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read_tokens: Option<u64>,
    /// Input that went into a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
    /// Output that was reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
}

/// `tool/call`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The turn.
    pub turn: u64,
    /// The step.
    pub step: u64,
    /// The call.
    pub call_id: CallId,
    /// The tool's name as the model wrote it.
    pub name: CompactString,
    /// The arguments exactly as the model wrote them (L113).
    pub arguments: String,
}

/// `tool/result`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The turn.
    pub turn: u64,
    /// The step.
    pub step: u64,
    /// The result as the model reads it.
    pub message: Message,
    /// Class name and code of a structured failure (L133).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorInfo>,
    /// The card's data; a present `null` is not an absent one (L136).
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    pub meta: Option<Document>,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Document>, D::Error> {
    Document::deserialize(deserializer).map(Some)
}

/// `tool/code-dispatch-start`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CodeDispatchStart {
    /// The call that the model made; absent in older logs, where it is the parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_call_id: Option<CallId>,
    /// The `run_code` call.
    pub parent_call_id: CallId,
    /// This call.
    pub sub_call_id: CallId,
    /// The tool.
    pub name: CompactString,
    /// The arguments.
    pub arguments: Document,
}

/// `tool/code-dispatch`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CodeDispatch {
    /// The call that the model made; absent in older logs, where it is the parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_call_id: Option<CallId>,
    /// The `run_code` call.
    pub parent_call_id: CallId,
    /// This call.
    pub sub_call_id: CallId,
    /// The tool.
    pub name: CompactString,
    /// The arguments.
    pub arguments: Document,
    /// Whether it failed.
    pub is_error: bool,
    /// What a model would have read of it.
    pub content: Content,
}

/// `request/header`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestHeader {
    /// Everything of a request but its messages.
    pub header: Envelope,
    /// Why it is written now.
    pub reason: HeaderReason,
}

/// The envelope of requests. An empty system text and an empty list of tools are absent (L148).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Envelope {
    /// Provider, model and settings.
    pub config: Document,
    /// What the adapter filled in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapter_defaults: Option<Document>,
    /// The system text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The tools as the model is told of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Document>>,
}

/// Why a header is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HeaderReason {
    /// The first of the log.
    Initial,
    /// The first of this process.
    Resume,
    /// Something differs from the previous one.
    Change,
}

/// `request/context`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestContext {
    /// The provider.
    pub provider: String,
    /// The model.
    pub model: String,
    /// How many tokens the model takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
}

/// `llm/retry`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LlmRetry {
    /// The chain of attempts.
    pub retry_id: String,
    /// The turn.
    pub turn: u64,
    /// The step.
    pub step: u64,
    /// The provider.
    pub provider: String,
    /// How the delay was chosen.
    pub mode: String,
    /// Which part of the policy applied.
    pub policy_key: String,
    /// The number of the retry, from 1.
    pub retry: u64,
    /// How many there may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<u64>,
    /// How long to wait.
    pub delay_ms: u64,
    /// What failed.
    pub failure: FailureRecord,
}

/// `llm/retry-started`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LlmRetryStarted {
    /// The chain of attempts.
    pub retry_id: String,
    /// The turn.
    pub turn: u64,
    /// The step.
    pub step: u64,
    /// The number of the retry, from 1.
    pub retry: u64,
}

/// `approval/asked`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalAsked {
    /// The question.
    pub id: String,
    /// The tool that would run.
    pub tool_name: CompactString,
    /// The call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<CallId>,
    /// Why it is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// `approval/decided`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovalDecided {
    /// The question.
    pub id: String,
    /// How it ended.
    pub outcome: ApprovalOutcome,
}

/// `approval/policy`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovalPolicyChange {
    /// Whether questions are asked.
    pub policy: ApprovalPolicy,
    /// Who chose it, if not the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<PolicySource>,
}

/// Who chose an approval policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PolicySource {
    /// Whoever delegated the work.
    Delegation,
}

/// `hook/invoked`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookInvoked {
    /// The turn.
    pub turn: u64,
    /// Where in the pipeline.
    pub point: String,
    /// Whose protocol it speaks.
    pub dialect: String,
    /// What selected it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matcher: Option<String>,
    /// Which hook.
    pub handler_id: String,
}

/// `hook/result`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookResult {
    /// The turn.
    pub turn: u64,
    /// Where in the pipeline.
    pub point: String,
    /// Which hook.
    pub handler_id: String,
    /// What it decided; `pass` when it did not.
    pub decision: String,
    /// How its process ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// The beginning of what it complained about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr_summary: Option<String>,
    /// How long it took.
    pub duration_ms: u64,
}

/// `session/end-seed`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndSeed {}

/// `todo/write`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TodoWrite(pub Document);
