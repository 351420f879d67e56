//! Where none of the layers exists: the process boundary, the engine's own caps, and an honest report.

use dsh_code::SandboxLayer;

use super::layer;
use crate::start::Terms;

pub(super) fn apply(_terms: &Terms) -> Vec<SandboxLayer> {
    [
        "descriptors",
        "no-new-privs",
        "landlock",
        "rlimits",
        "seccomp",
    ]
    .into_iter()
    .map(|name| layer(name, Err("only on Linux".to_owned())))
    .collect()
}
