//! The share of a loop that writes blocks which goes into its random numbers.
//!
//! An example of why a kernel needs cheap numbers: an allocator that draws two numbers for each block that it places,
//! as ZFS's metaslab allocator did. There, the change from secure numbers to statistical ones moved their share of the
//! write path from 3.16 % to 0.06 %, a factor of 50.

use crate::contender::Subject;
use crate::progress::Progress;
use crate::statistics::{median, median_ratio};
use crate::subjects::SystemCall;
use crate::throughput::Pace;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::pwrite;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};
use wellspring::pseudo;

/// The length of a block.
pub const BLOCK_BYTES: usize = 4096;
/// The numbers that each block needs.
pub const NUMBERS: usize = 2;
/// The factor of the publication.
pub const PUBLISHED_FACTOR: f64 = 3.16 / 0.06;

/// Blocks of the file: 4 MiB, so that it stays in some cache.
const BLOCKS: u64 = 1024;
/// Blocks written between two looks at the time.
const PORTION: u32 = 64;

/// The cost of the loop's numbers.
#[derive(Clone, Debug)]
pub struct BlockLoop {
    /// The generator of the numbers.
    pub source: &'static str,
    /// The time of a block, numbers included, in nanoseconds.
    pub block_ns: f64,
    /// The share of that which its numbers cost.
    pub share: f64,
}

/// The two ways, in the order measured.
const SOURCES: [&str; 2] = ["getrandom(2)", "pseudo::u64()"];

pub(crate) fn steps(rounds: usize) -> usize {
    SOURCES.len() * rounds
}

/// Runs the loop with either source; nothing where the system has no memory files.
pub(crate) fn run(pace: Pace, progress: &mut dyn Progress) -> Vec<BlockLoop> {
    let Ok(file) = memfd_create("wellspring-bench", MemfdFlags::CLOEXEC) else {
        return Vec::new();
    };
    let mut samples = [const { (Vec::new(), Vec::new()) }; 2];
    for _ in 0..pace.rounds {
        let both = [
            turn(&file, pace, || SystemCall.word()),
            turn(&file, pace, pseudo::u64),
        ];
        for ((source, (blocks, numbers)), sample) in SOURCES.iter().zip(&mut samples).zip(both) {
            blocks.push(sample.0);
            numbers.push(sample.1);
            progress.step(source);
        }
    }
    let loops = SOURCES.iter().zip(samples);
    loops
        .map(|(source, (blocks, numbers))| BlockLoop {
            source,
            block_ns: median(&blocks),
            share: median_ratio(&numbers, &blocks),
        })
        .collect()
}

/// The nanoseconds of a block and of its numbers. The numbers are timed apart, since a few nanoseconds would
/// drown in the noise of a difference.
fn turn(file: &OwnedFd, pace: Pace, mut number: impl FnMut() -> u64) -> (f64, f64) {
    let mut block = [0; BLOCK_BYTES];
    let block_ns = usual_ns(pace.slice, PORTION, || {
        let place = number() % BLOCKS;
        block.fill(number() as u8);
        // A full memory is the only error there is, and 4 MiB do not fill it.
        let _ = pwrite(file, &block, place * BLOCK_BYTES as u64);
    });
    let number_ns = usual_ns(pace.slice / 2, 32 * PORTION, || {
        std::hint::black_box(number());
    });
    (block_ns, number_ns * NUMBERS as f64)
}

/// The time of one `step`: the median of the portions that fit into `time`.
fn usual_ns(time: Duration, portion: u32, mut step: impl FnMut()) -> f64 {
    let end = Instant::now() + time;
    let mut portions_ns = Vec::new();
    while portions_ns.is_empty() || Instant::now() < end {
        let start = Instant::now();
        (0..portion).for_each(|_| step());
        portions_ns.push(start.elapsed().as_nanos() as f64 / f64::from(portion));
    }
    median(&portions_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sources_have_a_cost_and_a_share() {
        let pace = Pace {
            rounds: 3,
            slice: Duration::from_millis(10),
        };
        let loops = run(pace, &mut ());
        assert_eq!(loops.len(), 2);
        for with in loops {
            assert!(with.block_ns > 0.0 && with.share > 0.0, "{with:?}");
        }
    }
}
