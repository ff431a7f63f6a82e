//! Many threads on few CPUs: all of them read for the first time after a reseed.
//!
//! The time of such a read without the scheduler: a read does not count if the kernel gave the CPU to another thread
//! meanwhile (`ru_nivcsw` of getrusage(2)). A read that *slept* counts in full, with the time until its thread got a
//! CPU back: a reader sleeps only for a lock.
//!
//! Interrupts stay in the figure: the longer a read, the more of them fall into it. So each thread times the same read
//! on its own engine as well. No other thread takes that engine's lock, so the time of such a read is not caused by a
//! queue.

use crate::generator::time_ns;
use crate::statistics::histogram;
use hdrhistogram::Histogram;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use wellspring::{Engine, Harvester};
use wellspring_os::os::{ContextSwitches, context_switches};

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
pub fn measure(calls: u64, patience: Duration) -> FirstReads {
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
        let found = measure(500, Duration::from_secs(20));
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
