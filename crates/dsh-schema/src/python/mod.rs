//! Python declarations of schemas and tools.
//!
//! Everything emitted is grammatically valid Python, whatever the names and descriptions hold.
//! Only the enforced subset has types here; a schema with anything else in it is `Any` as a whole.
//!
//! [`type_of`] gives the annotation of one schema, [`sdk`] the declarations of a set of tools.

mod class;
mod name;
mod section;
mod text;

use crate::{Document, Schema};

pub use crate::typescript::Tool;
pub use section::sdk;

/// The annotation of `schema` where no class can be declared: every object is `dict[str, Any]` (C81).
///
/// Never fails; a schema outside the enforced subset is `Any` (C80).
///
/// # Examples
///
/// ```
/// use dsh_schema::{Document, python};
///
/// let schema = Document::parse(r#"{"type":"array","items":{"type":"string","enum":["a","b"]}}"#)?;
/// assert_eq!(python::type_of(&schema), r#"list[Literal["a", "b"]]"#);
/// # Ok::<(), dsh_schema::DocumentError>(())
/// ```
#[must_use]
pub fn type_of(schema: &Document) -> String {
    if Schema::parse(schema).is_err() {
        return "Any".to_owned();
    }
    class::Classes::none().annotation(schema.root(), None, 0)
}
