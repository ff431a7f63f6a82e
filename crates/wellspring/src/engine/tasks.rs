//! The work of the harvester's thread for an engine: it harvests, listens for notices of clones, and writes the seed
//! file.

use super::harvester::{BackgroundTask, HarvesterStatus, Harvests, Round};
use super::inner::EngineInner;
use super::phase::Phase;
use crate::clone_detection::CloneEvents;
use crate::seed_file::SAVE_INTERVAL_MS;
use std::os::fd::BorrowedFd;

/// The time between two looks at clocks and pages.
const LOOK_INTERVAL_MS: u64 = 1000;

/// The time before a failed save is repeated, and between two checks whether the engine is ready, so that the file gets
/// credit.
const RETRY_MS: u64 = 10_000;

/// The tasks of the engine of the process.
pub(super) fn of_process() -> Vec<Box<dyn BackgroundTask<EngineInner>>> {
    vec![Box::new(ListenForClones(CloneEvents::new()))]
}

/// The tasks of an engine with a seed file.
pub(super) fn with_seed_file() -> Vec<Box<dyn BackgroundTask<EngineInner>>> {
    let mut tasks = of_process();
    tasks.push(Box::new(SaveSeed { next_ms: None }));
    tasks
}

/// Listens for notices of clones.
struct ListenForClones(CloneEvents);

impl BackgroundTask<EngineInner> for ListenForClones {
    fn wakes(&self) -> Vec<BorrowedFd<'_>> {
        self.0.wakes().collect()
    }

    fn run(&mut self, engine: &EngineInner, now_ms: u64) -> u64 {
        // One divergence answers all waiting notices.
        if std::iter::from_fn(|| self.0.next_event()).count() > 0 {
            engine.diverge();
        }
        engine.look_for_clones(now_ms, false);
        now_ms + LOOK_INTERVAL_MS
    }
}

/// Writes the seed file every ten minutes; and once when the engine is ready and the present file has no credit.
struct SaveSeed {
    next_ms: Option<u64>,
}

impl BackgroundTask<EngineInner> for SaveSeed {
    fn run(&mut self, engine: &EngineInner, now_ms: u64) -> u64 {
        let Some(seed_file) = &engine.seed_file else {
            return u64::MAX;
        };
        let store = &seed_file.store;
        // The file was written a moment ago, when the engine was built.
        let next_ms = *self.next_ms.get_or_insert(now_ms + SAVE_INTERVAL_MS);
        let is_first = engine.nodes.phase() == Phase::Ready && !store.has_credit();
        if is_first || now_ms >= next_ms {
            let pause_ms = match engine.save_seed() {
                Ok(()) => SAVE_INTERVAL_MS,
                Err(_) => RETRY_MS,
            };
            self.next_ms = Some(now_ms + pause_ms);
            return now_ms + pause_ms;
        }
        if store.has_credit() {
            next_ms
        } else {
            next_ms.min(now_ms + RETRY_MS)
        }
    }
}

impl Harvests for EngineInner {
    fn status(&self) -> Option<&HarvesterStatus> {
        self.harvester.get().map(|status| &**status)
    }

    fn leave_to_readers_from(&self, now_ms: u64, from_ms: u64) {
        self.collector.schedule_inline_harvest(now_ms, from_ms);
    }

    fn round(&self, now_ms: u64, draws: bool) -> Round {
        self.collector.round(now_ms, draws, self.seed_target())
    }

    fn slow_interval_ms(&self, source: usize) -> Option<u64> {
        self.collector.sources().get(source)?.slow_interval_ms()
    }

    fn draw_slowly(&self, source: usize) {
        self.collector.draw_slowly(source);
    }

    fn is_left_to_harvester(&self) -> bool {
        self.collector.is_left_to_harvester(&self.nodes)
    }

    fn source_count(&self) -> usize {
        self.collector.sources().len()
    }

    fn clock_went_back(&self, now_ms: u64) {
        self.look_for_clones(now_ms, true);
    }
}
