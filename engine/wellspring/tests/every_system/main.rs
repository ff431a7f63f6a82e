//! Tests for every system: nothing comes twice, memory goes back, and absent parts say so.
//!
//! ```text
//! interpreted  cases for Miri: engines with a seed and no sources
//! pools        the fill of the pools, as the stats show it
//! reseeds      reseeds go on wherever the readers are
//! readme       the Rust lines of the README compile and run
//! ```

mod interpreted;
mod pools;
mod readme;
mod reseeds;

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
