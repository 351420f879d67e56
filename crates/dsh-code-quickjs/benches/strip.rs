//! Prints what stripping costs. The figure to reach is one millisecond for 1,000 lines.
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use dsh_code_quickjs::strip::strip;

/// Twenty lines as a model writes them: types on a good part of the lines, none on the rest.
const BLOCK: &str = r#"interface Row { id: number; name: string; tags?: readonly string[] }
type Grouped<T extends Row = Row> = Record<string, T[]>;
async function load(page: number, limit: number = 50): Promise<Row[]> {
  const rows = await Promise.all([page, page + 1].map(async (id): Promise<Row> => ({ id, name: `row ${id}` })));
  if (rows.length > limit) throw new Error("too many rows: " + rows.length);
  return rows.filter((row) => row.name.startsWith("row") && row.id >= 0);
}
class Counter<K extends string> {
  private readonly counts = new Map<K, number>();
  add(key: K, by = 1): void { this.counts.set(key, (this.counts.get(key) ?? 0) + by); }
  get total(): number { return [...this.counts.values()].reduce((a, b) => a + b, 0); }
}
const counter = new Counter<string>();
for (const row of await load(1)) {
  // Count every tag once; rows without tags count as untagged.
  for (const tag of row.tags ?? ["untagged"]) counter.add(tag);
}
const grouped: Grouped = { all: (await load(2)) as Row[], none: [] };
console.log(JSON.stringify({ total: counter.total, first: grouped.all[0]!.name, keys: Object.keys(grouped) }));
if (counter.total > 1000) console.warn("unexpectedly many", counter.total satisfies number);
"#;

/// A program of so many lines; each block of twenty is a scope of its own.
fn program(lines: usize) -> String {
    let mut program = String::new();
    for _ in 0..lines / 20 {
        program.push_str("{ ");
        program.push_str(BLOCK.trim_end());
        program.push_str(" }\n");
    }
    program
}

/// Prints minimum and median time of one run.
fn measure(name: &str, mut run: impl FnMut()) {
    let started = Instant::now();
    let mut batch: u32 = 0;
    while started.elapsed() < Duration::from_millis(20) {
        run();
        batch += 1;
    }
    let batch = (batch / 20).max(1);
    let mut samples: Vec<f64> = (0..200)
        .map(|_| {
            let started = Instant::now();
            for _ in 0..batch {
                run();
            }
            started.elapsed().as_secs_f64() * 1e6 / f64::from(batch)
        })
        .collect();
    samples.sort_by(f64::total_cmp);
    println!(
        "{name:<28}{:>9.1} {:>9.1} µs",
        samples[0],
        samples[samples.len() / 2]
    );
}

fn main() {
    println!("{:<28}{:>9} {:>9}", "", "minimum", "median");
    for lines in [20, 100, 1_000] {
        let program = program(lines);
        let name = format!("{lines} lines, {} KB", program.len().div_ceil(1024));
        measure(&name, || {
            black_box(strip(black_box(&program)).unwrap());
        });
    }
}
