//! One parameter of the function.

use syn::ext::IdentExt;
use syn::{Error, FnArg, Ident, Pat, Result, Type};

use crate::attributes::{ParameterAttributes, documentation};

/// A parameter, with what it is to the tool.
pub(crate) struct Parameter {
    pub(crate) role: Role,
    pub(crate) name: Ident,
    pub(crate) ty: Type,
    /// The parameter as the body has it.
    pub(crate) of_body: FnArg,
}

/// What a parameter is to the tool.
pub(crate) enum Role {
    /// Given by the model.
    Argument {
        /// The description, if there is a doc comment.
        description: Option<String>,
        /// Attributes of the field.
        attributes: Vec<syn::Attribute>,
    },
    /// Given when the tool is made.
    State,
    /// Given by the pipeline.
    Context,
}

impl Parameter {
    pub(crate) fn read(input: &FnArg) -> Result<Self> {
        let typed = match input {
            FnArg::Typed(typed) => typed,
            FnArg::Receiver(receiver) => {
                return Err(Error::new_spanned(
                    receiver,
                    "a tool is a free function: pass what it needs as a `#[state]` parameter in place of `self`",
                ));
            }
        };
        let attributes = ParameterAttributes::sort(&typed.attrs)?;
        let context = is_context(&typed.ty);
        let name = match &*typed.pat {
            Pat::Ident(pattern) if pattern.by_ref.is_none() && pattern.subpat.is_none() => {
                pattern.ident.clone()
            }
            Pat::Wild(wild) if context => Ident::new("_cx", wild.underscore_token.span),
            other => {
                return Err(Error::new_spanned(
                    other,
                    "a parameter of a tool is a plain name: take the pattern apart in the body",
                ));
            }
        };
        check_type(&typed.ty, &name, attributes.state.is_some())?;
        let role = match (&attributes.state, context) {
            (Some(state), true) => {
                return Err(Error::new_spanned(
                    state,
                    "`RunContext` is not state, each call has its own: remove `#[state]`",
                ));
            }
            (Some(_), false) => Role::State,
            (None, true) => Role::Context,
            (None, false) => Role::Argument {
                description: documentation(&attributes.docs)?,
                attributes: attributes.field.clone(),
            },
        };
        match &role {
            Role::State | Role::Context => {
                if let Some(attribute) = attributes.field.first() {
                    return Err(Error::new_spanned(
                        attribute,
                        "only an argument has a schema: remove this attribute",
                    ));
                }
            }
            Role::Argument { .. } => {
                let renamed = !attributes.field.is_empty();
                let spelled = name.unraw().to_string();
                if spelled.starts_with('_') && !renamed {
                    return Err(Error::new_spanned(
                        &name,
                        format!(
                            "the model would see an argument called `{spelled}`: call it `{}`, or give its name with \
                             `#[serde(rename = \"…\")]`",
                            spelled.trim_start_matches('_')
                        ),
                    ));
                }
            }
        }
        let mut of_body = typed.clone();
        of_body.attrs = attributes.body;
        Ok(Self {
            role,
            name,
            ty: (*typed.ty).clone(),
            of_body: FnArg::Typed(of_body),
        })
    }
}

fn check_type(ty: &Type, name: &Ident, state: bool) -> Result<()> {
    match ty {
        Type::Reference(reference)
            if state
                && reference
                    .lifetime
                    .as_ref()
                    .is_some_and(|it| it.ident == "static") =>
        {
            Ok(())
        }
        Type::Reference(reference) => Err(Error::new_spanned(
            ty,
            match &*reference.elem {
                inner if is_context(inner) => {
                    "take `RunContext` by value: it is cheap to clone".to_owned()
                }
                Type::Path(path) if path.path.is_ident("str") => {
                    format!("a body owns what it is given: write `{name}: String`")
                }
                Type::Slice(_) => format!("a body owns what it is given: make `{name}` a `Vec`"),
                _ => format!(
                    "a body owns what it is given: take `{name}` by value, or behind an `Arc` if it is `#[state]`"
                ),
            },
        )),
        Type::ImplTrait(_) => Err(Error::new_spanned(
            ty,
            format!("the schema of `{name}` comes from its type: name one in place of `impl …`"),
        )),
        Type::Group(group) => check_type(&group.elem, name, state),
        Type::Paren(paren) => check_type(&paren.elem, name, state),
        _ => Ok(()),
    }
}

fn is_context(ty: &Type) -> bool {
    match ty {
        Type::Path(path) => path
            .path
            .segments
            .last()
            .is_some_and(|last| last.ident == "RunContext"),
        Type::Group(group) => is_context(&group.elem),
        Type::Paren(paren) => is_context(&paren.elem),
        _ => false,
    }
}
