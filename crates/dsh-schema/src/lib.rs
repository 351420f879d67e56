//! Lossless JSON documents, schemas and the declarations made from them.
//!
//! What this crate owns:
//!
//! - [`Document`]: JSON text together with a flat list of nodes. One pass checks everything that makes a text lossless
//!   (depth, duplicate keys, number range, negative zero, surrogates); nothing after that pass can fail for those reasons.
//! - [`Schema`]: the enforced subset of JSON Schema as a typed tree, and [`ForeignSchema`]: everything else that can be
//!   enforced in full. A [`Contract`] is one of the two.
//! - [`spec`]: the author's DSL for arguments and outputs, as typed builders and as JSON.
//! - [`typescript`] and [`python`]: declarations that a model reads.
//!
//! It knows nothing of tools, of asynchrony or of I/O.
//!
//! What holds:
//!
//! 1. No input makes it panic or overflow the stack: depth is checked before anything recursive sees a document, and
//!    whatever recurses does so over schemas whose depth is bounded.
//! 2. Every constraint of a schema that is accepted is enforced; one that is not enforced refuses the schema by name.
//! 3. A verdict and the list of violations agree: a value is valid exactly if it has no violation.
//! 4. The same input gives the same bytes, in declarations and in messages alike.
//!
//! Start reading at [`Document`] and [`Contract`]; `schema/verdict.rs` and `schema/violations.rs` are the two walks over a
//! value, `foreign/mod.rs` the way into the `jsonschema` crate.

mod contract;
mod document;
mod error;
mod foreign;
mod from_type;
pub mod python;
mod schema;
pub mod spec;
pub mod typescript;

pub use contract::Contract;
pub use document::{
    ArrayRef, Document, DocumentError, DocumentErrorKind, Kind, MAX_DEPTH, Number, ObjectRef,
    ValueRef,
};
pub use error::SchemaError;
pub use foreign::ForeignSchema;
pub use from_type::{ArgumentsContract, arguments_of, output_of};
pub use schema::{
    BranchesShape, Literal, LiteralValue, NodeRef, ObjectShape, PropertyRef, Scalar, ScalarShape,
    Schema, Shape,
};
