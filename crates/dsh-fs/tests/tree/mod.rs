//! A workspace on disk with something secret beside it, and the search tools over it.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use dsh_context::Fiber;
use dsh_fs::glob::{GlobOutput, GlobRequest, find_paths};
use dsh_fs::grep::{GrepOutput, GrepRequest, find_lines};
use dsh_fs::search::{SearchConfig, SearchError, SearchSettings};
use dsh_schema::Document;
use dsh_tools::{Call, Settled, Signal, Tool, Tools, ToolsConfig};
use dsh_workspace::{Workspace, never};
use futures_lite::future::block_on;
use tempfile::TempDir;

pub const SECRET: &str = "secret";
pub const MAX_BYTES: u64 = 20_000_000;

pub struct Tree {
    directory: TempDir,
    pub workspace: Arc<Workspace>,
}

impl Tree {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("root")).unwrap();
        fs::create_dir(directory.path().join("outside")).unwrap();
        fs::write(directory.path().join("outside/a.txt"), SECRET).unwrap();
        let workspace = Arc::new(Workspace::open(directory.path().join("root")).unwrap());
        Self {
            directory,
            workspace,
        }
    }

    /// The directory that holds the root and the secret; without links.
    pub fn base(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    pub fn root(&self) -> PathBuf {
        self.base().join("root")
    }

    pub fn write(&self, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// Writes files with modification times a second apart, in the order given.
    pub fn write_in_order(&self, paths: &[&str]) {
        for (index, path) in paths.iter().enumerate() {
            self.write(path, "x");
            self.age(path, 1_000_000 + index as u64);
        }
    }

    /// Sets the modification time of a file.
    pub fn age(&self, path: &str, seconds: u64) {
        let file = fs::File::options().write(true).open(self.root().join(path));
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        file.unwrap().set_modified(time).unwrap();
    }

    pub fn link(&self, path: &str, target: impl AsRef<Path>) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    }

    pub fn glob_in(&self, pattern: &str, path: Option<&str>) -> Result<GlobOutput, SearchError> {
        let request = GlobRequest::new(pattern, path).unwrap();
        find_paths(&self.workspace, &request, MAX_BYTES, &never)
    }

    /// Paths that a glob finds in the whole tree, sorted.
    pub fn glob(&self, pattern: &str) -> Vec<String> {
        let mut paths = self.glob_in(pattern, None).unwrap().paths;
        paths.sort();
        paths
    }

    pub fn grep_in(
        &self,
        pattern: &str,
        path: Option<&str>,
        include: Option<&str>,
    ) -> Result<GrepOutput, SearchError> {
        let request = GrepRequest::new(pattern, path, include).unwrap();
        find_lines(&self.workspace, &request, MAX_BYTES, &never)
    }

    /// Files in which a pattern is found, in order.
    pub fn files(&self, pattern: &str, path: Option<&str>, include: Option<&str>) -> Vec<String> {
        let found = self.grep_in(pattern, path, include).unwrap().matches;
        let mut files: Vec<String> = found.iter().map(|m| m.path.to_string()).collect();
        files.dedup();
        files
    }

    /// `path:number:line` of every match in the whole tree.
    pub fn grep(&self, pattern: &str) -> Vec<String> {
        let found = self.grep_in(pattern, None, None).unwrap().matches;
        let line = |m: &dsh_fs::grep::LineMatch| format!("{}:{}:{}", m.path, m.line_number, m.line);
        found.iter().map(line).collect()
    }
}

/// The tools on the road of a call.
pub struct Runtime {
    pub tools: Tools,
    pub glob: Tool,
    pub grep: Tool,
    pub fiber: Fiber,
}

impl Runtime {
    pub fn new(tree: &Tree, settings: &str) -> Self {
        let config = config(settings);
        let glob = dsh_fs::glob(tree.workspace.clone(), config).unwrap();
        let grep = dsh_fs::grep(tree.workspace.clone(), config).unwrap();
        let fiber = Fiber::root("test");
        let tools = Tools::new(ToolsConfig::default());
        let global = tools.global(&fiber);
        global.register(glob.clone()).unwrap();
        global.register(grep.clone()).unwrap();
        Self {
            tools,
            glob,
            grep,
            fiber,
        }
    }

    pub fn call(&self, name: &str, arguments: &str) -> Settled {
        let call = Call::new("call-1", name, arguments, Signal::never());
        block_on(self.tools.execute(call))
    }

    pub fn text(&self, name: &str, arguments: &str) -> String {
        text(&self.call(name, arguments))
    }
}

/// Settings as JSON on top of sampling.
pub fn config(settings: &str) -> SearchConfig {
    let mut settings: SearchSettings = serde_json::from_str(settings).unwrap();
    settings.sample_over_cap_glob_results.get_or_insert(true);
    SearchConfig::new(&settings).unwrap()
}

pub fn text(settled: &Settled) -> String {
    let [block] = settled.outcome().content().blocks() else {
        panic!("one block")
    };
    block.as_text().unwrap().to_owned()
}

pub fn document(json: &str) -> Document {
    Document::parse(json).unwrap()
}
