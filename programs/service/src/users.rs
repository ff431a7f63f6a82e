//! The users that draw, their counters, and their limits.

use crate::config::LimitsSection;
use crate::meters::{add, get, greatest, subtract};
use crate::rate_limit::RateLimit;
use core::fmt;
use core::sync::atomic::AtomicU64;
use parking_lot::{Mutex, RwLock};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The other end of a connection, as the kernel names it (SO_PEERCRED, or the address of vsock).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Peer {
    /// A user of this machine.
    User(u32),
    /// TCP on a loopback address: the kernel does not name the user.
    Loopback,
    /// The same at the web socket: who floods another door by TCP takes no place and no turn of the metrics.
    LoopbackWeb,
    /// A machine at the other end of vsock, by its number: all of its users together.
    Machine(u32),
}

impl Peer {
    /// The user with the number 0.
    pub(crate) const ROOT: Self = Self::User(0);

    /// Whether many people can be behind it, of whom one may hold all connections.
    pub(crate) fn is_shared(self) -> bool {
        !matches!(self, Self::User(_))
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(uid) => write!(f, "{uid}"),
            Self::Loopback => f.write_str("loopback"),
            Self::LoopbackWeb => f.write_str("loopback-web"),
            Self::Machine(number) => write!(f, "vsock:{number}"),
        }
    }
}

/// The counters of one user, for all doors together.
#[derive(Debug, Default)]
pub(crate) struct UserMeter {
    /// Bytes drawn.
    pub(crate) bytes: AtomicU64,
    /// Requests.
    pub(crate) requests: AtomicU64,
    /// Connections now.
    pub(crate) connections: AtomicU64,
    limit: RateLimit,
}

/// Users without a connection are remembered up to this number. One person can have 65,536 user numbers (subuid(5)), and
/// vsock has 2^32 numbers of machines.
const REMEMBERED: usize = 1024;

/// The users that are connected, and those that drew most.
#[derive(Debug)]
pub struct Users {
    /// Those in force; SIGHUP replaces them.
    limits: RwLock<LimitsSection>,
    by_peer: Mutex<BTreeMap<Peer, Arc<UserMeter>>>,
}

impl Users {
    /// A table without users, with these limits.
    pub fn new(limits: &LimitsSection) -> Self {
        Self {
            limits: RwLock::new(limits.clone()),
            by_peer: Mutex::default(),
        }
    }

    /// The limits in force.
    pub(crate) fn limits(&self) -> LimitsSection {
        self.limits.read().clone()
    }

    /// Replaces the limits. Open connections stay open.
    pub(crate) fn set_limits(&self, limits: &LimitsSection) {
        *self.limits.write() = limits.clone();
    }

    /// The meter of a user.
    pub(crate) fn meter(&self, peer: Peer) -> Arc<UserMeter> {
        meter(&mut self.by_peer.lock(), peer).clone()
    }

    /// The users that are remembered and have drawn most, at most `most` of them.
    pub(crate) fn greatest(&self, most: usize) -> Vec<(Peer, Arc<UserMeter>)> {
        let all = self.by_peer.lock().clone();
        greatest(all.into_iter().collect(), |meter| &meter.bytes, most)
    }

    /// Counts a connection, which [`leave`](Self::leave) ends.
    pub(crate) fn enter(&self, peer: Peer) -> Arc<UserMeter> {
        // Under the lock, so that no user is forgotten meanwhile.
        let mut by_peer = self.by_peer.lock();
        let meter = meter(&mut by_peer, peer);
        add(&meter.connections, 1);
        meter.clone()
    }

    /// Ends a connection.
    pub(crate) fn leave(&self, meter: &UserMeter) {
        subtract(&meter.connections, 1);
    }

    /// Takes `bytes` from the share of a user, at `now_ns`. Returns the time that the user has to wait first, in
    /// nanoseconds. If that is not 0, nothing was taken.
    #[must_use]
    pub(crate) fn reserve(&self, peer: Peer, meter: &UserMeter, bytes: u64, now_ns: u64) -> u64 {
        let rate = self.limits.read().bytes_per_second_per_user;
        if peer == Peer::ROOT {
            return 0;
        }
        meter.limit.reserve(rate, bytes, now_ns)
    }

    /// The most bytes a second for one guest; 0: no limit.
    pub(crate) fn guest_rate(&self) -> u64 {
        self.limits.read().bytes_per_second_per_guest.get()
    }
}

/// The meter of a user in the table, which gets one if it has none.
fn meter(by_peer: &mut BTreeMap<Peer, Arc<UserMeter>>, peer: Peer) -> &Arc<UserMeter> {
    if by_peer.len() > REMEMBERED && !by_peer.contains_key(&peer) {
        forget_some(by_peer);
    }
    by_peer.entry(peer).or_default()
}

/// If more users than [`REMEMBERED`] have no connection, forgets the half of these that drew least, with their shares.
fn forget_some(by_peer: &mut BTreeMap<Peer, Arc<UserMeter>>) {
    let is_idle = |meter: &UserMeter| get(&meter.connections) == 0;
    let idle = by_peer.iter().filter(|(_, meter)| is_idle(meter));
    let mut idle: Vec<(u64, Peer)> = idle
        .map(|(peer, meter)| (get(&meter.bytes), *peer))
        .collect();
    if idle.len() > REMEMBERED {
        idle.sort_unstable();
        for (_, peer) in &idle[..idle.len() / 2] {
            by_peer.remove(peer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn users(rate: u64) -> Users {
        Users::new(&LimitsSection {
            bytes_per_second_per_user: rate,
            ..LimitsSection::default()
        })
    }

    #[test]
    fn over_a_minute_a_user_gets_its_rate_and_one_burst() {
        let users = users(1000);
        let meter = users.meter(Peer::User(7));
        let (mut now_ns, mut drawn) = (5_000_000_000, 0);
        let end_ns = now_ns + 60_000_000_000;
        while now_ns < end_ns {
            match users.reserve(Peer::User(7), &meter, 100, now_ns) {
                0 => drawn += 100,
                wait_ns => now_ns += wait_ns,
            }
        }
        assert!((61_000..=61_200).contains(&drawn), "{drawn}");
        assert_eq!(users.reserve(Peer::ROOT, &meter, 1 << 40, now_ns), 0);
    }

    #[test]
    fn a_person_with_many_user_numbers_does_not_fill_the_table_and_those_that_count_stay() {
        let users = users(0);
        let connected = users.enter(Peer::User(7));
        add(&users.meter(Peer::User(8)).bytes, 1 << 30);
        for number in 100..100_000 {
            let meter = users.enter(Peer::Machine(number));
            users.leave(&meter);
        }
        let remembered = users.greatest(usize::MAX).len();
        assert!(remembered <= REMEMBERED + 2, "{remembered}");
        assert_eq!(users.greatest(1)[0].0, Peer::User(8));
        assert!(Arc::ptr_eq(&connected, &users.meter(Peer::User(7))));
    }
}
