//! The one road from a call to its outcome.
//!
//! ```text
//! admit ─ policy: pre-execute, approval, guards ─ around ─ body and output contract ─ post-execute ─ finalise ─ publish
//! ```
//!
//! Each phase is a file. [`Tools::execute`] strings them together; a call that nobody listens to takes a short cut
//! through the same functions, with the body's future as the only box. Whatever is dropped on the way is drained
//! ([`drain`]), so a started body always runs to its end and every call has one outcome.

mod admission;
mod body;
mod contract;
mod drain;
mod execute;
mod policy;
mod post;
mod publish;

pub(crate) use body::Dispatch;
pub(crate) use drain::Drained;
pub use execute::Execute;

use std::sync::Arc;

use admission::Admitted;

use crate::{Call, Execution, Outcome, Settled, Tools};

/// An outcome, with what is still to pass over it.
pub(crate) enum Stage {
    /// Into the post-execute chain.
    Post(Arc<Outcome>),
    /// To the end (T214).
    Final(Arc<Outcome>),
    /// To the end, without the tool's finalizer: collapsed calls (T122) and replayed ones, which have passed it.
    Bare(Arc<Outcome>),
}

/// A call that is in and that policy has not seen yet.
pub(crate) struct Entered {
    pub(crate) execution: Execution,
    admitted: Admitted,
}

/// A call that policy has judged. Only this registry makes one, and dispatching consumes it (T259).
pub(crate) struct Prepared {
    execution: Execution,
    /// The outcome of a call whose body is not to run.
    stage: Option<Stage>,
}

impl Prepared {
    /// Whether there is a body to run.
    pub(crate) fn dispatches(&self) -> bool {
        self.stage.is_none()
    }
}

/// A call whose body, if it was to run, has run.
pub(crate) struct Dispatched {
    execution: Execution,
    stage: Stage,
}

impl Tools {
    /// Runs one call through the whole pipeline.
    ///
    /// There is exactly one outcome for every call, whatever fails or panics on the way (T153), and the observers of
    /// `tools/result` have seen that same one exactly once when this returns (T154, T155).
    ///
    /// # Cancellation
    ///
    /// Fire the call's signal. Once the body has been invoked, the outcome is not reported before the body has settled
    /// (T303). Dropping the future cancels this call alone and lets it drain on the runtime's spawner: the body runs to
    /// its end, and its outcome is still published once (D5). [`Tools::close`] waits for that.
    ///
    /// # Examples
    ///
    /// ```
    /// use dsh_context::Fiber;
    /// use dsh_schema::spec::{self, ParameterSpec};
    /// use dsh_tools::{Call, Signal, Tool, Tools, ToolsConfig};
    ///
    /// # futures_util::FutureExt::now_or_never(async {
    /// let fiber = Fiber::root("app");
    /// let tools = Tools::new(ToolsConfig::default());
    /// let echo = Tool::new("echo", "Say it again.")
    ///     .parameters(ParameterSpec::new().required("text", spec::string()))
    ///     .returns(spec::string())
    ///     .run(|args, _cx| async move { Ok(args.root().get("text").map(|t| t.to_document()).unwrap_or_default()) })?;
    /// tools.global(&fiber).register(echo)?;
    ///
    /// let call = Call::new("call-1", "echo", r#"{"text":"hello"}"#, Signal::never());
    /// let outcome = tools.execute(call).await;
    /// assert_eq!(outcome.content()[0].as_text(), Some("hello"));
    /// # Ok::<(), dsh_tools::RegistryError>(())
    /// # }).unwrap().unwrap();
    /// ```
    pub fn execute(&self, call: Call) -> Execute<'_> {
        Execute::new(self, call)
    }

    /// Everything behind admission, for calls that somebody listens to.
    async fn staged(self, execution: Execution) -> Settled {
        let prepared = self.judge(execution).await;
        let dispatched = self.dispatch(prepared).await;
        self.finalize(dispatched).await
    }

    /// Phase 0 and 1 alone, so that a scheduler can cancel a call whose policy is still at work.
    pub(crate) fn enter(&self, mut call: Call) -> Entered {
        let (execution, admitted) = self.admit(&mut call);
        Entered {
            execution,
            admitted,
        }
    }

    /// Phases 2 to 5: policy (T255).
    pub(crate) async fn prepare(&self, entered: Entered) -> Prepared {
        let Entered {
            execution,
            admitted,
        } = entered;
        match admitted {
            Admitted::Over(stage) => Prepared {
                execution,
                stage: Some(stage),
            },
            Admitted::Direct | Admitted::Staged => self.judge(execution).await,
        }
    }

    async fn judge(&self, execution: Execution) -> Prepared {
        let stage = self.policy(&execution).await;
        Prepared { execution, stage }
    }

    /// Phases 6 to 8: wrappers, body, cancellation (T256).
    pub(crate) async fn dispatch(&self, prepared: Prepared) -> Dispatched {
        let Prepared { execution, stage } = prepared;
        let stage = match stage {
            Some(stage) => stage,
            None => self.around(&execution).await,
        };
        Dispatched { execution, stage }
    }

    /// Phases 9 to 15: post-execute, finalizer, publication (T257).
    pub(crate) async fn finalize(&self, dispatched: Dispatched) -> Settled {
        let Dispatched { execution, stage } = dispatched;
        let (outcome, finalise) = match stage {
            Stage::Post(outcome) => (self.post(&execution, outcome).await, true),
            Stage::Final(outcome) => (outcome, true),
            Stage::Bare(outcome) => (outcome, false),
        };
        self.settle(execution, outcome, finalise).await
    }
}
