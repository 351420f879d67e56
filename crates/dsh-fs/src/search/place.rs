//! Where a search starts, and how the paths that it finds are shown (F131).

use std::path::{Path, PathBuf};

use dsh_schema::{Document, ValueRef};
use dsh_tools::Access;
use dsh_workspace::{FileType, FsError, FsErrorCode, Interrupt, Target, Workspace};

use super::error::SearchError;

/// The start of a search: something that exists.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) target: Target,
    /// What the paths of results begin with; empty for the working directory itself.
    pub(crate) shown: PathBuf,
    pub(crate) file_type: FileType,
}

impl Place {
    /// Resolves the `path` argument; an absent one is the working directory.
    pub(crate) fn find(
        workspace: &Workspace,
        path: Option<&str>,
        interrupt: Interrupt<'_>,
    ) -> Result<Self, SearchError> {
        let target = workspace
            .resolve(path.unwrap_or("."))
            .map_err(SearchError::at_start)?;
        let found = workspace
            .stat(&target, interrupt)
            .map_err(SearchError::at_start)?;
        let Some(metadata) = found else {
            let text = format!("cannot search \"{}\": not found", target.display());
            let error = FsError::new(FsErrorCode::NotFound, text);
            return Err(SearchError::at_start(error));
        };
        Ok(Self {
            shown: shown(workspace, &target),
            file_type: metadata.file_type(),
            target,
        })
    }

    /// The place as a result names it: `.` for the working directory (F112, F131).
    pub(crate) fn name(&self) -> String {
        if self.shown.as_os_str().is_empty() {
            ".".to_owned()
        } else {
            self.shown.to_string_lossy().into_owned()
        }
    }
}

/// What rules judge is the resolved path, so that no link gets around them. A path that does not
/// resolve is judged as it is spelled; the body will refuse it.
pub(crate) fn access(workspace: &Workspace, arguments: &Document) -> Access {
    let path = arguments
        .root()
        .get("path")
        .and_then(ValueRef::as_str)
        .unwrap_or(".");
    match workspace.resolve(path) {
        Ok(target) => Access::read(target.key().to_string_lossy()),
        Err(_) => Access::read(path),
    }
}

/// The path as it was spelled, relative to the working directory if it lies inside.
fn shown(workspace: &Workspace, target: &Target) -> PathBuf {
    let display = Path::new(target.display());
    [workspace.spelled_root(), workspace.root()]
        .into_iter()
        .find_map(|root| display.strip_prefix(root).ok())
        .unwrap_or(display)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use dsh_workspace::never;

    use super::*;

    #[test]
    fn f131_paths_inside_are_relative_and_others_stay() {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("root/a/b")).unwrap();
        fs::create_dir(base.join("spill")).unwrap();
        fs::write(base.join("spill/x"), "").unwrap();
        symlink("a/b", base.join("root/link")).unwrap();
        symlink("root", base.join("spelled")).unwrap();
        let workspace = Workspace::open(base.join("spelled")).unwrap();
        let workspace = workspace.with_read_root(base.join("spill")).unwrap();
        let name = |path: &str| {
            let place = Place::find(&workspace, Some(path), &never);
            place
                .map(|place| place.name())
                .map_err(|error| error.code())
        };
        let absolute = |path: &str| base.join(path).to_str().unwrap().to_owned();
        assert_eq!(Place::find(&workspace, None, &never).unwrap().name(), ".");
        for (path, wanted) in [
            (".", "."),
            ("./a/", "a"),
            ("a//b/.", "a/b"),
            ("a/..", "."),
            ("a/../a/b", "a/b"),
            ("link", "link"),
            (&absolute("spelled"), "."),
            (&absolute("spelled/a"), "a"),
            (&absolute("root/a"), "a"),
            (&absolute("spill"), &absolute("spill")),
            (&absolute("spill/x"), &absolute("spill/x")),
        ] {
            assert_eq!(name(path).unwrap(), wanted, "{path}");
        }
        assert_eq!(name("missing"), Err("SEARCH_FAILED"));
        assert_eq!(name("../other"), Err("FS_SANDBOX_DENIED"));
        assert_eq!(name("/"), Err("FS_SANDBOX_DENIED"));
    }
}
