//! TypeScript declarations of schemas and tools.
//!
//! A model reads these, a program is never checked against them; still every text is valid
//! TypeScript under `--strict`, whatever the schema holds. A schema of the enforced subset has one
//! exact rendering. Any other schema is rendered as precisely as TypeScript allows, and `unknown`
//! stands only where a node has no type at all.
//!
//! [`type_of`] gives the text of one type. [`render`] also declares the named types that references
//! need. [`sdk`] gives the declarations of a whole set of tools; [`ToolText`] is the part of it that
//! depends on one tool only and can be kept.

mod literal;
mod node;
pub(crate) mod refs;
mod section;
mod shape;
pub(crate) mod text;

use crate::Document;

pub(crate) use section::by_utf16;
pub use section::{Tool, ToolText, args_map, member, output_map, sdk, sdk_of};

/// A type together with the named types that it mentions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeText {
    /// The text of the type.
    pub text: String,
    /// Name and body of every named type, in the order in which they are first mentioned.
    pub declarations: Vec<(String, String)>,
}

/// The type of `schema`, with braces that stand at `level` (two spaces each).
///
/// There is no place for named types here: references are expanded where they stand, and a
/// reference inside its own expansion is `unknown`. Never fails; a value that is no schema is
/// `unknown`.
///
/// # Examples
///
/// ```
/// use dsh_schema::{Document, typescript};
///
/// let schema = Document::parse(r#"{"type":"array","items":{"type":"string","enum":["a","b"]}}"#)?;
/// assert_eq!(typescript::type_of(&schema, 0), r#"("a" | "b")[]"#);
/// # Ok::<(), dsh_schema::DocumentError>(())
/// ```
#[must_use]
pub fn type_of(schema: &Document, level: usize) -> String {
    node::inline(schema.root(), level)
}

/// The type of `schema` with its references as named types.
///
/// The names begin with `hint`, which has to be an identifier that no other type begins with.
#[must_use]
pub fn render(schema: &Document, hint: &str, level: usize) -> TypeText {
    node::named(schema.root(), hint, level)
}
