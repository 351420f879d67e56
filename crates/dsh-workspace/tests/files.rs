//! Metadata, opening and listing (F5–F7, F10, F14, F15).
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod fixture;

use std::cell::Cell;
use std::fs::{self, File, FileTimes, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;

use dsh_workspace::{FileType, never};
use fixture::{Fixture, each, refused};
use rustix::fs::{CWD, FileType as RawType, Mode, mknodat};

fn pipe(f: &Fixture, path: &str) {
    mknodat(
        CWD,
        f.root().join(path),
        RawType::Fifo,
        Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
}

/// An interrupt that answers yes from the n-th question on, counted from 1.
fn from_question(n: usize) -> impl Fn() -> bool {
    let asked = Cell::new(0);
    move || {
        asked.set(asked.get() + 1);
        asked.get() >= n
    }
}

#[test]
fn f5_stat_follows_and_lstat_does_not() {
    each(|f| {
        f.write("dir/a.txt", "four");
        f.link("link", "dir/a.txt");
        f.link("dir-link", "dir");
        f.link("dangling", "nowhere");
        f.link("out", "../secret.txt");
        pipe(&f, "pipe");
        let stat = |path: &str| {
            f.workspace
                .stat(&f.workspace.resolve(path).unwrap(), &never)
                .unwrap()
                .map(|found| (found.file_type(), found.size()))
        };
        let lstat = |path: &str| {
            f.workspace
                .lstat(path, &never)
                .unwrap()
                .map(|found| found.file_type())
        };
        assert_eq!(stat("link"), Some((FileType::File, 4)));
        assert_eq!(stat("dir-link/a.txt"), Some((FileType::File, 4)));
        assert_eq!(stat("dir").map(|found| found.0), Some(FileType::Directory));
        assert_eq!(stat(".").map(|found| found.0), Some(FileType::Directory));
        assert_eq!(stat("pipe").map(|found| found.0), Some(FileType::Other));
        assert_eq!(stat("missing"), None);
        assert_eq!(stat("dangling"), None);

        assert_eq!(lstat("link"), Some(FileType::Symlink));
        assert_eq!(lstat("dir-link"), Some(FileType::Symlink));
        assert_eq!(lstat("dir-link/"), Some(FileType::Symlink));
        assert_eq!(lstat("dir-link/a.txt"), Some(FileType::File));
        assert_eq!(lstat("dangling"), Some(FileType::Symlink));
        assert_eq!(lstat("out"), Some(FileType::Symlink));
        assert_eq!(lstat("."), Some(FileType::Directory));
        assert_eq!(lstat("dir/.."), Some(FileType::Directory));
        assert_eq!(lstat(f.root().to_str().unwrap()), Some(FileType::Directory));
        assert_eq!(lstat("missing"), None);
        assert_eq!(lstat("missing/x"), None);
        assert_eq!(lstat("dir/a.txt/x"), None);
        assert_eq!(lstat("dir/a.txt/x/y"), None);
        refused(f.workspace.lstat("..", &never), "FS_SANDBOX_DENIED");
        refused(
            f.workspace.lstat("../secret.txt", &never),
            "FS_SANDBOX_DENIED",
        );
        refused(f.workspace.lstat("", &never), "FS_NOT_FOUND");
    });
}

#[test]
fn f5_a_parent_that_became_a_file_is_an_absence() {
    each(|f| {
        f.write("dir/a.txt", "a");
        let target = f.workspace.resolve("dir/a.txt").unwrap();
        fs::remove_dir_all(f.root().join("dir")).unwrap();
        f.write("dir", "now a file");
        assert!(f.workspace.stat(&target, &never).unwrap().is_none());
        refused(f.workspace.open_file(&target, &never), "FS_NOT_FOUND");
    });
}

#[test]
fn f6_the_version_notices_a_rewrite_behind_an_old_time() {
    each(|f| {
        f.write("a.txt", "aaaa");
        let path = f.root().join("a.txt");
        let version = || {
            let target = f.workspace.resolve("a.txt").unwrap();
            f.workspace
                .stat(&target, &never)
                .unwrap()
                .unwrap()
                .version()
        };
        let before = version();
        assert_eq!(version(), before);
        assert_eq!(version().to_string(), before.to_string());
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        // The clock of the file system ticks coarsely: rewrite until it has moved.
        let after = loop {
            fs::write(&path, "bbbb").unwrap();
            let file = File::options().write(true).open(&path).unwrap();
            file.set_times(FileTimes::new().set_modified(modified))
                .unwrap();
            let after = version();
            if after != before {
                break after;
            }
        };
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), modified);
        assert_ne!(after.to_string(), before.to_string());

        let opened = f
            .workspace
            .open_file(&f.workspace.resolve("a.txt").unwrap(), &never);
        assert_eq!(opened.unwrap().metadata().version(), after);
    });
}

#[test]
fn f7_an_interrupt_before_or_right_after_a_step_aborts() {
    each(|f| {
        f.write("a.txt", "a");
        let target = f.workspace.resolve("a.txt").unwrap();
        let root = f.workspace.resolve(".").unwrap();
        for n in [1, 2] {
            let text = refused(f.workspace.stat(&target, &from_question(n)), "FS_ABORTED");
            assert!(text.ends_with("aborted"), "{text}");
            refused(f.workspace.lstat("a.txt", &from_question(n)), "FS_ABORTED");
            refused(
                f.workspace.open_file(&target, &from_question(n)),
                "FS_ABORTED",
            );
            refused(f.workspace.list_dir(&root, &from_question(n)), "FS_ABORTED");
        }
        let mut file = f.workspace.open_file(&target, &never).unwrap();
        assert!(refused_is_aborted(file.read_bytes(10, &from_question(1))));
        assert!(refused_is_aborted(file.read_bytes(10, &from_question(2))));
    });
}

fn refused_is_aborted<T: std::fmt::Debug>(result: Result<T, dsh_workspace::FsError>) -> bool {
    result.unwrap_err().is_aborted()
}

#[test]
fn f10_only_regular_files_are_opened_and_nothing_hangs() {
    // FS-21: a pipe without a writer would hold its reader for ever.
    each(|f| {
        f.write("dir/a.txt", "a");
        f.link("dir-link", "dir");
        f.link("zero", "/dev/zero");
        pipe(&f, "pipe");
        f.link("pipe-link", "pipe");
        let _socket = UnixListener::bind(f.root().join("socket")).unwrap();
        for path in [".", "dir", "dir-link", "pipe", "pipe-link", "socket"] {
            let text = refused(f.read(path), "FS_NOT_REGULAR_FILE");
            let display = f.workspace.resolve(path).unwrap().display().to_owned();
            assert_eq!(
                text,
                format!("cannot read \"{display}\": not a regular file")
            );
        }
        refused(f.read("zero"), "FS_SANDBOX_DENIED");
        let text = refused(f.read("missing"), "FS_NOT_FOUND");
        let display = f.root().join("missing");
        assert_eq!(
            text,
            format!("cannot read \"{}\": not found", display.display())
        );
    });
}

#[test]
fn f10_devices_inside_the_root_are_refused() {
    let devices = dsh_workspace::Workspace::open("/dev").unwrap();
    for workspace in [devices.clone(), devices.without_openat2()] {
        for path in ["zero", "null", "/dev/zero"] {
            refused(fixture::read(&workspace, path), "FS_NOT_REGULAR_FILE");
        }
    }
}

#[test]
fn f10_a_waiting_writer_of_a_pipe_is_not_woken() {
    each(|f| {
        pipe(&f, "pipe");
        refused(f.read("pipe"), "FS_NOT_REGULAR_FILE");
        // Without a reader a non-blocking writer is refused; had the pipe been opened, and kept, it
        // would not be.
        let writer = rustix::fs::open(
            f.root().join("pipe"),
            rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::NONBLOCK,
            Mode::empty(),
        );
        assert_eq!(writer.unwrap_err(), rustix::io::Errno::NXIO);
    });
}

#[test]
fn the_permission_of_the_system_is_reported() {
    each(|f| {
        f.write("closed.txt", "a");
        f.write("closed/a.txt", "a");
        fs::set_permissions(f.root().join("closed.txt"), Permissions::from_mode(0o0)).unwrap();
        fs::set_permissions(f.root().join("closed"), Permissions::from_mode(0o0)).unwrap();
        // The superuser reads everything; there is nothing to observe then.
        if File::open(f.root().join("closed.txt")).is_err() {
            let text = refused(f.read("closed.txt"), "FS_PERMISSION_DENIED");
            assert!(text.ends_with(": permission denied"), "{text}");
            refused(f.read("closed/a.txt"), "FS_PERMISSION_DENIED");
            let closed = f.workspace.resolve("closed").unwrap();
            refused(
                f.workspace.list_dir(&closed, &never),
                "FS_PERMISSION_DENIED",
            );
        }
        fs::set_permissions(f.root().join("closed"), Permissions::from_mode(0o700)).unwrap();
    });
}

#[test]
fn errors_keep_their_source() {
    each(|f| {
        let error = f.read("missing").unwrap_err();
        let source = std::error::Error::source(&error).unwrap();
        let source = source.downcast_ref::<std::io::Error>().unwrap();
        assert_eq!(source.kind(), std::io::ErrorKind::NotFound);
        assert!(error.is_not_found());
    });
}

#[test]
fn f14_read_bytes_stops_at_the_limit() {
    each(|f| {
        let open = |path: &str| {
            f.workspace
                .open_file(&f.workspace.resolve(path).unwrap(), &never)
                .unwrap()
        };
        f.write("a.bin", "12345");
        assert_eq!(open("a.bin").read_bytes(5, &never).unwrap(), b"12345");
        assert_eq!(
            open("a.bin").read_bytes(u64::MAX, &never).unwrap(),
            b"12345"
        );
        let text = refused(open("a.bin").read_bytes(4, &never), "FS_TOO_LARGE");
        assert!(text.ends_with(": larger than 4 bytes"), "{text}");
        f.write("empty", "");
        assert_eq!(open("empty").read_bytes(0, &never).unwrap(), b"");

        // Grown after it was opened: the size said nothing.
        let mut file = open("a.bin");
        let mut writer = OpenOptions::new()
            .append(true)
            .open(f.root().join("a.bin"))
            .unwrap();
        writer.write_all(b"6").unwrap();
        refused(file.read_bytes(5, &never), "FS_TOO_LARGE");
        assert_eq!(open("a.bin").read_bytes(6, &never).unwrap(), b"123456");

        // Growing faster than it is read: it ends one byte past the limit.
        let mut file = open("a.bin");
        let grow = || {
            writer
                .try_clone()
                .unwrap()
                .write_all(&[b'x'; 1000])
                .unwrap();
            false
        };
        refused(file.read_bytes(100_000, &grow), "FS_TOO_LARGE");

        let large = "x".repeat(300_000);
        f.write("large", &large);
        assert_eq!(
            open("large").read_bytes(300_000, &never).unwrap().len(),
            300_000
        );
    });
}

#[test]
fn f15_a_listing_is_one_level_in_byte_order() {
    each(|f| {
        for path in ["b.txt", "B.txt", "a/inner.txt", "ü", ".hidden"] {
            f.write(path, "1");
        }
        f.link("link", "a/inner.txt");
        f.link("dir-link", "a");
        f.link("broken", "nowhere");
        f.link("broken-through-file", "b.txt/x");
        f.link("loop", "loop");
        f.link("out", "../secret.txt");
        pipe(&f, "pipe");
        let root = f.workspace.resolve(".").unwrap();
        let entries = f.workspace.list_dir(&root, &never).unwrap();
        let listed: Vec<_> = entries
            .iter()
            .map(|entry| {
                (
                    entry.name().to_str().unwrap(),
                    entry.metadata().file_type(),
                    entry.target().relative().to_str().unwrap(),
                )
            })
            .collect();
        use FileType::{Directory, File, Other};
        assert_eq!(
            listed,
            [
                (".hidden", File, ".hidden"),
                ("B.txt", File, "B.txt"),
                ("a", Directory, "a"),
                ("b.txt", File, "b.txt"),
                ("broken", Other, "broken"),
                ("broken-through-file", Other, "broken-through-file"),
                ("dir-link", Directory, "a"),
                ("link", File, "a/inner.txt"),
                ("loop", Other, "loop"),
                ("out", Other, "out"),
                ("pipe", Other, "pipe"),
                ("ü", File, "ü"),
            ]
        );
        let link = &entries[7];
        assert_eq!(link.metadata().size(), 1);
        assert_eq!(
            link.target().display(),
            f.root().join("link").to_str().unwrap()
        );
        assert_eq!(link.target().key(), f.root().join("a/inner.txt"));

        let list = |path: &str| {
            f.workspace
                .list_dir(&f.workspace.resolve(path).unwrap(), &never)
        };
        assert_eq!(list("dir-link").unwrap().len(), 1);
        let text = refused(list("missing"), "FS_NOT_FOUND");
        assert!(text.starts_with("cannot list \""), "{text}");
        refused(list("broken"), "FS_NOT_FOUND");
        refused(list("b.txt"), "FS_NOT_DIRECTORY");
        refused(list("pipe"), "FS_NOT_DIRECTORY");
    });
}
