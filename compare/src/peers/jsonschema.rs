//! `jsonschema`: validation of a value at hand.

use std::hint::black_box;

use crate::measure::Report;
use crate::work::{Search, nested};

pub fn run(report: &mut Report) {
    let medium = (
        Search::schema(),
        serde_json::from_str(Search::TEXT).expect("well-formed"),
    );
    for (name, (schema, value)) in [("medium", medium), ("nested", nested())] {
        let validator = jsonschema::validator_for(&schema).expect("a schema");
        assert!(validator.is_valid(&value));
        report.measure(&format!("jsonschema validate/{name}"), || {
            validator.validate(black_box(&value)).is_ok()
        });
        report.measure(&format!("jsonschema is_valid/{name}"), || {
            validator.is_valid(black_box(&value))
        });
        report.measure(&format!("jsonschema compile/{name}"), || {
            jsonschema::validator_for(black_box(&schema))
        });
    }
}
