//! From a doc comment to the text that a model reads.

/// The text of doc comment lines: up to the first heading, with the lines of a paragraph joined.
///
/// Line breaks of a source file mean nothing to a model and cost tokens. Lists, tables, quotations and code keep theirs.
pub(crate) fn of_lines<'a>(lines: impl IntoIterator<Item = &'a str>) -> String {
    let lines: Vec<&str> = lines
        .into_iter()
        .flat_map(|line| line.split('\n'))
        .map(str::trim_end)
        .collect();
    let indent = |line: &&str| line.len() - line.trim_start().len();
    let common = lines
        .iter()
        .filter(|line| !line.is_empty())
        .map(indent)
        .min()
        .unwrap_or(0);
    let mut text = String::new();
    let mut fenced = false;
    let mut joinable = false;
    for line in lines {
        let line = line.get(common..).unwrap_or_default();
        let start = line.trim_start();
        let fence = start.starts_with("```") || start.starts_with("~~~");
        if !fenced && is_heading(start) {
            break;
        }
        let verbatim = fenced || fence;
        if joinable && !verbatim && continues(start) {
            text.push(' ');
            text.push_str(start);
        } else {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(line);
        }
        joinable = !verbatim && !start.is_empty() && !start.starts_with('|');
        fenced ^= fence;
    }
    text.trim().to_owned()
}

fn is_heading(line: &str) -> bool {
    let rest = line.trim_start_matches('#');
    (1..=6).contains(&(line.len() - rest.len())) && (rest.is_empty() || rest.starts_with(' '))
}

/// Whether a line belongs to the paragraph or list item before it.
fn continues(line: &str) -> bool {
    let numbered = line
        .trim_start_matches(|c: char| c.is_ascii_digit())
        .strip_prefix(['.', ')'])
        .is_some_and(|rest| {
            rest.starts_with(' ') && line.starts_with(|c: char| c.is_ascii_digit())
        });
    let marked = ["- ", "* ", "+ ", "|", ">"]
        .iter()
        .any(|mark| line.starts_with(mark));
    !(line.is_empty() || numbered || marked)
}

#[cfg(test)]
mod tests {
    use super::of_lines;

    #[track_caller]
    fn check(comment: &str, expected: &str) {
        let lines: Vec<String> = comment.lines().map(|line| format!(" {line}")).collect();
        assert_eq!(of_lines(lines.iter().map(String::as_str)), expected);
    }

    #[test]
    fn lines_of_a_paragraph_are_joined() {
        check("Read a file.", "Read a file.");
        check("Read a\nfile.\n\nIn\nfull.", "Read a file.\n\nIn full.");
        check("", "");
        check("\n\n", "");
    }

    #[test]
    fn lists_tables_and_code_keep_their_lines() {
        check(
            "Modes:\n- one\n  more\n- two\n1. three",
            "Modes:\n- one more\n- two\n1. three",
        );
        check(
            "| a | b |\n|---|---|\n| 1 | 2 |",
            "| a | b |\n|---|---|\n| 1 | 2 |",
        );
        check(
            "Like\n```\n# not a heading\n  b\n```\nand\nso on",
            "Like\n```\n# not a heading\n  b\n```\nand so on",
        );
    }

    #[test]
    fn what_follows_a_heading_is_for_rust_readers() {
        check("Read.\n\n# Notes\n\nNot for a model.", "Read.");
        check(
            "Find #tags.\n#hash is no heading",
            "Find #tags. #hash is no heading",
        );
    }

    #[test]
    fn a_block_comment_is_several_lines() {
        assert_eq!(of_lines(["\n    Read a\n    file.\n    "]), "Read a file.");
    }
}
