//! `dsh schema`: JSON lines in, JSON lines out.

use crate::fixture::{Place, Run, Transcript};

fn check(name: &str, command: &str, input: &[u8]) -> Run {
    let run = Place::new().run_with(&["schema", command], input);
    let mut transcript = Transcript::default();
    transcript.add(&run);
    transcript.check(name);
    run
}

#[test]
fn schemas_are_told_apart() {
    check(
        "schema-check",
        "check",
        br##"{"id":1,"schema":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}
{"id":2,"schema":{"type":"string","minLength":1}}
{"id":3,"schema":{"type":"frob"}}
{"id":4,"schema":{"type":"string","pattern":"("}}
{"id":5,"schema":{"$ref":"https://example.com/schema"}}
{"id":6,"schema":true}
"##,
    );
}

#[test]
fn values_are_checked() {
    check(
        "schema-validate",
        "validate",
        br##"{"id":1,"schema":{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]},"value":{"a":1}}
{"id":2,"schema":{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]},"value":{"a":"x"}}
{"id":3,"schema":{"type":"integer"},"value":1.5,"path":"args"}
{"id":4,"schema":{"type":"string","minLength":3},"value":"ab","path":"name"}
{"id":5,"schema":{"type":"frob"},"value":1}
{"id":6,"schema":{"type":"null"},"value":null}
{"id":7,"schema":{"type":"null"}}
{"id":8,"schema":{},"value":1,"path":5}
"##,
    );
}

#[test]
fn types_are_written() {
    check(
        "schema-ts",
        "ts",
        br##"{"id":1,"schema":{"type":"object","properties":{"a":{"type":"string"},"b":{"enum":[1,2]}},"required":["a"],"additionalProperties":false}}
{"id":2,"schema":{"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{"next":{"$ref":"#/$defs/node"}}}}}}
{"id":3,"schema":{"type":"frob"}}
{"id":4,"schema":{"oneOf":[{"type":"string"},{"type":"array","items":{"type":"number"}}]}}
"##,
    );
}

/// One answer for each line and in order, whatever the lines are.
#[test]
fn malformed_lines_do_not_stop_the_run() {
    let run = check(
        "schema-malformed",
        "check",
        b"nope\n\
          {\"id\":1,\"schema\":{}}\r\n\
          \n\
          \x20\t\r\n\
          {\"id\":2}\n\
          [1]\n\
          {\"id\":3,\"id\":4,\"schema\":{}}\n\
          {\"id\":-0,\"schema\":{}}\n\
          {\"id\":\"\xff\",\"schema\":{}}\n\
          {\"id\":5,\"schema\":{}} {\"id\":6,\"schema\":{}}\n\
          {\"id\":7,\"schema\":\n\
          {\"id\":8,\"schema\":{}}",
    );
    assert_eq!(run.status, "1");
}

#[test]
fn ids_are_given_back_as_they_are() {
    let place = Place::new();
    let ids = [
        "1",
        "-7",
        "18446744073709551615",
        "1.5",
        "\"é \\n\"",
        "null",
        "true",
        "[1,[]]",
        "{\"b\":1,\"a\":{}}",
    ];
    for command in ["check", "validate", "ts"] {
        let input: Vec<String> = ids
            .iter()
            .map(|id| format!("{{\"id\":{id},\"schema\":{{}},\"value\":1}}\n"))
            .collect();
        let run = place.run_with(&["schema", command], input.concat().as_bytes());
        assert_eq!(run.status, "0", "{run}");
        assert_eq!(run.stdout.lines().count(), ids.len());
        for (id, line) in ids.iter().zip(run.stdout.lines()) {
            assert!(line.starts_with(&format!("{{\"id\":{id},")), "{id}: {line}");
        }
    }
    // A line without an id is answered as well.
    let run = place.run_with(&["schema", "check"], b"{\"schema\":{}}");
    assert!(run.stdout.starts_with("{\"id\":null,"), "{run}");
}

#[test]
fn nothing_in_gives_nothing_out() {
    let run = Place::new().run_with(&["schema", "check"], b"");
    assert_eq!(
        (
            run.status.as_str(),
            run.stdout.as_str(),
            run.stderr.as_str()
        ),
        ("0", "", "")
    );
}

#[test]
fn long_lines_and_many_lines() {
    let place = Place::new();
    let long = "x".repeat(4 << 20);
    let input = format!(
        "{{\"id\":1,\"schema\":{{\"type\":\"string\"}},\"value\":\"{long}\"}}\n{{\"id\":2,\"schema\":{{}},\"value\":2}}\n"
    );
    let run = place.run_with(&["schema", "validate"], input.as_bytes());
    assert_eq!(
        run.stdout,
        "{\"id\":1,\"valid\":true,\"violations\":[]}\n{\"id\":2,\"valid\":true,\"violations\":[]}\n"
    );

    let mut endless = vec![b'['; (64 << 20) + 2];
    endless.extend_from_slice(b"\n{\"id\":2,\"schema\":{},\"value\":2}\n");
    let run = place.run_with(&["schema", "validate"], &endless);
    assert_eq!(
        run.stdout,
        "{\"line\":1,\"error\":\"longer than 67108864 bytes\"}\n{\"id\":2,\"valid\":true,\"violations\":[]}\n"
    );
    assert_eq!(run.status, "1");

    let many: String = (0..5000)
        .map(|id| format!("{{\"id\":{id},\"schema\":{{}}}}\n"))
        .collect();
    let run = place.run_with(&["schema", "check"], many.as_bytes());
    for (id, line) in (0..5000).zip(run.stdout.lines()) {
        assert!(line.starts_with(&format!("{{\"id\":{id},")), "{id}: {line}");
    }
    assert_eq!(run.stdout.lines().count(), 5000);
}

/// D4: a deep schema or value is an ordinary bad line.
#[test]
fn deep_lines() {
    let deep = "[".repeat(100_000);
    let run = Place::new().run_with(
        &["schema", "validate"],
        format!("{{\"id\":1,\"schema\":{{}},\"value\":{deep}\n").as_bytes(),
    );
    assert_eq!(run.status, "1");
    assert!(run.stdout.starts_with("{\"line\":1,\"error\":"), "{run}");
}
