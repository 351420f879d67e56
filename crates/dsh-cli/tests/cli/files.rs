//! Files that are not what `read` is for, and places it must not reach.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::time::Instant;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::fixture::{Place, check};

const FIVE_GB: u64 = 5_000_000_000;

#[test]
fn what_is_no_text_file() {
    let place = Place::new();
    std::fs::create_dir(place.path("directory")).unwrap();
    mknodat(
        CWD,
        place.path("pipe"),
        FileType::Fifo,
        Mode::RUSR | Mode::WUSR,
        0,
    )
    .unwrap();
    let _listener = UnixListener::bind(place.path("socket")).unwrap();
    place
        .file("latin1.txt", b"caf\xe9\n")
        .file("utf16.txt", b"\xff\xfea\0b\0")
        .file("late.txt", {
            let mut late = vec![b'x'; 70_000];
            late.push(0xff);
            late
        });
    place
        .file("mark.txt", "\u{feff}one\n")
        .file("empty.txt", "");
    check(
        &place,
        "files-not-text",
        &[
            &["call", "read", "file_path=missing.txt"],
            &["call", "read", "file_path=directory"],
            &["call", "read", "file_path=."],
            &["call", "read", "file_path=pipe"],
            &["call", "read", "file_path=socket"],
            &["call", "read", "file_path=latin1.txt"],
            &["call", "read", "file_path=utf16.txt"],
            &["call", "read", "file_path=late.txt"],
            &["call", "read", "file_path=empty.txt/below"],
            &["call", "read", "file_path=mark.txt"],
            &["call", "read", "file_path=empty.txt"],
        ],
    );
}

#[test]
fn a_hole_of_five_gigabytes_is_binary_at_once() {
    let place = Place::new();
    place.sparse("hole", "", FIVE_GB);
    let start = Instant::now();
    let run = place.run(&["call", "read", "file_path=hole"]);
    assert_eq!(
        run.stdout,
        "Error: cannot read \"[root]/hole\": binary file\n"
    );
    assert_eq!(run.status, "1");
    // Reading all of it takes many times as long, and a loaded machine has room enough.
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
}

#[test]
fn paths_that_lead_out() {
    let place = Place::new();
    let outside = Place::new();
    outside.file("secret.txt", "secret\n");
    place.file("a.txt", "one\n");
    symlink(outside.path("secret.txt"), place.path("out")).unwrap();
    symlink(outside.path(""), place.path("outdir")).unwrap();
    symlink("a.txt", place.path("in")).unwrap();
    symlink("nowhere", place.path("dangling")).unwrap();
    symlink("loop", place.path("loop")).unwrap();
    let absolute = format!("file_path={}", place.path("a.txt").display());
    let run = place.run(&["call", "read", &absolute]);
    assert_eq!(run.status, "0", "{run}");
    let secret = format!("file_path={}", outside.path("secret.txt").display());
    let run = place.run(&["call", "read", &secret]);
    assert_eq!(run.status, "1", "{run}");
    assert!(
        run.stdout.ends_with(": outside the workspace \"[root]\"\n"),
        "{run}"
    );
    check(
        &place,
        "paths-that-lead-out",
        &[
            &["call", "read", "file_path=/etc/passwd"],
            &["call", "read", "file_path=../../../../etc/passwd"],
            &["call", "read", "file_path=out"],
            &["call", "read", "file_path=outdir/secret.txt"],
            &["call", "read", "file_path=outdir/missing.txt", "--json"],
            &["call", "read", "file_path=in"],
            &["call", "read", "file_path=dangling"],
            &["call", "read", "file_path=loop"],
            &["call", "read", "file_path=missing/../a.txt"],
        ],
    );
}
