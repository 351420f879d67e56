//! Ignore files, with the meaning and precedence that `ripgrep` gives them (F120).
//!
//! `.rgignore` counts before `.ignore`, that before `.gitignore`, that before `.git/info/exclude`; a
//! deeper directory counts before a higher one. The files of git count only inside a repository and
//! not beyond its top. Rules of directories above the start of a search count too, up to the root of
//! the workspace. What lies outside is not read, so neither directories above the workspace nor the
//! user's own excludes have a say.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dsh_workspace::{FileType, Interrupt, Target, Workspace};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::error::SearchError;
use super::skipped::Skipped;

/// Larger ignore files do not count; compiling them takes time that no signal can interrupt.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The rules that hold in one directory, and those of the directories above it.
#[derive(Debug)]
pub(crate) struct Rules {
    above: Option<Arc<Rules>>,
    /// The directory, relative to its root.
    directory: PathBuf,
    custom: Gitignore,
    ignore: Gitignore,
    git: Gitignore,
    exclude: Gitignore,
    /// Whether this directory is the top of a repository.
    is_repository: bool,
    /// Whether this directory or one above it is.
    in_repository: bool,
}

/// Where a directory's rules are, as far as it has any.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    pub(crate) custom: Option<Target>,
    pub(crate) ignore: Option<Target>,
    pub(crate) git: Option<Target>,
    pub(crate) exclude: Option<Target>,
    pub(crate) is_repository: bool,
}

impl Sources {
    fn is_empty(&self) -> bool {
        self.custom.is_none()
            && self.ignore.is_none()
            && self.git.is_none()
            && self.exclude.is_none()
            && !self.is_repository
    }

    /// Looks for the sources of a directory without listing it.
    fn probe(
        workspace: &Workspace,
        directory: &str,
        interrupt: Interrupt<'_>,
    ) -> Result<Self, SearchError> {
        let look_at = |name: &str| look(workspace, &format!("{directory}/{name}"), interrupt);
        let file = |name: &str| Ok(look_at(name)?.and_then(regular));
        let git_directory = look_at(".git")?;
        Ok(Self {
            custom: file(".rgignore")?,
            ignore: file(".ignore")?,
            git: file(".gitignore")?,
            exclude: match git_directory {
                Some((_, FileType::Directory)) => file(".git/info/exclude")?,
                _ => None,
            },
            is_repository: git_directory.is_some() || look_at(".jj")?.is_some(),
        })
    }
}

/// The excludes in a `.git` directory, if it has any.
pub(crate) fn excludes(
    workspace: &Workspace,
    git_directory: &Target,
    interrupt: Interrupt<'_>,
) -> Result<Option<Target>, SearchError> {
    let Some(path) = git_directory.key().to_str() else {
        return Ok(None);
    };
    let found = look(workspace, &format!("{path}/info/exclude"), interrupt)?;
    Ok(found.and_then(regular))
}

fn look(
    workspace: &Workspace,
    path: &str,
    interrupt: Interrupt<'_>,
) -> Result<Option<(Target, FileType)>, SearchError> {
    let looked = workspace.resolve(path).and_then(|target| {
        let found = workspace.stat(&target, interrupt)?;
        Ok(found.map(|found| (target, found.file_type())))
    });
    match looked {
        Ok(found) => Ok(found),
        Err(error) if error.is_aborted() => Err(SearchError::aborted()),
        // Not to be seen: as good as absent.
        Err(_) => Ok(None),
    }
}

fn regular((target, kind): (Target, FileType)) -> Option<Target> {
    (kind == FileType::File).then_some(target)
}

impl Rules {
    /// The rules that hold above `start`, a directory of the workspace.
    pub(crate) fn above(
        workspace: &Workspace,
        start: &Target,
        skipped: &mut Skipped,
        interrupt: Interrupt<'_>,
    ) -> Result<Option<Arc<Self>>, SearchError> {
        let mut rules = None;
        let mut above: Vec<&Path> = start.relative().ancestors().skip(1).collect();
        above.reverse();
        for relative in above {
            // The path of the root itself, then down again by names.
            let levels = start.relative().iter().count() - relative.iter().count();
            let Some(directory) = start.key().ancestors().nth(levels).and_then(Path::to_str) else {
                // Not a path that could be written in an argument; only a link leads there.
                continue;
            };
            let sources = Sources::probe(workspace, directory, interrupt)?;
            rules = Self::below(rules, relative, &sources, workspace, skipped, interrupt)?;
        }
        Ok(rules)
    }

    /// The rules that hold in `directory`, given those above it.
    pub(crate) fn below(
        above: Option<Arc<Self>>,
        directory: &Path,
        sources: &Sources,
        workspace: &Workspace,
        skipped: &mut Skipped,
        interrupt: Interrupt<'_>,
    ) -> Result<Option<Arc<Self>>, SearchError> {
        if sources.is_empty() {
            return Ok(above);
        }
        let mut read = |source: &Option<Target>| match source {
            Some(source) => compile(workspace, source, skipped, interrupt),
            None => Ok(Gitignore::empty()),
        };
        Ok(Some(Arc::new(Self {
            custom: read(&sources.custom)?,
            ignore: read(&sources.ignore)?,
            git: read(&sources.git)?,
            exclude: read(&sources.exclude)?,
            is_repository: sources.is_repository,
            in_repository: sources.is_repository
                || above.as_ref().is_some_and(|above| above.in_repository),
            directory: directory.to_owned(),
            above,
        })))
    }

    /// What the rules say of `path`, relative to the root.
    pub(crate) fn verdict(&self, path: &Path, is_directory: bool) -> Verdict {
        let mut found = [Verdict::None; 4];
        let mut beyond = false;
        let mut level = Some(self);
        while let Some(rules) = level {
            let below = path.strip_prefix(&rules.directory).unwrap_or(path);
            let mut ask = |index: usize, matcher: &Gitignore| {
                if found[index] == Verdict::None {
                    found[index] = Verdict::from(matcher.matched(below, is_directory));
                }
            };
            ask(0, &rules.custom);
            ask(1, &rules.ignore);
            if self.in_repository && !beyond {
                ask(2, &rules.git);
                ask(3, &rules.exclude);
            }
            beyond |= rules.is_repository;
            level = rules.above.as_deref();
        }
        found
            .into_iter()
            .find(|&verdict| verdict != Verdict::None)
            .unwrap_or(Verdict::None)
    }
}

/// What rules say of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing.
    None,
    /// It does not count.
    Ignored,
    /// It counts, even if it is hidden.
    Kept,
}

impl<T> From<Match<T>> for Verdict {
    fn from(found: Match<T>) -> Self {
        match found {
            Match::None => Self::None,
            Match::Ignore(_) => Self::Ignored,
            Match::Whitelist(_) => Self::Kept,
        }
    }
}

fn compile(
    workspace: &Workspace,
    source: &Target,
    skipped: &mut Skipped,
    interrupt: Interrupt<'_>,
) -> Result<Gitignore, SearchError> {
    let bytes = workspace
        .open_file(source, interrupt)
        .and_then(|mut file| file.read_bytes(MAX_FILE_BYTES, interrupt));
    let bytes = match bytes {
        Ok(bytes) => bytes,
        Err(error) if error.is_aborted() => return Err(SearchError::aborted()),
        Err(error) => {
            if !error.is_not_found() {
                skipped.add(|| error.to_string());
            }
            return Ok(Gitignore::empty());
        }
    };
    let text = String::from_utf8_lossy(&bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let mut builder = GitignoreBuilder::new(".");
    for line in text.lines() {
        // A line that is no glob counts for nothing, as in git.
        let _ = builder.add_line(None, line);
    }
    Ok(builder.build().unwrap_or_else(|_| Gitignore::empty()))
}
