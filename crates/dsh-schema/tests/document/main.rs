//! The lossless document through its public API.
#![allow(clippy::unwrap_used, clippy::excessive_precision)] // Helpers of tests are tests; digits are what is tested.

mod decoding;
mod numbers;
mod properties;
mod strings;
mod syntax;
mod values;
mod writing;

use dsh_schema::{Document, DocumentError, DocumentErrorKind};

/// Parses what must parse.
#[track_caller]
fn parsed(text: &str) -> Document {
    Document::parse(text).unwrap_or_else(|error| panic!("{text} should parse: {error}"))
}

/// The error of what must be refused.
#[track_caller]
fn refused(text: &str) -> DocumentError {
    match Document::parse(text) {
        Ok(document) => panic!("{text} should be refused, but is {document}"),
        Err(error) => error,
    }
}

/// Checks the kind and the whole message of a refusal.
#[track_caller]
fn check_refused(text: &str, kind: DocumentErrorKind, message: &str) {
    let error = refused(text);
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (kind, message),
        "{text}"
    );
}
