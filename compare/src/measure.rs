//! The measuring loop.

use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// A batch is long enough for the clock's own cost and resolution to vanish in it.
const BATCH: Duration = Duration::from_micros(200);
const BATCHES: usize = 2_000;
/// Slow work gets fewer batches.
const BUDGET: Duration = Duration::from_secs(3);

/// Runs what the filter admits and prints one line for each.
pub struct Report {
    filter: Option<String>,
}

impl Report {
    /// A report on the work whose name contains `filter`.
    pub fn new(filter: Option<String>) -> Self {
        println!("{:<48} {:>12} {:>12}", "name", "min ns", "median ns");
        Self { filter }
    }

    /// Measures `work`.
    pub fn measure<T>(&mut self, name: &str, mut work: impl FnMut() -> T) {
        if self
            .filter
            .as_ref()
            .is_some_and(|filter| !name.contains(filter.as_str()))
        {
            return;
        }
        let count = calibrate(&mut work);
        let begin = Instant::now();
        let mut times = Vec::with_capacity(BATCHES);
        while times.len() < BATCHES && (begin.elapsed() < BUDGET || times.is_empty()) {
            times.push(batch(count, &mut work).as_nanos() as f64 / count as f64);
        }
        times.sort_by(f64::total_cmp);
        println!(
            "{name:<48} {:>12.1} {:>12.1}",
            times[0],
            times[times.len() / 2]
        );
    }
}

fn batch<T>(count: u32, work: &mut impl FnMut() -> T) -> Duration {
    let begin = Instant::now();
    for _ in 0..count {
        black_box(work());
    }
    begin.elapsed()
}

fn calibrate<T>(work: &mut impl FnMut() -> T) -> u32 {
    let mut count = 1;
    while batch(count, work) < BATCH {
        count *= 2;
    }
    count
}

/// The output of a future that never waits. Every candidate is driven by the same bare poll, so that no executor's cost is
/// part of the figures.
pub fn ready<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the measured work waits for something"),
    }
}
