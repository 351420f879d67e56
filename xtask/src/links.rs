//! Links between documents lead somewhere.

use std::collections::BTreeSet;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::finding::Finding;
use crate::repository::{File, Repository};

const RULE: &str = "link";

/// Checks relative links, with their anchors, in every Markdown document outside tests.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in repository
        .files
        .iter()
        .filter(|file| file.path.ends_with(".md") && !file.is_test())
    {
        for (offset, target) in links(&file.text) {
            if let Err(message) = resolve(repository, file, &target) {
                let line = file.text[..offset].matches('\n').count() + 1;
                findings.push(Finding::at(&file.path, line, RULE, message));
            }
        }
    }
    findings
}

fn parser(text: &str) -> Parser<'_> {
    Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES)
}

fn links(text: &str) -> Vec<(usize, String)> {
    let event = |(event, range): (Event<'_>, std::ops::Range<usize>)| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            Some((range.start, dest_url.into_string()))
        }
        _ => None,
    };
    parser(text).into_offset_iter().filter_map(event).collect()
}

fn resolve(repository: &Repository, from: &File, target: &str) -> Result<(), String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return Ok(());
    }
    let (path, anchor) = target
        .split_once('#')
        .map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    let path = if path.is_empty() {
        from.path.clone()
    } else {
        join(&from.path, path)?
    };
    let folder = format!("{path}/");
    let is_folder = path.is_empty()
        || repository
            .files
            .iter()
            .any(|file| file.path.starts_with(&folder));
    let Some(file) = repository.file(&path) else {
        return if is_folder {
            Ok(())
        } else {
            Err(format!("`{target}` leads to no file; there is no `{path}`"))
        };
    };
    match anchor {
        Some(anchor) if path.ends_with(".md") && !anchors(&file.text).contains(anchor) => Err(
            format!("`{target}` leads to no heading; `{path}` has no `#{anchor}`"),
        ),
        _ => Ok(()),
    }
}

/// The path that `target` means in the file `from`.
fn join(from: &str, target: &str) -> Result<String, String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts
                    .pop()
                    .ok_or_else(|| format!("`{target}` leads out of the repository"))?;
            }
            part => parts.push(part),
        }
    }
    Ok(parts.join("/"))
}

/// Anchors of a document's headings, as common forges make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    let mut heading: Option<String> = None;
    for event in parser(text) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                let base = slug(&heading.take().unwrap_or_default());
                // A repeated heading gets a number.
                let numbered = (1..).map(|number| format!("{base}-{number}"));
                let anchor = std::iter::once(base.clone())
                    .chain(numbered)
                    .find(|anchor| !anchors.contains(anchor));
                anchors.extend(anchor);
            }
            _ => {}
        }
    }
    anchors
}

fn slug(heading: &str) -> String {
    let kept = heading
        .trim()
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase)
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(text: &str) -> Vec<String> {
        let files = vec![
            File::new("docs/a.md", "# One `two` (three)\n\n# Same\n\n# Same\n"),
            File::new("docs/b.md", text),
            File::new("src/lib.rs", ""),
        ];
        check(&Repository::new(files, Vec::new()))
            .into_iter()
            .map(|finding| finding.message)
            .collect()
    }

    #[test]
    fn links_that_lead_somewhere() {
        for link in [
            "a.md",
            "./a.md",
            "a.md#one-two-three",
            "a.md#same-1",
            "../src/lib.rs",
            "../src",
            "../src/",
            "#own",
            "https://x.y/z",
            "..",
        ] {
            assert_eq!(
                messages(&format!("# Own\n\n[x]({link})")),
                Vec::<String>::new(),
                "{link}"
            );
        }
    }

    #[test]
    fn links_that_do_not() {
        for link in [
            "c.md",
            "a.md#four",
            "a.md#same-2",
            "../../a.md",
            "#other",
            "../sr",
        ] {
            assert_eq!(
                messages(&format!("# Own\n\n[x]({link})")).len(),
                1,
                "{link}"
            );
            assert_eq!(
                messages(&format!("# Own\n\n[x]\n\n[x]: {link}")).len(),
                1,
                "{link}"
            );
        }
        assert_eq!(
            messages("[x](c.md)"),
            ["`c.md` leads to no file; there is no `docs/c.md`"]
        );
    }

    #[test]
    fn code_holds_no_links() {
        assert!(messages("`[x](c.md)`\n\n```text\n[x](c.md)\n```\n").is_empty());
    }
}
