//! The text that a model reads (F70).

use std::fmt::Write;

use super::window::Line;

/// Renders a window: `limit` is the number of lines that were asked for.
///
/// # Examples
///
/// ```
/// use dsh_fs::read::{Line, render};
/// let lines = [Line { number: 2, text: "fn main() {}".to_owned() }];
/// assert_eq!(
///     render("/w/main.rs", 2, 1, &lines, 9),
///     "<path>/w/main.rs</path>\n<type>file</type>\n<content>\n2: fn main() {}\n\n\
///      (Showing lines 2-2 of 9. Use offset=3 to continue.)\n</content>"
/// );
/// ```
#[must_use]
pub fn render(path: &str, offset: u64, limit: u64, lines: &[Line], total_lines: u64) -> String {
    let size: usize = lines.iter().map(|line| line.text.len() + 12).sum();
    let mut text = String::with_capacity(size + path.len() + 160);
    text.push_str("<path>");
    text.push_str(path);
    text.push_str("</path>\n<type>file</type>\n<content>\n");
    for line in lines {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{}: {}", line.number, line.text);
    }
    if !lines.is_empty() {
        text.push('\n');
    }
    let last = lines
        .last()
        .map_or(offset.saturating_sub(1), |line| line.number);
    let next = last.saturating_add(1);
    let _ = if last >= total_lines {
        write!(text, "(End of file - total {total_lines} lines)")
    } else if (lines.len() as u64) < limit {
        write!(
            text,
            "(Output capped. Showing lines {offset}-{last}. Use offset={next} to continue.)"
        )
    } else {
        write!(
            text,
            "(Showing lines {offset}-{last} of {total_lines}. Use offset={next} to continue.)"
        )
    };
    text.push_str("\n</content>");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(from: u64, texts: &[&str]) -> Vec<Line> {
        (from..)
            .zip(texts)
            .map(|(number, text)| Line {
                number,
                text: (*text).to_owned(),
            })
            .collect()
    }

    #[test]
    fn f70_end_of_file() {
        assert_eq!(
            render("/w/a.txt", 1, 2000, &lines(1, &["one", "", "three"]), 3),
            "<path>/w/a.txt</path>\n<type>file</type>\n<content>\n1: one\n2: \n3: three\n\n(End of file - total 3 lines)\n</content>"
        );
        assert_eq!(
            render("/w/a.txt", 1, 1, &lines(1, &["one"]), 1),
            "<path>/w/a.txt</path>\n<type>file</type>\n<content>\n1: one\n\n(End of file - total 1 lines)\n</content>"
        );
    }

    #[test]
    fn f70_an_empty_file_has_only_the_footer() {
        assert_eq!(
            render("/w/a.txt", 1, 2000, &[], 0),
            "<path>/w/a.txt</path>\n<type>file</type>\n<content>\n(End of file - total 0 lines)\n</content>"
        );
    }

    #[test]
    fn f70_the_window_ends_before_the_file() {
        assert_eq!(
            render("/w/a.txt", 5, 2, &lines(5, &["x", "y"]), 7),
            "<path>/w/a.txt</path>\n<type>file</type>\n<content>\n5: x\n6: y\n\n(Showing lines 5-6 of 7. Use offset=7 to continue.)\n</content>"
        );
    }

    #[test]
    fn f70_the_byte_budget_ended_the_window() {
        assert_eq!(
            render("/w/a.txt", 5, 3, &lines(5, &["x", "y"]), 7),
            "<path>/w/a.txt</path>\n<type>file</type>\n<content>\n5: x\n6: y\n\n(Output capped. Showing lines 5-6. Use offset=7 to continue.)\n</content>"
        );
        assert_eq!(
            render("/w/a.txt", 5, 3, &[], 7),
            "<path>/w/a.txt</path>\n<type>file</type>\n<content>\n(Output capped. Showing lines 5-4. Use offset=5 to continue.)\n</content>"
        );
    }
}
