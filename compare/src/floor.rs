//! The least that any runtime does: decode the arguments, call the function, encode the result.

use std::hint::black_box;

use crate::measure::Report;
use crate::work::{Add, Search};

pub fn run(report: &mut Report) {
    report.measure("floor/small", || {
        let arguments: Add = serde_json::from_str(black_box(Add::TEXT)).expect("well-formed");
        serde_json::to_string(&arguments.run()).expect("serialisable")
    });
    report.measure("floor/medium", || {
        let arguments: Search = serde_json::from_str(black_box(Search::TEXT)).expect("well-formed");
        serde_json::to_string(&arguments.run()).expect("serialisable")
    });
}
