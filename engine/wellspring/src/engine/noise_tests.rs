//! Floods of mixed data, turns of nodes and orders, under a clock that the test sets.

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
                inner.collector.round(now_ms, true, inner.seed_target());
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
