//! The programs in the folder `examples` do what their first lines say.

use std::fs;
use std::path::{Path, PathBuf};

use crate::code::document;
use crate::fixture::Place;

fn example(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    folder.join(name).to_string_lossy().into_owned()
}

#[test]
fn census_counts() {
    let place = Place::new();
    place
        .file("README.md", "# one\n")
        .file("Cargo.toml", "[package]\nname = \"x\"\n")
        .file("main.rs", "fn main() {}\n")
        .file("lib.rs", "pub fn one() {}\npub fn two() {}\n\n");
    fs::create_dir(place.path("target")).unwrap();
    place.file("target/built.rs", "pub fn built() {}\n");
    let run = place.run(&["code", &example("census.ts")]);
    assert_eq!(
        (run.status.as_str(), run.stderr.as_str()),
        ("0", ""),
        "{run}"
    );
    let lines: Vec<&str> = run.stdout.lines().collect();
    let columns = |line: &str| {
        line.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(lines[0], "looked at 4 files");
    assert_eq!(columns(lines[1]), ["kind", "files", "lines", "longest"]);
    assert_eq!(columns(lines[2]), ["Rust", "2", "4", "lib.rs", "(3)"]);
    assert_eq!(columns(lines[3])[..3], ["Markdown", "1", "1"]);
    assert_eq!(columns(lines[4])[..3], ["TOML", "1", "2"]);
    assert!(lines[5].starts_with("public functions: "), "{run}");
    assert_eq!(lines.len(), 6, "{run}");
}

#[test]
fn failing_goes_on() {
    let place = Place::new();
    place
        .file("README.md", "# one\n")
        .file("ARCHITECTURE.md", "a\nb\n");
    let path = example("failing.ts");
    let run = place.run(&["code", &path, "--json"]);
    assert_eq!(run.status, "0", "{run}");
    let document = document(&run);
    assert_eq!(
        document["value"],
        serde_json::json!({"asked": 4, "survived": 2})
    );
    let logs: Vec<&str> = document["logs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line.as_str().unwrap())
        .collect();
    assert_eq!(logs[0], "README.md: 1 lines");
    assert_eq!(
        logs[1],
        "no-such-file.md: read said: cannot read \"[root]/no-such-file.md\": not found"
    );
    assert!(
        logs[2].starts_with("../outside.md: read said: cannot access ")
            && logs[2].contains("outside the workspace")
    );
    assert_eq!(logs[3], "ARCHITECTURE.md: 2 lines");
}

#[test]
fn greedy_is_stopped() {
    let run = Place::new().run(&[
        "code",
        &example("greedy.ts"),
        "--compute-ms",
        "200",
        "--json",
    ]);
    assert_eq!(run.status, "1", "{run}");
    let document = document(&run);
    assert_eq!(document["limits"], serde_json::json!(["compute"]));
    assert_eq!(
        document["logs"],
        serde_json::json!(["counting the grains of sand"])
    );
}

/// Each program is told of, with a command line that works.
#[test]
fn every_program_is_in_the_list() {
    let list = fs::read_to_string(example("README.md")).unwrap();
    for entry in fs::read_dir(example(".")).unwrap() {
        let path: PathBuf = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(
            !name.ends_with(".ts") || list.contains(&format!("`dsh code examples/{name}")),
            "examples/README.md does not tell how to run {name}"
        );
    }
}
