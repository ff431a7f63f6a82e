//! A report for people: a table for each topic.

use crate::format::{digits, duration, percent, rate};
use crate::generator::Request;
use crate::generators::name;
use crate::latency::EMPTY;
use crate::report::Report;
use crate::statistics::quantile;
use crate::table::Table;
use crate::throughput::Measurement;
use wellspring::Mode;

/// `report` for a terminal: what a key costs, the machine, then every table that has rows.
#[must_use]
pub fn text(report: &Report) -> String {
    let host = &report.host;
    let lines = headline(report).into_iter();
    let lines = lines.chain([host.stamp(), host.machine(), circumstances(report)]);
    let lines: String = lines.map(|line| line + "\n").collect();
    let tables = [
        one_thread(report),
        threads(report),
        latency(report),
        harvest(report),
    ];
    let tables = tables.iter().filter(|table| !table.rows.is_empty());
    format!("{lines}\n{}", tables.map(Table::text).collect::<String>())
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

/// The cost of a small read, and the speed of a long one.
#[must_use]
pub fn cost(one: &Measurement) -> String {
    if one.request.bytes() < 4096 {
        duration(one.ns_per_request())
    } else {
        rate(one.bytes_per_second())
    }
}

/// Small reads by their time and long ones by their speed, on one thread.
fn one_thread(report: &Report) -> Table {
    let measured = || report.throughput.iter().filter(|one| one.threads == 1);
    let mut requests: Vec<Request> = measured().map(|one| one.request).collect();
    requests.sort_by_key(|request| request.bytes());
    requests.dedup();
    let mut names: Vec<&str> = Vec::new();
    for one in measured() {
        if !names.contains(&one.name.as_str()) {
            names.push(&one.name);
        }
    }
    let heads: Vec<String> = requests.iter().map(|request| request.name()).collect();
    let heads = [""].into_iter().chain(heads.iter().map(String::as_str));
    let mut table = Table::new("Reads, one thread", &heads.collect::<Vec<_>>());
    for name in names {
        let cells = requests
            .iter()
            .map(|&request| report.find(name, request, 1));
        let cells = cells.map(|one| one.map_or(String::new(), cost));
        table
            .rows
            .push([name.to_owned()].into_iter().chain(cells).collect());
    }
    let spreads: Vec<f64> = measured().map(Measurement::spread).collect();
    let [usual, worst] = [0.5, 1.0].map(|share| quantile(&spreads, share).unwrap_or(0.0));
    table
        .note(format!(
            "The middle half of the rounds lies within {} of a figure, at worst within {}. Of each round the median of its",
            percent(usual),
            percent(worst)
        ))
        .note("portions counts, which leaves out those in which another program had the CPU.")
}

/// Each number of threads against one, and how equal the shares were.
fn threads(report: &Report) -> Table {
    let head = [
        "",
        "size",
        "threads",
        "all together",
        "over one thread",
        "unequal by",
    ];
    let mut table = Table::new("Reads, several threads", &head)
        .note("Modes with a lock, and getrandom(2): over whole turns, waiting included. Others: the median portion of a turn.")
        .note("Unequal by: the standard deviation of the threads' throughput as a share of their mean.");
    for many in report.throughput.iter().filter(|one| one.threads > 1) {
        let Some(one) = report.find(&many.name, many.request, 1) else {
            continue;
        };
        table.rows.push(vec![
            many.name.clone(),
            many.request.name(),
            many.threads.to_string(),
            rate(many.bytes_per_second()),
            format!("{}x", digits(many.over(one))),
            percent(many.unfairness()),
        ]);
    }
    table
}

fn latency(report: &Report) -> Table {
    let head = [
        "", "threads", "p50", "p90", "p99", "p99.9", "p99.99", "max", "calls",
    ];
    let mut table = Table::new("Latency of a 32-byte read, with the cost of the clock", &head).note(format!(
        "'{EMPTY}' reads nothing: its median is the cost of the clock; its slow calls are interrupts and other programs."
    ));
    for one in report.latency.iter().filter(|one| one.calls > 0) {
        let nines = one.nines_ns.map(|ns| ns.map_or(String::new(), duration));
        let cells = [
            one.name.clone(),
            one.threads.to_string(),
            duration(one.median_ns),
        ];
        let ends = [duration(one.max_ns), one.calls.to_string()];
        table
            .rows
            .push(cells.into_iter().chain(nines).chain(ends).collect());
    }
    table
}

fn harvest(report: &Report) -> Table {
    let head = [
        "",
        "moved alone",
        "kept beside readers",
        "events per CPU second alone",
        "kept",
        "of a CPU",
    ];
    let mut table = Table::new("The harvester's thread while readers run", &head);
    for one in &report.harvest {
        table.rows.push(vec![
            one.mode.to_string(),
            percent(one.moved_share_alone),
            percent(one.kept_share),
            digits(one.events_per_cpu_second_alone),
            percent(one.kept_cpu_share),
            percent(one.cpu_share),
        ]);
    }
    let readers = report.harvest.first().map_or(0, |one| one.readers);
    table
        .note("Moved: the share of 4800 events a second that reaches the pools in time; it depends on the scheduler as well.")
        .note(format!(
            "Beside {readers} readers of 64 KiB on {} CPUs.",
            report.host.cpus
        ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::footprint::Footprint;
    use crate::harvest::Harvest;
    use crate::host::Host;
    use crate::latency::Latency;
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
    fn the_text_names_date_version_and_commit_and_has_a_table_for_every_part() {
        let text = text(&report(4.4e8, 1e7));
        for part in [
            "wellspring 1.2.3, commit 0123456789ab, 2026-01-02T03:04:05Z",
            "generation page",
            "first byte of a process after 60.0 us",
            "Reads, one thread",
            "10.5 GB/s",
            "Reads, several threads",
            "2.00x",
            "Latency",
            "harvester",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(
            !text.contains("NaN") && !text.to_lowercase().contains("target"),
            "{text}"
        );
    }

    #[test]
    fn a_part_that_was_not_run_has_no_table() {
        let text = text(&Report::new(Host::this(), 3));
        assert!(text.starts_with("wellspring "), "{text}");
        assert!(
            !text.contains("Reads") && !text.contains("Latency"),
            "{text}"
        );
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
