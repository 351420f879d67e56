//! The sandbox of the worker, applied before any byte of a program is read (D18).
//!
//! Layers do not rely on each other: landlock alone keeps files and sockets out of reach, seccomp alone does so too, and a
//! process that holds no descriptor but its channel has nothing to leak. Each layer is reported as it turned out; the host
//! decides whether a missing one is acceptable.

use dsh_code::SandboxLayer;

use crate::start::Terms;

#[cfg(target_os = "linux")]
#[path = "harden/linux.rs"]
mod system;

#[cfg(not(target_os = "linux"))]
#[path = "harden/other.rs"]
mod system;

#[cfg(test)]
#[cfg(target_os = "linux")]
mod foothold;

/// Applies every layer to the calling thread and tells what holds.
pub(crate) fn apply(terms: &Terms) -> Vec<SandboxLayer> {
    system::apply(terms)
}

/// A layer that holds, or the reason why it does not.
fn layer(name: &str, outcome: Result<String, String>) -> SandboxLayer {
    let active = outcome.is_ok();
    let (Ok(detail) | Err(detail)) = outcome;
    SandboxLayer {
        name: name.to_owned(),
        active,
        detail,
    }
}
