//! The lines that a pattern matches, in a file or a tree (F120, F121).

use std::sync::Arc;

use dsh_workspace::{FileType, FsError, FsErrorCode, Interrupt, Target, Workspace};
use ignore::overrides::Override;
use serde::{Deserialize, Serialize};

use super::lines::{LineFinder, Stop};
use super::request::GrepRequest;
use crate::search::{Found, Place, SearchError, Selection, Skipped, Walk, only};

/// What a match costs besides its path and its line, in bytes: the names and numbers around them.
const MATCH_BYTES: u64 = 40;

/// The canonical value (F121).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrepOutput {
    /// All matching lines, file by file.
    pub matches: Vec<LineMatch>,
    /// What could not be looked at, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<Skipped>,
}

/// One matching line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LineMatch {
    /// The file.
    pub path: Arc<str>,
    /// The number of the line, from 1.
    pub line_number: u64,
    /// The whole line without its end.
    pub line: String,
}

/// Finds the lines of a file, or of the files below a directory, that match a regular expression
/// (F120).
///
/// Below a directory hidden and ignored files do not count unless `include` matches them, hidden and
/// ignored directories never; links are not followed. Files come in byte order of their paths. A
/// file that is named directly is searched whatever it is called. What cannot be read is left out
/// and noted, unless it was named directly.
///
/// # Errors
///
/// `SEARCH_INVALID_PATTERN` for what is no regular expression or no glob; `SEARCH_FAILED` if the path
/// does not exist or is neither a file nor a directory; `FS_SANDBOX_DENIED` if it lies outside;
/// `SEARCH_RAW_OUTPUT_OVERFLOW` for more than `max_bytes` bytes of matches.
///
/// # Cancellation
///
/// Asks `interrupt` before every entry of a directory, every 64 KiB of a file and every match, and
/// fails with `SEARCH_ABORTED`.
pub fn find_lines(
    workspace: &Workspace,
    request: &GrepRequest,
    max_bytes: u64,
    interrupt: Interrupt<'_>,
) -> Result<GrepOutput, SearchError> {
    let finder = LineFinder::new(request.pattern())?;
    let include = match request.include() {
        Some(include) => only("include", include)?,
        None => Override::empty(),
    };
    let place = Place::find(workspace, request.path(), interrupt)?;
    let mut search = Search {
        workspace,
        finder,
        interrupt,
        max_bytes,
        bytes: 0,
        output: GrepOutput::default(),
    };
    match place.file_type {
        FileType::Directory => {
            let selection = Selection::Visible(include);
            let mut walk = Walk::new(workspace, &place, &selection, interrupt)?;
            while let Some(Found { target, shown }) = walk.next()? {
                let searched = search.file(&target, &shown.to_string_lossy());
                if let Some(reason) = searched?.filter(|reason| !reason.is_not_found()) {
                    walk.skipped().add(|| reason.to_string());
                }
            }
            search.output.skipped = std::mem::take(walk.skipped()).into_option();
        }
        FileType::File | FileType::Symlink | FileType::Other => {
            if let Some(reason) = search.file(&place.target, &place.name())? {
                return Err(SearchError::at_start(reason));
            }
        }
    }
    Ok(search.output)
}

struct Search<'a> {
    workspace: &'a Workspace,
    finder: LineFinder,
    interrupt: Interrupt<'a>,
    max_bytes: u64,
    bytes: u64,
    output: GrepOutput,
}

impl Search<'_> {
    /// Searches one file; returns why it could not be searched to its end.
    fn file(&mut self, target: &Target, shown: &str) -> Result<Option<FsError>, SearchError> {
        let file = match self.workspace.open_file(target, self.interrupt) {
            Ok(file) => file,
            Err(error) if error.is_aborted() => return Err(SearchError::aborted()),
            Err(error) => return Ok(Some(error)),
        };
        let path: Arc<str> = Arc::from(shown);
        let Self {
            bytes,
            max_bytes,
            output,
            ..
        } = self;
        let mut keep = |line_number, line: String| {
            *bytes += path.len() as u64 + line.len() as u64 + MATCH_BYTES;
            let fits = *bytes <= *max_bytes;
            if fits {
                output.matches.push(LineMatch {
                    path: path.clone(),
                    line_number,
                    line,
                });
            }
            fits
        };
        match self.finder.search(file, self.interrupt, &mut keep) {
            Ok(()) => Ok(None),
            Err(Stop::Enough) => Err(SearchError::overflow(self.max_bytes)),
            Err(Stop::Aborted) => Err(SearchError::aborted()),
            Err(Stop::Unreadable(error)) => Ok(Some(error)),
            Err(Stop::LongLine) => {
                let text = format!("cannot search \"{}\": a line is too long", target.display());
                Ok(Some(FsError::new(FsErrorCode::TooLarge, text)))
            }
        }
    }
}
