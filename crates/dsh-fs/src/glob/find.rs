//! The paths that a pattern matches (F111, F112).

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use dsh_workspace::{FileType, Interrupt, Parent, Target, Workspace};
use rustix::fs::{AtFlags, statat};
use serde::{Deserialize, Serialize};

use super::request::GlobRequest;
use crate::search::{Place, SearchError, SearchErrorCode, Selection, Skipped, Walk, only};

/// The canonical value (F112).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GlobOutput {
    /// Where was searched: `.`, or the given path.
    pub root: String,
    /// All paths, the oldest file first.
    pub paths: Vec<String>,
    /// What could not be looked at, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<Skipped>,
}

/// Finds the files below a directory whose path matches a glob (F111).
///
/// A glob without `/` is matched against the file's name, at any depth; one with `/` against the
/// path from the workspace's root. Hidden and ignored files count, directories do not, and neither
/// does anything inside a directory of version control. Links are not followed. Paths are sorted by
/// modification time, the oldest first, and by bytes where times are equal.
///
/// # Errors
///
/// `SEARCH_INVALID_PATTERN` for what is no glob; `SEARCH_FAILED` if the path does not exist or is
/// not a directory (D22); `FS_SANDBOX_DENIED` if it lies outside; `SEARCH_RAW_OUTPUT_OVERFLOW` for
/// more than `max_bytes` bytes of paths.
///
/// # Cancellation
///
/// Asks `interrupt` before every entry and fails with `SEARCH_ABORTED`.
pub fn find_paths(
    workspace: &Workspace,
    request: &GlobRequest,
    max_bytes: u64,
    interrupt: Interrupt<'_>,
) -> Result<GlobOutput, SearchError> {
    let selection = Selection::All(only("pattern", request.pattern())?);
    let place = Place::find(workspace, request.path(), interrupt)?;
    if place.file_type != FileType::Directory {
        let text = format!(
            "cannot list \"{}\": not a directory; give `glob` a directory as path",
            place.target.display()
        );
        return Err(SearchError::new(SearchErrorCode::Failed, text));
    }
    let mut walk = Walk::new(workspace, &place, &selection, interrupt)?;
    let mut clock = Clock::default();
    let mut found: Vec<(Moment, PathBuf)> = Vec::new();
    let mut bytes = 0_u64;
    while let Some(file) = walk.next()? {
        // Gone since it was listed, if it has no time.
        let Some(moment) = clock.modified(workspace, &file.target) else {
            continue;
        };
        bytes += file.shown.as_os_str().len() as u64 + 1;
        if bytes > max_bytes {
            return Err(SearchError::overflow(max_bytes));
        }
        found.push((moment, file.shown));
    }
    // By components and not by bytes of the whole, as the walk goes.
    found.sort();
    Ok(GlobOutput {
        root: place.name(),
        paths: found
            .into_iter()
            .map(|(_, path)| path.to_string_lossy().into_owned())
            .collect(),
        skipped: std::mem::take(walk.skipped()).into_option(),
    })
}

/// Seconds and nanoseconds.
type Moment = (i64, i64);

/// Asks for modification times. Files come directory by directory, so the last one stays open.
#[derive(Debug, Default)]
struct Clock {
    last: Option<(PathBuf, Parent)>,
}

impl Clock {
    fn modified(&mut self, workspace: &Workspace, file: &Target) -> Option<Moment> {
        let directory = file.relative().parent()?;
        if self.last.as_ref().is_none_or(|(last, _)| last != directory) {
            let parent = workspace.open_parent(file).ok()?;
            self.last = Some((directory.to_owned(), parent));
        }
        let (_, parent) = self.last.as_ref()?;
        modified_at(parent, file.relative().file_name()?)
    }
}

// The types of the fields differ between platforms; on some of them the casts do nothing.
#[allow(
    clippy::unnecessary_cast,
    clippy::cast_possible_wrap,
    trivial_numeric_casts
)]
fn modified_at(parent: &Parent, name: &OsStr) -> Option<Moment> {
    let stat = statat(
        &parent.directory,
        Path::new(name),
        AtFlags::SYMLINK_NOFOLLOW,
    )
    .ok()?;
    Some((stat.st_mtime as i64, stat.st_mtime_nsec as i64))
}
