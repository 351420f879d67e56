//! The files of the repository, read once, and what Cargo says about its packages.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::process::Command;

use serde::Deserialize;

use crate::source::Source;

/// One text file.
#[derive(Clone, Debug)]
pub struct File {
    /// Path relative to the root, with `/` as separator.
    pub path: String,
    /// The whole text.
    pub text: String,
    /// Whether a module declaration under `#[cfg(test)]` leads here.
    test_module: bool,
}

impl File {
    /// A file held in memory; checks are tested on these.
    pub fn new(path: &str, text: &str) -> Self {
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
            test_module: false,
        }
    }

    /// Whether this is Rust code.
    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether this file only serves tests.
    pub fn is_test(&self) -> bool {
        self.test_module || self.is_test_by_path()
    }

    fn is_test_by_path(&self) -> bool {
        let mut parts = self.path.rsplit('/');
        let name = parts.next().unwrap_or_default();
        name == "tests.rs"
            || name.ends_with("_tests.rs")
            || parts.any(|part| matches!(part, "tests" | "benches"))
    }

    /// Name of the crate below `crates/` that this file belongs to.
    pub fn crate_name(&self) -> Option<&str> {
        self.path
            .strip_prefix("crates/")?
            .split_once('/')
            .map(|(name, _)| name)
    }
}

/// Everything the checks look at.
#[derive(Debug, Default)]
pub struct Repository {
    /// Text files that are not ignored by Git, sorted by path.
    pub files: Vec<File>,
    /// Packages of the workspace and of its dependency graph on this platform.
    pub packages: Vec<Package>,
}

impl Repository {
    /// Reads the repository at `root`.
    ///
    /// # Errors
    ///
    /// Fails when a file cannot be read or when `cargo metadata` fails.
    pub fn read(root: &Path) -> Result<Self, Box<dyn Error>> {
        Ok(Self::new(files(root)?, packages(root)?))
    }

    /// A repository of the given files and packages.
    pub fn new(mut files: Vec<File>, packages: Vec<Package>) -> Self {
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let rust = files.iter().filter(|file| file.is_rust());
        let modules: Vec<_> = rust.flat_map(test_modules).collect();
        for file in &mut files {
            let stem = file.path.trim_end_matches(".rs");
            let below = |module: &String| {
                let rest = stem.strip_prefix(module.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            file.test_module = modules.iter().any(below);
        }
        Self { files, packages }
    }

    /// The file at a path relative to the root.
    pub fn file(&self, path: &str) -> Option<&File> {
        self.files
            .binary_search_by(|file| file.path.as_str().cmp(path))
            .ok()
            .map(|at| &self.files[at])
    }

    /// Rust files of the workspace's own crates, `xtask` and `compare` left out.
    pub fn crate_sources(&self) -> impl Iterator<Item = &File> {
        self.files
            .iter()
            .filter(|file| file.is_rust() && file.crate_name().is_some())
    }
}

/// Paths, without ending, of the modules that a file declares for tests only.
fn test_modules(file: &File) -> Vec<String> {
    if !file.text.contains("cfg(") {
        return Vec::new();
    }
    let whole = Source::new(&file.text);
    let product = Source::new(&file.text).without_tests();
    let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
    let folder = match name {
        "lib.rs" | "main.rs" | "mod.rs" => folder.to_owned(),
        name => format!("{folder}/{}", name.trim_end_matches(".rs")),
    };
    let kept = product.modules();
    whole
        .modules()
        .into_iter()
        .filter(|name| !kept.contains(name))
        .map(|name| format!("{folder}/{name}"))
        .collect()
}

fn files(root: &Path) -> Result<Vec<File>, Box<dyn Error>> {
    let mut files = Vec::new();
    let walk = ignore::WalkBuilder::new(root)
        .hidden(false)
        // A source archive without `.git` is checked by the same rules.
        .require_git(false)
        // What a person or a parent folder ignores is no property of the repository.
        .git_global(false)
        .git_exclude(false)
        .parents(false)
        .filter_entry(|entry| entry.file_name() != ".git")
        .build();
    for entry in walk {
        let entry = entry?;
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            continue;
        }
        let relative = entry.path().strip_prefix(root)?;
        let path = relative
            .to_string_lossy()
            .replace(std::path::MAIN_SEPARATOR, "/");
        // Binary files hold nothing that a rule here could be about. Code always counts.
        match String::from_utf8(std::fs::read(entry.path())?) {
            Ok(text) => files.push(File {
                path,
                text,
                test_module: false,
            }),
            Err(_) if path.ends_with(".rs") => return Err(format!("`{path}` is not UTF-8").into()),
            Err(_) => {}
        }
    }
    Ok(files)
}

/// A package as `cargo metadata` describes it.
#[derive(Clone, Debug, Deserialize)]
pub struct Package {
    /// Package name.
    pub name: String,
    /// Version, as text.
    pub version: String,
    /// SPDX expression.
    pub license: Option<String>,
    /// Registry or Git address; none for packages of this repository.
    pub source: Option<String>,
    /// Declared dependencies of every kind.
    pub dependencies: Vec<Dependency>,
}

/// One declared dependency.
#[derive(Clone, Debug, Deserialize)]
pub struct Dependency {
    /// Name of the package depended on.
    pub name: String,
    /// `dev`, `build`, or none for an ordinary one.
    pub kind: Option<String>,
    /// Version requirement.
    pub req: String,
    /// Folder, for packages of this repository.
    pub path: Option<String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

fn packages(root: &Path) -> Result<Vec<Package>, Box<dyn Error>> {
    // Restricted to this platform: the build has then already fetched every manifest, and the check needs no network.
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(root)
        .args([
            "metadata",
            "--format-version=1",
            "--locked",
            "--filter-platform",
            &host()?,
        ])
        .output()?;
    if !output.status.success() {
        return Err(format!(
            "`cargo metadata` failed: {}",
            String::from_utf8_lossy(&output.stderr)
        )
        .into());
    }
    let metadata: Metadata = serde_json::from_slice(&output.stdout)?;
    let unique: BTreeMap<_, _> = metadata
        .packages
        .into_iter()
        .map(|package| ((package.name.clone(), package.version.clone()), package))
        .collect();
    Ok(unique.into_values().collect())
}

fn host() -> Result<String, Box<dyn Error>> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("-vV").output()?;
    let text = String::from_utf8(output.stdout)?;
    let line = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(line.ok_or("`rustc -vV` names no host")?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_code_is_told_by_its_path() {
        for path in [
            "crates/a/tests/b.rs",
            "crates/a/src/lane/tests.rs",
            "crates/a/src/x_tests.rs",
            "crates/a/benches/b.rs",
        ] {
            assert!(File::new(path, "").is_test(), "{path}");
        }
        for path in [
            "crates/a/src/lib.rs",
            "crates/tests-of-things/src/lib.rs",
            "crates/dsh-testkit/src/clock.rs",
        ] {
            assert!(!File::new(path, "").is_test(), "{path}");
        }
    }

    #[test]
    fn test_code_is_told_by_its_declaration() {
        let files = [
            "lib.rs", "a.rs", "a/b.rs", "a/c.rs", "a/c/d.rs", "e.rs", "ab.rs",
        ]
        .map(|name| {
            let text = match name {
                "lib.rs" => "mod a; mod ab;\n#[cfg(test)]\nmod e;",
                "a.rs" => "#[cfg(test)]\npub(crate) mod c;\nmod b;",
                _ => "",
            };
            File::new(&format!("crates/x/src/{name}"), text)
        });
        let repository = Repository::new(files.into(), Vec::new());
        let tests: Vec<_> = repository
            .files
            .iter()
            .filter(|file| file.is_test())
            .map(|file| &file.path["crates/x/src/".len()..])
            .collect();
        assert_eq!(tests, ["a/c.rs", "a/c/d.rs", "e.rs"]);
    }

    #[test]
    fn the_crate_is_the_folder_below_crates() {
        assert_eq!(
            File::new("crates/dsh-fs/src/read.rs", "").crate_name(),
            Some("dsh-fs")
        );
        assert_eq!(File::new("crates/README.md", "").crate_name(), None);
        assert_eq!(File::new("xtask/src/lib.rs", "").crate_name(), None);
    }
}
