//! Type stripping: from the TypeScript a model wrote to the JavaScript the engine runs.
//!
//! A program is the body of an async function in strict mode (C195). [`strip`] parses it as exactly
//! that, blanks out every type and returns JavaScript in which each remaining character has kept its
//! line and its column, so positions in engine errors are positions in the model's own text (C199).
//!
//! Erasing types is not always harmless: a removed line can join its neighbours into one expression,
//! and a removed type can take the parentheses or the line break away that gave the code its meaning.
//! The module `erase` documents each of these hazards where it is dealt with. What cannot be erased without
//! rewriting the program (`enum`, parameter properties, …) is refused by name (C197).
//!
//! The parser is recursive and a native stack overflow is not an error that can be caught, so a scan
//! for hopelessly deep nesting comes first (module `nesting`). It is a courtesy that turns the obvious
//! cases into a diagnostic; the process boundary is what contains the rest.

mod diagnostic;
mod edit;
mod erase;
mod nesting;
mod refusal;
mod trivia;

use oxc_allocator::Allocator;
use oxc_parser::{ParseOptions, Parser, ParserReturn};
use oxc_span::SourceType;

pub use diagnostic::{StripDiagnostic, StripError};

/// Removes the types from a program and keeps every other character where it is.
///
/// `program` is the body of an async function in strict mode: `await` and `return` are allowed at the
/// top level, `import` and `export` statements are not. The result has as many lines as `program` and
/// as many characters in each of them. Types are removed, never checked (C201). Stripping a program
/// that has no types returns it unchanged.
///
/// The body is parsed on its own, without a wrapper around it, so a program that tries to close the
/// function it will be put into is a syntax error (C200).
///
/// Time and memory are linear in the size of the program for everything a model would write; hostile
/// input can take longer, and in rare cases exhaust the stack, so untrusted programs are stripped in a
/// process that may be killed (D17). The caller bounds the size of `program`.
///
/// # Errors
///
/// A [`StripError`] with at least one diagnostic: a syntax error, TypeScript that cannot be erased
/// (`enum`, namespaces with values, parameter properties, `import x = …`, angle-bracket assertions,
/// decorators, JSX), a static `import` or `export`, or nesting beyond what can be parsed safely.
///
/// # Examples
///
/// ```
/// use dsh_code_quickjs::strip::strip;
///
/// assert_eq!(strip("const n: number = 1;\nreturn n!;").unwrap(), "const n         = 1;\nreturn n ;");
///
/// let error = strip("return 1;\nenum Color { Red }").unwrap_err();
/// assert_eq!((error.diagnostics()[0].line, error.diagnostics()[0].column), (2, 1));
/// ```
pub fn strip(program: &str) -> Result<String, StripError> {
    if let Some(offset) = nesting::too_deep(program) {
        return Err(StripError::at(program, offset, nesting::MESSAGE));
    }
    let allocator = Allocator::new();
    let parsed = parse(&allocator, program, SourceType::ts());
    let syntax_errors = diagnostic::syntax_errors(program, &parsed);
    if parsed.panicked {
        return Err(jsx_refusal(program)
            .unwrap_or_else(|| StripError::from_findings(program, syntax_errors)));
    }
    let erased = erase::erase(program, &parsed.program);
    if syntax_errors.is_empty() && erased.refusals.is_empty() {
        return Ok(edit::apply(program, erased.edits));
    }
    if !syntax_errors.is_empty() && let Some(refusal) = jsx_refusal(program) {
        return Err(refusal);
    }
    // A refused construct explains the syntax errors the parser reports inside it, so it goes first
    // where both point at the same place.
    let mut findings = erased.refusals;
    findings.extend(syntax_errors);
    Err(StripError::from_findings(program, findings))
}

fn parse<'a>(
    allocator: &'a Allocator,
    program: &'a str,
    source_type: SourceType,
) -> ParserReturn<'a> {
    Parser::new(allocator, program, source_type.with_module(true))
        .with_options(ParseOptions {
            allow_return_outside_function: true,
            enable_ident_hashes: false,
            ..ParseOptions::default()
        })
        .parse()
}

/// Tells JSX from any other syntax error: text that only parses with JSX allowed must contain some.
fn jsx_refusal(program: &str) -> Option<StripError> {
    let allocator = Allocator::new();
    let parsed = parse(&allocator, program, SourceType::tsx());
    if parsed.panicked || !diagnostic::syntax_errors(program, &parsed).is_empty() {
        return None;
    }
    let refusals = erase::erase(program, &parsed.program).refusals;
    (!refusals.is_empty()).then(|| StripError::from_findings(program, refusals))
}
