//! What a log keeps of the calls of a program (chapter 6.6 of the Code Mode specification).

use std::future::Future;
use std::sync::Arc;

use compact_str::CompactString;
use dsh_context::{Contained, Scope, contain};
use dsh_session::{Agents, CodeDispatch, CodeDispatchStart, SessionError};
use dsh_tools::{BoxFuture, CallId, Content, Execution, ToolError};

/// Keeps what programs call. Without an agent there is no log, and nobody is told (C119).
///
/// Both methods are called before `run_code` is over, starts in the order of submission. A failure is one of the log: the
/// run ends with it, after what had started is settled and offered to the log.
pub trait CodeDispatchSink: Send + Sync {
    /// Before policy sees the call.
    ///
    /// # Errors
    ///
    /// The log cannot take it; the call does not start.
    fn started(&self, agent: &Scope, start: &CodeDispatchStart) -> Result<(), ToolError>;

    /// After the call is committed; once for each start.
    ///
    /// # Errors
    ///
    /// The log cannot take it.
    fn settled(&self, agent: &Scope, dispatch: &CodeDispatch) -> Result<(), ToolError>;
}

/// Logs in the session of the agent on whose behalf the program runs, inside its open turn (C155). What runs for a scope
/// without a session is not logged.
impl CodeDispatchSink for Agents {
    fn started(&self, agent: &Scope, start: &CodeDispatchStart) -> Result<(), ToolError> {
        let agent = self.of(agent);
        agent.map_or(Ok(()), |agent| {
            appended(agent.session().append(start.clone()).map(drop))
        })
    }

    fn settled(&self, agent: &Scope, dispatch: &CodeDispatch) -> Result<(), ToolError> {
        let agent = self.of(agent);
        agent.map_or(Ok(()), |agent| {
            appended(agent.session().append(dispatch.clone()).map(drop))
        })
    }
}

/// The failure keeps the code of the log.
fn appended(result: Result<(), SessionError>) -> Result<(), ToolError> {
    result.map_err(|error| {
        ToolError::coded("SessionError", error.code().to_owned(), error.to_string())
            .with_source(error)
    })
}

/// What a listener of `tools/code-dispatch-log` is told (C158).
#[derive(Clone, Debug)]
pub struct DispatchLog {
    /// The `run_code` execution.
    pub outer: Execution,
    /// On whose behalf.
    pub agent: Scope,
    /// The call.
    pub sub_call_id: CallId,
    /// Its tool.
    pub name: CompactString,
    /// Whether it failed.
    pub is_error: bool,
    /// Its content, as it is logged when nobody replaces it.
    pub content: Content,
}

pub(crate) trait LogListener: Send + Sync {
    fn call(
        &self,
        log: DispatchLog,
        next: DispatchLogNext,
    ) -> BoxFuture<'static, Result<Content, ToolError>>;
}

impl<F, Fut> LogListener for F
where
    F: Fn(DispatchLog, DispatchLogNext) -> Fut + Send + Sync,
    Fut: Future<Output = Result<Content, ToolError>> + Send + 'static,
{
    fn call(
        &self,
        log: DispatchLog,
        next: DispatchLogNext,
    ) -> BoxFuture<'static, Result<Content, ToolError>> {
        Box::pin(self(log, next))
    }
}

#[derive(Clone)]
pub(crate) struct LogEntry {
    pub(crate) scope: Option<Scope>,
    pub(crate) listener: Arc<dyn LogListener>,
}

impl LogEntry {
    pub(crate) fn admits(&self, agent: &Scope) -> bool {
        self.scope
            .as_ref()
            .is_none_or(|scope| agent.is_within(scope))
    }
}

/// The rest of the chain.
pub struct DispatchLogNext {
    chain: Arc<[LogEntry]>,
    index: usize,
    log: DispatchLog,
}

impl DispatchLogNext {
    pub(crate) fn new(chain: Arc<[LogEntry]>, log: DispatchLog) -> Self {
        Self {
            chain,
            index: 0,
            log,
        }
    }

    /// Runs the listeners inside this one; with none left the content stays as it is.
    ///
    /// # Errors
    ///
    /// The failure of a listener that nobody caught.
    pub async fn run(mut self) -> Result<Content, ToolError> {
        let listener = loop {
            match self.chain.get(self.index) {
                None => return Ok(self.log.content),
                Some(entry) => {
                    self.index += 1;
                    if entry.admits(&self.log.agent) {
                        break entry.listener.clone();
                    }
                }
            }
        };
        let log = self.log.clone();
        let listened = match contain(|| listener.call(log, self)) {
            Ok(future) => Contained::new(future).await,
            Err(panicked) => Err(panicked),
        };
        listened.unwrap_or_else(|_| Err(ToolError::new("the listener panicked")))
    }
}

impl std::fmt::Debug for DispatchLogNext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DispatchLogNext")
            .field("left", &self.chain.len().saturating_sub(self.index))
            .finish()
    }
}
