//! Failures of a plugin host.

use std::{error::Error, fmt, sync::Arc};

use crate::{inactive::InactiveEffect, plugin::PluginError};

/// An operation of a [`PluginHost`](crate::PluginHost) failed.
#[derive(Debug, Clone)]
pub struct HostError {
    plugin: Option<Arc<str>>,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Inactive(InactiveEffect),
    Unknown,
    Busy,
    Rejected(PluginError),
    Start(PluginError),
    Rollback {
        failure: PluginError,
        rollback: PluginError,
    },
}

impl HostError {
    pub(crate) const fn inactive() -> Self {
        Self {
            plugin: None,
            kind: Kind::Inactive(InactiveEffect),
        }
    }

    pub(crate) const fn unknown() -> Self {
        Self {
            plugin: None,
            kind: Kind::Unknown,
        }
    }

    pub(crate) fn busy(plugin: &str) -> Self {
        Self {
            plugin: Some(plugin.into()),
            kind: Kind::Busy,
        }
    }

    pub(crate) fn rejected(plugin: &str, failure: PluginError) -> Self {
        Self {
            plugin: Some(plugin.into()),
            kind: Kind::Rejected(failure),
        }
    }

    pub(crate) fn start(plugin: &str, failure: PluginError) -> Self {
        Self {
            plugin: Some(plugin.into()),
            kind: Kind::Start(failure),
        }
    }

    pub(crate) fn rollback(plugin: &str, failure: PluginError, rollback: PluginError) -> Self {
        Self {
            plugin: Some(plugin.into()),
            kind: Kind::Rollback { failure, rollback },
        }
    }

    /// A stable code.
    ///
    /// | code | meaning |
    /// |---|---|
    /// | `INACTIVE_EFFECT` | the host or the instance ended while the operation ran |
    /// | `PLUGIN_UNKNOWN` | no plugin is mounted under this id |
    /// | `PLUGIN_BUSY` | requested from inside the operation that it would have to wait for |
    /// | `PLUGIN_REJECTED` | could not be obtained or failed its check; nothing was changed |
    /// | `PLUGIN_START_FAILED` | failed to start; in a replacement the old one runs again |
    /// | `PLUGIN_ROLLBACK_FAILED` | failed to start, and so did the old one; nothing runs |
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match &self.kind {
            Kind::Inactive(error) => error.code(),
            Kind::Unknown => "PLUGIN_UNKNOWN",
            Kind::Busy => "PLUGIN_BUSY",
            Kind::Rejected(_) => "PLUGIN_REJECTED",
            Kind::Start(_) => "PLUGIN_START_FAILED",
            Kind::Rollback { .. } => "PLUGIN_ROLLBACK_FAILED",
        }
    }

    /// What the plugin that was to be started failed with.
    #[must_use]
    pub const fn failure(&self) -> Option<&PluginError> {
        match &self.kind {
            Kind::Rejected(failure) | Kind::Start(failure) | Kind::Rollback { failure, .. } => {
                Some(failure)
            }
            Kind::Inactive(_) | Kind::Unknown | Kind::Busy => None,
        }
    }

    /// What the old plugin failed with when it was started again.
    #[must_use]
    pub const fn rollback_failure(&self) -> Option<&PluginError> {
        match &self.kind {
            Kind::Rollback { rollback, .. } => Some(rollback),
            _ => None,
        }
    }
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plugin = self.plugin.as_deref().unwrap_or_default();
        match &self.kind {
            Kind::Inactive(error) => error.fmt(f),
            Kind::Unknown => f.write_str(
                "no plugin is mounted under this id; it was unmounted or belongs to another host",
            ),
            Kind::Busy => write!(
                f,
                "plugin `{plugin}` cannot be changed from inside its own change; request it from a \
                 task of its own"
            ),
            Kind::Rejected(failure) => {
                write!(
                    f,
                    "plugin `{plugin}` was rejected, nothing was changed: {failure}"
                )
            }
            Kind::Start(failure) => write!(f, "plugin `{plugin}` failed to start: {failure}"),
            Kind::Rollback { failure, rollback } => write!(
                f,
                "plugin `{plugin}` failed to start: {failure}; the plugin that it replaced failed to \
                 start again: {rollback}"
            ),
        }
    }
}

impl Error for HostError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.kind {
            Kind::Inactive(error) => error.source(),
            _ => self.failure().and_then(Error::source),
        }
    }
}

impl From<InactiveEffect> for HostError {
    fn from(_: InactiveEffect) -> Self {
        Self::inactive()
    }
}
