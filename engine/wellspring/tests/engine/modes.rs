//! The four modes against the generator that they are made of, and the states of an engine.

use crate::common::repeats::{assert_no_value_twice, assert_nothing_in_common};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use wellspring::{Engine, Error, MinEntropy, Mode, Phase, Prf, Source, SourceError, SourceHealth};
use wellspring_core::Backend;
use wellspring_core::generator::{Generator, Reservation};

const SEED: [u8; 32] = *b"a seed of thirty-two octets long";

fn seeded(mode: Mode, prf: Prf) -> Engine {
    let builder = Engine::builder().mode(mode).prf(prf).sources([]);
    builder.seed(&SEED).build().unwrap()
}

/// Keeps this thread on a CPU. `false`: there is no such CPU.
fn pin(cpu: usize) -> bool {
    // SAFETY: all zeros is an empty set, and the pointer is to it.
    unsafe {
        let mut cpus: libc::cpu_set_t = core::mem::zeroed();
        libc::CPU_SET(cpu, &mut cpus);
        libc::sched_setaffinity(0, size_of_val(&cpus), &raw const cpus) == 0
    }
}

/// Yields numbers that never come again, claims what it is told to, and is busy at first.
struct Counter {
    claim: MinEntropy,
    calls: AtomicUsize,
    busy_calls: usize,
    stuck: bool,
}

impl Counter {
    fn claiming(claim: MinEntropy) -> Self {
        Self {
            claim,
            calls: AtomicUsize::new(0),
            busy_calls: 0,
            stuck: false,
        }
    }
}

impl Source for Counter {
    fn name(&self) -> &'static str {
        if self.stuck { "stuck" } else { "counter" }
    }

    fn min_entropy(&self) -> MinEntropy {
        self.claim
    }

    fn sample(&self, destination: &mut [u8]) -> Result<usize, SourceError> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        if call < self.busy_calls {
            return Err(SourceError::Busy);
        }
        for (index, byte) in destination.iter_mut().enumerate() {
            *byte = if self.stuck {
                7
            } else {
                (call * 31 + index * 7) as u8
            };
        }
        Ok(destination.len())
    }
}

#[test]
fn canonical_and_concurrent_reads_are_fortunas() {
    for prf in [Prf::Aes256, Prf::ChaCha20] {
        let backend = Backend::detect(prf);
        let mut canonical = Generator::ZERO;
        let mut concurrent = Generator::ZERO;
        canonical.reseed(&SEED);
        concurrent.reseed(&SEED);
        let engines = [Mode::Canonical, Mode::Concurrent].map(|mode| seeded(mode, prf));
        for length in [
            1,
            16,
            32,
            33,
            4096,
            4097,
            10_000,
            1 << 20,
            (1 << 20) + 1,
            3 << 20,
        ] {
            let (mut drawn, mut expected) = (vec![0; length], vec![0; length]);
            engines[0].fill(&mut drawn);
            let mut rest = &mut expected[..];
            while !rest.is_empty() {
                rest = canonical.read_chunk(backend, rest);
            }
            assert!(drawn == expected, "canonical, {prf:?}, {length} bytes");
            engines[1].fill(&mut drawn);
            let mut reservation = Reservation::ZERO;
            concurrent.reserve(backend, length, &mut reservation);
            reservation.generate(backend, &mut expected);
            assert!(drawn == expected, "concurrent, {prf:?}, {length} bytes");
        }
    }
}

#[test]
fn nodes_of_one_seed_and_taps_of_one_engine_never_give_the_same() {
    for mode in [Mode::PerNode, Mode::PerThread] {
        let builder = Engine::builder().mode(mode).sources([]).seed(&SEED);
        let engine = builder.topology("nodes=2,cpus=2".parse().unwrap());
        let engine = engine.build().unwrap();
        let draw_on = |cpu| {
            let engine = &engine;
            move || {
                let is_pinned = pin(cpu);
                let mut drawn = vec![0; 20_000];
                drawn.chunks_mut(48).for_each(|read| engine.fill(read));
                is_pinned.then_some(drawn)
            }
        };
        let drawn: Vec<_> = std::thread::scope(|scope| {
            let threads = [0, 1, 0, 1].map(|cpu| scope.spawn(draw_on(cpu)));
            threads.map(|thread| thread.join().unwrap()).into()
        });
        if drawn.iter().any(Option::is_none) {
            return crate::common::skipped("this machine has one CPU");
        }
        let drawn: Vec<_> = drawn.into_iter().flatten().collect();
        assert_nothing_in_common(&drawn, &format!("mode {mode}"));
        let stats = engine.stats();
        assert!(stats.nodes.iter().all(|node| node.fetches > 0), "{stats:?}");
    }
}

#[test]
fn before_128_bits_every_cpu_is_served_by_the_first_node() {
    // One bit for each 256 bytes. An engine draws on it 34 times when it is asked for a seed, and 16 times by order.
    let source = Arc::new(Counter::claiming(MinEntropy::per_byte_256ths(1)));
    let builder = Engine::builder()
        .mode(Mode::PerNode)
        .sources([source as Arc<dyn Source>]);
    let engine = builder.topology("nodes=2,cpus=2".parse().unwrap());
    let engine = engine.build().unwrap();
    if !pin(1) {
        return crate::common::skipped("this machine has one CPU");
    }
    let mut bytes = [0; 8];
    assert_eq!(engine.try_fill(&mut bytes), Err(Error::NotSeeded));
    assert_eq!(bytes, [0; 8]);
    engine.fill_early(&mut bytes).unwrap();
    assert_ne!(bytes, [0; 8]);
    let early = engine.stats();
    assert_eq!(early.phase, Phase::Early);
    assert!(early.nodes[0].fetches > 0, "{early:?}");
    assert_eq!(early.nodes[1].fetches, 0, "{early:?}");
    for _ in 0..300 {
        if engine.stats().phase == Phase::Ready {
            break;
        }
        assert_eq!(engine.try_fill(&mut bytes), Err(Error::NotSeeded));
        engine.fill_early(&mut bytes).unwrap();
        let _ = engine.reseed();
    }
    assert_ne!(engine.u64(), 0);
    let before = engine.stats();
    assert_eq!(before.phase, Phase::Ready, "{before:?}");
    let pooled = before.sources[0].credited_bits;
    assert!(pooled >= 128, "{pooled} bits in all");
    (0..10).for_each(|_| assert_ne!(engine.u64(), 0));
    let after = engine.stats();
    assert_eq!(after.nodes[0].fetches, before.nodes[0].fetches, "{after:?}");
    assert_eq!(
        after.nodes[1].fetches,
        before.nodes[1].fetches + 10,
        "{after:?}"
    );
}

/// Yields 32 bytes for each time that it is allowed to.
struct Sparing {
    claim: MinEntropy,
    allowed: AtomicUsize,
    numbers: AtomicUsize,
}

impl Source for Sparing {
    fn name(&self) -> &'static str {
        "sparing"
    }

    fn min_entropy(&self) -> MinEntropy {
        self.claim
    }

    fn sample(&self, destination: &mut [u8]) -> Result<usize, SourceError> {
        let take = |allowed: usize| allowed.checked_sub(1);
        let is_allowed = self
            .allowed
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        is_allowed.map_err(|_| SourceError::Busy)?;
        let (bytes, _) = destination.split_at_mut(32);
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = (number * 31 + index * 7) as u8;
        }
        Ok(bytes.len())
    }
}

#[test]
fn credits_of_8_bits_make_no_engine_ready_one_by_one() {
    // Without early reads 16 of them do, together. An early read may spend one.
    for reads_early in [false, true] {
        let sparing = Arc::new(Sparing {
            claim: MinEntropy::per_byte_256ths(64),
            // The samples of the start-up test.
            allowed: AtomicUsize::new(1024 / 32),
            numbers: AtomicUsize::new(0),
        });
        let filler = Arc::new(Counter::claiming(MinEntropy::NONE));
        let engine = Engine::builder().sources([sparing.clone() as Arc<dyn Source>, filler]);
        let engine = engine.build().unwrap();
        let is_ready = || engine.try_fill(&mut [0; 16]).is_ok();
        assert!(!is_ready());
        let mut bits = 0;
        while !is_ready() {
            assert_eq!(engine.stats().sources[0].credited_bits, bits);
            assert!(bits <= 17 * 8, "{bits} bits do not suffice");
            if reads_early {
                engine.fill_early(&mut [0; 16]).unwrap();
            }
            sparing.allowed.store(1, Ordering::Relaxed);
            bits += 8;
            assert_eq!(engine.reseed().is_ok(), is_ready());
        }
        assert!(bits >= 128, "ready with {bits} bits");
    }
}

#[test]
fn a_source_that_is_stuck_is_put_out_and_the_other_goes_on() {
    let mut stuck = Counter::claiming(MinEntropy::FULL);
    stuck.stuck = true;
    let sources: [Arc<dyn Source>; 2] = [
        Arc::new(stuck),
        Arc::new(Counter::claiming(MinEntropy::FULL)),
    ];
    for mode in Mode::ALL {
        let engine = Engine::builder()
            .mode(mode)
            .sources(sources.clone())
            .build()
            .unwrap();
        assert_ne!(engine.u64(), 0);
        engine.reseed().unwrap();
        let stats = engine.stats();
        let health = stats.sources.iter().map(|source| source.health);
        let expected = [SourceHealth::Disabled, SourceHealth::Active];
        assert_eq!(health.collect::<Vec<_>>(), expected);
        assert_eq!(stats.sources[0].credited_bits, 0);
        assert!(stats.sources[1].credited_bits > 0);
    }
}

#[test]
fn a_read_without_a_seed_waits_and_a_try_says_so() {
    for mode in Mode::ALL {
        let empty = Engine::builder().mode(mode).sources([]).build().unwrap();
        let mut untouched = [0x5a; 40];
        assert_eq!(empty.try_fill(&mut untouched), Err(Error::NotSeeded));
        assert_eq!(empty.rng().try_fill(&mut untouched), Err(Error::NotSeeded));
        assert_eq!(untouched, [0x5a; 40]);

        let mut busy = Counter::claiming(MinEntropy::FULL);
        busy.busy_calls = 60;
        let busy: Arc<dyn Source> = Arc::new(busy);
        let engine = Engine::builder()
            .mode(mode)
            .sources([busy])
            .build()
            .unwrap();
        assert_eq!(engine.try_fill(&mut untouched), Err(Error::NotSeeded));
        engine.fill(&mut untouched);
        assert_ne!(untouched, [0x5a; 40]);
        assert!(engine.stats().sources[0].errors >= 35);
    }
}

#[test]
fn a_reseed_moves_every_thread_to_a_fresh_key() {
    // Two engines of one seed: the second shows how the first would have gone on.
    let engines = [(); 2].map(|()| seeded(Mode::PerThread, Prf::ChaCha20));
    let [moved, stays] = &engines;
    let (go, went) = (std::sync::Barrier::new(3), std::sync::Barrier::new(3));
    let thread = |engine: &Engine| {
        let before = engine.bytes::<32>();
        go.wait();
        went.wait();
        (before, engine.bytes::<32>())
    };
    let drawn = std::thread::scope(|scope| {
        let thread = &thread;
        let threads = [moved, stays].map(|engine| scope.spawn(move || thread(engine)));
        go.wait();
        assert_eq!(moved.reseed(), Err(Error::NotSeeded), "there is no source");
        went.wait();
        threads.map(|thread| thread.join().unwrap())
    });
    assert_eq!(drawn[0].0, drawn[1].0, "of one seed");
    assert_ne!(drawn[0].1, drawn[1].1, "of the same buffer still");
}

#[test]
fn no_value_of_long_reads_comes_twice() {
    for mode in Mode::ALL {
        for prf in [Prf::Aes256, Prf::ChaCha20] {
            let engine = seeded(mode, prf);
            let mut rng = engine.rng();
            let mut values: Vec<[u8; 16]> = Vec::new();
            for length in [
                6655,
                6656,
                6657,
                3839,
                3840,
                3841,
                4096,
                8192,
                (1 << 20) - 16,
                1 << 20,
                (1 << 20) + 16,
            ] {
                let mut drawn = vec![0; length];
                engine.fill(&mut drawn);
                values.extend(drawn.as_chunks().0);
                if length < 1 << 20 {
                    rng.fill(&mut drawn);
                    values.extend(drawn.as_chunks().0);
                }
            }
            assert_no_value_twice(&mut values, &format!("{mode}, {prf:?}"));
        }
    }
}

#[test]
fn an_engine_that_was_never_reseeded_is_so_by_its_next_slow_read() {
    let engine = Engine::builder().seed(&[3; 32]).build().unwrap();
    assert_eq!(engine.generation(), 1);
    engine.fill(&mut [0; 16]);
    assert_eq!(
        engine.generation(),
        2,
        "the seed alone is overdue, also in the first minute after a boot"
    );
}
