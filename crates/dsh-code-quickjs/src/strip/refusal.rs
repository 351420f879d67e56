//! Constructs that cannot be erased or do not belong into a program, each with its remedy.

/// A construct a program may not contain (C197).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    Accessor,
    AngleBracketAssertion,
    AssertionGrouping,
    ConstEnum,
    Decorator,
    Enum,
    Export,
    Hashbang,
    HtmlComment,
    Import,
    ImportAlias,
    ImportMeta,
    Jsx,
    Module,
    Namespace,
    NestingTooDeep,
    ParameterProperty,
}

impl Refusal {
    /// Names the construct and says what to write in its place.
    pub(super) fn message(self) -> &'static str {
        match self {
            Self::Accessor => {
                "`accessor` fields are not supported: write a field, or a `get` and a `set` method"
            }
            Self::AngleBracketAssertion => {
                "angle-bracket type assertions are not supported: write `value as Type` instead of \
                 `<Type>value`"
            }
            Self::AssertionGrouping => {
                "removing this `as` or `satisfies` would change which operands belong together: put \
                 parentheses around the asserted expression"
            }
            Self::ConstEnum => {
                "`const enum` is not supported, only types that can be erased are: write an object \
                 with `as const`"
            }
            Self::Decorator => "decorators are not supported: call the function yourself",
            Self::Enum => {
                "`enum` is not supported, only types that can be erased are: write an object with \
                 `as const`"
            }
            Self::Export => {
                "`export` statements are not supported, a program is a function body: use `return` \
                 for its result"
            }
            Self::Hashbang => {
                "a `#!` line is not supported, a program is a function body: remove it"
            }
            Self::HtmlComment => {
                "`<!--` is not supported: write `//` for a comment, or put a space after the `<`"
            }
            Self::Import => {
                "`import` statements are not supported, a program is a function body without \
                 modules: use the namespaces and globals that are in scope"
            }
            Self::ImportAlias => {
                "`import … =` is not supported: use `const` for a value and `type` for a type"
            }
            Self::ImportMeta => {
                "`import.meta` is not supported, a program is a function body and not a module"
            }
            Self::Jsx => "JSX is not supported: build a string or an object",
            Self::Module => {
                "`module` blocks with values are not supported, only types that can be erased are: \
                 write an object or plain declarations"
            }
            Self::Namespace => {
                "`namespace` blocks with values are not supported, only types that can be erased \
                 are: write an object or plain declarations"
            }
            Self::NestingTooDeep => super::nesting::MESSAGE,
            Self::ParameterProperty => {
                "parameter properties are not supported: declare the field and assign it in the \
                 constructor"
            }
        }
    }
}
