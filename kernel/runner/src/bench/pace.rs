//! How much is measured.

use std::time::Duration;

/// How much is measured.
#[derive(Clone, Copy)]
pub(crate) struct Pace {
    pub(super) rounds: usize,
    /// The time of one case in one round.
    pub(super) slice: Duration,
    /// The time of a task beside readers in one round.
    pub(super) beside: Duration,
    /// Requests inside the kernel, of one kind in one round.
    pub(super) requests: u32,
}

/// About four minutes.
pub(crate) const FULL: Pace = Pace {
    rounds: 7,
    slice: Duration::from_millis(100),
    beside: Duration::from_millis(500),
    requests: 20_000,
};

/// A few seconds for the figures inside the kernel, so that they can have a busy machine to themselves.
pub(crate) const SHORT: Pace = Pace {
    rounds: 7,
    slice: Duration::from_millis(20),
    beside: Duration::from_millis(20),
    requests: 4000,
};

/// A few seconds, for tests.
pub(crate) const QUICK: Pace = Pace {
    rounds: 1,
    slice: Duration::from_millis(20),
    beside: Duration::from_millis(20),
    requests: 1000,
};
