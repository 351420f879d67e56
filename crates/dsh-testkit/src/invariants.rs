//! What has to hold for every call, checked from outside.

use std::collections::HashMap;
use std::sync::Arc;

use dsh_tools::{Execution, Outcome, Receiver, RegistryError, Token};
use parking_lot::Mutex;

/// Observes a runtime and counts: one outcome and one observation per execution (T154, T426, T427), and stages in their
/// order where it watches them (T423–T425).
///
/// # Examples
///
/// ```
/// use dsh_context::Fiber;
/// use dsh_testkit::{Invariants, MockTool, block_on};
/// use dsh_tools::{Call, Signal, Tools, ToolsConfig};
///
/// let (fiber, tools) = (Fiber::root("test"), Tools::new(ToolsConfig::default()));
/// let invariants = Invariants::watch_stages(&tools.global(&fiber))?;
/// block_on(tools.execute(Call::new("c1", "missing", "{}", Signal::never())));
/// assert_eq!(invariants.executions(), 1);
/// invariants.check();
/// # Ok::<(), dsh_tools::RegistryError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Invariants(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    seen: HashMap<Token, Seen>,
    violations: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    pre: usize,
    around: usize,
    observed: usize,
}

impl Invariants {
    /// Watches outcomes only, which leaves the pipeline's short cut open.
    ///
    /// # Errors
    ///
    /// The receiver's lifetime has ended.
    pub fn watch(receiver: &Receiver) -> Result<Self, RegistryError> {
        let invariants = Self::default();
        let observer = invariants.clone();
        receiver.on_result(move |execution, outcome| observer.observe(execution, outcome))?;
        Ok(invariants)
    }

    /// Watches every stage.
    ///
    /// # Errors
    ///
    /// The receiver's lifetime has ended.
    pub fn watch_stages(receiver: &Receiver) -> Result<Self, RegistryError> {
        let invariants = Self::watch(receiver)?;
        let stages = invariants.clone();
        receiver.on_pre_execute(move |execution, next| {
            stages.enter(&execution, "pre-execute", |seen| {
                seen.pre += 1;
                seen.pre == 1 && seen.around == 0
            });
            async move { next.run().await }
        })?;
        let stages = invariants.clone();
        receiver.on_execute(move |execution, next| {
            stages.enter(&execution, "execute", |seen| {
                seen.around += 1;
                seen.pre == 1
            });
            async move { Ok(next.run().await?.into()) }
        })?;
        let stages = invariants.clone();
        receiver.on_post_execute(move |execution, _, next| {
            stages.enter(&execution, "post-execute", |seen| seen.pre == 1);
            async move { next.run().await }
        })?;
        Ok(invariants)
    }

    fn enter(&self, execution: &Execution, stage: &str, allowed: impl FnOnce(&mut Seen) -> bool) {
        let mut state = self.0.lock();
        let seen = state.seen.entry(execution.token()).or_default();
        let in_order = allowed(seen) && seen.observed == 0 && execution.outcome().is_none();
        if !in_order {
            state
                .violations
                .push(format!("call {}: {stage} out of order", execution.id()));
        }
    }

    fn observe(&self, execution: &Execution, outcome: &Outcome) {
        let mut state = self.0.lock();
        let seen = state.seen.entry(execution.token()).or_default();
        seen.observed += 1;
        if seen.observed > 1 {
            let count = seen.observed;
            state
                .violations
                .push(format!("call {}: observed {count} times", execution.id()));
        }
        if !execution
            .outcome()
            .is_some_and(|set| std::ptr::eq(set, outcome))
        {
            state.violations.push(format!(
                "call {}: observers saw another outcome than the caller",
                execution.id()
            ));
        }
        if execution.name().is_empty() || execution.id().as_str().is_empty() {
            state
                .violations
                .push(format!("call {:?}: an empty name or id", execution.id()));
        }
    }

    /// How many executions were observed.
    #[must_use]
    pub fn executions(&self) -> usize {
        self.0
            .lock()
            .seen
            .values()
            .filter(|seen| seen.observed > 0)
            .count()
    }

    /// How often this execution was observed.
    #[must_use]
    pub fn observations(&self, token: Token) -> usize {
        self.0
            .lock()
            .seen
            .get(&token)
            .map_or(0, |seen| seen.observed)
    }

    /// What was violated so far.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        self.0.lock().violations.clone()
    }

    /// Fails the test if anything was violated, or an execution that was begun has no outcome.
    ///
    /// # Panics
    ///
    /// With the list of violations.
    #[track_caller]
    pub fn check(&self) {
        let state = self.0.lock();
        let open = state
            .seen
            .values()
            .filter(|seen| seen.observed == 0)
            .count();
        assert!(
            state.violations.is_empty(),
            "violated: {:#?}",
            state.violations
        );
        assert!(open == 0, "{open} executions have no outcome");
    }
}
