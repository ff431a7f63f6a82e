//! Signs of life of the threads that serve connections: each counts the rounds of its loop.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use parking_lot::Mutex;
use std::sync::Arc;

/// A thread whose count stays the same for this many looks, of one a second, is stuck. A thread that has nothing to do
/// goes round its loop once a second.
const STILL_LOOKS: u32 = 5;

/// The count of one thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heartbeat(Arc<AtomicU64>);

impl Heartbeat {
    /// Counts a round of the loop.
    pub(crate) fn beat(&self) {
        self.0.fetch_add(1, Relaxed);
    }
}

#[derive(Debug)]
struct Watched {
    name: String,
    heartbeat: Heartbeat,
    seen: u64,
    still_looks: u32,
}

/// All threads that are watched.
#[derive(Debug, Default)]
pub(crate) struct Heartbeats(Mutex<Vec<Watched>>);

impl Heartbeats {
    /// Watches a thread, from its first round on.
    pub(crate) fn watch(&self, name: String) -> Heartbeat {
        let heartbeat = Heartbeat::default();
        let watched = Watched {
            name,
            heartbeat: heartbeat.clone(),
            seen: 0,
            still_looks: 0,
        };
        let mut all = self.0.lock();
        all.push(watched);
        heartbeat
    }

    /// Looks at all threads, and returns the names of those that are stuck. Called once a second. It counts looks, not
    /// time: while the whole process is stopped, there are none.
    pub(crate) fn look(&self) -> Vec<String> {
        let mut all = self.0.lock();
        for watched in all.iter_mut() {
            let now = watched.heartbeat.0.load(Relaxed);
            let is_still = now == watched.seen;
            watched.still_looks = if is_still { watched.still_looks + 1 } else { 0 };
            watched.seen = now;
        }
        let stuck = all.iter().filter(|one| one.still_looks >= STILL_LOOKS);
        stuck.map(|one| one.name.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_whose_count_stays_the_same_is_named_until_it_counts_again() {
        let heartbeats = Heartbeats::default();
        let (slow, fast) = (
            heartbeats.watch("slow".into()),
            heartbeats.watch("fast".into()),
        );
        for look in 1..=3 * STILL_LOOKS {
            fast.beat();
            let stuck: &[&str] = if look < STILL_LOOKS { &[] } else { &["slow"] };
            assert_eq!(heartbeats.look(), stuck, "{look}");
        }
        slow.beat();
        assert!(heartbeats.look().is_empty());
    }
}
