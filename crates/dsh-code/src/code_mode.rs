//! Code Mode in a deployment: what is mounted where, and how a scope chooses it (chapters 1 and 2 of the specification).

use std::fmt;
use std::future::Future;
use std::sync::{Arc, Weak};

use dsh_context::{Effect, EntryTable, Fiber, Scope};
use dsh_prompt::{AssembleContext, Prompt, PromptError, Section, ToolContribution};
use dsh_tools::lane::Overlap;
use dsh_tools::{Content, Host, Mode, Tool, ToolError, ToolSchema, Tools};
use parking_lot::{Mutex, RwLock};

use crate::dispatch::{LogEntry, LogListener};
use crate::{
    CodeDispatchSink, CodeError, CodeRuntime, DispatchLog, DispatchLogNext, Language, Limits,
    RunObserver, instructions, transport,
};

/// How programs are run.
#[derive(Clone)]
pub struct CodeConfig {
    /// How many bodies of one program run at once; 1 is serial (C3).
    pub max_parallel_sub_calls: usize,
    /// Which calls of a program may overlap.
    pub overlap: Overlap,
    /// Budgets of each run; those of the runtime without.
    pub limits: Option<Limits>,
    /// Keeps what programs call.
    pub sink: Option<Arc<dyn CodeDispatchSink>>,
    /// The clock that durations of calls are taken from.
    pub host: Option<Arc<dyn Host>>,
    /// Sees the envelope of each run.
    pub observer: Option<Arc<dyn RunObserver>>,
}

impl Default for CodeConfig {
    fn default() -> Self {
        Self {
            max_parallel_sub_calls: 10,
            overlap: Overlap::default(),
            limits: None,
            sink: None,
            host: None,
            observer: None,
        }
    }
}

impl fmt::Debug for CodeConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CodeConfig")
            .field("max_parallel_sub_calls", &self.max_parallel_sub_calls)
            .field("overlap", &self.overlap)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// Code Mode beside a registry and a prompt. Cheap to clone.
///
/// It contributes the tools of the registry to the prompt, in whatever mode each scope has; nobody else should.
///
/// # Examples
///
/// ```
/// use dsh_code::{CodeConfig, CodeMode};
/// use dsh_context::{Fiber, Scope};
/// use dsh_prompt::{Prompt, PromptConfig};
/// use dsh_tools::{Mode, Tools, ToolsConfig};
///
/// let fiber = Fiber::root("app");
/// let tools = Tools::new(ToolsConfig::default());
/// let prompt = Prompt::new(PromptConfig::default());
/// let code = CodeMode::mount(&fiber, &tools, &prompt, CodeConfig::default())?;
///
/// let agent = Scope::new("agent");
/// code.present_as(&agent, Mode::Code)?;
/// assert!(tools.get("run_code", Some(&agent)).is_some());
/// assert!(tools.get("run_code", None).is_none());
/// # Ok::<(), dsh_code::CodeError>(())
/// ```
#[derive(Clone)]
pub struct CodeMode(Arc<Mounted>);

struct Mounted {
    shared: Arc<Shared>,
    tools: Tools,
    prompt: Prompt,
    /// One definition per language, shared by all scopes that see it (C18).
    transports: [(Language, Tool); Language::ALL.len()],
}

/// What a run looks up when it starts. The transport holds it, so it holds neither registry nor transport.
pub(crate) struct Shared {
    pub(crate) config: CodeConfig,
    runtime: RwLock<Option<Arc<dyn CodeRuntime>>>,
    listeners: RwLock<EntryTable<LogEntry>>,
    waiting: RwLock<EntryTable<Arc<dyn Fn() + Send + Sync>>>,
}

impl Shared {
    pub(crate) fn runtime(&self) -> Option<Arc<dyn CodeRuntime>> {
        self.runtime.read().clone()
    }

    pub(crate) fn log_chain(&self) -> Arc<[LogEntry]> {
        self.listeners.read().snapshot()
    }

    /// The language of programs in this mode; `None` where there are no programs.
    fn language(&self, mode: Mode) -> Result<Option<Language>, PromptError> {
        if !mode.has_transport() {
            return Ok(None);
        }
        let runtime = self
            .runtime()
            .ok_or_else(|| PromptError::new(no_runtime(mode)))?;
        let name = runtime.language();
        Language::of(name).map(Some).ok_or_else(|| {
            let known = Language::known();
            PromptError::new(format!(
                "no SDK renderer registered for runtime language \"{name}\" (known: {known})"
            ))
        })
    }

    /// Tells those who wait for a runtime that one came or went.
    fn notify(&self) {
        let waiting = self.waiting.read().snapshot();
        for wake in waiting.iter() {
            wake();
        }
    }
}

/// What is missing, and what to do about it (C33, C34).
pub(crate) fn no_runtime(mode: Mode) -> String {
    format!("mode \"{mode}\" requires a code runtime: mount one, or choose mode \"native\"")
}

impl CodeMode {
    /// Mounts `run_code` in the registry, and in the prompt the tools and, when the deployment's mode has programs, the two
    /// sections (C41). Everything ends with the fiber.
    ///
    /// No runtime is needed yet; see [`mount_runtime`](CodeMode::mount_runtime) (C4).
    ///
    /// # Errors
    ///
    /// A cap of zero, limits that make no sense, names that are taken, or a lifetime that has ended.
    pub fn mount(
        fiber: &Fiber,
        tools: &Tools,
        prompt: &Prompt,
        config: CodeConfig,
    ) -> Result<Self, CodeError> {
        if config.max_parallel_sub_calls == 0 {
            return Err(CodeError::refused(
                "maxParallelSubCalls must be a positive integer",
            ));
        }
        if let Some(limits) = &config.limits {
            limits.validate()?;
        }
        let shared = Arc::new(Shared {
            config,
            runtime: RwLock::default(),
            listeners: RwLock::default(),
            waiting: RwLock::default(),
        });
        let [typescript, python] = Language::ALL
            .map(|language| Ok::<_, CodeError>((language, transport::tool(language, &shared)?)));
        let transports = [typescript?, python?];
        let mode = Self(Arc::new(Mounted {
            shared,
            tools: tools.clone(),
            prompt: prompt.clone(),
            transports,
        }));
        let mut staged = Staged::default();
        // The flavour without a runtime is the first one (C100).
        let transport = mode.0.transports[0].1.clone();
        staged.keep(Undo::Tools(tools.global(fiber).mount_transport(transport)?));
        let receiver = prompt.global(fiber);
        staged.keep(Undo::Prompt(receiver.tools(mode.contribution())?));
        if tools.mode(None).has_transport() {
            staged.keep(Undo::Prompt(receiver.section(mode.rule())?));
            staged.keep(Undo::Prompt(receiver.section(mode.sdk())?));
        }
        staged.finish();
        Ok(mode)
    }

    /// Mounts the runtime that programs run on. There is one at a time (C185).
    ///
    /// # Errors
    ///
    /// Another runtime is mounted, or the lifetime has ended.
    pub fn mount_runtime(
        &self,
        fiber: &Fiber,
        runtime: Arc<dyn CodeRuntime>,
    ) -> Result<Registration, CodeError> {
        let language = Language::of(runtime.language());
        let mounted = {
            let mut slot = self.0.shared.runtime.write();
            match &*slot {
                Some(mounted) => Some(mounted.clone()),
                None => slot.replace(runtime),
            }
        };
        if let Some(mounted) = mounted {
            return Err(CodeError::refused(format!(
                "a code runtime for \"{}\" is mounted already; dispose it first",
                mounted.language()
            )));
        }
        let shared = self.0.shared.clone();
        let clear = move || {
            let runtime = shared.runtime.write().take();
            drop(runtime);
            shared.notify();
        };
        let mut staged = Staged::default();
        match fiber.effect("code runtime", clear.clone()) {
            Ok(effect) => staged.keep(Undo::Effect(effect)),
            Err(inactive) => {
                clear();
                return Err(inactive.into());
            }
        }
        // `run_code` speaks of the language of its programs (C50).
        let mut others = self.0.transports.iter().skip(1);
        if let Some((_, transport)) = others.find(|(of, _)| Some(*of) == language) {
            let receiver = self.0.tools.global(fiber);
            staged.keep(Undo::Tools(receiver.mount_transport(transport.clone())?));
        }
        self.0.shared.notify();
        Ok(staged.finish())
    }

    /// The runtime that is mounted.
    #[must_use]
    pub fn runtime(&self) -> Option<Arc<dyn CodeRuntime>> {
        self.0.shared.runtime()
    }

    /// Chooses how a scope's tools are presented, with the prompt sections that go with it (C11–C18). The choice covers
    /// scopes nested in it that do not choose themselves.
    ///
    /// # Errors
    ///
    /// The scope has chosen already, or its lifetime has ended.
    pub fn present_as(&self, scope: &Scope, mode: Mode) -> Result<Registration, CodeError> {
        let mut staged = Staged::default();
        staged.keep(Undo::Tools(self.0.tools.scoped(scope).present_as(mode)?));
        if mode.has_transport() {
            let receiver = self.0.prompt.scoped(scope);
            staged.keep(Undo::Prompt(receiver.section(self.rule())?));
            staged.keep(Undo::Prompt(receiver.section(self.sdk())?));
        }
        Ok(staged.finish())
    }

    /// As [`present_as`](CodeMode::present_as), but a mode with programs is in force only while a runtime is mounted; without
    /// one the scope keeps what it inherits (C19).
    ///
    /// # Errors
    ///
    /// As for [`present_as`](CodeMode::present_as). A choice that cannot be made when the runtime comes is logged.
    pub fn present_when_ready(&self, scope: &Scope, mode: Mode) -> Result<Registration, CodeError> {
        if !mode.has_transport() {
            return self.present_as(scope, mode);
        }
        let presentation = Arc::new(Presentation {
            code: Arc::downgrade(&self.0),
            scope: scope.clone(),
            mode,
            state: Mutex::default(),
        });
        // Listen before looking, so that a runtime that comes in between is not missed.
        let woken = presentation.clone();
        let id = self.0.shared.waiting.write().push(Arc::new(move || {
            if let Err(error) = woken.settle() {
                let scope = woken.scope.label();
                tracing::warn!(scope, %error, "a scope could not be presented as it was configured");
            }
        }));
        let shared = self.0.shared.clone();
        let settled = presentation.settle();
        let stop = move || {
            let wake = shared.waiting.write().remove(id);
            drop(wake);
            presentation.end();
        };
        if let Err(error) = settled {
            stop();
            return Err(error);
        }
        match scope.fiber().effect("tool presentation", stop.clone()) {
            Ok(effect) => Ok(Registration(vec![Undo::Effect(effect)])),
            Err(inactive) => {
                stop();
                Err(inactive.into())
            }
        }
    }

    /// Listens to what is logged of the calls of programs, and may replace the content (`tools/code-dispatch-log`, C158).
    /// With a scope, only for agents within it.
    ///
    /// # Errors
    ///
    /// A lifetime that has ended.
    pub fn on_dispatch_log<F, Fut>(
        &self,
        fiber: &Fiber,
        scope: Option<&Scope>,
        listener: F,
    ) -> Result<Registration, CodeError>
    where
        F: Fn(DispatchLog, DispatchLogNext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Content, ToolError>> + Send + 'static,
    {
        let listener: Arc<dyn LogListener> = Arc::new(listener);
        let id = self.0.shared.listeners.write().push(LogEntry {
            scope: scope.cloned(),
            listener,
        });
        let shared = self.0.shared.clone();
        let remove = move || {
            let removed = shared.listeners.write().remove(id);
            drop(removed);
        };
        match fiber.effect("code-dispatch-log listener", remove.clone()) {
            Ok(effect) => Ok(Registration(vec![Undo::Effect(effect)])),
            Err(inactive) => {
                remove();
                Err(inactive.into())
            }
        }
    }

    /// The schema of `run_code` for the runtime that is mounted; for TypeScript without one (C100).
    ///
    /// # Errors
    ///
    /// The runtime's language has no flavour (C101).
    pub fn schema(&self) -> Result<ToolSchema, CodeError> {
        let Some(runtime) = self.runtime() else {
            return Ok(self.0.transports[0].1.schema().clone());
        };
        let flavour = self
            .0
            .transports
            .iter()
            .find(|(language, _)| language.as_str() == runtime.language());
        flavour
            .map(|(_, tool)| tool.schema().clone())
            .ok_or_else(|| {
                CodeError::refused(format!(
                    "no run_code schema flavor registered for runtime language \"{}\" (known: {})",
                    runtime.language(),
                    Language::known()
                ))
            })
    }

    /// What the registry announces, once it is known that programs could run (C33, C35).
    fn contribution(
        &self,
    ) -> impl Fn(&AssembleContext) -> Result<ToolContribution, PromptError> + Send + Sync + use<>
    {
        let (tools, shared) = (self.0.tools.clone(), self.0.shared.clone());
        let announced = dsh_prompt::announced(&tools);
        move |cx| {
            shared.language(tools.mode(cx.scope()))?;
            announced(cx)
        }
    }

    /// The section that says that nothing else is callable (C43).
    fn rule(&self) -> Section {
        let tools = self.0.tools.clone();
        Section::lazy("tools:code-only", 99, move |cx| {
            let only = tools.mode(cx.scope()) == Mode::Code;
            Ok(if only {
                instructions::CODE_ONLY.to_owned()
            } else {
                String::new()
            })
        })
        .verbatim()
    }

    /// The section with the declarations (C45–C50). Descriptions of tools are in it, so nothing in it is a variable (C52).
    fn sdk(&self) -> Section {
        let (tools, shared) = (self.0.tools.clone(), self.0.shared.clone());
        Section::lazy("tools:sdk", 150, move |cx| {
            let view = tools.view(cx.scope());
            let language = shared.language(view.mode())?;
            Ok(language
                .map(|language| language.sdk(&view))
                .unwrap_or_default())
        })
        .verbatim()
    }
}

/// What a scope is to have while there is a runtime (C19).
struct Presentation {
    code: Weak<Mounted>,
    scope: Scope,
    mode: Mode,
    state: Mutex<Presented>,
}

#[derive(Default)]
struct Presented {
    declared: Option<Registration>,
    /// Nothing is declared any more.
    over: bool,
    /// Somebody is at it, perhaps further up on this stack: a declaration tells listeners, who may mount or dispose.
    working: bool,
    /// Whoever is at it has to look once more.
    again: bool,
}

impl Presentation {
    /// Makes what is declared follow what is mounted. No lock is held while something is declared or taken back.
    fn settle(&self) -> Result<(), CodeError> {
        {
            let mut state = self.state.lock();
            if state.working {
                state.again = true;
                return Ok(());
            }
            state.working = true;
        }
        loop {
            let followed = self.follow();
            let mut state = self.state.lock();
            if !std::mem::take(&mut state.again) {
                state.working = false;
                return followed;
            }
        }
    }

    fn follow(&self) -> Result<(), CodeError> {
        let code = self.code.upgrade().map(CodeMode);
        let ready = code.filter(|code| code.runtime().is_some());
        let (over, declared) = {
            let mut state = self.state.lock();
            (state.over, state.declared.take())
        };
        let declared = match (ready, declared) {
            (Some(code), None) if !over => Some(code.present_as(&self.scope, self.mode)?),
            (Some(_), Some(declared)) if !over => Some(declared),
            (_, Some(declared)) => {
                declared.dispose();
                None
            }
            _ => None,
        };
        self.state.lock().declared = declared;
        Ok(())
    }

    /// Takes back what is declared, for good.
    fn end(&self) {
        self.state.lock().over = true;
        // Taking back does not fail.
        let _taken_back = self.settle();
    }
}

impl fmt::Debug for CodeMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CodeMode")
            .field("config", &self.0.shared.config)
            .finish_non_exhaustive()
    }
}

/// Something mounted or declared. Dropping it leaves it to its lifetime (D10).
#[derive(Debug)]
pub struct Registration(Vec<Undo>);

#[derive(Debug)]
enum Undo {
    Effect(Effect),
    Tools(dsh_tools::Registration),
    Prompt(dsh_prompt::Registration),
}

/// Several changes that are made together: what was made is taken back unless all were.
#[derive(Default)]
struct Staged(Vec<Undo>);

impl Staged {
    fn keep(&mut self, undo: Undo) {
        self.0.push(undo);
    }

    fn finish(mut self) -> Registration {
        Registration(std::mem::take(&mut self.0))
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        Registration(std::mem::take(&mut self.0)).dispose();
    }
}

impl Registration {
    /// Takes it back, the last part first; again does nothing.
    pub fn dispose(&self) {
        for undo in self.0.iter().rev() {
            match undo {
                Undo::Effect(effect) => effect.dispose(),
                Undo::Tools(registration) => registration.dispose(),
                Undo::Prompt(registration) => registration.dispose(),
            }
        }
    }

    /// Whether it still stands.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.0.first().is_some_and(|undo| match undo {
            Undo::Effect(effect) => effect.is_live(),
            Undo::Tools(registration) => registration.is_live(),
            Undo::Prompt(registration) => registration.is_live(),
        })
    }
}
