//! Below 128 bits of credit: who waits, who is told, who is served.

use crate::common::process::{self, Fork};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use wellspring::{Engine, Error, MinEntropy, Mode, Phase, Source, SourceError};

/// Yields nothing until it is told to.
#[derive(Default)]
struct Late {
    yields: AtomicBool,
    draws: AtomicUsize,
}

impl Source for Late {
    fn name(&self) -> &'static str {
        "late"
    }

    fn min_entropy(&self) -> MinEntropy {
        MinEntropy::FULL
    }

    fn sample(&self, destination: &mut [u8]) -> Result<usize, SourceError> {
        let draw = self.draws.fetch_add(1, Ordering::Relaxed);
        if !self.yields.load(Ordering::Relaxed) {
            return Err(SourceError::Busy);
        }
        for (index, byte) in destination.iter_mut().enumerate() {
            *byte = (draw * 31 + index * 7) as u8;
        }
        Ok(destination.len())
    }
}

fn engine(mode: Mode, seed: &[u8]) -> (Arc<Late>, Engine) {
    let source = Arc::new(Late::default());
    let sources: [Arc<dyn Source>; 1] = [source.clone()];
    let builder = Engine::builder().mode(mode).sources(sources).seed(seed);
    (source, builder.build().unwrap())
}

#[test]
fn below_128_bits_a_try_is_refused_and_only_an_early_read_is_served() {
    for mode in Mode::ALL {
        // 15 bytes are 120 bits.
        let (_, engine) = engine(mode, &[7; 15]);
        let mut untouched = [0x5a; 5000];
        for bytes in [1, 16, 5000] {
            let place = &mut untouched[..bytes];
            assert_eq!(engine.try_fill(place), Err(Error::NotSeeded), "{mode}");
            let owned = engine.rng().try_fill(place);
            assert_eq!(owned, Err(Error::NotSeeded), "{mode}");
        }
        assert_eq!(untouched, [0x5a; 5000], "{mode}");
        assert_eq!(engine.stats().phase, Phase::Early, "{mode}");
        engine.fill_early(&mut untouched).unwrap();
        assert_ne!(untouched, [0x5a; 5000], "{mode}");
    }
}

#[test]
fn a_seed_of_128_bits_is_enough() {
    for mode in Mode::ALL {
        let (_, engine) = engine(mode, &[7; 16]);
        assert_eq!(engine.try_fill(&mut [0; 16]), Ok(()), "{mode}");
        assert_eq!(engine.rng().try_fill(&mut [0; 16]), Ok(()), "{mode}");
    }
}

#[test]
fn below_128_bits_a_fill_waits_and_goes_on_when_they_come() {
    for mode in Mode::ALL {
        for is_owned in [false, true] {
            // In a child: if it waits without end, it is killed.
            process::start(Fork::Library, || {
                let (source, engine) = engine(mode, &[7; 15]);
                let is_done = AtomicBool::new(false);
                std::thread::scope(|scope| {
                    scope.spawn(|| {
                        if is_owned {
                            engine.rng().fill(&mut [0; 16]);
                        } else {
                            engine.fill(&mut [0; 16]);
                        }
                        is_done.store(true, Ordering::Release);
                    });
                    // It tried, was not served, and tries again.
                    while source.draws.load(Ordering::Relaxed) < 200 {
                        assert!(!is_done.load(Ordering::Acquire), "{mode}, {is_owned}");
                        std::thread::yield_now();
                    }
                    source.yields.store(true, Ordering::Relaxed);
                });
                assert_eq!(engine.stats().phase, Phase::Ready);
            })
            .join();
        }
    }
}
