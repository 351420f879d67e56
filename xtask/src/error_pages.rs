//! Codes and their pages: each code that the product can report has one page, and each page a code.
//!
//! A code is declared in one of two ways:
//!
//! - in a file named `codes.rs`, as a constant whose value is its name, or as a constant named `CODE`:
//!   `pub const UNKNOWN_TOOL: &str = "UNKNOWN_TOOL";`
//! - in the body of a function that maps an error's kind to its code: one named `code`, or any in the `impl` of a type
//!   whose name ends in `Code`.
//!
//! Everywhere else the constant or the function is used, never the text, so that the list is complete.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::finding::Finding;
use crate::repository::{File, Repository};
use crate::source::{Literal, Source};

const RULE: &str = "error-page";
const FOLDER: &str = "docs/errors/";
const INDEX: &str = "docs/errors/README.md";

/// Sections of a page, in this order.
const SECTIONS: &[&str] = &["## What happened", "## Why", "## What to do"];

/// Every declared code, with the file that declares it.
pub fn codes(repository: &Repository) -> BTreeMap<String, String> {
    let (codes, _) = declared(repository);
    codes
        .into_iter()
        .map(|(code, place)| (code, place.path))
        .collect()
}

/// Where a code is declared.
#[derive(Debug)]
struct Place {
    path: String,
    offset: usize,
}

/// Compares declared codes, their use and their pages.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let (codes, mut findings) = declared(repository);
    spelled_out(repository, &codes, &mut findings);
    let index = repository.file(INDEX);
    if index.is_none() {
        findings.push(Finding::file(
            INDEX,
            RULE,
            "is missing; it lists every page",
        ));
    }
    for (code, Place { path, .. }) in &codes {
        let page = format!("{FOLDER}{code}.md");
        match repository.file(&page) {
            None => {
                let message = format!("`{code}` has no page; write `{page}`");
                findings.push(Finding::file(path, RULE, message));
            }
            Some(file) => sections(file, code, &mut findings),
        }
        if index.is_some_and(|index| !index.text.contains(&format!("({code}.md)"))) {
            findings.push(Finding::file(
                INDEX,
                RULE,
                format!("does not list `{code}`"),
            ));
        }
    }
    for file in &repository.files {
        let code = file
            .path
            .strip_prefix(FOLDER)
            .and_then(|name| name.strip_suffix(".md"));
        if code.is_some_and(|code| code != "README" && !codes.contains_key(code)) {
            let message = "no crate declares this code; declare it or remove the page";
            findings.push(Finding::file(&file.path, RULE, message));
        }
    }
    findings
}

/// Product code of the crates, lexed, tests left out.
fn sources(repository: &Repository) -> impl Iterator<Item = (&File, Source)> {
    repository
        .crate_sources()
        .filter(|file| file.path.contains("/src/") && !file.is_test())
        .filter(|file| file.crate_name() != Some("dsh-testkit"))
        .map(|file| (file, Source::new(&file.text).without_tests()))
}

fn declared(repository: &Repository) -> (BTreeMap<String, Place>, Vec<Finding>) {
    let mut codes: BTreeMap<String, Place> = BTreeMap::new();
    let mut findings = Vec::new();
    for (file, source) in sources(repository) {
        let list = file.path.ends_with("/codes.rs");
        let bodies = mappings(&source);
        for Literal { offset, text } in source.literals() {
            let at = |message| Finding::at(&file.path, source.line(*offset), RULE, message);
            let constant = constant(&source.code()[..*offset]);
            match constant {
                Some(name) if list && name != text => {
                    let message = "a code's name and value are the same";
                    findings.push(at(format!("`{name}` is \"{text}\"; {message}")));
                    continue;
                }
                Some(name) if list && !is_code(name) => {
                    findings.push(at(format!("`{name}` does not look like `NOUN_STATE`")));
                    continue;
                }
                Some("CODE") if is_code(text) => {}
                Some(_) if list => {}
                _ if is_code(text) && bodies.iter().any(|body| body.contains(offset)) => {}
                _ => continue,
            }
            if let Some(first) = codes.get(text) {
                let message = format!("`{text}` is declared in `{}` too; use that", first.path);
                findings.push(at(message));
            } else {
                codes.insert(
                    text.clone(),
                    Place {
                        path: file.path.clone(),
                        offset: *offset,
                    },
                );
            }
        }
    }
    (codes, findings)
}

/// The blocks whose literals are codes.
fn mappings(source: &Source) -> Vec<Range<usize>> {
    let functions = source.mentions("fn code").into_iter();
    let implementations = source.mentions("impl").into_iter().filter(|&at| {
        let header = source.code()[at..].split('{').next().unwrap_or_default();
        header.trim_end().ends_with("Code")
    });
    functions
        .chain(implementations)
        .filter_map(|at| source.block_after(at))
        .collect()
}

/// The name declared by code that ends in `const NAME: &str = "`.
fn constant(before: &str) -> Option<&str> {
    let before = before
        .trim_end_matches('"')
        .trim_end()
        .strip_suffix('=')?
        .trim_end();
    let before = before
        .strip_suffix("str")?
        .trim_end()
        .trim_end_matches("'static");
    let (before, name) = before
        .trim_end_matches([' ', '&'])
        .strip_suffix(':')?
        .trim_end()
        .rsplit_once(' ')?;
    before.ends_with("const").then_some(name)
}

fn is_code(name: &str) -> bool {
    name.split('_').all(|part| {
        !part.is_empty()
            && part
                .bytes()
                .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
    }) && name.starts_with(|c: char| c.is_ascii_uppercase())
}

/// A code that is written out where its constant should stand escapes a rename.
fn spelled_out(
    repository: &Repository,
    codes: &BTreeMap<String, Place>,
    findings: &mut Vec<Finding>,
) {
    for (file, source) in sources(repository) {
        for literal in source.literals() {
            let Some(Place { path, offset }) = codes.get(&literal.text) else {
                continue;
            };
            let known = findings.iter().any(|finding| {
                finding.path == file.path && finding.line == source.line(literal.offset)
            });
            let declaration = file.path == *path && literal.offset == *offset;
            if !declaration && !known {
                let message = format!("use the declaration of `{}` in `{path}`", literal.text);
                let line = source.line(literal.offset);
                findings.push(Finding::at(&file.path, line, RULE, message));
            }
        }
    }
}

fn sections(file: &File, code: &str, findings: &mut Vec<Finding>) {
    let mut lines = file.text.lines();
    if lines.next() != Some(format!("# {code}").as_str()) {
        findings.push(Finding::at(
            &file.path,
            1,
            RULE,
            format!("start the page with `# {code}`"),
        ));
    }
    for section in SECTIONS {
        if !lines.any(|line| line == *section) {
            let message = format!(
                "`{section}` is missing or out of order; a page has {}",
                SECTIONS.join(", ")
            );
            findings.push(Finding::file(&file.path, RULE, message));
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# A_B\n\n## What happened\n\nx\n\n## Why\n\ny\n\n## What to do\n\nz\n";
    const CODES: (&str, &str) = (
        "crates/a/src/codes.rs",
        "/// Doc.\npub const A_B: &str = \"A_B\";\n",
    );

    fn repository(files: &[(&str, &str)]) -> Repository {
        let files: Vec<_> = files
            .iter()
            .map(|(path, text)| File::new(path, text))
            .collect();
        Repository::new(files, Vec::new())
    }

    fn messages(files: &[(&str, &str)]) -> Vec<String> {
        check(&repository(files))
            .into_iter()
            .map(|finding| finding.message)
            .collect()
    }

    #[test]
    fn a_code_with_its_page_passes() {
        let none: Vec<String> = Vec::new();
        assert_eq!(
            messages(&[
                CODES,
                ("docs/errors/A_B.md", PAGE),
                (INDEX, "- [A_B](A_B.md)")
            ]),
            none
        );
    }

    #[test]
    fn codes_are_read_in_every_spelling() {
        let text = "pub(crate) const A_B: &'static str =\n    \"A_B\";\nconst TEXT: u8 = f(\"C_D\"); pub const E: &str = \"E\";";
        let found = codes(&repository(&[("crates/a/src/codes.rs", text)]));
        assert_eq!(found.keys().collect::<Vec<_>>(), ["A_B", "E"]);
    }

    #[test]
    fn codes_are_read_where_an_error_maps_to_them() {
        let text = "impl E { pub const CODE: &'static str = \"A_B\"; pub const X: &str = \"NO_CODE\";\n\
                    pub const fn code(self) -> &'static str { match self { A => \"C_D\", B => \"x\" } }\n\
                    fn codes() { \"NEITHER\" } }\n\
                    impl FsCode { fn text() { \"E_F\" } }\n#[cfg(test)] mod tests { fn code() { \"TEST_ONLY\" } }";
        let found = codes(&repository(&[("crates/a/src/error.rs", text)]));
        assert_eq!(found.keys().collect::<Vec<_>>(), ["A_B", "C_D", "E_F"]);
    }

    #[test]
    fn code_and_page_need_each_other() {
        assert_eq!(
            messages(&[CODES, (INDEX, "(A_B.md)")]),
            ["`A_B` has no page; write `docs/errors/A_B.md`"]
        );
        let page = ("docs/errors/A_B.md", PAGE);
        assert_eq!(
            messages(&[page, (INDEX, "")]),
            ["no crate declares this code; declare it or remove the page"]
        );
        assert_eq!(
            messages(&[CODES, page, (INDEX, "")]),
            ["does not list `A_B`"]
        );
        assert_eq!(
            messages(&[CODES, page]),
            ["is missing; it lists every page"]
        );
    }

    #[test]
    fn a_page_has_its_sections() {
        let index = (INDEX, "(A_B.md)");
        for section in SECTIONS {
            let page = PAGE.replace(section, "## Other");
            assert_eq!(
                messages(&[CODES, ("docs/errors/A_B.md", &page), index]).len(),
                1,
                "{section}"
            );
        }
        assert_eq!(
            messages(&[CODES, ("docs/errors/A_B.md", &PAGE[2..]), index]),
            ["start the page with `# A_B`"]
        );
    }

    #[test]
    fn a_code_is_its_name_and_declared_once() {
        let index = (INDEX, "");
        let differs = ("crates/a/src/codes.rs", "pub const A_B: &str = \"A_C\";");
        assert_eq!(
            messages(&[differs, index]),
            ["`A_B` is \"A_C\"; a code's name and value are the same"]
        );
        let shape = ("crates/a/src/codes.rs", "pub const a_b: &str = \"a_b\";");
        assert_eq!(
            messages(&[shape, index]),
            ["`a_b` does not look like `NOUN_STATE`"]
        );
        let page = ("docs/errors/A_B.md", PAGE);
        let twice = ("crates/b/src/codes.rs", CODES.1);
        let found = messages(&[CODES, twice, page, (INDEX, "(A_B.md)")]);
        assert_eq!(
            found,
            ["`A_B` is declared in `crates/a/src/codes.rs` too; use that"]
        );
    }

    #[test]
    fn a_code_is_not_spelled_out() {
        let page = ("docs/errors/A_B.md", PAGE);
        let index = (INDEX, "(A_B.md)");
        let found = messages(&[
            CODES,
            page,
            index,
            ("crates/a/src/lib.rs", "fn name() { \"A_B\" }"),
        ]);
        assert_eq!(
            found,
            ["use the declaration of `A_B` in `crates/a/src/codes.rs`"]
        );
        assert!(
            messages(&[
                CODES,
                page,
                index,
                ("crates/a/tests/b.rs", "fn name() { \"A_B\" }")
            ])
            .is_empty()
        );
    }
}
