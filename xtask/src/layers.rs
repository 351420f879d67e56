//! The order of the crates: a crate depends on lower layers only.
//!
//! The table is the machine-readable half of `ARCHITECTURE.md`. A new crate gets a line here in the commit that creates it.

use crate::finding::Finding;
use crate::repository::{Dependency, Package};

const RULE: &str = "layer";

/// Where a package stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// Product code; the number grows from foundations to binaries.
    Numbered(u8),
    /// Support for tests: may use everything, and only tests may use it.
    Testing,
    /// Support for the repository: may use everything, and nothing may use it.
    Tooling,
}

/// Every package of the workspace, lowest layer first.
pub const LAYERS: &[(&str, Layer)] = &[
    ("dsh-schema", Layer::Numbered(0)),
    ("dsh-context", Layer::Numbered(0)),
    ("dsh-tools-macros", Layer::Numbered(0)),
    ("dsh-tools", Layer::Numbered(1)),
    ("dsh-prompt", Layer::Numbered(2)),
    ("dsh-session", Layer::Numbered(2)),
    ("dsh-workspace", Layer::Numbered(2)),
    ("dsh-process", Layer::Numbered(2)),
    ("dsh-code", Layer::Numbered(3)),
    ("dsh-policy", Layer::Numbered(3)),
    ("dsh-rules", Layer::Numbered(3)),
    ("dsh-otel", Layer::Numbered(3)),
    ("dsh-jobs", Layer::Numbered(3)),
    ("dsh-code-quickjs", Layer::Numbered(4)),
    ("dsh-fs", Layer::Numbered(4)),
    ("dsh-shell", Layer::Numbered(4)),
    ("dsh-llm", Layer::Numbered(4)),
    ("dsh-agent", Layer::Numbered(5)),
    ("dsh-mcp", Layer::Numbered(6)),
    ("dsh-acp", Layer::Numbered(6)),
    ("dsh-cli", Layer::Numbered(7)),
    ("dsh-testkit", Layer::Testing),
    ("xtask", Layer::Tooling),
];

/// The layer of a package, if the table names it.
pub fn layer(name: &str) -> Option<Layer> {
    LAYERS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|&(_, layer)| layer)
}

/// Compares every dependency between packages of this repository with the table.
pub fn check(packages: &[Package]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in packages.iter().filter(|package| package.source.is_none()) {
        let manifest = manifest_of(&package.name);
        let Some(from) = layer(&package.name) else {
            let message = format!(
                "`{}` has no layer; add it to the table in `xtask/src/layers.rs`",
                package.name
            );
            findings.push(Finding::file(&manifest, RULE, message));
            continue;
        };
        for dependency in package
            .dependencies
            .iter()
            .filter(|dependency| dependency.path.is_some())
        {
            if let Err(message) = edge(&package.name, from, dependency) {
                findings.push(Finding::file(&manifest, RULE, message));
            }
        }
    }
    findings
}

fn edge(name: &str, from: Layer, dependency: &Dependency) -> Result<(), String> {
    let to = layer(&dependency.name)
        .ok_or_else(|| format!("dependency `{}` has no layer", dependency.name))?;
    let test_only = dependency.kind.as_deref() == Some("dev");
    match (from, to) {
        (_, Layer::Tooling) => Err(format!("nothing may depend on `{}`", dependency.name)),
        (Layer::Testing | Layer::Tooling, _) => Ok(()),
        (Layer::Numbered(_), Layer::Testing) if test_only => Ok(()),
        (Layer::Numbered(_), Layer::Testing) => Err(format!(
            "`{}` serves tests; make it a dev-dependency of `{name}`",
            dependency.name
        )),
        (Layer::Numbered(from), Layer::Numbered(to)) if to < from => Ok(()),
        (Layer::Numbered(from), Layer::Numbered(to)) => Err(format!(
            "`{name}` (layer {from}) may not depend on `{}` (layer {to}); only lower layers are in reach",
            dependency.name
        )),
    }
}

/// Path of a workspace package's manifest.
pub(crate) fn manifest_of(name: &str) -> String {
    if layer(name) == Some(Layer::Tooling) {
        format!("{name}/Cargo.toml")
    } else {
        format!("crates/{name}/Cargo.toml")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, dependencies: &[(&str, Option<&str>)]) -> Package {
        let dependencies = dependencies
            .iter()
            .map(|&(name, kind)| Dependency {
                name: name.to_owned(),
                kind: kind.map(str::to_owned),
                req: "*".to_owned(),
                path: Some(format!("/repository/crates/{name}")),
            })
            .collect();
        Package {
            name: name.to_owned(),
            version: "0.1.0".to_owned(),
            license: None,
            source: None,
            dependencies,
        }
    }

    fn messages(package: Package) -> Vec<String> {
        check(&[package])
            .into_iter()
            .map(|finding| finding.message)
            .collect()
    }

    #[test]
    fn lower_layers_are_in_reach() {
        assert!(
            messages(package(
                "dsh-tools",
                &[("dsh-schema", None), ("dsh-testkit", Some("dev"))]
            ))
            .is_empty()
        );
        assert!(messages(package("dsh-testkit", &[("dsh-agent", None)])).is_empty());
        assert!(messages(package("xtask", &[("dsh-cli", None)])).is_empty());
    }

    #[test]
    fn the_same_and_higher_layers_are_not() {
        assert_eq!(
            messages(package(
                "dsh-schema",
                &[("dsh-context", None), ("dsh-tools", Some("dev"))]
            )),
            [
                "`dsh-schema` (layer 0) may not depend on `dsh-context` (layer 0); only lower layers are in reach",
                "`dsh-schema` (layer 0) may not depend on `dsh-tools` (layer 1); only lower layers are in reach",
            ]
        );
    }

    #[test]
    fn test_support_stays_out_of_the_product() {
        for kind in [None, Some("build")] {
            assert_eq!(
                messages(package("dsh-tools", &[("dsh-testkit", kind)])),
                ["`dsh-testkit` serves tests; make it a dev-dependency of `dsh-tools`"]
            );
        }
        assert_eq!(
            messages(package("dsh-testkit", &[("xtask", Some("dev"))])),
            ["nothing may depend on `xtask`"]
        );
    }

    #[test]
    fn an_unlisted_crate_is_reported() {
        let listed = "`dsh-new` has no layer; add it to the table in `xtask/src/layers.rs`";
        assert_eq!(messages(package("dsh-new", &[])), [listed]);
        assert_eq!(
            messages(package("dsh-cli", &[("dsh-new", None)])),
            ["dependency `dsh-new` has no layer"]
        );
    }

    #[test]
    fn packages_from_a_registry_are_no_concern() {
        let mut foreign = package("serde", &[("serde_core", None)]);
        foreign.source = Some("registry".to_owned());
        assert!(check(&[foreign]).is_empty());
    }
}
