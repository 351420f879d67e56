//! The one error type of this crate.

use std::fmt;
use std::io;

use rustix::io::Errno;

/// The stable code of an [`FsError`] (F8).
///
/// The set is closed by the specification; codes for writing and editing are part of it although
/// this crate does not write yet, so that every layer speaks of one type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FsErrorCode {
    /// No such file, or no such line in it.
    NotFound,
    /// A directory was needed and something else is there.
    NotDirectory,
    /// The bytes are not UTF-8 text.
    NotText,
    /// A regular file was needed and something else is there.
    NotRegularFile,
    /// More bytes than the caller allowed.
    TooLarge,
    /// The operating system refused access.
    PermissionDenied,
    /// The workspace or its mode refused access.
    SandboxDenied,
    /// Any other failure of the operating system.
    IoError,
    /// The file changed since it was last seen.
    StaleVersion,
    /// The file has to be read first.
    NotObserved,
    /// The text to replace occurs more than once.
    AmbiguousEdit,
    /// The text to replace does not occur.
    EditNotFound,
    /// The caller gave up.
    Aborted,
}

impl FsErrorCode {
    /// The code as it appears in outcomes and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "FS_NOT_FOUND",
            Self::NotDirectory => "FS_NOT_DIRECTORY",
            Self::NotText => "FS_NOT_TEXT",
            Self::NotRegularFile => "FS_NOT_REGULAR_FILE",
            Self::TooLarge => "FS_TOO_LARGE",
            Self::PermissionDenied => "FS_PERMISSION_DENIED",
            Self::SandboxDenied => "FS_SANDBOX_DENIED",
            Self::IoError => "FS_IO_ERROR",
            Self::StaleVersion => "FS_STALE_VERSION",
            Self::NotObserved => "FS_NOT_OBSERVED",
            Self::AmbiguousEdit => "FS_AMBIGUOUS_EDIT",
            Self::EditNotFound => "FS_EDIT_NOT_FOUND",
            Self::Aborted => "FS_ABORTED",
        }
    }
}

impl fmt::Display for FsErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A file operation that failed.
///
/// The display text is what a model reads. The failure of the operating system behind it, if there
/// is one, is the error's `source()`.
#[derive(Debug)]
pub struct FsError {
    code: FsErrorCode,
    message: String,
    source: Option<io::Error>,
}

impl FsError {
    /// The name under which outcomes report errors of this type (F8).
    pub const NAME: &'static str = "FsError";

    /// Makes an error from its code and its model-facing text.
    #[must_use]
    pub fn new(code: FsErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            source: None,
        }
    }

    /// Adds the failure of the operating system that caused this one.
    #[must_use]
    pub fn with_source(mut self, source: io::Error) -> Self {
        self.source = Some(source);
        self
    }

    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> FsErrorCode {
        self.code
    }

    /// The name under which outcomes report errors of this type, always [`FsError::NAME`].
    #[must_use]
    pub const fn name(&self) -> &'static str {
        Self::NAME
    }

    /// Whether the file, or the line asked for, does not exist.
    #[must_use]
    pub const fn is_not_found(&self) -> bool {
        matches!(self.code, FsErrorCode::NotFound)
    }

    /// Whether the caller's interrupt ended the work.
    #[must_use]
    pub const fn is_aborted(&self) -> bool {
        matches!(self.code, FsErrorCode::Aborted)
    }

    /// `cannot <action> "<display>": <what>`.
    pub(crate) fn cannot(
        code: FsErrorCode,
        action: Action,
        display: &str,
        what: impl fmt::Display,
    ) -> Self {
        Self::new(
            code,
            format!("cannot {} \"{display}\": {what}", action.verb()),
        )
    }

    /// The interrupt answered yes (F7).
    pub(crate) fn aborted(action: Action, display: &str) -> Self {
        Self::cannot(FsErrorCode::Aborted, action, display, "aborted")
    }

    /// Nothing is there.
    pub(crate) fn not_found(action: Action, display: &str) -> Self {
        Self::cannot(FsErrorCode::NotFound, action, display, "not found")
    }

    /// What an error number means for an operation on one path.
    ///
    /// A link on the way of a target that had none when it was resolved counts as absence: the path
    /// that was judged does not exist any more.
    pub(crate) fn from_errno(action: Action, display: &str, errno: Errno) -> Self {
        let error = match errno {
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::MLINK => {
                Self::not_found(action, display)
            }
            Errno::ACCESS | Errno::PERM => Self::cannot(
                FsErrorCode::PermissionDenied,
                action,
                display,
                "permission denied",
            ),
            other => Self::cannot(
                FsErrorCode::IoError,
                action,
                display,
                io::Error::from(other),
            ),
        };
        error.with_source(errno.into())
    }
}

impl fmt::Display for FsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for FsError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|error| error as _)
    }
}

/// What was attempted, for the start of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Open,
    Resolve,
    Inspect,
    Read,
    List,
}

impl Action {
    const fn verb(self) -> &'static str {
        match self {
            Self::Open => "open workspace",
            Self::Resolve => "resolve",
            Self::Inspect => "inspect",
            Self::Read => "read",
            Self::List => "list",
        }
    }
}
