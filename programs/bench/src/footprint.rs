//! The time to the first byte, and the memory of a tap.

use crate::generators;
use crate::process::status_bytes;
use crate::statistics::median;
use std::ffi::OsString;
use std::process::Command;
use std::sync::Barrier;
use std::time::{Duration, Instant};
use wellspring::Mode;

/// Processes started for the first byte.
const STARTS: usize = 21;
/// Threads held at once to measure the memory of a tap. With 64, memory that they share hardly counts.
const THREADS: usize = 64;

/// The time to the first byte, and the memory for each thread.
#[derive(Clone, Debug)]
pub struct Footprint {
    /// The time of a fresh process to its first 32 bytes, in microseconds: the median. `None` without a command.
    pub first_byte_us: Option<f64>,
    /// Locked memory for each thread that has read, in bytes; `None` where the system does not say.
    pub tap_bytes: Option<f64>,
}

/// Times the first bytes of the process's engine. To be called by a process that has just begun and has not
/// read before, which prints the nanoseconds: see [`Options::first_byte_command`](crate::Options).
#[must_use]
pub fn first_byte() -> Duration {
    let start = Instant::now();
    wellspring::fill(std::hint::black_box(&mut [0; 32]));
    start.elapsed()
}

/// To be run before anything else has used and given back taps.
pub(crate) fn run(first_byte_command: Option<&[OsString]>) -> Footprint {
    Footprint {
        tap_bytes: tap_bytes(),
        first_byte_us: first_byte_command.and_then(first_byte_us),
    }
}

/// `None` when the command does not do what it should.
fn first_byte_us(command: &[OsString]) -> Option<f64> {
    let (program, arguments) = command.split_first()?;
    let start = || {
        let output = Command::new(program).args(arguments).output().ok()?;
        let ns: f64 = String::from_utf8(output.stdout).ok()?.trim().parse().ok()?;
        Some(ns / 1e3)
    };
    let samples: Option<Vec<f64>> = (0..STARTS).map(|_| start()).collect();
    Some(median(&samples?))
}

/// The growth of locked memory while many threads hold taps.
fn tap_bytes() -> Option<f64> {
    let engine = generators::engine(Mode::PerThread);
    // The memory that the engine itself locks.
    engine.fill(&mut [0; 32]);
    let before = secret_bytes(&engine)?;
    let (arrived, leave) = (Barrier::new(THREADS + 1), Barrier::new(THREADS + 1));
    let after = std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                engine.fill(&mut [0; 32]);
                arrived.wait();
                leave.wait();
            });
        }
        arrived.wait();
        let after = secret_bytes(&engine);
        leave.wait();
        after
    })?;
    Some((after - before) / THREADS as f64)
}

/// Locked bytes of this process, and bytes that the system refused to lock.
fn secret_bytes(engine: &wellspring::Engine) -> Option<f64> {
    Some(status_bytes("VmLck")? + engine.stats().unlocked_bytes as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tap_weighs_something_and_without_a_command_there_is_no_first_byte() {
        let footprint = run(None);
        assert_eq!(footprint.first_byte_us, None);
        assert!(
            footprint.tap_bytes.is_none_or(|bytes| bytes > 1000.0),
            "{footprint:?}"
        );
    }

    #[test]
    fn a_command_that_prints_no_number_is_not_believed() {
        let command = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        assert_eq!(first_byte_us(&command(&["echo", "12000"])), Some(12.0));
        assert_eq!(first_byte_us(&command(&["echo", "nonsense"])), None);
        assert_eq!(first_byte_us(&command(&["/does/not/exist"])), None);
        assert_eq!(first_byte_us(&[]), None);
    }
}
