//! The tables of a report, for the terminal and the page alike.

use crate::blocks::PUBLISHED_FACTOR;
use crate::contender::{Family, Work};
use crate::format::{digits, duration, percent, rate};
use crate::latency::{EMPTY, Latency};
use crate::report::Report;
use crate::table::Table;
use crate::throughput::Measurement;

/// Every table that has rows.
#[must_use]
pub fn of(report: &Report) -> Vec<Table> {
    let all = [
        machine(report),
        throughput(report),
        costs(report),
        scaling(report),
        latency(report),
        harvest(report),
        harvester(report),
        blocks(report),
    ];
    all.into_iter()
        .filter(|table| !table.rows.is_empty())
        .collect()
}

fn machine(report: &Report) -> Table {
    let host = &report.host;
    let mut table = Table::new("Machine", &["", ""]);
    let mut row = |name: &str, value: String| table.rows.push(vec![name.into(), value]);
    row("CPU", format!("{}, {} usable", host.cpu, host.cpus));
    row("system", host.system.clone());
    row(
        "backends",
        format!("{}, {}", host.backend, host.chacha20_backend),
    );
    if let Some(load) = host.load {
        row("load at the start", format!("{load:.2}"));
    }
    row("rounds", report.rounds.to_string());
    if let Some(footprint) = &report.footprint {
        let of = if footprint.in_fresh_processes {
            "process"
        } else {
            "engine"
        };
        let first_byte = duration(footprint.first_byte_us * 1e3);
        row(
            "first byte",
            format!("{first_byte} after the start of a fresh {of}"),
        );
        if let Some(bytes) = footprint.tap_bytes {
            row("memory of a tap", format!("{bytes:.0} B"));
        }
    }
    table
}

/// The works measured on one thread, small to large.
fn works(report: &Report) -> Vec<Work> {
    let mut works: Vec<Work> = report.measurements.iter().map(|one| one.work).collect();
    works.sort_by_key(|work| work.bytes());
    works.dedup();
    works
}

/// Measurements by contender, in the order of families.
fn contenders(report: &Report) -> Vec<&str> {
    let mut names = Vec::new();
    for family in Family::ALL {
        for one in report
            .measurements
            .iter()
            .filter(|one| one.family == family)
        {
            if !names.contains(&one.name.as_str()) {
                names.push(one.name.as_str());
            }
        }
    }
    names
}

fn by_work(
    report: &Report,
    title: &str,
    works: &[Work],
    cell: impl Fn(&Measurement) -> String,
) -> Table {
    let names: Vec<String> = works.iter().map(|work| work.name()).collect();
    let head: Vec<&str> = std::iter::once("")
        .chain(names.iter().map(String::as_str))
        .collect();
    let mut table = Table::new(title, &head);
    for name in contenders(report) {
        let found: Vec<Option<&Measurement>> = works
            .iter()
            .map(|&work| report.find(name, work, 1))
            .collect();
        if found.iter().any(Option::is_some) {
            let cells = found.iter().map(|one| one.map_or(String::new(), &cell));
            table
                .rows
                .push(std::iter::once(name.to_string()).chain(cells).collect());
        }
    }
    table
}

fn throughput(report: &Report) -> Table {
    let works: Vec<Work> = works(report)
        .into_iter()
        .filter(|work| work.bytes() >= 256)
        .collect();
    by_work(report, "Throughput, one thread", &works, |one| {
        format!(
            "{} ±{:.0}%",
            rate(one.bytes_per_second()),
            one.spread() * 100.0
        )
    })
    .note("Medians of the rounds; ± covers the middle half of the rounds. Of each round the median of its portions counts,")
    .note("which leaves out the portions in which another program had the CPU.")
}

fn costs(report: &Report) -> Table {
    let works: Vec<Work> = works(report)
        .into_iter()
        .filter(|work| work.bytes() <= 256)
        .collect();
    by_work(report, "Cost of a small read, one thread", &works, |one| {
        format!(
            "{} ±{:.0}%",
            duration(one.ns_per_request()),
            one.spread() * 100.0
        )
    })
}

/// Each number of threads against one, and how equal the shares were.
fn scaling(report: &Report) -> Table {
    let head = [
        "",
        "size",
        "threads",
        "all together",
        "over one thread",
        "unequal by",
    ];
    let mut table = Table::new("Scaling and fairness", &head)
        .note("Modes with a lock, and getrandom(2): over whole turns, waiting included. Others: the median portion of a turn.")
        .note("Unequal by: the standard deviation of the threads' throughput as a share of their mean.");
    for many in report.measurements.iter().filter(|one| one.threads > 1) {
        let Some(one) = report.find(&many.name, many.work, 1) else {
            continue;
        };
        table.rows.push(vec![
            many.name.clone(),
            many.work.name(),
            many.threads.to_string(),
            rate(many.bytes_per_second()),
            format!("{}x", digits(report.scaling(many, one))),
            percent(many.unfairness()),
        ]);
    }
    let place = |row: &Vec<String>| contenders(report).iter().position(|name| *name == row[0]);
    table.rows.sort_by_key(place);
    table
}

fn latency(report: &Report) -> Table {
    let head = [
        "", "threads", "p50", "p90", "p99", "p99.9", "p99.99", "max", "calls",
    ];
    let mut table = Table::new("Latency of a 32-byte read, with the cost of the clock", &head).note(format!(
        "'{EMPTY}' reads nothing: its median is the cost of the clock; its slow calls are interrupts and other programs."
    ));
    for one in report.latencies.iter().filter(|one| one.calls > 0) {
        let nines = |nines| one.nines_ns(nines).map_or(String::new(), duration);
        table.rows.push(vec![
            one.name.clone(),
            one.threads.to_string(),
            duration(Latency::median_ns(one)),
            nines(1),
            nines(2),
            nines(3),
            nines(4),
            duration(one.max_ns),
            one.calls.to_string(),
        ]);
    }
    table
}

fn harvester(report: &Report) -> Table {
    let head = [
        "",
        "moved alone",
        "kept beside readers",
        "events per CPU second alone",
        "kept",
        "of a CPU",
    ];
    let mut table = Table::new("The harvester's thread while readers run", &head);
    for loss in &report.harvester {
        table.rows.push(vec![
            loss.mode.to_string(),
            percent(loss.alone_share),
            percent(loss.kept_share),
            digits(loss.alone_per_cpu_second),
            percent(loss.kept_cpu_share),
            percent(loss.cpu_share),
        ]);
    }
    match report.harvester.first() {
        None => table,
        Some(loss) => table.note(format!(
            "The share of 4800 events a second that it moves to the pools in time (this depends on the scheduler as \
             well), and events in a second of its CPU time. {} reader(s) of 64 KiB on {} CPUs.",
            loss.readers, report.host.cpus
        )),
    }
}

fn harvest(report: &Report) -> Table {
    let head = [
        "",
        "steps/s alone",
        "steps/s beside readers",
        "kept",
        "events dropped",
    ];
    let mut table = Table::new("Feeding and reseeding while readers run", &head);
    for loss in &report.harvest {
        table.rows.push(vec![
            loss.mode.to_string(),
            digits(loss.alone_per_second),
            digits(loss.loaded_per_second),
            percent(loss.kept_share()),
            percent(loss.dropped_share),
        ]);
    }
    match report.harvest.first() {
        None => table,
        Some(loss) => table.note(format!(
            "A step offers 8 events and reseeds. {} reader(s) of 64 KiB on {} CPUs.",
            loss.readers, report.host.cpus
        )),
    }
}

fn blocks(report: &Report) -> Table {
    let head = ["numbers from", "a block of 4 KiB", "share of its 2 numbers"];
    let mut table = Table::new("Random numbers in a loop that writes blocks", &head);
    for with in &report.blocks {
        table.rows.push(vec![
            with.source.into(),
            duration(with.block_ns),
            percent(with.share),
        ]);
    }
    match report.blocks.as_slice() {
        [system, pseudo] => table.note(format!(
            "Factor {}; published for ZFS: {} (3.16 % to 0.06 %), where a block also has checksums and a disk.",
            digits(system.share / pseudo.share),
            digits(PUBLISHED_FACTOR),
        )),
        _ => table,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn every_section_of_a_report_has_its_table() {
        let text: String = of(&sample::report()).iter().map(Table::text).collect();
        for title in [
            "Machine",
            "Throughput",
            "small read",
            "Scaling",
            "Latency",
            "Feeding",
            "harvester",
            "writes blocks",
        ] {
            assert!(text.contains(title), "{title}");
        }
        assert!(!text.contains("NaN") && !text.contains("inf"));
    }

    #[test]
    fn the_targets_of_the_project_are_in_no_report_of_a_user() {
        let text: String = of(&sample::report()).iter().map(Table::text).collect();
        assert!(!text.to_lowercase().contains("target"));
    }
}
