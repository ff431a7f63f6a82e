//! A clock fine enough for one small read.

use std::time::{Duration, Instant};
use wellspring_sys::cpu;

/// How long the cycle counter is compared with the system's clock.
const CALIBRATION: Duration = Duration::from_millis(20);

/// The cycle counter, with what a tick is worth.
///
/// It costs some 10 ns a look on the machines this was written on, half of what the system's clock does.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    ns_per_tick: f64,
    origin: Option<Instant>,
}

impl Clock {
    /// Compares the cycle counter with the system's clock. On a machine without a cycle counter the
    /// system's clock is used.
    #[must_use]
    pub fn calibrate() -> Self {
        let (start, first) = (Instant::now(), cpu::cycles());
        while start.elapsed() < CALIBRATION {
            std::hint::spin_loop();
        }
        let (elapsed, last) = (start.elapsed(), cpu::cycles());
        match last.wrapping_sub(first) {
            0 => Self {
                ns_per_tick: 1.0,
                origin: Some(start),
            },
            ticks => Self {
                ns_per_tick: elapsed.as_nanos() as f64 / ticks as f64,
                origin: None,
            },
        }
    }

    /// Now, in ticks since some moment.
    #[must_use]
    #[inline(always)]
    pub fn ticks(&self) -> u64 {
        match self.origin {
            None => cpu::cycles(),
            Some(origin) => origin.elapsed().as_nanos() as u64,
        }
    }

    /// So many ticks in nanoseconds.
    #[must_use]
    pub fn ns(&self, ticks: u64) -> f64 {
        ticks as f64 * self.ns_per_tick
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_is_worth_what_the_system_clock_says() {
        let clock = Clock::calibrate();
        let (start, first) = (Instant::now(), clock.ticks());
        std::thread::sleep(Duration::from_millis(30));
        let (last, elapsed) = (clock.ticks(), start.elapsed());
        let ratio = clock.ns(last - first) / elapsed.as_nanos() as f64;
        assert!((0.8..1.25).contains(&ratio), "{ratio}");
    }
}
