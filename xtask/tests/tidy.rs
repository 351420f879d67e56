//! The repository keeps its own rules.

use std::fmt::Write;
use std::path::Path;

use xtask::{Repository, layers, tidy};

fn repository() -> Repository {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask lies below the root");
    Repository::read(root).expect("the repository can be read")
}

#[test]
fn the_repository_is_tidy() {
    let findings = tidy(&repository());
    let list = findings.iter().fold(String::new(), |mut list, finding| {
        let _ = writeln!(list, "{finding}");
        list
    });
    assert!(findings.is_empty(), "{} findings:\n{list}", findings.len());
}

/// Guards the guard: a reader that sees no files would find nothing to complain about.
#[test]
fn the_repository_is_seen_whole() {
    let repository = repository();
    for path in [
        "Cargo.toml",
        "deny.toml",
        ".ci/run",
        "crates/dsh-tools/src/lib.rs",
        "docs/errors/README.md",
    ] {
        assert!(repository.file(path).is_some(), "{path}");
    }
    assert!(
        repository
            .files
            .iter()
            .all(|file| !file.path.starts_with("target/") && !file.path.starts_with(".git/"))
    );
    assert!(
        repository
            .packages
            .iter()
            .any(|package| package.name == "serde_json")
    );
    let own = repository
        .packages
        .iter()
        .filter(|package| package.source.is_none());
    assert!(
        own.clone().count() > 5
            && own
                .clone()
                .all(|package| layers::layer(&package.name).is_some())
    );
}
