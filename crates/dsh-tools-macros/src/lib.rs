//! The `#[tool]` attribute: from an `async fn` to a tool's definition.
//!
//! What it owns: reading the function and its options, and writing what `dsh_tools::ToolBuilder` would be told by hand.
//! Use it through `dsh_tools::tool`; everything an expansion names is reachable from `dsh_tools`, so that a crate with
//! tools needs neither `serde` nor `schemars` of its own for their arguments.
//!
//! What holds:
//!
//! 1. An expansion decides nothing: schema, validation and pipeline are the builder's. What the attribute cannot say,
//!    the builder can.
//! 2. Every mistake that can be seen in the source is reported at its place, with what to do about it.
//! 3. The text a model reads is the doc comment, in one form for the tool and for its arguments.
//!
//! Start reading at [`macro@tool`], then the modules `function`, `options` and `expansion`.

mod attributes;
mod description;
mod duration;
mod expansion;
mod function;
mod options;
mod parameter;
#[cfg(test)]
mod tests;

use proc_macro::TokenStream;

/// Makes a tool of an `async fn`.
///
/// The function's arguments become the tool's, its doc comment becomes the description, and what it returns becomes the
/// canonical value. In its place stands a function of the same name and visibility that makes the tool:
///
/// ```text
/// /// Read a UTF-8 text file.
/// #[tool(read_only, concurrency_safe, timeout = "30s", access = |args| [Access::read(&args.file_path)])]
/// async fn read(
///     /// Path of the file, absolute or relative to the workspace.
///     file_path: String,
///     /// First line to return, counted from 1.
///     offset: Option<u64>,
///     #[state] workspace: Arc<Workspace>,
///     cx: RunContext,
/// ) -> Result<ReadOutput, ToolError> { … }
///
/// // becomes
/// fn read(workspace: Arc<Workspace>) -> Result<Tool, RegistryError> { … }
///
/// // and is used as
/// receiver.register(read(workspace)?)?;
/// ```
///
/// # Parameters
///
/// | parameter | becomes |
/// |---|---|
/// | any other | an argument, described by its doc comment; `Option<T>` is optional; `#[serde(…)]` and `#[schemars(…)]` apply |
/// | `#[state] name: T` | a parameter of the function that makes the tool; each call gets a clone, callbacks see it by its name |
/// | of type `RunContext` | what the body gets besides its arguments, in any position or not at all |
///
/// The arguments form a struct named after the function, `ReadArgs` for `read`, private to its module; callbacks written
/// as functions take it. It is an open object (T327) unless `#[serde(deny_unknown_fields)]` stands on the function:
/// `#[serde(…)]` and `#[schemars(…)]` there apply to the struct.
///
/// # Return type
///
/// `Result<T, ToolError>`, `Result<T, E>` where `E` converts into `ToolError` (every `std::error::Error` does), or a plain
/// `T` that cannot fail. `T` derives `serde::Serialize` and `schemars::JsonSchema`, and `serde::Deserialize` too where
/// `render` or `presentation_meta` take it.
///
/// # Options
///
/// | option | meaning |
/// |---|---|
/// | `name = "…"` | the tool's name; the function's by default |
/// | `description = …` | a string expression in place of the doc comment |
/// | `args = Name`, `args = pub Name` | name and visibility of the arguments' struct |
/// | `read_only`, `idempotent`, `once` | what running it twice does to the world; `once` by default |
/// | `destructive`, `destructive = false` | whether it may destroy something |
/// | `open_world` | it reaches beyond the machine and the workspace |
/// | `concurrency_safe`, `concurrency_safe = \|args\| …` | whether a call may run beside others |
/// | `timeout = "30s"` | the tool's own time limit: `ms`, `s`, `m`, `h`, or an expression of type `Duration` |
/// | `owns_deadline` | it enforces a deadline of its own |
/// | `access = \|args\| […]` | what a call will touch |
/// | `render = \|args, output\| …` | the model's text; `render_value` gets raw values |
/// | `present_call = \|args\| …`, `present_result = \|args, result\| …` | the cards |
/// | `presentation_meta = \|args, output\| …` | the card's data; `presentation_meta_value` gets raw values |
/// | `finalize_content = \|execution, outcome\| …` | the last word on the content of every outcome |
/// | `crate = path` | where `dsh_tools` is, if not at `::dsh_tools` |
///
/// Each of the callbacks is a closure or a path, and means what the method of `dsh_tools::ToolBuilder` of that name
/// says.
///
/// # Description
///
/// The doc comment up to its first heading; lines of a paragraph are joined. What only Rust readers need goes below a
/// heading such as `# Notes`.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    expansion::expand(options.into(), item.into()).into()
}
