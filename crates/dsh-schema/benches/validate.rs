//! The verdict of the enforced subset beside that of the `jsonschema` crate, value at hand. Prints; gates nothing.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints"
)]

use std::hint::black_box;
use std::time::Instant;

use dsh_schema::{Document, Schema};

const SIMPLE: (&str, &str) = (
    r#"{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer"},"mode":{"type":"string",
        "enum":["r","w","a"]}},"required":["path"],"additionalProperties":false}"#,
    r#"{"path":"src/lib.rs","limit":20,"mode":"w"}"#,
);

/// A value that goes through three one-ofs.
fn nested() -> (String, String) {
    let mut schema = String::from(
        r#"{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}"#,
    );
    let mut value = String::from(r#"{"id":7}"#);
    for level in 0..3 {
        schema = format!(
            r#"{{"oneOf":[{{"type":"string"}},{{"type":"object","properties":{{"kind":{{"type":"string","const":"k{level}"}},
            "tags":{{"type":"array","items":{{"type":"string"}}}},"of":{schema}}},"required":["kind","of"],
            "additionalProperties":false}},{{"type":"object","properties":{{"kind":{{"type":"string","const":"x"}}}},
            "required":["kind"]}}]}}"#
        );
        value = format!(r#"{{"kind":"k{level}","tags":["a","b","c"],"of":{value}}}"#);
    }
    (schema, value)
}

/// Nanoseconds of one run: minimum and median over many rounds.
fn measure(mut run: impl FnMut() -> bool) -> (f64, f64) {
    const RUNS: u32 = 2_000;
    let mut rounds: Vec<f64> = (0..200)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..RUNS {
                assert!(black_box(run()));
            }
            start.elapsed().as_secs_f64() * 1e9 / f64::from(RUNS)
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    (rounds[0], rounds[rounds.len() / 2])
}

fn compare(name: &str, schema: &str, value: &str) {
    let document = Document::parse(schema).unwrap();
    let ours = Schema::parse(&document).unwrap();
    let general = jsonschema::draft202012::new(&document.to_value()).unwrap();
    let value = Document::parse(value).unwrap();
    let plain = value.to_value();
    let (our_minimum, our_median) = measure(|| ours.is_valid(black_box(value.root())));
    let (minimum, median) = measure(|| general.is_valid(black_box(&plain)));
    println!(
        "{name:<8} subset {our_minimum:7.1} / {our_median:7.1} ns   jsonschema {minimum:7.1} / {median:7.1} ns   ratio {:.2}",
        our_median / median
    );
}

fn main() {
    compare("simple", SIMPLE.0, SIMPLE.1);
    let (schema, value) = nested();
    compare("nested", &schema, &value);
}
