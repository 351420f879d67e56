//! `dsh-schema` by itself: the parts of a call that are bound by the size of its arguments.

use std::hint::black_box;

use dsh_schema::{Contract, Document};
use serde_json::{Value, json};

use crate::measure::Report;
use crate::work::{Add, Search, nested};

pub fn run(report: &mut Report) {
    parse(report);
    validate(report);
}

fn parse(report: &mut Report) {
    report.measure("dsh-schema parse and decode/small", || {
        Document::parse(black_box(Add::TEXT))
            .expect("lossless")
            .decode::<Add>()
            .expect("decodes")
            .run()
    });
    report.measure("dsh-schema parse and decode/medium", || {
        Document::parse(black_box(Search::TEXT))
            .expect("lossless")
            .decode::<Search>()
            .expect("decodes")
            .run()
    });
    let items = json!({ "items": (0..10_000).collect::<Vec<_>>() }).to_string();
    let text = json!({ "text": "x".repeat(1 << 20) }).to_string();
    for (name, text) in [("10,000 items", items), ("1 MiB string", text)] {
        report.measure(&format!("dsh-schema parse/{name}"), || {
            Document::parse(black_box(text.as_str()))
        });
        report.measure(&format!("floor parse/{name}"), || {
            serde_json::from_str::<Value>(black_box(&text))
        });
    }
}

fn validate(report: &mut Report) {
    let medium = (
        Search::schema(),
        serde_json::from_str(Search::TEXT).expect("well-formed"),
    );
    for (name, (schema, value)) in [("medium", medium), ("nested", nested())] {
        let schema = Document::from_serialize(&schema).expect("lossless");
        let contract = Contract::compile(&schema).expect("a schema");
        assert_eq!(
            contract.subset_violations(),
            Vec::<String>::new(),
            "{name} is inside the subset"
        );
        let value = Document::from_serialize(&value).expect("lossless");
        assert!(contract.is_valid(value.root()));
        report.measure(&format!("dsh-schema is_valid/{name}"), || {
            contract.is_valid(black_box(value.root()))
        });
        report.measure(&format!("dsh-schema violations/{name}"), || {
            contract.violations(black_box(value.root()), "value")
        });
        report.measure(&format!("dsh-schema compile/{name}"), || {
            Contract::compile(black_box(&schema))
        });
    }
}
