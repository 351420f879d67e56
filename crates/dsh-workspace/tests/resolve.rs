//! Paths and links (F1–F4, F9).
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod fixture;

use std::fs;
use std::os::unix::fs::symlink;

use dsh_workspace::{Workspace, never};
use fixture::{SECRET, each, read, refused};

#[test]
fn f1_relative_paths_start_at_the_root() {
    each(|f| {
        f.write("a/b.txt", "b");
        assert_eq!(f.read("a/b.txt").unwrap(), "b");
        assert_eq!(f.read("./a//./b.txt").unwrap(), "b");
        assert_eq!(f.relative("a/").unwrap(), "a");
        assert_eq!(f.relative(".").unwrap(), "");
        let target = f.workspace.resolve("./a//b.txt").unwrap();
        assert_eq!(target.display(), f.root().join("a/b.txt").to_str().unwrap());
        assert_eq!(f.workspace.resolve(".").unwrap().key(), f.root());
    });
}

#[test]
fn f1_absolute_paths_have_to_lie_below_the_root() {
    each(|f| {
        f.write("a.txt", "a");
        let inside = f.root().join("a.txt");
        assert_eq!(f.read(inside.to_str().unwrap()).unwrap(), "a");
        assert_eq!(f.relative(f.root().to_str().unwrap()).unwrap(), "");

        let secret = f.base().join("secret.txt");
        let text = refused(f.read(secret.to_str().unwrap()), "FS_SANDBOX_DENIED");
        assert_eq!(
            text,
            format!(
                "cannot access \"{}\": outside the workspace \"{}\"",
                secret.display(),
                f.root().display()
            )
        );
        // By components, not by the start of the string.
        let sibling = format!("{}-other", f.root().display());
        refused(f.workspace.resolve(&sibling), "FS_SANDBOX_DENIED");
        refused(f.workspace.resolve("/"), "FS_SANDBOX_DENIED");
        refused(f.workspace.resolve("/etc/passwd"), "FS_SANDBOX_DENIED");
        refused(f.workspace.resolve("//etc/passwd"), "FS_SANDBOX_DENIED");
    });
}

#[test]
fn a_root_below_the_file_system_root_has_no_outside() {
    let workspace = Workspace::open("/").unwrap();
    for workspace in [workspace.clone(), workspace.without_openat2()] {
        let target = workspace.resolve("/usr/../usr").unwrap();
        assert_eq!(target.key().to_str(), Some("/usr"));
        assert_eq!(
            workspace.resolve("../../usr").unwrap().key().to_str(),
            Some("/usr")
        );
        assert_eq!(workspace.resolve("/").unwrap().key().to_str(), Some("/"));
        assert!(
            !workspace
                .list_dir(&workspace.resolve("/").unwrap(), &never)
                .unwrap()
                .is_empty()
        );
    }
}

#[test]
fn a_root_spelled_through_a_link_is_known_by_both_names() {
    let directory = tempfile::tempdir().unwrap();
    let base = directory.path().canonicalize().unwrap();
    fs::create_dir(base.join("real")).unwrap();
    fs::write(base.join("real/a.txt"), "a").unwrap();
    symlink("real", base.join("spelled")).unwrap();
    symlink(base.join("spelled/a.txt"), base.join("real/by-spelling")).unwrap();
    let workspace = Workspace::open(base.join("spelled")).unwrap();
    for workspace in [workspace.clone(), workspace.without_openat2()] {
        for path in ["a.txt", "by-spelling"] {
            let target = workspace.resolve(path).unwrap();
            assert_eq!(target.key(), base.join("real/a.txt"));
            assert_eq!(
                target.display(),
                base.join("spelled").join(path).to_str().unwrap()
            );
        }
        for path in [base.join("real/a.txt"), base.join("spelled/a.txt")] {
            let target = workspace.resolve(path.to_str().unwrap()).unwrap();
            assert_eq!(target.key(), base.join("real/a.txt"));
            assert_eq!(target.display(), path.to_str().unwrap());
        }
        // F63: with a `..` the root is canonicalised first.
        let target = workspace.resolve("x/../a.txt");
        refused(target, "FS_NOT_FOUND");
        fs::create_dir_all(base.join("real/x")).unwrap();
        let target = workspace.resolve("x/../a.txt").unwrap();
        assert_eq!(target.display(), base.join("real/a.txt").to_str().unwrap());
        fs::remove_dir(base.join("real/x")).unwrap();
        assert_eq!(workspace.root(), base.join("real"));
        assert_eq!(workspace.spelled_root(), base.join("spelled"));
    }
}

#[test]
fn the_handle_outlives_the_name_of_the_root() {
    each(|f| {
        f.write("a.txt", "a");
        fs::rename(f.root(), f.base().join("moved")).unwrap();
        fs::create_dir(f.root()).unwrap();
        fs::write(f.root().join("a.txt"), "impostor").unwrap();
        assert_eq!(f.read("a.txt").unwrap(), "a");
    });
}

#[test]
fn f2_links_inside_are_followed() {
    each(|f| {
        f.write("dir/sub/a.txt", "a");
        f.link("relative", "dir/sub/a.txt");
        f.link("absolute", f.root().join("dir/sub/a.txt"));
        f.link("to-dir", "dir/sub");
        f.link("to-dir-absolute", f.root().join("dir"));
        f.link("dir/up", "../dir/sub");
        f.link("chain", "to-dir/../up/a.txt");
        f.link("home", "../root/dir/sub/a.txt");
        f.link("self", f.root());
        f.link("dotted", f.root().join("dir/./../dir/sub/a.txt"));
        for path in [
            "relative",
            "absolute",
            "to-dir/a.txt",
            "to-dir-absolute/sub/a.txt",
            "dir/up/a.txt",
            "chain",
            "home",
            "self/self/relative",
            "dotted",
        ] {
            assert_eq!(f.relative(path).unwrap(), "dir/sub/a.txt", "{path}");
            assert_eq!(f.read(path).unwrap(), "a", "{path}");
            let display = f.root().join(path);
            assert_eq!(
                f.workspace.resolve(path).unwrap().display(),
                display.to_str().unwrap()
            );
        }
        assert_eq!(f.relative("self").unwrap(), "");
    });
}

#[test]
fn links_that_lead_outside_are_refused() {
    each(|f| {
        f.write("dir/a.txt", "a");
        f.link("relative", "../secret.txt");
        f.link("absolute", f.base().join("secret.txt"));
        f.link("dir/out", "../../outside");
        f.link("dir/parent", "..");
        f.link("etc", "/etc");
        f.link("twice", "relative");
        f.link("nowhere", "../does-not-exist");
        f.link("sibling", format!("{}-other/x", f.root().display()));
        f.link("magic", "/proc/self/root/etc/passwd");
        for path in [
            "relative",
            "absolute",
            "dir/out",
            "dir/out/a.txt",
            "dir/out/../secret.txt",
            "dir/parent/../secret.txt",
            "etc/passwd",
            "twice",
            "nowhere",
            "nowhere/x",
            "sibling",
            "magic",
            "..",
            "../",
            "../secret.txt",
            "dir/../../secret.txt",
            "../../../../../../../../../../etc/passwd",
            "../root/../secret.txt",
            "../root-other/x",
        ] {
            let text = refused(f.read(path), "FS_SANDBOX_DENIED");
            assert!(text.contains("outside the workspace"), "{path}: {text}");
            assert!(!text.contains(SECRET) || path.contains(SECRET) || text.contains(path));
        }
        // Out and back in by the root's own name ends inside.
        assert_eq!(f.read("../root/dir/a.txt").unwrap(), "a");
    });
}

#[test]
fn magic_links_are_read_as_text() {
    // Inside `/proc` itself the target of a magic link is only text, and this text leads outside.
    let Ok(workspace) = Workspace::open("/proc/self") else {
        return;
    };
    for workspace in [workspace.clone(), workspace.without_openat2()] {
        refused(workspace.resolve("root/etc/passwd"), "FS_SANDBOX_DENIED");
        refused(workspace.resolve("cwd/Cargo.toml"), "FS_SANDBOX_DENIED");
    }
}

#[test]
fn a_parent_step_behind_a_link_is_the_parent_of_its_target() {
    each(|f| {
        f.write("a/deep/x.txt", "x");
        f.write("a/y.txt", "inner");
        f.write("y.txt", "outer");
        f.link("link", "a/deep");
        assert_eq!(f.relative("link/../y.txt").unwrap(), "a/y.txt");
        assert_eq!(f.read("link/../y.txt").unwrap(), "inner");
        let display = f
            .workspace
            .resolve("link/../y.txt")
            .unwrap()
            .display()
            .to_owned();
        assert_eq!(display, f.root().join("a/y.txt").to_str().unwrap());
        assert_eq!(f.read("a/../y.txt").unwrap(), "outer");
        assert_eq!(f.relative("link/../..").unwrap(), "");
    });
}

#[test]
fn loops_of_links_end() {
    each(|f| {
        f.link("loop", "loop");
        f.link("ping", "pong");
        f.link("pong", f.root().join("ping"));
        f.link("grow", "grow/x");
        for path in ["loop", "loop/x", "ping", "grow"] {
            let text = refused(f.workspace.resolve(path), "FS_IO_ERROR");
            assert!(text.ends_with("too many symbolic links"), "{text}");
        }
        f.write("end", "end");
        f.link("l0", "end");
        for n in 1..41 {
            f.link(&format!("l{n}"), format!("l{}", n - 1));
        }
        assert_eq!(f.read("l39").unwrap(), "end");
        refused(f.read("l40"), "FS_IO_ERROR");
    });
}

#[test]
fn f3_a_missing_file_has_the_key_it_will_have() {
    each(|f| {
        f.write("dir/a.txt", "a");
        f.link("link", "dir");
        for (path, wanted) in [
            ("new.txt", "new.txt"),
            ("dir/new.txt", "dir/new.txt"),
            ("link/new.txt", "dir/new.txt"),
            ("link/x/y/new.txt", "dir/x/y/new.txt"),
        ] {
            assert_eq!(f.relative(path).unwrap(), wanted);
            refused(f.read(path), "FS_NOT_FOUND");
        }
        f.write("link/x/y/new.txt", "now");
        assert_eq!(f.relative("link/x/y/new.txt").unwrap(), "dir/x/y/new.txt");
        assert_eq!(f.read("link/x/y/new.txt").unwrap(), "now");
    });
}

#[test]
fn a_link_that_leads_nowhere_stands_for_itself() {
    // FS-19, FS-24: creating at this key exclusively finds the link and never follows it.
    each(|f| {
        f.link("dangling", "dir/new.txt");
        f.link("dir/second", "../dangling");
        for (path, wanted) in [
            ("dangling", "dangling"),
            ("dangling/x", "dangling/x"),
            ("dir/second", "dir/second"),
        ] {
            assert_eq!(f.relative(path).unwrap(), wanted);
            let target = f.workspace.resolve(path).unwrap();
            assert!(f.workspace.stat(&target, &never).unwrap().is_none());
            let text = refused(f.read(path), "FS_NOT_FOUND");
            let display = f.root().join(path);
            assert_eq!(
                text,
                format!("cannot read \"{}\": not found", display.display())
            );
        }
        let target = f.workspace.resolve("dangling").unwrap();
        let parent = f.workspace.open_parent(&target).unwrap();
        let created = rustix::fs::openat(
            &parent.directory,
            &parent.name,
            rustix::fs::OFlags::CREATE | rustix::fs::OFlags::EXCL | rustix::fs::OFlags::WRONLY,
            rustix::fs::Mode::from_raw_mode(0o600),
        );
        assert_eq!(created.unwrap_err(), rustix::io::Errno::EXIST);
        assert!(!f.root().join("dir/new.txt").exists());
    });
}

#[test]
fn f4_unusable_paths() {
    each(|f| {
        f.write("file.txt", "text");
        f.link("to-file", "file.txt");
        for path in ["", " ", "\t\n"] {
            let text = refused(f.workspace.resolve(path), "FS_NOT_FOUND");
            assert_eq!(text, "file_path must be a non-empty string");
        }
        for path in [
            "file.txt/x",
            "file.txt/x/y",
            "to-file/x",
            "file.txt/../file.txt",
        ] {
            let text = refused(f.workspace.resolve(path), "FS_NOT_FOUND");
            assert!(
                text.ends_with("a parent segment is not a directory"),
                "{path}: {text}"
            );
        }
        refused(f.workspace.resolve("a\0b"), "FS_NOT_FOUND");
        // The message names the path as it was asked for, not the file that `..` seems to mean.
        for path in ["missing/../file.txt", "file.txt/../file.txt"] {
            let text = refused(f.workspace.resolve(path), "FS_NOT_FOUND");
            assert!(text.contains(&format!("/{path}\"")), "{text}");
        }
        refused(f.workspace.resolve(&"a/".repeat(5000)), "FS_IO_ERROR");
        refused(f.workspace.resolve(&"n".repeat(300)), "FS_IO_ERROR");
    });
}

#[test]
fn deep_paths_resolve() {
    each(|f| {
        let deep = "d/".repeat(400);
        fs::create_dir(f.root().join("d")).unwrap();
        let mut at = rustix::fs::open(
            f.root().join("d"),
            rustix::fs::OFlags::DIRECTORY,
            rustix::fs::Mode::empty(),
        )
        .unwrap();
        for _ in 1..400 {
            rustix::fs::mkdirat(&at, "d", rustix::fs::Mode::from_raw_mode(0o700)).unwrap();
            at = rustix::fs::openat(
                &at,
                "d",
                rustix::fs::OFlags::DIRECTORY,
                rustix::fs::Mode::empty(),
            )
            .unwrap();
        }
        f.link("start", "d");
        let path = format!("start/{}", &deep[2..deep.len() - 1]);
        assert_eq!(f.relative(&path).unwrap(), &deep[..deep.len() - 1]);
        let target = f.workspace.resolve(&path).unwrap();
        assert!(f.workspace.stat(&target, &never).unwrap().is_some());
        drop(at);
    });
}

#[test]
fn f9_containment_is_by_components() {
    each(|f| {
        f.write("ab/c.txt", "");
        f.write("abc.txt", "");
        let resolve = |path: &str| f.workspace.resolve(path).unwrap();
        assert!(resolve("ab").contains(&resolve("ab/c.txt")));
        assert!(resolve("ab").contains(&resolve("ab")));
        assert!(!resolve("ab").contains(&resolve("abc.txt")));
        assert!(!resolve("ab/c.txt").contains(&resolve("ab")));
        assert!(resolve(".").contains(&resolve("new/file")));
    });
}

#[test]
fn f9_uri_and_process_path() {
    each(|f| {
        f.write("a b/ü#?%.txt", "");
        let target = f.workspace.resolve("a b/ü#?%.txt").unwrap();
        let uri = target.file_uri();
        assert!(uri.starts_with("file:///"), "{uri}");
        assert!(uri.ends_with("/root/a%20b/%C3%BC%23%3F%25.txt"), "{uri}");
        assert_eq!(target.process_path(), f.root().join("a b/ü#?%.txt"));
    });
}

#[test]
fn d47_a_read_root_is_reached_by_absolute_paths_only() {
    each(|f| {
        f.write("a.txt", "a");
        f.link("into-spill", f.base().join("outside/a.txt"));
        let spill = f.base().join("outside");
        fs::write(spill.join("secret-link"), "").unwrap();
        fs::remove_file(spill.join("secret-link")).unwrap();
        symlink("../secret.txt", spill.join("secret-link")).unwrap();
        let workspace = f.workspace.clone().with_read_root(&spill).unwrap();
        let path = spill.join("a.txt");
        assert_eq!(read(&workspace, path.to_str().unwrap()).unwrap(), SECRET);
        let target = workspace.resolve(path.to_str().unwrap()).unwrap();
        assert!(!target.is_in_workspace());
        assert_eq!(target.relative().to_str(), Some("a.txt"));
        assert!(workspace.resolve("a.txt").unwrap().is_in_workspace());
        refused(read(&workspace, "into-spill"), "FS_SANDBOX_DENIED");
        refused(read(&workspace, "../outside/a.txt"), "FS_SANDBOX_DENIED");
        refused(
            read(&workspace, spill.join("secret-link").to_str().unwrap()),
            "FS_SANDBOX_DENIED",
        );
        // A target of a richer workspace is no key to a poorer one.
        refused(f.workspace.open_file(&target, &never), "FS_SANDBOX_DENIED");
    });
}

#[test]
fn opening_a_workspace_explains_failure() {
    each(|f| {
        f.write("file", "");
        let open = |path: &str| Workspace::open(f.root().join(path));
        let text = refused(open("missing"), "FS_NOT_FOUND");
        assert!(text.starts_with("cannot open workspace \""), "{text}");
        refused(open("file"), "FS_NOT_DIRECTORY");
        refused(open("file/x"), "FS_NOT_FOUND");
    });
}
