//! Sections of the prompt, and the dynamic contexts that look the same.

use std::fmt;
use std::sync::Arc;

use dsh_context::Scope;
use dsh_tools::Signal;

use crate::PromptError;

/// For whom a prompt is assembled.
#[derive(Clone, Debug, Default)]
pub struct AssembleContext {
    /// The scope whose contributions count besides the global ones.
    pub scope: Option<Scope>,
    /// What cancels the assembly. Whoever gets it must not keep it beyond the assembly (L77).
    pub signal: Option<Signal>,
}

impl AssembleContext {
    /// The global view.
    #[must_use]
    pub fn global() -> Self {
        Self::default()
    }

    /// The view of a scope.
    #[must_use]
    pub fn of(scope: &Scope) -> Self {
        Self {
            scope: Some(scope.clone()),
            signal: None,
        }
    }

    /// The scope.
    #[must_use]
    pub fn scope(&self) -> Option<&Scope> {
        self.scope.as_ref()
    }
}

type Provider = dyn Fn(&AssembleContext) -> Result<String, PromptError> + Send + Sync;

#[derive(Clone)]
enum Text {
    Fixed(Arc<str>),
    Lazy(Arc<Provider>),
}

/// A named part of the prompt with its place.
///
/// Places by convention: -100 the harness, 0 the deployment's persona, 100 to 199 guidance on tools, among it 150 the
/// declarations for programs (L60). Sections of one place stand in the order of their registration, so a prompt that has
/// to be the same in every process gives each its own (L68).
#[derive(Clone)]
pub struct Section {
    name: Arc<str>,
    order: i32,
    text: Text,
    verbatim: bool,
    complete: bool,
}

impl Section {
    /// A section with a fixed text, in which `{{name}}` stands for a variable.
    pub fn new(name: impl Into<Arc<str>>, order: i32, text: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            order,
            text: Text::Fixed(text.into()),
            verbatim: false,
            complete: false,
        }
    }

    /// A section whose text is made once per assembly, from that assembly's context (L62).
    pub fn lazy<F>(name: impl Into<Arc<str>>, order: i32, text: F) -> Self
    where
        F: Fn(&AssembleContext) -> Result<String, PromptError> + Send + Sync + 'static,
    {
        Self {
            name: name.into(),
            order,
            text: Text::Lazy(Arc::new(text)),
            verbatim: false,
            complete: false,
        }
    }

    /// Takes the text as it is: what looks like a variable in it is none. For texts that quote what others wrote, such as
    /// descriptions of tools (C52).
    #[must_use]
    pub fn verbatim(mut self) -> Self {
        self.verbatim = true;
        self
    }

    /// Makes this the whole prompt: it will be the only section, whatever listeners do (L72).
    #[must_use]
    pub fn complete(mut self) -> Self {
        self.complete = true;
        self
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn shared_name(&self) -> Arc<str> {
        self.name.clone()
    }

    pub(crate) fn order(&self) -> i32 {
        self.order
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.complete
    }

    pub(crate) fn resolve(&self, cx: &AssembleContext) -> Result<AssembledSection, PromptError> {
        let text = match &self.text {
            Text::Fixed(text) => text.to_string(),
            Text::Lazy(provider) => {
                crate::contain::contain(&format!("section \"{}\"", self.name), || provider(cx))?
            }
        };
        Ok(AssembledSection {
            name: self.name.clone(),
            order: self.order,
            text,
            verbatim: self.verbatim,
        })
    }
}

impl fmt::Debug for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Section")
            .field("name", &self.name)
            .field("order", &self.order)
            .finish_non_exhaustive()
    }
}

/// A section of one assembly, its text there but not interpolated yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssembledSection {
    /// The name.
    pub name: Arc<str>,
    /// The place; listeners may reorder, so the list's own order is what counts (L73).
    pub order: i32,
    /// The text; an empty one is dropped when the prompt is rendered.
    pub text: String,
    /// Whether the text is taken as it is.
    pub verbatim: bool,
}
