//! The cost of reads from the kernel module, on this machine.
//!
//! `readers` measures threads that read a device file, beside another task and the harvester; `nodes` has them on the CPUs of
//! more and more nodes. Threads of the kernel that read, and requests inside the kernel, are below.
//!
//! All cases of a part have their turn in every round. A figure is the median over the rounds. A figure from threads of the
//! kernel is left out where a round was disturbed ([`steady`]).

mod nodes;
mod readers;

use crate::ioctl::{self, Measure, Speed};
use crate::test::{DEVICE, Failure, TEST_DEVICE, open_device};
use readers::{Cell, Group, ModeGuard, SUBJECTS, measure_beside};
pub(crate) use readers::{FULL, Pace, QUICK, SHORT};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::time::Duration;
use wellspring_bench::figures::Table;
use wellspring_bench::figures::digits;
use wellspring_bench::figures::median;

/// The readers of long reads: 1 to 8.
const MOST_READERS: usize = 8;

/// The bytes of a long read. The module makes them in pieces of a page.
const LONG_BYTES: usize = 16384;

/// The readers beside another task, as published.
const READERS_BESIDE: usize = 3;

/// Measures and prints. `inside` is for the figures of threads of the kernel alone.
pub(crate) fn run(pace: Pace, inside: bool) -> Result<(), Failure> {
    open_device(DEVICE, "wellspring")?;
    let tests = open_device(TEST_DEVICE, "wellspring_test")?;
    let mode = ModeGuard::new()?;
    if !inside {
        print!("{}", long_reads(pace, &mode)?);
        print!("{}", beside_readers(pace, &mode)?);
        print!("{}", nodes::short_reads(pace, &mode)?);
    }
    print!("{}", sizes_inside(&tests, pace)?);
    print!("{}", readers_inside(&tests, pace)?);
    print!("{}", delays_inside(&tests, pace)?);
    print!(
        "{}",
        requests_inside(&measure_requests(&tests, pace, &mode)?)
    );
    Ok(())
}

/// Prints the report on readers of nodes.
pub(crate) fn run_nodes(pace: Pace) -> Result<(), Failure> {
    print!("{}", nodes::report(pace)?);
    Ok(())
}

/// A title, a head, rows and a note.
fn table(title: &str, head: &[&str], rows: Vec<Vec<String>>, note: &str) -> String {
    let mut table = Table::new(title, head).note(note);
    table.rows = rows;
    table.text()
}

/// The median over the rounds. `None` if a round differs from it by more than a third: then something else had the CPU.
fn steady(rounds: &[f64]) -> Option<f64> {
    let middle = median(rounds);
    let is_near = |round: &f64| 3.0 * (round - middle).abs() <= middle;
    rounds.iter().all(is_near).then_some(middle)
}

/// Each round as a multiple of the same round of another case.
fn ratios(rounds: &[f64], others: &[f64]) -> Vec<f64> {
    let pairs = rounds.iter().zip(others);
    pairs.map(|(round, other)| round / other).collect()
}

/// The text of a steady figure.
fn shown<T>(figure: Option<T>, text: impl FnOnce(T) -> String) -> String {
    figure.map_or("disturbed".into(), text)
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
        let row = measure_beside(readers, LONG_BYTES, pace, mode)?;
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

/// One thread of the kernel, with several sizes.
fn sizes_inside(tests: &OwnedFd, pace: Pace) -> Result<String, Failure> {
    const SIZES: [u32; 4] = [16, 32, 256, 4096];
    let of_way = |&(way, _): &(u32, _)| SIZES.map(|bytes| (way, 1, bytes));
    let mut cases: Vec<_> = WAYS.iter().flat_map(of_way).collect();
    cases.extend(NUMBERS.map(|(way, _)| (way, 1, 8)));
    let cells = measure_inside(tests, pace.rounds, pace.slice, &cases)?;
    let (of_ways, of_numbers) = cells.split_at(WAYS.len() * SIZES.len());
    let mut lines = Vec::new();
    let kernels = &of_ways[KERNELS * SIZES.len()..];
    for ((_, name), row) in WAYS.iter().zip(of_ways.chunks(SIZES.len())) {
        let figures = row.iter().zip(kernels);
        let figures = figures.map(|(cell, kernels)| cell.beside(kernels));
        lines.push(
            [(*name).to_owned(), "-".into()]
                .into_iter()
                .chain(figures)
                .collect(),
        );
    }
    for ((_, name), cell) in NUMBERS.iter().zip(of_numbers) {
        let mut line = vec![(*name).to_owned(), cell.beside(&of_numbers[1])];
        line.extend(SIZES.map(|_| "-".into()));
        lines.push(line);
    }
    Ok(table(
        "ns of a read inside the kernel, by its bytes; in brackets times the kernel's own in the same round",
        &["", "8", "16", "32", "256", "4096"],
        lines,
        "One thread. disturbed: a round differs by more than a third from the median.",
    ))
}

/// Threads of the kernel beside each other, up to one for each CPU.
fn readers_inside(tests: &OwnedFd, pace: Pace) -> Result<String, Failure> {
    let cpus = nodes::cpus_of_nodes().concat().len().min(MOST_READERS) as u32;
    let ways = &WAYS[..5];
    let of_count = |readers| {
        ways.iter()
            .map(move |&(way, _)| (way, readers, LONG_BYTES as u32))
    };
    let cases: Vec<_> = (1..=cpus).flat_map(of_count).collect();
    // Two rounds of the harvester.
    let slice = Duration::from_millis(200);
    let cells = measure_inside(tests, pace.rounds, slice, &cases)?;
    let mut lines = Vec::new();
    for (readers, row) in (1u32..).zip(cells.chunks(ways.len())) {
        let cell = |cell: &InsideCell| {
            shown(steady(&cell.each_ns), |each_ns| {
                format!(
                    "{} ({:.1} %, {:.2} %)",
                    digits(LONG_BYTES as f64 * 1e3 / each_ns),
                    100.0 * cell.waiting(),
                    100.0 * cell.harvester()
                )
            })
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

/// Softirqs beside a thread of the kernel on the same CPU, with sections and without.
fn delays_inside(tests: &OwnedFd, pace: Pace) -> Result<String, Failure> {
    let mut samples = [const { Vec::new() }; BESIDE.len()];
    for _ in 0..pace.rounds {
        for ((way, bytes, _), samples) in BESIDE.iter().zip(&mut samples) {
            let mut speed = Speed {
                way: *way,
                readers: 1,
                bytes: *bytes,
                ms: 200,
                delays: 1,
                ..Speed::default()
            };
            ioctl::speed(tests, &mut speed).map_err(|error| Failure::work(TEST_DEVICE, error))?;
            samples.push(speed);
        }
    }
    let line = |((_, _, name), samples): (&(u32, u32, &str), &Vec<Speed>)| {
        let of = |figure: fn(&Speed) -> u64| samples.iter().map(move |s| figure(s) as f64);
        let rounds_of = |figure| of(figure).collect::<Vec<f64>>();
        vec![
            (*name).to_owned(),
            digits(of(|speed| u64::from(speed.delays)).sum()),
            shown(steady(&rounds_of(|speed| speed.delay_ns[0])), digits),
            digits(median(&rounds_of(|speed| speed.delay_ns[1]))),
            digits(of(|speed| speed.delay_ns[2]).fold(0.0, f64::max)),
        ]
    };
    Ok(table(
        "ns from a hard interrupt to the softirq that it raises, beside a thread on the same CPU",
        &["the thread makes", "softirqs", "median", "p99", "longest"],
        BESIDE.iter().zip(&samples).map(line).collect(),
        "Medians of the rounds; the longest of all. Sections of the module disable softirqs, and make at most 4096 bytes.",
    ))
}

fn requests_inside(rows: &[Row]) -> String {
    let line = |row: &Row| {
        let ratio = row.ratio.as_ref();
        vec![
            row.name.to_owned(),
            shown(row.each_ns, digits),
            ratio.map_or("-".into(), |ratio| shown(*ratio, |it| format!("{it:.2}"))),
            shown(row.mb_s(), digits),
            digits(row.switches),
            format!("{:.2} %", 100.0 * row.share),
        ]
    };
    table(
        "inside the kernel, one CPU, one request at a time, mode per-cpu",
        &[
            "",
            "ns",
            "ratio",
            "MB/s",
            "context switches",
            "numbers' share",
        ],
        rows.iter().map(line).collect(),
        "ratio: to the same without a worker, and to blocks with get_random_u64(), in the same round. Published: AES-XTS of \
         16 bytes in a task, 384 MB/s by crypto/simd.c, 487 without; numbers' share 3.16 and 0.06 %.",
    )
}

// ---- threads of the kernel ----
// Threads of the kernel that read: one with several sizes, and up to two for each CPU beside each other.

/// The ways to read, with their numbers in `kernel/tests/test.h`.
const WAYS: [(u32, &str); 6] = [
    (0, "canonical"),
    (1, "concurrent"),
    (2, "per-node"),
    (3, "per-cpu"),
    (4, "get_random_bytes"),
    (5, "pseudo"),
];

/// Which of them is the kernel's own.
const KERNELS: usize = 4;

/// The work of a thread beside softirqs: a way to read, and its bytes at a time.
const BESIDE: [(u32, u32, &str); 5] = [
    (5, 16384, "pseudo bytes, in no section"),
    (4, 16384, "get_random_bytes(), 16 KiB"),
    (3, 32, "32 bytes from a tap, 1024 in a section"),
    (3, 1024, "1 KiB in a section"),
    (3, 16384, "16 KiB in sections of 4 KiB"),
];

/// The ways to make a number of 8 bytes.
const NUMBERS: [(u32, &str); 2] = [(6, "wellspring_get_u64"), (7, "get_random_u64")];

/// One way, number of readers and size: a figure for each round.
#[derive(Clone, Default)]
struct InsideCell {
    each_ns: Vec<f64>,
    waiting: Vec<f64>,
    harvester_ns: u64,
    wall_ns: u64,
}

impl InsideCell {
    /// The time of a read, and how many times the kernel's own that is.
    fn beside(&self, kernels: &InsideCell) -> String {
        let ratio = steady(&ratios(&self.each_ns, &kernels.each_ns));
        shown(steady(&self.each_ns).zip(ratio), |(each_ns, ratio)| {
            format!("{} ({ratio:.2})", digits(each_ns))
        })
    }

    /// The share of the readers' time that they waited for locks of nodes.
    fn waiting(&self) -> f64 {
        median(&self.waiting)
    }

    /// The share of the time that rounds of the harvester took: there is one in each 100 ms, so of all rounds together.
    fn harvester(&self) -> f64 {
        self.harvester_ns as f64 / self.wall_ns.max(1) as f64
    }

    fn add(&mut self, speed: &Speed) {
        let ns = speed.ns as f64;
        self.each_ns
            .push(speed.turn_ns as f64 / speed.turn_reads as f64);
        self.waiting.push(speed.lock_wait_ns as f64 / ns);
        self.harvester_ns += speed.harvester_ns;
        self.wall_ns += speed.ns / u64::from(speed.readers);
    }
}

/// Measures each case, `(way, readers, bytes)`, once in every round.
fn measure_inside(
    tests: &OwnedFd,
    rounds: usize,
    slice: Duration,
    cases: &[(u32, u32, u32)],
) -> Result<Vec<InsideCell>, Failure> {
    let mut cells = vec![InsideCell::default(); cases.len()];
    for _ in 0..rounds {
        for (&(way, readers, bytes), cell) in cases.iter().zip(&mut cells) {
            let mut speed = Speed {
                way,
                readers,
                bytes,
                ms: slice.as_millis() as u32,
                ..Speed::default()
            };
            ioctl::speed(tests, &mut speed).map_err(|error| Failure::work(TEST_DEVICE, error))?;
            if speed.errors > 0 || speed.reads == 0 {
                let reason = format!("{} of {} reads failed", speed.errors, speed.reads);
                return Err(Failure::Work(reason));
            }
            cell.add(&speed);
        }
    }
    Ok(cells)
}

// ---- requests inside the kernel ----
// Requests inside the kernel, and a loop that writes blocks. The module of the tests measures them.

/// The kinds, with their numbers in `kernel/tests/test.h`, the bytes of each, and the kind that it is compared with.
const KINDS: [(&str, f64, Option<usize>); 11] = [
    ("16 bytes for a task", 16.0, None),
    ("16 bytes for a task, by a worker", 16.0, Some(0)),
    ("16 bytes for a softirq", 16.0, None),
    ("16 bytes for a softirq, by a worker", 16.0, Some(2)),
    ("blocks with two secret numbers each", 4096.0, Some(6)),
    ("blocks with two pseudo numbers each", 4096.0, Some(6)),
    ("blocks with two of get_random_u64()", 4096.0, None),
    ("AES-XTS of 16 bytes, directly", 16.0, None),
    ("AES-XTS of 16 bytes, by cryptd", 16.0, Some(7)),
    ("AES-XTS of 4096 bytes, directly", 4096.0, None),
    ("AES-XTS of 4096 bytes, by cryptd", 4096.0, Some(9)),
];

/// The figures of one kind.
struct Row {
    name: &'static str,
    bytes: f64,
    /// The time of a request, or of a block with its numbers.
    each_ns: Option<f64>,
    /// That time as a multiple of another kind's.
    ratio: Option<Option<f64>>,
    /// Context switches of a request.
    switches: f64,
    /// The share of the time that numbers take. Only the blocks have numbers.
    share: f64,
}

impl Row {
    fn mb_s(&self) -> Option<f64> {
        self.each_ns.map(|each_ns| self.bytes * 1e3 / each_ns)
    }
}

/// Measures all kinds that this kernel has, in the mode per-cpu.
fn measure_requests(tests: &OwnedFd, pace: Pace, mode: &ModeGuard) -> Result<Vec<Row>, Failure> {
    mode.set("per-cpu")?;
    let mut samples = [const { Vec::new() }; KINDS.len()];
    for _ in 0..pace.rounds {
        for (kind, samples) in (0..).zip(&mut samples) {
            let mut measure = Measure {
                measurement: kind,
                count: pace.requests,
                ..Measure::default()
            };
            match ioctl::measure(tests, &mut measure) {
                // Without wellspring_crypto.ko, or cryptd.
                Err(Errno::NOENT) => continue,
                done => done.map_err(|error| Failure::work(TEST_DEVICE, error))?,
            }
            if measure.errors > 0 || measure.count == 0 {
                let reason = format!("{} reads failed in the kernel", measure.errors);
                return Err(Failure::Work(reason));
            }
            samples.push(measure);
        }
    }
    Ok(rows(&samples))
}

/// A row for each kind that was measured.
fn rows(samples: &[Vec<Measure>; KINDS.len()]) -> Vec<Row> {
    let measured = KINDS.into_iter().zip(samples);
    let measured = measured.filter(|(_, samples)| !samples.is_empty());
    let row = |((name, bytes, other), of_kind): ((_, _, Option<usize>), &Vec<Measure>)| Row {
        name,
        bytes,
        each_ns: steady(&each_ns(of_kind)),
        ratio: other.map(|other| steady(&ratios(&each_ns(of_kind), &each_ns(&samples[other])))),
        switches: medians(of_kind, |sample| {
            sample.switches as f64 / f64::from(sample.count)
        }),
        share: medians(of_kind, |sample| {
            sample.numbers_ns as f64 / sample.ns as f64
        }),
    };
    measured.map(row).collect()
}

fn each_ns(samples: &[Measure]) -> Vec<f64> {
    let each = |sample: &Measure| sample.ns as f64 / f64::from(sample.count);
    samples.iter().map(each).collect()
}

fn medians(samples: &[Measure], figure: fn(&Measure) -> f64) -> f64 {
    let figures: Vec<f64> = samples.iter().map(figure).collect();
    median(&figures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_those_of_all_readers_and_of_one_cpu() {
        let mut cell = InsideCell::default();
        cell.add(&Speed {
            readers: 2,
            reads: 10,
            ns: 2000,
            lock_wait_ns: 500,
            harvester_ns: 100,
            turn_ns: 800,
            turn_reads: 4,
            ..Speed::default()
        });
        assert_eq!(cell.each_ns, [200.0]);
        assert_eq!((cell.waiting(), cell.harvester()), (0.25, 0.1));
    }

    #[test]
    fn a_figure_with_a_round_that_differs_by_more_than_a_third_is_left_out() {
        assert_eq!(steady(&[80.0, 90.0, 119.0]), Some(90.0));
        assert_eq!(steady(&[90.0, 90.0, 120.1]), None);
        assert_eq!(steady(&[59.9, 90.0, 90.0]), None);
        let cell = |each_ns: [f64; 3]| InsideCell {
            each_ns: each_ns.to_vec(),
            ..InsideCell::default()
        };
        // The ratio is of rounds: 2, 2 and 2.2.
        let text = cell([200.0, 220.0, 220.0]).beside(&cell([100.0, 110.0, 100.0]));
        assert_eq!(text, format!("{} (2.00)", digits(220.0)));
        let disturbed = cell([200.0, 220.0, 400.0]).beside(&cell([100.0, 110.0, 200.0]));
        assert_eq!(disturbed, "disturbed");
    }

    #[test]
    fn a_row_has_the_medians_of_its_rounds() {
        let sample = |ns| Measure {
            count: 10,
            ns,
            numbers_ns: 5,
            switches: 10,
            ..Measure::default()
        };
        let mut samples = [const { Vec::new() }; KINDS.len()];
        samples[4] = vec![sample(100), sample(110), sample(95)];
        samples[6] = vec![sample(50), sample(55), sample(500)];
        let rows = rows(&samples);
        let [secret, kernels] = &rows[..] else {
            panic!("{} rows", rows.len());
        };
        assert_eq!((secret.each_ns, secret.switches), (Some(10.0), 1.0));
        assert_eq!((secret.mb_s(), secret.share), (Some(409_600.0), 0.05));
        // One of the other's rounds was disturbed, and with it the ratio.
        assert_eq!((kernels.each_ns, secret.ratio), (None, Some(None)));
        assert!(requests_inside(&rows).contains("disturbed"));
    }
}
