//! How much is measured, and what is kept of it.

use std::time::Duration;

/// How much is measured.
#[derive(Clone, Copy)]
pub(crate) struct Pace {
    pub(super) rounds: usize,
    /// The time of one case in one round.
    pub(super) slice: Duration,
    /// Requests inside the kernel, of one kind in one round.
    pub(super) requests: u32,
}

/// About two minutes.
pub(crate) const FULL: Pace = Pace {
    rounds: 7,
    slice: Duration::from_millis(100),
    requests: 20_000,
};

/// A few seconds, for tests.
pub(crate) const QUICK: Pace = Pace {
    rounds: 1,
    slice: Duration::from_millis(20),
    requests: 1000,
};

/// The middle of samples, of which there is one at least.
pub(super) fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}
