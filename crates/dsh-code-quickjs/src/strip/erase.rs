//! Decides what is a type, and repairs what its removal would break.
//!
//! The hazards, each handled where the comment names it:
//!
//! - **Joined lines.** `a` / `type T = X` / `(b)`: without the middle line, `a(b)` is a call. An erased
//!   statement or class member leaves a `;`.
//! - **Joined members.** `x = 1` / `private [k] = 2` would index `1`: an erased leading modifier leaves
//!   a `;`. `get: T` / `f() {}` would define a getter: so does the type of a field named like a modifier.
//! - **Joined operands.** A type ends an expression where the text alone goes on: `x as T` / `(b)`.
//! - **Lost grouping.** `a + b as T * c` means `(a + b) * c`. There is no room for the parenthesis, so
//!   this is refused.
//! - **Line breaks.** `return <` / `T,>(x) => x` would return `undefined`, and `=>` must not begin a
//!   line: the parenthesis next to a type of several lines moves to its far end.

use oxc_ast::ast::*;
use oxc_ast_visit::{Visit, walk};
use oxc_span::{GetSpan, Span};
use oxc_syntax::precedence::{GetPrecedence, Precedence};
use oxc_syntax::scope::ScopeFlags;

use super::diagnostic::Finding;
use super::edit::Edit;
use super::refusal::Refusal;
use super::trivia;

/// How deep the walk recurses into statements and expressions.
///
/// Chains that are nested to the left (`a + b + c`, `a.b().c()`) do not recurse, and everything else
/// has been bounded before parsing; this is the safety net below both.
const MAX_DEPTH: u32 = 1_500;

/// What to do to a program to turn it into JavaScript, or why that cannot be done.
pub(super) struct Erased {
    pub(super) edits: Vec<Edit>,
    pub(super) refusals: Vec<Finding>,
}

pub(super) fn erase(text: &str, program: &Program<'_>) -> Erased {
    let mut eraser = Eraser {
        text,
        erased: Erased {
            edits: Vec::new(),
            refusals: Vec::new(),
        },
        depth: 0,
    };
    if let Some(hashbang) = &program.hashbang {
        eraser.refuse(Refusal::Hashbang, hashbang.span);
    }
    eraser.visit_statements(&program.body);
    eraser.erased
}

struct Eraser<'t> {
    text: &'t str,
    erased: Erased,
    depth: u32,
}

impl Eraser<'_> {
    fn blank(&mut self, start: usize, end: usize) {
        self.erased.edits.push(Edit::blank(start, end));
    }

    fn blank_span(&mut self, span: Span) {
        self.blank(start(span), end(span));
    }

    /// Erases a whole statement or class member. The `;` keeps its neighbours apart; where it is not
    /// needed it is an empty statement or an empty member.
    fn blank_whole(&mut self, span: Span) {
        self.erased
            .edits
            .push(Edit::with_head(start(span), end(span), ';'));
    }

    fn refuse(&mut self, refusal: Refusal, span: Span) {
        self.erased.refusals.push(Finding {
            offset: start(span),
            message: refusal.message().into(),
        });
    }

    /// Runs `walk` one level deeper unless that is too deep.
    fn deeper(&mut self, span: Span, walk: impl FnOnce(&mut Self)) {
        if self.depth >= MAX_DEPTH {
            return self.refuse(Refusal::NestingTooDeep, span);
        }
        self.depth += 1;
        walk(self);
        self.depth -= 1;
    }

    /// The offset of `byte` if it is the next token at or after `offset`.
    fn next_is(&self, offset: usize, byte: u8) -> Option<usize> {
        let offset = trivia::next_token(self.text, offset);
        (self.text.as_bytes().get(offset) == Some(&byte)).then_some(offset)
    }

    /// Replaces `mark` (`?` or `!`) by `head`, usually a space, if it is the next token.
    fn blank_mark(&mut self, offset: usize, mark: u8, head: char) {
        if let Some(offset) = self.next_is(offset, mark) {
            self.erased
                .edits
                .push(Edit::with_head(offset, offset + 1, head));
        }
    }

    /// Blanks ` as T` after `operand`.
    fn blank_assertion(&mut self, operand: &Expression<'_>, assertion: Span) {
        let next = trivia::next_token(self.text, end(assertion));
        if regroups(operand, &self.text[next..]) {
            return self.refuse(Refusal::AssertionGrouping, assertion);
        }
        // Joined operands: nothing in the grammar allows these tokens right after an assertion, so
        // they begin the next statement or class member, and would continue this one without the type.
        let head = match self.text.as_bytes().get(next) {
            Some(b'(' | b'[' | b'`') => ';',
            _ => ' ',
        };
        self.erased
            .edits
            .push(Edit::with_head(end(operand.span()), end(assertion), head));
    }

    fn blank_type_parameters(&mut self, parameters: Option<&TSTypeParameterDeclaration<'_>>) {
        let Some(parameters) = parameters else { return };
        let (from, to) = (start(parameters.span), end(parameters.span));
        match self.next_is(to, b'(') {
            // Line breaks: `async`, `return`, `throw` and `yield` must see the parenthesis on their
            // own line, so it moves to where the type parameters began.
            Some(parenthesis) if trivia::has_line_break(&self.text[from..parenthesis]) => {
                self.erased
                    .edits
                    .push(Edit::with_head(from, parenthesis + 1, '('));
            }
            _ => self.blank(from, to),
        }
    }

    /// Blanks the words among `modifiers` between the start of a class member and its name.
    fn blank_modifiers(&mut self, member: Span, name: Span) {
        let member_start = trivia::next_token(self.text, start(member));
        let mut offset = member_start;
        while offset < start(name) {
            let word = trivia::word(self.text, offset);
            if word.is_empty() {
                break;
            }
            if is_erased_modifier(word) {
                // Joined members: the name may be one that continues the member before.
                let head = if offset == member_start { ';' } else { ' ' };
                self.erased
                    .edits
                    .push(Edit::with_head(offset, offset + word.len(), head));
            }
            offset = trivia::next_token(self.text, offset + word.len());
        }
    }

    /// The offset after the name of a class member, past the bracket of a computed one.
    fn name_end(&self, name: Span, computed: bool) -> usize {
        match self.next_is(end(name), b']') {
            Some(bracket) if computed => bracket + 1,
            _ => end(name),
        }
    }

    fn visit_field(&mut self, field: &PropertyDefinition<'_>) {
        self.blank_modifiers(field.span, field.key.span());
        self.visit_property_key(&field.key);
        // Joined members: a name alone on its line would become a modifier of the next member.
        let is_alone = field.value.is_none()
            && field
                .key
                .static_name()
                .is_some_and(|it| is_kept_modifier(&it));
        let head = if is_alone { ';' } else { ' ' };
        let name_end = self.name_end(field.key.span(), field.computed);
        if field.optional {
            self.blank_mark(name_end, b'?', head);
        } else if field.definite {
            self.blank_mark(name_end, b'!', head);
        }
        if let Some(annotation) = &field.type_annotation {
            let (from, to) = (start(annotation.span), end(annotation.span));
            self.erased.edits.push(Edit::with_head(from, to, head));
        }
        if let Some(value) = &field.value {
            self.visit_expression(value);
        }
    }

    fn visit_method(&mut self, method: &MethodDefinition<'_>) {
        self.blank_modifiers(method.span, method.key.span());
        self.visit_property_key(&method.key);
        if method.optional {
            let name_end = self.name_end(method.key.span(), method.computed);
            self.blank_mark(name_end, b'?', ' ');
        }
        self.visit_function(&method.value, ScopeFlags::Function);
    }

    /// Visits what follows the left operand of `node` in the text.
    fn visit_after_left(&mut self, node: Chained<'_, '_>) {
        match node {
            Chained::Binary(binary) => {
                let operator = trivia::next_token(self.text, end(binary.left.span()));
                if self.text[operator..].starts_with("<!--") {
                    // The engine takes this for a comment. What it hides could then be a bracket.
                    self.refuse(Refusal::HtmlComment, binary.span);
                }
                self.visit_expression(&binary.right);
            }
            Chained::Logical(logical) => self.visit_expression(&logical.right),
            Chained::Call(call) => {
                if let Some(arguments) = &call.type_arguments {
                    self.blank_span(arguments.span);
                }
                for argument in &call.arguments {
                    self.visit_argument(argument);
                }
            }
            Chained::Computed(member) => self.visit_expression(&member.expression),
            Chained::Tagged(tagged) => {
                if let Some(arguments) = &tagged.type_arguments {
                    self.blank_span(arguments.span);
                }
                self.visit_template_literal(&tagged.quasi);
            }
            Chained::As(assertion) => {
                self.blank_assertion(&assertion.expression, assertion.span);
            }
            Chained::Satisfies(assertion) => {
                self.blank_assertion(&assertion.expression, assertion.span);
            }
            Chained::NonNull(assertion) => {
                self.blank_mark(end(assertion.expression.span()), b'!', ' ');
            }
            Chained::Instantiation(instantiation) => {
                self.blank_span(instantiation.type_arguments.span);
            }
        }
    }
}

/// An expression whose first part is an expression that may have the same shape again, so that long
/// programs written as one chain nest thousands deep without a single bracket.
enum Chained<'e, 'a> {
    Binary(&'e BinaryExpression<'a>),
    Logical(&'e LogicalExpression<'a>),
    Call(&'e CallExpression<'a>),
    Computed(&'e ComputedMemberExpression<'a>),
    Tagged(&'e TaggedTemplateExpression<'a>),
    As(&'e TSAsExpression<'a>),
    Satisfies(&'e TSSatisfiesExpression<'a>),
    NonNull(&'e TSNonNullExpression<'a>),
    Instantiation(&'e TSInstantiationExpression<'a>),
}

impl<'e, 'a> Chained<'e, 'a> {
    /// The first part of `expression`, and the rest where there is something to visit in it.
    fn split(expression: &'e Expression<'a>) -> Option<(&'e Expression<'a>, Option<Self>)> {
        Some(match expression {
            Expression::BinaryExpression(it) => (&it.left, Some(Self::Binary(it))),
            Expression::LogicalExpression(it) => (&it.left, Some(Self::Logical(it))),
            Expression::CallExpression(it) => (&it.callee, Some(Self::Call(it))),
            Expression::ComputedMemberExpression(it) => (&it.object, Some(Self::Computed(it))),
            Expression::StaticMemberExpression(it) => (&it.object, None),
            Expression::PrivateFieldExpression(it) => (&it.object, None),
            Expression::TaggedTemplateExpression(it) => (&it.tag, Some(Self::Tagged(it))),
            Expression::TSAsExpression(it) => (&it.expression, Some(Self::As(it))),
            Expression::TSSatisfiesExpression(it) => (&it.expression, Some(Self::Satisfies(it))),
            Expression::TSNonNullExpression(it) => (&it.expression, Some(Self::NonNull(it))),
            Expression::TSInstantiationExpression(it) => {
                (&it.expression, Some(Self::Instantiation(it)))
            }
            Expression::ChainExpression(it) => match &it.expression {
                ChainElement::CallExpression(it) => (&it.callee, Some(Self::Call(it))),
                ChainElement::TSNonNullExpression(it) => (&it.expression, Some(Self::NonNull(it))),
                ChainElement::ComputedMemberExpression(it) => {
                    (&it.object, Some(Self::Computed(it)))
                }
                ChainElement::StaticMemberExpression(it) => (&it.object, None),
                ChainElement::PrivateFieldExpression(it) => (&it.object, None),
            },
            _ => return None,
        })
    }
}

impl<'a> Visit<'a> for Eraser<'_> {
    fn visit_statement(&mut self, statement: &Statement<'a>) {
        let span = statement.span();
        match statement {
            Statement::TSTypeAliasDeclaration(_)
            | Statement::TSInterfaceDeclaration(_)
            | Statement::TSGlobalDeclaration(_) => self.blank_whole(span),
            Statement::VariableDeclaration(it) if it.declare => self.blank_whole(span),
            Statement::ClassDeclaration(it) if it.declare => self.blank_whole(span),
            // A declaration, or an overload whose implementation follows.
            Statement::FunctionDeclaration(it) if it.declare || it.body.is_none() => {
                self.blank_whole(span);
            }
            Statement::TSEnumDeclaration(it) if it.declare => self.blank_whole(span),
            Statement::TSEnumDeclaration(it) if it.r#const => self.refuse(Refusal::ConstEnum, span),
            Statement::TSEnumDeclaration(_) => self.refuse(Refusal::Enum, span),
            Statement::TSNamespaceDeclaration(it) if it.declare || !has_values(it) => {
                self.blank_whole(span);
            }
            Statement::TSNamespaceDeclaration(it) => {
                let refusal = match it.kind {
                    TSNamespaceDeclarationKind::Module => Refusal::Module,
                    TSNamespaceDeclarationKind::Namespace => Refusal::Namespace,
                };
                self.refuse(refusal, span);
            }
            Statement::TSExternalModuleDeclaration(it) if it.declare => self.blank_whole(span),
            Statement::TSExternalModuleDeclaration(_) => self.refuse(Refusal::Module, span),
            Statement::TSImportEqualsDeclaration(_) => self.refuse(Refusal::ImportAlias, span),
            Statement::ImportDeclaration(_) => self.refuse(Refusal::Import, span),
            Statement::ExportAllDeclaration(_)
            | Statement::ExportDefaultDeclaration(_)
            | Statement::ExportDeclaration(_)
            | Statement::ExportNamedDeclaration(_)
            | Statement::ExportFromDeclaration(_)
            | Statement::TSExportAssignment(_)
            | Statement::TSNamespaceExportDeclaration(_) => self.refuse(Refusal::Export, span),
            _ => self.deeper(span, |eraser| walk::walk_statement(eraser, statement)),
        }
    }

    fn visit_expression(&mut self, expression: &Expression<'a>) {
        let Some((mut first, rest)) = Chained::split(expression) else {
            return match expression {
                // The leaves most programs consist of need no level of their own.
                Expression::Identifier(_) | Expression::StringLiteral(_) => {}
                _ => self.deeper(expression.span(), |eraser| {
                    walk::walk_expression(eraser, expression);
                }),
            };
        };
        let mut chain: Vec<_> = rest.into_iter().collect();
        while let Some((next, rest)) = Chained::split(first) {
            first = next;
            chain.extend(rest);
        }
        self.deeper(expression.span(), |eraser| {
            eraser.visit_expression(first);
            while let Some(node) = chain.pop() {
                eraser.visit_after_left(node);
            }
        });
    }

    // Targets of assignments hold these nodes directly instead of in an expression.

    fn visit_ts_as_expression(&mut self, assertion: &TSAsExpression<'a>) {
        self.visit_expression(&assertion.expression);
        self.visit_after_left(Chained::As(assertion));
    }

    fn visit_ts_satisfies_expression(&mut self, assertion: &TSSatisfiesExpression<'a>) {
        self.visit_expression(&assertion.expression);
        self.visit_after_left(Chained::Satisfies(assertion));
    }

    fn visit_ts_non_null_expression(&mut self, assertion: &TSNonNullExpression<'a>) {
        self.visit_expression(&assertion.expression);
        self.visit_after_left(Chained::NonNull(assertion));
    }

    fn visit_ts_type_assertion(&mut self, assertion: &TSTypeAssertion<'a>) {
        self.refuse(Refusal::AngleBracketAssertion, assertion.span);
        self.visit_expression(&assertion.expression);
    }

    fn visit_ts_type_annotation(&mut self, annotation: &TSTypeAnnotation<'a>) {
        self.blank_span(annotation.span);
    }

    fn visit_ts_type_parameter_instantiation(
        &mut self,
        arguments: &TSTypeParameterInstantiation<'a>,
    ) {
        self.blank_span(arguments.span);
    }

    fn visit_variable_declarator(&mut self, declarator: &VariableDeclarator<'a>) {
        self.visit_binding_pattern(&declarator.id);
        if declarator.definite {
            self.blank_mark(end(declarator.id.span()), b'!', ' ');
        }
        if let Some(annotation) = &declarator.type_annotation {
            self.blank_span(annotation.span);
        }
        if let Some(init) = &declarator.init {
            self.visit_expression(init);
        }
    }

    fn visit_function(&mut self, function: &Function<'a>, _: ScopeFlags) {
        self.blank_type_parameters(function.type_parameters.as_deref());
        if let Some(this) = &function.this_param {
            let this_end = end(this.span);
            let comma = self.next_is(this_end, b',');
            self.blank(start(this.span), comma.map_or(this_end, |comma| comma + 1));
        }
        self.visit_formal_parameters(&function.params);
        if let Some(annotation) = &function.return_type {
            self.blank_span(annotation.span);
        }
        if let Some(body) = &function.body {
            self.visit_function_body(body);
        }
    }

    fn visit_arrow_function_expression(&mut self, arrow: &ArrowFunctionExpression<'a>) {
        self.blank_type_parameters(arrow.type_parameters.as_deref());
        self.visit_formal_parameters(&arrow.params);
        if let Some(annotation) = &arrow.return_type {
            let type_end = end(annotation.span);
            let parenthesis = end(arrow.params.span) - 1;
            let arrow_sign = trivia::next_token(self.text, type_end);
            if trivia::has_line_break(&self.text[parenthesis..arrow_sign]) {
                // Line breaks: `=>` has to stay on the line of the parenthesis.
                self.erased
                    .edits
                    .push(Edit::with_tail(parenthesis, type_end, ')'));
            } else {
                self.blank_span(annotation.span);
            }
        }
        self.visit_arrow_function_body(&arrow.body);
    }

    fn visit_formal_parameter(&mut self, parameter: &FormalParameter<'a>) {
        self.visit_decorators(&parameter.decorators);
        if parameter.accessibility.is_some() || parameter.readonly || parameter.r#override {
            self.refuse(Refusal::ParameterProperty, parameter.span);
        }
        self.visit_binding_pattern(&parameter.pattern);
        if parameter.optional {
            self.blank_mark(end(parameter.pattern.span()), b'?', ' ');
        }
        if let Some(annotation) = &parameter.type_annotation {
            self.blank_span(annotation.span);
        }
        if let Some(initializer) = &parameter.initializer {
            self.visit_expression(initializer);
        }
    }

    fn visit_class(&mut self, class: &Class<'a>) {
        self.visit_decorators(&class.decorators);
        // Finds `abstract`, `class` and, after the name and what it extends, `implements`.
        let mut offset = start(class.span);
        if let Some(decorator) = class.decorators.last() {
            offset = offset.max(end(decorator.span));
        }
        offset = trivia::next_token(self.text, offset);
        if class.r#abstract && trivia::word(self.text, offset) == "abstract" {
            self.blank(offset, offset + "abstract".len());
            offset = trivia::next_token(self.text, offset + "abstract".len());
        }
        offset += trivia::word(self.text, offset).len();
        if let Some(name) = &class.id {
            offset = end(name.span);
        }
        if let Some(parameters) = &class.type_parameters {
            self.blank_span(parameters.span);
            offset = end(parameters.span);
        }
        if let Some(heritage) = &class.heritage {
            self.visit_expression(&heritage.expression);
            offset = end(heritage.expression.span());
            if let Some(arguments) = &heritage.type_arguments {
                self.blank_span(arguments.span);
                offset = end(arguments.span);
            }
        }
        if let Some(last) = class.implements.last() {
            self.blank(trivia::next_token(self.text, offset), end(last.span));
        }
        self.visit_class_body(&class.body);
    }

    fn visit_class_element(&mut self, element: &ClassElement<'a>) {
        let span = element.span();
        match element {
            ClassElement::MethodDefinition(method) => {
                self.visit_decorators(&method.decorators);
                if method.value.body.is_none()
                    || method.r#type == MethodDefinitionType::TSAbstractMethodDefinition
                {
                    self.blank_whole(span);
                } else {
                    self.visit_method(method);
                }
            }
            ClassElement::PropertyDefinition(field) => {
                self.visit_decorators(&field.decorators);
                if field.declare
                    || field.r#type == PropertyDefinitionType::TSAbstractPropertyDefinition
                {
                    self.blank_whole(span);
                } else {
                    self.visit_field(field);
                }
            }
            ClassElement::AccessorProperty(accessor) => {
                self.visit_decorators(&accessor.decorators);
                if accessor.r#type == AccessorPropertyType::TSAbstractAccessorProperty {
                    self.blank_whole(span);
                } else {
                    self.refuse(Refusal::Accessor, span);
                }
            }
            ClassElement::TSIndexSignature(_) => self.blank_whole(span),
            ClassElement::StaticBlock(block) => self.visit_static_block(block),
        }
    }

    fn visit_decorator(&mut self, decorator: &Decorator<'a>) {
        self.refuse(Refusal::Decorator, decorator.span);
    }

    fn visit_import_meta(&mut self, meta: &ImportMeta) {
        self.refuse(Refusal::ImportMeta, meta.span);
    }

    fn visit_jsx_element(&mut self, element: &JSXElement<'a>) {
        self.refuse(Refusal::Jsx, element.span);
    }

    fn visit_jsx_fragment(&mut self, fragment: &JSXFragment<'a>) {
        self.refuse(Refusal::Jsx, fragment.span);
    }
}

/// Whether the token at the start of `next` would take a part of `operand` if no assertion stood
/// between the two (lost grouping).
///
/// It is the text that counts and not the tree: where the operator is on the next line, the parser
/// may have ended the statement before it, which neither TypeScript nor JavaScript would do.
fn regroups(operand: &Expression<'_>, next: &str) -> bool {
    let operator = match next.as_bytes() {
        [b'*', b'*', ..] => Precedence::Exponentiation,
        [b'*' | b'/' | b'%', ..] => Precedence::Multiply,
        // After an assertion these begin the next statement.
        [b'+', b'+', ..] | [b'-', b'-', ..] => return false,
        [b'+' | b'-', ..] => Precedence::Add,
        [b'<', b'<', ..] | [b'>', b'>', ..] => Precedence::Shift,
        // The operand of an assertion cannot end in an operator that binds less than these do.
        _ => return false,
    };
    let mut operand = operand;
    loop {
        operand = match operand {
            Expression::TSAsExpression(assertion) => &assertion.expression,
            Expression::TSSatisfiesExpression(assertion) => &assertion.expression,
            _ => break,
        }
    }
    let is_exponentiation = operator == Precedence::Exponentiation;
    match operand {
        Expression::BinaryExpression(inner) => {
            let inner = inner.operator.precedence();
            operator > inner || (operator == inner && is_exponentiation)
        }
        Expression::PrivateInExpression(_) => true,
        Expression::UnaryExpression(_) | Expression::AwaitExpression(_) => is_exponentiation,
        _ => false,
    }
}

/// Whether a namespace exists at run time (TypeScript calls it instantiated).
fn has_values(namespace: &TSNamespaceDeclaration<'_>) -> bool {
    match &namespace.body {
        TSNamespaceDeclarationBody::TSNamespaceDeclaration(inner) => has_values(inner),
        TSNamespaceDeclarationBody::TSModuleBlock(block) => {
            !block.directives.is_empty() || !block.body.iter().all(is_type_only)
        }
    }
}

fn is_type_only(statement: &Statement<'_>) -> bool {
    match statement {
        Statement::TSTypeAliasDeclaration(_)
        | Statement::TSInterfaceDeclaration(_)
        | Statement::TSImportEqualsDeclaration(_)
        | Statement::EmptyStatement(_) => true,
        Statement::TSNamespaceDeclaration(inner) => !has_values(inner),
        Statement::ExportDeclaration(export) => match &export.declaration {
            Declaration::TSTypeAliasDeclaration(_) | Declaration::TSInterfaceDeclaration(_) => true,
            Declaration::TSNamespaceDeclaration(inner) => !has_values(inner),
            _ => false,
        },
        _ => false,
    }
}

/// Modifiers of class members that exist for the type checker only.
fn is_erased_modifier(word: &str) -> bool {
    matches!(
        word,
        "public" | "private" | "protected" | "readonly" | "override" | "abstract" | "declare"
    )
}

/// Words that, before a member name, change what the member is.
fn is_kept_modifier(word: &str) -> bool {
    matches!(word, "get" | "set" | "static" | "async" | "accessor")
}

fn start(span: Span) -> usize {
    span.start as usize
}

fn end(span: Span) -> usize {
    span.end as usize
}
