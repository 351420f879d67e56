//! The entries of one directory, as a walk needs them.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use dsh_workspace::{FileType, FsError, FsErrorCode, Interrupt, Target, Workspace};
use rustix::fs::{Dir, Mode, OFlags, openat};

use super::skipped::Skipped;

/// An entry of a directory that can be followed.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: OsString,
    /// What the entry leads to: itself, unless it is a link.
    pub(super) target: Target,
    pub(super) kind: FileType,
}

/// Lists a directory in byte order of the names.
///
/// The workspace refuses to list a directory if one entry cannot be looked at (F15), for instance a
/// link with an impossible target. A search must not be blinded by that: it lists such a directory
/// name by name and notes what it cannot look at.
pub(super) fn list(
    workspace: &Workspace,
    directory: &Target,
    skipped: &mut Skipped,
    interrupt: Interrupt<'_>,
) -> Result<Vec<Entry>, FsError> {
    match workspace.list_dir(directory, interrupt) {
        Ok(entries) => Ok(entries
            .iter()
            .map(|entry| Entry {
                name: entry.name().to_owned(),
                target: entry.target().clone(),
                kind: entry.metadata().file_type(),
            })
            .collect()),
        Err(error)
            if matches!(
                error.code(),
                FsErrorCode::PermissionDenied | FsErrorCode::IoError
            ) =>
        {
            match names(workspace, directory) {
                Some(names) => entries(workspace, directory, names, skipped, interrupt),
                None => Err(error),
            }
        }
        Err(error) => Err(error),
    }
}

/// The sorted names in a directory; nothing if they cannot be read.
fn names(workspace: &Workspace, directory: &Target) -> Option<Vec<OsString>> {
    // The handle of a directory is the parent of any name in it.
    let child = child(workspace, directory, OsStr::new("\u{1}")).ok()??;
    let parent = workspace.open_parent(&child).ok()?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let readable = openat(&parent.directory, ".", flags, Mode::empty()).ok()?;
    let mut names = Vec::new();
    for entry in Dir::new(readable).ok()? {
        let entry = entry.ok()?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(OsStr::from_bytes(name).to_owned());
        }
    }
    names.sort_unstable();
    Some(names)
}

fn entries(
    workspace: &Workspace,
    directory: &Target,
    names: Vec<OsString>,
    skipped: &mut Skipped,
    interrupt: Interrupt<'_>,
) -> Result<Vec<Entry>, FsError> {
    let mut entries = Vec::with_capacity(names.len());
    for name in names {
        let looked = child(workspace, directory, &name).and_then(|target| match target {
            Some(target) => {
                let kind = workspace.stat(&target, interrupt)?;
                Ok(kind.map(|found| (target, found.file_type())))
            }
            None => {
                skipped.add(|| format!("{}: not a UTF-8 name", name.to_string_lossy()));
                Ok(None)
            }
        });
        match looked {
            Ok(Some((target, kind))) => entries.push(Entry { name, target, kind }),
            // Gone again, or a link that leads nowhere.
            Ok(None) => {}
            Err(error) if error.is_aborted() => return Err(error),
            // A link that leads out is as good as no entry.
            Err(error) if error.code() == FsErrorCode::SandboxDenied => {}
            Err(error) => skipped.add(|| error.to_string()),
        }
    }
    Ok(entries)
}

/// The entry of that name, links resolved; nothing for what cannot be named.
fn child(
    workspace: &Workspace,
    directory: &Target,
    name: &OsStr,
) -> Result<Option<Target>, FsError> {
    match directory.key().join(name).to_str() {
        Some(path) => workspace.resolve(path).map(Some),
        None => Ok(None),
    }
}
