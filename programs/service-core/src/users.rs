//! The users that draw: their counters, their limits, and the order of their turns.

use crate::config::LimitsSection;
use crate::doors::{add, get, greatest, subtract};
use core::fmt;
use core::ops::Bound::{Excluded, Unbounded};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use parking_lot::{Mutex, RwLock};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The other end of a connection, as the kernel names it (SO_PEERCRED, or the address of vsock).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Peer {
    /// A user of this machine.
    User(u32),
    /// TCP on a loopback address: the kernel does not name the user.
    Loopback,
    /// The same at the web socket: a flood of another door by TCP takes no place and no turn of the metrics.
    LoopbackWeb,
    /// A machine at the other end of vsock, by its number: all of its users together.
    Machine(u32),
}

impl Peer {
    /// The user with the number 0.
    pub const ROOT: Self = Self::User(0);

    /// Whether many people can be behind it. One of them may hold all connections.
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
pub struct UserMeter {
    /// Bytes drawn.
    pub bytes: AtomicU64,
    /// Requests.
    pub requests: AtomicU64,
    /// Connections now.
    pub connections: AtomicU64,
    limit: RateLimit,
}

/// Users without a connection are remembered up to this number. One person can have 65,536 user numbers (subuid(5)), and
/// vsock has 2^32 numbers of machines.
const REMEMBERED: usize = 1024;

/// The connected users, and the users that drew most.
#[derive(Debug)]
pub struct Users {
    /// The limits in force; SIGHUP replaces them.
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
    pub fn limits(&self) -> LimitsSection {
        self.limits.read().clone()
    }

    /// Replaces the limits. Open connections stay open.
    pub fn set_limits(&self, limits: &LimitsSection) {
        *self.limits.write() = limits.clone();
    }

    /// The meter of a user.
    pub fn meter(&self, peer: Peer) -> Arc<UserMeter> {
        meter(&mut self.by_peer.lock(), peer).clone()
    }

    /// The users that are remembered and have drawn most, at most `most` of them.
    pub fn greatest(&self, most: usize) -> Vec<(Peer, Arc<UserMeter>)> {
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
    pub fn reserve(&self, peer: Peer, meter: &UserMeter, bytes: u64, now_ns: u64) -> u64 {
        let rate = self.limits.read().bytes_per_second_per_user;
        if peer == Peer::ROOT {
            return 0;
        }
        meter.limit.reserve(rate, bytes, now_ns)
    }

    /// The most bytes a second for one guest; 0: no limit.
    pub fn guest_rate(&self) -> u64 {
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

// A limit of bytes a second.

/// Bytes may be drawn in advance for this time.
const BURST_NS: u64 = 1_000_000_000;

/// The bytes that one user or guest has drawn, against its limit.
#[derive(Debug, Default)]
pub struct RateLimit {
    /// The time until which the bytes drawn so far use it up, in nanoseconds of the service's clock.
    used_until_ns: AtomicU64,
}

impl RateLimit {
    /// Takes `bytes` at `now_ns` of `rate` bytes a second; 0: there is no limit. Returns the time to wait
    /// first, in nanoseconds. If that is not 0, nothing was taken.
    #[must_use]
    pub fn reserve(&self, rate: u64, bytes: u64, now_ns: u64) -> u64 {
        if rate == 0 {
            return 0;
        }
        let cost_ns = u128::from(bytes) * 1_000_000_000 / u128::from(rate);
        let cost_ns = cost_ns.min(u128::from(u64::MAX / 4)) as u64;
        let mut wait_ns = 0;
        let _ = self
            .used_until_ns
            .fetch_update(Relaxed, Relaxed, |used_until_ns| {
                let from_ns = used_until_ns.max(now_ns);
                wait_ns = from_ns.saturating_sub(now_ns.saturating_add(BURST_NS));
                (wait_ns == 0).then(|| from_ns.saturating_add(cost_ns))
            });
        wait_ns
    }
}

// The order of turns: each user has one in its turn, however many connections or reads it has. Root waits for at most one
// turn of another user, however many users there are.

/// The connections or reads that have something to do.
#[derive(Debug)]
pub struct Turns<T> {
    /// The connections or reads of each user, in the order in which they came. No queue is empty.
    waiting: BTreeMap<Peer, VecDeque<T>>,
    /// The user, other than root, that had the last turn.
    last: Peer,
    /// Whether the very last turn was root's.
    was_root: bool,
}

impl<T> Default for Turns<T> {
    fn default() -> Self {
        Self {
            waiting: BTreeMap::new(),
            last: Peer::ROOT,
            was_root: false,
        }
    }
}

impl<T> Turns<T> {
    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Adds one of a user.
    pub fn add(&mut self, peer: Peer, one: T) {
        self.waiting.entry(peer).or_default().push_back(one);
    }

    /// Takes the connection or read whose turn it is.
    pub fn take(&mut self) -> Option<T> {
        let after = |peer| self.waiting.range((Excluded(peer), Unbounded)).next();
        // Root has the least number: after it come all others.
        let other = after(self.last).or_else(|| after(Peer::ROOT));
        let other = other.map(|(peer, _)| *peer);
        let is_roots =
            self.waiting.contains_key(&Peer::ROOT) && (!self.was_root || other.is_none());
        let peer = if is_roots { Peer::ROOT } else { other? };
        self.was_root = is_roots;
        if !is_roots {
            self.last = peer;
        }
        let queue = self.waiting.get_mut(&peer)?;
        let one = queue.pop_front();
        if queue.is_empty() {
            self.waiting.remove(&peer);
        }
        one
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

    /// Takes this many, and adds each of them again.
    fn took(turns: &mut Turns<usize>, peers: &[Peer], count: usize) -> Vec<usize> {
        let take = |_| {
            let place = turns.take().unwrap();
            turns.add(peers[place], place);
            place
        };
        (0..count).map(take).collect()
    }

    #[test]
    fn a_user_with_many_connections_has_one_turn_for_each_turn_of_another_user() {
        let [a, b, c] = [Peer::User(7), Peer::Loopback, Peer::Machine(3)];
        let peers = [a, a, a, a, b, c];
        let mut turns = Turns::default();
        for (place, peer) in peers.iter().enumerate() {
            turns.add(*peer, place);
        }
        assert_eq!(
            took(&mut turns, &peers, 12),
            [0, 4, 5, 1, 4, 5, 2, 4, 5, 3, 4, 5]
        );
        let mut left: Vec<_> = core::iter::from_fn(|| turns.take()).collect();
        left.sort_unstable();
        assert_eq!(left, [0, 1, 2, 3, 4, 5]);
        assert!(turns.is_empty());
    }

    #[test]
    fn root_waits_for_one_turn_at_most_and_does_not_keep_others_from_theirs() {
        let mut peers = vec![Peer::ROOT; 2];
        peers.extend((2..1000).map(Peer::User));
        let mut turns = Turns::default();
        for (place, peer) in peers.iter().enumerate() {
            turns.add(*peer, place);
        }
        let places = took(&mut turns, &peers, 10);
        assert_eq!(places, [0, 2, 1, 3, 0, 4, 1, 5, 0, 6]);
        // The last turn was another's: root is next.
        assert_eq!(turns.take(), Some(1));
        assert_eq!(turns.take(), Some(7));
    }

    #[test]
    fn alone_each_user_has_every_turn_and_the_end_is_seen() {
        for peer in [Peer::ROOT, Peer::User(9)] {
            let mut turns = Turns::default();
            turns.add(peer, 0);
            assert_eq!(took(&mut turns, &[peer], 3), [0, 0, 0]);
            assert_eq!(turns.take(), Some(0));
            assert!(turns.is_empty());
            assert_eq!(turns.take(), None);
        }
    }
}
