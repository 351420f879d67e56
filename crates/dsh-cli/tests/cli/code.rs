//! `dsh code`: where programs come from, what comes back, and how they fail.

use serde_json::{Value, json};

use crate::fixture::{Place, Run, check};
use crate::terminal::on_terminal;

fn place() -> Place {
    let place = Place::new();
    place
        .file("a.txt", "one\ntwo\n")
        .file("b.txt", "three\n")
        .file(
            "count.ts",
            "interface Counted { path: string; lines: number }\n\
             const { paths } = await tools.glob({ pattern: \"*.txt\" });\n\
             const counted = await Promise.all(paths.map(async (path): Promise<Counted> => {\n\
             \x20 const { totalLines } = await tools.read({ file_path: path, limit: 1 });\n\
             \x20 return { path, lines: totalLines };\n\
             }));\n\
             console.log(\"counted\", counted.length);\n\
             return counted.sort((one, other) => one.path < other.path ? -1 : 1);\n",
        );
    place
}

/// The one document that a run printed.
pub(crate) fn document(run: &Run) -> Value {
    assert_eq!(run.stdout.lines().count(), 1, "{run}");
    serde_json::from_str(&run.stdout).unwrap()
}

fn of(place: &Place, words: &[&str]) -> Value {
    let words: Vec<&str> = ["code", "--json"].iter().chain(words).copied().collect();
    document(&place.run(&words))
}

#[test]
fn where_programs_come_from() {
    let place = place();
    place
        .file("empty.ts", "")
        .file("mark.ts", "\u{feff}return 'marked';\n")
        .file("comment.ts", "// nothing but a comment");
    check(
        &place,
        "code-sources",
        &[
            &["code", "count.ts"],
            &["code", "-e", "return 'a string'"],
            &[
                "code",
                "-e",
                "return { nested: [1, { two: null }], empty: [] }",
            ],
            &[
                "code",
                "-e",
                "console.log('only'); console.error('printed', 1, {a: 'b'})",
            ],
            &["code", "-e", ""],
            &["code", "empty.ts"],
            &["code", "comment.ts"],
            &["code", "mark.ts"],
            &["-C", "..", "code", "mark.ts"],
        ],
    );
    let program = b"const answer: number = 42;\nreturn answer;\n";
    for words in [&["code"][..], &["code", "-"]] {
        let run = place.run_with(words, program);
        assert_eq!((run.status.as_str(), run.stdout.as_str()), ("0", "42\n"));
        let run = place.run_with(words, b"");
        assert_eq!((run.status.as_str(), run.stdout.as_str()), ("0", ""));
    }
}

#[test]
fn what_is_no_program() {
    let place = place();
    place
        .file("latin1.ts", b"// fine\nreturn 'caf\xe9';\n")
        .sparse("hole.ts", "", 1 << 30);
    std::fs::create_dir(place.path("directory")).unwrap();
    check(
        &place,
        "code-no-program",
        &[
            &["code", "missing.ts"],
            &["code", "missing.ts", "--json"],
            &["code", "directory"],
            &["code", "latin1.ts"],
            &["code", "hole.ts"],
            &["code", "count.ts", "-e", "return 1"],
            &["code", "count.ts", "b.ts"],
            &["-C", "missing", "code", "count.ts"],
        ],
    );
    let run = place.run_with(&["code", "-"], b"\xff");
    assert_eq!(
        (run.status.as_str(), run.stderr.as_str()),
        (
            "2",
            "error: the program from stdin is not UTF-8: byte 0, on line 1, begins no character\n"
        )
    );
}

#[test]
fn how_programs_fail() {
    let failing = |program: &'static str| ["code", "-e", program];
    let lines = [
        failing("const x: = 3;"),
        failing("return 1;\nenum Color { Red }"),
        failing("import fs from 'node:fs';"),
        failing("return (1;"),
        failing("console.log('before');\nthrow new TypeError('thrown');"),
        failing("throw 'a string'"),
        failing("throw { code: 7 }"),
        failing("function deep() { return deep() } deep()"),
        failing("return () => 1"),
        failing("return 0 / 0"),
        failing("await new Promise(() => {})"),
        failing("await tools.read({ file_path: 'missing.txt' })"),
        failing("await tools.read({ file_path: '/etc/passwd' })"),
        failing("await tools.read({})"),
        failing("await tools.read({ file_path: () => 1 })"),
        failing("await tools.write({ file_path: 'a.txt', content: '' })"),
        failing("await tools.run_code({ code: 'return 1', description: 'again' })"),
        failing("return process.env"),
        failing("await fetch('http://localhost')"),
    ];
    let lines: Vec<&[&str]> = lines.iter().map(|line| &line[..]).collect();
    check(&place(), "code-failures", &lines);
}

#[test]
fn a_failed_call_can_be_caught() {
    let program = "
        try { await tools.read({ file_path: 'missing.txt' }); }
        catch (error) {
            return [error instanceof ToolCallError, error.name, error.toolName, error.message];
        }";
    let place = place();
    let document = of(&place, &["-e", program]);
    let message = "cannot read \"[root]/missing.txt\": not found";
    assert_eq!(
        document["value"],
        json!([true, "ToolCallError", "read", message])
    );
    assert_eq!(document["calls"][0]["outcome"], "failure");
    assert_eq!(document["calls"][0]["code"], "FS_NOT_FOUND");
    assert!(document.get("error").is_none());
}

#[test]
fn budgets_that_make_no_sense() {
    check(
        &Place::new(),
        "code-budgets",
        &[
            &["code", "-e", "", "--compute-ms", "0"],
            &["code", "-e", "", "--wall-ms", "0"],
            &["code", "-e", "", "--wall-ms", "2147483648"],
            &["code", "-e", "", "--memory-mb", "0"],
            &["code", "-e", "", "--output-bytes", "3"],
            &["code", "-e", "", "--compute-ms", "soon"],
            &["code", "-e", "", "--compute-ms=-1"],
        ],
    );
}

/// Each budget ends a program, says so, and leaves what was printed before.
#[test]
fn budgets_that_run_out() {
    #[track_caller]
    fn check(words: &[&str], kind: &str, message: &str, limit: &str, logs: Value) {
        let place = Place::new();
        let words: Vec<&str> = ["code", "--json"].iter().chain(words).copied().collect();
        let run = place.run(&words);
        assert_eq!(
            (run.status.as_str(), run.stderr.as_str()),
            ("1", ""),
            "{run}"
        );
        let document = document(&run);
        assert_eq!(document["error"]["kind"], kind);
        // How far beyond its budget a program was noticed depends on the machine.
        let said = document["error"]["message"].as_str().unwrap();
        assert!(said.starts_with(message), "{said}");
        assert_eq!(document["limits"], json!([limit]));
        assert_eq!(document["logs"], logs);
        assert!(document.get("value").is_none());
        assert_eq!(document["phase"], "running");
    }
    check(
        &[
            "-e",
            "console.log('begun'); for (;;) {}",
            "--compute-ms",
            "100",
        ],
        "timeout",
        "compute budget exhausted (",
        "compute",
        json!(["begun"]),
    );
    check(
        &[
            "-e",
            "console.log('begun'); await new Promise((done) => setTimeout(done, 1e8))",
            "--wall-ms",
            "1000",
        ],
        "timeout",
        "wall-clock ceiling reached (1000ms)",
        "wall",
        json!(["begun"]),
    );
    check(
        &[
            "-e",
            "console.log('begun'); const all = []; for (;;) all.push(new Array(1e4).fill(1.5))",
            "--memory-mb",
            "16",
        ],
        "worker-exit",
        "program ran out of memory: its heap may have 16777216 bytes (`maxMemoryBytes`)",
        "memory",
        json!(["begun"]),
    );
    check(
        &[
            "-e",
            "console.log('x'.repeat(1000))",
            "--output-bytes",
            "100",
        ],
        "output-limit",
        "outer output exceeded 100 bytes",
        "output",
        json!(["x".repeat(96)]),
    );
}

/// The size that is told is the true one, and characters of several bytes are not torn.
#[test]
fn a_program_that_is_too_long() {
    let place = Place::new();
    place.file("long.ts", format!("// {}\n", "ä".repeat(500_000)));
    let run = place.run(&["code", "long.ts", "--json"]);
    assert_eq!(
        (run.status.as_str(), run.stderr.as_str()),
        ("1", ""),
        "{run}"
    );
    let document = document(&run);
    assert_eq!(document["limits"], json!(["source"]));
    assert_eq!(document["phase"], "not-started");
    assert_eq!(
        document["error"]["message"],
        "the program has 1000004 bytes, more than the 262144 of `maxSourceBytes`; make it shorter"
    );
}

/// What a run leaves in the document is the same each time, but for the time that it took.
#[test]
fn the_document() {
    let timeless = |mut document: Value| {
        let timings = document["timings"].take();
        for name in ["spawnUs", "stripUs", "busyUs", "wallUs"] {
            assert!(timings[name].is_u64(), "{timings}");
        }
        for call in document["calls"].as_array_mut().unwrap() {
            assert!(call["durationMs"].is_u64(), "{call}");
            call["durationMs"] = json!("[time]");
        }
        document
    };
    let place = place();
    let first = timeless(of(&place, &["count.ts"]));
    for _ in 0..3 {
        assert_eq!(timeless(of(&place, &["count.ts"])), first);
    }
    let read = |id: &str, digest: &str| {
        json!({
            "id": id, "tool": "read", "argumentsDigest": digest, "outcome": "success", "durationMs": "[time]",
        })
    };
    let mut document = first;
    // Which of the two comes first depends on their age.
    let calls = document["calls"].take();
    let mut digests: Vec<&str> = calls.as_array().unwrap()[1..]
        .iter()
        .map(|call| call["argumentsDigest"].as_str().unwrap())
        .collect();
    digests.sort_unstable();
    assert_eq!(digests.len(), 2);
    assert_eq!(calls[0]["tool"], "glob");
    for (index, call) in calls.as_array().unwrap()[1..].iter().enumerate() {
        let id = format!("call-1:code:{}", index + 2);
        assert_eq!(*call, read(&id, call["argumentsDigest"].as_str().unwrap()));
    }
    let layers = document["sandbox"].take();
    assert_eq!(layers.as_array().unwrap().len(), 5);
    assert_eq!(
        document,
        json!({
            "value": [{"path": "a.txt", "lines": 2}, {"path": "b.txt", "lines": 1}],
            "logs": ["counted 2"],
            "calls": null,
            "unsettled": [],
            "rejections": [],
            "limits": [],
            "phase": "finished",
            "sandbox": null,
            "timings": null,
        })
    );
}

/// D15: what a program left behind is told to whoever runs it, and is no part of its result.
#[test]
fn what_a_program_leaves_behind() {
    let place = place();
    let program = "
        tools.read({ file_path: 'a.txt' });
        Promise.reject(new Error('lost'));
        const slow = tools.grep({ pattern: 'x' });
        await Promise.race([slow, tools.read({ file_path: 'missing.txt' }).catch(() => {}), 1]);
        return 'done';";
    let run = place.run(&["code", "--json", "-e", program]);
    assert_eq!(run.status, "0", "{run}");
    let document = document(&run);
    assert_eq!(document["value"], "done");
    assert_eq!(document["rejections"], json!(["[Error: lost]"]));
    let unsettled: Vec<&str> = document["unsettled"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry.as_str().unwrap())
        .collect();
    assert!(unsettled.contains(&"tools.read"), "{unsettled:?}");
    for call in document["calls"].as_array().unwrap() {
        if call["unsettled"] == true {
            let name = format!("tools.{}", call["tool"].as_str().unwrap());
            assert!(unsettled.contains(&name.as_str()), "{unsettled:?} {call}");
        }
    }
    // The operator's log says it too, and the model's text does not.
    assert!(run.stderr.contains("never awaited"), "{run}");
    let run = place.run(&["code", "-e", program]);
    assert_eq!(run.stdout, "done\n", "{run}");
    // One that settled in time was not awaited either.
    let program =
        "tools.read({ file_path: 'a.txt' }); await tools.read({ file_path: 'b.txt' }); return 1;";
    let document = of(&place, &["-e", program]);
    assert_eq!(document["unsettled"], json!(["tools.read"]));
    assert_eq!(document["calls"][0]["outcome"], "success");
    assert!(document["calls"][0].get("unsettled").is_none());
}

/// Numbers are those of the program, however large (D2).
#[test]
fn integers_arrive_exactly() {
    let place = Place::new();
    let program = "return [2n ** 64n - 1n, -(2n ** 63n), 9007199254740991, 0.1]";
    let run = place.run(&["code", "--json", "-e", program]);
    let numbers = "[18446744073709551615,-9223372036854775808,9007199254740991,0.1]";
    assert!(
        run.stdout.starts_with(&format!("{{\"value\":{numbers},")),
        "{run}"
    );
}

#[test]
fn programs_steer_no_terminal() {
    let place = Place::new();
    let evil = "\\u001b]0;title\\u0007\\u202e\\r";
    for (program, shown) in [
        (format!("console.log('log {evil}')"), "log "),
        (format!("return 'value {evil}'"), "value "),
        (format!("return {{ 'key {evil}': 1 }}"), "key "),
    ] {
        let sent = on_terminal(&place, &["code", "-e", &program], "1");
        assert!(sent.contains(shown), "{sent:?}");
        let acts = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!sent.contains(acts), "{sent:?}");
    }
    let thrown = format!("throw new Error('thrown {evil}')");
    let sent = on_terminal(&place, &["code", "-e", &thrown], "1");
    assert!(
        sent.contains("thrown \\u{1b}]0;title\\u{7}\\u{202e}\\u{d}\n"),
        "{sent:?}"
    );
    // A pipe gets the bytes as they are.
    let run = place.run(&["code", "-e", "return '\\u001b[1m'"]);
    assert_eq!(run.stdout, "\x1b[1m\n");
}
