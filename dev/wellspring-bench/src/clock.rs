//! A clock fine enough for one small read.

use std::time::{Duration, Instant};
use wellspring_os::cpu;

/// How long the cycle counter is compared with the system's clock.
const CALIBRATION: Duration = Duration::from_millis(20);

/// The cycle counter, and the length of a tick in nanoseconds.
///
/// A look takes about 10 ns on a Zen 4, half of what the system's clock takes.
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
        let (start, first) = both_clocks();
        while start.elapsed() < CALIBRATION {
            std::hint::spin_loop();
        }
        let (end, last) = both_clocks();
        let (elapsed, ticks) = (end - start, last.wrapping_sub(first));
        if ticks == 0 {
            return Self {
                ns_per_tick: 1.0,
                origin: Some(start),
            };
        }
        Self {
            ns_per_tick: elapsed.as_nanos() as f64 / ticks as f64,
            origin: None,
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

    /// The length of `ticks` ticks in nanoseconds.
    #[must_use]
    pub fn ns(&self, ticks: u64) -> f64 {
        ticks as f64 * self.ns_per_tick
    }
}

/// Both clocks at the same moment: of several tries the one in which the least time passed, since a thread may lose
/// its CPU between two looks.
fn both_clocks() -> (Instant, u64) {
    let look = |_| {
        let before = cpu::cycles();
        let now = Instant::now();
        (cpu::cycles().wrapping_sub(before), now, before)
    };
    let looks = (0..9).map(look);
    let (_, now, ticks) = looks.min_by_key(|(gap, ..)| *gap).expect("there are nine");
    (now, ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_in_nanoseconds_agree_with_the_system_clock() {
        let clock = Clock::calibrate();
        let outer = Instant::now();
        let first = clock.ticks();
        let inner = Instant::now();
        std::thread::sleep(Duration::from_millis(30));
        let inner = inner.elapsed();
        let last = clock.ticks();
        let outer = outer.elapsed();
        // The thread may lose its CPU between any two lines: the right value is between the two.
        let found = clock.ns(last - first);
        assert!(
            found > 0.9 * inner.as_nanos() as f64,
            "{found} ns, more than {inner:?}"
        );
        assert!(
            found < 1.1 * outer.as_nanos() as f64,
            "{found} ns, less than {outer:?}"
        );
    }
}
