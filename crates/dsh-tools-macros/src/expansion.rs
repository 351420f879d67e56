//! Writing the arguments' struct and the function that makes the tool.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Error, Expr, FnArg, Ident, ItemFn, LitStr, Path, Result, Visibility};

use crate::function::{Failing, Function};
use crate::options::{Callback, Concurrency, Options};
use crate::parameter::{Parameter, Role};

/// What stands in place of the function; mistakes become compile errors.
pub(crate) fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    // Both are looked at, so that one build shows the mistakes of both.
    let options = syn::parse2::<Options>(options);
    let runtime = options.as_ref().map(Options::runtime).ok();
    let result = match (options, Function::parse(item.clone())) {
        (Ok(options), Ok(function)) => {
            Expansion::new(options, function).map(|expansion| expansion.write())
        }
        (Ok(_), Err(error)) | (Err(error), Ok(_)) => Err(error),
        (Err(mut error), Err(more)) => {
            error.combine(more);
            Err(error)
        }
    };
    result.unwrap_or_else(|error| {
        let error = error.into_compile_error();
        let maker = stand_in(item, runtime);
        quote!(#error #maker)
    })
}

/// A maker of the right type, so that what uses the tool is not reported as well.
fn stand_in(item: TokenStream, runtime: Option<Path>) -> Option<TokenStream> {
    let function: ItemFn = syn::parse2(item).ok()?;
    let runtime = runtime.unwrap_or_else(|| Options::default().runtime());
    let (visibility, name) = (&function.vis, &function.sig.ident);
    let state = function.sig.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(typed)
            if typed
                .attrs
                .iter()
                .any(|attribute| attribute.path().is_ident("state")) =>
        {
            let ty = &typed.ty;
            Some(quote!(_: #ty))
        }
        _ => None,
    });
    Some(quote! {
        #[allow(dead_code, missing_docs)]
        #visibility fn #name(#(#state),*) -> ::core::result::Result<#runtime::Tool, #runtime::RegistryError> {
            ::core::unreachable!()
        }
    })
}

struct Expansion {
    options: Options,
    function: Function,
    runtime: Path,
    description: TokenStream,
    arguments: Ident,
    arguments_visibility: Visibility,
}

impl Expansion {
    fn new(options: Options, function: Function) -> Result<Self> {
        let description = match (&options.description, &function.description) {
            (Some(given), _) => given.to_token_stream(),
            (None, Some(comment)) => comment.to_token_stream(),
            (None, None) => {
                return Err(Error::new(
                    function.name.span(),
                    format!(
                        "a model chooses a tool by its description: put a doc comment above `{}`, or write \
                         `description = \"…\"` in `#[tool(…)]`",
                        function.name
                    ),
                ));
            }
        };
        let (arguments_visibility, arguments) = options
            .args
            .clone()
            .unwrap_or_else(|| (Visibility::Inherited, arguments_name(&function.name)));
        Ok(Self {
            runtime: options.runtime(),
            options,
            function,
            description,
            arguments,
            arguments_visibility,
        })
    }

    fn write(&self) -> TokenStream {
        let maker = self.write_maker();
        let arguments = self.write_arguments();
        // The maker comes first, so that its messages do: they say more than those of the derives.
        quote!(#maker #arguments)
    }

    /// Asks of types what the rest will ask of them, in words that name the tool.
    fn write_checks(&self) -> impl Iterator<Item = TokenStream> {
        let Self {
            runtime, function, ..
        } = self;
        let tool = &function.name;
        function
            .parameters
            .iter()
            .filter_map(move |Parameter { role, ty, .. }| {
                let check = match role {
                    // With an attribute, serde may ask for less.
                    Role::Argument { attributes, .. } if attributes.is_empty() => quote!(argument),
                    Role::State => quote!(state),
                    Role::Argument { .. } | Role::Context => return None,
                };
                Some(quote_spanned!(ty.span()=> #runtime::__private::#check::<#tool, #ty>();))
            })
    }

    fn write_arguments(&self) -> TokenStream {
        let Self {
            runtime,
            arguments,
            arguments_visibility: visibility,
            ..
        } = self;
        let cfg = &self.function.attributes.cfg;
        let container = &self.function.attributes.container;
        let path = |name: &str| {
            LitStr::new(
                &format!("{}::__private::{name}", spelled(runtime)),
                Span::call_site(),
            )
        };
        let (serde, schemars) = (path("serde"), path("schemars"));
        let fields = self.function.parameters.iter().filter_map(|parameter| {
            match &parameter.role {
                Role::Argument {
                    description,
                    attributes,
                } => {
                    let (name, ty) = (&parameter.name, &parameter.ty);
                    let description = description.iter();
                    Some(quote!(#(#[doc = #description])* #(#attributes)* #visibility #name: #ty))
                }
                Role::State | Role::Context => None,
            }
        });
        // No doc comment: a schema would carry it, and a model has the tool's description already.
        quote! {
            #(#cfg)*
            #[allow(missing_docs)]
            #[derive(#runtime::__private::serde::Deserialize, #runtime::__private::schemars::JsonSchema)]
            #[serde(crate = #serde)]
            #[schemars(crate = #schemars)]
            #(#container)*
            #visibility struct #arguments {
                #(#fields,)*
            }
        }
    }

    fn write_maker(&self) -> TokenStream {
        let Self {
            runtime,
            arguments,
            description,
            function,
            options,
            ..
        } = self;
        let Function {
            name,
            visibility,
            attributes,
            returns,
            block,
            ..
        } = function;
        let (maker_attributes, cfg, body_attributes) =
            (&attributes.maker, &attributes.cfg, &attributes.body);
        // A public function that can fail says how, unless the author has said so already.
        let documents_errors = maker_attributes
            .iter()
            .any(|attribute| attribute.to_token_stream().to_string().contains("# Errors"));
        let errors = (!documents_errors && function.description.is_some()).then_some(
            "\n# Errors\n\nThe arguments or the output have a schema that cannot be enforced, or the time limit is zero.",
        );
        let errors = errors.iter();
        let state = function.state().map(|parameter| {
            let (name, ty) = (&parameter.name, &parameter.ty);
            quote!(#name: #ty)
        });
        let checks = self.write_checks();
        let inputs = function
            .parameters
            .iter()
            .map(|parameter| &parameter.of_body);
        let value = &function.output.value;
        let tool_name = match &options.name {
            Some(name) => name.clone(),
            None => LitStr::new(&name.unraw().to_string(), name.span()),
        };
        let builder = builder();
        let settings = self.settings();
        let callbacks = options
            .callbacks
            .iter()
            .map(|callback| self.write_callback(callback));
        let body = self.write_body();
        quote! {
            #(#maker_attributes)*
            #(#[doc = #errors])*
            #(#cfg)*
            #[allow(clippy::needless_pass_by_value)]
            #visibility fn #name(#(#state),*) -> ::core::result::Result<#runtime::Tool, #runtime::RegistryError> {
                // Names the tool in compile errors.
                #[allow(non_camel_case_types, dead_code)]
                enum #name {}

                #(#body_attributes)*
                #[allow(clippy::too_many_arguments, clippy::unused_async)]
                async fn #name(#(#inputs),*) #returns #block

                #(#checks)*
                let #builder = #runtime::Tool::new(#tool_name, #description).args::<#arguments>();
                let #builder = #runtime::__private::output::<#name, #arguments, #value>(#builder);
                #settings
                #(#callbacks)*
                #builder.run(#body)
            }
        }
    }

    /// What needs no callback.
    fn settings(&self) -> TokenStream {
        let (options, builder) = (&self.options, builder());
        let mut settings = TokenStream::new();
        let mut set = |call: TokenStream| settings.extend(quote!(let #builder = #builder.#call;));
        match &options.effect {
            Some(effect) if effect == "once" => {}
            Some(effect) => set(quote!(#effect())),
            None => {}
        }
        if let Some(destructive) = &options.destructive {
            set(quote!(destructive(#destructive)));
        }
        if options.open_world {
            set(quote!(open_world()));
        }
        if options.owns_deadline {
            set(quote!(owns_deadline()));
        }
        if let Some(limit) = &options.timeout {
            set(quote!(timeout(#limit)));
        }
        match &options.concurrency {
            Some(Concurrency::Always) => set(quote!(concurrency_safe())),
            Some(Concurrency::When(when)) => {
                let when = self.with_state(when);
                set(quote!(concurrency_safe_when(#when)));
            }
            None => {}
        }
        settings
    }

    fn write_callback(&self, callback: &Callback) -> TokenStream {
        let Self {
            runtime,
            arguments,
            function,
            ..
        } = self;
        let (method, builder, tool, output) = (
            &callback.name,
            builder(),
            &function.name,
            &function.output.value,
        );
        let value = self.with_state(&callback.value);
        if method == "render" || method == "presentation_meta" {
            quote! {
                let #builder = #runtime::__private::#method::<#tool, #arguments, #output, _, _>(#builder, #value);
            }
        } else {
            quote!(let #builder = #builder.#method(#value);)
        }
    }

    /// A callback with clones of the state that it names, for it to move in.
    fn with_state(&self, callback: &Expr) -> TokenStream {
        let named: Vec<&Ident> = self
            .function
            .state()
            .map(|parameter| &parameter.name)
            .filter(|name| mentions(callback.to_token_stream(), name))
            .collect();
        if named.is_empty() {
            return callback.to_token_stream();
        }
        quote! {{
            #(#[allow(unused_variables)] let #named = ::core::clone::Clone::clone(&#named);)*
            #callback
        }}
    }

    fn write_body(&self) -> TokenStream {
        let Self {
            runtime,
            arguments: ty,
            function,
            ..
        } = self;
        let arguments = Ident::new("arguments", Span::mixed_site());
        let context = Ident::new("cx", Span::mixed_site());
        let values = function
            .parameters
            .iter()
            .map(|Parameter { role, name, .. }| match role {
                Role::Argument { .. } => quote!(#arguments.#name),
                Role::State => quote!(::core::clone::Clone::clone(&#name)),
                Role::Context => context.to_token_stream(),
            });
        let name = &function.name;
        let future = quote!(#name(#(#values),*));
        let future = match &function.output.failure {
            // Handed on as it is: a future around it would make it twice as big.
            Failing::AsIs => future,
            Failing::Never => quote!({
                let future = #future;
                async move { ::core::result::Result::Ok(future.await) }
            }),
            Failing::Converted(error) => {
                let value = &function.output.value;
                let error = error
                    .as_ref()
                    .map_or_else(|| quote!(_), ToTokens::to_token_stream);
                quote!({
                    let future = #future;
                    async move { #runtime::__private::settle::<#name, #value, #error>(future.await) }
                })
            }
        };
        // A parameter that the body does not take is not bound, or it would be reported as unused.
        let takes = |wanted: fn(&Role) -> bool| {
            function
                .parameters
                .iter()
                .any(|parameter| wanted(&parameter.role))
        };
        let arguments = if takes(|role| matches!(role, Role::Argument { .. })) {
            quote!(#arguments)
        } else {
            quote!(_)
        };
        let context = if takes(|role| matches!(role, Role::Context)) {
            quote!(#context)
        } else {
            quote!(_)
        };
        quote!(move |#arguments: #ty, #context: #runtime::RunContext| #future)
    }
}

/// The builder's variable, out of reach of what the author writes.
fn builder() -> Ident {
    Ident::new("builder", Span::mixed_site())
}

/// `ReadArgs` for `read`.
fn arguments_name(function: &Ident) -> Ident {
    let mut name = String::new();
    for word in function.unraw().to_string().split('_') {
        let mut letters = word.chars();
        name.extend(letters.next().into_iter().flat_map(char::to_uppercase));
        name.push_str(letters.as_str());
    }
    format_ident!("{name}Args", span = function.span())
}

/// A path as serde and schemars want it, in a string.
fn spelled(path: &Path) -> String {
    path.to_token_stream().to_string().replace(' ', "")
}

/// Whether an identifier stands anywhere in the tokens, inline format arguments of strings included.
fn mentions(tokens: TokenStream, name: &Ident) -> bool {
    tokens.into_iter().any(|token| match token {
        proc_macro2::TokenTree::Ident(ident) => ident == *name,
        proc_macro2::TokenTree::Group(group) => mentions(group.stream(), name),
        proc_macro2::TokenTree::Literal(literal) => {
            literal.to_string().contains(&format!("{{{name}"))
        }
        proc_macro2::TokenTree::Punct(_) => false,
    })
}
