//! The timing of this processor's memory.

use super::clock::{Steps, stamp};
use std::sync::Mutex;
use wellspring_core::source::{MinEntropy, Source, SourceError, Speed};
use wellspring_os::memory::erase_below;

/// How long a fixed piece of work takes: 256 reads and writes in 64 KiB, each at a place that depends on the
/// content of the last.
///
/// A sample is a byte: the time of one such walk in steps of the counter, modulo 256. Nothing is conditioned: health
/// tests and assessments get the counter's values. The noise comes from caches, buses, refresh and everything else
/// that runs on this machine; the idea is Stephan Müller's (*CPU Time Jitter Based Non-Physical True Random Number
/// Generator*), with raw samples in place of his conditioned ones.
///
/// A byte takes about 3 microseconds. It is still a slow source: its state is behind a lock, and noise of this kind
/// is no reason to make a reader wait.
#[derive(Debug, Default)]
pub struct Jitter {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    memory: Box<[u8]>,
    position: usize,
    steps: Steps,
}

/// Larger than a first cache (32 to 48 KiB), so that some steps miss it.
const MEMORY_BYTES: usize = 1 << 16;

/// The steps of one walk.
const WALK_STEPS: usize = 256;

/// The samples of one draw: about 200 microseconds.
const SAMPLES: usize = 64;

impl State {
    fn walk(&mut self) {
        for _ in 0..WALK_STEPS {
            let place = &mut self.memory[self.position];
            *place = place.wrapping_add(1);
            let next = 5 * self.position + 4097 + usize::from(*place);
            self.position = next % MEMORY_BYTES;
        }
    }

    #[inline(never)]
    fn fill(&mut self, destination: &mut [u8]) -> Result<usize, SourceError> {
        if self.memory.is_empty() {
            self.memory = vec![0; MEMORY_BYTES].into_boxed_slice();
        }
        let mut last = stamp();
        let mut length = 0;
        while length < destination.len().min(SAMPLES) {
            self.walk();
            let now = stamp();
            if let Some(symbol) = self.steps.symbol(now.wrapping_sub(last)) {
                destination[length] = symbol;
                length += 1;
            }
            last = now;
            if self.steps.is_stuck() {
                return Err(SourceError::Absent);
            }
        }
        Ok(length)
    }
}

impl Source for Jitter {
    fn name(&self) -> &'static str {
        "jitter"
    }

    fn min_entropy(&self) -> MinEntropy {
        MinEntropy::per_byte_256ths(64)
    }

    fn reason(&self) -> &'static str {
        "NIST's tool found 0.81 bits at least in 1,000,000 samples: docs/explanation/entropy.md"
    }

    fn speed(&self) -> Speed {
        Speed::Slow { interval_ms: 2000 }
    }

    #[inline]
    fn sample(&self, destination: &mut [u8]) -> Result<usize, SourceError> {
        let mut state = self.state.try_lock().map_err(|_| SourceError::Busy)?;
        let filled = state.fill(destination);
        // The time stamps, from which the last symbols can be computed.
        erase_below();
        filled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_take_different_times() {
        let jitter = Jitter::default();
        let mut sample = [0; SAMPLES];
        assert_eq!(jitter.sample(&mut sample), Ok(SAMPLES));
        assert!(sample.iter().any(|&symbol| symbol != sample[0]));
        assert_eq!(jitter.sample(&mut sample[..5]), Ok(5));
    }

    #[test]
    fn a_walk_ends_up_all_over_the_memory() {
        let mut state = State {
            memory: vec![0; MEMORY_BYTES].into_boxed_slice(),
            ..State::default()
        };
        (0..MEMORY_BYTES / 64).for_each(|_| state.walk());
        let touched = |page: &[u8]| page.iter().any(|&byte| byte != 0);
        assert!(state.memory.chunks(4096).all(touched));
    }
}
