//! Reading windows from real files (F10–F13, F64–F68).
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::cell::Cell;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use dsh_fs::read::{ReadConfig, ReadRequest, Window, read_window};
use dsh_workspace::{FsError, Workspace, never};
use tempfile::TempDir;

struct Fixture {
    directory: TempDir,
    workspace: Workspace,
}

impl Fixture {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(directory.path()).unwrap();
        Self {
            directory,
            workspace,
        }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(path), bytes).unwrap();
    }

    fn read_at(
        &self,
        path: &str,
        offset: u64,
        interrupt: &dyn Fn() -> bool,
    ) -> Result<Window, FsError> {
        let config = ReadConfig::default();
        let request = ReadRequest::new(path, Some(&offset.into()), None, &config).unwrap();
        let target = self.workspace.resolve(request.path())?;
        Ok(read_window(&self.workspace, &target, request.limits(), interrupt)?.0)
    }

    fn read(&self, path: &str) -> Result<Window, FsError> {
        self.read_at(path, 1, &never)
    }

    fn texts(&self, path: &str) -> Vec<String> {
        self.read(path)
            .unwrap()
            .lines
            .into_iter()
            .map(|line| line.text)
            .collect()
    }

    #[track_caller]
    fn refused(&self, result: Result<Window, FsError>, code: &str, text: &str) {
        let error = result.unwrap_err();
        assert_eq!(error.code().as_str(), code);
        let root = self.directory.path().to_str().unwrap();
        assert_eq!(error.to_string(), text.replace("ROOT", root));
    }
}

#[test]
fn a_file_and_its_version() {
    let f = Fixture::new();
    f.write("a.txt", "one\r\ntwo\n");
    assert_eq!(f.texts("a.txt"), ["one", "two"]);
    let target = f.workspace.resolve("a.txt").unwrap();
    let limits = *ReadRequest::new("a.txt", None, None, &ReadConfig::default())
        .unwrap()
        .limits();
    let (_, version) = read_window(&f.workspace, &target, &limits, &never).unwrap();
    let stat = f.workspace.stat(&target, &never).unwrap().unwrap();
    assert_eq!(version, stat.version());
}

#[test]
fn f10_what_cannot_be_read() {
    let f = Fixture::new();
    fs::create_dir(f.path("dir")).unwrap();
    f.refused(
        f.read("missing"),
        "FS_NOT_FOUND",
        "cannot read \"ROOT/missing\": not found",
    );
    let text = "cannot read \"ROOT/dir\": not a regular file";
    f.refused(f.read("dir"), "FS_NOT_REGULAR_FILE", text);
    symlink("/dev/zero", f.path("zero")).unwrap();
    assert_eq!(
        f.read("zero").unwrap_err().code().as_str(),
        "FS_SANDBOX_DENIED"
    );
}

#[test]
fn f11_f12_what_is_not_text() {
    // FS-17: what cannot be decoded is refused, never shown with replacement characters.
    let f = Fixture::new();
    f.write("nul", b"a\0b");
    f.refused(
        f.read("nul"),
        "FS_NOT_TEXT",
        "cannot read \"ROOT/nul\": binary file",
    );
    f.write("utf-16", b"\xff\xfeh\0i\0");
    f.refused(
        f.read("utf-16"),
        "FS_NOT_TEXT",
        "cannot read \"ROOT/utf-16\": binary file",
    );
    f.write("latin-1", b"caf\xe9\n");
    let text = "cannot read \"ROOT/latin-1\": invalid UTF-8 text";
    f.refused(f.read("latin-1"), "FS_NOT_TEXT", text);
    // Far behind the window, and only at the very end.
    let mut late = "line\n".repeat(100_000).into_bytes();
    late.push(0xe2);
    f.write("late", late);
    let text = "cannot read \"ROOT/late\": invalid UTF-8 text";
    f.refused(f.read("late"), "FS_NOT_TEXT", text);
}

#[test]
fn f12_characters_may_lie_across_chunks() {
    let f = Fixture::new();
    for shift in 0..4 {
        let text = format!("{}{}", "x".repeat(shift), "😀\n".repeat(40_000));
        f.write("a.txt", &text);
        let window = f.read_at("a.txt", 39_000, &never).unwrap();
        assert_eq!(window.total_lines, 40_000);
        assert!(window.lines.iter().all(|line| line.text == "😀"));
    }
}

#[test]
fn f11_a_late_nul_is_text() {
    let f = Fixture::new();
    let mut bytes = vec![b'\n'; 8192];
    bytes.extend(b"a\0b\n");
    f.write("a.txt", bytes);
    let window = f.read_at("a.txt", 8193, &never).unwrap();
    assert_eq!(window.lines[0].text, "a\0b");
}

#[test]
fn f13_only_the_mark_is_left_out() {
    let f = Fixture::new();
    f.write("a.txt", "\u{feff}one \t\rtwo\u{feff}\n");
    assert_eq!(f.texts("a.txt"), ["one \t\rtwo\u{feff}"]);
    f.write("mark-only", "\u{feff}");
    assert_eq!(f.read("mark-only").unwrap().total_lines, 0);
}

#[test]
fn f67_the_total_is_exact_behind_the_window() {
    let f = Fixture::new();
    f.write("a.txt", "0123456789\n".repeat(1_000_000));
    let window = f.read("a.txt").unwrap();
    assert_eq!((window.lines.len(), window.total_lines), (2000, 1_000_000));
    let window = f.read_at("a.txt", 999_999, &never).unwrap();
    assert_eq!(
        window
            .lines
            .iter()
            .map(|line| line.number)
            .collect::<Vec<_>>(),
        [999_999, 1_000_000]
    );
    // 51,200 bytes hold 25 lines of 2,000 characters and their breaks.
    f.write("wide", format!("{}\n", "x".repeat(2000)).repeat(100));
    let window = f.read("wide").unwrap();
    assert_eq!((window.lines.len(), window.total_lines), (25, 100));
}

#[test]
fn f68_an_offset_past_the_end() {
    let f = Fixture::new();
    f.write("three", "1\n2\n3\n");
    f.write("empty", "");
    assert_eq!(f.read_at("three", 3, &never).unwrap().lines.len(), 1);
    let text = "offset 4 is out of range for \"ROOT/three\" (3 lines)";
    f.refused(f.read_at("three", 4, &never), "FS_NOT_FOUND", text);
    assert_eq!(
        f.read("empty").unwrap(),
        Window {
            lines: vec![],
            total_lines: 0
        }
    );
    let text = "offset 2 is out of range for \"ROOT/empty\" (0 lines)";
    f.refused(f.read_at("empty", 2, &never), "FS_NOT_FOUND", text);
}

#[test]
fn a_huge_sparse_file_is_refused_at_once() {
    let f = Fixture::new();
    File::create(f.path("sparse"))
        .unwrap()
        .set_len(5_000_000_000)
        .unwrap();
    let asked = Cell::new(0);
    let count = || {
        asked.set(asked.get() + 1);
        false
    };
    let text = "cannot read \"ROOT/sparse\": binary file";
    f.refused(f.read_at("sparse", 1, &count), "FS_NOT_TEXT", text);
    assert!(asked.get() < 10, "{}", asked.get());
}

#[test]
fn f7_a_read_ends_in_the_middle_when_nobody_waits() {
    let f = Fixture::new();
    // Text at the start, then a hole as large as a disk: read on, it would take minutes.
    let mut file = File::create(f.path("sparse")).unwrap();
    file.write_all(&[b'\n'; 8192]).unwrap();
    file.set_len(5_000_000_000_000).unwrap();
    let asked = Cell::new(0);
    let interrupt = || {
        asked.set(asked.get() + 1);
        asked.get() > 100
    };
    let error = f.read_at("sparse", 1, &interrupt).unwrap_err();
    assert!(error.is_aborted());
    assert_eq!(asked.get(), 101);
}

#[test]
fn a_file_that_grows_while_it_is_read_is_read_to_where_it_then_ends() {
    let f = Fixture::new();
    f.write("log", "line\n".repeat(20_000));
    let mut writer = OpenOptions::new().append(true).open(f.path("log")).unwrap();
    let left = Cell::new(10);
    let grow = || {
        if left.get() > 0 {
            left.set(left.get() - 1);
            writer
                .try_clone()
                .unwrap()
                .write_all("line\n".repeat(1000).as_bytes())
                .unwrap();
        }
        false
    };
    let window = f.read_at("log", 1, &grow).unwrap();
    // Whatever was there at the last read is whole and counted.
    assert!((20_000..=30_000).contains(&window.total_lines));
    assert_eq!(window.lines.len(), 2000);
    writer.write_all(b"end").unwrap();
    assert_eq!(
        f.read("log").unwrap().total_lines,
        20_000 + 1000 * (10 - left.get()) + 1
    );
}
