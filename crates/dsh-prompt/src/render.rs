//! From an assembly to text: strict interpolation.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::{AssembledSection, Assembly, PromptError, codes};

/// The values of variables; `None` for one that has no value now.
pub type Variables = BTreeMap<Arc<str>, Option<String>>;

/// Whether a variable can have this name: a lower-case letter, then lower-case letters, digits and underscores (L65).
pub(crate) fn is_variable_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// Names, comma separated; `(none)` without any.
pub(crate) fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() {
        "(none)".to_owned()
    } else {
        names.join(", ")
    }
}

impl Assembly {
    /// The system text: sections that are not empty, one blank line between two (L78). Empty when there are none; a request
    /// then carries no system field.
    ///
    /// # Errors
    ///
    /// A variable that does not exist or has no value, or braces that are no variable; the message names the section (L79).
    pub fn render(&self) -> Result<String, PromptError> {
        let texts = rendered(&self.sections, &self.variables)?;
        Ok(texts
            .into_iter()
            .map(|(_, text)| text)
            .collect::<Vec<_>>()
            .join("\n\n"))
    }

    /// The runtime context of this assembly; `None` when there is nothing to say (L82).
    ///
    /// # Errors
    ///
    /// As for [`render`](Assembly::render).
    pub fn snapshot(&self) -> Result<Option<Snapshot>, PromptError> {
        let sections = rendered(&self.contexts, &self.variables)?;
        Ok((!sections.is_empty()).then_some(Snapshot { sections }))
    }
}

fn rendered(
    sections: &[AssembledSection],
    variables: &Variables,
) -> Result<Vec<(Arc<str>, String)>, PromptError> {
    let mut texts = Vec::with_capacity(sections.len());
    for section in sections {
        let text = if section.verbatim {
            section.text.clone()
        } else {
            interpolated(&section.name, &section.text, variables)?
        };
        if !text.is_empty() {
            texts.push((section.name.clone(), text));
        }
    }
    Ok(texts)
}

/// Replaces each `{{name}}`; what is put in is not looked at again.
fn interpolated(section: &str, text: &str, variables: &Variables) -> Result<String, PromptError> {
    let failed = |what: String| {
        Err(PromptError::of(
            codes::PROMPT_RENDER_FAILED,
            format!("prompt section \"{section}\": {what}"),
        ))
    };
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    // Braces that nothing closes are text.
    while let Some((before, group)) = rest.split_once("{{")
        && let Some((name, after)) = group.split_once("}}")
    {
        out.push_str(before);
        if !is_variable_name(name) {
            let shown: String = name.chars().take(40).collect();
            return failed(format!(
                "malformed variable \"{{{{{shown}}}}}\"; write {{{{name}}}} without spaces"
            ));
        }
        match variables.get(name) {
            Some(Some(value)) => out.push_str(value),
            Some(None) => return failed(format!("variable \"{name}\" has no value")),
            None => {
                let known = listed(variables.keys().map(|name| &**name));
                return failed(format!("unknown variable \"{name}\" (known: {known})"));
            }
        }
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

/// The dynamic contexts of one assembly, rendered. They reach the model as one message that supersedes the earlier ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Names and texts, none of them empty.
    pub sections: Vec<(Arc<str>, String)>,
}

impl Snapshot {
    const LEAD_IN: &str =
        "Current runtime context. This snapshot supersedes earlier runtime-context snapshots.";
    const NONE: &str =
        "Current runtime context: none. Earlier runtime-context snapshots no longer apply.";

    /// The text of the message.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = String::from(Self::LEAD_IN);
        for (_, text) in &self.sections {
            out.push_str("\n\n");
            out.push_str(text);
        }
        out
    }

    /// The text to append now, given the text of the last snapshot that the model still sees; `None` when nothing has
    /// changed (L82, L83).
    #[must_use]
    pub fn due(current: Option<&Self>, last: Option<&str>) -> Option<String> {
        let text = match (current, last) {
            (Some(current), _) => current.text(),
            (None, Some(_)) => Self::NONE.to_owned(),
            (None, None) => return None,
        };
        (last != Some(text.as_str())).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables() -> Variables {
        [
            ("cwd", Some("/w")),
            ("model", None),
            ("tricky", Some("{{cwd}}")),
        ]
        .into_iter()
        .map(|(name, value)| (name.into(), value.map(str::to_owned)))
        .collect()
    }

    #[track_caller]
    fn check(text: &str, expected: Result<&str, &str>) {
        let got = interpolated("s", text, &variables()).map_err(|error| error.to_string());
        assert_eq!(got.as_deref().map_err(String::as_str), expected, "{text}");
    }

    /// L79.
    #[test]
    fn interpolation_is_strict() {
        check("in {{cwd}} and {{cwd}}", Ok("in /w and /w"));
        check("{{tricky}}", Ok("{{cwd}}"));
        check("open {{ only", Ok("open {{ only"));
        check("{{cwd}} then {{", Ok("/w then {{"));
        check("}} {single} }}", Ok("}} {single} }}"));
        check(
            "{{nope}}",
            Err("prompt section \"s\": unknown variable \"nope\" (known: cwd, model, tricky)"),
        );
        check(
            "{{model}}",
            Err("prompt section \"s\": variable \"model\" has no value"),
        );
        for malformed in [
            "{{ cwd }}",
            "{{}}",
            "{{Cwd}}",
            "{{1a}}",
            "{{a-b}}",
            "{{{cwd}}}",
            "{{ x {{cwd}}",
        ] {
            let error = interpolated("s", malformed, &variables()).unwrap_err();
            assert!(
                error.to_string().contains("malformed variable"),
                "{malformed}: {error}"
            );
            assert_eq!(error.code(), codes::PROMPT_RENDER_FAILED);
        }
        let none = interpolated("s", "{{x}}", &Variables::new()).unwrap_err();
        assert!(none.to_string().ends_with("(known: (none))"), "{none}");
    }

    /// L82, L83.
    #[test]
    fn a_snapshot_is_due_when_it_differs_from_the_last() {
        let snapshot = Snapshot {
            sections: vec![("a".into(), "one".into()), ("b".into(), "two".into())],
        };
        let text = snapshot.text();
        assert_eq!(
            text,
            "Current runtime context. This snapshot supersedes earlier runtime-context snapshots.\n\none\n\ntwo"
        );
        assert_eq!(Snapshot::due(Some(&snapshot), None), Some(text.clone()));
        assert_eq!(Snapshot::due(Some(&snapshot), Some(&text)), None);
        assert_eq!(
            Snapshot::due(Some(&snapshot), Some("other")),
            Some(text.clone())
        );
        assert_eq!(Snapshot::due(None, None), None);
        let none = Snapshot::due(None, Some(&text)).unwrap();
        assert_eq!(
            none,
            "Current runtime context: none. Earlier runtime-context snapshots no longer apply."
        );
        assert_eq!(Snapshot::due(None, Some(&none)), None);
    }
}
