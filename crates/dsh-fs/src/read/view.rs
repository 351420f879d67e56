//! What people see of a call (F71–F73). Functions of logged data alone.

use serde::{Deserialize, Serialize};
use serde_json::Number;

use super::config::integer;
use super::language::language;
use super::window::{Line, Window};

/// What a card needs besides the text (F71).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadMeta {
    /// The display path.
    pub path: String,
    /// The first line asked for, from 1.
    pub offset: u64,
    /// The lines.
    pub lines: Vec<Line>,
    /// How many lines the file has.
    pub total_lines: u64,
    /// The language, if the extension is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lang: Option<String>,
}

impl ReadMeta {
    /// The meta of a window.
    #[must_use]
    pub fn new(path: &str, offset: u64, window: Window) -> Self {
        Self {
            path: path.to_owned(),
            offset,
            lines: window.lines,
            total_lines: window.total_lines,
            lang: language(path).map(str::to_owned),
        }
    }

    /// Whether the numbers fit together (F73): they come from a log and may be from anywhere.
    #[must_use]
    pub fn is_consistent(&self) -> bool {
        self.offset >= 1
            && self
                .lines
                .is_sorted_by(|one, other| one.number < other.number)
            && self
                .lines
                .iter()
                .all(|line| line.number >= self.offset && line.number <= self.total_lines)
    }
}

/// The title of a call that is under way, and the line it starts at (F72).
///
/// Arguments come as the model gave them; values that the tool would refuse count as absent.
#[must_use]
pub fn title(file_path: &str, offset: Option<&Number>, limit: Option<&Number>) -> (String, u64) {
    let positive = |number: Option<&Number>| number.and_then(integer).filter(|&value| value >= 1);
    let first = positive(offset);
    let line = first.unwrap_or(1);
    let title = match (first, positive(limit)) {
        (_, Some(limit)) => {
            let last = line.saturating_add(limit - 1);
            format!("Read {file_path} ({line} - {last})")
        }
        (Some(first), None) => format!("Read {file_path} (from line {first})"),
        (None, None) => format!("Read {file_path}"),
    };
    (title, line)
}

/// The text between the content tags of a rendered result (F73), if it has the envelope.
#[must_use]
pub fn content_of(rendered: &str) -> Option<&str> {
    let body = rendered.strip_prefix("<path>")?;
    // A path may contain a line break, so the tags are looked for, not the lines.
    let (_, body) = body.split_once("</path>\n<type>file</type>\n<content>\n")?;
    body.strip_suffix("\n</content>")
}

#[cfg(test)]
mod tests {
    use super::super::render::render;
    use super::*;

    fn line(number: u64, text: &str) -> Line {
        Line {
            number,
            text: text.to_owned(),
        }
    }

    fn meta(lines: Vec<Line>, total_lines: u64) -> ReadMeta {
        ReadMeta::new("/w/a.rs", 2, Window { lines, total_lines })
    }

    #[test]
    fn f71_meta_as_json() {
        let json = serde_json::to_string(&meta(vec![line(2, "x")], 9)).unwrap();
        assert_eq!(
            json,
            r#"{"path":"/w/a.rs","offset":2,"lines":[{"number":2,"text":"x"}],"totalLines":9,"lang":"rust"}"#
        );
        let plain = ReadMeta::new(
            "/w/a",
            1,
            Window {
                lines: vec![],
                total_lines: 0,
            },
        );
        let json = serde_json::to_string(&plain).unwrap();
        assert_eq!(
            json,
            r#"{"path":"/w/a","offset":1,"lines":[],"totalLines":0}"#
        );
        assert_eq!(serde_json::from_str::<ReadMeta>(&json).unwrap(), plain);
    }

    #[test]
    fn f73_meta_has_to_fit_together() {
        assert!(meta(vec![], 0).is_consistent());
        assert!(meta(vec![line(2, ""), line(3, "")], 3).is_consistent());
        assert!(!meta(vec![line(1, "")], 3).is_consistent());
        assert!(!meta(vec![line(2, ""), line(2, "")], 3).is_consistent());
        assert!(!meta(vec![line(3, ""), line(2, "")], 3).is_consistent());
        assert!(!meta(vec![line(2, ""), line(4, "")], 3).is_consistent());
        assert!(
            !ReadMeta {
                offset: 0,
                ..meta(vec![], 0)
            }
            .is_consistent()
        );
        for json in [
            r#"{"path":"a","offset":1.5,"lines":[],"totalLines":0}"#,
            r#"{"path":"a","offset":1,"lines":[],"totalLines":-1}"#,
            r#"{"path":"a","offset":1,"lines":[{"number":1}],"totalLines":1}"#,
            r#"{"offset":1,"lines":[],"totalLines":0}"#,
        ] {
            assert!(serde_json::from_str::<ReadMeta>(json).is_err(), "{json}");
        }
    }

    #[test]
    fn f72_titles() {
        let title = |offset: &str, limit: &str| {
            let number = |json: &str| serde_json::from_str::<Option<Number>>(json).unwrap();
            title("a.rs", number(offset).as_ref(), number(limit).as_ref())
        };
        assert_eq!(title("null", "null"), ("Read a.rs".to_owned(), 1));
        assert_eq!(
            title("5", "null"),
            ("Read a.rs (from line 5)".to_owned(), 5)
        );
        assert_eq!(title("5", "10"), ("Read a.rs (5 - 14)".to_owned(), 5));
        assert_eq!(title("null", "10"), ("Read a.rs (1 - 10)".to_owned(), 1));
        assert_eq!(title("-3", "0"), ("Read a.rs".to_owned(), 1));
    }

    #[test]
    fn f73_content_is_what_stands_between_the_tags() {
        let text = render("/w/a.rs", 1, 9, &[line(1, "</content>")], 1);
        assert_eq!(
            content_of(&text),
            Some("1: </content>\n\n(End of file - total 1 lines)")
        );
        assert_eq!(content_of("plain"), None);
        assert_eq!(content_of("<path>x</path>\n<type>image</type>\n"), None);
        assert_eq!(content_of(&text[..text.len() - 1]), None);
    }
}
