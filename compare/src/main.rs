//! Measures the same work here and in other runtimes, and prints `name min median` in nanoseconds.
//!
//! ```sh
//! cargo run --release -- [FILTER]
//! ```
//!
//! One thread, plain loops, no statistics beyond the minimum and the median: on a shared machine the minimum tells what
//! the code costs, and the distance to the median tells how busy the machine was. Quote ratios of figures from one run.

mod engine;
mod floor;
mod measure;
mod peers;
mod schema;
mod work;

use measure::Report;

fn main() {
    let mut report = Report::new(std::env::args().nth(1));
    floor::run(&mut report);
    peers::rig::run(&mut report);
    peers::jsonschema::run(&mut report);
    schema::run(&mut report);
    engine::run(&mut report);
}
