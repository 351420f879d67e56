//! The generated files of the repository are what the binary prints.

use std::path::Path;

use crate::fixture::Place;

const GENERATED: &[(&str, &[&str])] = &[
    ("dsh.1", &["man"]),
    ("dsh.bash", &["completions", "bash"]),
    ("_dsh", &["completions", "zsh"]),
    ("dsh.fish", &["completions", "fish"]),
    ("_dsh.ps1", &["completions", "powershell"]),
];

#[test]
fn generated_files_are_fresh() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/generated");
    let mut stale = String::new();
    for (name, words) in GENERATED {
        let run = Place::new().run(words);
        assert_eq!(run.status, "0", "{run}");
        let committed = std::fs::read_to_string(directory.join(name)).unwrap_or_default();
        if committed != run.stdout {
            let (number, old, new) = first_difference(&committed, &run.stdout);
            stale.push_str(&format!(
                "docs/generated/{name} is stale at line {number}:\n  committed: {old}\n  generated: {new}\n\
                 run `cargo run -q -p dsh-cli -- {} > docs/generated/{name}`\n",
                words.join(" ")
            ));
        }
    }
    assert!(stale.is_empty(), "\n{stale}");
}

#[test]
fn every_generated_file_is_checked() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/generated");
    for entry in std::fs::read_dir(directory).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(
            GENERATED.iter().any(|(checked, _)| *checked == name),
            "nobody generates docs/generated/{name}"
        );
    }
}

fn first_difference<'a>(old: &'a str, new: &'a str) -> (usize, &'a str, &'a str) {
    const END: &str = "(the end)";
    let mut old = old.split('\n').chain(std::iter::repeat(END));
    let mut new = new.split('\n').chain(std::iter::repeat(END));
    (1..)
        .zip(old.by_ref().zip(new.by_ref()))
        .find(|(_, (old, new))| old != new)
        .map_or((0, "", ""), |(number, (old, new))| (number, old, new))
}

#[test]
fn the_first_difference_is_found() {
    assert_eq!(first_difference("a\nb\n", "a\nc\n"), (2, "b", "c"));
    assert_eq!(first_difference("a\n", "a\nb\n"), (2, "", "b"));
    assert_eq!(first_difference("a", "a\n"), (2, "(the end)", ""));
}
