//! The public surface: a root and what can be done below it.

use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;

use crate::error::{Action, FsError, FsErrorCode};
use crate::file::OpenedFile;
use crate::interrupt::Interrupt;
use crate::listing::{self, DirectoryEntry};
use crate::metadata::{FileType, Metadata};
use crate::path;
use crate::root::{self, Root};
use crate::target::Target;
use crate::walk::{self, Arrival, Refusal};

/// A root directory, held open, and optionally further roots that may only be read.
///
/// Cloning is cheap and shares the handles.
///
/// # Examples
///
/// ```
/// # use dsh_workspace::{Workspace, never};
/// # let directory = tempfile::tempdir()?;
/// # std::fs::write(directory.path().join("notes.txt"), "remember\n")?;
/// let workspace = Workspace::open(directory.path())?;
/// let target = workspace.resolve("notes.txt")?;
/// let bytes = workspace.open_file(&target, &never)?.read_bytes(1024, &never)?;
/// assert_eq!(bytes, b"remember\n");
///
/// let refused = workspace.resolve("../elsewhere.txt").unwrap_err();
/// assert_eq!(refused.code().as_str(), "FS_SANDBOX_DENIED");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Workspace {
    /// The workspace proper comes first.
    roots: Vec<Arc<Root>>,
    shortcut: bool,
}

/// An open directory and a name in it: where a file is created, replaced or removed.
///
/// The directory cannot be exchanged any more, so an operation that does not follow a link at
/// `name` cannot leave the workspace.
#[derive(Debug)]
pub struct Parent {
    /// The directory, good for looking up names in it.
    pub directory: OwnedFd,
    /// The name; it may or may not exist.
    pub name: OsString,
}

impl Workspace {
    /// Opens `root`, a directory.
    ///
    /// # Errors
    ///
    /// `FS_NOT_FOUND`, `FS_NOT_DIRECTORY`, `FS_PERMISSION_DENIED` or `FS_IO_ERROR`, with a text that
    /// names the path.
    pub fn open(root: impl AsRef<Path>) -> Result<Self, FsError> {
        Ok(Self {
            roots: vec![Arc::new(Root::open(root.as_ref())?)],
            shortcut: true,
        })
    }

    /// Adds a directory that can be read by absolute paths but is not part of the workspace.
    ///
    /// Links do not lead from one root into another.
    ///
    /// # Errors
    ///
    /// As [`Workspace::open`].
    pub fn with_read_root(mut self, root: impl AsRef<Path>) -> Result<Self, FsError> {
        self.roots.push(Arc::new(Root::open(root.as_ref())?));
        Ok(self)
    }

    /// Resolves step by step even where the kernel offers `openat2`.
    ///
    /// The answers are the same. A kernel or filter that refuses the call needs no setting; this one
    /// is for filters that kill the caller, and for tests.
    #[must_use]
    pub fn without_openat2(mut self) -> Self {
        self.shortcut = false;
        self
    }

    /// Whether the kernel resolves paths below the root in one step, with `openat2`.
    #[must_use]
    pub fn uses_openat2(&self) -> bool {
        self.shortcut
            && root::lookup(
                self.roots[0].handle(),
                Path::new("."),
                rustix::fs::OFlags::PATH,
            )
            .is_some()
    }

    /// The absolute path of the root as it was spelled.
    #[must_use]
    pub fn spelled_root(&self) -> &Path {
        self.roots[0].spelled()
    }

    /// The absolute path of the root without links, at the time it was opened.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.roots[0].canonical()
    }

    /// Resolves a path that may or may not exist (F1–F4).
    ///
    /// A relative path starts at the root. An absolute one has to lie below a root, by the root's
    /// spelled or its canonical path. Links are followed as long as they stay inside, at most 40 of
    /// them; `..` means the parent of where the path has led so far. For a path that does not exist
    /// the nearest existing ancestor is resolved and the rest appended; a link that leads nowhere
    /// counts as not existing, and its own path is the key.
    ///
    /// # Errors
    ///
    /// - `FS_NOT_FOUND` for a blank path, one with a NUL character, one that passes through
    ///   something that is not a directory, or a `..` after a name that does not exist;
    /// - `FS_SANDBOX_DENIED` for a path that leads outside;
    /// - `FS_PERMISSION_DENIED` and `FS_IO_ERROR` from the operating system, the latter also for a
    ///   loop of links.
    pub fn resolve(&self, path: &str) -> Result<Target, FsError> {
        self.check_text(path)?;
        let path = Path::new(path);
        let (index, arrival) = self
            .walk(path)
            .map_err(|refusal| self.refused(path, refusal))?;
        Ok(self.target(index, path, arrival.relative))
    }

    /// The metadata of a target; nothing if it does not exist (F5).
    ///
    /// # Errors
    ///
    /// `FS_PERMISSION_DENIED` and `FS_IO_ERROR` from the operating system.
    ///
    /// # Cancellation
    ///
    /// Asks `interrupt` before and after looking and fails with `FS_ABORTED` (F7).
    pub fn stat(
        &self,
        target: &Target,
        interrupt: Interrupt<'_>,
    ) -> Result<Option<Metadata>, FsError> {
        let found = self.inspect(target.root, &target.relative, target.display(), interrupt)?;
        // The key of a target has no link in it but for one that leads nowhere.
        Ok(found.filter(|metadata| metadata.file_type() != FileType::Symlink))
    }

    /// The metadata of a path whose last component is not followed; nothing if it does not exist
    /// (F5).
    ///
    /// # Errors
    ///
    /// As [`Workspace::resolve`] for the way to the last component, except that a way through
    /// something that is not a directory is an absence.
    ///
    /// # Cancellation
    ///
    /// Asks `interrupt` before and after looking and fails with `FS_ABORTED` (F7).
    pub fn lstat(&self, path: &str, interrupt: Interrupt<'_>) -> Result<Option<Metadata>, FsError> {
        self.check_text(path)?;
        let path = Path::new(path);
        let display = self.spelling(path);
        if interrupt() {
            return Err(FsError::aborted(Action::Inspect, &display));
        }
        // A path that ends in `..` or is the root itself has no last component to leave alone.
        let (way, name) = match (path.parent(), path.file_name()) {
            (Some(way), Some(name)) if !self.is_root(path) => (way, Some(name)),
            _ => (path, None),
        };
        match self.walk(way) {
            Ok((index, Arrival { mut relative, .. })) => {
                relative.extend(name);
                self.inspect(index, &relative, &display, interrupt)
            }
            Err(Refusal::ThroughFile | Refusal::MissingParent) => Ok(None),
            Err(refusal) => Err(self.refused(path, refusal)),
        }
    }

    /// Opens a regular file for reading (F10).
    ///
    /// # Errors
    ///
    /// `FS_NOT_FOUND` if nothing is there or a link has taken the place of any part of the path
    /// since it was resolved; `FS_NOT_REGULAR_FILE` for directories, pipes, sockets and devices,
    /// none of which is waited for; `FS_PERMISSION_DENIED` and `FS_IO_ERROR` from the operating
    /// system.
    ///
    /// # Cancellation
    ///
    /// Asks `interrupt` before and after opening and fails with `FS_ABORTED` (F7).
    pub fn open_file(
        &self,
        target: &Target,
        interrupt: Interrupt<'_>,
    ) -> Result<OpenedFile, FsError> {
        let display = target.display();
        let failed = |errno| FsError::from_errno(Action::Read, display, errno);
        if interrupt() {
            return Err(FsError::aborted(Action::Read, display));
        }
        let root = self.root_of(target)?;
        let opened = match root
            .open_parent(&target.relative, self.shortcut)
            .map_err(failed)?
        {
            Some((parent, name)) => root::open_regular(parent.as_fd(), name).map_err(failed)?,
            None => Err(FileType::Directory),
        };
        if interrupt() {
            return Err(FsError::aborted(Action::Read, display));
        }
        match opened {
            Ok((handle, metadata)) => Ok(OpenedFile::new(handle, metadata, display.to_owned())),
            Err(FileType::Symlink) => Err(FsError::not_found(Action::Read, display)),
            Err(_) => {
                let code = FsErrorCode::NotRegularFile;
                Err(FsError::cannot(
                    code,
                    Action::Read,
                    display,
                    "not a regular file",
                ))
            }
        }
    }

    /// Opens the directory that holds, or is to hold, a target.
    ///
    /// # Errors
    ///
    /// `FS_NOT_FOUND` if that directory does not exist or a link has taken its place;
    /// `FS_SANDBOX_DENIED` for a root itself, which lies in no directory of the workspace;
    /// `FS_PERMISSION_DENIED` and `FS_IO_ERROR` from the operating system.
    pub fn open_parent(&self, target: &Target) -> Result<Parent, FsError> {
        let opened = self
            .root_of(target)?
            .open_parent(&target.relative, self.shortcut);
        match opened {
            Ok(Some((directory, name))) => Ok(Parent {
                directory,
                name: name.to_owned(),
            }),
            Ok(None) => Err(self.outside(target.display())),
            Err(errno) => Err(FsError::from_errno(
                Action::Resolve,
                target.display(),
                errno,
            )),
        }
    }

    /// Lists one level of a directory in byte order of the names, opening no file (F15).
    ///
    /// # Errors
    ///
    /// `FS_NOT_FOUND`, `FS_NOT_DIRECTORY`, and `FS_PERMISSION_DENIED` or `FS_IO_ERROR` if the
    /// directory or any entry in it cannot be looked at. A link that leads nowhere, or out of the
    /// root, is listed as [`FileType::Other`].
    ///
    /// # Cancellation
    ///
    /// Asks `interrupt` before every entry and fails with `FS_ABORTED`.
    pub fn list_dir(
        &self,
        target: &Target,
        interrupt: Interrupt<'_>,
    ) -> Result<Vec<DirectoryEntry>, FsError> {
        listing::list(self.root_of(target)?, target, self.shortcut, interrupt)
    }

    fn check_text(&self, path: &str) -> Result<(), FsError> {
        let problem = if path.trim().is_empty() {
            "file_path must be a non-empty string"
        } else if path.contains('\0') {
            "file_path must not contain a NUL character"
        } else {
            return Ok(());
        };
        Err(FsError::new(FsErrorCode::NotFound, problem))
    }

    /// Walks `path` in the first root that it does not lead out of.
    fn walk(&self, path: &Path) -> Result<(usize, Arrival), Refusal> {
        if path.as_os_str().len() >= path::MAX_PATH_BYTES {
            return Err(Refusal::Failed(Errno::NAMETOOLONG));
        }
        let candidates = if path.is_absolute() {
            self.roots.len()
        } else {
            1
        };
        for (index, root) in self.roots.iter().take(candidates).enumerate() {
            match walk::walk(root, path, self.shortcut) {
                Ok(arrival) => return Ok((index, arrival)),
                Err(Refusal::Outside) => {}
                Err(refusal) => return Err(refusal),
            }
        }
        Err(Refusal::Outside)
    }

    fn target(&self, index: usize, path: &Path, relative: PathBuf) -> Target {
        let key = self.roots[index].key(&relative);
        // A `..` behind a link does not mean what it looks like, so such paths are shown resolved.
        let display = if path::has_parent_step(path) {
            key.to_string_lossy().into_owned()
        } else {
            self.spelling(path)
        };
        Target {
            root: index,
            relative,
            key,
            display,
        }
    }

    /// The absolute path as spelled (F2, F63).
    fn spelling(&self, path: &Path) -> String {
        let root = &self.roots[0];
        let resolved = path::has_parent_step(path) || path::has_parent_step(root.spelled());
        let base = if resolved {
            root.canonical()
        } else {
            root.spelled()
        };
        let spelled = path::normalized(&base.join(path));
        spelled.to_string_lossy().into_owned()
    }

    fn is_root(&self, path: &Path) -> bool {
        let path = path::normalized(&self.roots[0].canonical().join(path));
        self.roots
            .iter()
            .any(|root| path == root.canonical() || path == root.spelled())
    }

    fn inspect(
        &self,
        root: usize,
        relative: &Path,
        display: &str,
        interrupt: Interrupt<'_>,
    ) -> Result<Option<Metadata>, FsError> {
        if interrupt() {
            return Err(FsError::aborted(Action::Inspect, display));
        }
        let root = self.roots.get(root).ok_or_else(|| self.outside(display))?;
        let found = root.inspect(relative, self.shortcut);
        if interrupt() {
            return Err(FsError::aborted(Action::Inspect, display));
        }
        found.map_err(|errno| FsError::from_errno(Action::Inspect, display, errno))
    }

    /// A target of another workspace may name a root that this one does not have.
    fn root_of(&self, target: &Target) -> Result<&Root, FsError> {
        match self.roots.get(target.root) {
            Some(root) => Ok(root),
            None => Err(self.outside(target.display())),
        }
    }

    fn outside(&self, display: &str) -> FsError {
        let root = self.root().display();
        FsError::new(
            FsErrorCode::SandboxDenied,
            format!("cannot access \"{display}\": outside the workspace \"{root}\""),
        )
    }

    fn refused(&self, path: &Path, refusal: Refusal) -> FsError {
        let display = self.spelling(path);
        let absent = |what| {
            // Shortened to where `..` would lead, a path would name a file that may well exist.
            let display = if path::has_parent_step(path) {
                self.root().join(path).to_string_lossy().into_owned()
            } else {
                display.clone()
            };
            FsError::cannot(FsErrorCode::NotFound, Action::Resolve, &display, what)
        };
        match refusal {
            Refusal::Outside => self.outside(&display),
            Refusal::ThroughFile => absent("a parent segment is not a directory"),
            Refusal::MissingParent => absent("a parent segment does not exist"),
            Refusal::Failed(Errno::LOOP) => FsError::cannot(
                FsErrorCode::IoError,
                Action::Resolve,
                &display,
                "too many symbolic links",
            )
            .with_source(Errno::LOOP.into()),
            Refusal::Failed(errno) => FsError::from_errno(Action::Resolve, &display, errno),
        }
    }
}
