//! A resolved path.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A path that was resolved inside a workspace (F1, F2).
///
/// A target is plain data: it holds no handle and stays valid as a name when the file behind it
/// changes, disappears or has yet to be created. It belongs to the workspace that resolved it.
#[derive(Debug, Clone)]
pub struct Target {
    pub(crate) root: usize,
    pub(crate) relative: PathBuf,
    pub(crate) key: PathBuf,
    pub(crate) display: String,
}

impl Target {
    /// The fully resolved absolute path. Two spellings of one file share it (F2), and a file that
    /// does not exist yet has the same key after its creation (F3).
    #[must_use]
    pub fn key(&self) -> &Path {
        &self.key
    }

    /// The absolute path as it was spelled, for people and models. A path with `..` in it is shown
    /// resolved.
    #[must_use]
    pub fn display(&self) -> &str {
        &self.display
    }

    /// The resolved path relative to its root, empty for the root itself. This is what permission
    /// rules match.
    #[must_use]
    pub fn relative(&self) -> &Path {
        &self.relative
    }

    /// Whether the target lies in the workspace proper and not in an additional read-only root.
    #[must_use]
    pub const fn is_in_workspace(&self) -> bool {
        self.root == 0
    }

    /// The path to hand to another process (F9).
    #[must_use]
    pub fn process_path(&self) -> &Path {
        &self.key
    }

    /// The `file:` URI of the resolved path (F9, RFC 8089).
    #[must_use]
    pub fn file_uri(&self) -> String {
        const PLAIN: &[u8] = b"-._~/!$&'()*+,;=:@";
        let mut uri = String::from("file://");
        for &byte in self.key.as_os_str().as_bytes() {
            if byte.is_ascii_alphanumeric() || PLAIN.contains(&byte) {
                uri.push(char::from(byte));
            } else {
                uri.push('%');
                for digit in [byte >> 4, byte & 0xf] {
                    uri.push(char::from(b"0123456789ABCDEF"[usize::from(digit)]));
                }
            }
        }
        uri
    }

    /// Whether `other` is this target or lies below it, compared by path components (F9).
    #[must_use]
    pub fn contains(&self, other: &Self) -> bool {
        other.key.starts_with(&self.key)
    }
}
