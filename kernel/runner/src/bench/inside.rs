//! Threads of the kernel that read: one with several sizes, and up to two for each CPU beside each other.

use crate::ioctl::{self, Speed};
use crate::open::{Failure, TEST_DEVICE};
use rustix::fd::OwnedFd;
use std::time::Duration;
use wellspring_bench::statistics::median;

/// The ways to read, with their numbers in `kernel/tests/uapi.h`.
pub(super) const WAYS: [(u32, &str); 6] = [
    (0, "canonical"),
    (1, "concurrent"),
    (2, "per-node"),
    (3, "per-cpu"),
    (4, "get_random_bytes"),
    (5, "pseudo"),
];

/// The ways to make a number of 8 bytes.
pub(super) const NUMBERS: [(u32, &str); 2] = [(6, "wellspring_get_u64"), (7, "get_random_u64")];

/// One way, number of readers and size: a figure for each round.
#[derive(Clone, Default)]
pub(super) struct Cell {
    each_ns: Vec<f64>,
    waiting: Vec<f64>,
    harvester_ns: u64,
    wall_ns: u64,
}

impl Cell {
    /// The time of a read, where nothing takes the CPU away.
    pub(super) fn each_ns(&self) -> f64 {
        median(&self.each_ns)
    }

    /// The share of the readers' time that they waited for locks of nodes.
    pub(super) fn waiting(&self) -> f64 {
        median(&self.waiting)
    }

    /// The share of the time that rounds of the harvester took: there is one in each 100 ms, so of all rounds together.
    pub(super) fn harvester(&self) -> f64 {
        self.harvester_ns as f64 / self.wall_ns.max(1) as f64
    }

    fn add(&mut self, speed: &Speed) {
        let ns = speed.ns as f64;
        self.each_ns
            .push(speed.turn_ns as f64 / speed.turn_reads as f64);
        self.waiting.push(speed.lock_wait_ns as f64 / ns);
        self.harvester_ns += speed.harvester_ns;
        self.wall_ns += speed.ns / u64::from(speed.readers);
    }
}

/// Measures each case, `(way, readers, bytes)`, once in every round.
pub(super) fn measure(
    tests: &OwnedFd,
    rounds: usize,
    slice: Duration,
    cases: &[(u32, u32, u32)],
) -> Result<Vec<Cell>, Failure> {
    let mut cells = vec![Cell::default(); cases.len()];
    for _ in 0..rounds {
        for (&(way, readers, bytes), cell) in cases.iter().zip(&mut cells) {
            let mut speed = Speed {
                way,
                readers,
                bytes,
                ms: slice.as_millis() as u32,
                ..Speed::default()
            };
            ioctl::speed(tests, &mut speed).map_err(|error| Failure::work(TEST_DEVICE, error))?;
            if speed.errors > 0 || speed.reads == 0 {
                let reason = format!("{} of {} reads failed", speed.errors, speed.reads);
                return Err(Failure::Work(reason));
            }
            cell.add(&speed);
        }
    }
    Ok(cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_those_of_all_readers_and_of_one_cpu() {
        let mut cell = Cell::default();
        cell.add(&Speed {
            readers: 2,
            reads: 10,
            ns: 2000,
            lock_wait_ns: 500,
            harvester_ns: 100,
            turn_ns: 800,
            turn_reads: 4,
            ..Speed::default()
        });
        assert_eq!(cell.each_ns(), 200.0);
        assert_eq!((cell.waiting(), cell.harvester()), (0.25, 0.1));
    }
}
