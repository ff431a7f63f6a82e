//! Steps of inline harvests: no read does the work of several.

use super::Engine;
use super::collector_memory::Due;
use super::inline_harvest::HarvestedStep;
use crate::error::Error;
use core::cell::RefCell;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::Arc;
use wellspring_core::source::{MinEntropy, Source, SourceError};
use wellspring_os::os;

/// Counts its draws and remembers the most that one asked for.
#[derive(Default)]
struct Counts {
    draws: AtomicU64,
    most_bytes: AtomicUsize,
}

impl Source for Counts {
    fn name(&self) -> &'static str {
        "counts"
    }

    fn min_entropy(&self) -> MinEntropy {
        MinEntropy::NONE
    }

    fn sample(&self, destination: &mut [u8]) -> Result<usize, SourceError> {
        self.draws.fetch_add(1, Ordering::Relaxed);
        self.most_bytes
            .fetch_max(destination.len(), Ordering::Relaxed);
        destination.fill(self.draws.load(Ordering::Relaxed) as u8);
        Ok(destination.len())
    }
}

/// An engine of three such sources, and the time of its last reseed, at which a step is due.
fn engine() -> Result<(Engine, [Arc<Counts>; 3], u64), Error> {
    let counts: [Arc<Counts>; 3] = core::array::from_fn(|_| Arc::default());
    let sources = counts.clone().map(|counts| counts as Arc<dyn Source>);
    let engine = Engine::builder().sources(sources).seed(&[7; 32]).build()?;
    // The first read reseeds.
    engine.fill(&mut [0; 1]);
    for counts in &counts {
        counts.draws.store(0, Ordering::Relaxed);
        counts.most_bytes.store(0, Ordering::Relaxed);
    }
    let reseeded_ms = engine
        .inner
        .collector
        .memory
        .reseeded_ms
        .load(Ordering::Relaxed);
    Ok((engine, counts, reseeded_ms))
}

fn harvest(engine: &Engine, now_ms: u64) {
    engine
        .inner
        .collector
        .schedule_inline_harvest(now_ms, now_ms);
    engine.inner.harvest_or_leave(
        Due {
            now_ms,
            clock_went_back: false,
        },
        false,
    );
}

fn draws(sources: &[Arc<Counts>; 3]) -> u64 {
    sources
        .iter()
        .map(|source| source.draws.load(Ordering::Relaxed))
        .sum()
}

/// The bytes in all pools.
fn pooled_bytes(engine: &Engine) -> u32 {
    engine.stats().pools.iter().map(|pool| pool.bytes).sum()
}

#[test]
fn a_step_draws_on_one_source_at_most_and_a_round_on_two() {
    let (engine, sources, now_ms) = engine().unwrap();
    for step in 0..18 {
        let before = draws(&sources);
        harvest(&engine, now_ms);
        assert!(draws(&sources) <= before + 1, "step {step}");
    }
    let drawn = sources
        .each_ref()
        .map(|source| source.draws.load(Ordering::Relaxed));
    assert_eq!(drawn, [2, 2, 2], "three rounds");
    let most_bytes = |source: &Arc<Counts>| source.most_bytes.load(Ordering::Relaxed);
    assert!(sources.iter().all(|source| most_bytes(source) == 32));
}

#[test]
fn a_round_takes_four_events_of_mixed_data_and_the_next_rounds_the_rest() {
    const EVENTS: usize = 10;
    let (engine, _, now_ms) = engine().unwrap();
    let waiting = || engine.inner.collector.memory.mixed.len();
    (0..EVENTS).for_each(|_| engine.mix(&[1; 32]));
    let pooled = pooled_bytes(&engine);
    let left = [(); 3].map(|()| {
        (0..6).for_each(|_| harvest(&engine, now_ms));
        waiting()
    });
    assert_eq!(left, [6, 2, 0]);
    let samples = 3 * 2 * (4 + 32);
    assert_eq!(
        pooled_bytes(&engine) - pooled,
        samples,
        "only samples count"
    );
}

/// The bytes of the sources that passed their tests and are on their way to the pools.
fn admitted_bytes(engine: &Engine) -> u64 {
    engine.stats().sources.iter().map(|one| one.bytes).sum()
}

#[test]
fn a_step_takes_a_sample_or_admits_it_and_not_both() {
    let (engine, sources, now_ms) = engine().unwrap();
    let admitted = admitted_bytes(&engine);
    let done = [(); 6].map(|()| {
        harvest(&engine, now_ms);
        (draws(&sources), admitted_bytes(&engine) - admitted)
    });
    let expected = [(0, 0), (1, 0), (1, 32), (2, 32), (2, 64), (2, 64)];
    assert_eq!(done, expected);
}

#[test]
fn a_reseed_by_order_admits_the_sample_that_waits() {
    let (engine, sources, now_ms) = engine().unwrap();
    // A look, and a sample, which waits.
    (0..2).for_each(|_| harvest(&engine, now_ms));
    assert_eq!(draws(&sources), 1);
    let admitted = admitted_bytes(&engine);
    engine.reseed().unwrap();
    let of_reseed = 256 * (draws(&sources) - 1);
    assert_eq!(admitted_bytes(&engine) - admitted, of_reseed + 32);
    // The round goes on: nothing to admit, and then the second sample.
    let (drawn, admitted) = (draws(&sources), admitted_bytes(&engine));
    let done = [(); 3].map(|()| {
        harvest(&engine, now_ms);
        (draws(&sources) - drawn, admitted_bytes(&engine) - admitted)
    });
    assert_eq!(done, [(0, 0), (1, 0), (1, 32)]);
}

/// The number of steps so far.
fn steps(engine: &Engine) -> u64 {
    let memory = &engine.inner.collector.memory;
    memory.inline_steps.load(Ordering::Relaxed)
}

/// Lets a step be due from now on, and makes two reads, the first after `prepare`. Returns how many steps each made.
///
/// Again, if time enough passed that a read with other work makes the step too.
fn steps_of_two_reads(
    engine: &Engine,
    mut prepare: impl FnMut(),
    mut read: impl FnMut(),
) -> [u64; 2] {
    let collector = &engine.inner.collector;
    loop {
        prepare();
        let now_ms = os::now_ms();
        collector.schedule_inline_harvest(now_ms, now_ms);
        let before = steps(engine);
        read();
        let after_one = steps(engine);
        let due = Due {
            now_ms: os::now_ms(),
            clock_went_back: false,
        };
        let is_undisturbed = after_one != before || collector.may_leave_step(due);
        read();
        if is_undisturbed && os::now_ms() == now_ms {
            return [after_one - before, steps(engine) - after_one];
        }
    }
}

#[test]
fn a_read_that_fetches_a_key_or_fills_a_buffer_leaves_the_step_to_the_next() {
    let (engine, ..) = engine().unwrap();
    let collector = &engine.inner.collector;
    let not_due = || collector.schedule_inline_harvest(os::now_ms(), os::now_ms() + 3_600_000);
    let mut byte = [0; 1];
    let announce = || {
        not_due();
        engine.fill(&mut [0; 1]);
        engine.inner.taps.announce();
    };
    let found = steps_of_two_reads(&engine, announce, || engine.fill(&mut byte));
    assert_eq!(found, [0, 1], "a key");
    let fill = || {
        not_due();
        engine.inner.taps.announce();
        // Of 512 bytes that follow a key, one is left.
        (0..2).for_each(|_| engine.fill(&mut [0; 1]));
        engine.fill(&mut [0; 509]);
    };
    let mut bytes = [0; 2];
    let found = steps_of_two_reads(&engine, fill, || engine.fill(&mut bytes));
    assert_eq!(found, [0, 1], "a buffer");
    let rng = RefCell::new(engine.rng());
    let announce = || {
        not_due();
        rng.borrow_mut().fill(&mut [0; 1]);
        engine.inner.taps.announce();
    };
    let found = steps_of_two_reads(&engine, announce, || rng.borrow_mut().fill(&mut byte));
    assert_eq!(found, [0, 1], "a key of a LocalRng");
}

#[test]
fn the_first_read_of_a_thread_makes_the_step_that_is_due() {
    let (engine, _, now_ms) = engine().unwrap();
    let collector = &engine.inner.collector;
    for _ in 0..10 {
        let before = steps(&engine);
        collector.schedule_inline_harvest(now_ms, now_ms);
        std::thread::scope(|scope| {
            scope.spawn(|| engine.fill(&mut [0; 1]));
        });
        assert_eq!(steps(&engine), before + 1);
    }
}

#[test]
fn a_step_is_left_to_the_next_read_for_four_milliseconds() {
    let (engine, _, now_ms) = engine().unwrap();
    let collector = &engine.inner.collector;
    let leaves = |after_ms: u64| {
        collector.schedule_inline_harvest(now_ms, now_ms);
        let before = steps(&engine);
        let due = Due {
            now_ms: now_ms + after_ms,
            clock_went_back: false,
        };
        let leaves = engine.inner.harvest_or_leave(due, true) == HarvestedStep::LeftToNextRead;
        assert_eq!(leaves, steps(&engine) == before);
        leaves
    };
    assert!(leaves(0));
    assert!(leaves(3));
    assert!(!leaves(4));
    collector.schedule_inline_harvest(now_ms, now_ms);
    let due = Due {
        now_ms,
        clock_went_back: true,
    };
    let step = engine.inner.harvest_or_leave(due, true);
    assert_eq!(step, HarvestedStep::Made, "the clock went back");
}

#[test]
fn of_two_readers_one_makes_the_step() {
    let (engine, _, now_ms) = engine().unwrap();
    let collector = &engine.inner.collector;
    let due = Due {
        now_ms,
        clock_went_back: false,
    };
    collector.schedule_inline_harvest(now_ms, now_ms);
    assert!(collector.take_step(due).is_some());
    assert_eq!(collector.take_step(due), None);
}
