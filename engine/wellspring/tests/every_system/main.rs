//! Tests for every system: nothing comes twice, memory goes back, and absent parts say so.
//!
//! ```text
//! interpreted  cases for Miri: engines with a seed and no sources
//! pools        the fill of the pools, as the stats show it
//! reseeds      reseeds go on wherever the readers are
//! readme       the Rust lines of the README compile and run
//! ```

mod readme;

use std::collections::HashSet;
use std::sync::Barrier;
use testkit::repeats::assert_nothing_in_common;
use wellspring::seed_file::SeedFileError;
use wellspring::{Engine, Error, FileFault, Harvester, Mode, OsError};

#[test]
fn threads_and_values_in_every_mode_give_no_bytes_twice() {
    for mode in Mode::ALL {
        let engine = Engine::builder().mode(mode).build().unwrap();
        let draw = |fill: &mut dyn FnMut(&mut [u8])| {
            let mut drawn = Vec::new();
            for length in [16, 32, 256, 4096, 70_000] {
                let mut bytes = vec![0; length];
                fill(&mut bytes);
                drawn.extend(bytes);
            }
            drawn
        };
        let all: Vec<Vec<u8>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..16)
                .map(|_| {
                    scope.spawn(|| {
                        let mut local = engine.rng();
                        let mut drawn = draw(&mut |bytes| engine.fill(bytes));
                        drawn.extend(draw(&mut |bytes| local.fill(bytes)));
                        drawn
                    })
                })
                .collect();
            let drawn = threads.into_iter().map(|thread| thread.join().unwrap());
            drawn.collect()
        });
        assert_nothing_in_common(&all, &format!("mode {mode}"));
    }
}

#[test]
fn a_thread_that_ends_gives_its_tap_back() {
    let engine = Engine::builder().build().unwrap();
    for _ in 0..20 {
        let barrier = Barrier::new(11);
        std::thread::scope(|scope| {
            for _ in 0..10 {
                scope.spawn(|| {
                    assert_ne!(engine.bytes::<32>(), [0; 32]);
                    barrier.wait();
                });
            }
            barrier.wait();
        });
    }
    // A scope ends before the destructors of its threads have run.
    let is_back = || engine.stats().taps == 0;
    let mut looks = 0;
    while !is_back() && looks < 60_000 {
        std::thread::sleep(std::time::Duration::from_millis(1));
        looks += 1;
    }
    assert!(is_back(), "{} taps", engine.stats().taps);
}

#[test]
fn an_order_and_a_harvester_bring_every_thread_to_a_new_key() {
    let engine = Engine::builder()
        .harvester(Harvester::default())
        .build()
        .unwrap();
    let before = engine.generation();
    let mut seen = HashSet::new();
    for order in 1..=20 {
        assert!(seen.insert(engine.bytes::<16>()));
        assert!(engine.reseed().unwrap() >= before + order);
    }
}

#[test]
fn a_seed_file_is_written_or_its_absence_is_said() {
    let name = format!("wellspring-every-system-{}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let engine = Engine::builder().seed_file(&path).build().unwrap();
    assert_ne!(
        engine.bytes::<32>(),
        [0; 32],
        "an engine is seeded by its first read"
    );
    let stats = engine.stats().seed_file.unwrap();
    let unsupported = SeedFileError::File(FileFault::System(OsError::UNSUPPORTED));
    if cfg!(windows) {
        assert_eq!(stats.last_error, Some(unsupported));
        assert_eq!(engine.save_seed(), Err(unsupported));
    } else {
        assert_eq!(stats.last_error, None);
        assert_eq!(engine.save_seed(), Ok(()));
    }
    drop(engine);
    assert_eq!(std::fs::remove_file(path).is_ok(), !cfg!(windows));
}

#[test]
fn an_engine_without_sources_is_not_seeded() {
    let engine = Engine::builder().sources([]).build().unwrap();
    assert_eq!(engine.try_fill(&mut [0; 8]), Err(Error::NotSeeded));
}

mod interpreted {
    //! Cases for Miri: engines with a seed and no sources, small enough to end. `cargo xtask miri` looks for
    //! undefined behaviour in them; in an ordinary run they check that such an engine says the same every time.

    use wellspring::{Engine, Mode, Prf};

    /// An engine that asks nothing of the machine but memory and the time.
    fn engine(mode: Mode, prf: Prf) -> Engine {
        let builder = Engine::builder().mode(mode).prf(prf).sources([]);
        let builder = builder.topology("nodes=2,cpus=2".parse().unwrap());
        let builder = builder.generation_page("/none").vmclock("/none");
        builder.seed(&[7; 32]).build().unwrap()
    }

    /// All kinds of reads.
    fn draw(engine: &Engine) -> Vec<u8> {
        let mut bytes = vec![0; 100];
        engine.fill(&mut bytes);
        bytes.extend(engine.u64().to_ne_bytes());
        bytes.extend(engine.bytes::<32>());
        let mut rng = engine.rng();
        let mut more = [0; 65];
        rng.fill(&mut more);
        bytes.extend(more);
        bytes
    }

    fn assert_is_random(bytes: &[u8]) {
        let mut blocks: Vec<_> = bytes.chunks_exact(8).collect();
        let count = blocks.len();
        blocks.sort_unstable();
        blocks.dedup();
        assert_eq!(blocks.len(), count, "the same 8 bytes twice");
    }

    #[test]
    fn every_mode_and_function_is_read() {
        for mode in Mode::ALL {
            for prf in [Prf::Aes256, Prf::ChaCha20] {
                if cfg!(miri) && prf == Prf::ChaCha20 && mode != Mode::PerThread {
                    continue;
                }
                let engine = engine(mode, prf);
                let bytes = draw(&engine);
                assert_is_random(&bytes);
            }
        }
    }

    #[test]
    fn a_tap_gives_more_than_its_buffer_holds() {
        let engine = engine(Mode::PerThread, Prf::ChaCha20);
        let mut bytes = vec![0; 6656 + 64];
        let pieces = if cfg!(miri) { 2 } else { 8 };
        for piece in bytes.chunks_mut((6656 + 64) / pieces) {
            engine.fill(piece);
        }
        assert_is_random(&bytes);
    }

    #[test]
    fn two_threads_read_and_end() {
        let engine = engine(Mode::PerThread, Prf::ChaCha20);
        let halves = std::thread::scope(|scope| {
            let threads = [(); 2].map(|()| scope.spawn(|| draw(&engine)));
            threads.map(|thread| thread.join().unwrap())
        });
        assert_is_random(&halves.concat()[..2 * halves[0].len()]);
        assert_ne!(halves[0], halves[1]);
    }

    #[test]
    fn an_order_to_diverge_parts_twins() {
        let [one, other] = [(); 2].map(|()| engine(Mode::PerThread, Prf::ChaCha20));
        assert_eq!(one.bytes::<32>(), other.bytes::<32>());
        one.diverge_from_clones();
        assert_ne!(one.bytes::<32>(), other.bytes::<32>());
    }
}

mod pools {
    //! The fill of the pools, as the stats show it.

    use std::sync::Arc;
    use wellspring::Engine;

    #[test]
    fn a_reseed_empties_the_first_pool_and_the_last_keeps_what_it_gathered() {
        let os = Arc::new(wellspring_sources::Os);
        let engine = Engine::builder().sources([os as _]).build().unwrap();
        let fill = |pool: usize| engine.stats().pools[pool];
        assert_eq!(engine.stats().pools.len(), 32);
        assert!(engine.stats().pools.iter().all(|pool| pool.bytes == 0));
        engine.reseed().unwrap();
        let before = fill(31).bytes;
        assert!(
            before >= 2 * 36,
            "two events of 32 bytes with their headers: {before}"
        );
        engine.reseed().unwrap();
        assert_eq!((fill(0).bytes, fill(0).credit_bits), (0, 0));
        assert!(fill(31).bytes > before);
        assert_eq!(fill(31).credit_bits, 256, "a digest carries no more");
    }
}

mod reseeds {
    //! Reseeds go on wherever the readers are. With a clock that the test sets: `src/engine/noise_tests.rs`.

    use std::time::{Duration, Instant};
    use wellspring::{Engine, Harvester, Mode, Topology};
    use wellspring_core::topology::SystemNode;

    /// Two nodes; all CPUs of this machine belong to node 1.
    fn all_readers_on_node_1() -> Topology {
        let node = |number, cpus| SystemNode {
            number,
            cpus,
            has_memory: true,
            distances: vec![],
        };
        // A list like 0-3,8-11.
        let possible =
            std::fs::read_to_string("/sys/devices/system/cpu/possible").unwrap_or_default();
        let last = possible.trim().rsplit([',', '-']).next();
        let cpus = last.unwrap().parse::<u32>().map_or(4095, |last| 1 + last);
        Topology::from_system(&[node(0, vec![cpus]), node(1, (0..cpus).collect())]).unwrap()
    }

    /// Reads until node 1 has had another seed.
    fn assert_reseeds_go_on(engine: &Engine) {
        engine.fill(&mut [0; 32]);
        let start = Instant::now();
        let reseeds = || engine.stats().nodes[1].reseeds;
        let first = reseeds();
        while reseeds() == first {
            engine.fill(&mut [0; 6000]);
            // Less than the minute after which a reseed is overdue.
            let is_in_time = start.elapsed() < Duration::from_secs(50);
            assert!(is_in_time, "{:?}", engine.stats());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Both at once: each waits for some seconds.
    #[test]
    fn reseeds_reach_readers_of_another_node_while_nothing_reads_node_0() {
        std::thread::scope(|scope| {
            let engine = |mode| {
                Engine::builder()
                    .mode(mode)
                    .topology(all_readers_on_node_1())
            };
            scope.spawn(move || assert_reseeds_go_on(&engine(Mode::PerThread).build().unwrap()));
            scope.spawn(move || {
                let engine = engine(Mode::PerNode).harvester(Harvester::default());
                assert_reseeds_go_on(&engine.build().unwrap());
            });
        });
    }

    #[test]
    fn a_harvester_feeds_every_node_of_an_engine_that_nothing_reads() {
        let engine = Engine::builder().topology(all_readers_on_node_1());
        let harvester = Harvester::default().idle_pace_ms(100);
        let engine = engine.harvester(harvester).build().unwrap();
        engine.fill(&mut [0; 32]);
        let (first, start) = (engine.stats(), Instant::now());
        let is_fed = |number: usize| {
            // It takes a seed only when the next one is posted.
            engine.stats().nodes[number].reseeds > first.nodes[number].reseeds
        };
        while !(is_fed(0) && is_fed(1)) {
            assert!(start.elapsed() < Duration::from_secs(50), "not fed");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
