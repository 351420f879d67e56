//! The `glob` tool (F110–F114, F130–F135).
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod tree;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use dsh_tools::card::ResultView;
use dsh_tools::{Access, DurableResult, Effect};
use dsh_workspace::Workspace;
use proptest::prelude::*;
use tree::{Runtime, Tree, document, text};

#[test]
fn f110_the_definition() {
    let tree = Tree::new();
    let tool = Runtime::new(&tree, "{}").glob;
    assert_eq!(tool.name(), "glob");
    assert_eq!(tool.effect(), Effect::ReadOnly);
    assert!(tool.is_concurrency_safe(&document(r#"{"pattern":"a"}"#)));
    assert_eq!(
        tool.timeout(),
        Some(std::time::Duration::from_secs(30)),
        "F132: declared, not enforced here"
    );
    let schema = tool.schema().parameters().to_value();
    assert_eq!(schema["required"], serde_json::json!(["pattern"]));
    assert_eq!(schema["properties"]["pattern"]["type"], "string");
    assert_eq!(schema["properties"]["path"]["type"], "string");
    assert_eq!(schema["properties"].as_object().unwrap().len(), 2);
    assert_eq!(
        (dsh_fs::glob::PROMPT_SECTION, dsh_fs::glob::PROMPT_ORDER),
        ("tool:glob", 103)
    );
}

#[test]
fn f110_f133_failures() {
    let tree = Tree::new();
    tree.write("file.txt", "x");
    tree.link("escape", "../outside");
    let runtime = Runtime::new(&tree, "{}");
    let root = tree.base().join("root");
    let root = root.to_str().unwrap();
    for (arguments, name, code, message) in [
        (
            r#"{"pattern":" "}"#,
            None,
            None,
            "pattern must be a non-empty string".to_owned(),
        ),
        (
            r#"{"pattern":"a","path":" "}"#,
            None,
            None,
            "path must be a non-empty string when given".to_owned(),
        ),
        (
            r#"{"pattern":"[a"}"#,
            Some("SearchError"),
            Some("SEARCH_INVALID_PATTERN"),
            "pattern \"[a\" is not a glob: unclosed character class; missing ']'".to_owned(),
        ),
        (
            r#"{"pattern":"a","path":"missing"}"#,
            Some("SearchError"),
            Some("SEARCH_FAILED"),
            format!("cannot search \"{root}/missing\": not found"),
        ),
        (
            r#"{"pattern":"a","path":"file.txt"}"#,
            Some("SearchError"),
            Some("SEARCH_FAILED"),
            format!(
                "cannot list \"{root}/file.txt\": not a directory; give `glob` a directory as path"
            ),
        ),
        (
            r#"{"pattern":"a","path":"file.txt/x"}"#,
            Some("SearchError"),
            Some("SEARCH_FAILED"),
            format!("cannot resolve \"{root}/file.txt/x\": a parent segment is not a directory"),
        ),
        (
            r#"{"pattern":"a","path":"escape"}"#,
            Some("FsError"),
            Some("FS_SANDBOX_DENIED"),
            format!("cannot access \"{root}/escape\": outside the workspace \"{root}\""),
        ),
    ] {
        let settled = runtime.call("glob", arguments);
        assert_eq!(text(&settled), format!("Error: {message}"));
        let info = settled.outcome().error().unwrap().info.clone();
        assert_eq!(info.as_ref().map(|info| &*info.name), name);
        assert_eq!(settled.outcome().code(), code);
    }
}

#[test]
fn f111_what_counts() {
    let tree = Tree::new();
    for path in [
        "a.rs",
        "src/b.rs",
        "src/deep/c.rs",
        ".hidden.rs",
        ".config/d.rs",
        "target/e.rs",
        "dir.rs/f.txt",
        ".git/config.rs",
        "vendor/x/.git/g.rs",
        ".svn/s.rs",
        ".hg/s.rs",
        ".bzr/s.rs",
        ".jj/s.rs",
        ".sl/s.rs",
    ] {
        tree.write(path, "x");
    }
    tree.write(".gitignore", "target\n*.rs\n");
    tree.write(".ignore", "*.rs\n");
    assert_eq!(
        tree.glob("*.rs"),
        [
            ".config/d.rs",
            ".hidden.rs",
            "a.rs",
            "src/b.rs",
            "src/deep/c.rs",
            "target/e.rs"
        ]
    );
    assert_eq!(tree.glob("src/*.rs"), ["src/b.rs"]);
    assert_eq!(tree.glob("src/**"), ["src/b.rs", "src/deep/c.rs"]);
    assert_eq!(tree.glob("dir.rs"), [""; 0]);
    // As ripgrep: an excluded directory is not entered.
    assert_eq!(tree.glob("!*.rs"), [".gitignore", ".ignore"]);
    // As ripgrep: a path in the pattern starts at the working directory, not at the search root.
    let found = |pattern: &str, path: &str| tree.glob_in(pattern, Some(path)).unwrap().paths;
    assert_eq!(found("src/deep/*", "src"), ["src/deep/c.rs"]);
    assert_eq!(found("deep/*", "src"), [""; 0]);
    assert_eq!(found("c.*", "src"), ["src/deep/c.rs"]);
}

#[test]
fn f111_version_control_is_never_searched() {
    let tree = Tree::new();
    tree.write(".git/hooks/a", "x");
    tree.write("sub/.hg/store/b", "x");
    tree.link("innocent", ".git");
    for path in [".git", ".git/hooks", "sub/.hg", "sub/.hg/store", "innocent"] {
        for pattern in ["*", "**/hooks/*", ".git/**"] {
            let found = tree.glob_in(pattern, Some(path)).unwrap();
            assert_eq!(found.paths, [""; 0], "{pattern} in {path}");
        }
    }
}

#[test]
fn f111_oldest_first_and_byte_order_within_a_moment() {
    let tree = Tree::new();
    tree.write_in_order(&["new/z", "b", "a", "new/y"]);
    assert_eq!(
        tree.glob_in("*", None).unwrap().paths,
        ["new/z", "b", "a", "new/y"]
    );
    for path in ["new/z", "b", "a", "new/y", "B", "a.b/c", "a/b"]
        .iter()
        .rev()
    {
        if *path == "a/b" {
            fs::remove_file(tree.root().join("a")).unwrap();
        }
        if *path == "a" {
            continue;
        }
        tree.write(path, "x");
        tree.age(path, 7);
    }
    assert_eq!(
        tree.glob_in("*", None).unwrap().paths,
        ["B", "a/b", "a.b/c", "b", "new/y", "new/z"]
    );
}

#[test]
fn f112_root_and_paths() {
    let tree = Tree::new();
    tree.write("src/a.rs", "x");
    tree.link("link", "src");
    let output = |path| tree.glob_in("*.rs", path).unwrap();
    let absolute = tree.root().join("src").to_str().unwrap().to_owned();
    for (path, root, found) in [
        (None, ".", "src/a.rs"),
        (Some("."), ".", "src/a.rs"),
        (Some("./src/"), "src", "src/a.rs"),
        (Some(&*absolute), "src", "src/a.rs"),
        (Some("link"), "link", "link/a.rs"),
    ] {
        let output = output(path);
        assert_eq!(output.root, root, "{path:?}");
        assert_eq!(output.paths, [found], "{path:?}");
    }
    let runtime = Runtime::new(&tree, "{}");
    let settled = runtime.call("glob", r#"{"pattern":"*.rs"}"#);
    assert_eq!(
        settled.outcome().value().unwrap().to_json(),
        r#"{"root":".","paths":["src/a.rs"]}"#
    );
}

#[test]
fn f113_the_text() {
    let tree = Tree::new();
    let runtime = Runtime::new(&tree, r#"{"globMaxResults":2}"#);
    let call = || runtime.text("glob", r#"{"pattern":"*"}"#);
    assert_eq!(call(), "No files found");
    tree.write_in_order(&["b/1", "b/2"]);
    assert_eq!(call(), "b/1\nb/2");
    tree.write_in_order(&["b/1", "b/2", "a"]);
    assert_eq!(
        call(),
        "b/1\na\n\n(Showing 2 of 3 paths, taken in turn from 2 of 2 top-level entries. The \
         complete result could not be saved; narrow the search with a more specific pattern or \
         path.)"
    );
    let plain = r#"{"globMaxResults":2,"sampleOverCapGlobResults":false}"#;
    let plain = Runtime::new(&tree, plain);
    assert_eq!(
        plain.text("glob", r#"{"pattern":"*"}"#),
        "b/1\nb/2\n\n(Showing 2 of 3 paths. The complete result could not be saved; narrow the \
         search with a more specific pattern or path.)"
    );
    // The value is complete all the same.
    let settled = plain.call("glob", r#"{"pattern":"*"}"#);
    assert_eq!(
        settled.outcome().value().unwrap().to_json(),
        r#"{"root":".","paths":["b/1","b/2","a"]}"#
    );
}

#[test]
fn f114_samples_follow_the_entries_below_the_search_root() {
    let tree = Tree::new();
    tree.write_in_order(&["x/b/1", "x/b/2", "x/a/1", "x/b/3"]);
    let runtime = Runtime::new(&tree, r#"{"globMaxResults":2}"#);
    let text = runtime.text("glob", r#"{"pattern":"*","path":"x"}"#);
    assert!(
        text.starts_with(
            "x/b/1\nx/a/1\n\n(Showing 2 of 4 paths, taken in turn from 2 of 2 top-level entries."
        ),
        "{text}"
    );
}

#[test]
fn f130_patterns_and_paths_are_data() {
    let tree = Tree::new();
    for path in ["--files", "-e", "$(id)", "#x", "a b/c;d"] {
        tree.write(path, "x");
        let found = tree.glob_in(path, None).unwrap();
        assert_eq!(found.paths, [path]);
    }
    assert_eq!(tree.glob_in("*", Some("a b")).unwrap().paths, ["a b/c;d"]);
    let missing = tree.glob_in("*", Some("--help")).unwrap_err();
    assert_eq!(missing.code(), "SEARCH_FAILED");
}

#[test]
fn d47_a_further_root_is_searched_like_the_workspace() {
    let tree = Tree::new();
    tree.write("a.txt", "x");
    let spill = tree.base().join("spill");
    fs::create_dir_all(spill.join("sub")).unwrap();
    fs::write(spill.join("sub/b.txt"), "found").unwrap();
    let workspace = Workspace::open(tree.root()).unwrap();
    let workspace = workspace.with_read_root(&spill).unwrap();
    let spill = spill.to_str().unwrap();
    let request = dsh_fs::glob::GlobRequest::new("*.txt", Some(spill)).unwrap();
    let found =
        dsh_fs::glob::find_paths(&workspace, &request, 1000, &dsh_workspace::never).unwrap();
    assert_eq!(found.root, spill);
    assert_eq!(found.paths, [format!("{spill}/sub/b.txt")]);
    let request = dsh_fs::grep::GrepRequest::new("o", Some(spill), None).unwrap();
    let found =
        dsh_fs::grep::find_lines(&workspace, &request, 1000, &dsh_workspace::never).unwrap();
    assert_eq!(&*found.matches[0].path, format!("{spill}/sub/b.txt"));
}

#[test]
fn f133_too_much_is_refused_with_advice() {
    let tree = Tree::new();
    tree.write("abc", "x");
    tree.write("abd", "x");
    let at = |max: u32| {
        let runtime = Runtime::new(&tree, &format!("{{\"rawOutputMaxBytes\":{max}}}"));
        runtime.call("glob", r#"{"pattern":"*"}"#)
    };
    assert_eq!(text(&at(8)), "abc\nabd");
    let settled = at(7);
    assert_eq!(settled.outcome().code(), Some("SEARCH_RAW_OUTPUT_OVERFLOW"));
    assert_eq!(
        text(&settled),
        "Error: the complete result is larger than 7 bytes; narrow the search with a more specific \
         pattern or path"
    );
}

#[test]
fn access_names_the_resolved_directory() {
    let tree = Tree::new();
    tree.write("src/a", "x");
    tree.link("link", "src");
    let tool = Runtime::new(&tree, "{}").glob;
    let access = |json: &str| tool.access(&document(json)).unwrap();
    let resolved = |path: &str| [Access::read(tree.root().join(path).to_str().unwrap())];
    let root = [Access::read(tree.root().to_str().unwrap())];
    assert_eq!(access(r#"{"pattern":"*"}"#), root);
    assert_eq!(access(r#"{"pattern":"*","path":"link"}"#), resolved("src"));
    assert_eq!(
        access(r#"{"pattern":"*","path":"/etc"}"#),
        [Access::read("/etc")]
    );
}

#[test]
fn f135_the_card_of_a_call_on_its_way() {
    let tree = Tree::new();
    let tool = Runtime::new(&tree, "{}").glob;
    let card = |json: &str| {
        let card = tool.present_call(&document(json));
        serde_json::to_string(&card.unwrap()).unwrap()
    };
    assert_eq!(
        card(r#"{"pattern":"*.rs"}"#),
        r#"{"card":"generic","title":"Glob *.rs","kind":"search","rawInput":"*.rs"}"#
    );
    assert_eq!(
        card(r#"{"pattern":"*.rs","path":"src"}"#),
        r#"{"card":"generic","title":"Glob *.rs in src","kind":"search","rawInput":"*.rs"}"#
    );
    assert!(tool.present_call(&document("{}")).is_none());
}

#[test]
fn f135_the_card_of_a_finished_call() {
    let tree = Tree::new();
    let json = r#"{"pattern":"*"}"#;
    let card = |settings: &str| {
        let runtime = Runtime::new(&tree, settings);
        let durable = runtime.call("glob", json).outcome().durable();
        let card = runtime.glob.present_result(&document(json), &durable);
        serde_json::to_string(&card.unwrap()).unwrap()
    };
    assert_eq!(
        card("{}"),
        r#"{"card":"search","shape":"paths","paths":[],"truncated":false,"total":0}"#
    );
    tree.write_in_order(&["a", "b", "c"]);
    assert_eq!(
        card(r#"{"globMaxResults":1}"#),
        r#"{"card":"search","shape":"paths","paths":["a","b","c"],"truncated":false,"total":3}"#
    );
    // 96 bytes for the rest, and four for each path.
    assert_eq!(
        card(r#"{"searchMetaMaxBytes":104}"#),
        r#"{"card":"search","shape":"paths","paths":["a","b"],"truncated":true,"total":3}"#
    );
    assert_eq!(
        card(r#"{"searchMetaMaxBytes":1}"#),
        r#"{"card":"search","shape":"paths","paths":["a"],"truncated":true,"total":3}"#
    );
}

#[test]
fn f135_no_card_without_good_meta() {
    let tree = Tree::new();
    tree.write("a", "x");
    let runtime = Runtime::new(&tree, "{}");
    let json = r#"{"pattern":"*"}"#;
    let durable = runtime.call("glob", json).outcome().durable();
    let card = |durable: &DurableResult| runtime.glob.present_result(&document(json), durable);
    assert!(matches!(card(&durable), Some(ResultView::Search(_))));
    let none = |change: &dyn Fn(&mut DurableResult)| {
        let mut durable = durable.clone();
        change(&mut durable);
        assert!(card(&durable).is_none());
    };
    none(&|result| result.is_error = true);
    none(&|result| result.meta = None);
    for meta in [
        "{}",
        r#"{"shape":"paths","paths":["a"],"truncated":false,"total":2}"#,
        r#"{"shape":"matches","files":[],"truncated":false,"total":0}"#,
    ] {
        none(&|result| result.meta = Some(document(meta)));
    }
}

#[test]
fn ou_11_names_that_are_no_text() {
    let tree = Tree::new();
    tree.write(OsStr::from_bytes(b"caf\xe9.txt"), "x");
    tree.write(OsStr::from_bytes(b"d\xff/b.txt"), "x");
    assert_eq!(tree.glob("*.txt"), ["caf\u{fffd}.txt", "d\u{fffd}/b.txt"]);
}

// A naive reference: globs of a small language, matched by trying everything.

#[derive(Debug, Clone)]
enum Part {
    Literal(u8),
    Any,
    Star,
    Class(Vec<u8>),
}

fn name_matches(parts: &[Part], name: &[u8]) -> bool {
    match (parts.split_first(), name.split_first()) {
        (None, rest) => rest.is_none(),
        (Some((Part::Star, rest)), _) => {
            (0..=name.len()).any(|skip| name_matches(rest, &name[skip..]))
        }
        (Some(_), None) => false,
        (Some((part, rest)), Some((byte, name))) => {
            let here = match part {
                Part::Literal(wanted) => wanted == byte,
                Part::Class(class) => class.contains(byte),
                Part::Any | Part::Star => true,
            };
            here && name_matches(rest, name)
        }
    }
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        4 => prop::sample::select(b"abc".to_vec()).prop_map(Part::Literal),
        1 => Just(Part::Any),
        2 => Just(Part::Star),
        1 => prop::sample::subsequence(b"abc.".to_vec(), 1..3).prop_map(Part::Class),
    ]
}

fn spelled(parts: &[Part]) -> String {
    let mut text = String::new();
    for part in parts {
        match part {
            Part::Literal(byte) => text.push(char::from(*byte)),
            Part::Any => text.push('?'),
            // Two stars mean something else.
            Part::Star if text.ends_with('*') => text.push_str("[abc.]*"),
            Part::Star => text.push('*'),
            Part::Class(class) => {
                text.push('[');
                text.extend(class.iter().copied().map(char::from));
                text.push(']');
            }
        }
    }
    text
}

/// The parts as they are spelled: a class between two stars.
fn without_double_stars(parts: Vec<Part>) -> Vec<Part> {
    let mut result: Vec<Part> = Vec::new();
    for part in parts {
        if matches!((result.last(), &part), (Some(Part::Star), Part::Star)) {
            result.push(Part::Class(b"abc.".to_vec()));
        }
        result.push(part);
    }
    result
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn f111_against_a_naive_matcher(
        files in prop::collection::btree_set("[abc.]{0,2}[abc](/[abc.]{0,2}[abc]){0,3}", 1..12),
        segments in prop::collection::vec(prop::collection::vec(part(), 1..4), 1..4),
        anchored in any::<bool>(),
        leading in any::<bool>(),
    ) {
        let tree = Tree::new();
        let mut written = Vec::new();
        for file in files {
            let path = tree.root().join(&file);
            // A file may stand where another needs a directory.
            if fs::create_dir_all(path.parent().unwrap()).is_ok() && fs::write(&path, "x").is_ok() {
                written.push(file);
            }
        }
        let segments: Vec<Vec<Part>> = segments.into_iter().map(without_double_stars).collect();
        let mut glob = segments.iter().map(|parts| spelled(parts)).collect::<Vec<_>>().join("/");
        let slashes = segments.len() > 1;
        // In front of several segments `**/` allows any directories.
        let floating = if slashes { leading } else { !anchored };
        if slashes && leading {
            glob = format!("**/{glob}");
        } else if anchored {
            glob = format!("/{glob}");
        }
        let mut wanted: Vec<String> = written
            .into_iter()
            .filter(|path| {
                let names: Vec<&str> = path.split('/').collect();
                let Some(extra) = names.len().checked_sub(segments.len()) else {
                    return false;
                };
                (floating || extra == 0)
                    && segments
                        .iter()
                        .zip(&names[extra..])
                        .all(|(parts, name)| name_matches(parts, name.as_bytes()))
            })
            .collect();
        wanted.sort();
        prop_assert_eq!(tree.glob(&glob), wanted, "{}", glob);
    }
}
