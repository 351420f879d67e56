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

use diagnostic::Finding;
use edit::Edit;
use refusal::Refusal;

/// How much room a tree takes, roughly; the arena grows if that is too little.
const TREE_BYTES_PER_BYTE: usize = 12;

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
    let mut allocator = Allocator::with_capacity(program.len() * TREE_BYTES_PER_BYTE);
    let edits = match edits(&allocator, program) {
        Ok(edits) if edits.is_empty() => return Ok(program.to_owned()),
        Ok(edits) => edits,
        Err(findings) => {
            return Err(jsx_refusal(program)
                .unwrap_or_else(|| StripError::from_findings(program, findings)));
        }
    };
    let output = edit::apply(program, edits);
    allocator.reset();
    verify(&allocator, &output)?;
    Ok(output)
}

/// What to erase from a program, or everything that is wrong with it.
fn edits(allocator: &Allocator, program: &str) -> Result<Vec<Edit>, Vec<Finding>> {
    let parsed = parse(allocator, program, SourceType::ts());
    let syntax_errors = diagnostic::syntax_errors(program, &parsed);
    if parsed.panicked {
        return Err(syntax_errors);
    }
    let erased = erase::erase(program, &parsed.program);
    // A refused construct explains the syntax errors the parser reports at the same place, so it goes
    // before them.
    let mut findings = erased.refusals;
    findings.extend(syntax_errors);
    if findings.is_empty() {
        Ok(erased.edits)
    } else {
        Err(findings)
    }
}

/// Checks that the output is JavaScript.
///
/// In TypeScript the parser lets some nonsense pass (`abstract abstract class A {}`). The engine would
/// see it too, but what leaves this module is what the engine will wrap into a function, so it has to
/// be the body of one beyond doubt (C200).
fn verify(allocator: &Allocator, output: &str) -> Result<(), StripError> {
    let parsed = parse(allocator, output, SourceType::mjs());
    let syntax_errors = diagnostic::syntax_errors(output, &parsed);
    if parsed.panicked || !syntax_errors.is_empty() {
        return Err(StripError::from_findings(output, syntax_errors));
    }
    Ok(())
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

/// Tells JSX from any other mistake: text that only parses with JSX allowed must contain some.
fn jsx_refusal(program: &str) -> Option<StripError> {
    let allocator = Allocator::new();
    let parsed = parse(&allocator, program, SourceType::tsx());
    if parsed.panicked || !diagnostic::syntax_errors(program, &parsed).is_empty() {
        return None;
    }
    let mut refusals = erase::erase(program, &parsed.program).refusals;
    refusals.retain(|finding| finding.message == Refusal::Jsx.message());
    (!refusals.is_empty()).then(|| StripError::from_findings(program, refusals))
}
