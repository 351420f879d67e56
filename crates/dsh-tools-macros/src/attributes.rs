//! Which attribute of the function or of a parameter goes where.

use syn::{Attribute, Error, Expr, ExprLit, Lit, Meta, Result};

use crate::description;

/// The attributes of the function, sorted by where they belong.
#[derive(Default)]
pub(crate) struct FunctionAttributes {
    /// On the function that makes the tool: doc comments and deprecation.
    pub(crate) maker: Vec<Attribute>,
    /// On everything that the expansion writes.
    pub(crate) cfg: Vec<Attribute>,
    /// On the arguments' struct.
    pub(crate) container: Vec<Attribute>,
    /// On the body.
    pub(crate) body: Vec<Attribute>,
}

impl FunctionAttributes {
    pub(crate) fn sort(attributes: Vec<Attribute>) -> Self {
        let mut sorted = Self::default();
        for attribute in attributes {
            let place = if is_any(&attribute, &["doc", "deprecated", "must_use"]) {
                &mut sorted.maker
            } else if attribute.path().is_ident("cfg") {
                &mut sorted.cfg
            } else if is_any(&attribute, &["serde", "schemars"]) {
                &mut sorted.container
            } else {
                &mut sorted.body
            };
            place.push(attribute);
        }
        sorted
    }
}

/// The attributes of a parameter.
#[derive(Default)]
pub(crate) struct ParameterAttributes {
    /// Whether it is state.
    pub(crate) state: Option<Attribute>,
    /// The doc comment.
    pub(crate) docs: Vec<Attribute>,
    /// On the field of the arguments' struct.
    pub(crate) field: Vec<Attribute>,
    /// On the parameter of the body.
    pub(crate) body: Vec<Attribute>,
}

impl ParameterAttributes {
    pub(crate) fn sort(attributes: &[Attribute]) -> Result<Self> {
        let mut sorted = Self::default();
        for attribute in attributes {
            let kept = attribute.clone();
            if attribute.path().is_ident("state") {
                attribute.meta.require_path_only().map_err(|_| {
                    Error::new_spanned(
                        attribute,
                        "`#[state]` stands alone: write it without a value",
                    )
                })?;
                sorted.state = Some(kept);
            } else if attribute.path().is_ident("doc") {
                sorted.docs.push(kept);
            } else if is_any(attribute, &["serde", "schemars"]) {
                sorted.field.push(kept);
            } else if is_any(attribute, &["allow", "expect", "warn", "deny"]) {
                sorted.body.push(kept);
            } else {
                return Err(Error::new_spanned(
                    attribute,
                    "a parameter of a tool takes a doc comment, `#[state]`, `#[serde(…)]` or `#[schemars(…)]`: remove \
                     this attribute",
                ));
            }
        }
        Ok(sorted)
    }
}

fn is_any(attribute: &Attribute, names: &[&str]) -> bool {
    names.iter().any(|name| attribute.path().is_ident(name))
}

/// The text of a doc comment; `None` without one.
pub(crate) fn documentation(attributes: &[Attribute]) -> Result<Option<String>> {
    let mut lines = Vec::new();
    for attribute in attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("doc"))
    {
        match &attribute.meta {
            Meta::NameValue(pair) => match &pair.value {
                Expr::Lit(ExprLit {
                    lit: Lit::Str(text),
                    ..
                }) => lines.push(text.value()),
                other => {
                    return Err(Error::new_spanned(
                        other,
                        "only a doc comment in place can be read here: for other text write `description = …` in \
                         `#[tool(…)]`, or `#[schemars(description = …)]` on an argument",
                    ));
                }
            },
            // Such as `#[doc(hidden)]`.
            Meta::Path(_) | Meta::List(_) => {}
        }
    }
    let text = description::of_lines(lines.iter().map(String::as_str));
    Ok((!text.is_empty()).then_some(text))
}
