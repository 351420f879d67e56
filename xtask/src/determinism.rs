//! What the crates behind a durable engine may not do by themselves.
//!
//! A worker may be killed at any instant and the same work resumed elsewhere. Time, randomness, identifiers and sleep
//! therefore reach these crates from their host only, and the lowest ones do no I/O at all.

use crate::finding::Finding;
use crate::repository::{File, Package};
use crate::source::Source;

const RULE: &str = "determinism";

const DETERMINISTIC: &[&str] = &["dsh-tools", "dsh-session", "dsh-code", "dsh-agent"];
const WITHOUT_IO: &[&str] = &["dsh-schema", "dsh-context", "dsh-tools", "dsh-rules"];

const CLOCKS: &[&str] = &[
    "SystemTime::now",
    "Instant::now",
    "Utc::now",
    "Local::now",
    "Zoned::now",
    "Timestamp::now",
];
const RANDOM: &[&str] = &[
    "rand",
    "fastrand",
    "getrandom",
    "thread_rng",
    "OsRng",
    "Uuid::new_v4",
    "Uuid::now_v7",
];
const TIMERS: &[&str] = &[
    "tokio::time",
    "thread::sleep",
    "thread::park_timeout",
    "recv_timeout",
    "wait_timeout",
    "wait_timeout_while",
    "futures_timer",
    "async_io::Timer",
];
const IO: &[&str] = &[
    "std::fs",
    "std::net",
    "std::process::Command",
    "std::env::var",
    "env::var_os",
    "tokio::fs",
    "tokio::net",
];

/// Packages whose only purpose is one of the above.
const PACKAGES: &[&str] = &[
    "rand",
    "rand_core",
    "fastrand",
    "getrandom",
    "uuid",
    "chrono",
    "time",
    "jiff",
    "futures-timer",
    "async-io",
];

/// Searches the non-test code of the crates concerned.
pub fn check_sources<'a>(files: impl IntoIterator<Item = &'a File>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files {
        let Some(name) = file.crate_name() else {
            continue;
        };
        let (deterministic, without_io) =
            (DETERMINISTIC.contains(&name), WITHOUT_IO.contains(&name));
        // Tests and example programs stand at the edge, where time and files are real.
        let edge = file.is_test() || file.path.contains("/examples/");
        if !file.is_rust() || edge || !(deterministic || without_io) {
            continue;
        }
        let source = Source::new(&file.text).without_tests();
        let mut report = |paths: &[&str], remedy: &str| {
            for path in paths {
                for offset in source.mentions(path) {
                    let message = format!("`{path}` is not for `{name}`: {remedy}");
                    findings.push(Finding::at(&file.path, source.line(offset), RULE, message));
                }
            }
        };
        if deterministic {
            report(CLOCKS, "take the time from the host");
            report(RANDOM, "take random values and ids from the host");
            report(TIMERS, "let the host sleep");
        }
        if without_io {
            report(IO, "I/O belongs to a higher layer");
        }
    }
    findings
}

/// Looks for packages that would bring clocks, randomness or timers along.
pub fn check_packages(packages: &[Package]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in packages
        .iter()
        .filter(|package| DETERMINISTIC.contains(&package.name.as_str()))
    {
        for dependency in package
            .dependencies
            .iter()
            .filter(|dependency| dependency.kind.is_none())
        {
            if PACKAGES.contains(&dependency.name.as_str()) {
                let message = format!(
                    "`{}` must get by without `{}`; use the host",
                    package.name, dependency.name
                );
                findings.push(Finding::file(
                    &crate::layers::manifest_of(&package.name),
                    RULE,
                    message,
                ));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::Dependency;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check_sources(&[File::new(path, text)])
            .into_iter()
            .map(|finding| finding.line)
            .collect()
    }

    #[test]
    fn clocks_randomness_and_timers_are_found() {
        let text = "fn a() { Instant::now(); }\nfn b() { rand::random(); }\nuse std::thread::{self, sleep};\nfn c() { tokio::time::sleep(d) }";
        assert_eq!(lines("crates/dsh-tools/src/a.rs", text), [1, 2, 4, 3]);
        assert_eq!(
            lines(
                "crates/dsh-agent/src/a.rs",
                "fn a() { std::time::SystemTime::now(); }"
            ),
            [1]
        );
    }

    #[test]
    fn other_crates_may() {
        assert!(lines("crates/dsh-cli/src/main.rs", "fn a() { Instant::now(); }").is_empty());
        assert!(lines("xtask/src/main.rs", "fn a() { Instant::now(); }").is_empty());
    }

    #[test]
    fn tests_and_comments_may() {
        let text = "/// Never calls Instant::now.\nfn a() {}\n#[cfg(test)]\nmod tests { fn b() { Instant::now(); } }";
        assert!(lines("crates/dsh-tools/src/a.rs", text).is_empty());
        assert!(lines("crates/dsh-tools/tests/a.rs", "fn a() { Instant::now(); }").is_empty());
    }

    #[test]
    fn the_lowest_layers_do_no_io() {
        assert_eq!(lines("crates/dsh-schema/src/a.rs", "use std::fs;"), [1]);
        assert_eq!(
            lines(
                "crates/dsh-tools/src/a.rs",
                "use std::{fs::File, sync::Arc};"
            ),
            [1]
        );
        assert!(lines("crates/dsh-session/src/a.rs", "use std::fs;").is_empty());
    }

    #[test]
    fn packages_are_found_by_their_manifest() {
        let dependency = |kind: Option<&str>| Dependency {
            name: "rand".to_owned(),
            kind: kind.map(str::to_owned),
            req: "^0.9".to_owned(),
            path: None,
        };
        let package = |kind| Package {
            name: "dsh-tools".to_owned(),
            version: "0.1.0".to_owned(),
            license: None,
            source: None,
            dependencies: vec![dependency(kind)],
        };
        assert_eq!(check_packages(&[package(None)]).len(), 1);
        assert!(check_packages(&[package(Some("dev"))]).is_empty());
    }
}
