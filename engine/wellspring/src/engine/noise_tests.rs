//! Floods of mixed data, turns of nodes, orders, and the steps of inline harvests, under a clock that the test sets.

use super::Engine;
use super::collector::{Due, MIXED_EVENTS};
use super::inner::Mode;
use super::nodes::Phase;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use wellspring_core::generator::Reservation;
use wellspring_core::pool::RESEED_INTERVAL_MS;
use wellspring_core::source::{MinEntropy, Source, SourceError};
use wellspring_core::topology::Topology;
use wellspring_os::os;
use wellspring_os::signals::SignalsBlocked;

/// Yields as many bytes as it is asked for, and counts them.
#[derive(Default)]
struct Yields(AtomicU64);

impl Source for Yields {
    fn name(&self) -> &'static str {
        "yields"
    }

    fn min_entropy(&self) -> MinEntropy {
        MinEntropy::NONE
    }

    fn sample(&self, destination: &mut [u8]) -> Result<usize, SourceError> {
        let bytes = destination.len() as u64;
        let before = self.0.fetch_add(bytes, Ordering::Relaxed);
        destination.fill(before as u8);
        Ok(destination.len())
    }
}

/// Who harvests.
#[derive(Clone, Copy, Debug)]
enum Harvest {
    Inline,
    ByHarvester,
}

const BOTH: [Harvest; 2] = [Harvest::Inline, Harvest::ByHarvester];

struct Subject {
    engine: Engine,
    sources: Vec<Arc<Yields>>,
    now_ms: u64,
}

impl Subject {
    /// An engine of one seed. No read harvests: only [`harvest`](Self::harvest) does.
    fn new(mode: Mode, nodes: usize, sources: usize) -> Self {
        let sources: Vec<Arc<Yields>> = (0..sources).map(|_| Arc::default()).collect();
        let given = sources
            .iter()
            .map(|source| Arc::clone(source) as Arc<dyn Source>);
        let builder = Engine::builder()
            .mode(mode)
            .sources(given.collect::<Vec<_>>());
        let topology = Topology::even(nodes, nodes).unwrap();
        let engine = builder.topology(topology).seed(&[7; 32]).build().unwrap();
        let now_ms = os::now_ms();
        engine.inner.collector.note_reseed(now_ms);
        let subject = Self {
            engine,
            sources,
            now_ms,
        };
        subject.let_reads_be();
        subject
    }

    fn let_reads_be(&self) {
        let collector = &self.engine.inner.collector;
        collector.schedule_inline_harvest(0, u64::MAX - RESEED_INTERVAL_MS);
    }

    /// 100 ms of harvests.
    fn harvest(&mut self, by: Harvest) {
        self.now_ms += RESEED_INTERVAL_MS;
        let (inner, now_ms) = (&self.engine.inner, self.now_ms);
        match by {
            Harvest::Inline => {
                for _ in 0..6 {
                    inner.collector.schedule_inline_harvest(now_ms, now_ms);
                    inner.harvest_or_leave(
                        Due {
                            now_ms,
                            clock_went_back: false,
                        },
                        false,
                    );
                }
                self.let_reads_be();
            }
            Harvest::ByHarvester => {
                inner
                    .collector
                    .round(now_ms, true, &inner.nodes, &inner.taps);
            }
        }
    }

    /// 32 bytes of a node.
    fn read_node(&self, number: usize) -> [u8; 32] {
        let (signals, mut reservation) = (SignalsBlocked::new(), Reservation::ZERO);
        let (engine, need) = (&*self.engine.inner, Phase::Ready);
        assert_eq!(engine.nodes.phase(), need, "the engine was given a seed");
        let nodes = &engine.nodes;
        let read = nodes.reserve(number, need, 32, &signals, &mut reservation);
        assert!(read.is_some());
        let mut bytes = [0; 32];
        reservation.generate(nodes.backend(), &mut bytes);
        bytes
    }

    fn yielded(&self) -> u64 {
        let sources = self.sources.iter();
        sources.map(|source| source.0.load(Ordering::Relaxed)).sum()
    }

    /// The bytes of samples that reached the pools.
    fn pooled(&self) -> u64 {
        let sources = self.engine.stats().sources;
        sources.iter().map(|source| source.bytes).sum()
    }

    fn reseeds(&self) -> Vec<u64> {
        let nodes = self.engine.stats().nodes;
        nodes.iter().map(|node| node.reseeds).collect()
    }
}

/// Four threads mix known data without a pause while `work` runs.
fn flooded<R>(engine: &Engine, work: impl FnOnce() -> R) -> R {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let stop = &stop;
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    engine.mix(&[thread; 32]);
                }
            });
        }
        // The queue was full once.
        while engine.stats().mixes_dropped == 0 {
            std::thread::yield_now();
        }
        let result = work();
        stop.store(true, Ordering::Relaxed);
        result
    })
}

#[test]
fn a_flood_of_mixed_data_takes_no_sample_away_and_neither_makes_nor_delays_a_reseed() {
    for by in BOTH {
        let run = |subject: &mut Subject, mixes: usize| {
            for _ in 0..100 {
                (0..mixes).for_each(|_| subject.engine.mix(&[0; 32]));
                subject.harvest(by);
                subject.read_node(0);
            }
            subject.engine.reseed().unwrap();
            (subject.pooled(), subject.engine.generation())
        };
        let mut quiet = Subject::new(Mode::PerThread, 1, 2);
        let expected = run(&mut quiet, 0);
        assert!(expected.1 > 3, "{by:?}: the engine reseeds");
        let mut subject = Subject::new(Mode::PerThread, 1, 2);
        let engine = subject.engine.clone();
        // The queue is full at the beginning of each round, even if the threads get no CPU.
        let found = flooded(&engine, || run(&mut subject, MIXED_EVENTS));
        assert_eq!(found, expected, "{by:?}");
        assert_eq!(subject.pooled(), subject.yielded(), "{by:?}");
        assert_eq!(engine.stats().events_dropped, 0, "{by:?}");
        assert!(engine.stats().mixes_dropped > 0, "{by:?}: it was a flood");
    }
}

#[test]
fn mixing_alone_never_makes_a_reseed() {
    for by in BOTH {
        let mut subject = Subject::new(Mode::PerThread, 1, 0);
        let generation = subject.engine.generation();
        let mut drained = 0;
        // Past the minute after which a reseed is overdue.
        for _ in 0..2000 {
            (0..MIXED_EVENTS).for_each(|number| subject.engine.mix(&[number as u8; 32]));
            let waiting = subject.engine.inner.collector.memory.mixed.len();
            subject.harvest(by);
            drained += waiting - subject.engine.inner.collector.memory.mixed.len();
            subject.read_node(0);
        }
        assert!(drained >= 2000, "{by:?}: it goes to the pools");
        assert_eq!(subject.engine.generation(), generation, "{by:?}");
        assert!(subject.engine.reseed().is_err(), "{by:?}: nor by order");
    }
}

#[test]
fn every_node_gets_new_material_in_its_turn_while_readers_are_on_one_node() {
    for by in BOTH {
        for (nodes, read) in [(4, 0), (4, 2), (8, 7)] {
            let mut subject = Subject::new(Mode::PerNode, nodes, 2);
            let first = subject.reseeds();
            let generation = subject.engine.generation();
            let reseeds = 3 * (nodes as u64 - 1);
            while subject.engine.generation() < generation + reseeds {
                subject.harvest(by);
                subject.read_node(read);
            }
            let last = subject.reseeds();
            for number in 0..nodes {
                // The seed of its first turn replaced the seed that it was initialised with.
                let fed = last[number] - first[number];
                assert!(fed >= 3, "{by:?}: node {number} of {nodes}: {fed} seeds");
            }
        }
    }
}

#[test]
fn every_node_gets_new_material_in_its_turn_while_nothing_is_read() {
    let mut subject = Subject::new(Mode::PerNode, 4, 2);
    let first = subject.reseeds();
    for _ in 0..1000 {
        subject.harvest(Harvest::ByHarvester);
    }
    let last = subject.reseeds();
    assert!(
        (0..4).all(|number| last[number] >= first[number] + 10),
        "{last:?}"
    );
}

/// Bytes of each node before and after `order` on the first of two engines of one seed. An attacker with an image of the
/// first engine's memory expects the bytes of the second.
fn expected_and_given(nodes: usize, order: impl Fn(&Engine)) -> Vec<[[u8; 32]; 2]> {
    let twins = [(); 2].map(|()| Subject::new(Mode::PerNode, nodes, 1));
    let both = |number| twins.each_ref().map(|twin| twin.read_node(number));
    for number in 0..nodes {
        let [one, other] = both(number);
        assert_eq!(one, other, "node {number}: the image is good");
    }
    order(&twins[0].engine);
    (0..nodes).map(both).collect()
}

#[test]
fn after_one_order_every_node_gives_bytes_that_depend_on_the_new_seed() {
    for nodes in [1, 4, 8] {
        let reseed = |engine: &Engine| assert!(engine.reseed().is_ok());
        let given = expected_and_given(nodes, reseed);
        for (number, [given, expected]) in given.iter().enumerate() {
            assert_ne!(given, expected, "node {number} of {nodes}");
        }
    }
}

#[test]
fn an_order_takes_in_what_was_mixed_before_it() {
    // Without sources the order fails, and only the mixed data differs.
    let mixed = |engine: &Engine| {
        engine.mix(b"additional input");
        assert!(engine.reseed().is_err());
    };
    let twins = [(); 2].map(|()| Subject::new(Mode::PerNode, 4, 0));
    mixed(&twins[0].engine);
    assert!(twins[1].engine.reseed().is_err());
    for number in 0..4 {
        assert_ne!(
            twins[0].read_node(number),
            twins[1].read_node(number),
            "node {number}"
        );
    }
}

#[test]
fn after_one_order_every_mode_every_tap_and_every_local_rng_goes_to_the_new_seed() {
    for mode in Mode::ALL {
        let subject = Subject::new(mode, 4, 1);
        let engine = &subject.engine;
        let fetches = || -> u64 { engine.stats().nodes.iter().map(|node| node.fetches).sum() };
        let mut rng = engine.rng();
        // A buffer of each is half full.
        engine.fill(&mut [0; 16]);
        rng.fill(&mut [0; 16]);
        let generation = engine.generation();
        assert_eq!(engine.reseed(), Ok(generation + 1));
        let before = fetches();
        engine.fill(&mut [0; 16]);
        assert!(fetches() > before, "{mode}: a read");
        let before = fetches();
        rng.fill(&mut [0; 16]);
        assert!(fetches() > before, "{mode}: a LocalRng");
    }
    for mode in [Mode::Canonical, Mode::Concurrent, Mode::PerNode] {
        // These read from nodes, so engines of one seed tell what would have come.
        let twins = [(); 2].map(|()| Subject::new(mode, 4, 1));
        let both = || twins.each_ref().map(|twin| twin.engine.bytes::<32>());
        let [one, other] = both();
        assert_eq!(one, other, "{mode}: the image is good");
        twins[0].engine.reseed().unwrap();
        let [one, other] = both();
        assert_ne!(one, other, "{mode}");
    }
}

mod inline {
    //! The steps of harvests on readers' calls.

    use super::super::collector::{Due, HarvestedStep};
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
