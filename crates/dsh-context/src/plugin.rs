//! What a plugin is.

use std::{error::Error, fmt, sync::Arc};

use crate::{containment::BoxFuture, fiber::Fiber, inactive::InactiveEffect};

/// A unit of function that can be mounted, replaced and unmounted while the process runs.
///
/// A plugin receives what it needs when it is made; there is no service locator to ask.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use dsh_context::{BoxFuture, Fiber, Plugin, PluginError, PluginHost};
///
/// struct Greeter;
///
/// impl Plugin for Greeter {
///     fn name(&self) -> &str {
///         "greeter"
///     }
///
///     fn start<'a>(&'a self, fiber: &'a Fiber) -> BoxFuture<'a, Result<(), PluginError>> {
///         Box::pin(async move {
///             fiber.effect("greeting", || { /* withdraw what was registered */ })?;
///             Ok(())
///         })
///     }
/// }
///
/// # pollster::block_on(async {
/// let fiber = Fiber::root("app");
/// let host = PluginHost::new(&fiber);
/// let greeter = host.mount(Arc::new(Greeter)).await?;
/// host.unmount(greeter).await?;
/// # Ok::<(), dsh_context::HostError>(())
/// # }).unwrap();
/// ```
pub trait Plugin: Send + Sync + 'static {
    /// The name for people; it labels the fiber.
    fn name(&self) -> &str;

    /// Validates configuration and surroundings without changing anything.
    ///
    /// Runs before the plugin is started and, in a replacement, before the old one is touched (L55).
    ///
    /// # Errors
    ///
    /// Whatever makes a start pointless; list every problem, one per line (L5).
    fn check(&self) -> Result<(), PluginError> {
        Ok(())
    }

    /// Registers what the plugin offers as effects of `fiber`.
    ///
    /// # Errors
    ///
    /// A failure has everything undone that was registered up to then (L8).
    ///
    /// # Cancellation
    ///
    /// When the fiber is disposed before the start is over, the future is dropped at its next suspension
    /// point, and what it registered is undone. If it was not polled yet, it never is (L10).
    fn start<'a>(&'a self, fiber: &'a Fiber) -> BoxFuture<'a, Result<(), PluginError>>;
}

/// Why a plugin could not be obtained, checked or started: any error, shared by all who asked.
#[derive(Clone)]
pub struct PluginError {
    cause: Arc<dyn Error + Send + Sync>,
}

impl PluginError {
    /// Wraps an error or a message.
    pub fn new(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            cause: Arc::from(cause.into()),
        }
    }

    /// The wrapped error.
    #[must_use]
    pub fn cause(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.cause
    }
}

impl fmt::Debug for PluginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}

impl fmt::Display for PluginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}

impl Error for PluginError {
    // Transparent: the message is the cause's own.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.source()
    }
}

impl From<InactiveEffect> for PluginError {
    fn from(error: InactiveEffect) -> Self {
        Self::new(error)
    }
}

impl From<String> for PluginError {
    fn from(message: String) -> Self {
        Self::new(message)
    }
}

impl From<&str> for PluginError {
    fn from(message: &str) -> Self {
        Self::new(message)
    }
}
