//! Slices of inline harvests: no read does the work of several.

use super::Engine;
use super::collector_memory::Due;
use crate::error::Error;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::Arc;
use wellspring_core::source::{MinEntropy, Source, SourceError};

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

/// An engine of three such sources, and the time of its last reseed, at which a slice is due.
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
        .parts
        .collector
        .memory
        .reseeded_ms
        .load(Ordering::Relaxed);
    Ok((engine, counts, reseeded_ms))
}

fn harvest(engine: &Engine, now_ms: u64) {
    engine
        .parts
        .collector
        .schedule_inline_harvest(now_ms, now_ms);
    engine.parts.harvest_inline(Due {
        now_ms,
        clock_went_back: false,
    });
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
fn a_slice_draws_on_one_source_at_most_and_a_round_on_two() {
    let (engine, sources, now_ms) = engine().unwrap();
    for slice in 0..12 {
        let before = draws(&sources);
        harvest(&engine, now_ms);
        assert!(draws(&sources) <= before + 1, "slice {slice}");
    }
    let drawn = sources
        .each_ref()
        .map(|source| source.draws.load(Ordering::Relaxed));
    assert_eq!(drawn, [2, 2, 2], "three rounds");
    let most_bytes = |source: &Arc<Counts>| source.most_bytes.load(Ordering::Relaxed);
    assert!(sources.iter().all(|source| most_bytes(source) == 32));
}

#[test]
fn a_slice_moves_eight_events_at_most_and_the_next_reads_move_the_rest() {
    const EVENTS: u32 = 20;
    const EVENT_BYTES: u32 = 4 + 32;
    let (engine, _, now_ms) = engine().unwrap();
    let queues = engine.parts.collector.queues().len() as u64;
    let before = pooled_bytes(&engine);
    (0..EVENTS).for_each(|_| engine.mix(&[1; 32]));
    let mut last = before;
    // One look, two draws, three slices that move events, and a slice more for every eight queues.
    for slice in 0..6 + queues.div_ceil(8) {
        harvest(&engine, now_ms);
        let now = pooled_bytes(&engine);
        assert!(
            now <= last + 8 * EVENT_BYTES,
            "slice {slice}: {last}, then {now}"
        );
        last = now;
    }
    assert_eq!(last - before, (EVENTS + 2) * EVENT_BYTES);
}

#[test]
fn of_two_readers_one_makes_the_slice() {
    let (engine, _, now_ms) = engine().unwrap();
    let collector = &engine.parts.collector;
    let due = Due {
        now_ms,
        clock_went_back: false,
    };
    collector.schedule_inline_harvest(now_ms, now_ms);
    assert!(collector.take_slice(due).is_some());
    assert_eq!(collector.take_slice(due), None);
}
