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
