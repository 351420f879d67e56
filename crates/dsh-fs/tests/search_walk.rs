//! Which files a search visits, against the walker of `ripgrep` itself, and trees made to hurt.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod tree;

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;

use dsh_fs::glob::{GlobRequest, find_paths};
use dsh_fs::grep::{GrepRequest, find_lines};
use dsh_tools::{Call, Reason, Signal};
use dsh_workspace::never;
use futures_lite::future::{block_on, poll_once};
use ignore::WalkBuilder;
use ignore::overrides::{Override, OverrideBuilder};
use proptest::prelude::*;
use tree::{MAX_BYTES, Runtime, SECRET, Tree, text};

/// The files that `ripgrep`'s own walker visits below `start`, relative to `root`, sorted.
fn reference(root: &Path, start: &str, overrides: Override, everything: bool) -> Vec<String> {
    let mut builder = WalkBuilder::new(root.join(start));
    builder
        .overrides(overrides)
        .hidden(!everything)
        .ignore(!everything)
        .git_ignore(!everything)
        .git_exclude(!everything)
        .git_global(false)
        .parents(!everything);
    if !everything {
        builder.add_custom_ignore_filename(".rgignore");
    }
    let mut files: Vec<String> = builder
        .build()
        .map(Result::unwrap)
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        .map(|entry| {
            let path = entry.path().strip_prefix(root).unwrap();
            path.to_str().unwrap().to_owned()
        })
        .collect();
    files.sort();
    files
}

fn overrides(root: &Path, globs: &[&str]) -> Override {
    let mut builder = OverrideBuilder::new(root);
    for glob in globs {
        builder.add(glob).unwrap();
    }
    builder.build().unwrap()
}

fn rule() -> impl Strategy<Value = String> {
    prop_oneof![
        "!?/?[ab*]{1,2}/?",
        "!?[ab]/[ab*]",
        Just("**/b".to_owned()),
        Just("a/**".to_owned()),
        Just("# comment".to_owned()),
        Just("!.*".to_owned()),
        Just("[".to_owned()),
        Just("*".to_owned()),
    ]
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![8 => "[.]?[ab]{1,2}", 1 => Just("a.b".to_owned())]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// F111, F120: the walk through the workspace is the walk of `ripgrep`.
    #[test]
    fn the_same_files_as_ripgrep(
        files in prop::collection::vec(prop::collection::vec(name(), 1..4), 1..16),
        rules in prop::collection::vec(
            (
                prop::collection::vec(name(), 0..3),
                prop::sample::select(vec![
                    ".ignore", ".gitignore", ".rgignore", ".git/info/exclude", ".git/HEAD", ".jj/x",
                ]),
                prop::collection::vec(rule(), 1..4),
            ),
            0..6,
        ),
        include in prop::option::of(prop_oneof![
            "[ab*]{1,2}", "/[ab*]", "[ab]/[ab*]", Just("**/a/*".to_owned()), Just("a/**".to_owned()),
        ]),
        start in prop::option::of(name()),
    ) {
        let tree = Tree::new();
        let write = |names: &[String], text: &str| {
            let path = tree.root().join(names.join("/"));
            // A file may stand where another needs a directory.
            if fs::create_dir_all(path.parent().unwrap()).is_ok() && !path.exists() {
                fs::write(path, text).unwrap();
            }
        };
        for file in &files {
            write(file, "x");
        }
        for (directory, name, lines) in &rules {
            let mut names = directory.clone();
            names.push((*name).to_owned());
            // Every line of it is found by the search below.
            write(&names, &(lines.join("\n") + "\n"));
        }
        let root = tree.root();
        let start = start.filter(|start| root.join(start).is_dir()).unwrap_or_default();
        let path = (!start.is_empty()).then_some(&*start);
        let include = include.as_deref().filter(|include| !include.starts_with('!'));

        let globs: Vec<&str> = include.iter().copied().collect();
        let mut found = tree.files("^", path, include);
        found.sort();
        let visible = reference(&root, &start, overrides(&root, &globs), false);
        prop_assert_eq!(&found, &visible, "grep in {:?} include {:?}", &path, &include);

        if let Some(pattern) = include {
            let mut found = tree.glob_in(pattern, path).unwrap().paths;
            found.sort();
            let globs = [pattern, "!.git", "!.jj"];
            let all = reference(&root, &start, overrides(&root, &globs), true);
            prop_assert_eq!(&found, &all, "glob {} in {:?}", pattern, &path);
        }
    }
}

#[test]
fn links_are_not_followed() {
    let tree = Tree::new();
    tree.write("dir/a.txt", "found");
    tree.link("dir/loop", "..");
    tree.link("dir/self", "self");
    tree.link("one", "two");
    tree.link("two", "one");
    tree.link("copy", "dir/a.txt");
    tree.link("directory", "dir");
    tree.link("escape", "../outside");
    tree.link("escape.txt", "../outside/a.txt");
    tree.link("absolute", tree.base().join("outside"));
    tree.link("nowhere", "missing");
    let paths = tree.glob_in("*", None).unwrap();
    assert_eq!(
        (paths.paths, paths.skipped),
        (vec!["dir/a.txt".to_owned()], None)
    );
    let lines = tree
        .grep_in(&format!("found|{SECRET}"), None, None)
        .unwrap();
    assert_eq!(lines.matches.len(), 1);
    assert_eq!(lines.skipped, None);
}

#[test]
fn a_link_with_an_impossible_target_blinds_nobody() {
    let tree = Tree::new();
    tree.write("a", "x");
    tree.write("sub/b", "x");
    tree.write("sub/ignored", "x");
    tree.write("rules", "ignored\n");
    tree.link("sub/.ignore", "../rules");
    tree.link("escape", "../outside");
    tree.link("impossible", "n".repeat(300));
    tree.link("sub/impossible", "n".repeat(300));
    let lines = tree.grep_in(&format!("x|{SECRET}"), None, None).unwrap();
    let files: Vec<&str> = lines.matches.iter().map(|found| &*found.path).collect();
    assert_eq!(files, ["a", "sub/b"]);
    let skipped = lines.skipped.unwrap();
    assert_eq!(skipped.total, 2);
    assert!(
        skipped.examples[0].contains("/root/impossible\": "),
        "{skipped:?}"
    );
    assert_eq!(tree.glob("[ab]"), ["a", "sub/b"]);
}

#[test]
fn ignore_files_outside_are_not_read() {
    let tree = Tree::new();
    fs::write(tree.base().join(".ignore"), "*\n").unwrap();
    fs::write(tree.base().join("outside/rules"), "*\n").unwrap();
    tree.write("a", "x");
    tree.link(".ignore", "../outside/rules");
    tree.link(".gitignore", tree.base().join("outside/rules"));
    tree.write(".git/HEAD", "");
    assert_eq!(tree.files("x", None, None), ["a"]);
    // A link inside counts like the file.
    tree.write("rules", "a\n");
    fs::remove_file(tree.root().join(".ignore")).unwrap();
    tree.link(".ignore", "rules");
    assert_eq!(tree.files("x", None, None), [""; 0]);
}

#[test]
fn pipes_sockets_and_devices_are_not_touched() {
    let tree = Tree::new();
    tree.write("a", "x");
    let fifo = tree.root().join("fifo");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let _socket = UnixListener::bind(tree.root().join("socket")).unwrap();
    tree.link("device", "/dev/zero");
    // An ignore file that would never end.
    tree.write("sub/b", "x");
    fs::rename(&fifo, tree.root().join("sub/.ignore")).unwrap();
    assert_eq!(tree.glob("*"), ["a", "sub/b"]);
    assert_eq!(tree.files("x", None, None), ["a", "sub/b"]);
    let refused = tree.grep_in("x", Some("sub/.ignore"), None).unwrap_err();
    assert_eq!(refused.code(), "SEARCH_FAILED");
    assert!(
        refused.to_string().ends_with("not a regular file"),
        "{refused}"
    );
}

#[test]
fn what_cannot_be_read_is_noted_and_the_search_goes_on() {
    let tree = Tree::new();
    tree.write("closed/a", "x");
    tree.write("secret", "x");
    tree.write("z", "x");
    let closed = |path: &str, mode| {
        fs::set_permissions(tree.root().join(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    closed("closed", 0o000);
    closed("secret", 0o000);
    if fs::read(tree.root().join("secret")).is_ok() {
        // Nothing is closed to this user.
        closed("closed", 0o700);
        return;
    }
    let root = tree.root().to_str().unwrap().to_owned();
    let found = tree.grep_in("x", None, None).unwrap();
    assert_eq!(found.matches.len(), 1);
    let skipped = found.skipped.unwrap();
    assert_eq!(
        (skipped.total, &*skipped.examples),
        (
            2,
            &[
                format!("cannot list \"{root}/closed\": permission denied"),
                format!("cannot read \"{root}/secret\": permission denied")
            ][..]
        )
    );
    assert_eq!(tree.glob_in("*", None).unwrap().skipped.unwrap().total, 1);
    let refused = tree.grep_in("x", Some("secret"), None).unwrap_err();
    assert_eq!(refused.code(), "SEARCH_FAILED");
    closed("closed", 0o700);
}

#[test]
fn a_line_that_is_too_long_is_noted() {
    let tree = Tree::new();
    tree.write("a", "x\n");
    tree.write("b", vec![b'y'; 40 * 1024 * 1024]);
    tree.write("c", "x\n");
    let runtime = Runtime::new(&tree, "{}");
    let root = tree.root().to_str().unwrap().to_owned();
    assert_eq!(
        runtime.text("grep", r#"{"pattern":"x"}"#),
        format!(
            "Found 2 matches\n\na\nLine 1: x\n\nc\nLine 1: x\n\n(1 place could not be searched: \
             cannot search \"{root}/b\": a line is too long)"
        )
    );
    assert_eq!(
        runtime.text("grep", r#"{"pattern":"z"}"#),
        format!(
            "No matches found\n\n(1 place could not be searched: cannot search \"{root}/b\": a \
             line is too long)"
        )
    );
    let direct = runtime.call("grep", r#"{"pattern":"z","path":"b"}"#);
    assert_eq!(direct.outcome().code(), Some("SEARCH_FAILED"));
}

#[test]
fn a_deep_tree_ends_where_paths_end() {
    let tree = Tree::new();
    // By relative steps, since the whole path is longer than a path may be.
    let mut directory = rustix::fs::open(
        tree.root(),
        rustix::fs::OFlags::PATH | rustix::fs::OFlags::DIRECTORY,
        rustix::fs::Mode::empty(),
    )
    .unwrap();
    for _ in 0..3000 {
        let mode = rustix::fs::Mode::from_raw_mode(0o700);
        rustix::fs::mkdirat(&directory, "d", mode).unwrap();
        directory = rustix::fs::openat(
            &directory,
            "d",
            rustix::fs::OFlags::PATH | rustix::fs::OFlags::DIRECTORY,
            rustix::fs::Mode::empty(),
        )
        .unwrap();
    }
    tree.write("d/d/d/found", "x");
    let paths = tree.glob_in("*", None).unwrap();
    assert_eq!(paths.paths, ["d/d/d/found"]);
    assert_eq!(paths.skipped.unwrap().examples, ["a path is too long"]);
    let lines = tree.grep_in("x", None, None).unwrap();
    assert_eq!((lines.matches.len(), lines.skipped.unwrap().total), (1, 1));
}

#[test]
fn ten_thousand_files() {
    let tree = Tree::new();
    for directory in 0..100 {
        fs::create_dir(tree.root().join(format!("d{directory:02}"))).unwrap();
        for file in 0..100 {
            tree.write(format!("d{directory:02}/f{file:02}"), "needle\nhay\n");
        }
    }
    let runtime = Runtime::new(&tree, "{}");
    let globbed = runtime.call("glob", r#"{"pattern":"f*"}"#);
    let paths = globbed.outcome().value().unwrap().to_value();
    assert_eq!(paths["paths"].as_array().unwrap().len(), 10_000);
    let text_of = text(&globbed);
    assert!(
        text_of.contains(
            "(Showing 100 of 10000 paths, taken in turn from 100 of 100 top-level entries. "
        ),
        "{text_of}"
    );
    let grepped = runtime.text("grep", r#"{"pattern":"needle"}"#);
    assert!(
        grepped.starts_with("Found 250 of 10000 matches\n\nd00/f00\nLine 1: needle\n\nd00/f01\n")
    );
    let durable = runtime
        .call("grep", r#"{"pattern":"needle"}"#)
        .outcome()
        .durable();
    assert!(durable.meta.unwrap().to_json().len() <= 65_536);
}

#[test]
fn f133_every_step_asks_whether_to_go_on() {
    let tree = Tree::new();
    tree.write(".ignore", "ignored\n");
    tree.write("a/b/c", "x\n".repeat(100_000));
    tree.write("d", "x");
    let globs = GlobRequest::new("*", None).unwrap();
    let greps = GrepRequest::new("x", Some("a/.."), None).unwrap();
    let (mut glob_steps, mut grep_steps) = (0, 0);
    // Interrupted at the first question, the second, and so on, until nothing is left to ask.
    for limit in 0.. {
        let asked = Cell::new(0);
        let interrupt = || {
            asked.set(asked.get() + 1);
            asked.get() > limit
        };
        match find_paths(&tree.workspace, &globs, MAX_BYTES, &interrupt) {
            Ok(_) => break,
            Err(error) => assert_eq!(error.code(), "SEARCH_ABORTED", "{limit}"),
        }
        glob_steps = limit;
    }
    assert!(glob_steps > 8, "{glob_steps}");
    for limit in 0..400 {
        let asked = Cell::new(0);
        let interrupt = || {
            asked.set(asked.get() + 1);
            asked.get() > limit
        };
        let error = find_lines(&tree.workspace, &greps, MAX_BYTES, &interrupt).unwrap_err();
        assert_eq!(error.code(), "SEARCH_ABORTED", "{limit}");
        grep_steps = limit;
    }
    assert_eq!(grep_steps, 399);
}

#[test]
fn d14_a_call_that_is_cancelled_while_it_searches_ends() {
    let tree = Tree::new();
    // Text, then a hole: with text in front of it the first buffer has no NUL.
    tree.write("lines", "y\n".repeat(1 << 20));
    let path = tree.root().join("lines");
    for index in 0..64 {
        fs::hard_link(&path, tree.root().join(format!("copy-{index}"))).unwrap();
    }
    let runtime = Runtime::new(&tree, "{}");
    // Slow on purpose.
    let arguments = r#"{"pattern":"(?i)[a-z]*[a-z]*[a-z]*x"}"#;
    let (canceller, signal) = Signal::pair();
    let call = runtime
        .tools
        .execute(Call::new("1", "grep", arguments, signal));
    let settled = block_on(async {
        let mut call = std::pin::pin!(call);
        assert!(poll_once(call.as_mut()).await.is_none());
        canceller.cancel(Reason::Cancelled);
        call.await
    });
    assert_eq!(settled.outcome().code(), Some("SEARCH_ABORTED"));
    assert_eq!(text(&settled), "Error: search aborted");
}

#[test]
fn an_order_of_files_is_a_function_of_the_tree() {
    let tree = Tree::new();
    for path in ["b/a", "a.b", "a/z", "A", "a-b", "é", "10", "9"] {
        tree.write(path, "x");
    }
    let wanted = ["10", "9", "A", "a/z", "a-b", "a.b", "b/a", "é"];
    let found: Vec<String> = find_lines(
        &tree.workspace,
        &GrepRequest::new("x", None, None).unwrap(),
        MAX_BYTES,
        &never,
    )
    .unwrap()
    .matches
    .iter()
    .map(|found| found.path.to_string())
    .collect();
    assert_eq!(found, wanted);
}
