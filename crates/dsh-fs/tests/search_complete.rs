//! Keeping complete results (F134).
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod tree;

use std::sync::{Arc, Mutex};

use dsh_fs::search::{ResultStore, Saved, StoreError, keep_complete_results};
use dsh_tools::{Call, PostDecision, PostNext, Signal};
use futures_lite::future::block_on;
use tree::{Runtime, Tree, config, text};

#[derive(Default)]
struct Memory {
    is_full: bool,
    kept: Mutex<Vec<(String, String)>>,
}

impl ResultStore for Memory {
    fn save(&self, name: &str, text: &str) -> Result<Saved, StoreError> {
        if self.is_full {
            return Err(StoreError::new("no room"));
        }
        let mut kept = self.kept.lock().unwrap();
        kept.push((name.to_owned(), text.to_owned()));
        Ok(Saved {
            place: format!("/spill/{name}"),
            hint: "read it with `read`".to_owned(),
        })
    }
}

impl Memory {
    fn take(&self) -> Vec<(String, String)> {
        std::mem::take(&mut self.kept.lock().unwrap())
    }
}

const SETTINGS: &str = r#"{"globMaxResults":1,"grepMaxMatches":1,"grepMaxLineBytes":4}"#;
const GLOB: (&str, &str) = ("glob", r#"{"pattern":"*"}"#);
const GREP: (&str, &str) = ("grep", r#"{"pattern":"x"}"#);

fn tree() -> Tree {
    let tree = Tree::new();
    tree.write_in_order(&["b", "a"]);
    tree.write("b", "xxxxxx\n");
    tree.age("b", 1);
    tree
}

fn with_store(tree: &Tree, store: &Arc<Memory>) -> Runtime {
    let runtime = Runtime::new(tree, SETTINGS);
    let listener = keep_complete_results(store.clone(), config(SETTINGS));
    let global = runtime.tools.global(&runtime.fiber);
    global.on_post_execute(listener).unwrap();
    runtime
}

#[test]
fn f134_a_result_over_the_cap_is_kept_whole() {
    let (tree, store) = (tree(), Arc::new(Memory::default()));
    let runtime = with_store(&tree, &store);
    assert_eq!(
        runtime.text(GLOB.0, GLOB.1),
        "b\n\n(Showing 1 of 2 paths. The complete result is stored at /spill/glob-results.txt; \
         read it with `read`.)"
    );
    assert_eq!(
        store.take(),
        [("glob-results.txt".to_owned(), "b\na\n".to_owned())]
    );
    let settled = runtime.call(GREP.0, GREP.1);
    assert_eq!(
        text(&settled),
        "Found 1 of 2 matches\n\na\nLine 1: x\n\n(Showing 1 of 2 matches. The complete result is \
         stored at /spill/grep-results.txt; read it with `read`.)"
    );
    assert_eq!(
        store.take(),
        [(
            "grep-results.txt".to_owned(),
            "Found 2 matches\n\na\nLine 1: x\n\nb\nLine 1: xxxxxx\n".to_owned()
        )]
    );
    // Value and card stay.
    let value = settled.outcome().value().unwrap().to_value();
    assert_eq!(value["matches"].as_array().unwrap().len(), 2);
    assert!(settled.outcome().meta().is_some());
}

#[test]
fn f134_nothing_is_kept_without_need() {
    let (tree, store) = (tree(), Arc::new(Memory::default()));
    let runtime = with_store(&tree, &store);
    assert_eq!(runtime.text("glob", r#"{"pattern":"a"}"#), "a");
    runtime.text("grep", r#"{"pattern":"xx"}"#);
    runtime.text("grep", r#"{"pattern":"("}"#);
    assert_eq!(store.take(), []);
}

#[test]
fn f134_calls_of_programs_are_left_alone() {
    let (tree, store) = (tree(), Arc::new(Memory::default()));
    let runtime = with_store(&tree, &store);
    let parent = runtime.call("glob", r#"{"pattern":"a"}"#);
    let mut call = Call::new("call-2", GLOB.0, GLOB.1, Signal::never());
    call.parent = Some(parent.execution().token());
    let settled = block_on(runtime.tools.execute(call));
    assert!(text(&settled).contains("could not be saved"));
    assert_eq!(store.take(), []);
}

#[test]
fn f134_a_result_that_was_replaced_or_blocked_is_left_alone() {
    let (tree, store) = (tree(), Arc::new(Memory::default()));
    for blocks in [false, true] {
        let runtime = with_store(&tree, &store);
        let global = runtime.tools.global(&runtime.fiber);
        // Registered later, hence inside.
        let replace = move |_, _, _: PostNext| async move {
            Ok(if blocks {
                PostDecision::block("no")
            } else {
                PostDecision::content("mine")
            })
        };
        global.on_post_execute(replace).unwrap();
        let wanted = if blocks { "no" } else { "mine" };
        assert_eq!(runtime.text(GLOB.0, GLOB.1), wanted);
        assert_eq!(store.take(), []);
    }
}

#[test]
fn f134_a_store_that_fails_never_fails_the_search() {
    let store = Arc::new(Memory {
        is_full: true,
        ..Memory::default()
    });
    let tree = tree();
    let runtime = with_store(&tree, &store);
    for (name, arguments) in [GLOB, GREP] {
        let settled = runtime.call(name, arguments);
        assert!(!settled.outcome().is_error());
        assert!(text(&settled).contains("could not be saved"));
    }
}
