//! Prints what parsing, decoding and writing documents costs, next to `serde_json`. It gates nothing.
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use dsh_schema::Document;
use serde::{Deserialize, Serialize};
use serde_json::Value;

const SMALL: &str = r#"{"a":2,"b":40}"#;
const MEDIUM: &str = r#"{"path":"src/lib.rs","offset":120,"limit":200,"recursive":true,"filter":{"kind":"rust","depth":3},"tags":["alpha","beta"]}"#;

#[derive(Deserialize, Serialize)]
#[allow(dead_code)]
struct Small {
    a: i64,
    b: i64,
}

#[derive(Deserialize, Serialize)]
#[allow(dead_code)]
struct Medium {
    path: String,
    offset: u64,
    limit: u64,
    recursive: bool,
    filter: Filter,
    tags: Vec<String>,
}

#[derive(Deserialize, Serialize)]
#[allow(dead_code)]
struct Filter {
    kind: String,
    depth: u32,
}

/// Prints minimum and median time of one run, if the name contains the filter given on the command line.
fn measure<T>(name: &str, mut run: impl FnMut() -> T) {
    if std::env::args()
        .skip(1)
        .any(|filter| !filter.starts_with('-') && !name.contains(&filter))
    {
        return;
    }
    let started = Instant::now();
    let mut warm: u32 = 0;
    while started.elapsed() < Duration::from_millis(20) {
        black_box(run());
        warm += 1;
    }
    let batch = (warm / 20).max(1);
    let mut samples: Vec<f64> = (0..200)
        .map(|_| {
            let started = Instant::now();
            for _ in 0..batch {
                black_box(run());
            }
            started.elapsed().as_secs_f64() * 1e9 / f64::from(batch)
        })
        .collect();
    samples.sort_by(f64::total_cmp);
    println!(
        "{name:<44} {:>12.1} {:>12.1}",
        samples[0],
        samples[samples.len() / 2]
    );
}

fn main() {
    println!("{:<44} {:>12} {:>12}", "ns", "minimum", "median");
    let integers = format!(
        "[{}]",
        (0..10_000)
            .map(|item| (item * 7919 % 100_003).to_string())
            .collect::<Vec<_>>()
            .join(",")
    );
    let floats = format!(
        "[{}]",
        (0..10_000)
            .map(|item| format!("{}.25", item * 7919 % 100_003))
            .collect::<Vec<_>>()
            .join(",")
    );
    let long = format!("\"{}\"", "abcdefgh".repeat(1 << 17));
    let keys = format!(
        "{{{}}}",
        (0..1_000)
            .map(|item| format!("\"key{item}\":{item}"))
            .collect::<Vec<_>>()
            .join(",")
    );
    let pretty = Document::parse(MEDIUM).unwrap().to_json_pretty();

    for (name, text) in [
        ("small", SMALL),
        ("medium", MEDIUM),
        ("medium, indented", &pretty),
        ("10,000 integers", &integers),
        ("10,000 decimals", &floats),
        ("string of 1 MiB", &long),
        ("object of 1,000 keys", &keys),
    ] {
        measure(&format!("parse {name}"), || {
            text.parse::<Document>().unwrap()
        });
        measure(&format!("parse {name}, owned text, clone included"), || {
            Document::parse(text.to_owned()).unwrap()
        });
        measure(&format!("  serde_json::Value {name}"), || {
            serde_json::from_str::<Value>(text).unwrap()
        });
        let document = Document::parse(text).unwrap();
        measure(&format!("write {name}"), || document.to_json());
        let (value, copy) = (document.to_value(), document.clone());
        measure(&format!("  serde_json::to_string {name}"), || {
            serde_json::to_string(&value).unwrap()
        });
        measure(&format!("clone {name}"), || document.clone());
        measure(&format!("equal {name}"), || document == copy);
    }

    let (small, medium) = (
        Document::parse(SMALL).unwrap(),
        Document::parse(MEDIUM).unwrap(),
    );
    measure("decode small", || small.decode::<Small>().unwrap());
    measure("  serde_json::from_str small", || {
        serde_json::from_str::<Small>(SMALL).unwrap()
    });
    measure("decode medium", || medium.decode::<Medium>().unwrap());
    measure("  serde_json::from_str medium", || {
        serde_json::from_str::<Medium>(MEDIUM).unwrap()
    });
    let (small_value, medium_value) = (small.to_value(), medium.to_value());
    measure("from_value small", || {
        Document::from_value(&small_value).unwrap()
    });
    measure("from_value medium", || {
        Document::from_value(&medium_value).unwrap()
    });
    let (small_type, medium_type) = (
        small.decode::<Small>().unwrap(),
        medium.decode::<Medium>().unwrap(),
    );
    measure("from_serialize small", || {
        Document::from_serialize(&small_type).unwrap()
    });
    measure("  serde_json::to_string small", || {
        serde_json::to_string(&small_type).unwrap()
    });
    measure("from_serialize medium", || {
        Document::from_serialize(&medium_type).unwrap()
    });
    measure("  serde_json::to_string medium", || {
        serde_json::to_string(&medium_type).unwrap()
    });
    measure("to_value medium", || medium.to_value());
}
