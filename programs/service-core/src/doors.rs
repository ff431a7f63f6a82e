//! The doors: the counters of each, and which of them are open.

use core::cmp::Reverse;
use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

/// A kind of door that hands out bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Door {
    /// The file `random`.
    Random,
    /// The file `urandom`.
    Urandom,
    /// The file `pseudo`: the statistical tier, no secrets.
    Pseudo,
    /// The sockets for EGD.
    Egd,
    /// The sockets for the bulk protocol.
    Bulk,
    /// The sockets for status and metrics.
    Web,
    /// The sockets for virtual machines: virtio-rng by vhost-user.
    VhostUser,
}

impl Door {
    /// All doors, in the order of their numbers.
    pub const ALL: [Self; 7] = [
        Self::Random,
        Self::Urandom,
        Self::Pseudo,
        Self::Egd,
        Self::Bulk,
        Self::Web,
        Self::VhostUser,
    ];

    /// The name in reports and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Urandom => "urandom",
            Self::Pseudo => "pseudo",
            Self::Egd => "egd",
            Self::Bulk => "bulk",
            Self::Web => "web",
            Self::VhostUser => "vhost-user",
        }
    }
}

/// The result of one attempt to open something that the configuration asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// `files`, `egd`, `bulk`, `web`, `vhost-user`, `page`, `noise`, `kernel-pool` or `kernel-module`.
    pub name: &'static str,
    /// The path or the address.
    pub place: String,
    /// The reason why it is not open. `None` if it is open.
    pub fault: Option<String>,
}

impl fmt::Display for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.fault {
            None => write!(f, "{}: open: {}", self.name, self.place),
            Some(fault) => write!(f, "{}: not open: {}: {fault}", self.name, self.place),
        }
    }
}

/// Meters and openings of all doors.
#[derive(Debug, Default)]
pub struct Doors {
    meters: [DoorMeter; Door::ALL.len()],
    openings: Mutex<Vec<Opening>>,
}

impl Doors {
    /// The meter of a door.
    pub fn meter(&self, door: Door) -> &DoorMeter {
        &self.meters[door as usize]
    }

    /// Notes and logs whether something could be opened, and returns it. If it could not, the service opens the others.
    pub fn tried<T, E: fmt::Display>(
        &self,
        name: &'static str,
        place: impl fmt::Display,
        result: Result<T, E>,
    ) -> Option<T> {
        let opening = Opening {
            name,
            place: place.to_string(),
            fault: result.as_ref().err().map(E::to_string),
        };
        if opening.fault.is_none() {
            log::info!("{opening}");
        } else {
            log::error!("{opening}");
        }
        let mut openings = self.openings.lock();
        openings.retain(|old| (old.name, &old.place) != (name, &opening.place));
        openings.push(opening);
        result.ok()
    }

    /// Notes the end of something that was open, and logs it. Without effect on what is not open.
    pub fn lost(&self, name: &'static str, place: impl fmt::Display, fault: impl fmt::Display) {
        let place = place.to_string();
        let is_this = |opening: &Opening| (opening.name, &opening.place) == (name, &place);
        let is_open = |opening: &Opening| is_this(opening) && opening.fault.is_none();
        if self.openings().iter().any(is_open) {
            self.tried::<(), _>(name, place, Err(fault));
        }
    }

    /// All attempts to open something, successful or not.
    pub fn openings(&self) -> Vec<Opening> {
        let openings = self.openings.lock();
        openings.clone()
    }
}

// The counters of a door: atomics that any thread adds to and any thread reads.

/// The upper bounds of the latency classes are powers of two in nanoseconds. The lowest is 2^[`FIRST_POWER`]: 1 us.
pub const FIRST_POWER: u32 = 10;
/// The number of classes with an upper bound: 1 us to 8.6 s. One more class counts the longer requests.
pub const CLASSES: usize = 24;

/// How long requests took.
#[derive(Debug, Default)]
pub struct Latencies {
    classes: [AtomicU64; CLASSES + 1],
    sum_ns: AtomicU64,
}

/// A copy of [`Latencies`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LatencyCounts {
    /// Requests in each class; the last has no upper bound.
    pub classes: [u64; CLASSES + 1],
    /// The sum of all latencies, in nanoseconds.
    pub sum_ns: u64,
}

impl Latencies {
    /// Counts a request.
    pub fn count(&self, took: Duration) {
        let ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let power = u64::BITS - ns.saturating_sub(1).leading_zeros();
        let class = power.saturating_sub(FIRST_POWER) as usize;
        self.classes[class.min(CLASSES)].fetch_add(1, Relaxed);
        self.sum_ns.fetch_add(ns, Relaxed);
    }

    /// The counts now.
    pub fn counts(&self) -> LatencyCounts {
        LatencyCounts {
            classes: core::array::from_fn(|class| self.classes[class].load(Relaxed)),
            sum_ns: self.sum_ns.load(Relaxed),
        }
    }
}

impl LatencyCounts {
    /// The number of requests.
    pub fn requests(&self) -> u64 {
        self.classes.iter().sum()
    }

    /// The upper bound of a class, in nanoseconds: at least `per_mille` of 1000 requests are in this class or a lower
    /// one. `None` without requests.
    pub fn quantile_ns(&self, per_mille: u64) -> Option<u64> {
        let wanted = (self.requests() * per_mille).div_ceil(1000).max(1);
        let mut below = 0;
        let class = self.classes.iter().position(|count| {
            below += count;
            below >= wanted
        })?;
        Some(upper_bound_ns(class))
    }
}

/// The upper bound of a class in nanoseconds. The last class has no bound: its value is twice the bound of the class before.
pub fn upper_bound_ns(class: usize) -> u64 {
    1 << (FIRST_POWER as usize + class)
}

/// The counters of a door.
#[derive(Debug, Default)]
pub struct DoorMeter {
    /// Bytes handed out.
    pub bytes: AtomicU64,
    /// Bytes that came in and were mixed in.
    pub mixed_bytes: AtomicU64,
    /// Connections that were accepted, or files that were opened.
    pub opened: AtomicU64,
    /// The connections or files that are open now.
    pub open_now: AtomicU64,
    /// Connections refused by a limit, and reads of files that would have filled the page cache.
    pub refused: AtomicU64,
    /// Connections closed to make room for a user who held fewer.
    pub gave_way: AtomicU64,
    /// Connections closed because of what came in.
    pub hostile: AtomicU64,
    /// The time of requests, from when a thread starts on one until its answer begins.
    pub latencies: Latencies,
}

/// The entries that have drawn most, at most `most` of them.
pub fn greatest<N: Ord + Copy, M>(
    mut all: Vec<(N, Arc<M>)>,
    bytes: impl Fn(&M) -> &AtomicU64,
    most: usize,
) -> Vec<(N, Arc<M>)> {
    // Each count is read once: they grow meanwhile, and a sort panics if the order changes.
    all.sort_by_cached_key(|(name, meter)| (Reverse(get(bytes(meter))), *name));
    all.truncate(most);
    all
}

/// Adds to a counter.
pub fn add(counter: &AtomicU64, amount: u64) {
    counter.fetch_add(amount, Relaxed);
}

/// Takes from a counter of what is open now.
pub fn subtract(counter: &AtomicU64, amount: u64) {
    counter.fetch_sub(amount, Relaxed);
}

/// Reads a counter.
pub fn get(counter: &AtomicU64) -> u64 {
    counter.load(Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_lies_in_the_class_of_the_next_power_of_two() {
        for (ns, class) in [(0, 0), (1, 0), (1024, 0), (1025, 1), (2048, 1), (2049, 2)] {
            let latencies = Latencies::default();
            latencies.count(Duration::from_nanos(ns));
            let counts = latencies.counts();
            assert_eq!(counts.classes[class], 1, "{ns} ns");
            assert_eq!(counts.quantile_ns(500), Some(1024 << class), "{ns} ns");
        }
        let latencies = Latencies::default();
        latencies.count(Duration::from_secs(3600));
        assert_eq!(latencies.counts().classes[CLASSES], 1);
    }

    #[test]
    fn a_quantile_of_nothing_is_nothing_and_the_highest_is_the_slowest() {
        let latencies = Latencies::default();
        assert_eq!(latencies.counts().quantile_ns(990), None);
        for _ in 0..99 {
            latencies.count(Duration::from_nanos(900));
        }
        latencies.count(Duration::from_millis(1));
        assert_eq!(latencies.counts().quantile_ns(990), Some(1024));
        assert_eq!(latencies.counts().quantile_ns(1000), Some(1 << 20));
    }
}
