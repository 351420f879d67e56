//! What every crate of the workspace has: a description, inherited metadata and lints, a header, a line in the list.

use toml::{Table, Value};

use crate::finding::Finding;
use crate::repository::{File, Repository};

const RULE: &str = "manifest";
const HEADER: &str = "header";
const LIST: &str = "crates/README.md";

/// The crates that may hold `unsafe` code, and so have lints of their own: the workspace's cannot be relaxed in places.
const UNSAFE_ALLOWED: &[&str] = &["dsh-code-quickjs"];

const INHERITED: &[&str] = &["version", "edition", "rust-version", "license", "publish"];

/// Checks every manifest of the workspace, and that `crates/README.md` has one line for each crate.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut crates = Vec::new();
    for file in &repository.files {
        let Some(folder) = file.path.strip_suffix("/Cargo.toml") else {
            continue;
        };
        if folder == "compare" {
            continue;
        }
        manifest(file, &mut findings);
        header(repository, folder, &mut findings);
        if let Some(name) = folder.strip_prefix("crates/") {
            crates.push(name);
        }
    }
    list(repository.file(LIST), &crates, &mut findings);
    findings
}

fn manifest(file: &File, findings: &mut Vec<Finding>) {
    let mut report = |message: String| findings.push(Finding::file(&file.path, RULE, message));
    let table: Table = match file.text.parse() {
        Ok(table) => table,
        Err(error) => return report(format!("not a manifest: {error}")),
    };
    let package = table.get("package").and_then(Value::as_table);
    let Some(package) = package else {
        return report("has no `[package]`".to_owned());
    };
    if package
        .get("description")
        .and_then(Value::as_str)
        .is_none_or(str::is_empty)
    {
        report("`description` is missing; one line, what the crate owns".to_owned());
    }
    for key in INHERITED {
        if !inherits(package.get(*key)) {
            report(format!("write `{key}.workspace = true`"));
        }
    }
    let lints = table.get("lints");
    let own = UNSAFE_ALLOWED
        .iter()
        .any(|name| file.path == format!("crates/{name}/Cargo.toml"));
    if own && !denies_unsafe(lints) {
        report("deny `unsafe_code` and `undocumented_unsafe_blocks`".to_owned());
    }
    if !own && !inherits(lints) {
        report("write `workspace = true` under `[lints]`".to_owned());
    }
    for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
        for (name, dependency) in table
            .get(kind)
            .and_then(Value::as_table)
            .into_iter()
            .flatten()
        {
            if !inherits(Some(dependency)) {
                report(format!(
                    "take `{name}` from `[workspace.dependencies]`, so that its version stands in one place"
                ));
            }
        }
    }
}

/// Whether lints refuse `unsafe` where it is not allowed by name, and `unsafe` without a reason.
fn denies_unsafe(lints: Option<&Value>) -> bool {
    let level = |tool: &str, lint: &str| lints?.get(tool)?.get(lint)?.as_str();
    level("rust", "unsafe_code") == Some("deny")
        && level("clippy", "undocumented_unsafe_blocks").is_some()
}

fn inherits(value: Option<&Value>) -> bool {
    value
        .and_then(|value| value.get("workspace"))
        .and_then(Value::as_bool)
        == Some(true)
}

/// The header tells what a crate owns; a person starts reading there.
fn header(repository: &Repository, folder: &str, findings: &mut Vec<Finding>) {
    let roots = ["lib.rs", "main.rs"].map(|name| repository.file(&format!("{folder}/src/{name}")));
    if roots.iter().all(Option::is_none) {
        findings.push(Finding::file(
            &format!("{folder}/Cargo.toml"),
            HEADER,
            "has neither `src/lib.rs` nor `src/main.rs`",
        ));
    }
    for file in roots.into_iter().flatten() {
        let first = file.text.lines().next().unwrap_or_default();
        let told = first
            .strip_prefix("//! ")
            .is_some_and(|text| !text.trim_start().starts_with("Placeholder"));
        if !told {
            findings.push(Finding::at(
                &file.path,
                1,
                HEADER,
                "start the file with `//! ` and what it is for",
            ));
        }
    }
}

fn list(file: Option<&File>, crates: &[&str], findings: &mut Vec<Finding>) {
    let Some(file) = file else {
        findings.push(Finding::file(
            LIST,
            RULE,
            "is missing; it lists each crate with one line",
        ));
        return;
    };
    let listed = |line: &str| Some(line.strip_prefix("| [`")?.split_once("`]")?.0.to_owned());
    let names: Vec<_> = file.text.lines().filter_map(listed).collect();
    for name in crates
        .iter()
        .filter(|name| !names.iter().any(|listed| listed == *name))
    {
        findings.push(Finding::file(LIST, RULE, format!("`{name}` has no line")));
    }
    for name in names.iter().filter(|name| !crates.contains(&name.as_str())) {
        findings.push(Finding::file(
            LIST,
            RULE,
            format!("`{name}` does not exist"),
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "[package]\nname = \"a\"\ndescription = \"d\"\nversion.workspace = true\nedition.workspace = true\n\
        rust-version.workspace = true\nlicense.workspace = true\npublish.workspace = true\n[lints]\nworkspace = true\n\
        [dependencies]\nserde.workspace = true\nclap = { workspace = true, optional = true }\n";

    fn messages(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> = files
            .iter()
            .map(|(path, text)| File::new(path, text))
            .collect();
        check(&Repository::new(files, Vec::new()))
            .into_iter()
            .map(|finding| finding.message)
            .collect()
    }

    fn with_manifest(manifest: &str) -> Vec<String> {
        messages(&[
            ("crates/a/Cargo.toml", manifest),
            ("crates/a/src/lib.rs", "//! Owns a."),
            (LIST, "| [`a`](a) | does |"),
        ])
    }

    #[test]
    fn a_complete_crate_passes() {
        assert_eq!(with_manifest(GOOD), Vec::<String>::new());
    }

    #[test]
    fn every_part_of_a_manifest_is_wanted() {
        for line in GOOD
            .lines()
            .filter(|line| line.ends_with(".workspace = true") && !line.starts_with("serde"))
        {
            let key = line.trim_end_matches(".workspace = true");
            assert_eq!(
                with_manifest(&GOOD.replace(&format!("\n{line}\n"), "\n")),
                [format!("write `{key}.workspace = true`")]
            );
        }
        assert_eq!(
            with_manifest(&GOOD.replace("[lints]", "[other]")),
            ["write `workspace = true` under `[lints]`"]
        );
        assert_eq!(with_manifest(&GOOD.replace("\"d\"", "\"\"")).len(), 1);
        assert_eq!(
            with_manifest(&GOOD.replace("serde.workspace = true", "serde = \"1\"")).len(),
            1
        );
        assert_eq!(with_manifest("[workspace]"), ["has no `[package]`"]);
    }

    #[test]
    fn a_crate_with_unsafe_code_has_lints_of_its_own() {
        let path = format!("crates/{}/Cargo.toml", UNSAFE_ALLOWED[0]);
        let line = format!("| [`{0}`]({0}) | does |", UNSAFE_ALLOWED[0]);
        let root = format!("crates/{}/src/lib.rs", UNSAFE_ALLOWED[0]);
        let with_lints = |lints: &str| {
            let manifest = GOOD.replace("[lints]\nworkspace = true", lints);
            messages(&[
                (path.as_str(), manifest.as_str()),
                (root.as_str(), "//! Owns a."),
                (LIST, line.as_str()),
            ])
        };
        let strict = "[lints.rust]\nunsafe_code = \"deny\"\n[lints.clippy]\nundocumented_unsafe_blocks = \"warn\"";
        assert_eq!(with_lints(strict), Vec::<String>::new());
        let lax = strict.replace("deny", "allow");
        assert_eq!(
            with_lints(&lax),
            ["deny `unsafe_code` and `undocumented_unsafe_blocks`"]
        );
    }

    #[test]
    fn every_crate_tells_what_it_is() {
        for header in ["", "mod a;", "//! Placeholder header."] {
            let found = messages(&[
                ("crates/a/Cargo.toml", GOOD),
                ("crates/a/src/lib.rs", header),
                (LIST, "| [`a`](a) | |"),
            ]);
            assert_eq!(
                found,
                ["start the file with `//! ` and what it is for"],
                "{header}"
            );
        }
        let found = messages(&[("crates/a/Cargo.toml", GOOD), (LIST, "| [`a`](a) | |")]);
        assert_eq!(found, ["has neither `src/lib.rs` nor `src/main.rs`"]);
    }

    #[test]
    fn the_list_has_each_crate_once() {
        let files = [
            ("crates/a/Cargo.toml", GOOD),
            ("crates/a/src/lib.rs", "//! Owns a."),
        ];
        assert_eq!(
            messages(&files),
            ["is missing; it lists each crate with one line"]
        );
        assert_eq!(
            messages(&[files[0], files[1], (LIST, "| [`b`](b) | |")]),
            ["`a` has no line", "`b` does not exist"]
        );
    }
}
