//! One root directory: its handle, its names, and opening below it without following links.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, fstat, open, openat};
use rustix::io::Errno;

use crate::error::{Action, FsError, FsErrorCode};
use crate::metadata::{FileType, Metadata};
use crate::path;

/// How a directory is opened to look up names in it. On Linux that needs no read permission.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) const DIRECTORY: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// How something is opened only to learn that its name leads there.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) const NAME_ONLY: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) const NAME_ONLY: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC);

/// A directory below which everything happens.
#[derive(Debug)]
pub(crate) struct Root {
    handle: OwnedFd,
    /// The absolute path as the embedder spelled it.
    spelled: PathBuf,
    /// The path without links at the time of opening.
    canonical: PathBuf,
    pub(crate) spelled_names: Vec<OsString>,
    pub(crate) canonical_names: Vec<OsString>,
}

impl Root {
    pub(crate) fn open(path: &Path) -> Result<Self, FsError> {
        let display = path.display().to_string();
        let failed = |error: std::io::Error| match Errno::from_io_error(&error) {
            Some(errno) => FsError::from_errno(Action::Open, &display, errno),
            None => FsError::cannot(FsErrorCode::IoError, Action::Open, &display, &error)
                .with_source(error),
        };
        let spelled = std::path::absolute(path).map_err(failed)?;
        let canonical = fs::canonicalize(&spelled).map_err(failed)?;
        if !canonical.is_dir() {
            return Err(FsError::cannot(
                FsErrorCode::NotDirectory,
                Action::Open,
                &display,
                "not a directory",
            ));
        }
        let handle =
            open(&canonical, DIRECTORY, Mode::empty()).map_err(|errno| failed(errno.into()))?;
        let spelled_names = if path::has_parent_step(&spelled) {
            Vec::new()
        } else {
            path::names(&spelled)
        };
        let canonical_names = path::names(&canonical);
        Ok(Self {
            handle,
            spelled,
            canonical,
            spelled_names,
            canonical_names,
        })
    }

    pub(crate) fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }

    pub(crate) fn spelled(&self) -> &Path {
        &self.spelled
    }

    pub(crate) fn canonical(&self) -> &Path {
        &self.canonical
    }

    /// The canonical absolute path of something below this root.
    pub(crate) fn key(&self, relative: &Path) -> PathBuf {
        // Joining an empty path would add a trailing slash.
        if relative.as_os_str().is_empty() {
            self.canonical.clone()
        } else {
            self.canonical.join(relative)
        }
    }

    pub(crate) fn metadata(&self) -> Result<Metadata, Errno> {
        fstat(&self.handle).map(|stat| Metadata::from_stat(&stat))
    }

    /// Opens the directory at `relative`, a path of plain names, refusing every link.
    pub(crate) fn open_directory(&self, relative: &Path, shortcut: bool) -> Result<OwnedFd, Errno> {
        if relative.as_os_str().is_empty() {
            return self
                .handle
                .try_clone()
                .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO));
        }
        if shortcut && let Some(handle) = lookup(self.handle(), relative, DIRECTORY) {
            return Ok(handle);
        }
        let mut current = None::<OwnedFd>;
        for name in relative.iter() {
            let at = current.as_ref().map_or(self.handle(), AsFd::as_fd);
            current = Some(openat(at, name, DIRECTORY, Mode::empty())?);
        }
        current.ok_or(Errno::NOENT)
    }

    /// The directory that holds the last name of `relative`, and that name; nothing for the root
    /// itself, whose name lies outside.
    pub(crate) fn open_parent<'a>(
        &self,
        relative: &'a Path,
        shortcut: bool,
    ) -> Result<Option<(OwnedFd, &'a OsStr)>, Errno> {
        let (Some(parent), Some(name)) = (relative.parent(), relative.file_name()) else {
            return Ok(None);
        };
        Ok(Some((self.open_directory(parent, shortcut)?, name)))
    }

    /// The metadata of what `relative` names, a link being a link. Nothing if it is absent, which
    /// includes a way there that is no longer made of directories.
    pub(crate) fn inspect(
        &self,
        relative: &Path,
        shortcut: bool,
    ) -> Result<Option<Metadata>, Errno> {
        let looked = match self.open_parent(relative, shortcut) {
            Ok(None) => return self.metadata().map(Some),
            Ok(Some((parent, name))) => inspect_at(parent.as_fd(), name),
            Err(errno) => Err(errno),
        };
        match looked {
            Ok(metadata) => Ok(Some(metadata)),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::MLINK) => Ok(None),
            Err(errno) => Err(errno),
        }
    }
}

/// The metadata of one name in an open directory, not following a link.
pub(crate) fn inspect_at(directory: BorrowedFd<'_>, name: &OsStr) -> Result<Metadata, Errno> {
    rustix::fs::statat(directory, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)
        .map(|stat| Metadata::from_stat(&stat))
}

/// Opens one name in an open directory as a regular file, without hanging and without touching
/// anything else that may be there.
pub(crate) fn open_regular(
    directory: BorrowedFd<'_>,
    name: &OsStr,
) -> Result<Result<(OwnedFd, Metadata), FileType>, Errno> {
    const FLAGS: OFlags = OFlags::RDONLY
        .union(OFlags::NONBLOCK)
        .union(OFlags::CLOEXEC)
        .union(OFlags::NOCTTY)
        .union(OFlags::NOFOLLOW);
    // Opening a pipe wakes its writers and opening a device may do anything, so look first. The
    // look that counts is the one after opening.
    match inspect_at(directory, name)?.file_type() {
        FileType::File => {}
        other => return Ok(Err(other)),
    }
    let file = match openat(directory, name, FLAGS, Mode::empty()) {
        Ok(file) => file,
        // A socket that took the file's place.
        Err(Errno::NXIO | Errno::OPNOTSUPP) => return Ok(Err(FileType::Other)),
        Err(errno) => return Err(errno),
    };
    let metadata = Metadata::from_stat(&fstat(&file)?);
    match metadata.file_type() {
        FileType::File => Ok(Ok((file, metadata))),
        other => Ok(Err(other)),
    }
}

/// One lookup of a whole path of plain names, if the kernel can promise that no link takes part.
///
/// Nothing when it cannot or when the lookup fails for whatever reason; the step by step way then
/// finds out why. That also covers kernels and seccomp filters that refuse the call.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn lookup(root: BorrowedFd<'_>, relative: &Path, flags: OFlags) -> Option<OwnedFd> {
    use rustix::fs::ResolveFlags;
    const RESOLVE: ResolveFlags = ResolveFlags::BENEATH
        .union(ResolveFlags::NO_MAGICLINKS)
        .union(ResolveFlags::NO_SYMLINKS);
    rustix::fs::openat2(root, relative, flags, Mode::empty(), RESOLVE).ok()
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn lookup(_: BorrowedFd<'_>, _: &Path, _: OFlags) -> Option<OwnedFd> {
    None
}
