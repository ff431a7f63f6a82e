//! The tables of a report, for the terminal and the page alike.

use crate::blocks::PUBLISHED_FACTOR;
use crate::contender::{Family, Work};
use crate::format::{digits, duration, figure, percent, rate};
use crate::latency::{EMPTY, Latency};
use crate::race::Measurement;
use crate::report::Report;
use crate::targets::{Bound, FAMILIES, Target};

/// Rows under a head, and what is to be said about them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) title: String,
    pub(crate) head: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    pub(crate) notes: Vec<String>,
}

impl Table {
    pub(crate) fn new(title: impl Into<String>, head: &[&str]) -> Self {
        Self {
            title: title.into(),
            head: head.iter().map(ToString::to_string).collect(),
            ..Self::default()
        }
    }

    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }
}

/// Every table that has rows.
pub(crate) fn of(report: &Report) -> Vec<Table> {
    let all = [
        machine(report),
        throughput(report),
        costs(report),
        scaling(report),
        latency(report),
        harvest(report),
        harvester(report),
        blocks(report),
        targets(&report.targets()),
    ];
    all.into_iter()
        .filter(|table| !table.rows.is_empty())
        .collect()
}

fn machine(report: &Report) -> Table {
    let machine = &report.machine;
    let mut table = Table::new("Machine", &["", ""]);
    let mut row = |name: &str, value: String| table.rows.push(vec![name.into(), value]);
    row("CPU", format!("{}, {} usable", machine.cpu, machine.cpus));
    row("system", machine.system.clone());
    row(
        "backends",
        format!("{}, {}", machine.backend, machine.chacha20_backend),
    );
    if let Some(load) = machine.load {
        row("load at the start", format!("{load:.2}"));
    }
    row("rounds", report.rounds.to_string());
    if let Some(footprint) = &report.footprint {
        let of = match footprint.in_fresh_processes {
            true => "of a fresh process",
            false => "of a fresh engine",
        };
        row(
            "first byte",
            format!("{} {of}", duration(footprint.first_byte_us * 1e3)),
        );
        if let Some(bytes) = footprint.tap_bytes {
            row("a thread's tap", format!("{bytes:.0} B"));
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

/// The place of a family in that order.
pub(crate) fn place(family: Family) -> usize {
    FAMILIES
        .iter()
        .position(|one| *one == family)
        .unwrap_or(FAMILIES.len())
}

/// Measurements by contender, in the order of families.
fn contenders(report: &Report) -> Vec<&str> {
    let mut names = Vec::new();
    for family in FAMILIES {
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
    .note("Medians over the rounds; ± covers the middle half of them. A round counts with the middle one of")
    .note("its portions, which leaves out those in which the thread was off its CPU.")
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
        .note("Where threads wait for a lock by whole turns, time off the CPU included; elsewhere by the middle portions.")
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
    let rung = |row: &Vec<String>| contenders(report).iter().position(|name| *name == row[0]);
    table.rows.sort_by_key(rung);
    table
}

fn latency(report: &Report) -> Table {
    let head = [
        "", "threads", "p50", "p90", "p99", "p99.9", "p99.99", "max", "calls",
    ];
    let mut table = Table::new("Latency of a 32-byte read, the clock's own cost included", &head).note(format!(
        "'{EMPTY}' times nothing: its median is the clock's own cost, and what lies above it further out is the machine's doing."
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
    let mut table = Table::new("The harvester's thread while readers hammer", &head);
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
            "The share of 4800 events a second that it moves to the pools in time, which is the scheduler's \
             doing as well; and events in a second of its own time. {} reader(s) of 64 KiB on {} CPUs.",
            loss.readers, report.machine.cpus
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
    let mut table = Table::new("The harvest side while readers hammer", &head);
    for loss in &report.harvest {
        table.rows.push(vec![
            loss.mode.to_string(),
            digits(loss.alone_per_second),
            digits(loss.hammered_per_second),
            percent(loss.kept_share()),
            percent(loss.dropped_share),
        ]);
    }
    match report.harvest.first() {
        None => table,
        Some(loss) => table.note(format!(
            "A step offers 8 events and reseeds. {} reader(s) of 64 KiB on {} CPUs.",
            loss.readers, report.machine.cpus
        )),
    }
}

fn blocks(report: &Report) -> Table {
    let head = ["numbers from", "a block of 4 KiB", "share of its 2 numbers"];
    let mut table = Table::new("Random numbers in a block-writing loop", &head);
    for with in &report.blocks {
        table.rows.push(vec![
            with.source.into(),
            duration(with.block_ns),
            percent(with.share),
        ]);
    }
    match report.blocks.as_slice() {
        [system, pseudo] => table.note(format!(
            "Factor {}; published for ZFS: {} (3.16 % to 0.06 %), where a block also pays for checksums and a disk.",
            digits(system.share / pseudo.share),
            digits(PUBLISHED_FACTOR),
        )),
        _ => table,
    }
}

fn targets(targets: &[Target]) -> Table {
    let mut table = Table::new("Targets", &["", "wanted", "found", ""]);
    for target in targets {
        let sign = match target.bound {
            Bound::AtLeast => ">=",
            Bound::AtMost => "<=",
        };
        table.rows.push(vec![
            target.what.clone(),
            format!("{sign} {}", figure(target.wanted, target.unit)),
            target
                .found
                .map_or("-".into(), |found| figure(found, target.unit)),
            verdict(target).into(),
        ]);
    }
    if targets.iter().any(|target| target.found.is_none()) {
        table = table.note(
            "Not measured: other sections of the run, too few calls, or peers, which take part in `cargo xtask \
             bench`.",
        );
    }
    table.note("Ratios are medians of the rounds' ratios.")
}

pub(crate) fn verdict(target: &Target) -> &'static str {
    match target.is_met() {
        Some(true) => "met",
        Some(false) => "NOT MET",
        None => "not measured",
    }
}

/// For a terminal: columns as wide as their widest cell, the first to the left, figures to the right.
pub(crate) fn text(tables: &[Table]) -> String {
    let mut text = String::new();
    for table in tables {
        text += &format!("{}\n", table.title);
        let has_head = table.head.iter().any(|cell| !cell.is_empty());
        let head = has_head.then_some(&table.head);
        let lines: Vec<&Vec<String>> = head.into_iter().chain(&table.rows).collect();
        let columns = lines.iter().map(|line| line.len()).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = lines.iter().filter_map(|line| line.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for line in lines {
            let cells = line.iter().zip(&widths).enumerate();
            let cells = cells.map(|(column, (cell, width))| match column {
                0 => format!("  {cell:width$}"),
                _ if !has_head => format!("  {cell}"),
                _ => format!("  {cell:>width$}"),
            });
            text += cells.collect::<String>().trim_end();
            text.push('\n');
        }
        for note in &table.notes {
            text += &format!("  {note}\n");
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn every_part_of_a_report_has_its_table() {
        let text = text(&of(&sample::report()));
        for title in [
            "Machine",
            "Throughput",
            "Scaling",
            "Latency",
            "harvest",
            "block-writing",
            "Targets",
        ] {
            assert!(text.contains(title), "{title}");
        }
        assert!(text.contains("NOT MET") || text.contains("met"));
        assert!(!text.contains("NaN") && !text.contains("inf"));
    }

    #[test]
    fn columns_stand_under_their_heads() {
        let mut table = Table::new("T", &["", "a", "bbbb"]);
        table.rows.push(vec!["x".into(), "10.0".into(), "1".into()]);
        assert_eq!(text(&[table]), "T\n        a  bbbb\n  x  10.0     1\n\n");
    }
}
