//! Mistakes of whoever composes a runtime: never seen by a model (chapter 13.3).

use std::fmt;

use dsh_schema::SchemaError;

use crate::{Mode, codes};

/// A definition, registration, restriction or presentation that is refused.
///
/// Opaque; route on [`kind`](RegistryError::kind) or [`code`](RegistryError::code).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryError {
    kind: RegistryErrorKind,
    message: String,
    violations: Vec<String>,
}

/// What was wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RegistryErrorKind {
    /// The definition itself: its timeout, its missing arguments or output.
    Definition,
    /// A schema that cannot be enforced.
    Schema,
    /// The reserved name of the transport.
    Reserved,
    /// A name that the layer has already.
    Duplicate,
    /// A restriction that does nothing, or that names what it may not.
    Restriction,
    /// A second presentation mode for one scope.
    Mode,
    /// The owner's lifetime has ended.
    Inactive,
    /// A change that no longer applies, such as removing what is gone.
    Stale,
}

impl RegistryError {
    fn new(kind: RegistryErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            violations: Vec::new(),
        }
    }

    pub(crate) fn definition(message: impl Into<String>) -> Self {
        Self::new(RegistryErrorKind::Definition, message)
    }

    pub(crate) fn bad_timeout(tool: &str) -> Self {
        Self::definition(format!(
            "tool \"{tool}\" timeoutMs must be a positive finite number"
        ))
    }

    pub(crate) fn schema(tool: &str, part: &str, error: SchemaError) -> Self {
        Self {
            kind: RegistryErrorKind::Schema,
            message: format!("tool \"{tool}\" {part}: {error}"),
            violations: error.violations().to_vec(),
        }
    }

    pub(crate) fn reserved(name: &str) -> Self {
        Self::new(
            RegistryErrorKind::Reserved,
            format!("tool name \"{name}\" is reserved for the Code Mode presentation transport"),
        )
    }

    pub(crate) fn duplicate(name: &str, scoped: bool) -> Self {
        let message = if scoped {
            format!("tool \"{name}\" is already registered in this scope")
        } else {
            format!(
                "tool \"{name}\" is already registered (for a per-agent variant, register through that agent's `agent.ctx` instead)"
            )
        };
        Self::new(RegistryErrorKind::Duplicate, message)
    }

    pub(crate) fn empty_restriction() -> Self {
        Self::new(
            RegistryErrorKind::Restriction,
            "tools.restrict({}) is a no-op: pass `allow` and/or `deny` (an empty filter is almost always a materialized-empty-config bug)",
        )
    }

    pub(crate) fn reserved_restriction(name: &str) -> Self {
        Self::new(
            RegistryErrorKind::Restriction,
            format!(
                "tools.restrict() cannot name reserved Code Mode presentation transport \"{name}\"; restrict end-capability tools instead"
            ),
        )
    }

    pub(crate) fn unknown_restriction(unknown: &[&str], known: &[String]) -> Self {
        let quoted = unknown
            .iter()
            .map(|name| format!("\"{name}\""))
            .collect::<Vec<_>>()
            .join(", ");
        let plural = if unknown.len() == 1 { "" } else { "s" };
        let known = if known.is_empty() {
            "(none)".to_owned()
        } else {
            known.join(", ")
        };
        Self::new(
            RegistryErrorKind::Restriction,
            format!(
                "tools.restrict() names unknown global tool{plural} {quoted}; known global tools: {known}"
            ),
        )
    }

    pub(crate) fn mode_conflict(wanted: Mode, declared: Mode) -> Self {
        Self::new(
            RegistryErrorKind::Mode,
            format!(
                "tools.presentAs(\"{wanted}\") conflicts with \"{declared}\" already declared in this scope"
            ),
        )
    }

    pub(crate) fn stale(message: impl Into<String>) -> Self {
        Self::new(RegistryErrorKind::Stale, message)
    }

    /// What was wrong.
    #[must_use]
    pub fn kind(&self) -> RegistryErrorKind {
        self.kind
    }

    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self.kind {
            RegistryErrorKind::Definition | RegistryErrorKind::Stale => codes::INVALID_DEFINITION,
            RegistryErrorKind::Schema => SchemaError::CODE,
            RegistryErrorKind::Reserved => codes::RESERVED_NAME,
            RegistryErrorKind::Duplicate => codes::TOOL_EXISTS,
            RegistryErrorKind::Restriction => codes::INVALID_RESTRICTION,
            RegistryErrorKind::Mode => codes::MODE_CONFLICT,
            RegistryErrorKind::Inactive => dsh_context::InactiveEffect::CODE,
        }
    }

    /// Every violation of a schema that cannot be enforced.
    #[must_use]
    pub fn violations(&self) -> &[String] {
        &self.violations
    }
}

impl From<dsh_context::InactiveEffect> for RegistryError {
    fn from(error: dsh_context::InactiveEffect) -> Self {
        Self::new(RegistryErrorKind::Inactive, error.to_string())
    }
}

impl fmt::Display for RegistryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for RegistryError {}
