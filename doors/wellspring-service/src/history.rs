//! One sample a second for the last two minutes. The page draws them.

use crate::doors::Door;
use crate::meters::LatencyCounts;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// The number of samples that are kept: 120 seconds lie between the first and the last.
pub const KEPT: usize = 121;

/// The counters at one instant.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The instant.
    pub at: Instant,
    /// The bytes of each door so far.
    pub bytes: [u64; Door::ALL.len()],
    /// The requests of all doors so far.
    pub latencies: LatencyCounts,
    /// How often a reader has taken a fresh key from each node so far.
    pub fetches: Vec<u64>,
}

/// The last samples.
#[derive(Debug, Default)]
pub struct History(Mutex<VecDeque<Sample>>);

impl History {
    /// Adds a sample, and drops the oldest if there are [`KEPT`] already.
    pub fn add(&self, sample: Sample) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(sample);
    }

    /// All of them, the oldest first.
    #[must_use]
    pub fn samples(&self) -> Vec<Sample> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().cloned().collect()
    }
}
