//! An opened regular file.

use std::os::fd::OwnedFd;

use rustix::io::Errno;

use crate::error::{Action, FsError, FsErrorCode};
use crate::interrupt::Interrupt;
use crate::metadata::Metadata;

/// A regular file opened for reading through a workspace.
///
/// The handle stays with the file that was opened, whatever happens to its name.
#[derive(Debug)]
pub struct OpenedFile {
    handle: OwnedFd,
    metadata: Metadata,
    display: String,
}

impl OpenedFile {
    pub(crate) fn new(handle: OwnedFd, metadata: Metadata, display: String) -> Self {
        Self {
            handle,
            metadata,
            display,
        }
    }

    /// The metadata of the opened file, taken from its handle.
    #[must_use]
    pub const fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The display path of the target that was opened.
    #[must_use]
    pub fn display(&self) -> &str {
        &self.display
    }

    /// Reads up to `buffer.len()` bytes where the last read stopped; 0 at the end of the file.
    ///
    /// # Errors
    ///
    /// `FS_IO_ERROR` if the operating system fails.
    ///
    /// # Cancellation
    ///
    /// Asks `interrupt` before reading and fails with `FS_ABORTED`.
    pub fn read_chunk(
        &mut self,
        buffer: &mut [u8],
        interrupt: Interrupt<'_>,
    ) -> Result<usize, FsError> {
        loop {
            if interrupt() {
                return Err(FsError::aborted(Action::Read, &self.display));
            }
            match rustix::io::read(&self.handle, &mut *buffer) {
                Ok(count) => return Ok(count),
                Err(Errno::INTR) => {}
                Err(errno) => {
                    return Err(FsError::from_errno(Action::Read, &self.display, errno));
                }
            }
        }
    }

    /// Reads the rest of the file, at most `max` bytes of it (F14).
    ///
    /// # Errors
    ///
    /// `FS_TOO_LARGE` if the file is larger: at once if its size says so, and after one byte too
    /// many if it grows while it is read. `FS_IO_ERROR` if the operating system fails.
    ///
    /// # Cancellation
    ///
    /// Asks `interrupt` before every 64 KiB and fails with `FS_ABORTED`.
    pub fn read_bytes(&mut self, max: u64, interrupt: Interrupt<'_>) -> Result<Vec<u8>, FsError> {
        const STEP: usize = 64 * 1024;
        let size = self.metadata.size();
        if size > max {
            return Err(self.too_large(max));
        }
        let mut bytes = Vec::new();
        loop {
            let filled = bytes.len();
            // One byte more than allowed is enough to know that the file is too large.
            let room = max.saturating_add(1).saturating_sub(filled as u64);
            let step = usize::try_from(room).map_or(STEP, |room| room.min(STEP));
            bytes.resize(filled + step, 0);
            let count = self.read_chunk(&mut bytes[filled..], interrupt)?;
            bytes.truncate(filled + count);
            if bytes.len() as u64 > max {
                return Err(self.too_large(max));
            }
            if count == 0 {
                return Ok(bytes);
            }
        }
    }

    fn too_large(&self, max: u64) -> FsError {
        FsError::cannot(
            FsErrorCode::TooLarge,
            Action::Read,
            &self.display,
            format_args!("larger than {max} bytes"),
        )
    }
}
