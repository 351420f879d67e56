//! Stripping must not change what a program means: the tree of the output, parsed as JavaScript, is
//! the tree of the input without its types. Checked for the corpus and for programs spliced together
//! from pieces of it, which put every construct next to every other.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use dsh_code_quickjs::strip::strip;
use oxc_allocator::{Allocator, Vec as ArenaVec};
use oxc_ast::AstKind;
use oxc_ast::ast::*;
use oxc_ast_visit::{Visit, walk};
use oxc_parser::{ParseOptions, Parser};
use oxc_span::{GetSpan, SourceType};
use oxc_syntax::scope::ScopeFlags;
use serde_json::Value;

/// Writes down a tree without types, empty statements and positions that a repair may move.
struct Outline<'t> {
    program: &'t str,
    text: String,
}

impl Outline<'_> {
    /// The place of a node in characters, which is what must not change.
    fn place(&self, offset: u32) -> usize {
        self.program[..offset as usize].chars().count()
    }
}

impl<'a> Visit<'a> for Outline<'_> {
    fn enter_node(&mut self, kind: AstKind<'a>) {
        let name = kind.debug_name();
        if !is_wrapper(&name) {
            let is_leaf = name.contains("Identifier") || name.contains("Literal");
            // Where a leaf stands says that nothing moved, and tells equal names apart.
            let _ = if is_leaf {
                writeln!(self.text, "({name}{}", self.place(kind.span().start))
            } else {
                // What follows the name describes the children, types included.
                writeln!(self.text, "({}", name.split('(').next().unwrap_or_default())
            };
        }
    }

    fn leave_node(&mut self, kind: AstKind<'a>) {
        if !is_wrapper(&kind.debug_name()) {
            self.text.push(')');
        }
    }

    fn visit_statement(&mut self, statement: &Statement<'a>) {
        let is_erased = match statement {
            Statement::EmptyStatement(_)
            | Statement::TSTypeAliasDeclaration(_)
            | Statement::TSInterfaceDeclaration(_)
            | Statement::TSEnumDeclaration(_)
            | Statement::TSNamespaceDeclaration(_)
            | Statement::TSExternalModuleDeclaration(_)
            | Statement::TSGlobalDeclaration(_) => true,
            Statement::VariableDeclaration(it) => it.declare,
            Statement::ClassDeclaration(it) => it.declare,
            Statement::FunctionDeclaration(it) => it.declare || it.body.is_none(),
            _ => false,
        };
        if !is_erased {
            walk::walk_statement(self, statement);
        }
    }

    fn visit_directive(&mut self, it: &Directive<'a>) {
        // `'a' as string` is a directive once it is `'a'`, which is as harmless as it was before.
        let _ = write!(
            self.text,
            "(ExpressionStatement\n(StringLiteral({}){}\n))",
            it.directive,
            self.place(it.span.start)
        );
    }

    fn visit_expression_statement(&mut self, it: &ExpressionStatement<'a>) {
        let mut expression = &it.expression;
        loop {
            expression = match expression {
                Expression::TSAsExpression(it) => &it.expression,
                Expression::TSSatisfiesExpression(it) => &it.expression,
                Expression::TSNonNullExpression(it) => &it.expression,
                Expression::StringLiteral(literal) => {
                    let raw = literal.raw.map_or("", |raw| raw.as_str());
                    let start = self.place(literal.span.start);
                    let inner = raw.get(1..raw.len() - 1).unwrap_or_default();
                    let _ = write!(
                        self.text,
                        "(ExpressionStatement\n(StringLiteral({inner}){start}\n))"
                    );
                    return;
                }
                _ => return walk::walk_expression_statement(self, it),
            }
        }
    }

    fn visit_class_element(&mut self, element: &ClassElement<'a>) {
        let is_erased = match element {
            ClassElement::MethodDefinition(it) => {
                it.value.body.is_none()
                    || it.r#type == MethodDefinitionType::TSAbstractMethodDefinition
            }
            ClassElement::PropertyDefinition(it) => {
                it.declare || it.r#type == PropertyDefinitionType::TSAbstractPropertyDefinition
            }
            ClassElement::AccessorProperty(it) => {
                it.r#type == AccessorPropertyType::TSAbstractAccessorProperty
            }
            ClassElement::TSIndexSignature(_) => true,
            ClassElement::StaticBlock(_) => false,
        };
        if !is_erased {
            walk::walk_class_element(self, element);
        }
    }

    fn visit_function(&mut self, it: &Function<'a>, flags: ScopeFlags) {
        let _ = write!(self.text, "{}{}", it.r#async, it.generator);
        walk::walk_function(self, it, flags);
    }

    fn visit_arrow_function_expression(&mut self, it: &ArrowFunctionExpression<'a>) {
        let _ = write!(self.text, "{}", it.r#async);
        walk::walk_arrow_function_expression(self, it);
    }

    fn visit_method_definition(&mut self, it: &MethodDefinition<'a>) {
        let _ = write!(self.text, "{:?}{}{}", it.kind, it.r#static, it.computed);
        walk::walk_method_definition(self, it);
    }

    fn visit_property_definition(&mut self, it: &PropertyDefinition<'a>) {
        let _ = write!(self.text, "{}{}", it.r#static, it.computed);
        walk::walk_property_definition(self, it);
    }

    fn visit_binary_expression(&mut self, it: &BinaryExpression<'a>) {
        let _ = write!(self.text, "{}", it.operator.as_str());
        walk::walk_binary_expression(self, it);
    }

    fn visit_ts_type_annotation(&mut self, _: &TSTypeAnnotation<'a>) {}
    fn visit_ts_type_parameter_declaration(&mut self, _: &TSTypeParameterDeclaration<'a>) {}
    fn visit_ts_type_parameter_instantiation(&mut self, _: &TSTypeParameterInstantiation<'a>) {}
    fn visit_ts_class_implements_list(&mut self, _: &ArenaVec<'a, TSClassImplements<'a>>) {}
    fn visit_ts_this_parameter(&mut self, _: &TSThisParameter<'a>) {}
    fn visit_ts_type(&mut self, _: &TSType<'a>) {}
}

/// Nodes that stand around an expression and are erased, or that the repairs may add or move.
fn is_wrapper(name: &str) -> bool {
    ["TS", "FormalParameters", "ParenthesizedExpression"]
        .iter()
        .any(|it| name.starts_with(it))
}

/// The outline of a program, or nothing if it does not parse.
fn outline(program: &str, source_type: SourceType) -> Option<String> {
    let allocator = Allocator::new();
    let parsed = Parser::new(&allocator, program, source_type.with_module(true))
        .with_options(ParseOptions {
            allow_return_outside_function: true,
            ..ParseOptions::default()
        })
        .parse();
    let is_typescript = source_type.is_typescript();
    // Errors about types only are for the stripper to judge; JavaScript has to be without errors.
    if parsed.panicked || (!is_typescript && !parsed.diagnostics.is_empty()) {
        return None;
    }
    let mut outline = Outline {
        program,
        text: String::new(),
    };
    outline.visit_program(&parsed.program);
    Some(outline.text)
}

/// Whether the program was accepted, or what is wrong with what came out.
fn check(program: &str) -> Result<bool, String> {
    let Ok(output) = strip(program) else {
        return Ok(false);
    };
    let shown = || format!("{program}\n--- became\n{output}");
    let before = outline(program, SourceType::ts()).expect("an accepted program parses");
    let Some(after) = outline(&output, SourceType::mjs()) else {
        return Err(format!("not JavaScript:\n{}", shown()));
    };
    if before != after {
        let difference = before
            .lines()
            .zip(after.lines())
            .find(|(before, after)| before != after);
        return Err(format!("{difference:?}:\n{}", shown()));
    }
    let lengths = |text: &str| {
        text.split('\n')
            .map(|it| it.chars().count())
            .collect::<Vec<_>>()
    };
    if lengths(program) != lengths(&output) {
        return Err(format!("something moved:\n{}", shown()));
    }
    Ok(true)
}

/// Counts the accepted programs; panics with the first wrong ones, if any.
fn count_accepted(programs: impl Iterator<Item = String>) -> usize {
    let (mut accepted, mut failures) = (0, Vec::new());
    for program in programs {
        match check(&program) {
            Ok(is_accepted) => accepted += usize::from(is_accepted),
            Err(failure) => failures.push(failure),
        }
        if failures.len() == 10 {
            break;
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    accepted
}

fn corpus() -> Vec<(String, String)> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/strip/corpus.jsonl");
    let rows = fs::read_to_string(path).unwrap();
    rows.lines()
        .map(|line| {
            let row: Value = serde_json::from_str(line).unwrap();
            (
                row["id"].as_str().unwrap().into(),
                row["source"].as_str().unwrap().into(),
            )
        })
        .collect()
}

#[test]
fn the_tree_stays_the_same() {
    let accepted = count_accepted(corpus().into_iter().map(|(_, source)| source));
    assert!(accepted > 800, "only {accepted} programs were accepted");
}

/// A small generator of reproducible choices (xorshift).
struct Choices(u64);

impl Choices {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit.max(1) as u64).unwrap()
    }
}

/// Splits into words, spaces, line breaks and single other characters.
fn pieces(program: &str) -> Vec<&str> {
    let class = |it: char| match it {
        ' ' => 0,
        _ if it.is_alphanumeric() || it == '_' || it == '$' => 1,
        _ => 2,
    };
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut previous = None;
    for (offset, character) in program.char_indices() {
        let kind = class(character);
        if previous.is_some_and(|previous| previous != kind || kind == 2) {
            pieces.push(&program[start..offset]);
            start = offset;
        }
        previous = Some(kind);
    }
    pieces.push(&program[start..]);
    pieces
}

#[test]
fn mutated_programs_keep_their_tree() {
    let sources: Vec<_> = corpus()
        .into_iter()
        .filter(|(id, _)| !id.starts_with("operators/"))
        .map(|(_, it)| it)
        .collect();
    let written = sources
        .iter()
        .take(165)
        .map(|source| pieces(source))
        .collect::<Vec<_>>();
    let replacements = [
        "\n",
        " ",
        "",
        ";",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "!",
        "?",
        " as any",
        " satisfies T",
        ": T",
        "<T>",
        "<\nT\n>",
        "async ",
        "get ",
        "static ",
        "readonly ",
        "private ",
        "declare ",
        "abstract ",
        "type T = 1\n",
        "interface I {}\n",
        "\n(1)",
        "\n[0]",
        "\n`t`",
        "=> ",
        "x",
        "return ",
        "/* c */",
        "// c\n",
        ",",
        "=",
        "1",
        ": {\n a: 1\n}",
        " as {\n}",
        "await ",
        "new ",
        "?.",
        "...",
        "*",
        "-",
    ];
    // For a long run, with a seed of its own: `DSH_STRIP_MUTATIONS=3000000 DSH_STRIP_SEED=7`.
    let setting = |name| {
        std::env::var(name)
            .ok()
            .and_then(|it| it.parse::<u64>().ok())
    };
    let rounds = setting("DSH_STRIP_MUTATIONS").unwrap_or(12_000);
    let mut choices = Choices(
        setting("DSH_STRIP_SEED")
            .unwrap_or(1)
            .wrapping_mul(0x9E37_79B9_7F4A_7C15),
    );
    let programs = (0..rounds).map(|_| {
        let mut program = written[choices.below(written.len())].clone();
        for _ in 0..=choices.below(3) {
            let at = choices.below(program.len() + 1);
            match choices.below(4) {
                0 if at < program.len() => {
                    program[at] = replacements[choices.below(replacements.len())]
                }
                1 if at < program.len() => {
                    program.remove(at);
                }
                2 => {
                    let other = &written[choices.below(written.len())];
                    let from = choices.below(other.len());
                    let to = (from + choices.below(12)).min(other.len());
                    program.splice(at..at, other[from..to].iter().copied());
                }
                _ => program.insert(at, replacements[choices.below(replacements.len())]),
            }
        }
        program.concat()
    });
    let accepted = count_accepted(programs);
    assert!(
        accepted > 1_000,
        "only {accepted} mutated programs were accepted"
    );
}
