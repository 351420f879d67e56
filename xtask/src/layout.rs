//! Size and names of files: one concept, one file, named after the concept.

use crate::finding::Finding;
use crate::repository::File;
use crate::source::Source;

const SIZE: &str = "size";
const NAME: &str = "name";
const TEST: &str = "test";

/// Above this many bytes a file usually holds more than one concept.
const LIMIT: usize = 30 * 1024;
/// A file may be larger when one of its first lines says why.
const REASON: &str = "// size: ";
const FIRST_LINES: usize = 10;

const NAMES: &[&str] = &[
    "util", "utils", "helper", "helpers", "common", "manager", "managers", "misc", "shared",
];
const ENDINGS: &[&str] = &["Manager", "Helper", "Helpers", "Util", "Utils"];

/// Checks every Rust file's size and names.
pub fn check<'a>(files: impl IntoIterator<Item = &'a File>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.into_iter().filter(|file| file.is_rust()) {
        size(file, &mut findings);
        names(file, &mut findings);
        ignored_tests(file, &mut findings);
    }
    findings
}

fn size(file: &File, findings: &mut Vec<Finding>) {
    let reason = file.text.lines().take(FIRST_LINES).any(|line| {
        line.trim_start()
            .strip_prefix(REASON)
            .is_some_and(|reason| !reason.trim().is_empty())
    });
    if file.text.len() > LIMIT && !file.is_test() && !reason {
        let message = format!(
            "{} bytes are more than {LIMIT}; split the file, or say why not in one of its first {FIRST_LINES} lines as \
             `{REASON}…`",
            file.text.len()
        );
        findings.push(Finding::file(&file.path, SIZE, message));
    }
}

fn names(file: &File, findings: &mut Vec<Finding>) {
    let parts = file.path.trim_end_matches(".rs").split('/');
    for part in parts.filter(|part| NAMES.contains(part)) {
        let message = format!("`{part}` names no concept of the domain; use a noun that does");
        findings.push(Finding::file(&file.path, NAME, message));
    }
    let source = Source::new(&file.text);
    let words = source
        .code()
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty());
    let mut before = "";
    for word in words {
        let bad_module = before == "mod" && NAMES.contains(&word);
        let bad_type = matches!(before, "struct" | "enum" | "trait" | "type" | "union")
            && ENDINGS.iter().any(|ending| word.ends_with(ending));
        if bad_module || bad_type {
            let line = source.line(word.as_ptr() as usize - source.code().as_ptr() as usize);
            let message =
                format!("`{before} {word}` names no concept of the domain; use a noun that does");
            findings.push(Finding::at(&file.path, line, NAME, message));
        }
        before = word;
    }
}

fn ignored_tests(file: &File, findings: &mut Vec<Finding>) {
    let source = Source::new(&file.text);
    for (offset, _) in source.code().match_indices("#[ignore") {
        let message = "an ignored test guards nothing; make it run or remove it";
        findings.push(Finding::at(&file.path, source.line(offset), TEST, message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(path: &str, text: &str) -> Vec<&'static str> {
        check(&[File::new(path, text)])
            .into_iter()
            .map(|finding| finding.rule)
            .collect()
    }

    #[test]
    fn a_large_file_needs_a_reason() {
        let large = "x".repeat(LIMIT + 1);
        assert_eq!(rules("crates/a/src/b.rs", &large), [SIZE]);
        assert!(rules("crates/a/src/b.rs", &large[1..]).is_empty());
        assert!(rules("crates/a/tests/b.rs", &large).is_empty());
        assert!(
            rules(
                "crates/a/src/b.rs",
                &format!("//! Doc.\n// size: one table\n{large}")
            )
            .is_empty()
        );
        assert_eq!(
            rules("crates/a/src/b.rs", &format!("// size: \n{large}")),
            [SIZE]
        );
        assert_eq!(
            rules(
                "crates/a/src/b.rs",
                &format!("{}// size: late\n{large}", "\n".repeat(10))
            ),
            [SIZE]
        );
    }

    #[test]
    fn empty_names_are_refused() {
        assert_eq!(rules("crates/a/src/utils.rs", ""), [NAME]);
        assert_eq!(rules("crates/a/tests/common/mod.rs", ""), [NAME]);
        assert_eq!(
            rules(
                "crates/a/src/lib.rs",
                "pub mod helpers {}\nstruct ToolManager;"
            ),
            [NAME, NAME]
        );
        assert!(
            rules(
                "crates/a/src/lane.rs",
                "// mod utils\nmod utility_rate {}\nstruct Managerial;"
            )
            .is_empty()
        );
    }

    #[test]
    fn no_test_is_ignored() {
        assert_eq!(
            rules("crates/a/tests/b.rs", "#[test]\n#[ignore]\nfn a() {}"),
            [TEST]
        );
        assert_eq!(
            rules("crates/a/tests/b.rs", "#[ignore = \"slow\"]\nfn a() {}"),
            [TEST]
        );
    }
}
