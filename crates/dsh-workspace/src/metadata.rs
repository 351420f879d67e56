//! What is known about a path without reading it.

use std::fmt;

use rustix::fs::Stat;

/// The kind of thing that a path names (F5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileType {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link; only where links are not followed.
    Symlink,
    /// A pipe, a socket, a device, or a link that leads nowhere.
    Other,
}

/// An opaque token that changes whenever the file may have changed (F6).
///
/// It is made of device, inode, size and the nanosecond modification and change times. The change
/// time cannot be set by a program, so a rewrite of the same size is noticed even if the
/// modification time was put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Version {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            device,
            inode,
            size,
            modified,
            changed,
        } = self;
        write!(
            f,
            "{device:x}-{inode:x}-{size:x}-{:x}.{:x}-{:x}.{:x}",
            modified.0, modified.1, changed.0, changed.1
        )
    }
}

/// The metadata of one path at one moment (F5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metadata {
    version: Version,
    file_type: FileType,
}

impl Metadata {
    // The field types differ between platforms; on some of them the casts do nothing. Sizes and
    // nanoseconds are never negative, and device numbers only need to stay distinct.
    #[allow(
        clippy::unnecessary_cast,
        clippy::cast_sign_loss,
        clippy::cast_possible_wrap,
        trivial_numeric_casts
    )]
    pub(crate) fn from_stat(stat: &Stat) -> Self {
        let file_type = match rustix::fs::FileType::from_raw_mode(stat.st_mode) {
            rustix::fs::FileType::RegularFile => FileType::File,
            rustix::fs::FileType::Directory => FileType::Directory,
            rustix::fs::FileType::Symlink => FileType::Symlink,
            _ => FileType::Other,
        };
        let version = Version {
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
            size: stat.st_size as u64,
            modified: (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            changed: (stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        };
        Self { version, file_type }
    }

    /// The same thing seen as something that cannot be used, such as a link that leads nowhere.
    pub(crate) fn as_other(self) -> Self {
        Self {
            file_type: FileType::Other,
            ..self
        }
    }

    /// The version token.
    #[must_use]
    pub const fn version(&self) -> Version {
        self.version
    }

    /// The kind of thing.
    #[must_use]
    pub const fn file_type(&self) -> FileType {
        self.file_type
    }

    /// The size in bytes, as far as the file system says; special files may say 0.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.version.size
    }
}
