//! What is wrong with a program, and where.

use std::borrow::Cow;
use std::fmt;

use oxc_parser::ParserReturn;

use super::refusal::Refusal;
use super::trivia::{has_line_break, next_token};

/// How many diagnostics one error carries: the first ones explain the program, the rest is echo.
const MAX_DIAGNOSTICS: usize = 8;

/// TypeScript error numbers that are about types or modifiers only.
///
/// The parser reports some contradictions between annotations as it goes. Types are never checked
/// (C201), and every one of these leaves a tree in which the types can be erased as usual.
const TYPE_LEVEL_ERRORS: &[&str] = &[
    "1015", // a parameter with both `?` and a default
    "1016", // a required parameter after an optional one
    "1021", "1268", "1337", // index signatures
    "1028", // repeated accessibility modifiers
    "1038", "1039", "1040", "1221", // inside ambient declarations
    "1051", "1095", // types on `set` accessors
    "1098", "1099", // empty type parameter and argument lists
    "1257", "1265", "1266", "5085", "5086", "5087", // tuple elements
    "1263", "1264", // definite assignment
    "1354", // `readonly` on something other than an array
    "2368", "2427", "2457",  // names of types
    "18010", // an accessibility modifier on a private name
];

/// One thing that is wrong with a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StripDiagnostic {
    /// What is wrong, and the remedy where there is one; lower case, without a final period.
    pub message: String,
    /// The line, from 1; lines end at `\n`.
    pub line: u32,
    /// The column, from 1, in characters (Unicode scalar values).
    pub column: u32,
}

impl fmt::Display for StripDiagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} (line {}, column {})",
            self.message, self.line, self.column
        )
    }
}

/// Why a program could not be stripped: one or more diagnostics in the order of the text.
///
/// Its `Display` text is meant for the model that wrote the program: one diagnostic per line, each
/// with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StripError {
    diagnostics: Vec<StripDiagnostic>,
    omitted: usize,
}

impl StripError {
    /// The diagnostics, at least one and at most eight, in the order of the text.
    #[must_use]
    pub fn diagnostics(&self) -> &[StripDiagnostic] {
        &self.diagnostics
    }

    pub(super) fn at(program: &str, offset: usize, message: &'static str) -> Self {
        Self::from_findings(
            program,
            vec![Finding {
                offset,
                message: Cow::Borrowed(message),
            }],
        )
    }

    /// Sorts the findings, keeps the first at each place, and computes their positions.
    pub(super) fn from_findings(program: &str, mut findings: Vec<Finding>) -> Self {
        if findings.is_empty() {
            // The parser gave up and did not say why; there is still exactly one thing to report.
            findings.push(Finding {
                offset: 0,
                message: "the program could not be parsed".into(),
            });
        }
        findings.sort_by_key(|finding| finding.offset);
        findings.dedup_by_key(|finding| finding.offset);
        let omitted = findings.len().saturating_sub(MAX_DIAGNOSTICS);
        findings.truncate(MAX_DIAGNOSTICS);
        let diagnostics = findings
            .into_iter()
            .map(|finding| {
                let (line, column) = position(program, finding.offset);
                StripDiagnostic {
                    message: finding.message.into_owned(),
                    line,
                    column,
                }
            })
            .collect();
        Self {
            diagnostics,
            omitted,
        }
    }
}

impl fmt::Display for StripError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnostic) in self.diagnostics.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            diagnostic.fmt(f)?;
        }
        if self.omitted > 0 {
            write!(f, "\n… and {} more", self.omitted)?;
        }
        Ok(())
    }
}

impl std::error::Error for StripError {}

/// A diagnostic that does not know its line and column yet.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) offset: usize,
    pub(super) message: Cow<'static, str>,
}

/// The errors of the parser that concern more than types.
pub(super) fn syntax_errors(program: &str, parsed: &ParserReturn<'_>) -> Vec<Finding> {
    parsed
        .diagnostics
        .iter()
        .filter(|error| {
            let number = error.code.number.as_deref();
            !number.is_some_and(|number| is_type_level(number, &error.message))
        })
        .map(|error| {
            // With several labels, the primary one is the error and the others are its context.
            let place = error.labels.iter().find(|label| label.primary());
            let offset = place
                .or_else(|| error.labels.first())
                .map_or(0, |label| label.offset() as usize);
            if let Some(offset) = operator_after_assertion(program, offset) {
                return Finding {
                    offset,
                    message: OPERATOR_AFTER_ASSERTION.into(),
                };
            }
            if program
                .get(offset..)
                .is_some_and(|rest| rest.starts_with("<!--"))
            {
                return Finding {
                    offset,
                    message: Refusal::HtmlComment.message().into(),
                };
            }
            let mut message = format!("syntax error: {}", as_our_style(&error.message));
            if let Some(help) = &error.help {
                message.push_str(": ");
                message.push_str(&as_our_style(help));
            }
            Finding {
                offset,
                message: message.into(),
            }
        })
        .collect()
}

fn is_type_level(number: &str, message: &str) -> bool {
    let remain = || {
        ["'static'", "'async'", "'accessor'"]
            .iter()
            .filter(|it| message.contains(**it))
            .count()
    };
    match number {
        // A modifier must precede another one: fine as long as not both are there at run time.
        "1029" => remain() < 2,
        // A modifier is there twice.
        "1030" => remain() == 0,
        _ => TYPE_LEVEL_ERRORS.contains(&number),
    }
}

const OPERATOR_AFTER_ASSERTION: &str = "syntax error: this operator cannot follow `as` or \
     `satisfies` here: put parentheses around the asserted expression";

/// The operator where the parser gave up, if that is after an `as` or `satisfies` on the same line.
///
/// To the parser `a + b as number * c` ends before the `*`; its own message says nothing of use.
fn operator_after_assertion(program: &str, offset: usize) -> Option<usize> {
    let before = program.get(..offset)?;
    let line = &before[before.rfind('\n').map_or(0, |newline| newline + 1)..];
    if !line.contains(" as ") && !line.contains(" satisfies ") {
        return None;
    }
    let operator = next_token(program, offset);
    let follows =
        program[operator..].starts_with(['*', '/', '%', '+', '-', '<', '>', '&', '|', '^', '?']);
    (follows && !has_line_break(&program[offset..operator])).then_some(operator)
}

/// `Unexpected token.` → `unexpected token`.
fn as_our_style(message: &str) -> String {
    let message = message.trim_end_matches('.');
    let mut characters = message.chars();
    match (characters.next(), characters.clone().next()) {
        // An abbreviation or a code fragment stays as it is.
        (Some(_), Some(second)) if !second.is_lowercase() => message.to_owned(),
        (Some(first), _) => first.to_lowercase().chain(characters).collect(),
        (None, _) => String::from("unexpected token"),
    }
}

/// Line and column, both from 1, of a byte offset.
fn position(program: &str, offset: usize) -> (u32, u32) {
    let mut offset = offset.min(program.len());
    while !program.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = &program[..offset];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.bytes().filter(|&byte| byte == b'\n').count();
    let column = before[line_start..].chars().count();
    let from_one = |count: usize| u32::try_from(count + 1).unwrap_or(u32::MAX);
    (from_one(line), from_one(column))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters() {
        assert_eq!(position("", 0), (1, 1));
        assert_eq!(position("a\nb", 2), (2, 1));
        assert_eq!(position("é😀x", 6), (1, 3));
        // An offset inside a character or past the end is clamped instead of trusted.
        assert_eq!(position("é", 1), (1, 1));
        assert_eq!(position("a\n", 99), (2, 1));
    }

    #[test]
    fn an_error_lists_its_diagnostics_in_the_order_of_the_text() {
        let finding = |offset, message: &'static str| Finding {
            offset,
            message: message.into(),
        };
        let error = StripError::from_findings(
            "one\ntwo\n",
            vec![
                finding(4, "second"),
                finding(0, "first"),
                finding(4, "echo"),
            ],
        );
        assert_eq!(
            error.to_string(),
            "first (line 1, column 1)\nsecond (line 2, column 1)"
        );
    }

    #[test]
    fn an_error_is_bounded() {
        let findings = (0..100)
            .map(|offset| Finding {
                offset,
                message: "bad".into(),
            })
            .collect();
        let error = StripError::from_findings(&"x".repeat(100), findings);
        assert_eq!(error.diagnostics().len(), MAX_DIAGNOSTICS);
        assert!(error.to_string().ends_with("\n… and 92 more"), "{error}");
    }

    #[test]
    fn an_error_is_never_empty() {
        assert_eq!(
            StripError::from_findings("", Vec::new())
                .diagnostics()
                .len(),
            1
        );
    }
}
