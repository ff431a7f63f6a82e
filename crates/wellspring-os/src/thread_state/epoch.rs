//! When a state is current.

use crate::thread::FIRST_EPOCH;
use core::sync::atomic::{AtomicU64, Ordering};

#[cfg(not(loom))]
pub(super) use core::sync::atomic::AtomicU64 as AtomicEpoch;
#[cfg(loom)]
pub(super) use loom::sync::atomic::AtomicU64 as AtomicEpoch;

/// A stretch of time in which nothing happened to some states, see
/// [`ThreadStates`](super::ThreadStates).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch {
    pub(crate) number: u64,
    /// Of which states. Those of others must not be marked with it.
    pub(crate) owner: u64,
}

/// The number of a new epoch, which no other has. In ordinary memory: a child goes on from where its parent was.
pub(super) fn next_epoch() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(FIRST_EPOCH);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Epoch {
    /// Its number, if it is of the states of `owner`.
    #[inline(always)]
    pub(crate) fn of(self, owner: u64) -> Option<u64> {
        (self.owner == owner).then_some(self.number)
    }
}
