//! Results that are too long for a model, kept where it can get at them (F113, F134).

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use dsh_tools::{Execution, Outcome, PostDecision, PostNext, ToolError};

use super::config::SearchConfig;

/// Where complete results are kept. `dsh` brings none of its own to this crate: whoever composes the
/// tools decides where they go, and how long they stay.
pub trait ResultStore: Send + Sync {
    /// Keeps `text` under a name like `name` and says how it is read again.
    ///
    /// Called on a thread where it may block.
    ///
    /// # Errors
    ///
    /// Whatever went wrong. The search does not fail; its result says that the rest is lost.
    fn save(&self, name: &str, text: &str) -> Result<Saved, StoreError>;
}

/// A complete result that was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    /// Where it is.
    pub place: String,
    /// How a model reads it, such as ``use `read` with this path``.
    pub hint: String,
}

/// Why a complete result was not kept, for the operator.
#[derive(Debug)]
pub struct StoreError(Box<dyn Error + Send + Sync>);

impl StoreError {
    /// Wraps whatever went wrong.
    pub fn new(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(error.into())
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

/// What became of the part of a result that is not shown.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rest<'a> {
    Saved(&'a Saved),
    Lost,
}

/// The end of a footer (F113): where the complete result is, or how to do without it.
pub(crate) fn footer_end(rest: Rest<'_>) -> String {
    match rest {
        Rest::Saved(Saved { place, hint }) => {
            format!("The complete result is stored at {place}; {hint}.")
        }
        Rest::Lost => "The complete result could not be saved; narrow the search with a more \
                       specific pattern or path."
            .to_owned(),
    }
}

/// A post-execute listener that keeps the complete results of `glob` and `grep` (F134).
///
/// It looks at top-level calls of these two tools whose result is longer than what is shown, and
/// only if no listener inside it replaced or blocked that result. The text of the result then names
/// the place where all of it is; the value stays as it is. A store that fails changes nothing.
///
/// # Examples
///
/// ```
/// # use std::sync::Arc;
/// # use dsh_context::Fiber;
/// # use dsh_fs::search::{ResultStore, Saved, SearchConfig, StoreError, keep_complete_results};
/// # use dsh_tools::{Tools, ToolsConfig};
/// struct Nowhere;
/// impl ResultStore for Nowhere {
///     fn save(&self, _: &str, _: &str) -> Result<Saved, StoreError> {
///         Err(StoreError::new("no room"))
///     }
/// }
/// let fiber = Fiber::root("example");
/// let tools = Tools::new(ToolsConfig::default());
/// let listener = keep_complete_results(Arc::new(Nowhere), SearchConfig::sampled(true));
/// tools.global(&fiber).on_post_execute(listener)?;
/// # Ok::<(), dsh_tools::RegistryError>(())
/// ```
pub fn keep_complete_results(
    store: Arc<dyn ResultStore>,
    config: SearchConfig,
) -> impl Fn(Execution, Arc<Outcome>, PostNext) -> Listening + Send + Sync + 'static {
    move |execution, outcome, next| {
        let store = store.clone();
        Box::pin(async move {
            let decision = next.run().await?;
            let is_untouched = matches!(decision, PostDecision::Accept { replace: None, .. });
            if !is_untouched || execution.parent().is_some() {
                return Ok(decision);
            }
            let Some(text) =
                blocking::unblock(move || kept(&*store, &config, &execution, &outcome)).await
            else {
                return Ok(decision);
            };
            match decision {
                PostDecision::Accept { contexts, .. } => {
                    Ok(PostDecision::content(text).with_contexts(contexts))
                }
                blocked @ PostDecision::Block { .. } => Ok(blocked),
            }
        })
    }
}

/// The future of [`keep_complete_results`].
pub type Listening = Pin<Box<dyn Future<Output = Result<PostDecision, ToolError>> + Send>>;

/// The text to show instead, if a complete result was kept.
fn kept(
    store: &dyn ResultStore,
    config: &SearchConfig,
    execution: &Execution,
    outcome: &Outcome,
) -> Option<String> {
    let value = outcome.value().filter(|_| !outcome.is_error())?.root();
    match execution.name() {
        crate::glob::NAME => {
            let complete = crate::glob::complete_text(value, config)?;
            let saved = store.save("glob-results.txt", &complete).ok()?;
            crate::glob::rendered(value, config, Rest::Saved(&saved)).ok()
        }
        crate::grep::NAME => {
            let complete = crate::grep::complete_text(value, config)?;
            let saved = store.save("grep-results.txt", &complete).ok()?;
            crate::grep::rendered(value, config, Rest::Saved(&saved)).ok()
        }
        _ => None,
    }
}
