//! How a scope presents its tools to a model.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The presentation mode of a scope (T114).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Every visible tool is announced and callable.
    #[default]
    Native,
    /// Only the Code Mode transport is; the tools are called from programs.
    Code,
    /// Both.
    Both,
}

impl Mode {
    /// Whether the transport is in the view.
    #[must_use]
    pub fn has_transport(self) -> bool {
        self != Self::Native
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Native => "native",
            Self::Code => "code",
            Self::Both => "both",
        })
    }
}

/// Whether a call may overlap with others (T30).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum ExecutionMode {
    /// Beside any other parallel call.
    Parallel,
    /// Alone, from its start until its result is committed (T322).
    Exclusive,
}
