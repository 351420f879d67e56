//! The chain of listeners around an assembly.

use std::future::Future;
use std::sync::Arc;

use dsh_context::{Contained, Scope, contain};
use dsh_tools::BoxFuture;

use crate::{AssembleContext, Assembly, PromptError};

type Result<T> = std::result::Result<T, PromptError>;

pub(crate) trait Listener: Send + Sync {
    fn call(
        &self,
        cx: AssembleContext,
        assembly: Assembly,
        next: AssembleNext,
    ) -> BoxFuture<'static, Result<Assembly>>;
}

impl<F, Fut> Listener for F
where
    F: Fn(AssembleContext, Assembly, AssembleNext) -> Fut + Send + Sync,
    Fut: Future<Output = Result<Assembly>> + Send + 'static,
{
    fn call(
        &self,
        cx: AssembleContext,
        assembly: Assembly,
        next: AssembleNext,
    ) -> BoxFuture<'static, Result<Assembly>> {
        Box::pin(self(cx, assembly, next))
    }
}

#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) scope: Option<Scope>,
    pub(crate) listener: Arc<dyn Listener>,
}

impl Entry {
    fn admits(&self, scope: Option<&Scope>) -> bool {
        match &self.scope {
            None => true,
            Some(own) => scope.is_some_and(|scope| scope.is_within(own)),
        }
    }
}

/// The rest of the chain. A listener that does not run it has the last word (L40).
pub struct AssembleNext {
    chain: Arc<[Entry]>,
    index: usize,
    cx: AssembleContext,
}

impl AssembleNext {
    pub(crate) fn new(chain: Arc<[Entry]>, cx: AssembleContext) -> Self {
        Self {
            chain,
            index: 0,
            cx,
        }
    }

    /// Hands the assembly to the listeners inside this one; with none left it comes back as it is.
    ///
    /// # Errors
    ///
    /// The failure of a listener that nobody caught.
    pub async fn run(mut self, assembly: Assembly) -> Result<Assembly> {
        let listener = loop {
            match self.chain.get(self.index) {
                None => return Ok(assembly),
                Some(entry) => {
                    self.index += 1;
                    if entry.admits(self.cx.scope()) {
                        break entry.listener.clone();
                    }
                }
            }
        };
        let cx = self.cx.clone();
        let listened = match contain(|| listener.call(cx, assembly, self)) {
            Ok(future) => Contained::new(future).await,
            Err(panicked) => Err(panicked),
        };
        listened.unwrap_or_else(|_| Err(PromptError::new("a prompt listener panicked")))
    }
}

impl std::fmt::Debug for AssembleNext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AssembleNext")
            .field("left", &self.chain.len().saturating_sub(self.index))
            .finish()
    }
}
