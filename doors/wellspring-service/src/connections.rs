//! The connections that are open now: who is behind them, and what they have drawn.

use crate::doors::Door;
use crate::users::Peer;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// One connection.
#[derive(Debug)]
pub struct ConnectionMeter {
    /// The door that it came by.
    pub door: Door,
    /// The user at the other end.
    pub peer: Peer,
    /// The process at the other end, if the kernel names one: a virtual machine is its QEMU.
    pub process: Option<i32>,
    /// Since when it is open.
    pub since: Instant,
    /// Bytes drawn.
    pub bytes: AtomicU64,
    /// Requests.
    pub requests: AtomicU64,
    /// Requests of a guest that were completed with no bytes, because their descriptors were wrong.
    pub faulty: AtomicU64,
}

/// All connections.
#[derive(Debug, Default)]
pub struct Connections {
    last: AtomicU64,
    open: Mutex<BTreeMap<u64, Arc<ConnectionMeter>>>,
}

impl Connections {
    /// Adds one, and returns its number.
    pub fn add(&self, meter: Arc<ConnectionMeter>) -> u64 {
        let number = self.last.fetch_add(1, Relaxed) + 1;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.insert(number, meter);
        number
    }

    /// Removes one.
    pub fn remove(&self, number: u64) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.remove(&number);
    }

    /// The connections that have drawn most, at most `most` of them.
    #[must_use]
    pub fn greatest(&self, most: usize) -> Vec<(u64, Arc<ConnectionMeter>)> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let entries = open.iter();
        let mut all: Vec<_> = entries
            .map(|(number, meter)| (*number, meter.clone()))
            .collect();
        drop(open);
        all.sort_by_key(|(number, meter)| (core::cmp::Reverse(meter.bytes.load(Relaxed)), *number));
        all.truncate(most);
        all
    }
}
