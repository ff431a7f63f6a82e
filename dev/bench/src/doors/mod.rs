//! The doors, each beside the function that it replaces, and the Rust calls beside the calls that they are made of.
//!
//! ```text
//! names      the names of rows, and what the project wants of them
//! row        a row, and what one is measured from
//! libraries  functions of libraries, in this process: OpenSSL, the C library, the crate uuid
//! programs   programs of others: Python, Java
//! ```
//!
//! Both sides run in turns. The libraries are in `target/release`, and `cargo xtask bench` builds them first. A missing
//! library or program has no row, and a line on stderr says why.

mod libraries;
mod names;
mod programs;
mod row;

pub(crate) use libraries::number;
pub(crate) use names::{C_NUMBER, GETRANDOM, RAND_SMALL, WANTED, WANTED_COST, WANTED_NS};
pub(crate) use row::{Pair, Row};

use indicatif::ProgressBar;
use serde_json::{Value, json};
use std::time::Duration;
use wellspring_bench::figures::{digits, duration};
use wellspring_bench::figures::Table;
use wellspring_bench::throughput::{self, Case, Pace};

/// Short turns: they are seldom interrupted, also on a busy machine.
pub(crate) const PACE: Pace = Pace {
    rounds: 101,
    slice: Duration::from_millis(1),
};

/// Every door of this process whose library is there.
pub(crate) fn pairs() -> Vec<Pair> {
    let doors = [
        ("OpenSSL", libraries::openssl()),
        ("the preload library", libraries::preload()),
        ("the C library", libraries::c_library()),
    ];
    let present = doors.into_iter().filter_map(|(name, pairs)| {
        if pairs.is_none() {
            skipped(name, "it cannot be loaded");
        }
        pairs
    });
    present.flatten().collect()
}

/// Measures every door that is there.
pub(crate) fn run() -> Vec<Row> {
    let mut rows: Vec<Row> = pairs().iter().map(compare).collect();
    rows.extend(libraries::identifiers().iter().map(compare));
    for (name, measure) in programs::ALL {
        match measure() {
            Ok(found) => rows.extend(found),
            Err(reason) => skipped(name, &reason),
        }
    }
    rows
}

fn skipped(name: &str, reason: &str) {
    eprintln!("SKIPPED: {name}: {reason}");
}

pub(crate) fn table(rows: &[Row]) -> Table {
    let mut table = Table::new(
        "Existing programs",
        &["", "through the door", "without", "ratio"],
    );
    for row in rows {
        table.rows.push(vec![
            row.what.clone(),
            duration(row.door_ns),
            duration(row.other_ns),
            format!("{}x", digits(row.ratio)),
        ]);
    }
    table.note("Medians of rounds in turns. Without: OpenSSL's default, the C library, the same program, or the call named.")
}

pub(crate) fn json(rows: &[Row]) -> Value {
    let row =
        |row: &Row| json!({ "what": row.what, "door_ns": row.door_ns, "other_ns": row.other_ns });
    rows.iter().map(row).collect()
}

/// Times both in turns.
fn compare(pair: &Pair) -> Row {
    let case = |generator| Case {
        generator,
        request: generator.requests[0],
        threads: 1,
    };
    let cases = [case(&pair.door), case(&pair.other)];
    let found = throughput::run(&cases, PACE, &ProgressBar::hidden());
    Row {
        what: pair.what.into(),
        door_ns: found[0].ns_per_request(),
        other_ns: found[1].ns_per_request(),
        ratio: found[0].over(&found[1]),
    }
}
