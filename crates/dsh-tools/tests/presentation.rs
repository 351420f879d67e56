//! Cards: chapter 11 (T403–T422).

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod rig;

use dsh_schema::Document;
use dsh_schema::spec::{self, ParameterSpec};
use dsh_testkit::MockTool;
use dsh_tools::card::{
    CallKind, CallView, FileDiff, FileMatches, Location, MatchedLine, NumberedLine, ResultView,
    SearchView, WebSource, WebView,
};
use dsh_tools::{Block, Tool, ToolError};
use rig::{Rig, json, text_of};
use serde::de::DeserializeOwned;

fn card<T: serde::Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(view: &T) -> String {
    let text = serde_json::to_string_pretty(view).unwrap();
    assert_eq!(
        &serde_json::from_str::<T>(&text).unwrap(),
        view,
        "a card survives a log"
    );
    text
}

/// T412, T413, T416, T417, T418: the cards of a call on its way.
#[test]
fn cards_of_calls() {
    insta::assert_snapshot!(card(&CallView::Generic {
        title: "Look around".into(),
        kind: Some(CallKind::Search),
        raw_input: Some(json(r#"{"pattern":"x"}"#)),
        content: Some(vec![Block::text("text")]),
        locations: Some(vec![
            Location { path: "a.rs".into(), line: Some(3) },
            Location { path: "b.rs".into(), line: None },
        ]),
    }), @r#"
    {
      "card": "generic",
      "title": "Look around",
      "kind": "search",
      "rawInput": {
        "pattern": "x"
      },
      "content": [
        {
          "type": "text",
          "text": "text"
        }
      ],
      "locations": [
        {
          "path": "a.rs",
          "line": 3
        },
        {
          "path": "b.rs"
        }
      ]
    }
    "#);
    let bare = CallView::Generic {
        title: "t".into(),
        kind: None,
        raw_input: None,
        content: None,
        locations: None,
    };
    assert_eq!(
        serde_json::to_string(&bare).unwrap(),
        r#"{"card":"generic","title":"t"}"#
    );
    insta::assert_snapshot!(card(&CallView::Terminal {
        title: "cargo test".into(),
        description: Some("Run the tests".into()),
        cwd: Some("crates".into()),
    }), @r#"
    {
      "card": "terminal",
      "title": "cargo test",
      "description": "Run the tests",
      "cwd": "crates"
    }
    "#);
    let new_file = FileDiff {
        path: "new".into(),
        old_text: None,
        new_text: "x".into(),
    };
    let was_empty = FileDiff {
        path: "old".into(),
        old_text: Some(String::new()),
        new_text: "x".into(),
    };
    insta::assert_snapshot!(card(&CallView::Diff {
        title: "Edit".into(),
        diffs: vec![new_file, was_empty],
        locations: None,
    }), @r#"
    {
      "card": "diff",
      "title": "Edit",
      "diffs": [
        {
          "path": "new",
          "oldText": null,
          "newText": "x"
        },
        {
          "path": "old",
          "oldText": "",
          "newText": "x"
        }
      ]
    }
    "#);
}

/// T414, T415, T419–T421: the cards of a finished call.
#[test]
fn cards_of_results() {
    let texts: Vec<String> = [
        ResultView::Generic {
            title: None,
            content: None,
        },
        ResultView::Terminal {
            title: None,
            output: Some("ok".into()),
            exit_code: Some(0),
            signal: None,
        },
        ResultView::Terminal {
            title: Some("killed".into()),
            output: None,
            exit_code: None,
            signal: Some("KILL".into()),
        },
        ResultView::Diff {
            title: None,
            diffs: vec![],
        },
        ResultView::Search(SearchView::Matches {
            title: None,
            files: vec![FileMatches {
                path: "a".into(),
                matches: vec![MatchedLine {
                    line_number: 7,
                    line: "seven".into(),
                }],
            }],
            truncated: true,
            total: 90,
        }),
        ResultView::Search(SearchView::Paths {
            title: None,
            paths: vec!["a".into()],
            truncated: false,
            total: 1,
        }),
        ResultView::Read {
            title: None,
            path: "a.rs".into(),
            offset: 10,
            lines: vec![NumberedLine {
                number: 10,
                text: "fn".into(),
            }],
            total_lines: 12,
            lang: Some("rust".into()),
            content: None,
        },
        ResultView::Read {
            title: None,
            path: "empty".into(),
            offset: 1,
            lines: vec![],
            total_lines: 0,
            lang: None,
            content: None,
        },
        ResultView::Web(WebView::Search {
            title: None,
            sources: vec![WebSource {
                url: "https://example.org".into(),
                title: Some("Example".into()),
                snippet: None,
                published_at: Some("2026-01-01".into()),
            }],
            answer: None,
            truncated: false,
        }),
        ResultView::Web(WebView::Fetch {
            title: None,
            url: "https://example.org".into(),
            status_code: 200,
            truncated: false,
        }),
    ]
    .iter()
    .map(|view| {
        card(view);
        serde_json::to_string(view).unwrap()
    })
    .collect();
    insta::assert_snapshot!(texts.join("\n"), @r#"
    {"card":"generic"}
    {"card":"terminal","output":"ok","exitCode":0}
    {"card":"terminal","title":"killed","signal":"KILL"}
    {"card":"diff","diffs":[]}
    {"card":"search","shape":"matches","files":[{"path":"a","matches":[{"lineNumber":7,"line":"seven"}]}],"truncated":true,"total":90}
    {"card":"search","shape":"paths","paths":["a"],"truncated":false,"total":1}
    {"card":"read","path":"a.rs","offset":10,"lines":[{"number":10,"text":"fn"}],"totalLines":12,"lang":"rust"}
    {"card":"read","path":"empty","offset":1,"lines":[],"totalLines":0}
    {"card":"web","kind":"search","sources":[{"url":"https://example.org","title":"Example","publishedAt":"2026-01-01"}],"truncated":false}
    {"card":"web","kind":"fetch","url":"https://example.org","statusCode":200,"truncated":false}
    "#);
}

/// T412: the unions are closed: an unknown card is an error.
#[test]
fn an_unknown_card_is_an_error() {
    for text in [
        r#"{"card":"hologram","title":"t"}"#,
        r#"{"title":"t"}"#,
        r#"{"card":"terminal"}"#,
        r#"{"card":"generic","title":"t","kind":"dance"}"#,
    ] {
        assert!(serde_json::from_str::<CallView>(text).is_err(), "{text}");
    }
    for text in [
        r#"{"card":"hologram"}"#,
        r#"{"card":"search","paths":[],"truncated":false,"total":0}"#,
        r#"{"card":"search","shape":"cloud","paths":[],"truncated":false,"total":0}"#,
        r#"{"card":"web","kind":"crawl","url":"u"}"#,
        r#"{"card":"read","path":"a","lines":[],"totalLines":0}"#,
    ] {
        assert!(serde_json::from_str::<ResultView>(text).is_err(), "{text}");
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Args {
    path: String,
}

fn reading() -> Tool {
    Tool::new("read", "Read.")
        .args::<Args>()
        .returns(spec::string())
        .presentation_meta_value(|_, value| Ok(value.as_str().map_or(0, str::len)))
        .present_call(|args: &Args| {
            Some(CallView::Terminal {
                title: args.path.clone(),
                description: None,
                cwd: None,
            })
        })
        .present_result(|args: &Args, result| {
            let length = result.meta.as_ref()?.root().as_u64()?;
            let title = format!(
                "{}: {length}, {}",
                args.path,
                if result.is_error { "failed" } else { "fine" }
            );
            Some(ResultView::Generic {
                title: Some(title),
                content: Some(result.content.to_vec()),
            })
        })
        .run(|args, _| async move {
            if args.path == "missing" {
                return Err(ToolError::new("no such file"));
            }
            Ok(Document::string(args.path))
        })
        .unwrap()
}

/// T404, T407, T408, T25: presenters get typed arguments, and of a result what a log keeps.
#[test]
fn presenters_draw_from_logged_data() {
    let rig = Rig::new();
    let tool = reading();
    rig.register(tool.clone());
    let arguments = json(r#"{"path":"a.txt"}"#);
    assert!(
        matches!(tool.present_call(&arguments), Some(CallView::Terminal { title, .. }) if title == "a.txt")
    );
    let settled = rig.execute(dsh_tools::Call::new(
        "c",
        "read",
        arguments.clone(),
        dsh_tools::Signal::never(),
    ));
    let logged = serde_json::to_string(&settled.durable()).unwrap();
    assert_eq!(
        logged,
        r#"{"content":[{"type":"text","text":"a.txt"}],"isError":false,"meta":5}"#
    );
    let replayed = serde_json::from_str(&logged).unwrap();
    let live = tool.present_result(&arguments, &settled.durable());
    assert_eq!(
        live,
        tool.present_result(&arguments, &replayed),
        "T404: live and from a log"
    );
    assert!(
        matches!(live, Some(ResultView::Generic { title: Some(title), .. }) if title == "a.txt: 5, fine")
    );
    // T408, T251: a nested call has no card data, and this presenter draws nothing without.
    let nested = rig.execute(
        dsh_tools::Call::new("n", "read", arguments.clone(), dsh_tools::Signal::never())
            .parent(settled.execution().token()),
    );
    assert_eq!(tool.present_result(&arguments, &nested.durable()), None);
}

/// T347, T406: logged arguments that no longer fit draw nothing, and nothing fails.
#[test]
fn arguments_that_no_longer_fit_draw_nothing() {
    let tool = reading();
    let result = Rig::new().run("nope").durable();
    for text in ["{}", "[]", "null", r#"{"path":7}"#, "\"{broken\""] {
        assert_eq!(tool.present_call(&json(text)), None, "{text}");
        assert_eq!(tool.present_result(&json(text), &result), None, "{text}");
        assert_eq!(tool.access(&json(text)), None);
        assert!(!tool.is_concurrency_safe(&json(text)));
    }
}

/// T8, T405: a tool without presenters says so, so that the generic card can be taken.
#[test]
fn a_tool_without_presenters_says_so() {
    let (plain, _) = MockTool::new("t").build().unwrap();
    assert!(!plain.has_call_card() && !plain.has_result_card());
    assert_eq!(plain.present_call(&json("{}")), None);
    let drawn = reading();
    assert!(drawn.has_call_card() && drawn.has_result_card());
    let (silent, _) = MockTool::new("t")
        .build_with(|b| b.present_call(|_| None::<CallView>))
        .unwrap();
    assert!(silent.has_call_card());
    assert_eq!(
        silent.present_call(&json("{}")),
        None,
        "T405: yielding nothing is no card either"
    );
}

/// T410, T33: what a card shows is not what the model reads; unknown blocks pass through untouched.
#[test]
fn content_and_cards_are_apart() {
    let rig = Rig::new();
    let unknown = json(r#"{"type":"audio","data":"AA==","extra":{"n":1}}"#);
    let block = Block::from_document(&unknown).unwrap();
    let text = serde_json::to_string(&block).unwrap();
    assert_eq!(text, unknown.to_json());
    let shown = block.clone();
    let tool = Tool::new("t", "Plays.")
        .parameters(ParameterSpec::new())
        .returns(spec::null())
        .render_value(move |_, _| vec![shown.clone(), Block::text("plain")])
        .run(|_, _| async { Ok(Document::null()) })
        .unwrap();
    rig.register(tool);
    let settled = rig.run("t");
    assert_eq!(text_of(&settled), "[audio content]\nplain");
    assert_eq!(settled.content()[0], block);
}
