//! The connections that are open now: who is behind them, and what they have drawn.

use crate::doors::Door;
use crate::meters::greatest;
use crate::users::Peer;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// One connection.
#[derive(Debug)]
pub(crate) struct ConnectionMeter {
    /// The door that it came by.
    pub(crate) door: Door,
    /// The user at the other end.
    pub(crate) peer: Peer,
    /// The process at the other end, if the kernel names one: a virtual machine is its QEMU.
    pub(crate) process: Option<i32>,
    /// Since when it is open.
    pub(crate) since: Instant,
    /// Bytes drawn.
    pub(crate) bytes: AtomicU64,
    /// Requests.
    pub(crate) requests: AtomicU64,
    /// Requests of a guest that were completed with no bytes, because their descriptors were wrong.
    pub(crate) faulty: AtomicU64,
}

/// All connections.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    last: AtomicU64,
    open: Mutex<BTreeMap<u64, Arc<ConnectionMeter>>>,
}

impl Connections {
    /// Adds one, and returns its number.
    pub(crate) fn add(&self, meter: Arc<ConnectionMeter>) -> u64 {
        let number = self.last.fetch_add(1, Relaxed) + 1;
        let mut open = self.open.lock();
        open.insert(number, meter);
        number
    }

    /// Removes one.
    pub(crate) fn remove(&self, number: u64) {
        let mut open = self.open.lock();
        open.remove(&number);
    }

    /// The connections that have drawn most, at most `most` of them.
    pub(crate) fn greatest(&self, most: usize) -> Vec<(u64, Arc<ConnectionMeter>)> {
        let all = self.open.lock().clone();
        greatest(all.into_iter().collect(), |meter| &meter.bytes, most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::AtomicBool;
    use std::thread;

    fn meter() -> Arc<ConnectionMeter> {
        Arc::new(ConnectionMeter {
            door: Door::Egd,
            peer: Peer::User(0),
            process: None,
            since: Instant::now(),
            bytes: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            faulty: AtomicU64::new(0),
        })
    }

    #[test]
    fn counts_that_grow_while_they_are_put_in_order_do_no_harm() {
        let connections = Connections::default();
        let meters: Vec<_> = (0..200).map(|_| meter()).collect();
        for meter in &meters {
            connections.add(meter.clone());
        }
        let has_ended = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut step = 0_usize;
                while !has_ended.load(Relaxed) {
                    step = step.wrapping_mul(5).wrapping_add(1);
                    meters[step % 200].bytes.fetch_add(1000, Relaxed);
                }
            });
            let in_order = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| {
                (0..5000).all(|_| connections.greatest(50).len() == 50)
            }));
            has_ended.store(true, Relaxed);
            assert!(in_order.is_ok_and(|all| all));
        });
    }
}
