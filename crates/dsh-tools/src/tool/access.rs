//! What a tool declares of itself besides its schema (D44). Policy reads this and never a tool's name.

use serde::{Deserialize, Serialize};

/// What running a tool twice does to the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// Nothing: it only looks.
    ReadOnly,
    /// The same as running it once.
    Idempotent,
    /// Possibly something else each time; it is never run again by itself.
    #[default]
    Once,
}

/// One resource that a call touches.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Access {
    /// A path that is read, as the arguments spell it.
    Read {
        /// The path.
        path: String,
    },
    /// A path that is created, changed or removed.
    Write {
        /// The path.
        path: String,
    },
    /// A program that is started.
    Execute {
        /// What is started.
        command: Program,
    },
    /// A host that is spoken to.
    Network {
        /// The host name.
        host: String,
    },
    /// Anything else that rules may want to name.
    Other {
        /// The name.
        name: String,
    },
}

/// A program to start: an argument vector, or a script that a shell reads.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Program {
    /// Program and arguments.
    Argv(Vec<String>),
    /// A shell script.
    Script(String),
}

impl Access {
    /// A path that is read.
    pub fn read(path: impl Into<String>) -> Self {
        Self::Read { path: path.into() }
    }

    /// A path that is written.
    pub fn write(path: impl Into<String>) -> Self {
        Self::Write { path: path.into() }
    }

    /// A script that a shell runs.
    pub fn script(script: impl Into<String>) -> Self {
        Self::Execute {
            command: Program::Script(script.into()),
        }
    }

    /// A host that is spoken to.
    pub fn network(host: impl Into<String>) -> Self {
        Self::Network { host: host.into() }
    }

    /// Anything else.
    pub fn other(name: impl Into<String>) -> Self {
        Self::Other { name: name.into() }
    }

    /// Whether two accesses may not overlap in time: one of them changes what the other touches.
    ///
    /// Paths are compared as spelled, so a declaration has to use one spelling. Programs conflict with everything, since
    /// what they touch is not known.
    pub(crate) fn conflicts(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Read { .. } | Self::Network { .. },
                Self::Read { .. } | Self::Network { .. },
            ) => false,
            (Self::Write { path: a }, Self::Write { path: b } | Self::Read { path: b })
            | (Self::Read { path: b }, Self::Write { path: a }) => within(a, b) || within(b, a),
            (Self::Network { .. }, Self::Write { .. })
            | (Self::Write { .. }, Self::Network { .. }) => false,
            (Self::Other { name: a }, Self::Other { name: b }) => a == b,
            (Self::Execute { .. }, _) | (_, Self::Execute { .. }) => true,
            (Self::Other { .. }, _) | (_, Self::Other { .. }) => false,
        }
    }
}

/// Whether `path` is `dir` or lies below it, by components.
fn within(path: &str, dir: &str) -> bool {
    path.strip_prefix(dir)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || dir.ends_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_conflict_by_component_and_reads_do_not() {
        let read = |p| Access::read(p);
        let write = |p| Access::write(p);
        assert!(!read("a").conflicts(&read("a")));
        assert!(write("a").conflicts(&read("a")));
        assert!(read("a/b").conflicts(&write("a")));
        assert!(write("a").conflicts(&write("a/b")));
        assert!(!write("a").conflicts(&write("ab")));
        assert!(Access::script("ls").conflicts(&read("a")));
        assert!(!Access::other("x").conflicts(&Access::other("y")));
        assert!(Access::other("x").conflicts(&Access::other("x")));
    }
}
