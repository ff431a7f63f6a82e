//! The cost of reads from the kernel module, on this machine.
//!
//! ```text
//! pace       how much is measured
//! modes      the system's device, and the module's modes, which are set for a while
//! locks      how often a read took the lock of a node
//! readers    threads that read a device file
//! beside     another task and the harvester, beside readers
//! nodes      the CPUs of each NUMA node
//! inside     threads of the kernel that read
//! requests   requests inside the kernel, a loop that writes blocks, and AES-XTS
//! ```
//!
//! All cases of a part have their turn in every round. A figure is the median over the rounds.

mod beside;
mod inside;
mod locks;
mod modes;
mod nodes;
mod pace;
mod readers;
mod requests;

use crate::open::{DEVICE, Failure, TEST_DEVICE, open_device};
use modes::{ModeGuard, SUBJECTS};
pub(crate) use pace::{FULL, Pace, QUICK, SHORT};
use readers::{Cell, Group};
use rustix::fd::OwnedFd;
use std::time::Duration;
use wellspring_bench::format::digits;
use wellspring_bench::table::Table;

/// The readers of long reads: 1 to 8.
const MOST_READERS: usize = 8;

/// The bytes of a long read. The module makes them in pieces of a page.
const LONG_BYTES: usize = 16384;

/// The most nodes, as published.
const MOST_NODES: usize = 4;

/// The readers beside another task, as published.
const READERS_BESIDE: usize = 3;

/// The bytes of a short read: a key.
const SHORT_BYTES: usize = 32;

/// Measures and prints. `inside` is for the figures of threads of the kernel alone.
pub(crate) fn run(pace: Pace, inside: bool) -> Result<(), Failure> {
    open_device(DEVICE, "wellspring")?;
    let tests = open_device(TEST_DEVICE, "wellspring_test")?;
    let mode = ModeGuard::new()?;
    if !inside {
        print!("{}", long_reads(pace, &mode)?);
        print!("{}", beside_readers(pace, &mode)?);
        print!("{}", short_reads(pace, &mode)?);
    }
    print!("{}", sizes_inside(&tests, pace)?);
    print!("{}", readers_inside(&tests, pace)?);
    print!(
        "{}",
        requests_inside(&requests::measure(&tests, pace, &mode)?)
    );
    Ok(())
}

/// A title, a head, rows and a note.
fn table(title: &str, head: &[&str], rows: Vec<Vec<String>>, note: &str) -> String {
    let mut table = Table::new(title, head).note(note);
    table.rows = rows;
    table.text()
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
        "FreeBSD published for 3 readers, in MB/s, with the lock and without: 55 and 197 (AES), 113 and 430 (ChaCha20).",
    );
    let locks = table(
        "locks of nodes taken in 1000 reads of 16 KiB; in brackets how many were not free",
        &head,
        lines(&locks),
        "How many are taken holds in an emulator too, where times say nothing.",
    );
    Ok(speeds + &locks)
}

/// A task that a timer wakes each millisecond, alone and beside readers.
fn beside_readers(pace: Pace, mode: &ModeGuard) -> Result<String, Failure> {
    let mut lines = Vec::new();
    for readers in [0, READERS_BESIDE] {
        let row = beside::measure(readers, LONG_BYTES, pace, mode)?;
        for (subject, cell) in SUBJECTS.iter().zip(&row) {
            let late = [0.5, 0.99, 1.0].map(|share| digits(cell.late_us(share)));
            let harvester = format!("{:.3} %", 100.0 * cell.harvester());
            let name = [readers.to_string(), (*subject).to_owned()];
            lines.push(name.into_iter().chain(late).chain([harvester]).collect());
        }
    }
    Ok(table(
        "us from a timer's time to the end of a read of 16 bytes, each ms, beside readers of 16 KiB",
        &[
            "readers",
            "",
            "median",
            "p99",
            "longest",
            "harvester's share of a CPU",
        ],
        lines,
        "FreeBSD's harvester took double digits of a CPU beside 3 readers that held its lock, and none without the lock.",
    ))
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

/// One thread of the kernel, with several sizes.
fn sizes_inside(tests: &OwnedFd, pace: Pace) -> Result<String, Failure> {
    const SIZES: [u32; 4] = [16, 32, 256, 4096];
    let of_way = |&(way, _): &(u32, _)| SIZES.map(|bytes| (way, 1, bytes));
    let mut cases: Vec<_> = inside::WAYS.iter().flat_map(of_way).collect();
    cases.extend(inside::NUMBERS.map(|(way, _)| (way, 1, 8)));
    let cells = inside::measure(tests, pace.rounds, pace.slice, &cases)?;
    let (of_ways, of_numbers) = cells.split_at(inside::WAYS.len() * SIZES.len());
    let mut lines = Vec::new();
    for ((_, name), row) in inside::WAYS.iter().zip(of_ways.chunks(SIZES.len())) {
        let figures = row.iter().map(|cell| digits(cell.each_ns()));
        lines.push(
            [(*name).to_owned(), "-".into()]
                .into_iter()
                .chain(figures)
                .collect(),
        );
    }
    for ((_, name), cell) in inside::NUMBERS.iter().zip(of_numbers) {
        let mut line = vec![(*name).to_owned(), digits(cell.each_ns())];
        line.extend(SIZES.map(|_| "-".into()));
        lines.push(line);
    }
    Ok(table(
        "ns of a read inside the kernel, by its bytes",
        &["", "8", "16", "32", "256", "4096"],
        lines,
        "One thread, in each of the four modes and beside the kernel's own.",
    ))
}

/// Threads of the kernel beside each other, up to one for each CPU.
fn readers_inside(tests: &OwnedFd, pace: Pace) -> Result<String, Failure> {
    let cpus = nodes::cpus_of_nodes().concat().len().min(MOST_READERS) as u32;
    let ways = &inside::WAYS[..5];
    let of_count = |readers| {
        ways.iter()
            .map(move |&(way, _)| (way, readers, LONG_BYTES as u32))
    };
    let cases: Vec<_> = (1..=cpus).flat_map(of_count).collect();
    // Two rounds of the harvester.
    let slice = Duration::from_millis(200);
    let cells = inside::measure(tests, pace.rounds, slice, &cases)?;
    let mut lines = Vec::new();
    for (readers, row) in (1u32..).zip(cells.chunks(ways.len())) {
        let cell = |cell: &inside::Cell| {
            format!(
                "{} ({:.1} %, {:.2} %)",
                digits(LONG_BYTES as f64 * 1e3 / cell.each_ns()),
                100.0 * cell.waiting(),
                100.0 * cell.harvester()
            )
        };
        let name = [readers.to_string()];
        lines.push(name.into_iter().chain(row.iter().map(cell)).collect());
    }
    let names = ways.iter().map(|(_, name)| *name);
    let head: Vec<_> = ["readers"].into_iter().chain(names).collect();
    Ok(table(
        "MB/s of each reader inside the kernel, reads of 16 KiB; in brackets the share of its time that it waited \
         for locks, and the share of it that rounds of the harvester took",
        &head,
        lines,
        "In canonical a reader also waits for the mutex of readers that may sleep, which is not counted here.",
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
        "Published: AES-XTS of 16 bytes in a task, 384 MB/s by crypto/simd.c, 487 without; numbers' share 3.16 and 0.06 %.",
    )
}
