//! The cost of single calls: the distribution, not the mean.

use crate::clock::Clock;
use crate::contender::{Contender, Family, Runner};
use crate::herd;
use crate::histogram::Histogram;
use crate::progress::Progress;
use crate::subjects::{self, Nothing, SystemCall, name};
use crate::throughput::Pace;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};
use wellspring::{Engine, MinEntropy, Mode, Source, SourceError, Symbol};
use wellspring_sources::{Cpu, Os};

/// The loop that reads nothing, for comparison: its median is the cost of the clock, and its slow calls are caused by
/// interrupts, the hypervisor and other programs.
pub const EMPTY: &str = "empty loop";
/// Reads of a thread that find a new generation.
pub const AFTER_RESEED: &str = "first read after a reseed";
/// The same loop without the reseed: these reads alternate with those after a reseed, and take bytes that are ready.
pub const WITHOUT_RESEED: &str = "the same loop without a reseed";
/// The same, of many threads at once on one engine.
pub const OF_A_HERD: &str = "first read after a reseed, 64 threads";
/// The same, of many threads at once, each with its own engine: what the machine adds without a queue.
pub const OF_NO_HERD: &str = "first read after a reseed, 64 engines";
/// Reads that drew on a source.
pub const HARVESTING: &str = "a read that harvests";

/// Reads after a reseed, as many as a p99.9 takes: a second on a quiet machine.
const RESEEDS: u64 = 11_000;
/// Reads of a herd after a reseed, as many as a p99.9 takes: two seconds on a quiet machine.
const HERD_READS: u64 = 12_000;
/// Reads that harvest: two seconds on a quiet machine.
const HARVESTS: u64 = 40;
/// The most time for either, so that a busy machine does not delay the run without end.
const PATIENCE: Duration = Duration::from_secs(3);

/// Calls timed between two looks at the time.
const PORTION: u64 = 2000;

/// The distribution of one kind of call.
#[derive(Clone, Debug)]
pub struct Latency {
    /// The contender's name.
    pub name: String,
    /// On how many threads at once.
    pub threads: usize,
    /// How many calls were timed.
    pub calls: u64,
    /// Nanoseconds by nines: at place `n` the latency that a share of 10^(-n/4) of the calls exceeds. As far
    /// as there were ten calls beyond.
    pub by_quarter_nines: Vec<f64>,
    /// The longest, in nanoseconds.
    pub max_ns: f64,
}

impl Latency {
    fn new(name: &str, threads: usize, histogram: &Histogram, clock: &Clock) -> Self {
        let calls = histogram.total();
        let exceeding = |place: usize| 10_f64.powf(-(place as f64) / 4.0);
        let places = (1..=24).take_while(|&place| exceeding(place) * calls as f64 >= 10.0);
        let at = |place| clock.ns(histogram.quantile(1.0 - exceeding(place)));
        let median = clock.ns(histogram.quantile(0.5));
        Self {
            name: name.into(),
            threads,
            calls,
            // Place 0 would be the shortest call; the middle one says more.
            by_quarter_nines: std::iter::once(median).chain(places.map(at)).collect(),
            max_ns: clock.ns(histogram.max()),
        }
    }

    /// The median, in nanoseconds.
    #[must_use]
    pub fn median_ns(&self) -> f64 {
        self.by_quarter_nines[0]
    }

    /// The latency that all but 10^-`nines` of the calls keep within; `None` where too few were timed.
    #[must_use]
    pub fn nines_ns(&self, nines: usize) -> Option<f64> {
        self.by_quarter_nines.get(4 * nines).copied()
    }
}

/// The contenders of this part.
fn contenders() -> Vec<Contender> {
    let mut contenders: Vec<Contender> = Mode::ALL
        .into_iter()
        .map(|mode| subjects::mode(mode, &[]))
        .collect();
    contenders.push(Contender::new(name::GETRANDOM, Family::System, &[], || {
        SystemCall
    }));
    contenders.push(Contender::new(EMPTY, Family::Limit, &[], || Nothing));
    contenders
}

/// How many steps [`run`] will take.
pub(crate) fn steps(threads: &[usize], rounds: usize) -> usize {
    6 * threads.len() * rounds + 5
}

/// Times 32-byte reads on each number of threads, all taking turns, and then the reads that are rare.
pub(crate) fn run(threads: &[usize], pace: Pace, progress: &mut dyn Progress) -> Vec<Latency> {
    let clock = Clock::calibrate();
    let contenders = contenders();
    let mut cases: Vec<(&Contender, usize, Histogram)> = threads
        .iter()
        .flat_map(|&threads| {
            contenders
                .iter()
                .map(move |contender| (contender, threads, Histogram::new()))
        })
        .collect();
    for _ in 0..pace.rounds {
        for (contender, threads, histogram) in &mut cases {
            turn(contender, *threads, pace.slice, &clock, histogram);
            progress.step(&contender.name);
        }
    }
    let summary = |(contender, threads, histogram): &(&Contender, usize, Histogram)| {
        Latency::new(&contender.name, *threads, histogram, &clock)
    };
    let mut latencies: Vec<Latency> = cases.iter().map(summary).collect();
    let herd = herd::measure(&clock, HERD_READS, PATIENCE);
    let [with_reseed, without_reseed] = after_reseed(&clock);
    for (name, threads, rare) in [
        (AFTER_RESEED, 1, with_reseed),
        (WITHOUT_RESEED, 1, without_reseed),
        (OF_A_HERD, herd::THREADS, herd.shared.histogram),
        (OF_NO_HERD, herd::THREADS, herd.alone.histogram),
        (HARVESTING, 1, harvesting(&clock)),
    ] {
        latencies.push(Latency::new(name, threads, &rare, &clock));
        progress.step(name);
    }
    latencies
}

fn turn(
    contender: &Contender,
    threads: usize,
    slice: Duration,
    clock: &Clock,
    histogram: &mut Histogram,
) {
    let start = Barrier::new(threads);
    let work = || {
        let mut runner: Box<dyn Runner> = contender.runner();
        let (mut warm_up, mut counted) = (Histogram::new(), Histogram::new());
        runner.time_calls(clock, PORTION, &mut warm_up);
        start.wait();
        let end = Instant::now() + slice;
        while Instant::now() < end {
            runner.time_calls(clock, PORTION, &mut counted);
        }
        counted
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for thread in threads {
            histogram.merge(&thread.join().expect("a contender does not panic"));
        }
    });
}

/// A read that finds another generation: it fetches keys for all depths from the node, which first takes
/// the seed from its mailbox, and fills a part of its buffer. Then the same read after a wait as long as the reseed
/// took, which shows what the machine adds: interrupts, other programs, cold caches.
fn after_reseed(clock: &Clock) -> [Histogram; 2] {
    let engine = subjects::engine(Mode::PerThread);
    let mut histograms = [Histogram::new(), Histogram::new()];
    let mut key = [0; 32];
    engine.fill(&mut key);
    let end = Instant::now() + 2 * PATIENCE;
    while histograms[1].total() < RESEEDS && Instant::now() < end {
        let mut reseed_ticks = 0;
        for (is_reseeded, histogram) in [true, false].into_iter().zip(&mut histograms) {
            let before = clock.ticks();
            if is_reseeded {
                // Without a source there is nothing to reseed with, but the generation moves in any case.
                let _ = engine.reseed();
                reseed_ticks = clock.ticks().wrapping_sub(before);
            } else {
                while clock.ticks().wrapping_sub(before) < reseed_ticks {
                    std::hint::spin_loop();
                }
            }
            let start = clock.ticks();
            engine.fill(black_box(&mut key));
            histogram.add(clock.ticks().wrapping_sub(start));
        }
    }
    histograms
}

/// A read that finds the harvest due and draws on a source, which happens at most twenty times a second.
fn harvesting(clock: &Clock) -> Histogram {
    let draws = Arc::new(AtomicU64::new(0));
    let sources: [Arc<dyn Source>; 2] = [
        Arc::new(Counted(Os, draws.clone())),
        Arc::new(Counted(Cpu::default(), draws.clone())),
    ];
    let engine = Engine::builder()
        .sources(sources)
        .build()
        .expect("there was memory for others");
    let mut histogram = Histogram::new();
    let mut key = [0; 32];
    engine.fill(&mut key);
    let end = Instant::now() + PATIENCE;
    while histogram.total() < HARVESTS && Instant::now() < end {
        for _ in 0..PORTION {
            let before = draws.load(Ordering::Relaxed);
            let start = clock.ticks();
            engine.fill(black_box(&mut key));
            let ticks = clock.ticks().wrapping_sub(start);
            if draws.load(Ordering::Relaxed) != before {
                histogram.add(ticks);
            }
        }
    }
    histogram
}

/// A source whose draws are counted: that tells which read harvested.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_go_as_far_as_there_were_calls_to_tell() {
        let clock = Clock::calibrate();
        let mut histogram = Histogram::new();
        (1..=10_000).for_each(|ticks| histogram.add(ticks));
        let latency = Latency::new("x", 1, &histogram, &clock);
        let p99 = latency.nines_ns(2).unwrap() / clock.ns(9900);
        assert!((0.98..1.02).contains(&p99), "{p99}");
        assert!(latency.nines_ns(3).is_some());
        assert!(latency.nines_ns(4).is_none());
    }

    #[test]
    fn every_kind_of_call_is_found() {
        let pace = Pace {
            rounds: 2,
            slice: Duration::from_millis(15),
        };
        let latencies = run(&[1, 2], pace, &mut ());
        assert_eq!(latencies.len(), 17);
        for latency in latencies
            .iter()
            .filter(|latency| latency.name != HARVESTING)
        {
            assert!(latency.calls > 0, "{}", latency.name);
            assert!(
                latency.median_ns() > 0.0 && latency.median_ns() <= latency.max_ns,
                "{}",
                latency.name
            );
        }
    }
}
