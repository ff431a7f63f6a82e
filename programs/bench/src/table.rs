//! A report for people: one table.

use crate::figures::{Table, digits, duration, median_ratio, percent, quantile, rate};
use crate::generators::{CACHED_BYTES, Request, name};
use crate::latency::{EMPTY, Latency};
use crate::report::Report;
use crate::throughput::Measurement;
use wellspring::Mode;

/// The columns, which are the same for every row. A read of a row of `throughput` is one of many in a loop; the quantiles are of
/// single calls, with the cost of the clock.
const HEAD: [&str; 10] = [
    "", "size", "threads", "a read", "together", "over one", "p50", "p99", "p99.9", "max",
];

/// `report` for a terminal: what a key costs, the machine, then the table, if it has rows.
#[must_use]
pub fn text(report: &Report) -> String {
    let host = &report.host;
    let lines = headline(report).into_iter();
    let lines = lines.chain([host.stamp(), host.machine(), circumstances(report)]);
    let lines: String = lines.map(|line| line + "\n").collect();
    let table = table(report);
    if table.rows.is_empty() {
        return lines;
    }
    format!("{lines}\n{}", table.text())
}

/// The cost of a key beside the system call, if that was measured.
fn headline(report: &Report) -> Option<String> {
    let key = Request::Fill(32);
    let ours = report.find(Mode::PerThread.name(), key, 1)?;
    let ratio = report.times(&ours.name, name::GETRANDOM, key)?;
    let than = match ratio {
        1.05.. => format!("{} times faster than", digits(ratio)),
        0.95.. => "as fast as".into(),
        _ => format!("{} times slower than", digits(1.0 / ratio)),
    };
    let cost = duration(ours.ns_per_request());
    Some(format!("A 32-byte key takes {cost}, {than} getrandom(2)."))
}

fn circumstances(report: &Report) -> String {
    let mut parts = vec![format!("medians of {} interleaved rounds", report.rounds)];
    if let Some(load) = report.host.load {
        parts.push(format!("load {load:.2} at the start"));
    }
    let footprint = report.footprint.as_ref();
    let first_byte = footprint.and_then(|one| one.first_byte_us);
    parts.extend(
        first_byte.map(|us| format!("first byte of a process after {}", duration(us * 1e3))),
    );
    let tap = footprint.and_then(|one| one.tap_bytes);
    parts.extend(tap.map(|bytes| format!("{bytes:.0} B of locked memory a thread")));
    parts.join(", ")
}

/// A row for each generator, size and number of threads, for each other kind of call, and for the harvester's events.
fn table(report: &Report) -> Table {
    let mut table = Table::new("Reads", &HEAD);
    let is_same = |one: &Measurement, call: &Latency| {
        one.name == call.name && one.threads == call.threads && one.request == TIMED
    };
    let calls = || report.latency.iter().filter(|call| call.calls > 0);
    for one in &report.throughput {
        let call = calls().find(|call| is_same(one, call));
        table.rows.push(row(report, one, call));
    }
    for call in calls() {
        if !report.throughput.iter().any(|one| is_same(one, call)) {
            let size = if call.name == EMPTY {
                String::new()
            } else {
                TIMED.name()
            };
            let first = [&call.name, &size, &call.threads.to_string(), "", "", ""];
            let first = first.map(str::to_owned).into_iter();
            table.rows.push(first.chain(quantiles(call)).collect());
        }
    }
    for one in &report.harvest {
        let name = format!("an event of the harvester, {}", one.mode);
        let alone_ns = 1e9 / one.events_per_cpu_second_alone;
        for (threads, ns, over) in [
            (1, alone_ns, String::new()),
            (
                1 + one.readers,
                alone_ns / one.kept_cpu_share,
                times(one.kept_cpu_share),
            ),
        ] {
            let cells = [
                String::new(),
                threads.to_string(),
                duration(ns),
                String::new(),
                over,
            ];
            table
                .rows
                .push([name.clone()].into_iter().chain(cells).collect());
        }
    }
    for row in &mut table.rows {
        row.resize(HEAD.len(), String::new());
    }
    with_notes(table, report)
}

/// The size of a call whose quantiles are measured.
const TIMED: Request = Request::Fill(32);

/// The row of a generator at a size; with the quantiles of single calls, if they were measured.
fn row(report: &Report, one: &Measurement, call: Option<&Latency>) -> Vec<String> {
    let alone = report.find(&one.name, one.request, 1);
    let over = alone
        .filter(|_| one.threads > 1)
        .map(|alone| times(one.over(alone)));
    let cells = [
        one.name.clone(),
        one.request.name(),
        one.threads.to_string(),
        duration(one.ns_per_request()),
        rate(one.bytes_per_second()),
        over.unwrap_or_default(),
    ];
    let quantiles = call.map_or(Default::default(), quantiles);
    cells.into_iter().chain(quantiles).collect()
}

fn times(ratio: f64) -> String {
    format!("{}x", digits(ratio))
}

fn quantiles(call: &Latency) -> [String; 4] {
    let [_, p99, p99_9, _] = call.nines_ns.map(|ns| ns.map_or(String::new(), duration));
    [duration(call.median_ns), p99, p99_9, duration(call.max_ns)]
}

/// Explains the figures of the parts that were run.
fn with_notes(mut table: Table, report: &Report) -> Table {
    if !report.throughput.is_empty() {
        let alone = report.throughput.iter().filter(|one| one.threads == 1);
        let spreads: Vec<f64> = alone.map(Measurement::spread).collect();
        let [usual, worst] = [0.5, 1.0].map(|share| quantile(&spreads, share).unwrap_or(0.0));
        table = table
            .note(format!(
                "The middle half of the rounds lies within {} of a figure, at worst within {}. Of each round the median of its",
                percent(usual),
                percent(worst)
            ))
            .note("portions counts, which leaves out those in which another program had the CPU. On several threads modes")
            .note("with a lock and getrandom(2) count over whole turns, waiting included.");
    }
    let many = report.throughput.iter().filter(|one| one.threads > 1);
    if let Some(most) = many.map(Measurement::unfairness).reduce(f64::max) {
        table = table.note(format!(
            "The standard deviation of the threads' throughput is at most {} of their mean.",
            percent(most)
        ));
    }
    for line in beside_bare(report) {
        table = table.note(line);
    }
    if !report.latency.is_empty() {
        table = table.note(format!(
            "p50 to max: single calls, with the cost of the clock: '{EMPTY}' reads nothing; its slow calls are interrupts."
        ));
    }
    if let Some(first) = report.harvest.first() {
        let kept = report
            .harvest
            .iter()
            .map(|one| one.kept_share)
            .fold(1.0, f64::min);
        let cpu = report
            .harvest
            .iter()
            .map(|one| one.cpu_share)
            .fold(0.0, f64::max);
        table = table.note(format!(
            "Events: CPU time of the harvester's thread, alone and beside {} readers of 64 KiB on {} CPUs. It is offered",
            first.readers, report.host.cpus
        ));
        table = table.note(format!(
            "4800 a second; beside readers it moves at least {} of what it moves alone, by at most {} of a CPU.",
            percent(kept),
            percent(cpu)
        ));
    }
    table
}

/// The shares that reads reach of the bare keystream under one key: of its speed, and of its gain by several threads.
fn beside_bare(report: &Report) -> Vec<String> {
    let bare = report.host.backend;
    let mut lines = Vec::new();
    for name in [Mode::PerThread.name(), name::OWNED] {
        let shares = [256, 4096, CACHED_BYTES, 65_536]
            .map(Request::Fill)
            .map(|request| {
                let share = report.times(name, bare, request)?;
                Some(format!("{} at {}", digits(share), request.name()))
            });
        let shares: Vec<String> = shares.into_iter().flatten().collect();
        if !shares.is_empty() {
            let shares = shares.join(", ");
            lines.push(format!("Over the bare keystream, {name}: {shares}."));
        }
    }
    // By whole turns on either side: another program takes a CPU from both.
    let request = Request::Fill(65_536);
    let most = report.throughput.iter().map(|one| one.threads).max();
    let most = most.filter(|most| *most > 1);
    let gain = |name: &str| {
        let several = report.find(name, request, most?)?.means();
        let one = report.find(name, request, 1)?.means();
        Some(median_ratio(&several, &one))
    };
    if let (Some(threads), Some(limit)) = (most, gain(bare)) {
        let modes = Mode::ALL.iter().filter_map(|mode| {
            let share = gain(mode.name())? / limit;
            Some(format!("{} {}", mode.name(), digits(share)))
        });
        let modes: Vec<String> = modes.collect();
        lines.push(format!(
            "At 64 KiB {threads} threads of the bare keystream make {} what one makes; of this gain reach: {}.",
            times(limit),
            modes.join(", ")
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harvest::{Footprint, Harvest};
    use crate::report::Host;
    use crate::throughput::Speed;
    use serde_json::Value;

    fn measured(name: &str, bytes: usize, threads: usize, rate: f64) -> Measurement {
        let speed = Speed {
            mean: rate,
            usual: rate,
        };
        Measurement {
            name: name.into(),
            request: Request::Fill(bytes),
            threads,
            waits: false,
            rounds: vec![vec![speed; threads]; 3],
            watts: Vec::new(),
        }
    }

    /// A report with made-up figures.
    fn report(ours: f64, theirs: f64) -> Report {
        let mut host = Host::this();
        host.date = "2026-01-02T03:04:05Z".into();
        host.version = "1.2.3";
        host.commit = Some("0123456789ab");
        Report {
            throughput: vec![
                measured("per-thread", 32, 1, ours),
                measured("per-thread", 32, 2, ours),
                measured(name::GETRANDOM, 32, 1, theirs),
                measured("per-thread", 1 << 20, 1, 1e4),
            ],
            latency: vec![Latency {
                name: "per-thread".into(),
                threads: 1,
                calls: 10_000,
                median_ns: 20.0,
                nines_ns: [Some(30.0), Some(40.0), Some(50.0), None],
                max_ns: 5000.0,
            }],
            harvest: vec![Harvest {
                mode: Mode::PerThread,
                readers: 2,
                moved_share_alone: f64::NAN,
                kept_share: 0.99,
                events_per_cpu_second_alone: 1.5e6,
                kept_cpu_share: 0.8,
                cpu_share: 0.004,
            }],
            footprint: Some(Footprint {
                first_byte_us: Some(60.0),
                tap_bytes: None,
            }),
            ..Report::new(host, 3)
        }
    }

    #[test]
    fn the_first_sentence_says_how_many_times_faster_or_slower() {
        for (ours, theirs, words) in [
            (
                4.4e8,
                1e7,
                "A 32-byte key takes 2.27 ns, 44.0 times faster than getrandom(2).",
            ),
            (
                1e7,
                1.01e7,
                "A 32-byte key takes 100 ns, as fast as getrandom(2).",
            ),
            (
                1e7,
                2.5e7,
                "A 32-byte key takes 100 ns, 2.50 times slower than getrandom(2).",
            ),
        ] {
            let text = text(&report(ours, theirs));
            assert_eq!(text.lines().next(), Some(words), "{text}");
        }
    }

    #[test]
    fn the_text_names_date_version_and_commit_and_has_one_table_with_rows_for_every_part() {
        let text = text(&report(4.4e8, 1e7));
        for part in [
            "wellspring 1.2.3, commit 0123456789ab, 2026-01-02T03:04:05Z",
            "generation page",
            "first byte of a process after 60.0 us",
            "10.5 GB/s",
            "2.00x",
            "an event of the harvester, per-thread",
            "667 ns",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(text.matches("p99.9").count(), 1, "{text}");
        assert!(
            !text.contains("NaN") && !text.to_lowercase().contains("target"),
            "{text}"
        );
    }

    #[test]
    fn a_generator_at_a_size_has_one_row_with_its_quantiles_and_each_row_has_every_column() {
        let table = table(&report(4.4e8, 1e7));
        assert!(
            table.rows.iter().all(|row| row.len() == table.head.len()),
            "{table:?}"
        );
        let key: Vec<_> = table
            .rows
            .iter()
            .filter(|row| row[1] == "32 B" && row[2] == "1")
            .collect();
        let [ours, theirs] = key[..] else {
            panic!("{key:?}");
        };
        let cells = [
            "per-thread",
            "32 B",
            "1",
            "2.27 ns",
            "14.1 GB/s",
            "",
            "20.0 ns",
            "40.0 ns",
            "50.0 ns",
            "5.00 us",
        ];
        assert_eq!(ours, &cells);
        assert_eq!(theirs[6..], ["", "", "", ""]);
        let events: Vec<_> = table
            .rows
            .iter()
            .filter(|row| row[0].contains("event"))
            .collect();
        assert_eq!([&events[0][2], &events[1][2]], ["1", "3"]);
        assert_eq!([&events[1][3], &events[1][5]], ["833 ns", "0.80x"]);
    }

    #[test]
    fn reads_are_shares_of_the_bare_keystream_and_its_gain_is_the_limit_of_theirs() {
        let mut report = report(4.4e8, 1e7);
        assert!(beside_bare(&report).is_empty());
        let bare = report.host.backend;
        // Each thread's speed.
        report.throughput.extend([
            measured(bare, 65_536, 1, 4.0e5),
            measured(bare, 65_536, 2, 3.6e5),
            measured("per-thread", 65_536, 1, 3.0e5),
            measured("concurrent", 65_536, 1, 2.0e5),
            measured("concurrent", 65_536, 2, 0.9e5),
        ]);
        let lines = [
            "Over the bare keystream, per-thread: 0.75 at 64 KiB.",
            "At 64 KiB 2 threads of the bare keystream make 1.80x what one makes; of this gain reach: concurrent 0.50.",
        ];
        assert_eq!(beside_bare(&report), lines);
    }

    #[test]
    fn calls_that_were_timed_alone_have_a_row_and_a_part_that_was_not_run_has_none() {
        let mut report = report(4.4e8, 1e7);
        report.throughput.clear();
        report.harvest.clear();
        let table = table(&report);
        assert_eq!(table.rows.len(), 1, "{table:?}");
        assert_eq!(table.rows[0][..4], ["per-thread", "32 B", "1", ""]);
        assert_eq!(table.notes.len(), 1, "{table:?}");
        let text = text(&Report::new(Host::this(), 3));
        assert!(text.starts_with("wellspring "), "{text}");
        assert!(!text.contains("Reads") && !text.contains("p99.9"), "{text}");
    }

    #[test]
    fn json_that_is_read_back_has_every_part_and_null_for_a_figure_that_is_no_number() {
        let text = report(4.4e8, 1e7).json().to_string();
        let read: Value = serde_json::from_str(&text).expect("it is JSON");
        for list in ["throughput", "latency", "harvest"] {
            assert!(!read[list].as_array().unwrap().is_empty(), "{list}");
        }
        assert!(read["host"]["generation_page"].is_string());
        assert_eq!(read["footprint"]["first_byte_us"], 60.0);
        assert_eq!(read["latency"][0]["p99_9_ns"], 50.0);
        assert!(read["latency"][0]["p99_99_ns"].is_null());
        assert!(read["harvest"][0]["moved_share_alone"].is_null());
    }
}
