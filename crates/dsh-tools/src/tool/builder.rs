//! Making a tool.

use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use dsh_schema::spec::{ParameterSpec, ValueSpec};
use dsh_schema::{ArgumentsContract, Contract, Document, SchemaError, ValueRef, output_of};

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{
    Access, ArgumentContract, BodyFuture, BodyValue, Checking, Classify, DeclareAccess, Definition,
    Effect, Finalize, IntoContent, Meta, MetaError, PresentCall, PresentResult, Render, Tool,
    ToolSchema,
};
use crate::card::{CallView, ResultView};
use crate::contain::Kept;
use crate::{Content, DurableResult, Execution, Outcome, RegistryError, RunContext, ToolError};

/// The arguments or the output of a [`ToolBuilder`] that were not declared yet.
#[derive(Clone, Copy, Debug)]
pub enum Undeclared {}

type Decode<A> = Arc<dyn Fn(ValueRef<'_>) -> Result<A, Vec<String>> + Send + Sync>;
type Encode<O> = fn(O) -> BodyValue;

/// A tool in the making: arguments first, then the output, then whatever else, then [`run`](ToolBuilder::run).
///
/// Nothing fails before `run`, which reports the first mistake in the order of T341: timeout, parameters, output.
///
/// # Examples
///
/// A tool whose schemas are given rather than derived:
///
/// ```
/// use dsh_schema::spec::{self, ParameterSpec};
/// use dsh_tools::{Tool, ToolError};
///
/// let tool = Tool::new("greet", "Greet somebody.")
///     .parameters(ParameterSpec::new().required("name", spec::string()))
///     .returns(spec::string())
///     .run(|args, _cx| async move {
///         let name = args.root().get("name").and_then(|name| name.as_str()).unwrap_or("you");
///         Ok(dsh_schema::Document::string(format!("hello, {name}")))
///     })?;
/// # Ok::<(), dsh_tools::RegistryError>(())
/// ```
#[must_use = "a definition without a body is nothing"]
pub struct ToolBuilder<A, O> {
    name: Arc<str>,
    description: Arc<str>,
    arguments: Option<Result<ArgumentContract, SchemaError>>,
    output: Option<Result<Contract, SchemaError>>,
    decode: Option<Decode<A>>,
    encode: Option<Encode<O>>,
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
    output_type: PhantomData<fn() -> O>,
}

impl ToolBuilder<Undeclared, Undeclared> {
    pub(crate) fn new(name: Arc<str>, description: Arc<str>) -> Self {
        Self {
            name,
            description,
            arguments: None,
            output: None,
            decode: None,
            encode: None,
            render: None,
            meta: None,
            finalize: None,
            classify: None,
            access: None,
            present_call: None,
            present_result: None,
            effect: Effect::default(),
            destructive: None,
            open_world: false,
            timeout: None,
            owns_deadline: false,
            output_type: PhantomData,
        }
    }
}

impl<A, O> ToolBuilder<A, O> {
    fn with_arguments<B>(
        self,
        arguments: Result<ArgumentContract, SchemaError>,
        decode: Option<Decode<B>>,
    ) -> ToolBuilder<B, O> {
        ToolBuilder {
            name: self.name,
            description: self.description,
            arguments: Some(arguments),
            output: self.output,
            decode,
            encode: self.encode,
            render: self.render,
            meta: self.meta,
            finalize: self.finalize,
            classify: self.classify,
            access: self.access,
            present_call: self.present_call,
            present_result: self.present_result,
            effect: self.effect,
            destructive: self.destructive,
            open_world: self.open_world,
            timeout: self.timeout,
            owns_deadline: self.owns_deadline,
            output_type: PhantomData,
        }
    }

    fn with_output<P>(
        self,
        output: Result<Contract, SchemaError>,
        encode: Encode<P>,
    ) -> ToolBuilder<A, P> {
        ToolBuilder {
            name: self.name,
            description: self.description,
            arguments: self.arguments,
            output: Some(output),
            decode: self.decode,
            encode: Some(encode),
            render: self.render,
            meta: self.meta,
            finalize: self.finalize,
            classify: self.classify,
            access: self.access,
            present_call: self.present_call,
            present_result: self.present_result,
            effect: self.effect,
            destructive: self.destructive,
            open_world: self.open_world,
            timeout: self.timeout,
            owns_deadline: self.owns_deadline,
            output_type: PhantomData,
        }
    }

    /// Sets the tool's own time limit. The registry stores it; a deadline policy enforces it (T6).
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    /// Says that the tool enforces a deadline of its own (D14).
    pub fn owns_deadline(mut self) -> Self {
        self.owns_deadline = true;
        self
    }

    /// Says that the tool only looks.
    pub fn read_only(self) -> Self {
        self.effect(Effect::ReadOnly)
    }

    /// Says that running the tool twice is the same as running it once.
    pub fn idempotent(self) -> Self {
        self.effect(Effect::Idempotent)
    }

    /// Sets what running the tool does to the world; [`Effect::Once`] by default.
    pub fn effect(mut self, effect: Effect) -> Self {
        self.effect = effect;
        self
    }

    /// Says whether the tool may destroy something; it may by default, unless it only reads.
    pub fn destructive(mut self, destructive: bool) -> Self {
        self.destructive = Some(destructive);
        self
    }

    /// Says that the tool reaches beyond the machine and the workspace.
    pub fn open_world(mut self) -> Self {
        self.open_world = true;
        self
    }

    /// Says that any call may run beside any other call that says the same (T312).
    pub fn concurrency_safe(mut self) -> Self {
        self.classify = Some(Box::new(|_| true));
        self
    }

    /// Replaces the content of every outcome of this tool, failures included, as the last step (T237).
    ///
    /// `None` keeps the content. The callback has to be total and synchronous; it sees the execution with arguments that
    /// may be absent.
    pub fn finalize_content<F>(mut self, finalize: F) -> Self
    where
        F: Fn(&Execution, &Outcome) -> Result<Option<Content>, ToolError> + Send + Sync + 'static,
    {
        self.finalize = Some(Arc::new(finalize));
        self
    }

    /// Renders the model's text from raw arguments and value.
    ///
    /// Pure; it may be called more than once (T194), and on arguments nobody validated when a wrapper short-circuits
    /// (T349).
    pub fn render_value<F, C>(mut self, render: F) -> Self
    where
        F: Fn(ValueRef<'_>, ValueRef<'_>) -> C + Send + Sync + 'static,
        C: IntoContent,
    {
        self.render = Some(Box::new(move |arguments, value| {
            render(arguments, value).into_content()
        }));
        self
    }

    /// Projects the card's data from raw arguments and value. Not computed for nested calls (T251).
    pub fn presentation_meta_value<F, M>(mut self, meta: F) -> Self
    where
        F: Fn(ValueRef<'_>, ValueRef<'_>) -> Result<M, ToolError> + Send + Sync + 'static,
        M: Serialize,
    {
        self.meta = Some(Box::new(move |arguments, value| {
            let meta = meta(arguments, value).map_err(MetaError::Failed)?;
            Document::from_serialize(&meta).map_err(|_| MetaError::Lossy)
        }));
        self
    }
}

impl<O> ToolBuilder<Undeclared, O> {
    /// Declares the arguments as a Rust type: schema, validation and decoding come from it (D40).
    pub fn args<A>(self) -> ToolBuilder<A, O>
    where
        A: DeserializeOwned + JsonSchema + 'static,
    {
        match ArgumentsContract::of::<A>() {
            Ok(contract) => {
                let shared = contract.clone();
                let decode: Decode<A> = Arc::new(move |arguments| shared.decode::<A>(arguments));
                self.with_arguments(Ok(ArgumentContract::Typed(contract)), Some(decode))
            }
            Err(error) => self.with_arguments(Err(error), None),
        }
    }

    /// Declares the arguments in the DSL; the body receives them as a document.
    pub fn parameters(self, spec: ParameterSpec) -> ToolBuilder<Document, O> {
        let contract = spec
            .compile()
            .map(|schema| ArgumentContract::Checked(Contract::Subset(schema)));
        self.with_arguments(contract, Some(as_document()))
    }

    /// Declares the arguments as a raw JSON Schema; the body receives them as a document (D12).
    pub fn parameters_schema(
        self,
        schema: Document,
        checking: Checking,
    ) -> ToolBuilder<Document, O> {
        let contract = match checking {
            Checking::Checked => Contract::compile(&schema).map(ArgumentContract::Checked),
            Checking::Unchecked => Ok(ArgumentContract::Unchecked(schema)),
        };
        self.with_arguments(contract, Some(as_document()))
    }
}

fn as_document() -> Decode<Document> {
    Arc::new(|arguments| Ok(arguments.to_document()))
}

impl<A> ToolBuilder<A, Undeclared> {
    /// Declares the output as a Rust type.
    pub fn output<O>(self) -> ToolBuilder<A, O>
    where
        O: Serialize + JsonSchema,
    {
        self.with_output(output_of::<O>(), |value| {
            match Document::from_serialize(&value) {
                Ok(document) => BodyValue::Document(document),
                Err(error) => BodyValue::Lossy(error),
            }
        })
    }

    /// Declares the output in the DSL; the body returns a document.
    pub fn returns(self, spec: impl Into<ValueSpec>) -> ToolBuilder<A, Document> {
        let contract = spec.into().compile().map(Contract::Subset);
        self.with_output(contract, BodyValue::Document)
    }

    /// Declares the output as a raw JSON Schema of the enforced subset (T56); the body returns a document.
    pub fn output_schema(self, schema: &Document) -> ToolBuilder<A, Document> {
        let contract = dsh_schema::Schema::parse(schema).map(Contract::Subset);
        self.with_output(contract, BodyValue::Document)
    }

    /// Declares the output with a contract that exists already, such as one made for a foreign server's schema.
    pub fn output_contract(self, contract: Contract) -> ToolBuilder<A, Document> {
        self.with_output(Ok(contract), BodyValue::Document)
    }
}

impl<A: DeserializeOwned + 'static, O> ToolBuilder<A, O> {
    /// Says per call whether it may run beside others (T307).
    pub fn concurrency_safe_when<F>(mut self, classify: F) -> Self
    where
        F: Fn(&A) -> bool + Send + Sync + 'static,
    {
        if let Some(decode) = self.decode.clone() {
            self.classify = Some(Box::new(move |arguments| {
                decode(arguments).is_ok_and(|arguments| classify(&arguments))
            }));
        }
        self
    }

    /// Declares what a call will touch (D44).
    pub fn access<F, I>(mut self, access: F) -> Self
    where
        F: Fn(&A) -> I + Send + Sync + 'static,
        I: IntoIterator<Item = Access>,
    {
        if let Some(decode) = self.decode.clone() {
            self.access = Some(Box::new(move |arguments| {
                // Arguments that do not decode say nothing, which is not the same as touching nothing.
                let arguments = decode(arguments).ok()?;
                Some(access(&arguments).into_iter().collect())
            }));
        }
        self
    }

    /// Draws the card of a call on its way (T403).
    pub fn present_call<F, V>(mut self, present: F) -> Self
    where
        F: Fn(&A) -> V + Send + Sync + 'static,
        V: Into<Option<CallView>>,
    {
        if let Some(decode) = self.decode.clone() {
            self.present_call = Some(Box::new(move |arguments| {
                present(&decode(arguments).ok()?).into()
            }));
        }
        self
    }

    /// Draws the card of a finished call (T408).
    pub fn present_result<F, V>(mut self, present: F) -> Self
    where
        F: Fn(&A, &DurableResult) -> V + Send + Sync + 'static,
        V: Into<Option<ResultView>>,
    {
        if let Some(decode) = self.decode.clone() {
            self.present_result = Some(Box::new(move |arguments, result| {
                present(&decode(arguments).ok()?, result).into()
            }));
        }
        self
    }
}

impl<A: DeserializeOwned + 'static, O: DeserializeOwned> ToolBuilder<A, O> {
    /// Renders the model's text from typed arguments and value; see [`render_value`](ToolBuilder::render_value) for the
    /// form that decodes nothing.
    pub fn render<F, C>(mut self, render: F) -> Self
    where
        F: Fn(&A, &O) -> C + Send + Sync + 'static,
        C: IntoContent,
    {
        if let Some(decode) = self.decode.clone() {
            self.render = Some(Box::new(move |arguments, value| {
                let (arguments, value) = typed(&decode, arguments, value)?;
                render(&arguments, &value).into_content()
            }));
        }
        self
    }

    /// Projects the card's data from typed arguments and value.
    pub fn presentation_meta<F, M>(mut self, meta: F) -> Self
    where
        F: Fn(&A, &O) -> M + Send + Sync + 'static,
        M: Serialize,
    {
        if let Some(decode) = self.decode.clone() {
            self.meta = Some(Box::new(move |arguments, value| {
                let (arguments, value) =
                    typed(&decode, arguments, value).map_err(MetaError::Failed)?;
                Document::from_serialize(&meta(&arguments, &value)).map_err(|_| MetaError::Lossy)
            }));
        }
        self
    }
}

/// A projector may meet arguments or a value that its types do not accept; that is its failure, never a panic (T349).
fn typed<A, O: DeserializeOwned>(
    decode: &Decode<A>,
    arguments: ValueRef<'_>,
    value: ValueRef<'_>,
) -> Result<(A, O), ToolError> {
    let arguments = decode(arguments).map_err(ToolError::invalid_arguments)?;
    Ok((arguments, value.decode()?))
}

impl<A: 'static, O: 'static> ToolBuilder<A, O> {
    /// Gives the tool its body and finishes the definition.
    ///
    /// The body gets the decoded arguments and the [`RunContext`], and hands back the canonical value. It has to settle
    /// only when the work it owns has stopped, and soon after its signal fires (T304). It runs on whatever polls the
    /// call, so work that blocks the thread belongs on a thread of its own (T451).
    ///
    /// # Errors
    ///
    /// A timeout of zero, parameters or an output schema that cannot be enforced.
    pub fn run<F, Fut>(self, body: F) -> Result<Tool, RegistryError>
    where
        F: Fn(A, RunContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
    {
        let name = self.name;
        if self.timeout.is_some_and(|limit| limit.is_zero()) {
            return Err(RegistryError::bad_timeout(&name));
        }
        let missing =
            |what: &str| RegistryError::definition(format!("tool \"{name}\" declares no {what}"));
        let arguments = self
            .arguments
            .ok_or_else(|| missing("arguments"))?
            .map_err(|error| RegistryError::schema(&name, "parameters", error))?;
        let output = self
            .output
            .ok_or_else(|| missing("output"))?
            .map_err(|error| RegistryError::schema(&name, "output", error))?;
        let (Some(decode), Some(encode)) = (self.decode, self.encode) else {
            return Err(missing("way to decode its arguments"));
        };
        if arguments.source().root().as_object().is_none() {
            return Err(RegistryError::definition(format!(
                "tool \"{name}\" parameters must be a JSON Schema object"
            )));
        }
        let body = move |cx: RunContext| -> BodyFuture {
            let arguments = match cx.execution().arguments() {
                Some(document) => decode(document.root()),
                None => Err(vec!["\"arguments\" must be an object".to_owned()]),
            };
            match arguments {
                Ok(arguments) => {
                    let work = body(arguments, cx);
                    Box::pin(async move { work.await.map(encode) })
                }
                Err(violations) => Box::pin(std::future::ready(Err(ToolError::invalid_arguments(
                    violations,
                )))),
            }
        };
        let schema = ToolSchema::new(name, self.description, arguments.source().clone());
        Ok(Tool(Arc::new(Kept::new(Definition {
            schema,
            arguments,
            output,
            render: self.render,
            meta: self.meta,
            finalize: self.finalize,
            classify: self.classify,
            access: self.access,
            present_call: self.present_call,
            present_result: self.present_result,
            effect: self.effect,
            destructive: self.destructive,
            open_world: self.open_world,
            timeout: self.timeout,
            owns_deadline: self.owns_deadline,
            body: Box::new(body),
        }))))
    }
}
