//! Who contributes what, and the assembly of it.

use std::collections::BTreeSet;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Weak};

use dsh_context::{Effect, EntryTable, Fiber, Layer as ContextLayer, Layers, NamedTable, Scope};
use parking_lot::{Mutex, RwLock};

use crate::chain::{AssembleNext, Entry};
use crate::contain::contain;
use crate::render::is_variable_name;
use crate::{
    AssembleContext, AssembledSection, Assembly, PromptError, Section, ToolContribution, ToolOrder,
    ToolProvider, Variables, order,
};

type VariableProvider =
    dyn Fn(&AssembleContext) -> Result<Option<String>, PromptError> + Send + Sync;
type ChangeListener = dyn Fn() + Send + Sync;

/// How a [`Prompt`] starts.
#[derive(Clone, Debug)]
pub struct PromptConfig {
    /// Whether the prompt says that an agent of this harness is at work (`harness:identity`, place -100).
    pub identity: bool,
    /// What the deployment says of itself (`deployment:persona`, place 0).
    pub persona: String,
    /// The order of tools; by name without one.
    pub tool_order: Option<ToolOrder>,
}

impl Default for PromptConfig {
    fn default() -> Self {
        Self {
            identity: true,
            persona: String::new(),
            tool_order: None,
        }
    }
}

const IDENTITY: &str =
    "You are an agent of the dsh harness: you act on the world through the tools it offers you.";

#[derive(Default)]
struct Layer {
    sections: NamedTable<Section>,
    contexts: NamedTable<Section>,
    variables: NamedTable<Arc<VariableProvider>>,
    tools: EntryTable<Arc<ToolProvider>>,
    /// How many ask for no dynamic contexts.
    suppressors: usize,
}

impl ContextLayer for Layer {
    fn is_empty(&self) -> bool {
        self.sections.is_empty()
            && self.contexts.is_empty()
            && self.variables.is_empty()
            && self.tools.is_empty()
            && self.suppressors == 0
    }
}

#[derive(Default)]
struct Tables {
    layers: Layers<Layer>,
    listeners: EntryTable<Entry>,
    change: EntryTable<Arc<ChangeListener>>,
}

struct Registry {
    tables: RwLock<Tables>,
    tool_order: Option<ToolOrder>,
}

/// The prompt: contributions and their assembly. Cheap to clone; all clones are one prompt.
///
/// No lock is held while a provider or listener runs; each may contribute or take back.
#[derive(Clone)]
pub struct Prompt(Arc<Registry>);

impl Prompt {
    /// A prompt with the two sections of its configuration.
    #[must_use]
    pub fn new(config: PromptConfig) -> Self {
        let mut tables = Tables::default();
        let identity = config
            .identity
            .then(|| Section::new("harness:identity", -100, IDENTITY));
        let persona = Section::new("deployment:persona", 0, config.persona);
        for section in identity.into_iter().chain([persona]) {
            // The table is empty, so no name is taken.
            let _taken = tables
                .layers
                .global_mut()
                .sections
                .insert(section.shared_name(), section);
        }
        Self(Arc::new(Registry {
            tables: RwLock::new(tables),
            tool_order: config.tool_order,
        }))
    }

    /// Contributes for everybody; what is contributed ends with the fiber.
    #[must_use]
    pub fn global(&self, fiber: &Fiber) -> Receiver {
        Receiver {
            prompt: self.clone(),
            fiber: fiber.clone(),
            scope: None,
        }
    }

    /// Contributes for a scope and what is nested in it; what is contributed ends with the scope. A section, context or
    /// variable of the same name as an inherited one takes its place there (L61, L65).
    #[must_use]
    pub fn scoped(&self, scope: &Scope) -> Receiver {
        Receiver {
            prompt: self.clone(),
            fiber: scope.fiber().clone(),
            scope: Some(scope.clone()),
        }
    }

    /// Assembles the parts of a request (L67).
    ///
    /// The same contributions give the same bytes, in whatever order tools were registered (L85).
    ///
    /// # Errors
    ///
    /// A provider or a listener failed, the configured order names a tool that does not exist, or two sections want to be
    /// the whole prompt.
    pub async fn assemble(&self, cx: AssembleContext) -> Result<Assembly, PromptError> {
        let parts = self.parts(cx.scope());
        let variables = parts.variables(&cx)?;
        let mut sections = Vec::with_capacity(parts.sections.len());
        let mut complete: Option<AssembledSection> = None;
        for section in &parts.sections {
            let assembled = section.resolve(&cx)?;
            if section.is_complete() {
                if let Some(other) = &complete {
                    return Err(PromptError::new(format!(
                        "prompt sections \"{}\" and \"{}\" both claim to be the complete prompt",
                        other.name, assembled.name
                    )));
                }
                complete = Some(assembled.clone());
            }
            sections.push(assembled);
        }
        let contexts = parts
            .contexts
            .iter()
            .map(|context| context.resolve(&cx))
            .collect::<Result<_, _>>()?;
        let tools = parts.tools(&cx, self.0.tool_order.as_ref())?;
        let assembly = Assembly {
            sections,
            contexts,
            tools,
            variables,
        };
        let chain = self.0.tables.read().listeners.snapshot();
        let mut assembly = AssembleNext::new(chain, cx).run(assembly).await?;
        if let Some(complete) = complete {
            assembly.sections = vec![complete];
        }
        if parts.suppressed {
            assembly.contexts.clear();
        }
        Ok(assembly)
    }

    /// What counts for a scope, taken before any provider runs.
    fn parts(&self, scope: Option<&Scope>) -> Parts {
        let tables = self.0.tables.read();
        let layers: Vec<&Layer> = tables.layers.visible(scope).collect();
        let sorted = |table: fn(&Layer) -> &NamedTable<Section>| {
            let merged = NamedTable::merge(layers.iter().map(|layer| table(layer)));
            let mut sections: Vec<Section> = merged
                .into_iter()
                .map(|(_, section)| section.clone())
                .collect();
            sections.sort_by_key(Section::order);
            sections
        };
        let suppressed = layers.iter().any(|layer| layer.suppressors > 0);
        Parts {
            sections: sorted(|layer| &layer.sections),
            contexts: if suppressed {
                Vec::new()
            } else {
                sorted(|layer| &layer.contexts)
            },
            variables: NamedTable::merge(layers.iter().map(|layer| &layer.variables))
                .into_iter()
                .map(|(name, provider)| (name.clone(), provider.clone()))
                .collect(),
            tools: layers
                .iter()
                .flat_map(|layer| layer.tools.iter().cloned())
                .collect(),
            suppressed,
        }
    }

    fn notify(&self) {
        let listeners = self.0.tables.read().change.snapshot();
        for listener in listeners.iter() {
            if dsh_context::contain(|| listener()).is_err() {
                tracing::warn!("a system-prompt/change listener panicked");
            }
        }
    }
}

impl fmt::Debug for Prompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prompt").finish_non_exhaustive()
    }
}

struct Parts {
    sections: Vec<Section>,
    contexts: Vec<Section>,
    variables: Vec<(Arc<str>, Arc<VariableProvider>)>,
    tools: Vec<Arc<ToolProvider>>,
    suppressed: bool,
}

impl Parts {
    fn variables(&self, cx: &AssembleContext) -> Result<Variables, PromptError> {
        let resolve = |(name, provider): &(Arc<str>, Arc<VariableProvider>)| {
            let value = contain(&format!("prompt variable \"{name}\""), || provider(cx))?;
            Ok((name.clone(), value))
        };
        self.variables.iter().map(resolve).collect()
    }

    fn tools(
        &self,
        cx: &AssembleContext,
        tool_order: Option<&ToolOrder>,
    ) -> Result<Vec<dsh_tools::ToolSchema>, PromptError> {
        let mut tools = Vec::new();
        let mut known: BTreeSet<Arc<str>> = BTreeSet::new();
        for provider in &self.tools {
            let ToolContribution {
                schemas,
                known: names,
            } = contain("a tool provider", || provider(cx))?;
            match names {
                Some(names) => known.extend(names),
                None => known.extend(schemas.iter().map(|schema| schema.name().into())),
            }
            tools.extend(schemas);
        }
        if let Some(tool_order) = tool_order {
            tool_order.check(&known)?;
        }
        order::sort(&mut tools, tool_order)?;
        Ok(tools)
    }
}

/// Contributes to one layer of a [`Prompt`], for one lifetime (L22).
#[derive(Clone, Debug)]
pub struct Receiver {
    prompt: Prompt,
    fiber: Fiber,
    scope: Option<Scope>,
}

/// One contribution. Dropping it leaves it to its fiber (D10).
#[derive(Debug)]
pub struct Registration(Effect);

impl Registration {
    /// Takes the contribution back; again does nothing.
    pub fn dispose(&self) {
        self.0.dispose();
    }

    /// Whether it still stands.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.0.is_live()
    }
}

impl Receiver {
    /// Contributes a section.
    ///
    /// # Errors
    ///
    /// A name that this layer has already (L60), or a lifetime that has ended.
    pub fn section(&self, section: Section) -> Result<Registration, PromptError> {
        self.named("section", section.shared_name(), section, |layer| {
            &mut layer.sections
        })
    }

    /// Contributes a dynamic context: text that may change from step to step and is delivered as a message (L63).
    ///
    /// # Errors
    ///
    /// A name that this layer has already, or a lifetime that has ended.
    pub fn context(&self, context: Section) -> Result<Registration, PromptError> {
        self.named("context", context.shared_name(), context, |layer| {
            &mut layer.contexts
        })
    }

    /// Switches dynamic contexts off; they are back when the last one who asked for it takes that back (L63).
    ///
    /// # Errors
    ///
    /// A lifetime that has ended.
    pub fn suppress_contexts(&self) -> Result<Registration, PromptError> {
        self.change(|layer| layer.suppressors += 1);
        self.undoable("context suppressor", |layer| layer.suppressors -= 1)
    }

    /// Contributes a variable; `None` says that it has no value now.
    ///
    /// # Errors
    ///
    /// A name that is no variable's or that this layer has already (L65), or a lifetime that has ended.
    pub fn variable<F>(&self, name: &str, value: F) -> Result<Registration, PromptError>
    where
        F: Fn(&AssembleContext) -> Result<Option<String>, PromptError> + Send + Sync + 'static,
    {
        if !is_variable_name(name) {
            return Err(PromptError::refused(format!(
                "\"{name}\" cannot be the name of a prompt variable: use a lower-case letter, then lower-case letters, digits and underscores"
            )));
        }
        let provider: Arc<VariableProvider> = Arc::new(value);
        self.named("variable", name.into(), provider, |layer| {
            &mut layer.variables
        })
    }

    /// Contributes tools.
    ///
    /// # Errors
    ///
    /// A lifetime that has ended.
    pub fn tools<F>(&self, provider: F) -> Result<Registration, PromptError>
    where
        F: Fn(&AssembleContext) -> Result<ToolContribution, PromptError> + Send + Sync + 'static,
    {
        let provider: Arc<ToolProvider> = Arc::new(provider);
        let id = self.change(|layer| layer.tools.push(provider));
        self.undoable("tool provider", move |layer| layer.tools.remove(id))
    }

    /// Listens to assemblies of this layer's scopes: what the outermost listener returns is what is used (L73). The first
    /// one registered is the outermost.
    ///
    /// # Errors
    ///
    /// A lifetime that has ended.
    pub fn on_assemble<F, Fut>(&self, listener: F) -> Result<Registration, PromptError>
    where
        F: Fn(AssembleContext, Assembly, AssembleNext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Assembly, PromptError>> + Send + 'static,
    {
        let entry = Entry {
            scope: self.scope.clone(),
            listener: Arc::new(listener),
        };
        let id = self.prompt.0.tables.write().listeners.push(entry);
        self.effect("assemble listener", move |registry| {
            let _removed = registry.tables.write().listeners.remove(id);
        })
    }

    /// Hears that contributions came or went, of whatever layer (L66).
    ///
    /// # Errors
    ///
    /// A lifetime that has ended.
    pub fn on_change<F>(&self, listener: F) -> Result<Registration, PromptError>
    where
        F: Fn() + Send + Sync + 'static,
    {
        let listener: Arc<ChangeListener> = Arc::new(listener);
        let id = self.prompt.0.tables.write().change.push(listener);
        self.effect("change listener", move |registry| {
            let _removed = registry.tables.write().change.remove(id);
        })
    }

    fn named<V: Send + Sync + 'static>(
        &self,
        what: &'static str,
        name: Arc<str>,
        value: V,
        table: fn(&mut Layer) -> &mut NamedTable<V>,
    ) -> Result<Registration, PromptError> {
        if name.is_empty() {
            return Err(PromptError::refused(format!(
                "a prompt {what} needs a name"
            )));
        }
        let inserted =
            self.change(|layer| table(layer).insert(name.clone(), value).map_err(|_| ()));
        let Ok(id) = inserted else {
            let hint = match self.scope {
                None => " (for one agent, contribute through its scope instead)",
                Some(_) => " for this scope",
            };
            return Err(PromptError::refused(format!(
                "prompt {what} \"{name}\" exists already{hint}"
            )));
        };
        self.undoable(what, move |layer| table(layer).remove(id))
    }

    fn change<T>(&self, change: impl FnOnce(&mut Layer) -> T) -> T {
        let mut tables = self.prompt.0.tables.write();
        match &self.scope {
            None => change(tables.layers.global_mut()),
            Some(scope) => tables.layers.contribute(scope, change),
        }
    }

    /// Leaves the undo of a change of this layer to the fiber, and tells of the change. What the undo takes out is dropped
    /// after the lock is gone.
    fn undoable<T>(
        &self,
        label: &'static str,
        undo: impl FnOnce(&mut Layer) -> T + Send + 'static,
    ) -> Result<Registration, PromptError> {
        let scope = self.scope.clone();
        let registration = self.effect(label, move |registry| {
            let removed = {
                let mut tables = registry.tables.write();
                match &scope {
                    None => Some(undo(tables.layers.global_mut())),
                    Some(scope) => tables.layers.withdraw(scope.id(), undo),
                }
            };
            drop(removed);
            Prompt(registry).notify();
        })?;
        self.prompt.notify();
        Ok(registration)
    }

    fn effect(
        &self,
        label: &'static str,
        undo: impl FnOnce(Arc<Registry>) + Send + 'static,
    ) -> Result<Registration, PromptError> {
        let registry: Weak<Registry> = Arc::downgrade(&self.prompt.0);
        // A fiber that has ended does not run the undo; then it is run here.
        let undo = Arc::new(Mutex::new(Some(undo)));
        let kept = undo.clone();
        let run = move || {
            let undo = kept.lock().take();
            if let (Some(undo), Some(registry)) = (undo, registry.upgrade()) {
                undo(registry);
            }
        };
        match self.fiber.effect(label, run) {
            Ok(effect) => Ok(Registration(effect)),
            Err(inactive) => {
                let undo = undo.lock().take();
                if let Some(undo) = undo {
                    undo(self.prompt.0.clone());
                }
                Err(inactive.into())
            }
        }
    }
}
