//! Feeding the pools and reseeding on one thread: alone, and beside readers on the others.

use crate::contender::{Runner, Work};
use crate::progress::Progress;
use crate::statistics::median;
use crate::subjects;
use crate::throughput::Pace;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use wellspring::{Engine, Mode};

/// The length of a read: a mode that makes its output under a lock holds it for microseconds.
pub const READ_BYTES: usize = 65_536;

/// Events of 32 bytes that a step of the harvester offers before it reseeds, and so empties the queue of mixed data.
const EVENTS: usize = 8;

/// Steps timed together.
const PORTION: usize = 8;

/// The harvest side of a mode.
#[derive(Clone, Debug)]
pub struct HarvestLoss {
    /// The mode.
    pub mode: Mode,
    /// How many readers ran.
    pub readers: usize,
    /// Steps of the harvester (8 events offered, one reseed) per second, alone.
    pub alone_per_second: f64,
    /// The same beside readers.
    pub loaded_per_second: f64,
    /// Events that the queue gave up in the whole run, as a share of those offered.
    pub dropped_share: f64,
}

impl HarvestLoss {
    /// The speed of the harvester beside readers, compared with its speed alone.
    #[must_use]
    pub fn kept_share(&self) -> f64 {
        self.loaded_per_second / self.alone_per_second
    }
}

pub(crate) fn steps(rounds: usize) -> usize {
    Mode::ALL.len() * rounds
}

/// Measures every mode, with as many readers as leave the harvester a CPU, but at least one.
pub(crate) fn run(cpus: usize, pace: Pace, progress: &mut dyn Progress) -> Vec<HarvestLoss> {
    let readers = (cpus - 1).max(1);
    let engines = Mode::ALL.map(subjects::engine);
    let mut alone = vec![Vec::new(); engines.len()];
    let mut loaded = alone.clone();
    let mut offered = vec![0; engines.len()];
    for _ in 0..pace.rounds {
        for (place, engine) in engines.iter().enumerate() {
            for (readers, rates) in [(0, &mut alone), (readers, &mut loaded)] {
                let (steps, per_second) = measure(engine, readers, pace.slice);
                rates[place].push(per_second);
                offered[place] += steps * EVENTS;
            }
            progress.step("harvest");
        }
    }
    let summary = |(place, engine): (usize, &Engine)| HarvestLoss {
        mode: engine.mode(),
        readers,
        alone_per_second: median(&alone[place]),
        loaded_per_second: median(&loaded[place]),
        dropped_share: engine.stats().mixes_dropped as f64 / offered[place] as f64,
    };
    engines.iter().enumerate().map(summary).collect()
}

/// The harvester's steps in a slice beside `readers` readers, and the steps per second of the middle portion,
/// which leaves out those in which the harvester was off its CPU.
fn measure(engine: &Engine, readers: usize, slice: Duration) -> (usize, f64) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..readers {
            scope.spawn(|| {
                let mut buffer = vec![0; READ_BYTES];
                while !stop.load(Ordering::Relaxed) {
                    subjects::reader(engine).run(Work::Fill(READ_BYTES), 8, &mut buffer);
                }
            });
        }
        let end = Instant::now() + slice;
        let mut portions = Vec::new();
        while portions.is_empty() || Instant::now() < end {
            let start = Instant::now();
            (0..PORTION).for_each(|_| step(engine));
            portions.push(start.elapsed().as_secs_f64());
        }
        stop.store(true, Ordering::Relaxed);
        (PORTION * portions.len(), PORTION as f64 / median(&portions))
    })
}

fn step(engine: &Engine) {
    for event in 0..EVENTS {
        engine.mix(&[event as u8; 32]);
    }
    // Fails only if the sources yield nothing; the queue is emptied in any case.
    let _ = engine.reseed();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_harvester_makes_steps_in_every_mode_beside_readers() {
        let pace = Pace {
            rounds: 1,
            slice: Duration::from_millis(20),
        };
        let losses = run(2, pace, &mut ());
        assert_eq!(losses.len(), 4);
        for loss in losses {
            assert!(loss.loaded_per_second > 0.0, "{}", loss.mode);
            assert!((0.0..=1.0).contains(&loss.dropped_share), "{}", loss.mode);
        }
    }
}
