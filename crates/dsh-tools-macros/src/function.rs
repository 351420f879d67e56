//! Reading the function under the attribute.

use proc_macro2::{Span, TokenStream};
use syn::spanned::Spanned;
use syn::{
    Block, Error, GenericArgument, Ident, ItemFn, PathArguments, Result, ReturnType, Type,
    Visibility,
};

use crate::attributes::{FunctionAttributes, documentation};
use crate::parameter::{Parameter, Role};

/// An `async fn` that can be a tool.
pub(crate) struct Function {
    pub(crate) attributes: FunctionAttributes,
    /// The text of the doc comment.
    pub(crate) description: Option<String>,
    pub(crate) visibility: Visibility,
    pub(crate) name: Ident,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) returns: ReturnType,
    pub(crate) output: Output,
    pub(crate) block: Block,
}

/// What the function returns.
pub(crate) struct Output {
    /// The type of the canonical value.
    pub(crate) value: Type,
    pub(crate) failure: Failing,
}

/// How the function fails.
pub(crate) enum Failing {
    /// Not at all.
    Never,
    /// With a `ToolError`.
    AsIs,
    /// With an error that has to be converted; its type, unless an alias of `Result` hides it.
    Converted(Option<Box<Type>>),
}

impl Function {
    pub(crate) fn parse(item: TokenStream) -> Result<Self> {
        let span = item
            .clone()
            .into_iter()
            .next()
            .map_or_else(Span::call_site, |token| token.span());
        let function: ItemFn = syn::parse2(item).map_err(|error| {
            Error::new(
                span,
                format!("`#[tool]` goes on an `async fn` with a body ({error})"),
            )
        })?;
        Self::read(function)
    }

    fn read(function: ItemFn) -> Result<Self> {
        let ItemFn {
            attrs,
            vis,
            sig,
            block,
            ..
        } = function;
        let mut errors = Errors::default();
        if sig.asyncness.is_none() {
            errors.push(Error::new(
                sig.fn_token.span,
                format!("a tool is asynchronous: write `async fn {}`", sig.ident),
            ));
        }
        if let Some(constness) = sig.constness {
            errors.push(Error::new(
                constness.span,
                "a tool runs when it is called: remove `const`",
            ));
        }
        if let Some(abi) = &sig.abi {
            errors.push(Error::new_spanned(
                abi,
                "a tool is called by the pipeline only: remove `extern`",
            ));
        }
        if let Some(variadic) = &sig.variadic {
            errors.push(Error::new_spanned(
                variadic,
                "a tool has named arguments: take a `Vec` in place of `...`",
            ));
        }
        if !sig.generics.params.is_empty() {
            errors.push(Error::new_spanned(
                &sig.generics,
                "a tool has one schema, so it cannot be generic: name the types, or write a generic function that \
                 makes a tool with `Tool::new`",
            ));
        } else if let Some(clause) = &sig.generics.where_clause {
            errors.push(Error::new_spanned(
                clause,
                "a tool cannot be generic: remove the `where` clause",
            ));
        }
        let mut parameters = Vec::new();
        for input in &sig.inputs {
            match Parameter::read(input) {
                Ok(parameter) => parameters.push(parameter),
                Err(error) => errors.push(error),
            }
        }
        for parameter in parameters
            .iter()
            .filter(|parameter| matches!(parameter.role, Role::Context))
            .skip(1)
        {
            errors.push(Error::new_spanned(
                &parameter.of_body,
                "a body has one `RunContext`: remove this one",
            ));
        }
        for parameter in &parameters {
            if matches!(parameter.role, Role::State) && parameter.name == sig.ident {
                errors.push(Error::new_spanned(
                    &parameter.name,
                    "this state has the name of the tool, which hides it: give it another name",
                ));
            }
        }
        let output = errors.keep(Output::of(&sig.output));
        let description = errors.keep(documentation(&attrs));
        errors.finish()?;
        let (Some(output), Some(description)) = (output, description) else {
            return Err(Error::new(
                sig.ident.span(),
                "`#[tool]` cannot read this function",
            ));
        };
        Ok(Self {
            attributes: FunctionAttributes::sort(attrs),
            description,
            visibility: vis,
            name: sig.ident,
            parameters,
            returns: sig.output,
            output,
            block: *block,
        })
    }

    /// The parameters that are given when the tool is made.
    pub(crate) fn state(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters
            .iter()
            .filter(|parameter| matches!(parameter.role, Role::State))
    }
}

impl Output {
    fn of(returns: &ReturnType) -> Result<Self> {
        let ty = match returns {
            ReturnType::Default => {
                return Ok(Self {
                    value: syn::parse_quote!(()),
                    failure: Failing::Never,
                });
            }
            ReturnType::Type(_, ty) => ungrouped(ty),
        };
        let (value, failure) = result_arguments(ty).unwrap_or((ty, Failing::Never));
        if let Type::ImplTrait(_) = ungrouped(value) {
            return Err(Error::new(
                value.span(),
                "the output contract comes from the type of the value: name one in place of `impl …`",
            ));
        }
        Ok(Self {
            value: value.clone(),
            failure,
        })
    }
}

fn ungrouped(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => ungrouped(&group.elem),
        Type::Paren(paren) => ungrouped(&paren.elem),
        other => other,
    }
}

/// The value's type of a `Result<T, E>` or of an alias with the error built in, and how it fails.
fn result_arguments(ty: &Type) -> Option<(&Type, Failing)> {
    let Type::Path(path) = ty else { return None };
    let last = path
        .path
        .segments
        .last()
        .filter(|last| last.ident == "Result")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return None;
    };
    let mut types = arguments.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    let value = types.next()?;
    let failure = match types.next().map(ungrouped) {
        Some(Type::Path(path))
            if path
                .path
                .segments
                .last()
                .is_some_and(|last| last.ident == "ToolError") =>
        {
            Failing::AsIs
        }
        error => Failing::Converted(error.cloned().map(Box::new)),
    };
    Some((value, failure))
}

/// All mistakes of one function at once.
#[derive(Default)]
struct Errors(Option<Error>);

impl Errors {
    fn push(&mut self, error: Error) {
        match &mut self.0 {
            Some(errors) => errors.combine(error),
            None => self.0 = Some(error),
        }
    }

    fn keep<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|error| self.push(error)).ok()
    }

    fn finish(self) -> Result<()> {
        self.0.map_or(Ok(()), Err)
    }
}
