//! Resolution and opening while somebody exchanges directories for links.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod fixture;

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use dsh_workspace::never;
use fixture::{SECRET, each};

const ATTEMPTS: usize = 10_000;

/// Exchanges two names again and again until told to stop; what they name swaps atomically where
/// the system can do that.
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

fn race(path: &str, one: &str, other: &str) {
    each(|f| {
        f.write("dir/sub/a.txt", "mine");
        f.write("spare/a.txt", "mine");
        f.link("evil", "../outside");
        f.link("evil-file", "../secret.txt");
        f.link("dir/evil", "../../outside");
        f.link("good", "dir/sub");
        f.write("plain.txt", "mine");
        let early = f.workspace.resolve("dir/sub/a.txt").unwrap();
        let stop = AtomicBool::new(false);
        let (one, other) = (f.root().join(one), f.root().join(other));
        thread::scope(|threads| {
            threads.spawn(|| exchange(one, other, &stop));
            let _stop = StopOnDrop(&stop);
            // Until both states were really seen: otherwise the race proves nothing.
            let (mut attempts, mut seen, mut missed) = (0, 0, 0);
            while attempts < ATTEMPTS || seen == 0 || missed == 0 {
                attempts += 1;
                match f.read(path) {
                    Ok(text) => {
                        assert_ne!(text, SECRET);
                        assert_eq!(text, "mine");
                        seen += 1;
                    }
                    Err(error) => {
                        let code = error.code().as_str();
                        assert!(
                            matches!(code, "FS_NOT_FOUND" | "FS_SANDBOX_DENIED"),
                            "{error}"
                        );
                        missed += 1;
                    }
                }
                // Judged before, opened now.
                if let Ok(mut file) = f.workspace.open_file(&early, &never) {
                    assert_eq!(file.read_bytes(100, &never).unwrap(), b"mine");
                }
            }
        });
        assert_eq!(
            fs::read_to_string(f.base().join("outside/a.txt")).unwrap(),
            SECRET
        );
    });
}

#[test]
fn a_directory_exchanged_for_a_link_to_outside() {
    race("dir/sub/a.txt", "dir/sub", "dir/evil");
}

#[test]
fn a_first_directory_exchanged_for_a_link_to_outside() {
    race("spare/a.txt", "spare", "evil");
}

#[test]
fn a_file_exchanged_for_a_link_to_outside() {
    race("plain.txt", "plain.txt", "evil-file");
}

#[test]
fn a_good_link_exchanged_for_a_bad_one() {
    race("good/a.txt", "good", "evil");
}

#[test]
fn a_directory_moved_away_while_a_parent_step_is_taken() {
    // The handle of `dir/sub` may end up outside; `..` must not follow it there.
    each(|f| {
        f.write("dir/sub/a.txt", "mine");
        f.write("dir/b.txt", "mine");
        fs::write(f.base().join("b.txt"), SECRET).unwrap();
        fs::create_dir(f.base().join("parked")).unwrap();
        let stop = AtomicBool::new(false);
        let (one, other) = (f.root().join("dir/sub"), f.base().join("parked"));
        fs::write(other.join("a.txt"), "mine").unwrap();
        thread::scope(|threads| {
            threads.spawn(|| exchange(one, other, &stop));
            let _stop = StopOnDrop(&stop);
            // Renames between directories are slow, hence fewer.
            for _ in 0..ATTEMPTS / 10 {
                assert_eq!(f.read("dir/sub/../b.txt").unwrap(), "mine");
            }
        });
    });
}
