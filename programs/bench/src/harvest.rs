//! The work of the harvester's thread while readers run on every CPU.
//!
//! A feeder offers 4800 events a second, more than the harvester's usual rounds could take. The thread moves them to the
//! pools and reseeds when that is due. Readers and harvester share the CPUs, so there are two figures. The share of the
//! events that were moved before the queue of mixed data was full depends on the scheduler too: a thread that shares two
//! CPUs with two readers waits for its turn. Events moved in a second of the thread's CPU time do not depend on it. That
//! figure falls if the thread waits for a reader or both write to one cache line.
//!
//! And the cost of a process and of a thread: the time to the first byte, and the memory of a tap.

use crate::figures::{median, median_ratio};
use crate::generators::{self, Request, Runner};
use indicatif::ProgressBar;
#[cfg(target_os = "linux")]
use rustix::time::{ClockId, clock_gettime};
use std::ffi::OsString;
use std::process::Command;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use wellspring::{Engine, Harvester, HarvesterStats, Mode};

/// The length of a read: a mode that makes its output under a lock holds it for microseconds.
const READ_BYTES: usize = 65_536;

const EVENTS: u64 = 24;

/// The time to the next offer: 4800 events a second.
const BETWEEN_OFFERS: Duration = Duration::from_millis(5);

const SLICE: Duration = Duration::from_millis(200);

/// The harvester of a mode.
#[derive(Clone, Debug)]
pub struct Harvest {
    /// The mode.
    pub mode: Mode,
    /// How many readers ran.
    pub readers: usize,
    /// The share of the offered events that the thread moved to the pools in time, alone.
    pub moved_share_alone: f64,
    /// The share of `moved_share_alone` that remains beside readers: the median of the rounds' ratios.
    pub kept_share: f64,
    /// Events moved in a second of the thread's time on a CPU, alone.
    pub events_per_cpu_second_alone: f64,
    /// The share of `events_per_cpu_second_alone` that remains beside readers.
    pub kept_cpu_share: f64,
    /// The share of a CPU that the thread takes beside readers.
    pub cpu_share: f64,
}

/// Measures every mode, with a reader on each CPU.
pub(crate) fn run(cpus: usize, rounds: usize, bar: &ProgressBar) -> Vec<Harvest> {
    bar.set_length((rounds * Mode::ALL.len()) as u64);
    // No thread reads an engine between its turns; without this its harvester would slow down.
    let harvester = Harvester::default().idle_pace_ms(100);
    let engines = Mode::ALL.map(|mode| {
        let builder = Engine::builder().mode(mode);
        let engine = builder.harvester(harvester.clone()).build();
        engine.expect("there is memory and a thread for an engine")
    });
    let mut alone = vec![Vec::new(); engines.len()];
    let mut loaded = alone.clone();
    for _ in 0..rounds {
        for (place, engine) in engines.iter().enumerate() {
            alone[place].push(measure(engine, 0));
            loaded[place].push(measure(engine, cpus));
            bar.set_message("harvester");
            bar.inc(1);
        }
    }
    let summary = |(place, engine): (usize, &Engine)| {
        let of = |slices: &[Slice], figure: fn(&Slice) -> f64| -> Vec<f64> {
            slices.iter().map(figure).collect()
        };
        let (alone, loaded) = (&alone[place], &loaded[place]);
        let kept = |figure| median_ratio(&of(loaded, figure), &of(alone, figure));
        Harvest {
            mode: engine.mode(),
            readers: cpus,
            moved_share_alone: median(&of(alone, Slice::moved_share)),
            kept_share: kept(Slice::moved_share),
            events_per_cpu_second_alone: median(&of(alone, Slice::per_cpu_second)),
            kept_cpu_share: kept(Slice::per_cpu_second),
            cpu_share: median(&of(loaded, |slice| slice.cpu_time_s / slice.time_s)),
        }
    };
    engines.iter().enumerate().map(summary).collect()
}

/// The work of the thread in a slice of time.
#[derive(Clone, Debug)]
struct Slice {
    offered: f64,
    events: f64,
    time_s: f64,
    cpu_time_s: f64,
}

impl Slice {
    fn moved_share(&self) -> f64 {
        self.events / self.offered.max(1.0)
    }

    fn per_cpu_second(&self) -> f64 {
        self.events / self.cpu_time_s.max(1e-6)
    }
}

fn measure(engine: &Engine, readers: usize) -> Slice {
    let (stop, offered) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..readers {
            scope.spawn(|| {
                let mut buffer = vec![0; READ_BYTES];
                let mut reader = generators::reader(engine);
                while !stop.load(Ordering::Relaxed) {
                    reader.run(Request::Fill(READ_BYTES), 8, &mut buffer);
                }
            });
        }
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                (0..EVENTS).for_each(|event| engine.mix(&[event as u8; 32]));
                offered.fetch_add(EVENTS, Ordering::Relaxed);
                // A reader, so that the harvester does not take the engine for an idle one.
                let _ = engine.u64();
                std::thread::sleep(BETWEEN_OFFERS);
            }
        });
        // Until the harvester has found its pace.
        std::thread::sleep(SLICE);
        let (before, start) = (stats(engine), Instant::now());
        let offered_before = offered.load(Ordering::Relaxed);
        std::thread::sleep(SLICE);
        let (after, elapsed) = (stats(engine), start.elapsed());
        stop.store(true, Ordering::Relaxed);
        Slice {
            offered: (offered.load(Ordering::Relaxed) - offered_before) as f64,
            events: (after.events - before.events) as f64,
            time_s: elapsed.as_secs_f64(),
            cpu_time_s: (after.cpu_time_us - before.cpu_time_us) as f64 / 1e6,
        }
    })
}

fn stats(engine: &Engine) -> HarvesterStats {
    engine.stats().harvester.expect("it was started with one")
}

// ---- first byte and tap ----

/// Processes started for the first byte.
const STARTS: usize = 21;
/// Threads held at once to measure the memory of a tap. With 64, memory that they share hardly counts.
const THREADS: usize = 64;

/// The time to the first byte, and the memory for each thread.
#[derive(Clone, Debug)]
pub struct Footprint {
    /// The time of a fresh process to its first 32 bytes, in microseconds: the median. `None` without a command.
    pub first_byte_us: Option<f64>,
    /// Locked memory for each thread that has read, in bytes; `None` where the system does not say.
    pub tap_bytes: Option<f64>,
}

/// Times the first bytes of the process's engine. To be called by a process that has just begun and has not
/// read before, which prints the nanoseconds: see [`Options::first_byte_command`](crate::Options).
#[must_use]
pub fn first_byte() -> Duration {
    let start = Instant::now();
    wellspring::fill(std::hint::black_box(&mut [0; 32]));
    start.elapsed()
}

/// To be run before anything else has used and given back taps.
pub(crate) fn footprint(first_byte_command: Option<&[OsString]>) -> Footprint {
    Footprint {
        tap_bytes: tap_bytes(),
        first_byte_us: first_byte_command.and_then(first_byte_us),
    }
}

/// `None` when the command does not do what it should.
fn first_byte_us(command: &[OsString]) -> Option<f64> {
    let (program, arguments) = command.split_first()?;
    let start = || {
        let output = Command::new(program).args(arguments).output().ok()?;
        let ns: f64 = String::from_utf8(output.stdout).ok()?.trim().parse().ok()?;
        Some(ns / 1e3)
    };
    let samples: Option<Vec<f64>> = (0..STARTS).map(|_| start()).collect();
    Some(median(&samples?))
}

/// The growth of locked memory while many threads hold taps.
fn tap_bytes() -> Option<f64> {
    let engine = generators::engine(Mode::PerThread);
    // The memory that the engine itself locks.
    engine.fill(&mut [0; 32]);
    let before = secret_bytes(&engine)?;
    let (arrived, leave) = (Barrier::new(THREADS + 1), Barrier::new(THREADS + 1));
    let after = std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                engine.fill(&mut [0; 32]);
                arrived.wait();
                leave.wait();
            });
        }
        arrived.wait();
        let after = secret_bytes(&engine);
        leave.wait();
        after
    })?;
    Some((after - before) / THREADS as f64)
}

/// Locked bytes of this process, and bytes that the system refused to lock.
fn secret_bytes(engine: &wellspring::Engine) -> Option<f64> {
    Some(status_bytes("VmLck")? + engine.stats().unlocked_bytes as f64)
}

// ---- memory and CPU time ----

/// A size in `/proc/self/status`, such as `VmRSS`, in bytes; `None` where the system does not say.
#[must_use]
pub fn status_bytes(name: &str) -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mut lines = status.lines();
    let size = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let kib: f64 = size.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024.0)
}

/// The time that this process was on a CPU, in user mode and in the kernel, ended threads included.
#[cfg(target_os = "linux")]
#[must_use]
pub fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In 200 ms a busy machine may leave the thread no turn, so each mode has several tries.
    #[test]
    fn the_harvester_moves_events_beside_readers_on_every_cpu() {
        let cpus = std::thread::available_parallelism().map_or(1, Into::into);
        let mut idle = Mode::ALL.to_vec();
        for _ in 0..20 {
            for one in run(cpus, 1, &ProgressBar::hidden()) {
                println!("{one:?}");
                let shares = [
                    one.moved_share_alone,
                    one.kept_share,
                    one.events_per_cpu_second_alone,
                ];
                if shares.iter().all(|&share| share > 0.0) {
                    idle.retain(|&mode| mode != one.mode);
                }
            }
            if idle.is_empty() {
                return;
            }
        }
        panic!("in these modes no event was moved: {idle:?}");
    }

    #[test]
    fn a_tap_weighs_something_and_without_a_command_there_is_no_first_byte() {
        let footprint = footprint(None);
        assert_eq!(footprint.first_byte_us, None);
        assert!(
            footprint.tap_bytes.is_none_or(|bytes| bytes > 1000.0),
            "{footprint:?}"
        );
    }

    #[test]
    fn a_command_that_prints_no_number_is_not_believed() {
        let command = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        assert_eq!(first_byte_us(&command(&["echo", "12000"])), Some(12.0));
        assert_eq!(first_byte_us(&command(&["echo", "nonsense"])), None);
        assert_eq!(first_byte_us(&command(&["/does/not/exist"])), None);
        assert_eq!(first_byte_us(&[]), None);
    }
}
