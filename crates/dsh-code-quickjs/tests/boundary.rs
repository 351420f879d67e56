//! Any document crosses the boundary twice and is the same: C120 to C124, D2, D4.

#![allow(clippy::unwrap_used, reason = "a broken test environment")]

mod support;

use std::sync::{Arc, Mutex};

use dsh_code::{CodeRuntime as _, RunRequest};
use dsh_schema::Document;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use support::*;

/// JSON values without what no document holds (duplicate keys, `-0`), but with every kind of number and character. Keys
/// that look like array indices are left out: an engine moves them to the front.
fn values() -> impl Strategy<Value = Value> {
    let text = || proptest::string::string_regex("(?s).{0,12}").unwrap();
    let double = any::<f64>().prop_filter("no JSON", |value| value.is_finite() && *value != 0.0);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-9_007_199_254_740_992_i64..=9_007_199_254_740_992).prop_map(Value::from),
        any::<i16>().prop_map(Value::from),
        double.prop_map(Value::from),
        any::<i32>().prop_map(|value| json!(f64::from(value) / 8.0)),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 8, move |inner| {
        let key = text().prop_filter("an index", |key| key.parse::<u32>().is_err());
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::hash_map(key, inner, 0..8)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

#[tokio::test]
async fn documents_cross_unchanged() {
    let mut runner = TestRunner::deterministic();
    let strategy = values();
    let documents: Vec<Document> =
        std::iter::repeat_with(|| strategy.new_tree(&mut runner).unwrap().current())
            .filter_map(|value| Document::from_serialize(&value).ok())
            .take(400)
            .collect();
    let given = Arc::new(documents);
    let taken = Arc::new(Mutex::new(Vec::new()));
    let (source, sink) = (given.clone(), taken.clone());
    let functions = Functions::default()
        .with("give", move |index| {
            let index = index
                .root()
                .as_u64()
                .and_then(|index| usize::try_from(index).ok());
            let document = source[index.unwrap()].clone();
            async { Ok(document) }
        })
        .with("take", move |document| {
            sink.lock().unwrap().push(document);
            async { Ok(Document::null()) }
        });
    let mut request = RunRequest::new(format!(
        "for (let i = 0; i < {}; i++) await tools.take(await tools.give(i))",
        given.len()
    ));
    request.namespaces = vec![namespace(functions).0];
    let result = runtime().run(request).await.unwrap();
    assert_eq!(result.error, None);
    let taken = taken.lock().unwrap();
    assert_eq!(taken.len(), given.len());
    for (taken, given) in taken.iter().zip(&*given) {
        assert_eq!(
            taken.to_json(),
            given.to_json(),
            "bytes, members in their order"
        );
    }
}
