//! The figures that the project wants to reach, as ratios within one run where possible. Figures that the limits of a known CPU
//! model rule out are not here: docs/explanation/speed.md computes them.

use crate::doors::{self, Row};
use crate::peers::{self as peer, RAND};
use serde_json::Value;
use std::path::Path;
use wellspring::Mode;
use wellspring_bench::Report;
use wellspring_bench::figures::{Table, figure};
use wellspring_bench::generators::Request::{self, Fill, Word};
use wellspring_bench::generators::{CACHED_BYTES, SIZES, name};
use wellspring_bench::latency::{
    AFTER_RESEED, HARVESTING, OF_MANY_ENGINES, OF_ONE_ENGINE, WITHOUT_RESEED,
};

const OURS: &str = Mode::PerThread.name();
const MIB: Request = Fill(1 << 20);
const KEY: Request = Fill(32);

/// A generator of wellspring, the generator beside it, the request of both, and the least ratio of their throughput that is
/// wanted.
type Ratio = (&'static str, &'static str, Request, f64);

/// The ratios that the gate watches, as wanted on AVX-512 and VAES.
pub(crate) const OF_GATE: [Ratio; 13] = [
    (name::GLOBAL, peer::RAND, Word, 2.0),
    (name::OWNED, peer::RAND, Word, 2.5),
    (OURS, peer::RAND, KEY, 2.5),
    (name::WATCHED, peer::RAND, Word, 2.0),
    (name::OWNED_WATCHED, peer::RAND, Word, 2.0),
    (name::WATCHED, peer::RAND, KEY, 2.5),
    (name::WATCHED, peer::RAND, Fill(256), 3.0),
    (OURS, peer::RAND, Fill(256), 3.0),
    (OURS, peer::RAND, Fill(4096), 2.7),
    (OURS, peer::AES_CTR, MIB, 1.6),
    (name::CHACHA20, peer::CHACHA20, MIB, 3.0),
    (name::PSEUDO, peer::XOSHIRO, Word, 0.62),
    (name::PSEUDO, peer::FASTRAND, MIB, 4.0),
];

/// The ratios that need a C library, or the system's speed.
const OTHERS: [Ratio; 9] = [
    (OURS, name::GETRANDOM, MIB, 28.0),
    (OURS, peer::RAND, MIB, 4.5),
    (OURS, peer::AWS_LC, MIB, 2.4),
    (OURS, peer::OPENSSL_AES, MIB, 1.9),
    (OURS, name::VDSO, KEY, 12.0),
    (name::CHACHA20, peer::OPENSSL_CHACHA20, Fill(256), 1.1),
    (name::CHACHA20, peer::OPENSSL_CHACHA20, Fill(4096), 0.9),
    (name::CHACHA20, peer::OPENSSL_CHACHA20, MIB, 1.1),
    (name::PSEUDO, name::GETRANDOM, Word, 150.0),
];

/// A figure that the project wants to reach, and this run's figure; `None` if the run did not measure it.
struct Limit {
    what: String,
    /// Whether the figure is to be this at least; if not, at most.
    is_least: bool,
    wanted: f64,
    unit: &'static str,
    found: Option<f64>,
}

impl Limit {
    fn at_least(what: impl Into<String>, wanted: f64, found: Option<f64>) -> Self {
        Self {
            what: what.into(),
            is_least: true,
            wanted,
            unit: "x",
            found,
        }
    }

    fn at_most(what: &str, wanted: f64, unit: &'static str, found: Option<f64>) -> Self {
        Self {
            is_least: false,
            unit,
            ..Self::at_least(what, wanted, found)
        }
    }

    /// Whether it was reached; `None` if this run cannot tell.
    fn is_met(&self) -> Option<bool> {
        let is_met = |found| (found >= self.wanted) == self.is_least || found == self.wanted;
        self.found.map(is_met)
    }
}

/// The name of a ratio.
pub(crate) fn what(ours: &str, request: Request, other: &str) -> String {
    format!("{ours}, {}, over {other}", request.name())
}

fn ratios(report: &Report) -> Vec<Limit> {
    let limit = |&(ours, other, request, wanted): &Ratio| {
        let what = what(ours, request, other);
        Limit::at_least(what, wanted, report.times(ours, other, request))
    };
    let in_cache = |request| {
        let backend = report.find(report.host.backend, Fill(CACHED_BYTES), 1)?;
        Some(report.find(OURS, request, 1)?.over(backend))
    };
    let mut limits: Vec<Limit> = OF_GATE.iter().chain(&OTHERS).map(limit).collect();
    // A read takes fresh output of the system, expands a key, moves its bytes and wipes them. The limit is what that leaves.
    for (request, wanted) in [(Fill(256), 0.6), (Fill(4096), 0.7), (MIB, 0.95)] {
        let what = format!("{}, over the bare backend looping in L1", request.name());
        limits.push(Limit::at_least(what, wanted, in_cache(request)));
    }
    limits
}

fn scaling(report: &Report) -> Vec<Limit> {
    let doubled = |mode: Mode, bytes, wanted| {
        let at = |threads| report.find(mode.name(), Fill(bytes), threads);
        let found = at(2).and_then(|two| Some(two.over(at(1)?)));
        let what = format!("{mode}, {}, two threads over one", Fill(bytes).name());
        Limit::at_least(what, wanted, found)
    };
    let per_thread = SIZES.map(|bytes| doubled(Mode::PerThread, bytes, 1.9));
    let concurrent = doubled(Mode::Concurrent, 65_536, 1.8);
    per_thread.into_iter().chain([concurrent]).collect()
}

/// First bytes, weight, and the reads that have more to do than others.
fn edges(report: &Report) -> Vec<Limit> {
    let latency = |name: &str| {
        let mut found = report.latency.iter();
        found.find(|one| one.name == name && one.calls > 0)
    };
    let p99_9 = |name: &str| latency(name)?.p99_9_ns();
    let footprint = report.footprint.as_ref();
    let first_byte = footprint.and_then(|one| one.first_byte_us);
    let tap = footprint.and_then(|one| one.tap_bytes);
    let word = report.find(name::PSEUDO, Word, 1);
    let of_reseed = p99_9(AFTER_RESEED).zip(p99_9(WITHOUT_RESEED));
    let ns = |what: &str, wanted, found| Limit::at_most(what, wanted, "ns", found);
    vec![
        ns("pseudo::u64()", 1.5, word.map(|one| one.ns_per_request())),
        ns(
            "first byte, in a fresh process",
            200_000.0,
            first_byte.map(|us| us * 1e3),
        ),
        Limit::at_most("a thread's tap", 8192.0, "B", tap),
        ns("32 bytes with refills, p99.9", 2000.0, p99_9(OURS)),
        ns(
            "first read after a reseed, p99.9, beyond the same loop without one",
            2000.0,
            of_reseed.map(|(with, without)| with - without),
        ),
        ns(
            "first read after a reseed, 64 threads, p99.9",
            5_000.0,
            p99_9(OF_ONE_ENGINE),
        ),
        ns(
            "first read after a reseed, 64 engines, p99.9",
            5_000.0,
            p99_9(OF_MANY_ENGINES),
        ),
        ns(
            "a read that harvests, median",
            2000.0,
            latency(HARVESTING).map(|one| one.median_ns),
        ),
    ]
}

/// The time by which a small read is longer where a generation page is watched.
fn watching(report: &Report) -> Vec<Limit> {
    let pairs = [
        (name::WATCHED, name::UNWATCHED, Word),
        (name::WATCHED, name::UNWATCHED, KEY),
        (name::OWNED_WATCHED, name::OWNED_UNWATCHED, Word),
        (name::OWNED_WATCHED, name::OWNED_UNWATCHED, KEY),
    ];
    let limit = |(with, without, request): (&str, &str, Request)| {
        let ns = |name| Some(report.find(name, request, 1)?.ns_per_request());
        let more = ns(with)
            .zip(ns(without))
            .map(|(with, without)| with - without);
        let what = format!("{with}, {}, more than without", request.name());
        Limit::at_most(&what, 0.4, "ns", more)
    };
    pairs.map(limit).into()
}

/// The speed of the harvester beside readers on every CPU, compared with its speed alone.
fn harvest(report: &Report) -> Vec<Limit> {
    let limit = |mode: Mode| {
        let found = report.harvest.iter().find(|one| one.mode == mode);
        let what = format!("harvester beside readers, {mode}, in its own time");
        Limit::at_least(what, 0.95, found.map(|one| one.kept_cpu_share))
    };
    let modes = [Mode::PerThread, Mode::PerNode, Mode::Concurrent];
    modes.map(limit).into()
}

fn doors(rows: &[Row]) -> Vec<Limit> {
    let row = |what: &str| rows.iter().find(|row| row.what == what);
    let ratio = |what| row(what).map(|row| row.ratio);
    let faster = doors::WANTED.map(|(what, wanted)| Limit::at_least(what, wanted, ratio(what)));
    let cost = doors::WANTED_COST.map(|(what, wanted)| {
        Limit::at_most(what, wanted, "x", ratio(what).map(|ratio| 1.0 / ratio))
    });
    let time = doors::WANTED_NS
        .map(|(what, wanted)| Limit::at_most(what, wanted, "ns", row(what).map(|row| row.door_ns)));
    faster.into_iter().chain(cost).chain(time).collect()
}

/// All limits with what this run found.
pub(crate) fn table(report: &Report, rows: &[Row]) -> Table {
    let mut table = Table::new("Limits", &["", "wanted", "found", ""]);
    let parts = [
        ratios(report),
        scaling(report),
        watching(report),
        edges(report),
        harvest(report),
        doors(rows),
    ];
    for limit in parts.into_iter().flatten() {
        let sign = if limit.is_least { ">=" } else { "<=" };
        let verdict = match limit.is_met() {
            Some(true) => "met",
            Some(false) => "NOT MET",
            None => "not measured",
        };
        let figure = |value| figure(value, limit.unit);
        table.rows.push(vec![
            limit.what.clone(),
            format!("{sign} {}", figure(limit.wanted)),
            limit.found.map_or("-".into(), figure),
            verdict.into(),
        ]);
    }
    table.note("Ratios are medians of the rounds' ratios. Not measured: another part, or a peer that is missing.")
}

// ---- earlier figures ----
// The figures of this machine's CPU model, from docs/measurements/curves, beside this run's figures.
//
// The comparison uses a ratio within one run, wellspring's throughput to the throughput of `rand::rng()`: the load of a machine
// changes it less than a throughput.

const FOLDER: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/measurements/curves"
);
/// The requests that a file of the folder has. Its figures of modes with a lock depend on the load too much.
const REQUESTS: [Request; 3] = [Fill(32), Fill(4096), Fill(65_536)];

/// The file of a CPU.
fn of_cpu(cpu: &str) -> Option<Value> {
    let files = std::fs::read_dir(Path::new(FOLDER)).ok()?.flatten();
    let read = |path| serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok();
    let mut all = files.filter_map(|file| read(file.path()));
    all.find(|file: &Value| file["host"]["cpu"] == cpu)
}

/// One thread's throughput in a file.
fn throughput(file: &Value, name: &str, request: Request) -> Option<f64> {
    let is_wanted = |row: &&Value| {
        row["name"] == name && row["request"] == request.name().as_str() && row["threads"] == 1
    };
    let row = file["throughput"].as_array()?.iter().find(is_wanted)?;
    row["bytes_per_second"].as_f64()
}

fn ratio(file: &Value, request: Request) -> Option<f64> {
    Some(throughput(file, OURS, request)? / throughput(file, RAND, request)?)
}

/// This run's ratios beside the model's. `None` without throughput in the report.
pub(crate) fn baseline(report: &Report) -> Option<Table> {
    if report.throughput.is_empty() {
        return None;
    }
    let cpu = &report.host.cpu;
    let Some(file) = of_cpu(cpu) else {
        let title = format!("No baseline of {cpu}: docs/measurements says how to add one");
        return Some(Table::new(title, &[]));
    };
    Some(compare(report, &file))
}

fn compare(report: &Report, file: &Value) -> Table {
    let date = file["date"].as_str().unwrap_or_default();
    let load = &file["host"]["load"];
    let title = format!(
        "{}: {OURS} as times {RAND}, beside this make's baseline of {date}, load {load}",
        report.host.cpu
    );
    let mut table = Table::new(title, &["", "then", "now", ""]);
    for request in REQUESTS {
        let found = report.times(OURS, RAND, request);
        if let (Some(then), Some(now)) = (ratio(file, request), found) {
            table.rows.push(vec![
                request.name(),
                format!("{then:.2}x"),
                format!("{now:.2}x"),
                format!("{:+.0} %", (now / then - 1.0) * 100.0),
            ]);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_met_on_its_good_side_and_open_without_a_figure() {
        let at_least = |found| Limit::at_least("x", 2.0, found).is_met();
        let at_most = |found| Limit::at_most("x", 2.0, "ns", found).is_met();
        assert_eq!(
            [at_least(Some(1.9)), at_least(Some(2.0)), at_least(None)],
            [Some(false), Some(true), None]
        );
        assert_eq!(
            [at_most(Some(2.1)), at_most(Some(2.0)), at_most(None)],
            [Some(false), Some(true), None]
        );
    }

    #[test]
    fn each_file_is_found_by_its_cpu_and_has_every_ratio() {
        let mut files = 0;
        for file in std::fs::read_dir(FOLDER).unwrap().flatten() {
            if file.path().extension().is_none_or(|end| end != "json") {
                continue;
            }
            files += 1;
            let text = std::fs::read_to_string(file.path()).unwrap();
            let file: Value = serde_json::from_str(&text).unwrap();
            let cpu = file["host"]["cpu"].as_str().unwrap();
            assert!(of_cpu(cpu).is_some(), "{cpu}");
            let has = |request| ratio(&file, request).is_some();
            assert!(REQUESTS.into_iter().all(has), "{cpu}");
        }
        assert!(files > 1);
        assert!(of_cpu("another").is_none());
    }
}
