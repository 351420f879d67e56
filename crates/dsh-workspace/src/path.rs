//! Reading a path as a list of steps.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// The longest path that is looked at, in bytes; the usual `PATH_MAX` of Unix kernels.
pub(crate) const MAX_PATH_BYTES: usize = 4096;

/// One step of a path. Empty segments and `.` are no steps, so a trailing slash changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Parent,
    Name(OsString),
}

/// The steps of `path`; whether it starts at the root of the file system is the caller's business.
pub(crate) fn steps(path: &Path) -> Vec<Step> {
    path.components()
        .filter_map(|component| match component {
            Component::ParentDir => Some(Step::Parent),
            Component::Normal(name) => Some(Step::Name(name.to_owned())),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
        })
        .collect()
}

/// The names of an absolute path without `..`.
pub(crate) fn names(path: &Path) -> Vec<OsString> {
    path.components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(name.to_owned()),
            _ => None,
        })
        .collect()
}

pub(crate) fn has_parent_step(path: &Path) -> bool {
    path.components()
        .any(|component| component == Component::ParentDir)
}

/// `path` with its `..` taken textually, for messages about paths that could not be resolved.
pub(crate) fn normalized(path: &Path) -> PathBuf {
    let mut result = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                result.pop();
            }
            other => result.push(other),
        }
    }
    result
}
