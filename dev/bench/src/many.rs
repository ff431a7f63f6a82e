//! Many threads and many engines, each at two sizes: this shows a cost that grows faster than their number.
//!
//! Memory is what the process has resident (`VmRSS`), so that stacks, taps and engines all count; locked memory is `VmLck`,
//! and what the system refused to lock. Time is the process's time on
//! a CPU, in user mode and in the kernel: on a busy machine the scheduler decides how much time passes on the clock.

use std::hint::black_box;
use std::io;
use std::sync::RwLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Builder;
use std::time::{Duration, Instant};
use wellspring::Engine;
use wellspring_bench::figures::{Table, digits, duration, quantile};
use wellspring_bench::harvest::{cpu_time, status_bytes};

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
    /// The time on a CPU, of all threads or engines together.
    time: Duration,
    /// The bytes of one thread or engine; `None` where the system does not say.
    bytes: Option<f64>,
    /// How many of these are locked. A thread's share includes what the first read of its engine locked.
    locked: Option<f64>,
    /// The time of each first read, in nanoseconds.
    reads_ns: Vec<f64>,
}

impl Found {
    fn ns_each(&self) -> f64 {
        self.time.as_nanos() as f64 / self.count as f64
    }
}

/// Measures all cases, or the given number of threads that are alive and a tenth as many engines. A case that the system has
/// no threads or memory for has an error in its place.
pub(crate) fn run(number: Option<usize>) -> Table {
    let head = [
        "",
        "number",
        "CPU time",
        "each",
        "growth",
        "memory each",
        "locked",
        "first read",
        "p99.9",
    ];
    let mut table = Table::new("Many threads, many engines", &head);
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
        let mut smaller_ns = None;
        let counts = match number {
            None => counts.to_vec(),
            Some(_) if counts == SHORT => Vec::new(),
            Some(number) if counts == ENGINES => vec![number / 10],
            Some(number) => vec![number],
        };
        for count in counts {
            let mut row = vec![name.into(), count.to_string()];
            match measure(count) {
                Ok(found) => {
                    row.extend(cells(&found, smaller_ns));
                    smaller_ns = Some(found.ns_each());
                }
                Err(error) => row.push(error.to_string()),
            }
            table.rows.push(row);
        }
    }
    table
        .note("growth: the CPU time of each over that of the smaller number. A cost that is quadratic would show 4.")
        .note("first read: of a thread or an engine, the median and one in a thousand, as its own clock shows it.")
}

fn cells(found: &Found, smaller_ns: Option<f64>) -> [String; 7] {
    let or_dash = |cell: Option<String>| cell.unwrap_or("-".into());
    let read = |share| or_dash(quantile(&found.reads_ns, share).map(duration));
    let each = found.ns_each();
    [
        duration(found.time.as_nanos() as f64),
        duration(each),
        or_dash(smaller_ns.map(|ns| digits(each / ns))),
        or_dash(found.bytes.map(|bytes| format!("{} B", digits(bytes)))),
        or_dash(found.locked.map(|bytes| format!("{} B", digits(bytes)))),
        read(0.5),
        read(0.999),
    ]
}

/// The time of the process on a CPU, and its memory.
struct Usage {
    time: Duration,
    bytes: Option<f64>,
    locked: Option<f64>,
}

impl Usage {
    /// Any engine knows how many bytes of the process are not locked.
    fn now(engine: Option<&Engine>) -> Self {
        let refused = engine.map_or(0, |engine| engine.stats().unlocked_bytes);
        Self {
            time: cpu_time(),
            bytes: status_bytes("VmRSS"),
            locked: status_bytes("VmLck").map(|locked| locked + refused as f64),
        }
    }
}

/// Runs `work`, which makes `count` threads or engines, and returns the times of their reads and the usage that counts.
fn measure(
    count: usize,
    work: impl FnOnce() -> io::Result<(Vec<f64>, Usage)>,
) -> io::Result<Found> {
    let before = Usage::now(None);
    let (reads_ns, after) = work()?;
    let grown =
        |after: Option<f64>, before: Option<f64>| Some((after? - before?).max(0.0) / count as f64);
    Ok(Found {
        count,
        time: after.time.saturating_sub(before.time),
        bytes: grown(after.bytes, before.bytes),
        locked: grown(after.locked, before.locked),
        reads_ns,
    })
}

/// Threads that all live until the last one has begun and, if they read, has read. Their ends do not count.
fn alive(count: usize, reads: bool) -> io::Result<Found> {
    let engine = engine()?;
    let (arrived, gate) = (AtomicUsize::new(0), RwLock::new(()));
    let work = || {
        let read = reads.then(|| time_read(&engine));
        arrived.fetch_add(1, Ordering::Relaxed);
        drop(gate.read());
        read
    };
    measure(count, || {
        std::thread::scope(|scope| {
            let closed = gate.write();
            // Where one cannot be spawned, the guard of the gate is dropped, and the others end.
            let spawn = |_| builder().spawn_scoped(scope, work);
            let threads = (0..count).map(spawn).collect::<io::Result<Vec<_>>>()?;
            while arrived.load(Ordering::Relaxed) < count {
                std::thread::sleep(Duration::from_millis(1));
            }
            let usage = Usage::now(Some(&engine));
            drop(closed);
            let reads = threads.into_iter().map(|thread| thread.join());
            let reads = reads.filter_map(|read| read.expect("a reader does not panic"));
            Ok((reads.collect(), usage))
        })
    })
}

/// Threads, one alive at a time.
fn short(count: usize) -> io::Result<Found> {
    let engine = engine()?;
    let read = |_| {
        std::thread::scope(|scope| {
            let thread = builder().spawn_scoped(scope, || time_read(&engine))?;
            Ok(thread.join().expect("a reader does not panic"))
        })
    };
    measure(count, || {
        let reads = (0..count).map(read).collect::<io::Result<_>>()?;
        Ok((reads, Usage::now(Some(&engine))))
    })
}

/// Engines that all live until the last one has read. The time covers making, reading and dropping them.
fn engines(count: usize) -> io::Result<Found> {
    measure(count, || {
        let make = |_| Engine::builder().build().map_err(io::Error::other);
        let read = |engine| {
            let engine: Engine = engine?;
            Ok((time_read(&engine), engine))
        };
        let made = (0..count).map(make).map(read);
        let (reads, engines): (_, Vec<Engine>) = made.collect::<io::Result<_>>()?;
        let alive = Usage::now(engines.first());
        drop(engines);
        let time = cpu_time();
        Ok((reads, Usage { time, ..alive }))
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
            assert_eq!(found.count, 20);
            assert_eq!(found.reads_ns.len(), if reads { 20 } else { 0 });
            assert!(found.ns_each() >= 0.0);
        }
    }

    #[test]
    fn the_time_on_a_cpu_grows_with_work() {
        let start = cpu_time();
        let mut sum = 0u64;
        while cpu_time() == start {
            sum = black_box(sum.wrapping_add(1));
        }
        assert!(cpu_time() > start);
    }
}
