//! When the scheduler wakes a thread.

use super::clock::{Steps, stamp};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use wellspring_core::source::{MinEntropy, Source, SourceError, Speed};
use wellspring_os::memory::erase_below;
use wellspring_os::os::sleep_ns;

/// How late a thread wakes after it asked to sleep for a microsecond.
///
/// A sample is a byte: the time from one wake-up to the next in steps of the cycle counter, modulo 256. The
/// noise comes from the timer hardware, the idle states that the processor leaves, other threads and
/// interrupts. A byte takes some 60 to 80 microseconds, nearly all of it asleep.
#[derive(Debug, Default)]
pub struct Wakeups {
    steps: Mutex<Steps>,
}

/// How long a thread asks to sleep; the kernel adds its timer slack, 50 microseconds.
const SLEEP_NS: u32 = 1_000;

/// The samples of one draw.
const SAMPLES: usize = 32;

/// The longest draw: with timers that tick at 100 Hz a single sleep takes this long.
const LONGEST: Duration = Duration::from_millis(10);

impl Source for Wakeups {
    fn name(&self) -> &'static str {
        "wakeups"
    }

    fn min_entropy(&self) -> MinEntropy {
        MinEntropy::per_byte_256ths(128)
    }

    fn reason(&self) -> &'static str {
        "NIST's tool found 6.6 bits at least in 1,000,000 samples: docs/explanation/entropy.md"
    }

    fn speed(&self) -> Speed {
        Speed::Slow { interval_ms: 2000 }
    }

    #[inline]
    fn sample(&self, destination: &mut [u8]) -> Result<usize, SourceError> {
        let drawn = self.draw(destination);
        // The time stamps, from which the last symbols can be computed.
        erase_below();
        drawn
    }
}

impl Wakeups {
    #[inline(never)]
    fn draw(&self, destination: &mut [u8]) -> Result<usize, SourceError> {
        let mut steps = self.steps.try_lock().map_err(|_| SourceError::Busy)?;
        let begin = Instant::now();
        let mut last = stamp();
        let mut length = 0;
        while length < destination.len().min(SAMPLES) && begin.elapsed() < LONGEST {
            sleep_ns(SLEEP_NS);
            let now = stamp();
            if let Some(symbol) = steps.symbol(now.wrapping_sub(last)) {
                destination[length] = symbol;
                length += 1;
            }
            last = now;
        }
        if steps.is_stuck() {
            Err(SourceError::Absent)
        } else {
            Ok(length)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wake_ups_come_at_different_times_and_a_draw_ends() {
        let wakeups = Wakeups::default();
        let (mut all, mut sample) = (Vec::new(), [0; 64]);
        let begin = Instant::now();
        while all.len() < 64 && begin.elapsed() < Duration::from_secs(5) {
            let length = wakeups.sample(&mut sample).unwrap();
            assert!(length <= SAMPLES);
            all.extend_from_slice(&sample[..length]);
        }
        assert!(all.iter().any(|&symbol| symbol != all[0]), "{all:?}");
    }
}
