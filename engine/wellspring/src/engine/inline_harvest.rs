//! Harvests on readers' calls, where no harvester makes them.
//!
//! A round of such harvests takes 100 ms and is cut into steps of about a microsecond. A read makes one of them:
//!
//! ```text
//! look     for signs of a copy of the machine
//! sample   take a sample for an event from a fast source
//! admit    test it, and hash it into a pool
//! sample   the same with the next fast source
//! admit
//! deliver  at most 4 events of mixed data to the pools; and a seed if one is due
//! ```
//!
//! The reader that sets the time of the next step makes the step that is due. The others go on. If no reseed happened
//! for a minute, or the clock went back, one reader makes a whole harvest: it draws 8 times on all fast sources, and
//! reseeds.
//!
//! A read that fetches a key or fills a buffer leaves the step to the next read of its thread, which has ready bytes: so
//! no read makes both. It does so for 4 ms. After that, any read off the hot path makes the step.

use super::collector::{Collector, Due, ROUND_DRAWS, SeedTarget};
use super::inner::EngineInner;
use super::samples::SEEDING_SAMPLE_BYTES;
use core::sync::atomic::Ordering;
use wellspring_core::pool::RESEED_INTERVAL_MS;
use wellspring_os::signals::SignalsBlocked;
use wellspring_os::{memory, os};

/// A part of a harvest, for one read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HarvestStep {
    Look,
    Sample,
    Admit,
    Deliver,
    Whole,
}

/// The fate of the step that was due when a read began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HarvestedStep {
    /// No step was due, or another thread has made it.
    None,
    /// The read made it, and is late.
    Made,
    /// The next read of this thread has to make it, and must not take the hot path.
    LeftToNextRead,
}

/// The steps of a round, in their order.
const ROUND: [HarvestStep; 6] = [
    HarvestStep::Look,
    HarvestStep::Sample,
    HarvestStep::Admit,
    HarvestStep::Sample,
    HarvestStep::Admit,
    HarvestStep::Deliver,
];

/// The time from one step to the next.
const STEP_INTERVAL_MS: u64 = RESEED_INTERVAL_MS / ROUND.len() as u64;

/// How long a step that is due is left to a read with ready bytes. The clock shows steps of this length.
const LEAVE_MS: u64 = 4;

/// The most events of mixed data that a step moves to the pools: SHA-256 takes about 200 ns for each, which goes to its
/// pool and to the hash for the next order.
const STEP_EVENTS: usize = 4;

impl EngineInner {
    /// Makes the step of a harvest that is due, or leaves it to the next read. `was_current`: the last read made its tap
    /// current. If so, a read off the hot path fetches a key or fills a buffer.
    #[inline]
    pub(super) fn harvest_if_due(&self, was_current: bool) -> HarvestedStep {
        match self.collector.inline_harvest_due() {
            Some(due) => self.harvest_or_leave(due, was_current),
            None => HarvestedStep::None,
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn harvest_or_leave(&self, due: Due, was_current: bool) -> HarvestedStep {
        if was_current && self.collector.may_leave_step(due) {
            return HarvestedStep::LeftToNextRead;
        }
        let Some(step) = self.collector.take_step(due) else {
            return HarvestedStep::None;
        };
        if matches!(step, HarvestStep::Look | HarvestStep::Whole) {
            self.look_for_clones(due.now_ms, due.clock_went_back);
        }
        // A look needs no lock, so signals need not be blocked for it, which takes two system calls.
        if step != HarvestStep::Look
            && let Some(signals) = SignalsBlocked::try_first()
        {
            let target = self.seed_target();
            self.collector
                .harvest_step(step, due.now_ms, target, &signals);
            memory::erase_below();
        }
        HarvestedStep::Made
    }
}

impl Collector {
    /// Whether a reader has to harvest inline now. Not while a harvester keeps its pace.
    #[inline]
    pub(super) fn inline_harvest_due(&self) -> Option<Due> {
        let now_ms = os::now_ms();
        let clock_went_back = now_ms < self.memory.scheduled_ms.load(Ordering::Relaxed);
        let is_due = now_ms >= self.memory.inline_from_ms.load(Ordering::Relaxed);
        (is_due || clock_went_back).then_some(Due {
            now_ms,
            clock_went_back,
        })
    }

    /// No reader harvests inline before `from_ms`.
    pub(super) fn schedule_inline_harvest(&self, now_ms: u64, from_ms: u64) {
        self.memory.inline_from_ms.store(from_ms, Ordering::Relaxed);
        self.memory.scheduled_ms.store(now_ms, Ordering::Relaxed);
    }

    /// Whether a read that has other work may leave the step that is due to the next one.
    pub(super) fn may_leave_step(&self, due: Due) -> bool {
        let from_ms = self.memory.inline_from_ms.load(Ordering::Relaxed);
        !due.clock_went_back && due.now_ms < from_ms.saturating_add(LEAVE_MS)
    }

    /// Takes the step that is due, and schedules the next. Returns `None` if another thread has taken it.
    pub(super) fn take_step(&self, due: Due) -> Option<HarvestStep> {
        let (memory, relaxed) = (&self.memory, Ordering::Relaxed);
        let from_ms = memory.inline_from_ms.load(relaxed);
        if due.now_ms < from_ms && !due.clock_went_back {
            return None;
        }
        let next_ms = due.now_ms + STEP_INTERVAL_MS;
        let exchanged = memory
            .inline_from_ms
            .compare_exchange(from_ms, next_ms, relaxed, relaxed);
        exchanged.ok()?;
        memory.scheduled_ms.store(due.now_ms, relaxed);
        if due.clock_went_back || self.is_stale(due.now_ms) {
            return Some(HarvestStep::Whole);
        }
        let number = memory.inline_steps.fetch_add(1, relaxed);
        Some(ROUND[number as usize % ROUND.len()])
    }

    /// Makes a step, unless another thread has the lock of the pools. The caller looks for clones.
    pub(super) fn harvest_step(
        &self,
        step: HarvestStep,
        now_ms: u64,
        target: SeedTarget<'_>,
        signals: &SignalsBlocked,
    ) {
        let Some(mut state) = self.memory.state.try_lock(signals) else {
            return;
        };
        let samples = self.samples();
        match step {
            HarvestStep::Look => {}
            HarvestStep::Sample => {
                // A sample that still waits, because the lock was busy when it was to be admitted, comes first.
                if !samples.admit_waiting(&mut state) {
                    samples.sample_next_source(&mut state);
                }
            }
            HarvestStep::Admit => {
                samples.admit_waiting(&mut state);
            }
            HarvestStep::Deliver => {
                self.take_mixed(&mut state, STEP_EVENTS);
                self.deliver(&mut state, now_ms, target, signals);
            }
            HarvestStep::Whole => {
                self.note_reseed(now_ms);
                self.lock_pages_in_child(target.nodes);
                for _ in 0..ROUND_DRAWS {
                    samples.draw_on_fast_sources(&mut state, SEEDING_SAMPLE_BYTES);
                }
                self.take_mixed(&mut state, STEP_EVENTS);
                self.deliver(&mut state, now_ms, target, signals);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Engine, Mode};
    use crate::error::Error;
    use core::cell::RefCell;
    use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
    use std::sync::Arc;
    use wellspring_core::source::{MinEntropy, Source, SourceError};
    use wellspring_os::os;

    /// Counts its draws and remembers the longest draw asked for.
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
            // One byte is left of the 512 that follow a key.
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

    /// Before the copy was made, the clock showed ten years more, and the engine harvested then.
    fn let_the_clock_go_back(engine: &Engine) {
        let then_ms = os::now_ms() + 10 * 365 * 24 * 3600 * 1000;
        engine.inner.harvest_or_leave(
            Due {
                now_ms: then_ms,
                clock_went_back: false,
            },
            false,
        );
    }

    /// Too long for a buffer.
    fn read(engine: &Engine) -> Vec<u8> {
        let mut bytes = vec![0; 10_000];
        engine.fill(&mut bytes);
        bytes
    }

    #[test]
    fn a_clock_that_goes_back_makes_a_harvest_due_at_once() {
        let engine = Engine::builder().build().unwrap();
        read(&engine);
        let collector = &engine.inner.collector;
        let far_ms = os::now_ms() + 3_600_000;
        collector.schedule_inline_harvest(os::now_ms(), far_ms);
        assert!(collector.inline_harvest_due().is_none(), "the time runs on");
        let_the_clock_go_back(&engine);
        let due = collector.inline_harvest_due().expect("it went back");
        assert!(due.clock_went_back);
        read(&engine);
        let due = collector.inline_harvest_due();
        assert!(due.is_none_or(|due| !due.clock_went_back), "once");
    }

    #[test]
    fn when_the_clock_goes_back_the_next_slow_read_diverges_from_the_copy() {
        for mode in Mode::ALL {
            let twins = [(); 2].map(|()| {
                let builder = Engine::builder().mode(mode).sources([]).seed(&[42; 32]);
                builder.build().unwrap()
            });
            let both = || twins.each_ref().map(read);
            let [one, other] = both();
            assert_eq!(one, other, "{mode}: twins");
            let generation = twins[0].generation();
            let_the_clock_go_back(&twins[0]);
            let [one, other] = both();
            assert_ne!(one, other, "{mode}");
            assert!(twins[0].generation() > generation, "{mode}");
            assert_eq!(
                twins[1].generation(),
                generation,
                "{mode}: the other's did not"
            );
        }
    }

    #[test]
    fn when_the_clock_goes_back_an_engine_with_sources_reseeds() {
        for mode in Mode::ALL {
            let engine = Engine::builder().mode(mode).build().unwrap();
            read(&engine);
            let_the_clock_go_back(&engine);
            let before = engine.stats();
            read(&engine);
            // The seed of the harvest ten years later, the divergence, and a seed of now.
            let after = engine.stats();
            assert_eq!(
                after.nodes[0].reseeds,
                before.nodes[0].reseeds + 3,
                "{mode}"
            );
        }
    }
}
