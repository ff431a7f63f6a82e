//! The cost of reads from the kernel module, on this machine.
//!
//! ```text
//! pace       how much is measured, and the median over the rounds
//! modes      the system's device, and the module's modes, which are set for a while
//! locks      how often a read took the lock of a node
//! readers    threads that read a device file
//! nodes      the CPUs of each NUMA node
//! requests   requests inside the kernel, and a loop that writes blocks
//! table      figures in columns
//! ```
//!
//! All cases of a part have their turn in every round. A figure is the median over the rounds.

mod locks;
mod modes;
mod nodes;
mod pace;
mod readers;
mod requests;
mod table;

use crate::open::{DEVICE, Failure, TEST_DEVICE, open_device};
use modes::{ModeGuard, SUBJECTS};
pub(crate) use pace::{FULL, Pace, QUICK};
use readers::{Cell, Group};
use table::{digits, table};

/// The readers of long reads: 1 to 8.
const MOST_READERS: usize = 8;

/// The bytes of a long read. The module makes them in pieces of a page.
const LONG_BYTES: usize = 16384;

/// The most nodes, as published.
const MOST_NODES: usize = 4;

/// The bytes of a short read: a key.
const SHORT_BYTES: usize = 32;

/// Measures and prints.
pub(crate) fn run(pace: Pace) -> Result<(), Failure> {
    open_device(DEVICE, "wellspring")?;
    let tests = open_device(TEST_DEVICE, "wellspring_test")?;
    let mode = ModeGuard::new()?;
    print!("{}", long_reads(pace, &mode)?);
    print!("{}", short_reads(pace, &mode)?);
    print!(
        "{}",
        requests_inside(&requests::measure(&tests, pace, &mode)?)
    );
    Ok(())
}

/// A line of a table: a name, and a cell for each subject.
fn line(name: String, row: &[Cell], cell: impl Fn(&Cell) -> String) -> Vec<String> {
    [name].into_iter().chain(row.iter().map(cell)).collect()
}

fn locks(cell: &Cell) -> String {
    cell.locks_of_1000_reads()
        .map_or("-".into(), |(taken, contended)| {
            format!("{} ({})", digits(taken), digits(contended))
        })
}

/// 1 to 8 readers, wherever the scheduler puts them.
fn long_reads(pace: Pace, mode: &ModeGuard) -> Result<String, Failure> {
    let groups: Vec<Group> = (1..=MOST_READERS).map(|count| vec![None; count]).collect();
    let rows = readers::measure(&groups, LONG_BYTES, pace, mode)?;
    let speed = |cell: &Cell| {
        let mb_s = cell.each_per_s() * LONG_BYTES as f64 / 1e6;
        format!("{} ({:.2})", digits(mb_s), cell.spread())
    };
    let lines = |cell: &dyn Fn(&Cell) -> String| {
        let rows = (1..).zip(&rows);
        let lines = rows.map(|(readers, row): (usize, _)| line(readers.to_string(), row, cell));
        lines.collect::<Vec<_>>()
    };
    let head = [&["readers"], &SUBJECTS[..]].concat();
    let speeds = table(
        "MB/s of each reader, reads of 16 KiB; in brackets fastest less slowest reader as a share of the mean",
        &head,
        lines(&speed),
        "FreeBSD published 55 with the lock and 197 without for 1 reader, 113 and 430 for 3, in MiB/s.",
    );
    let locks = table(
        "locks of nodes taken in 1000 reads of 16 KiB; in brackets how many were not free",
        &head,
        lines(&locks),
        "How many are taken holds in an emulator too, where times say nothing.",
    );
    Ok(speeds + &locks)
}

/// Readers on the CPUs of 1 to 4 nodes, as will-it-scale has them: one on each CPU.
fn short_reads(pace: Pace, mode: &ModeGuard) -> Result<String, Failure> {
    let cpus = nodes::cpus_of_nodes();
    let group = |count: usize| cpus[..count].concat().into_iter().map(Some).collect();
    let groups: Vec<Group> = (1..=cpus.len().min(MOST_NODES)).map(group).collect();
    let rows = readers::measure(&groups, SHORT_BYTES, pace, mode)?;
    let mut lines = Vec::new();
    for (row, group) in rows.iter().zip(&groups) {
        let mut line = vec![format!("{} ({} CPUs)", lines.len() + 1, group.len())];
        for (cell, first) in row.iter().zip(&rows[0]) {
            let all_per_s = cell.each_per_s() * group.len() as f64;
            let on_one_node = first.each_per_s() * groups[0].len() as f64;
            let ratio = all_per_s / on_one_node;
            line.push(format!("{ratio:.2} ({})", digits(all_per_s / 1e3)));
        }
        lines.push(line);
    }
    for (nodes, row) in (1..).zip(&rows) {
        lines.push(line(format!("{nodes}, locks in 1000 reads"), row, locks));
    }
    Ok(table(
        "reads of 32 bytes by a reader on each CPU, times those on one node (in brackets: thousands a second)",
        &[&["nodes"], &SUBJECTS[..]].concat(),
        lines,
        "will-it-scale published 1, 0.75, 0.55, 0.42 with one lock, and 1, 2, 2.4, 3 without.",
    ))
}

fn requests_inside(rows: &[requests::Row]) -> String {
    let line = |row: &requests::Row| {
        let figures = [row.each_ns, row.mb_s, row.switches].map(digits);
        let share = format!("{:.2} %", 100.0 * row.share);
        let name = [row.name.to_owned()].into_iter();
        name.chain(figures).chain([share]).collect()
    };
    table(
        "inside the kernel, one CPU, one request at a time, mode per-cpu",
        &["", "ns", "MB/s", "context switches", "numbers' share"],
        rows.iter().map(line).collect(),
        "Published: 384 MB/s by a worker, 487 directly; numbers' share 3.16 % secret, 0.06 % pseudo.",
    )
}
