//! Searching while somebody exchanges directories and files for links to outside.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod tree;

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tree::{SECRET, Tree};

/// Rounds at least; more until both states were seen.
const ROUNDS: usize = 500;

/// Exchanges two names again and again until told to stop; atomically where the system can.
fn exchange(one: PathBuf, other: PathBuf, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        #[cfg(target_os = "linux")]
        rustix::fs::renameat_with(
            rustix::fs::CWD,
            &one,
            rustix::fs::CWD,
            &other,
            rustix::fs::RenameFlags::EXCHANGE,
        )
        .unwrap();
        #[cfg(not(target_os = "linux"))]
        {
            let aside = one.with_extension("aside");
            fs::rename(&one, &aside).unwrap();
            fs::rename(&other, &one).unwrap();
            fs::rename(&aside, &other).unwrap();
        }
    }
}

/// Ends the exchanging thread, also when an assertion fails.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn race(one: &str, other: &str, path: Option<&str>) {
    let tree = Tree::new();
    tree.write("dir/sub/a.txt", "mine");
    tree.write("dir/b.txt", "mine");
    tree.write("plain.txt", "mine");
    tree.link("evil", "../outside");
    tree.link("evil-file", "../outside/a.txt");
    tree.link("dir/evil", "../../outside");
    // What the outside has and the inside has not.
    fs::write(tree.base().join("outside/only-outside.txt"), SECRET).unwrap();
    let stop = AtomicBool::new(false);
    let (one, other) = (tree.root().join(one), tree.root().join(other));
    thread::scope(|threads| {
        threads.spawn(|| exchange(one, other, &stop));
        let _stop = StopOnDrop(&stop);
        let (mut rounds, mut whole, mut partial) = (0, 0, 0);
        while rounds < ROUNDS || whole == 0 || partial == 0 {
            rounds += 1;
            let found = match tree.grep_in("mine|secret", path, None) {
                Ok(found) => found,
                Err(error) => {
                    let code = error.code();
                    assert!(
                        matches!(code, "SEARCH_FAILED" | "FS_SANDBOX_DENIED"),
                        "{error}"
                    );
                    partial += 1;
                    continue;
                }
            };
            for found in &found.matches {
                assert_eq!(found.line, "mine", "{}", found.path);
            }
            // With the exchange in between a file may be seen at neither or at both of its names.
            let wanted = if path.is_some() { 1 } else { 3 };
            if found.matches.len() >= wanted {
                whole += 1;
            } else {
                partial += 1;
            }
            if let Ok(paths) = tree.glob_in("*", path) {
                let outside = paths.paths.iter().any(|path| path.contains("only-outside"));
                assert!(!outside, "{:?}", paths.paths);
            }
        }
    });
}

#[test]
fn a_directory_exchanged_for_a_link_to_outside() {
    race("dir/sub", "dir/evil", None);
}

#[test]
fn a_first_directory_exchanged_for_a_link_to_outside() {
    race("dir", "evil", Some("dir/sub"));
}

#[test]
fn a_file_exchanged_for_a_link_to_outside() {
    race("plain.txt", "evil-file", Some("plain.txt"));
}
