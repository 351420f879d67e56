//! A tool's definition.
//!
//! [`Tool`] is what the registry keeps: a shared, immutable definition, erased over the Rust types of its arguments and
//! its output. [`builder`] makes one.

mod access;
mod arguments;
pub(crate) mod builder;
mod output;

mod schema;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use dsh_schema::{Contract, Document, DocumentError, ValueRef};

pub use access::{Access, Effect, Program};
pub(crate) use arguments::ArgumentContract;
pub use arguments::Checking;
pub use builder::{ToolBuilder, Undeclared};
pub use output::IntoContent;
pub use schema::ToolSchema;

use crate::card::{CallView, ResultView};
use crate::contain::{Kept, contain};
use crate::{Content, DurableResult, Execution, Outcome, RunContext, ToolError};

/// The reserved name of the Code Mode transport (T58).
pub const RUN_CODE: &str = "run_code";

/// A tool: what a model is told, what is enforced, and what runs.
///
/// Cheap to clone; two handles of one definition are the same tool. See [`Tool::new`] for how to make one.
#[derive(Clone)]
pub struct Tool(Arc<Kept<Definition>>);

/// What a body hands back, before the output contract.
pub(crate) enum BodyValue {
    Document(Document),
    /// The value could not be made lossless.
    Lossy(DocumentError),
}

pub(crate) type BodyFuture = Pin<Box<dyn Future<Output = Result<BodyValue, ToolError>> + Send>>;
type Body = Box<dyn Fn(RunContext) -> BodyFuture + Send + Sync>;
type Render = Box<dyn Fn(ValueRef<'_>, ValueRef<'_>) -> Result<Content, ToolError> + Send + Sync>;
type Meta = Box<dyn Fn(ValueRef<'_>, ValueRef<'_>) -> Result<Document, MetaError> + Send + Sync>;
type Finalize =
    Arc<dyn Fn(&Execution, &Outcome) -> Result<Option<Content>, ToolError> + Send + Sync>;
type Classify = Box<dyn Fn(ValueRef<'_>) -> bool + Send + Sync>;
type DeclareAccess = Box<dyn Fn(ValueRef<'_>) -> Option<Vec<Access>> + Send + Sync>;
type PresentCall = Box<dyn Fn(ValueRef<'_>) -> Option<CallView> + Send + Sync>;
type PresentResult = Box<dyn Fn(ValueRef<'_>, &DurableResult) -> Option<ResultView> + Send + Sync>;

/// Why a metadata projector gave nothing.
pub(crate) enum MetaError {
    Failed(ToolError),
    Lossy,
}

pub(crate) struct Definition {
    schema: ToolSchema,
    arguments: ArgumentContract,
    output: Contract,
    render: Option<Render>,
    meta: Option<Meta>,
    finalize: Option<Finalize>,
    classify: Option<Classify>,
    access: Option<DeclareAccess>,
    present_call: Option<PresentCall>,
    present_result: Option<PresentResult>,
    effect: Effect,
    destructive: Option<bool>,
    open_world: bool,
    timeout: Option<Duration>,
    owns_deadline: bool,
    body: Body,
}

impl Tool {
    /// Starts the definition of a tool; see [`ToolBuilder`].
    ///
    /// # Examples
    ///
    /// ```
    /// use dsh_tools::Tool;
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Add {
    ///     /// The first summand.
    ///     a: i64,
    ///     /// The second summand.
    ///     b: i64,
    /// }
    ///
    /// let tool = Tool::new("add", "Add two integers.")
    ///     .args::<Add>()
    ///     .output::<i64>()
    ///     .read_only()
    ///     .run(|args, _cx| async move { Ok(args.a + args.b) })?;
    /// assert_eq!(tool.name(), "add");
    /// # Ok::<(), dsh_tools::RegistryError>(())
    /// ```
    #[must_use = "a definition without a body is nothing"]
    #[expect(
        clippy::new_ret_no_self,
        reason = "a tool is made by finishing its builder"
    )]
    pub fn new(
        name: impl Into<Arc<str>>,
        description: impl Into<Arc<str>>,
    ) -> ToolBuilder<Undeclared, Undeclared> {
        ToolBuilder::new(name.into(), description.into())
    }

    /// The tool's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.schema.name()
    }

    /// What a model is told of the tool: name, description and parameters, and nothing else (T1, T3).
    #[must_use]
    pub fn schema(&self) -> &ToolSchema {
        &self.0.schema
    }

    /// The contract of the value.
    #[must_use]
    pub fn output(&self) -> &Contract {
        &self.0.output
    }

    /// The contract of the arguments; `None` when the definition left them unchecked (D12).
    #[must_use]
    pub fn arguments(&self) -> Option<&Contract> {
        self.0.arguments.contract()
    }

    /// What running the tool does to the world (D44).
    #[must_use]
    pub fn effect(&self) -> Effect {
        self.0.effect
    }

    /// Whether the tool may destroy something; a tool that only reads never does.
    #[must_use]
    pub fn is_destructive(&self) -> bool {
        self.0
            .destructive
            .unwrap_or(self.0.effect != Effect::ReadOnly)
            && self.0.effect != Effect::ReadOnly
    }

    /// Whether the tool reaches beyond the machine and the workspace.
    #[must_use]
    pub fn is_open_world(&self) -> bool {
        self.0.open_world
    }

    /// The tool's own time limit. The registry stores it and never enforces it (T6).
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        self.0.timeout
    }

    /// Whether the tool enforces a deadline of its own, which exempts it from the standard one (D14).
    #[must_use]
    pub fn owns_deadline(&self) -> bool {
        self.0.owns_deadline
    }

    /// What a call with these arguments will touch; `None` when the tool does not say or the arguments do not fit.
    #[must_use]
    pub fn access(&self, arguments: &Document) -> Option<Vec<Access>> {
        let declare = self.0.access.as_ref()?;
        self.softly(arguments, declare).flatten()
    }

    /// Whether a call with these arguments may run beside any other call that says the same (T307–T312).
    #[must_use]
    pub fn is_concurrency_safe(&self, arguments: &Document) -> bool {
        let Some(classify) = self.0.classify.as_ref() else {
            return false;
        };
        self.softly(arguments, classify).unwrap_or(false)
    }

    /// Whether the tool says anything about running beside others; if not, its arguments need not be looked at.
    pub(crate) fn says_overlap(&self) -> bool {
        self.0.classify.is_some() || self.0.access.is_some()
    }

    /// Whether the tool has a card of its own for a call on its way; without one a generic card is right (T8, T405).
    #[must_use]
    pub fn has_call_card(&self) -> bool {
        self.0.present_call.is_some()
    }

    /// Whether the tool has a card of its own for a finished call.
    #[must_use]
    pub fn has_result_card(&self) -> bool {
        self.0.present_result.is_some()
    }

    /// The card of a call on its way. `None` selects the generic card, also for logged arguments that no longer fit and
    /// for a presenter that panics (T347, T411).
    #[must_use]
    pub fn present_call(&self, arguments: &Document) -> Option<CallView> {
        let present = self.0.present_call.as_ref()?;
        self.softly(arguments, present).flatten()
    }

    /// The card of a finished call, from logged data alone (T404).
    #[must_use]
    pub fn present_result(
        &self,
        arguments: &Document,
        result: &DurableResult,
    ) -> Option<ResultView> {
        let present = self.0.present_result.as_ref()?;
        self.softly(arguments, |arguments| present(arguments, result))
            .flatten()
    }

    /// Runs a pure callback on arguments that fit, under containment; anything else is `None`.
    fn softly<T>(&self, arguments: &Document, run: impl FnOnce(ValueRef<'_>) -> T) -> Option<T> {
        if !self.accepts(arguments) {
            return None;
        }
        match contain(|| run(arguments.root())) {
            Ok(value) => Some(value),
            Err(error) => {
                tracing::warn!(
                    tool = self.name(),
                    error = error.message(),
                    "a pure callback panicked"
                );
                None
            }
        }
    }

    /// Whether the arguments satisfy the contract; unchecked arguments always do.
    pub(crate) fn accepts(&self, arguments: &Document) -> bool {
        self.0.arguments.accepts(arguments.root())
    }

    /// Every violation of the arguments, in order.
    pub(crate) fn argument_violations(&self, arguments: &Document) -> Vec<String> {
        self.0.arguments.violations(arguments.root())
    }

    pub(crate) fn start(&self, cx: RunContext) -> BodyFuture {
        (self.0.body)(cx)
    }

    pub(crate) fn render(
        &self,
        arguments: ValueRef<'_>,
        value: ValueRef<'_>,
    ) -> Result<Content, ToolError> {
        match &self.0.render {
            Some(render) => contain(|| render(arguments, value)).and_then(|content| content),
            None => Ok(output::render_value(value)),
        }
    }

    pub(crate) fn project_meta(
        &self,
        arguments: ValueRef<'_>,
        value: ValueRef<'_>,
    ) -> Option<Result<Document, MetaError>> {
        let project = self.0.meta.as_ref()?;
        Some(
            contain(|| project(arguments, value))
                .map_err(MetaError::Failed)
                .and_then(|meta| meta),
        )
    }

    pub(crate) fn finalizer(&self) -> Option<&Finalize> {
        self.0.finalize.as_ref()
    }

    /// Whether two handles are of one definition.
    #[must_use]
    pub fn same(a: &Self, b: &Self) -> bool {
        Arc::ptr_eq(&a.0, &b.0)
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool")
            .field("name", &self.name())
            .field("effect", &self.0.effect)
            .finish_non_exhaustive()
    }
}
