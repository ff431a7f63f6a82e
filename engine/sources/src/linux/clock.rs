//! Fine time stamps, as symbols.

use wellspring_os::{cpu, os};

/// Now, in cycles where the processor counts them, else in nanoseconds.
#[inline]
pub(crate) fn stamp() -> u64 {
    if cfg!(target_arch = "x86_64") {
        cpu::cycles()
    } else {
        os::now_ns()
    }
}

/// From how many differences the counter's step is learned.
const LEARNED_FROM: u32 = 64;

/// Differences of time stamps as bytes: in steps of the counter, modulo 256.
///
/// Counters tick more coarsely than they count: all differences on a Zen 4 machine at 2.6 GHz are multiples of 26
/// cycles, so that the lowest bit of a difference is always 0. The step is the greatest common divisor of the
/// first 64.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Steps {
    step: u64,
    learned: u32,
}

impl Steps {
    /// Learns from a difference until enough is known; then makes a symbol of it.
    pub(crate) fn symbol(&mut self, difference: u64) -> Option<u8> {
        if self.learned < LEARNED_FROM {
            self.step = greatest_common_divisor(self.step, difference);
            self.learned += 1;
            return None;
        }
        Some((difference / self.step.max(1)) as u8)
    }

    /// Whether the counter does not move: there is no noise in it.
    pub(crate) fn is_stuck(&self) -> bool {
        self.learned == LEARNED_FROM && self.step == 0
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    match b {
        0 => a,
        b => greatest_common_divisor(b, a % b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_of_the_counter_is_divided_out() {
        let mut steps = Steps::default();
        for number in 0..u64::from(LEARNED_FROM) {
            assert_eq!(steps.symbol(26 * (40 + number)), None);
        }
        assert_eq!(steps.symbol(26 * 41), Some(41));
        assert_eq!(steps.symbol(26 * 300), Some(44), "modulo 256");
        assert!(!steps.is_stuck());
    }

    #[test]
    fn a_counter_that_stands_still_is_noticed() {
        let mut steps = Steps::default();
        (0..LEARNED_FROM).for_each(|_| assert_eq!(steps.symbol(0), None));
        assert!(steps.is_stuck());
        assert_eq!(steps.symbol(0), Some(0));
    }
}
