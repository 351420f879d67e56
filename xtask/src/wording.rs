//! The repository speaks of the product only, not of the place where it was made.

use crate::finding::Finding;
use crate::repository::File;

const RULE: &str = "wording";

/// Texts that mean something on one machine or in one tracker only. Split, so that this file passes its own check.
const PLACES: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("../sha", "red"),
    concat!("sha", "red/spec"),
    concat!("sha", "red/design"),
    concat!("sha", "red/vectors"),
    concat!("sha", "red/corpora"),
    concat!("/tmp/br", "ief"),
];

/// Searches every text file.
pub fn check<'a>(files: impl IntoIterator<Item = &'a File>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.into_iter().filter(|file| !is_foreign(file)) {
        for (number, line) in (1..).zip(file.text.lines()) {
            if let Some(place) = PLACES.iter().find(|place| line.contains(**place)) {
                let message = format!("`{place}` exists on one machine only; name what is meant");
                findings.push(Finding::at(&file.path, number, RULE, message));
            }
            if let Some(reference) = tracker_reference(line) {
                let message =
                    format!("`{reference}` means nothing outside a tracker; say what it is about");
                findings.push(Finding::at(&file.path, number, RULE, message));
            }
        }
    }
    findings
}

/// Recorded data and lock files hold other people's words.
fn is_foreign(file: &File) -> bool {
    let recorded = ["/vectors/", "/corpus/", "/corpora/"]
        .iter()
        .any(|part| file.path.contains(part));
    recorded || file.path.ends_with(".lock") || file.path.ends_with("package-lock.json")
}

/// The word for an entry of a tracker, followed by a number.
fn tracker_reference(line: &str) -> Option<&str> {
    let word = concat!("iss", "ue");
    line.match_indices(word).find_map(|(at, _)| {
        let rest = &line[at + word.len()..];
        let number = rest.strip_prefix(' ')?;
        let number = number.strip_prefix('#').unwrap_or(number);
        let digits = number.bytes().take_while(u8::is_ascii_digit).count();
        let end = line.len() - number.len() + digits;
        (digits > 0).then(|| &line[at..end])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        check(&[File::new(path, text)]).len()
    }

    #[test]
    fn places_of_the_workshop_are_found() {
        for place in PLACES {
            assert_eq!(count("docs/a.md", &format!("see {place}x")), 1, "{place}");
        }
        assert_eq!(count("docs/a.md", "the network/worker is shared"), 0);
    }

    #[test]
    fn tracker_numbers_are_found() {
        let word = concat!("iss", "ue");
        assert_eq!(
            tracker_reference(&format!("see {word} #12, please")),
            Some(format!("{word} #12")).as_deref()
        );
        assert_eq!(count("a.rs", &format!("// {word} 3")), 1);
        assert_eq!(count("a.rs", &format!("// the {word} is that 3")), 0);
    }

    #[test]
    fn recorded_data_may_say_anything() {
        assert_eq!(count("crates/a/tests/vectors/b.json", PLACES[0]), 0);
        assert_eq!(count("Cargo.lock", PLACES[0]), 0);
    }
}
