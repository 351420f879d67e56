//! The `read` tool on the road of a call (F60, F61, F69–F73).
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use dsh_context::Fiber;
use dsh_fs::read::{ReadConfig, ReadSettings, read};
use dsh_schema::Document;
use dsh_tools::{Access, Call, Effect, Reason, Settled, Signal, Tool, Tools, ToolsConfig};
use dsh_workspace::Workspace;
use futures_lite::future::block_on;
use tempfile::TempDir;

struct Fixture {
    directory: TempDir,
    tool: Tool,
    tools: Tools,
    _fiber: Fiber,
}

impl Fixture {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Arc::new(Workspace::open(directory.path()).unwrap());
        let settings = ReadSettings {
            read_limit: Some(3.into()),
            ..ReadSettings::default()
        };
        let tool = read(workspace, ReadConfig::new(&settings).unwrap()).unwrap();
        let fiber = Fiber::root("test");
        let tools = Tools::new(ToolsConfig::default());
        tools.global(&fiber).register(tool.clone()).unwrap();
        Self {
            directory,
            tool,
            tools,
            _fiber: fiber,
        }
    }

    fn write(&self, path: &str, bytes: &str) {
        fs::write(self.directory.path().join(path), bytes).unwrap();
    }

    fn call(&self, arguments: &str) -> Settled {
        self.call_with(arguments, Signal::never())
    }

    fn call_with(&self, arguments: &str, signal: Signal) -> Settled {
        block_on(
            self.tools
                .execute(Call::new("call-1", "read", arguments, signal)),
        )
    }

    /// The text of a finished call, with the root's path written as `ROOT`.
    fn text(&self, settled: &Settled) -> String {
        let [block] = settled.outcome().content().blocks() else {
            panic!("one block")
        };
        self.masked(block.as_text().unwrap())
    }

    fn masked(&self, text: &str) -> String {
        text.replace(self.directory.path().to_str().unwrap(), "ROOT")
    }
}

fn document(json: &str) -> Document {
    Document::parse(json).unwrap()
}

#[test]
fn f60_the_definition() {
    let f = Fixture::new();
    assert_eq!(f.tool.name(), "read");
    assert_eq!(f.tool.effect(), Effect::ReadOnly);
    assert!(!f.tool.is_destructive());
    assert!(
        f.tool
            .is_concurrency_safe(&document(r#"{"file_path":"a"}"#))
    );
    assert_eq!(
        f.tool.schema().parameters().to_json(),
        "{\"type\":\"object\",\"properties\":{\
         \"file_path\":{\"type\":\"string\",\
         \"description\":\"Path of the file, absolute or relative to the workspace.\"},\
         \"offset\":{\"type\":\"number\",\"description\":\"The first line to return, from 1.\"},\
         \"limit\":{\"type\":\"number\",\
         \"description\":\"How many lines to return at most. Default and maximum: 3.\"}},\
         \"required\":[\"file_path\"]}"
    );
}

#[test]
fn f69_f70_value_and_text() {
    let f = Fixture::new();
    f.write("a.rs", "one\r\ntwo\nthree\nfour\n");
    let settled = f.call(r#"{"file_path":"a.rs","offset":2,"limit":2}"#);
    assert_eq!(
        f.text(&settled),
        "<path>ROOT/a.rs</path>\n<type>file</type>\n<content>\n2: two\n3: three\n\n\
         (Showing lines 2-3 of 4. Use offset=4 to continue.)\n</content>"
    );
    assert_eq!(
        f.masked(&settled.outcome().value().unwrap().to_json()),
        r#"{"path":"ROOT/a.rs","offset":2,"lines":[{"number":2,"text":"two"},{"number":3,"text":"three"}],"totalLines":4}"#
    );
    let all = f.call(r#"{"file_path":"a.rs"}"#);
    assert!(
        f.text(&all).ends_with(
            "3: three\n\n(Showing lines 1-3 of 4. Use offset=4 to continue.)\n</content>"
        )
    );
    let exact = f.call(r#"{"file_path":"a.rs","offset":2.0}"#);
    assert!(
        f.text(&exact)
            .ends_with("4: four\n\n(End of file - total 4 lines)\n</content>")
    );
}

#[test]
fn f61_bad_values_fail_before_any_io() {
    let f = Fixture::new();
    for (arguments, text) in [
        (
            r#"{"file_path":" "}"#,
            "file_path must be a non-empty string",
        ),
        (
            r#"{"file_path":"missing","offset":0}"#,
            "offset must be a positive integer",
        ),
        (
            r#"{"file_path":"missing","offset":1.5}"#,
            "offset must be a positive integer",
        ),
        (
            r#"{"file_path":"missing","limit":-1}"#,
            "limit must be a positive integer",
        ),
        (
            r#"{"file_path":"missing","limit":4}"#,
            "limit must be less than or equal to 3",
        ),
    ] {
        let settled = f.call(arguments);
        assert_eq!(f.text(&settled), format!("Error: {text}"));
    }
    let settled = f.call(r#"{"file_path":7}"#);
    assert_eq!(settled.outcome().code(), Some("INVALID_ARGS"));
}

#[test]
fn failures_carry_name_and_code() {
    let f = Fixture::new();
    f.write("nul", "a\0");
    symlink("/etc/passwd", f.directory.path().join("link")).unwrap();
    for (path, code, text) in [
        (
            "missing",
            "FS_NOT_FOUND",
            "cannot read \"ROOT/missing\": not found",
        ),
        (
            "nul",
            "FS_NOT_TEXT",
            "cannot read \"ROOT/nul\": binary file",
        ),
        (
            ".",
            "FS_NOT_REGULAR_FILE",
            "cannot read \"ROOT\": not a regular file",
        ),
        (
            "link",
            "FS_SANDBOX_DENIED",
            "cannot access \"ROOT/link\": outside the workspace \"ROOT\"",
        ),
    ] {
        let settled = f.call(&format!("{{\"file_path\":\"{path}\"}}"));
        assert_eq!(f.text(&settled), format!("Error: {text}"));
        assert_eq!(settled.outcome().code(), Some(code));
        let failure = settled.outcome().error().unwrap();
        assert_eq!(failure.info.as_ref().unwrap().name, "FsError");
    }
}

#[test]
fn a_call_cancelled_before_it_starts_reads_nothing() {
    let f = Fixture::new();
    f.write("a.txt", "a");
    let (canceller, signal) = Signal::pair();
    canceller.cancel(Reason::Cancelled);
    let settled = f.call_with(r#"{"file_path":"a.txt"}"#, signal);
    assert_eq!(settled.outcome().code(), Some("ABORTED_BEFORE_DISPATCH"));
}

#[test]
fn a_call_cancelled_while_it_reads_ends() {
    let f = Fixture::new();
    // Text, then a hole that would take hours to read.
    f.write("endless", &"\n".repeat(8192));
    let file = fs::OpenOptions::new()
        .write(true)
        .open(f.directory.path().join("endless"));
    file.unwrap().set_len(1 << 43).unwrap();
    let (canceller, signal) = Signal::pair();
    let call = f
        .tools
        .execute(Call::new("1", "read", r#"{"file_path":"endless"}"#, signal));
    let settled = block_on(async {
        let mut call = std::pin::pin!(call);
        // The first poll starts the body; the file is far too large for it to be done.
        assert!(
            futures_lite::future::poll_once(call.as_mut())
                .await
                .is_none()
        );
        canceller.cancel(Reason::Cancelled);
        call.await
    });
    assert_eq!(settled.outcome().code(), Some("FS_ABORTED"));
}

#[test]
fn access_names_the_resolved_path() {
    let f = Fixture::new();
    let root = f.directory.path().canonicalize().unwrap();
    f.write(".env", "KEY=1");
    symlink(".env", f.directory.path().join("innocent.txt")).unwrap();
    let access = |path: &str| {
        f.tool
            .access(&document(&format!("{{\"file_path\":\"{path}\"}}")))
            .unwrap()
    };
    let resolved = |path: &str| [Access::read(root.join(path).to_str().unwrap())];
    assert_eq!(access("innocent.txt"), resolved(".env"));
    assert_eq!(access("x/../new"), [Access::read("x/../new")]);
    assert_eq!(access("new"), resolved("new"));
    assert_eq!(access("/etc/passwd"), [Access::read("/etc/passwd")]);
}

#[test]
fn f72_the_card_of_a_call_on_its_way() {
    let f = Fixture::new();
    let card = |arguments: &str| {
        serde_json::to_string(&f.tool.present_call(&document(arguments)).unwrap()).unwrap()
    };
    assert_eq!(
        card(r#"{"file_path":"a.rs","offset":5,"limit":2}"#),
        r#"{"card":"generic","title":"Read a.rs (5 - 6)","kind":"read","locations":[{"path":"a.rs","line":5}]}"#
    );
    assert_eq!(
        card(r#"{"file_path":"a.rs"}"#),
        r#"{"card":"generic","title":"Read a.rs","kind":"read","locations":[{"path":"a.rs","line":1}]}"#
    );
    assert!(
        f.tool
            .present_call(&document(r#"{"path":"a.rs"}"#))
            .is_none()
    );
}

#[test]
fn f73_the_card_of_a_finished_call() {
    let f = Fixture::new();
    f.write("a.rs", "one\n");
    let json = r#"{"file_path":"a.rs"}"#;
    let settled = f.call(json);
    let durable = settled.outcome().durable();
    let card = f.tool.present_result(&document(json), &durable).unwrap();
    assert_eq!(
        f.masked(&serde_json::to_string(&card).unwrap()),
        r#"{"card":"read","path":"ROOT/a.rs","offset":1,"lines":[{"number":1,"text":"one"}],"totalLines":1,"lang":"rust","content":"1: one\n\n(End of file - total 1 lines)"}"#
    );

    let none = |change: &dyn Fn(&mut dsh_tools::DurableResult)| {
        let mut durable = durable.clone();
        change(&mut durable);
        assert!(f.tool.present_result(&document(json), &durable).is_none());
    };
    none(&|result| result.is_error = true);
    none(&|result| result.meta = None);
    none(&|result| result.meta = Some(document(r#"{"path":"a"}"#)));
    none(&|result| {
        result.meta = Some(document(
            r#"{"path":"a","offset":1,"lines":[{"number":2,"text":""}],"totalLines":1}"#,
        ));
    });
    none(&|result| result.content = "plain".into());
    none(&|result| result.content.push("more"));
    let failed = f.call(r#"{"file_path":"missing"}"#).outcome().durable();
    assert!(f.tool.present_result(&document(json), &failed).is_none());
}
