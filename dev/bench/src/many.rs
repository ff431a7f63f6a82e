//! Many threads and many engines, each at two sizes: a cost that grows faster than their number is seen.
//!
//! Memory is what the process has resident (`VmRSS`), so that stacks, taps and engines all count. Time is that of the
//! process on a CPU, in user mode and in the kernel: the time on the clock of a busy machine is that of its scheduler.

use std::hint::black_box;
use std::io;
use std::sync::RwLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Builder;
use std::time::{Duration, Instant};
use wellspring::Engine;
use wellspring_bench::format::{digits, duration};
use wellspring_bench::table::Table;

/// Threads alive at the same time.
const ALIVE: [usize; 2] = [2_500, 10_000];
/// Threads that read once and end, one after another.
const SHORT: [usize; 2] = [25_000, 100_000];
/// Engines alive at the same time.
const ENGINES: [usize; 2] = [250, 1000];

/// Enough for a read; the default of 2 MiB is address space that some systems limit.
const STACK_BYTES: usize = 64 << 10;

/// One size of a case.
struct Found {
    count: usize,
    /// On a CPU, of all together.
    time: Duration,
    /// Of one, in bytes; `None` where the system does not say.
    bytes: Option<f64>,
    /// The time of the first read, in nanoseconds, of the median one and of one in a thousand.
    first_read_ns: Option<[f64; 2]>,
}

impl Found {
    fn ns_each(&self) -> f64 {
        self.time.as_nanos() as f64 / self.count as f64
    }
}

/// Measures all cases. A case that the system has no threads or memory for has an error in its place.
pub(crate) fn run() -> Table {
    let mut table = Table::new(
        "Many threads, many engines",
        &[
            "",
            "number",
            "CPU time",
            "each",
            "growth",
            "memory each",
            "first read",
            "p99.9",
        ],
    );
    type Case = (&'static str, [usize; 2], fn(usize) -> io::Result<Found>);
    let cases: [Case; 4] = [
        ("threads alive, a tap each", ALIVE, |count| {
            alive(count, true)
        }),
        ("the same, without a read", ALIVE, |count| {
            alive(count, false)
        }),
        ("threads that read once and end", SHORT, short),
        ("engines, a read each", ENGINES, engines),
    ];
    for (name, counts, measure) in cases {
        let mut before = None;
        for count in counts {
            match measure(count) {
                Ok(found) => {
                    table.rows.push(row(name, &found, before));
                    before = Some(found.ns_each());
                }
                Err(error) => {
                    table
                        .rows
                        .push(vec![name.into(), count.to_string(), error.to_string()])
                }
            }
        }
    }
    table
        .note("growth: the CPU time of each over that of the smaller number. A cost that is quadratic would show 4.")
        .note("first read: of a thread or an engine, the median and one in a thousand, as its own clock shows it.")
}

fn row(name: &str, found: &Found, smaller_ns: Option<f64>) -> Vec<String> {
    let time = |place: usize| {
        found
            .first_read_ns
            .map_or("-".into(), |ns| duration(ns[place]))
    };
    vec![
        name.into(),
        found.count.to_string(),
        duration(found.time.as_nanos() as f64),
        duration(found.ns_each()),
        smaller_ns.map_or("-".into(), |ns| digits(found.ns_each() / ns)),
        found
            .bytes
            .map_or("-".into(), |bytes| format!("{} B", digits(bytes))),
        time(0),
        time(1),
    ]
}

/// Threads that all live until the last one has begun and, if they read, has read.
fn alive(count: usize, reads: bool) -> io::Result<Found> {
    let engine = engine()?;
    let (arrived, gate) = (AtomicUsize::new(0), RwLock::new(()));
    let before = resident_bytes();
    let start = cpu_time()?;
    std::thread::scope(|scope| {
        let closed = gate.write();
        let work = || {
            let read = reads.then(|| time_read(&engine));
            arrived.fetch_add(1, Ordering::Relaxed);
            drop(gate.read());
            read
        };
        let spawn = |_| builder().spawn_scoped(scope, work);
        // Where one cannot be spawned, the guard of the gate is dropped, and the others end.
        let threads = (0..count).map(spawn).collect::<io::Result<Vec<_>>>()?;
        while arrived.load(Ordering::Relaxed) < count {
            std::thread::sleep(Duration::from_millis(1));
        }
        let time = cpu_time()?.saturating_sub(start);
        let after = resident_bytes();
        drop(closed);
        let reads = threads.into_iter().map(|thread| thread.join());
        let reads = reads.filter_map(|read| read.expect("a reader does not panic"));
        Ok(Found {
            count,
            time,
            bytes: each(before, after, count),
            first_read_ns: quantiles(reads.collect()),
        })
    })
}

/// Threads of which one lives at a time.
fn short(count: usize) -> io::Result<Found> {
    let engine = engine()?;
    let before = resident_bytes();
    let start = cpu_time()?;
    let read = |_| {
        std::thread::scope(|scope| {
            let thread = builder().spawn_scoped(scope, || time_read(&engine))?;
            Ok(thread.join().expect("a reader does not panic"))
        })
    };
    let reads = (0..count).map(read).collect::<io::Result<Vec<_>>>()?;
    Ok(Found {
        count,
        time: cpu_time()?.saturating_sub(start),
        bytes: each(before, resident_bytes(), count),
        first_read_ns: quantiles(reads),
    })
}

/// Engines that all live until the last one has read. The time is that of making, reading and dropping them.
fn engines(count: usize) -> io::Result<Found> {
    let before = resident_bytes();
    let start = cpu_time()?;
    let mut engines = Vec::with_capacity(count);
    let mut reads = Vec::with_capacity(count);
    for _ in 0..count {
        let built = Engine::builder().build().map_err(io::Error::other)?;
        reads.push(time_read(&built));
        engines.push(built);
    }
    let after = resident_bytes();
    drop(engines);
    Ok(Found {
        count,
        time: cpu_time()?.saturating_sub(start),
        bytes: each(before, after, count),
        first_read_ns: quantiles(reads),
    })
}

/// An engine that has been read.
fn engine() -> io::Result<Engine> {
    let engine = Engine::builder().build().map_err(io::Error::other)?;
    engine.fill(&mut [0; 32]);
    Ok(engine)
}

fn builder() -> Builder {
    Builder::new().stack_size(STACK_BYTES)
}

/// The nanoseconds of a read of 32 bytes.
fn time_read(engine: &Engine) -> f64 {
    let start = Instant::now();
    engine.fill(black_box(&mut [0; 32]));
    start.elapsed().as_nanos() as f64
}

/// The median and one in a thousand; `None` of nothing.
fn quantiles(mut figures: Vec<f64>) -> Option<[f64; 2]> {
    figures.sort_by(f64::total_cmp);
    let at = |share: f64| {
        figures
            .get((figures.len() as f64 * share) as usize)
            .copied()
    };
    Some([at(0.5)?, at(0.999)?])
}

fn each(before: Option<f64>, after: Option<f64>, count: usize) -> Option<f64> {
    Some((after? - before?).max(0.0) / count as f64)
}

/// Returns the time that this process was on a CPU, ended threads included, in steps of 10 ms.
fn cpu_time() -> io::Result<Duration> {
    const TICKS_PER_SECOND: u64 = 100; // of this file on every Linux
    let text = std::fs::read_to_string("/proc/self/stat")?;
    // After the name, which may have spaces: fields 14 and 15 of proc(5) are the times in user mode and in the kernel.
    let (_, fields) = text.rsplit_once(')').unwrap_or_default();
    let times = fields.split_whitespace().skip(11).take(2);
    let ticks: u64 = times.filter_map(|time| time.parse::<u64>().ok()).sum();
    Ok(Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND))
}

/// Returns the resident memory of the process, in bytes.
fn resident_bytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_case_finds_as_many_as_it_was_asked_for() {
        for (measure, reads) in [
            (
                (|count| alive(count, true)) as fn(usize) -> io::Result<Found>,
                true,
            ),
            (|count| alive(count, false), false),
            (short, true),
            (engines, true),
        ] {
            let found = measure(20).unwrap();
            assert_eq!((found.count, found.first_read_ns.is_some()), (20, reads));
            assert!(found.ns_each() >= 0.0);
        }
    }

    #[test]
    fn the_time_on_a_cpu_grows_with_work() {
        let start = cpu_time().unwrap();
        let mut sum = 0u64;
        while cpu_time().unwrap() == start {
            sum = black_box(sum.wrapping_add(1));
        }
        assert!(cpu_time().unwrap() > start);
    }

    #[test]
    fn quantiles_are_those_of_the_figures() {
        let figures = (0..1000).rev().map(f64::from).collect();
        assert_eq!(quantiles(figures), Some([500.0, 999.0]));
        assert_eq!(quantiles(Vec::new()), None);
    }
}
