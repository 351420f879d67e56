//! The files below a directory, one after the other.
//!
//! Every directory is listed through the workspace and every path that comes out is a [`Target`], so
//! a link can neither be followed nor put in the way: what was listed as a directory and has become
//! a link since does not exist for the workspace. Names are visited in byte order, a directory where
//! its name stands, so the order of files is a function of the tree alone.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dsh_workspace::{FileType, Interrupt, Target, Workspace};
use ignore::overrides::Override;

use super::error::SearchError;
use super::level::{self, Entry};
use super::place::Place;
use super::rules::{self, Rules, Sources, Verdict};
use super::skipped::Skipped;

/// Directories of version control (F111).
const VERSION_CONTROL: [&str; 6] = [".git", ".svn", ".hg", ".bzr", ".jj", ".sl"];

/// The longest path that can be opened by name, in bytes. Deeper directories are left out, which
/// also bounds the depth of a walk.
const MAX_PATH_BYTES: usize = 4096;

/// Which files of a tree count.
#[derive(Debug)]
pub(crate) enum Selection {
    /// Those that the glob matches, hidden and ignored ones included, version control excluded
    /// (F111).
    All(Override),
    /// Those that are neither hidden nor ignored, and that the glob matches if there is one (F120).
    Visible(Override),
}

/// A file of a walk.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) target: Target,
    /// Its path as results show it.
    pub(crate) shown: PathBuf,
}

/// A walk that is under way.
pub(crate) struct Walk<'a> {
    workspace: &'a Workspace,
    selection: &'a Selection,
    interrupt: Interrupt<'a>,
    levels: Vec<Level>,
    skipped: Skipped,
}

/// A directory whose entries are being visited.
struct Level {
    entries: std::vec::IntoIter<Entry>,
    /// Its path below its root.
    relative: PathBuf,
    shown: PathBuf,
    rules: Option<Arc<Rules>>,
}

impl<'a> Walk<'a> {
    /// Starts at a directory. The start itself is not judged: whoever names it wants it (F120),
    /// unless it belongs to version control (F111).
    pub(crate) fn new(
        workspace: &'a Workspace,
        place: &Place,
        selection: &'a Selection,
        interrupt: Interrupt<'a>,
    ) -> Result<Self, SearchError> {
        let mut walk = Self {
            workspace,
            selection,
            interrupt,
            levels: Vec::new(),
            skipped: Skipped::default(),
        };
        let rules = match selection {
            Selection::All(_) if has_version_control(place.target.relative()) => return Ok(walk),
            Selection::All(_) => None,
            Selection::Visible(_) => {
                Rules::above(workspace, &place.target, &mut walk.skipped, interrupt)?
            }
        };
        let entries = level::list(workspace, &place.target, &mut walk.skipped, interrupt)
            .map_err(SearchError::at_start)?;
        let (relative, shown) = (place.target.relative().to_owned(), place.shown.clone());
        walk.enter(entries, relative, shown, rules)?;
        Ok(walk)
    }

    /// The next file that counts.
    ///
    /// What cannot be listed is left out and noted.
    ///
    /// # Cancellation
    ///
    /// Asks the interrupt before every entry.
    pub(crate) fn next(&mut self) -> Result<Option<Found>, SearchError> {
        while let Some(level) = self.levels.last_mut() {
            if (self.interrupt)() {
                return Err(SearchError::aborted());
            }
            let Some(entry) = level.entries.next() else {
                self.levels.pop();
                continue;
            };
            let kind = entry.kind;
            let is_directory = match kind {
                FileType::File => false,
                FileType::Directory => true,
                FileType::Symlink | FileType::Other => continue,
            };
            // An entry is listed with what its link leads to. Links are not followed, so that no
            // file is seen twice and no walk is endless.
            let target = &entry.target;
            let is_itself = target.relative().file_name() == Some(&entry.name)
                && target.relative().parent() == Some(&level.relative);
            if !is_itself {
                continue;
            }
            let shown = level.shown.join(&entry.name);
            let rules = level.rules.as_deref();
            if !counts(self.selection, &shown, &entry, is_directory, rules) {
                continue;
            }
            let target = target.clone();
            if !is_directory {
                return Ok(Some(Found { target, shown }));
            }
            let rules = level.rules.clone();
            self.descend(target, shown, rules)?;
        }
        Ok(None)
    }

    /// What was left out.
    pub(crate) fn skipped(&mut self) -> &mut Skipped {
        &mut self.skipped
    }

    fn descend(
        &mut self,
        target: Target,
        shown: PathBuf,
        rules: Option<Arc<Rules>>,
    ) -> Result<(), SearchError> {
        if target.key().as_os_str().len() >= MAX_PATH_BYTES {
            self.skipped.add(|| "a path is too long".to_owned());
            return Ok(());
        }
        match level::list(self.workspace, &target, &mut self.skipped, self.interrupt) {
            Ok(entries) => self.enter(entries, target.relative().to_owned(), shown, rules),
            Err(error) if error.is_aborted() => Err(SearchError::aborted()),
            // Gone, or something else by now.
            Err(error) if error.is_not_found() => Ok(()),
            Err(error) => {
                self.skipped.add(|| error.to_string());
                Ok(())
            }
        }
    }

    fn enter(
        &mut self,
        entries: Vec<Entry>,
        relative: PathBuf,
        shown: PathBuf,
        above: Option<Arc<Rules>>,
    ) -> Result<(), SearchError> {
        let rules = match self.selection {
            Selection::All(_) => None,
            Selection::Visible(_) => {
                let sources = self.sources(&entries)?;
                let (workspace, interrupt) = (self.workspace, self.interrupt);
                Rules::below(
                    above,
                    &relative,
                    &sources,
                    workspace,
                    &mut self.skipped,
                    interrupt,
                )?
            }
        };
        self.levels.push(Level {
            entries: entries.into_iter(),
            relative,
            shown,
            rules,
        });
        Ok(())
    }

    /// The ignore files among the entries of a directory.
    fn sources(&self, entries: &[Entry]) -> Result<Sources, SearchError> {
        let entry = |name: &str| {
            let found =
                entries.binary_search_by(|entry| entry.name.as_os_str().cmp(OsStr::new(name)));
            found.ok().and_then(|index| entries.get(index))
        };
        let file = |name: &str| {
            let found = entry(name).filter(|e| e.kind == FileType::File);
            found.map(|entry| entry.target.clone())
        };
        let git = entry(".git").filter(|e| e.kind != FileType::Other);
        let exclude = match git {
            Some(git) if git.kind == FileType::Directory => {
                rules::excludes(self.workspace, &git.target, self.interrupt)?
            }
            _ => None,
        };
        Ok(Sources {
            custom: file(".rgignore"),
            ignore: file(".ignore"),
            git: file(".gitignore"),
            exclude,
            is_repository: git.is_some() || entry(".jj").is_some(),
        })
    }
}

/// Whether an entry of a directory is entered or found.
fn counts(
    selection: &Selection,
    shown: &Path,
    entry: &Entry,
    is_directory: bool,
    rules: Option<&Rules>,
) -> bool {
    let only = match selection {
        Selection::All(_) if is_version_control(&entry.name) => return false,
        Selection::All(only) | Selection::Visible(only) => only,
    };
    match Verdict::from(only.matched(shown, is_directory)) {
        Verdict::Ignored => return false,
        Verdict::Kept => return true,
        Verdict::None => {}
    }
    if matches!(selection, Selection::All(_)) {
        return true;
    }
    let relative = entry.target.relative();
    match rules.map_or(Verdict::None, |rules| rules.verdict(relative, is_directory)) {
        Verdict::Ignored => false,
        Verdict::Kept => true,
        Verdict::None => !&entry.name.as_encoded_bytes().starts_with(b"."),
    }
}

fn is_version_control(name: &OsStr) -> bool {
    VERSION_CONTROL.iter().any(|known| name == *known)
}

fn has_version_control(path: &Path) -> bool {
    path.iter().any(is_version_control)
}
