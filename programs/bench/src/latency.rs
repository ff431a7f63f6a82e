//! The cost of single calls: the distribution, not the mean.

use crate::figures::histogram;
use crate::generators::{self, Generate, Generator, Runner, time_ns};
use crate::throughput::Pace;
use hdrhistogram::Histogram;
use indicatif::ProgressBar;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};
use wellspring::{Engine, Harvester, MinEntropy, Mode, Source, SourceError, Symbol};
use wellspring_os::os::{ContextSwitches, context_switches};
use wellspring_sources::{Cpu, Os};

/// The loop that reads nothing, for comparison: its median is the cost of the clock, and its slow calls are caused by
/// interrupts, the hypervisor and other programs.
pub const EMPTY: &str = "empty loop";
/// Reads of a thread that find a new generation.
pub const AFTER_RESEED: &str = "first read after a reseed";
/// The same loop without the reseed: these reads alternate with the reads after a reseed, and take bytes that are ready.
pub const WITHOUT_RESEED: &str = "the same loop without a reseed";
/// The same, of many threads at once on one engine.
pub const OF_ONE_ENGINE: &str = "first read after a reseed, 64 threads";
/// The same, of many threads at once, each with its own engine: what the machine adds without a queue.
pub const OF_MANY_ENGINES: &str = "first read after a reseed, 64 engines";
/// Reads that drew on a source.
pub const HARVESTING: &str = "a read that harvests";

/// Reads after a reseed, as many as a p99.9 takes: a second on a quiet machine.
const RESEEDS: u64 = 11_000;
/// Reads of many threads after a reseed, as many as a p99.9 takes: two seconds on a quiet machine.
const FIRST_READS: u64 = 12_000;
/// Reads that harvest: two seconds on a quiet machine.
const HARVESTS: u64 = 40;
/// The most time for either, so that a busy machine does not delay the run without end.
const PATIENCE: Duration = Duration::from_secs(3);

/// Calls timed between two looks at the time.
const PORTION: u64 = 2000;

/// The distribution of one kind of call, the clock included, in nanoseconds. A quantile beyond which there were fewer than
/// ten calls is `None`.
#[derive(Clone, Debug)]
pub struct Latency {
    /// The generator's name, or what the read found.
    pub name: String,
    /// On how many threads at once.
    pub threads: usize,
    /// How many calls were timed.
    pub calls: u64,
    /// Half of the calls take no longer.
    pub median_ns: f64,
    /// 90, 99, 99.9 and 99.99 % of the calls take no longer.
    pub nines_ns: [Option<f64>; 4],
    /// The longest.
    pub max_ns: f64,
}

impl Latency {
    fn new(name: &str, threads: usize, histogram: &Histogram<u64>) -> Self {
        let calls = histogram.len();
        let at = |share| histogram.value_at_quantile(share) as f64;
        let nines = |nines| {
            let part = 10_u64.pow(nines);
            (calls >= 10 * part).then(|| at(1.0 - 1.0 / part as f64))
        };
        Self {
            name: name.into(),
            threads,
            calls,
            median_ns: at(0.5),
            nines_ns: [1, 2, 3, 4].map(nines),
            max_ns: histogram.max() as f64,
        }
    }
}

/// A loop that reads nothing: what a latency consists of before anything is read.
struct Nothing;

impl Generate for Nothing {
    #[inline(always)]
    fn fill(&mut self, destination: &mut [u8]) {
        black_box(destination);
    }
}

/// How many kinds of reads there are that all threads make in turn.
pub(crate) const KINDS: usize = Mode::ALL.len() + 2;

/// Times 32-byte reads on each number of threads, all taking turns, and then the reads that are rare.
pub(crate) fn run(threads: &[usize], pace: Pace, bar: &ProgressBar) -> Vec<Latency> {
    let mut kinds: Vec<Generator> = Mode::ALL.map(|one| generators::mode(one, &[])).into();
    kinds.push(generators::system_call(&[]));
    kinds.push(Generator::new(EMPTY, &[], || Nothing));
    let of_threads = |&threads| kinds.iter().map(move |kind| (kind, threads, histogram()));
    let mut cases: Vec<_> = threads.iter().flat_map(of_threads).collect();
    bar.set_length((cases.len() * pace.rounds + 3) as u64);
    for _ in 0..pace.rounds {
        for (kind, threads, histogram) in &mut cases {
            turn(kind, *threads, pace.slice, histogram);
            bar.set_message(kind.name.clone());
            bar.inc(1);
        }
    }
    let summary = |(kind, threads, histogram): &(&Generator, usize, _)| {
        Latency::new(&kind.name, *threads, histogram)
    };
    let mut latencies: Vec<Latency> = cases.iter().map(summary).collect();
    let mut add = |name, threads, histogram: &Histogram<u64>| {
        latencies.push(Latency::new(name, threads, histogram));
    };
    let [with_reseed, without_reseed] = after_reseed();
    add(AFTER_RESEED, 1, &with_reseed);
    add(WITHOUT_RESEED, 1, &without_reseed);
    bar.inc(1);
    let many = first_reads(FIRST_READS, PATIENCE);
    add(OF_ONE_ENGINE, THREADS, &many.shared.histogram);
    add(OF_MANY_ENGINES, THREADS, &many.alone.histogram);
    bar.inc(1);
    add(HARVESTING, 1, &harvesting());
    bar.inc(1);
    latencies
}

fn turn(kind: &Generator, threads: usize, slice: Duration, found: &mut Histogram<u64>) {
    let start = Barrier::new(threads);
    let work = || {
        let mut runner: Box<dyn Runner> = kind.runner();
        let mut counted = histogram();
        // Warms up: caches, and the thread's tap.
        runner.time_calls(PORTION, &mut counted);
        counted.reset();
        start.wait();
        let end = Instant::now() + slice;
        while Instant::now() < end {
            runner.time_calls(PORTION, &mut counted);
        }
        counted
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for thread in threads {
            let counted = thread.join().expect("a generator does not panic");
            found.add(counted).expect("all have the same bounds");
        }
    });
}

/// A read that finds another generation: it fetches keys for all depths from the node, which first takes
/// the seed from its mailbox, and fills a part of its buffer. Then the same read after a wait as long as the reseed
/// took, which shows what the machine adds: interrupts, other programs, cold caches.
fn after_reseed() -> [Histogram<u64>; 2] {
    let engine = generators::engine(Mode::PerThread);
    let mut histograms = [histogram(), histogram()];
    let mut key = [0; 32];
    engine.fill(&mut key);
    let end = Instant::now() + 2 * PATIENCE;
    while histograms[1].len() < RESEEDS && Instant::now() < end {
        let mut reseed_ns = 0;
        for (is_reseeded, histogram) in [true, false].into_iter().zip(&mut histograms) {
            if is_reseeded {
                reseed_ns = time_ns(|| {
                    // Without a source there is nothing to reseed with, but the generation moves in any case.
                    let _ = engine.reseed();
                });
            } else {
                let end = Instant::now() + Duration::from_nanos(reseed_ns);
                while Instant::now() < end {
                    std::hint::spin_loop();
                }
            }
            histogram.saturating_record(time_ns(|| engine.fill(black_box(&mut key))));
        }
    }
    histograms
}

/// A read that finds the harvest due and draws on a source, as one step in three does.
fn harvesting() -> Histogram<u64> {
    let draws = Arc::new(AtomicU64::new(0));
    let sources: [Arc<dyn Source>; 2] = [
        Arc::new(Counted(Os, draws.clone())),
        Arc::new(Counted(Cpu::default(), draws.clone())),
    ];
    let engine = Engine::builder().sources(sources).build();
    let engine = engine.expect("there was memory for others");
    let mut histogram = histogram();
    let mut key = [0; 32];
    engine.fill(&mut key);
    let end = Instant::now() + PATIENCE;
    while histogram.len() < HARVESTS && Instant::now() < end {
        for _ in 0..PORTION {
            let before = draws.load(Ordering::Relaxed);
            let ns = time_ns(|| engine.fill(black_box(&mut key)));
            if draws.load(Ordering::Relaxed) != before {
                histogram.saturating_record(ns);
            }
        }
    }
    histogram
}

/// A source whose draws are counted: the count shows which read harvested.
struct Counted<S>(S, Arc<AtomicU64>);

impl<S: Source> Source for Counted<S> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn min_entropy(&self) -> MinEntropy {
        self.0.min_entropy()
    }

    fn symbol(&self) -> Symbol {
        self.0.symbol()
    }

    fn sample(&self, destination: &mut [u8]) -> Result<usize, SourceError> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.sample(destination)
    }
}

// ---- many readers ----
// Many threads on few CPUs: all of them read for the first time after a reseed.
//
// The time of such a read without the scheduler: a read does not count if the kernel gave the CPU to another thread
// meanwhile (`ru_nivcsw` of getrusage(2)). A read that *slept* counts in full, with the time until its thread got a
// CPU back: a reader sleeps only for a lock.
//
// Interrupts stay in the figure: the longer a read, the more of them fall into it. So each thread times the same read
// on its own engine as well. No other thread takes that engine's lock, so the time of such a read is not caused by a
// queue.

/// The threads.
pub const THREADS: usize = 64;

/// The reads of a thread before it lets the next one run, so that every thread runs every few 100 us.
const READS_IN_TURN: usize = 32;

/// The time between two reseeds.
const BETWEEN_RESEEDS: Duration = Duration::from_millis(10);

/// The first reads after a reseed.
#[derive(Clone, Debug)]
pub struct Reads {
    /// The times of the reads that counted.
    pub histogram: Histogram<u64>,
    /// How many of them slept.
    pub slept: u64,
    /// How many more did not count, because the scheduler took their thread off its CPU.
    pub excluded: u64,
}

impl Default for Reads {
    fn default() -> Self {
        Self {
            histogram: histogram(),
            slept: 0,
            excluded: 0,
        }
    }
}

impl Reads {
    fn time(&mut self, engine: &Engine) {
        let mut key = [0; 32];
        let before = context_switches();
        let ns = time_ns(|| engine.fill(black_box(&mut key)));
        self.count(ns, before, context_switches());
    }

    fn count(&mut self, ns: u64, before: ContextSwitches, after: ContextSwitches) {
        let slept = after.voluntary != before.voluntary;
        if !slept && after.involuntary != before.involuntary {
            self.excluded += 1;
            return;
        }
        self.slept += u64::from(slept);
        self.histogram.saturating_record(ns);
    }

    fn merge(&mut self, other: &Self) {
        let added = self.histogram.add(&other.histogram);
        added.expect("all have the same bounds");
        self.slept += other.slept;
        self.excluded += other.excluded;
    }
}

/// The latencies that were found.
#[derive(Clone, Debug, Default)]
pub struct FirstReads {
    /// The latencies of an engine that all threads share.
    pub shared: Reads,
    /// The latencies of an engine for each thread.
    pub alone: Reads,
}

/// Has [`THREADS`] threads read from one engine, which is reseeded every 10 ms, until `calls` first reads were timed,
/// or for `patience`.
///
/// # Panics
///
/// When the system has no memory or thread for an engine.
#[must_use]
pub fn first_reads(calls: u64, patience: Duration) -> FirstReads {
    // With a harvester, so that no read harvests.
    let engine = Engine::builder().harvester(Harvester::default()).build();
    let engine = engine.expect("there is memory and a thread for an engine");
    let (stop, timed) = (AtomicBool::new(false), AtomicU64::new(0));
    let reader = || {
        let mut found = FirstReads::default();
        let own = Engine::builder().sources([]).seed(&[7; 32]).build();
        let own = own.expect("there was memory for others");
        let mut key = [0; 32];
        engine.fill(&mut key);
        own.fill(&mut key);
        let mut generation = engine.generation();
        while !stop.load(Ordering::Relaxed) {
            for _ in 0..READS_IN_TURN {
                let now = engine.generation();
                if now == generation {
                    engine.fill(black_box(&mut key));
                    continue;
                }
                generation = now;
                found.shared.time(&engine);
                // Without a source there is nothing to reseed with, but the generation moves in any case.
                let _ = own.reseed();
                found.alone.time(&own);
                timed.fetch_add(1, Ordering::Relaxed);
            }
            std::thread::yield_now();
        }
        found
    };
    let mut all = FirstReads::default();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(reader)).collect();
        let end = Instant::now() + patience;
        while timed.load(Ordering::Relaxed) < calls && Instant::now() < end {
            std::thread::sleep(BETWEEN_RESEEDS);
            let _ = engine.reseed();
        }
        stop.store(true, Ordering::Relaxed);
        for thread in threads {
            let found = thread.join().expect("a reader does not panic");
            all.shared.merge(&found.shared);
            all.alone.merge(&found.alone);
        }
    });
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_go_as_far_as_there_were_calls_to_tell() {
        let mut histogram = histogram();
        (1..=10_000).for_each(|ns| histogram.saturating_record(ns));
        let latency = Latency::new("x", 1, &histogram);
        let p99 = latency.nines_ns[1].unwrap() / 9900.0;
        assert!((0.98..1.02).contains(&p99), "{p99}");
        assert!(latency.nines_ns[2].is_some());
        assert!(latency.nines_ns[3].is_none());
    }

    #[test]
    fn every_kind_of_call_is_found() {
        let pace = Pace {
            rounds: 2,
            slice: Duration::from_millis(15),
        };
        let latencies = run(&[1, 2], pace, &ProgressBar::hidden());
        assert_eq!(latencies.len(), 2 * KINDS + 5);
        for latency in latencies
            .iter()
            .filter(|latency| latency.name != HARVESTING)
        {
            assert!(latency.calls > 0, "{}", latency.name);
            assert!(
                latency.median_ns > 0.0 && latency.median_ns <= latency.max_ns,
                "{}",
                latency.name
            );
        }
    }

    #[test]
    fn a_read_that_slept_counts_and_one_that_was_preempted_does_not() {
        let mut reads = Reads::default();
        let switches = |voluntary, involuntary| ContextSwitches {
            voluntary,
            involuntary,
        };
        for (voluntary, involuntary) in [(5, 7), (5, 8), (6, 7), (6, 8)] {
            reads.count(10, switches(5, 7), switches(voluntary, involuntary));
        }
        let counts = (reads.histogram.len(), reads.slept, reads.excluded);
        assert_eq!(counts, (3, 2, 1));
    }

    #[test]
    fn threads_find_the_new_generation_and_time_their_reads() {
        let found = first_reads(500, Duration::from_secs(20));
        for (name, reads) in [("shared", &found.shared), ("alone", &found.alone)] {
            let us = |share| reads.histogram.value_at_quantile(share) as f64 / 1000.0;
            let [p50, p99, p999] = [0.5, 0.99, 0.999].map(us);
            println!(
                "{name}: {} reads, {} slept, {} excluded: {p50:.1} {p99:.1} {p999:.1} us",
                reads.histogram.len(),
                reads.slept,
                reads.excluded
            );
        }
        for reads in [&found.shared, &found.alone] {
            assert!(reads.histogram.len() + reads.excluded > 0);
        }
    }
}
