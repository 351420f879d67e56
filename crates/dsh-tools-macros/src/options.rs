//! The options in `#[tool(…)]`.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Error, Expr, ExprLit, Ident, Lit, LitBool, LitStr, Path, Result, Token, Visibility};

use crate::duration;

/// What the attribute was told.
#[derive(Default)]
pub(crate) struct Options {
    /// The tool's name.
    pub(crate) name: Option<LitStr>,
    /// The description, in place of the doc comment.
    pub(crate) description: Option<Expr>,
    /// Visibility and name of the arguments' struct.
    pub(crate) args: Option<(Visibility, Ident)>,
    /// Where `dsh_tools` is.
    pub(crate) krate: Option<Path>,
    /// The effect, as the builder's method of that name.
    pub(crate) effect: Option<Ident>,
    /// Whether the tool may destroy something.
    pub(crate) destructive: Option<LitBool>,
    /// Whether the tool reaches beyond machine and workspace.
    pub(crate) open_world: bool,
    /// Whether the tool enforces a deadline of its own.
    pub(crate) owns_deadline: bool,
    /// Which calls may run beside others.
    pub(crate) concurrency: Option<Concurrency>,
    /// The time limit, as an expression of type `Duration`.
    pub(crate) timeout: Option<TokenStream>,
    /// The callbacks, in the order given.
    pub(crate) callbacks: Vec<Callback>,
}

/// Which calls may run beside others.
pub(crate) enum Concurrency {
    Always,
    When(Expr),
}

/// A callback for the builder's method of the same name.
pub(crate) struct Callback {
    pub(crate) name: Ident,
    pub(crate) value: Expr,
}

const EFFECTS: &[&str] = &["read_only", "idempotent", "once"];
const CALLBACKS: &[&str] = &[
    "access",
    "render",
    "render_value",
    "present_call",
    "present_result",
    "presentation_meta",
    "presentation_meta_value",
    "finalize_content",
];
const KNOWN: &str = "`name`, `description`, `args`, `read_only`, `idempotent`, `once`, `destructive`, `open_world`, \
    `concurrency_safe`, `timeout`, `owns_deadline`, `access`, `render`, `render_value`, `present_call`, \
    `present_result`, `presentation_meta`, `presentation_meta_value`, `finalize_content` or `crate`";

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut options = Self::default();
        let mut seen: Vec<Ident> = Vec::new();
        while !input.is_empty() {
            let option = input.call(Ident::parse_any).map_err(|_| {
                Error::new(
                    input.span(),
                    format!("an option of `#[tool]` starts with its name: one of {KNOWN}"),
                )
            })?;
            if seen.contains(&option) {
                return Err(Error::new(
                    option.span(),
                    format!("`{option}` is given twice: remove one"),
                ));
            }
            options.read(&option, input)?;
            seen.push(option);
            if input.is_empty() {
                break;
            }
            input.parse::<Token![,]>().map_err(|_| {
                Error::new(
                    input.span(),
                    "options are separated by commas: put one here",
                )
            })?;
        }
        options.check(&seen)?;
        Ok(options)
    }
}

impl Options {
    fn read(&mut self, option: &Ident, input: ParseStream<'_>) -> Result<()> {
        match option.to_string().as_str() {
            "name" => self.name = Some(tool_name(value(option, "\"read\"", input)?)?),
            "description" => self.description = Some(value(option, "\"Read a file.\"", input)?),
            "args" => {
                assignment(option, "ReadArgs", input)?;
                self.args = Some((input.parse()?, input.parse()?));
            }
            "crate" => {
                assignment(option, "::dsh_tools", input)?;
                self.krate = Some(input.call(Path::parse_mod_style)?);
            }
            effect if EFFECTS.contains(&effect) => {
                flag(option, input)?;
                if let Some(other) = &self.effect {
                    return Err(Error::new(
                        option.span(),
                        format!("a tool has one effect: keep `{other}` or `{option}`"),
                    ));
                }
                self.effect = Some(option.clone());
            }
            "destructive" => {
                self.destructive = Some(if input.peek(Token![=]) {
                    value(option, "false", input)?
                } else {
                    LitBool::new(true, option.span())
                });
            }
            "open_world" => {
                flag(option, input)?;
                self.open_world = true;
            }
            "owns_deadline" => {
                flag(option, input)?;
                self.owns_deadline = true;
            }
            "concurrency_safe" => {
                self.concurrency = Some(if input.peek(Token![=]) {
                    Concurrency::When(callback(option, input)?)
                } else {
                    Concurrency::Always
                });
            }
            "timeout" => self.timeout = Some(limit(value(option, "\"30s\"", input)?)?),
            name if CALLBACKS.contains(&name) => {
                let value = callback(option, input)?;
                self.callbacks.push(Callback {
                    name: option.clone(),
                    value,
                });
            }
            name => {
                return Err(Error::new(
                    option.span(),
                    format!("`#[tool]` has no option `{name}`: use {KNOWN}"),
                ));
            }
        }
        Ok(())
    }

    fn check(&self, seen: &[Ident]) -> Result<()> {
        let reads = self
            .effect
            .as_ref()
            .is_some_and(|effect| effect == "read_only");
        if let Some(destructive) = self
            .destructive
            .as_ref()
            .filter(|destructive| destructive.value && reads)
        {
            return Err(Error::new(
                destructive.span,
                "a tool that only reads destroys nothing: remove `destructive` or `read_only`",
            ));
        }
        for (typed, raw) in [
            ("render", "render_value"),
            ("presentation_meta", "presentation_meta_value"),
        ] {
            if let (true, Some(raw)) = (
                seen.iter().any(|name| name == typed),
                seen.iter().find(|name| *name == raw),
            ) {
                return Err(Error::new(
                    raw.span(),
                    format!("`{raw}` takes the place of `{typed}`: keep one of them"),
                ));
            }
        }
        Ok(())
    }
}

fn flag(option: &Ident, input: ParseStream<'_>) -> Result<()> {
    if input.peek(Token![=]) || input.peek(syn::token::Paren) {
        return Err(Error::new(
            input.span(),
            format!("`{option}` stands alone: write it without a value"),
        ));
    }
    Ok(())
}

fn assignment(option: &Ident, example: &str, input: ParseStream<'_>) -> Result<()> {
    input.parse::<Token![=]>().map(drop).map_err(|_| {
        Error::new(
            option.span(),
            format!("`{option}` needs a value: write `{option} = {example}`"),
        )
    })
}

fn value<T: Parse>(option: &Ident, example: &str, input: ParseStream<'_>) -> Result<T> {
    assignment(option, example, input)?;
    let span = input.span();
    input.parse().map_err(|_| {
        Error::new(
            span,
            format!("`{option}` cannot have this value: write for instance `{option} = {example}`"),
        )
    })
}

fn callback(option: &Ident, input: ParseStream<'_>) -> Result<Expr> {
    let example = match option.to_string().as_str() {
        "render" | "render_value" | "presentation_meta" | "presentation_meta_value" => {
            "|args, output| …"
        }
        "present_result" => "|args, result| …",
        "finalize_content" => "|execution, outcome| …",
        _ => "|args| …",
    };
    assignment(option, example, input)?;
    let span = input.span();
    let value: Expr = input.parse()?;
    match value {
        // What a closure captures has to live as long as the tool, so it is always moved in.
        Expr::Closure(mut closure) => {
            closure.capture.get_or_insert_with(|| Token![move](span));
            Ok(Expr::Closure(closure))
        }
        Expr::Lit(_) => Err(Error::new(
            span,
            format!(
                "`{option}` is a closure or the path of a function: write `{option} = {example}`"
            ),
        )),
        other => Ok(other),
    }
}

fn tool_name(name: LitStr) -> Result<LitStr> {
    let text = name.value();
    if text.is_empty() || text.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(Error::new(
            name.span(),
            "a model calls the tool by this name: give one without blanks",
        ));
    }
    Ok(name)
}

fn limit(value: Expr) -> Result<TokenStream> {
    match &value {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) => {
            let limit = duration::parse(&text.value())
                .map_err(|message| Error::new(text.span(), message))?;
            Ok(quote!(::core::time::Duration::from_millis(#limit)))
        }
        Expr::Lit(literal) => Err(Error::new_spanned(
            literal,
            "a timeout has a unit: write it as text, such as `timeout = \"30s\"`",
        )),
        other => Ok(other.to_token_stream()),
    }
}

impl Options {
    /// The path of the runtime crate.
    pub(crate) fn runtime(&self) -> Path {
        self.krate.clone().unwrap_or_else(|| {
            let name = Ident::new("dsh_tools", Span::call_site());
            syn::parse_quote!(::#name)
        })
    }
}
