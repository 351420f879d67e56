//! One way to contain a panic of foreign code.

use crate::finding::Finding;
use crate::repository::File;
use crate::source::Source;

const RULE: &str = "containment";

/// Where panics are caught; everybody else calls it.
const HOME: &str = "crates/dsh-context/src/";

/// Checks that no other crate catches panics by itself: the payload and the future have destructors that may panic again.
pub fn check<'a>(files: impl IntoIterator<Item = &'a File>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.into_iter().filter(|file| file.is_rust()) {
        if file.is_test() || !file.path.starts_with("crates/") || file.path.starts_with(HOME) {
            continue;
        }
        let source = Source::new(&file.text);
        for (offset, _) in source.code().match_indices("catch_unwind") {
            let message =
                "a panic caught by hand; call `dsh_context::contain` or `dsh_context::Contained`";
            findings.push(Finding::at(&file.path, source.line(offset), RULE, message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_are_caught_in_one_place() {
        let found = |path: &str, text: &str| check(&[File::new(path, text)]).len();
        let caught = "fn a() { std::panic::catch_unwind(b); }";
        assert_eq!(found("crates/dsh-prompt/src/chain.rs", caught), 1);
        assert_eq!(found("crates/dsh-context/src/containment.rs", caught), 0);
        assert_eq!(found("crates/dsh-prompt/tests/prompt.rs", caught), 0);
        assert_eq!(
            found("crates/dsh-prompt/src/chain.rs", "// catch_unwind"),
            0
        );
    }
}
