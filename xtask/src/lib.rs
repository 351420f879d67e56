//! Rules of the repository, as code.
//!
//! `cargo test` runs them, so that nothing about the repository is true by habit only. `cargo run -p xtask -- tidy` runs
//! them alone.
//!
//! Each module holds one rule, or a few about the same thing, as a function from files and packages to [`Finding`]s; none
//! reads anything itself. [`Repository::read`] does all the reading. Start with [`layers`], which holds the order of the
//! crates.

pub mod containment;
pub mod determinism;
pub mod error_pages;
pub mod finding;
pub mod layers;
pub mod layout;
pub mod links;
pub mod manifests;
pub mod repository;
pub mod source;
pub mod supply;
pub mod wording;

pub use finding::Finding;
pub use repository::Repository;

/// Runs every check and returns what they found, sorted by place.
pub fn tidy(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(layers::check(&repository.packages));
    findings.extend(containment::check(&repository.files));
    findings.extend(determinism::check_sources(repository.crate_sources()));
    findings.extend(determinism::check_packages(&repository.packages));
    findings.extend(layout::check(&repository.files));
    findings.extend(manifests::check(repository));
    findings.extend(error_pages::check(repository));
    findings.extend(wording::check(&repository.files));
    findings.extend(links::check(repository));
    findings.extend(supply::check(repository));
    findings.sort();
    findings.dedup();
    findings
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::repository::{File, Package};

    /// A check that is written but not called would guard nothing.
    #[test]
    fn every_check_is_part_of_tidy() {
        let package = |name: &str, license: &str| Package {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            license: Some(license.to_owned()),
            source: None,
            dependencies: Vec::new(),
        };
        let files = vec![
            File::new(
                "Cargo.lock",
                "[[package]]\nname = \"a\"\nsource = \"git+x\"\n",
            ),
            File::new("crates/dsh-tools/Cargo.toml", "[package]"),
            File::new(
                "crates/dsh-tools/src/codes.rs",
                "pub const A_B: &str = \"A_B\";",
            ),
            File::new(
                "crates/dsh-tools/src/lib.rs",
                "mod utils; fn a() { Instant::now(); catch_unwind(b); }",
            ),
            File::new("crates/dsh-tools/src/lane.rs", &"x".repeat(40_000)),
            File::new("crates/dsh-tools/tests/a.rs", "#[ignore]"),
            File::new("deny.toml", ""),
            File::new("docs/a.md", concat!("[x](y.md) /wo", "rk/")),
        ];
        let repository = Repository::new(files, vec![package("dsh-new", "GPL-3.0-only")]);
        let rules: BTreeSet<_> = tidy(&repository)
            .into_iter()
            .map(|finding| finding.rule)
            .collect();
        let all = [
            "containment",
            "determinism",
            "error-page",
            "header",
            "layer",
            "link",
            "manifest",
            "name",
            "size",
            "supply",
            "test",
            "wording",
        ];
        assert_eq!(rules, BTreeSet::from(all));
    }
}
