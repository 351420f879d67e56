//! The entries of one directory.

use std::ffi::{OsStr, OsString};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;

use rustix::fs::{Dir, Mode, OFlags, openat};
use rustix::io::Errno;

use crate::error::{Action, FsError, FsErrorCode};
use crate::interrupt::Interrupt;
use crate::metadata::{FileType, Metadata};
use crate::root::{self, Root};
use crate::target::Target;
use crate::walk::{self, Refusal};

/// One entry of a directory (F15).
#[derive(Debug, Clone)]
pub struct DirectoryEntry {
    name: OsString,
    target: Target,
    metadata: Metadata,
}

impl DirectoryEntry {
    /// The name in the directory.
    #[must_use]
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// The entry as a target, links resolved. A link that leads nowhere or out of the root stands
    /// for itself.
    #[must_use]
    pub const fn target(&self) -> &Target {
        &self.target
    }

    /// The metadata of the target; [`FileType::Other`] for a link that leads nowhere or out of the
    /// root.
    #[must_use]
    pub const fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}

pub(crate) fn list(
    root: &Root,
    target: &Target,
    shortcut: bool,
    interrupt: Interrupt<'_>,
) -> Result<Vec<DirectoryEntry>, FsError> {
    let display = target.display();
    let failed = |errno| FsError::from_errno(Action::List, display, errno);
    let check = || {
        if interrupt() {
            Err(FsError::aborted(Action::List, display))
        } else {
            Ok(())
        }
    };
    check()?;
    match root
        .inspect(&target.relative, shortcut)
        .map_err(failed)?
        .map(|found| found.file_type())
    {
        Some(FileType::Directory) => {}
        None | Some(FileType::Symlink) => return Err(FsError::not_found(Action::List, display)),
        Some(FileType::File | FileType::Other) => {
            let code = FsErrorCode::NotDirectory;
            return Err(FsError::cannot(
                code,
                Action::List,
                display,
                "not a directory",
            ));
        }
    }
    let directory = root
        .open_directory(&target.relative, shortcut)
        .map_err(failed)?;
    let readable = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let readable = openat(&directory, ".", readable, Mode::empty()).map_err(failed)?;
    let mut names = Vec::new();
    for entry in Dir::new(readable).map_err(failed)? {
        check()?;
        let name = entry.map_err(failed)?.file_name().to_bytes().to_vec();
        if name != b"." && name != b".." {
            names.push(OsString::from_vec(name));
        }
    }
    names.sort_unstable();

    let mut entries = Vec::with_capacity(names.len());
    for name in names {
        check()?;
        let metadata = match root::inspect_at(directory.as_fd(), &name) {
            Ok(metadata) => metadata,
            // Removed since the names were read.
            Err(Errno::NOENT) => continue,
            Err(errno) => return Err(failed(errno)),
        };
        let own = target.relative.join(&name);
        let (relative, metadata) = if metadata.file_type() == FileType::Symlink {
            match walk::walk(root, &own, shortcut) {
                Ok(arrival) => match root.inspect(&arrival.relative, shortcut).map_err(failed)? {
                    Some(found) if arrival.exists && found.file_type() != FileType::Symlink => {
                        (arrival.relative, found)
                    }
                    _ => (own, metadata.as_other()),
                },
                Err(Refusal::Failed(errno)) if errno != Errno::LOOP => return Err(failed(errno)),
                Err(_) => (own, metadata.as_other()),
            }
        } else {
            (own, metadata)
        };
        let target = Target {
            root: target.root,
            key: root.key(&relative),
            display: format!(
                "{}/{}",
                display.trim_end_matches('/'),
                name.to_string_lossy()
            ),
            relative,
        };
        entries.push(DirectoryEntry {
            name,
            target,
            metadata,
        });
    }
    Ok(entries)
}
