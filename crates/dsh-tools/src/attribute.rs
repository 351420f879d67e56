//! What an expansion of `#[tool]` calls: the builder's methods, with bounds whose failure says what to do.
//!
//! `M` is a type that the expansion names after its function, so that a compile error can name the tool. The traits have
//! one blanket implementation each; hiding those from diagnostics is what lets the message of the trait itself show.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::ToolError;
use crate::tool::{IntoContent, ToolBuilder, Undeclared};

/// The type of an argument.
#[diagnostic::on_unimplemented(
    message = "an argument of `{M}` has no schema",
    label = "derive `serde::Deserialize` and `schemars::JsonSchema` for `{Self}`",
    note = "a tool's schema and the decoding of its arguments come from these two"
)]
pub trait ToolArgument<M>: DeserializeOwned + JsonSchema {}

#[diagnostic::do_not_recommend]
impl<M, T: DeserializeOwned + JsonSchema> ToolArgument<M> for T {}

/// The type of a value that a tool can hand back.
#[diagnostic::on_unimplemented(
    message = "the output of `{M}` is not serialisable",
    label = "derive `serde::Serialize` and `schemars::JsonSchema` for `{Self}`",
    note = "the output contract and what programs see come from these two; the type of a field needs them as well"
)]
pub trait ToolOutput<M>: Serialize + JsonSchema {}

#[diagnostic::do_not_recommend]
impl<M, T: Serialize + JsonSchema> ToolOutput<M> for T {}

/// The type of a value that can be read back from JSON.
#[diagnostic::on_unimplemented(
    message = "the output of `{M}` cannot be given to a callback",
    label = "derive `serde::Deserialize` for `{Self}`",
    note = "`render` and `presentation_meta` read the value back; `render_value` and `presentation_meta_value` get it as JSON"
)]
pub trait ReadBack<M>: DeserializeOwned {}

#[diagnostic::do_not_recommend]
impl<M, T: DeserializeOwned> ReadBack<M> for T {}

/// The type of an error that a tool can fail with.
#[diagnostic::on_unimplemented(
    message = "`{M}` cannot fail with this error",
    label = "implement `std::error::Error` for `{Self}`, or return `Result<_, ToolError>`",
    note = "an error becomes the text that the model reads: it converts into `dsh_tools::ToolError`"
)]
pub trait ToolFailure<M>: Sized {
    /// The failure of the call.
    fn into_tool_error(self) -> ToolError;
}

#[diagnostic::do_not_recommend]
impl<M, E: Into<ToolError>> ToolFailure<M> for E {
    fn into_tool_error(self) -> ToolError {
        self.into()
    }
}

/// The type of state that every call can get a clone of.
#[diagnostic::on_unimplemented(
    message = "the calls of `{M}` cannot share this state",
    label = "put it behind an `Arc`, with a lock around what changes",
    note = "state is cloned for each call and used from any thread: it is `Clone + Send + Sync + 'static`"
)]
pub trait ToolState<M>: Clone + Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<M, T: Clone + Send + Sync + 'static> ToolState<M> for T {}

/// [`ToolBuilder::output`].
pub fn output<M, A, T: ToolOutput<M>>(builder: ToolBuilder<A, Undeclared>) -> ToolBuilder<A, T> {
    builder.output()
}

/// [`ToolBuilder::render`].
pub fn render<M, A, T, F, C>(builder: ToolBuilder<A, T>, render: F) -> ToolBuilder<A, T>
where
    A: DeserializeOwned + 'static,
    T: ReadBack<M>,
    F: Fn(&A, &T) -> C + Send + Sync + 'static,
    C: IntoContent,
{
    builder.render(render)
}

/// [`ToolBuilder::presentation_meta`].
pub fn presentation_meta<M, A, T, F, P>(builder: ToolBuilder<A, T>, meta: F) -> ToolBuilder<A, T>
where
    A: DeserializeOwned + 'static,
    T: ReadBack<M>,
    F: Fn(&A, &T) -> P + Send + Sync + 'static,
    P: Serialize,
{
    builder.presentation_meta(meta)
}

/// What a body returned, as the builder wants it.
///
/// # Errors
///
/// The body's own failure, converted.
pub fn settle<M, T, E: ToolFailure<M>>(result: Result<T, E>) -> Result<T, ToolError> {
    result.map_err(ToolFailure::into_tool_error)
}

/// Checks the type of a state parameter.
pub fn state<M, T: ToolState<M>>() {}

/// Checks the type of an argument.
pub fn argument<M, T: ToolArgument<M>>() {}
