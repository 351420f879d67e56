//! Where dependencies come from and under which licences; `deny.toml` is the one place that says what is allowed.

use spdx::{Expression, LicenseItem, ParseMode};
use toml::{Table, Value};

use crate::finding::Finding;
use crate::repository::{Package, Repository};

const RULE: &str = "supply";
const POLICY: &str = "deny.toml";
const LOCK: &str = "Cargo.lock";

/// What `deny.toml` allows.
#[derive(Debug, Default)]
struct Policy {
    licences: Vec<String>,
    /// Licences allowed for single packages.
    exceptions: Vec<(String, Vec<String>)>,
    registries: Vec<String>,
}

/// Compares the dependency graph of this platform and the whole lock file with `deny.toml`.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    let Some(file) = repository.file(POLICY) else {
        return vec![Finding::file(
            POLICY,
            RULE,
            "is missing; it says which licences and sources are allowed",
        )];
    };
    let policy = match file.text.parse::<Table>() {
        Ok(table) => Policy::read(&table),
        Err(error) => {
            return vec![Finding::file(
                POLICY,
                RULE,
                format!("cannot be read: {error}"),
            )];
        }
    };
    for package in &repository.packages {
        if let Err(message) = policy.licence(package) {
            findings.push(Finding::file(POLICY, RULE, message));
        }
        wildcards(package, &mut findings);
    }
    if let Some(lock) = repository.file(LOCK) {
        sources(&lock.text, &policy, &mut findings);
    }
    findings
}

impl Policy {
    fn read(table: &Table) -> Self {
        let licences = table.get("licenses");
        let exceptions = licences
            .and_then(|table| table.get("exceptions"))
            .and_then(Value::as_array);
        let exception = |value: &Value| {
            let name = value.get("crate").or_else(|| value.get("name"))?.as_str()?;
            Some((name.to_owned(), texts(value.get("allow"))))
        };
        Self {
            licences: texts(licences.and_then(|table| table.get("allow"))),
            exceptions: exceptions
                .into_iter()
                .flatten()
                .filter_map(exception)
                .collect(),
            registries: texts(
                table
                    .get("sources")
                    .and_then(|table| table.get("allow-registry")),
            ),
        }
    }

    fn licence(&self, package: &Package) -> Result<(), String> {
        let Package {
            name,
            version,
            license,
            ..
        } = package;
        let text = license
            .as_deref()
            .ok_or_else(|| format!("`{name}` {version} names no licence"))?;
        let expression = Expression::parse_mode(text, ParseMode::LAX)
            .map_err(|_| format!("`{name}` {version} has the unreadable licence `{text}`"))?;
        let own = self
            .exceptions
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, allowed)| allowed.as_slice());
        let allowed = |requirement: &spdx::LicenseReq| {
            let licence = match &requirement.license {
                LicenseItem::Spdx { id, .. } => id.name.to_owned(),
                other => other.to_string(),
            };
            let licence = match &requirement.addition {
                Some(addition) => format!("{licence} WITH {addition}"),
                None => licence,
            };
            self.licences
                .iter()
                .chain(own.into_iter().flatten())
                .any(|known| *known == licence)
        };
        if expression.evaluate(allowed) {
            Ok(())
        } else {
            Err(format!(
                "`{name}` {version} is under `{text}`, which `[licenses]` does not allow; choose another crate"
            ))
        }
    }
}

fn texts(value: Option<&Value>) -> Vec<String> {
    let texts = value.and_then(Value::as_array).into_iter().flatten();
    texts.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn wildcards(package: &Package, findings: &mut Vec<Finding>) {
    if package.source.is_some() {
        return;
    }
    for dependency in package
        .dependencies
        .iter()
        .filter(|dependency| dependency.path.is_none() && dependency.req == "*")
    {
        let message = format!(
            "`{}` takes any version of `{}`; name one",
            package.name, dependency.name
        );
        findings.push(Finding::file(
            &crate::layers::manifest_of(&package.name),
            RULE,
            message,
        ));
    }
}

fn sources(lock: &str, policy: &Policy, findings: &mut Vec<Finding>) {
    let table: Table = match lock.parse() {
        Ok(table) => table,
        Err(error) => {
            return findings.push(Finding::file(
                LOCK,
                RULE,
                format!("cannot be read: {error}"),
            ));
        }
    };
    for package in table
        .get("package")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let text = |key: &str| package.get(key).and_then(Value::as_str);
        let name = text("name").unwrap_or_default();
        // Packages of this repository have no source.
        let Some(source) = text("source") else {
            continue;
        };
        if !source
            .strip_prefix("registry+")
            .is_some_and(|index| policy.registries.iter().any(|known| known == index))
        {
            let message = format!(
                "`{name}` comes from `{source}`, which `[sources]` of `{POLICY}` does not allow"
            );
            findings.push(Finding::file(LOCK, RULE, message));
        } else if text("checksum").is_none() {
            findings.push(Finding::file(
                LOCK,
                RULE,
                format!("`{name}` has no checksum"),
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::{Dependency, File};

    const DENY: &str = "[licenses]\nallow = [\"MIT\", \"Apache-2.0\", \"Apache-2.0 WITH LLVM-exception\"]\n\
        exceptions = [{ crate = \"odd\", allow = [\"Zlib\"] }]\n[sources]\nallow-registry = [\"https://index\"]\n";

    fn package(name: &str, licence: Option<&str>) -> Package {
        Package {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            license: licence.map(str::to_owned),
            source: Some("registry".to_owned()),
            dependencies: Vec::new(),
        }
    }

    fn messages(packages: Vec<Package>, lock: &str) -> Vec<String> {
        let files = vec![File::new(LOCK, lock), File::new(POLICY, DENY)];
        check(&Repository::new(files, packages))
            .into_iter()
            .map(|finding| finding.message)
            .collect()
    }

    #[test]
    fn one_allowed_alternative_is_enough() {
        for licence in [
            "MIT",
            "MIT OR GPL-3.0-only",
            "MIT/Apache-2.0",
            "MIT AND Apache-2.0",
            "Apache-2.0 WITH LLVM-exception",
        ] {
            assert_eq!(
                messages(vec![package("a", Some(licence))], ""),
                Vec::<String>::new(),
                "{licence}"
            );
        }
        assert!(messages(vec![package("odd", Some("Zlib"))], "").is_empty());
    }

    #[test]
    fn everything_else_is_reported() {
        for licence in [
            None,
            Some("GPL-3.0-only"),
            Some("MIT AND GPL-3.0-only"),
            Some("Zlib"),
            Some("my own"),
        ] {
            assert_eq!(
                messages(vec![package("a", licence)], "").len(),
                1,
                "{licence:?}"
            );
        }
    }

    #[test]
    fn every_source_is_an_allowed_registry() {
        let lock = |source: &str, rest: &str| {
            format!("[[package]]\nname = \"a\"\nversion = \"1.0.0\"\n{source}\n{rest}")
        };
        let checksum = "checksum = \"00\"";
        assert!(messages(Vec::new(), &lock("", "")).is_empty());
        assert!(
            messages(
                Vec::new(),
                &lock("source = \"registry+https://index\"", checksum)
            )
            .is_empty()
        );
        assert_eq!(
            messages(Vec::new(), &lock("source = \"registry+https://index\"", "")),
            ["`a` has no checksum"]
        );
        assert_eq!(
            messages(
                Vec::new(),
                &lock("source = \"git+https://index\"", checksum)
            )
            .len(),
            1
        );
        assert_eq!(
            messages(
                Vec::new(),
                &lock("source = \"registry+https://other\"", checksum)
            )
            .len(),
            1
        );
    }

    #[test]
    fn any_version_is_no_version() {
        let mut own = package("dsh-fs", Some("MIT"));
        own.source = None;
        let any = Dependency {
            name: "b".to_owned(),
            kind: None,
            req: "*".to_owned(),
            path: None,
        };
        own.dependencies = vec![
            any.clone(),
            Dependency {
                path: Some("x".to_owned()),
                ..any
            },
        ];
        assert_eq!(
            messages(vec![own], ""),
            ["`dsh-fs` takes any version of `b`; name one"]
        );
    }
}
