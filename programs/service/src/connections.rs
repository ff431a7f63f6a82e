//! The connections that are open now: who is behind them, what they have drawn, and which of them gives way when there are
//! too many.
//!
//! When there is no room, the user with the most connections closes the one that has asked for nothing for the longest time,
//! and a user who holds fewer gets its place. So no number of users keeps a user without a connection out. Root's connections
//! and guests never give way: a virtual machine does not connect again.

use crate::config::LimitsSection;
use crate::doors::Door;
use crate::meters::{add, get, greatest, subtract};
use crate::users::Peer;
use core::cmp::Reverse;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use parking_lot::Mutex;
use rustix::event::{EventfdFlags, eventfd};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::OwnedFd;
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
    /// When it began, and later when it last had an answer or a part of one: nanoseconds since the start of the service.
    /// What it sends does not count: half a request keeps no place.
    pub(crate) active_ns: AtomicU64,
    /// Learns that it has to close the connection. `None`: this connection never gives way.
    pub(crate) closer: Option<Arc<Closer>>,
}

/// The connections that a thread has to close, to make room for others.
#[derive(Debug)]
pub(crate) struct Closer {
    /// The descriptor to wait for: each connection adds 1.
    pub(crate) told: OwnedFd,
    numbers: Mutex<Vec<u64>>,
}

impl Closer {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            told: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            numbers: Mutex::default(),
        })
    }

    fn tell(&self, number: u64) {
        self.numbers.lock().push(number);
        let _ = rustix::io::write(&self.told, &1_u64.to_ne_bytes());
    }
}

/// The reason why a connection is refused.
pub(crate) type Refusal = &'static str;

const TOO_MANY: Refusal = "all users together have too many connections";
const TOO_MANY_OF_USER: Refusal = "this user has too many connections";
pub(crate) const TOO_FEW_DESCRIPTORS: Refusal = "too few descriptors are left";

/// A connection that was let in.
#[derive(Debug)]
pub(crate) struct Entered {
    pub(crate) number: u64,
    pub(crate) meter: Arc<ConnectionMeter>,
    /// The connection that gave way to it.
    pub(crate) gave_way: Option<Arc<ConnectionMeter>>,
}

/// The descriptors of the process, as a new connection finds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// There are enough.
    Enough,
    /// There is one if another connection gives way.
    InExchange,
    /// There is none.
    Nothing,
}

/// The connections of a user that may give way.
#[derive(Debug, Default)]
struct Holder {
    /// By the time of their activity as it was when they were put here, which is never too late; with their numbers.
    by_activity: BTreeSet<(u64, u64)>,
    /// The number of the newest one.
    newest: u64,
    /// All of the user's connections, with those that never give way.
    all: u64,
}

impl Holder {
    /// Users with as many connections give way in the order in which they connected last.
    fn rank(&self, peer: Peer) -> Rank {
        (self.by_activity.len(), Reverse(self.newest), peer)
    }
}

type Rank = (usize, Reverse<u64>, Peer);

#[derive(Debug)]
struct Open {
    meter: Arc<ConnectionMeter>,
    /// The time of its activity under which its user has it.
    noted_ns: u64,
}

#[derive(Debug, Default)]
struct Table {
    open: BTreeMap<u64, Open>,
    holders: BTreeMap<Peer, Holder>,
    /// The user with the most connections that may give way is the last.
    ranks: BTreeSet<Rank>,
}

impl Table {
    /// Changes what a user holds, and with it the user's rank.
    fn change(&mut self, peer: Peer, change: impl FnOnce(&mut Holder)) {
        let holder = self.holders.entry(peer).or_default();
        self.ranks.remove(&holder.rank(peer));
        change(holder);
        if holder.all == 0 {
            self.holders.remove(&peer);
        } else if !holder.by_activity.is_empty() {
            self.ranks.insert(holder.rank(peer));
        }
    }

    fn held(&self, peer: Peer) -> u64 {
        self.holders.get(&peer).map_or(0, |holder| holder.all)
    }

    /// The connections of all users but root, who has no limit.
    fn of_users(&self) -> u64 {
        self.open.len() as u64 - self.held(Peer::ROOT)
    }

    /// The user who has to give way to a new connection of `peer`. `None`: there is none who holds more.
    fn greatest_holder(&self, peer: Peer) -> Option<Peer> {
        let own = self
            .holders
            .get(&peer)
            .map_or(0, |own| own.by_activity.len());
        let (most, _, holder) = *self.ranks.last()?;
        if most > own {
            return Some(holder);
        }
        // As many as the greatest: of many people, one makes room for another.
        (most == own && peer.is_shared()).then_some(peer)
    }

    /// The connection of a user that has been idle for the longest time.
    fn most_idle(&mut self, peer: Peer) -> Option<u64> {
        let holder = self.holders.get_mut(&peer)?;
        loop {
            let (_, number) = *holder.by_activity.first()?;
            let open = self.open.get_mut(&number)?;
            let active_ns = get(&open.meter.active_ns);
            if active_ns <= open.noted_ns {
                return Some(number);
            }
            // Each answer costs one such step at most.
            holder.by_activity.remove(&(open.noted_ns, number));
            holder.by_activity.insert((active_ns, number));
            open.noted_ns = active_ns;
        }
    }

    fn insert(&mut self, number: u64, open: Open) {
        let meter = &open.meter;
        self.change(meter.peer, |holder| {
            holder.all += 1;
            if meter.closer.is_some() && meter.peer != Peer::ROOT {
                holder.by_activity.insert((open.noted_ns, number));
                holder.newest = number;
            }
        });
        self.open.insert(number, open);
    }

    fn remove(&mut self, number: u64) -> Option<Arc<ConnectionMeter>> {
        let open = self.open.remove(&number)?;
        self.change(open.meter.peer, |holder| {
            holder.all -= 1;
            holder.by_activity.remove(&(open.noted_ns, number));
        });
        Some(open.meter)
    }
}

/// All connections.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    last: AtomicU64,
    table: Mutex<Table>,
    /// Those that gave way and are not closed yet: other threads do that.
    closing: AtomicU64,
}

/// The most connections that gave way and are still open. Then the thread that accepts leaves the others time to close them:
/// what is kept back of descriptors has room for 24.
const MOST_CLOSING: u64 = 8;

impl Connections {
    /// Adds one, for which another may give way. Root has no limit, so that an operator can always connect.
    pub(crate) fn enter(
        &self,
        limits: &LimitsSection,
        room: Room,
        meter: ConnectionMeter,
    ) -> Result<Entered, Refusal> {
        let peer = meter.peer;
        // Under one lock, so that two threads do not both take the last place.
        let mut table = self.table.lock();
        let is_root = peer == Peer::ROOT;
        let is_full_of_user = !is_root && table.held(peer) >= limits.connections_per_user.get();
        let is_full = !is_root && table.of_users() >= limits.connections.get();
        let holder = if room == Room::Nothing {
            return Err(TOO_FEW_DESCRIPTORS);
        } else if is_full_of_user {
            Some(peer.is_shared().then_some(peer).ok_or(TOO_MANY_OF_USER)?)
        } else if is_full {
            Some(table.greatest_holder(peer).ok_or(TOO_MANY)?)
        } else if room == Room::InExchange {
            Some(table.greatest_holder(peer).ok_or(TOO_FEW_DESCRIPTORS)?)
        } else {
            None
        };
        let gave_way = match holder {
            Some(holder) => {
                let number = table.most_idle(holder).ok_or(TOO_MANY)?;
                let gone = table.remove(number);
                if let Some(closer) = gone.as_ref().and_then(|meter| meter.closer.as_ref()) {
                    add(&self.closing, 1);
                    closer.tell(number);
                }
                gone
            }
            None => None,
        };
        let number = self.last.fetch_add(1, Relaxed) + 1;
        let meter = Arc::new(meter);
        let open = Open {
            noted_ns: get(&meter.active_ns),
            meter: meter.clone(),
        };
        table.insert(number, open);
        Ok(Entered {
            number,
            meter,
            gave_way,
        })
    }

    /// Has a thread close its connections that gave way.
    pub(crate) fn close_with(&self, closer: &Closer, close: impl FnMut(u64)) {
        let numbers = core::mem::take(&mut *closer.numbers.lock());
        let count = numbers.len() as u64;
        numbers.into_iter().for_each(close);
        subtract(&self.closing, count);
    }

    /// Whether too many that gave way are still open.
    pub(crate) fn are_closing(&self) -> bool {
        get(&self.closing) >= MOST_CLOSING
    }

    /// Removes one, if it did not give way before.
    pub(crate) fn remove(&self, number: u64) {
        self.table.lock().remove(number);
    }

    /// The connections that have drawn most, at most `most` of them.
    pub(crate) fn greatest(&self, most: usize) -> Vec<(u64, Arc<ConnectionMeter>)> {
        let table = self.table.lock();
        let all = table
            .open
            .iter()
            .map(|(number, open)| (*number, open.meter.clone()))
            .collect();
        drop(table);
        greatest(all, |meter| &meter.bytes, most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Bounded;
    use core::sync::atomic::AtomicBool;
    use std::thread;

    const LIMITS: LimitsSection = LimitsSection {
        connections: Bounded::clamped(6),
        connections_per_user: Bounded::clamped(4),
        bytes_per_second_per_user: 0,
        bytes_per_second_per_guest: Bounded::clamped(0),
    };

    struct Bench {
        connections: Connections,
        closer: Arc<Closer>,
        now_ns: u64,
    }

    impl Bench {
        fn new() -> Self {
            Self {
                connections: Connections::default(),
                closer: Arc::new(Closer::new().unwrap()),
                now_ns: 0,
            }
        }

        fn meter(&mut self, peer: Peer) -> ConnectionMeter {
            self.now_ns += 1;
            ConnectionMeter {
                door: Door::Egd,
                peer,
                process: None,
                since: Instant::now(),
                bytes: AtomicU64::new(0),
                requests: AtomicU64::new(0),
                faulty: AtomicU64::new(0),
                active_ns: AtomicU64::new(self.now_ns),
                closer: Some(self.closer.clone()),
            }
        }

        fn enters_with(&mut self, peer: Peer, room: Room) -> Result<Entered, Refusal> {
            let meter = self.meter(peer);
            self.connections.enter(&LIMITS, room, meter)
        }

        fn enters(&mut self, peer: Peer) -> Result<Entered, Refusal> {
            self.enters_with(peer, Room::Enough)
        }

        /// The connections that have to be closed.
        fn closed(&self) -> Vec<u64> {
            let mut numbers = Vec::new();
            self.connections
                .close_with(&self.closer, |number| numbers.push(number));
            numbers
        }
    }

    #[test]
    fn a_user_at_its_limit_is_refused_and_others_and_root_are_not() {
        let mut bench = Bench::new();
        let first = bench.enters(Peer::User(7)).unwrap();
        for _ in 1..4 {
            bench.enters(Peer::User(7)).unwrap();
        }
        assert_eq!(bench.enters(Peer::User(7)).unwrap_err(), TOO_MANY_OF_USER);
        for _ in 0..10 {
            bench.enters(Peer::ROOT).unwrap();
        }
        bench.enters(Peer::User(8)).unwrap();
        bench.enters(Peer::User(9)).unwrap();
        assert!(bench.closed().is_empty());
        bench.connections.remove(first.number);
        bench.enters(Peer::User(7)).unwrap();
        assert!(bench.closed().is_empty());
    }

    #[test]
    fn who_holds_most_gives_up_what_was_idle_longest_to_those_who_hold_fewer() {
        let mut bench = Bench::new();
        let greatest: Vec<_> = (0..4)
            .map(|_| bench.enters(Peer::User(7)).unwrap())
            .collect();
        let other = [8, 8].map(|user| bench.enters(Peer::User(user)).unwrap());
        // The first two had answers since; the third has been idle longest.
        for meter in greatest.iter().take(2).rev() {
            bench.now_ns += 1;
            meter.meter.active_ns.store(bench.now_ns, Relaxed);
        }
        bench.enters(Peer::User(9)).unwrap();
        bench.enters(Peer::User(10)).unwrap();
        assert_eq!(bench.closed(), [greatest[2].number, greatest[3].number]);
        // What gave way may be closed later: it is no longer counted, and its end takes nothing away.
        bench.connections.remove(greatest[2].number);
        // 7 and 8 have two each. Of those who hold as many the one who connected least lately gives way.
        bench.enters(Peer::User(11)).unwrap();
        assert_eq!(bench.closed(), [greatest[1].number]);
        bench.enters(Peer::User(12)).unwrap();
        assert_eq!(bench.closed(), [other[0].number]);
        // All have one: each makes room for a user who has none, and for none who has one.
        assert_eq!(bench.enters(Peer::User(12)).unwrap_err(), TOO_MANY);
        bench.enters(Peer::User(13)).unwrap();
        assert_eq!(bench.closed(), [greatest[0].number]);
    }

    /// One person can have 65,536 user numbers.
    #[test]
    fn no_number_of_users_keeps_another_user_out() {
        let mut bench = Bench::new();
        for user in 100..1000 {
            bench.enters(Peer::User(user)).unwrap();
        }
        let mine = bench.enters(Peer::User(7)).unwrap();
        bench.closed();
        for user in 1000..1005 {
            bench.enters(Peer::User(user)).unwrap();
        }
        assert!(
            !bench.closed().contains(&mine.number),
            "it has not been idle longest"
        );
    }

    #[test]
    fn where_many_are_behind_one_name_the_longest_idle_gives_way_and_the_metrics_keep_their_places()
    {
        for peer in [Peer::Loopback, Peer::LoopbackWeb, Peer::Machine(3)] {
            let mut bench = Bench::new();
            let held: Vec<_> = (0..4).map(|_| bench.enters(peer).unwrap()).collect();
            let web = bench.enters(Peer::User(7)).unwrap();
            bench.enters(peer).unwrap();
            bench.enters(peer).unwrap();
            assert_eq!(bench.closed(), [held[0].number, held[1].number]);
            bench.connections.remove(web.number);
        }
        let mut bench = Bench::new();
        for _ in 0..100 {
            let _ = bench.enters(Peer::Loopback);
        }
        bench.closed();
        bench.enters(Peer::LoopbackWeb).unwrap();
        assert!(bench.closed().is_empty());
    }

    #[test]
    fn root_and_guests_never_give_way_and_descriptors_come_from_who_holds_most() {
        let mut bench = Bench::new();
        for _ in 0..4 {
            bench.enters(Peer::ROOT).unwrap();
            let mut guest = bench.meter(Peer::User(8));
            guest.closer = None;
            bench
                .connections
                .enter(&LIMITS, Room::Enough, guest)
                .unwrap();
        }
        let exchange =
            |bench: &mut Bench, user| bench.enters_with(Peer::User(user), Room::InExchange);
        assert_eq!(exchange(&mut bench, 9).unwrap_err(), TOO_FEW_DESCRIPTORS);
        let held = bench.enters(Peer::User(7)).unwrap();
        assert_eq!(exchange(&mut bench, 7).unwrap_err(), TOO_FEW_DESCRIPTORS);
        exchange(&mut bench, 9).unwrap();
        assert_eq!(bench.closed(), [held.number]);
        let refused = bench.enters_with(Peer::ROOT, Room::Nothing).unwrap_err();
        assert_eq!(refused, TOO_FEW_DESCRIPTORS);
        bench.enters_with(Peer::ROOT, Room::InExchange).unwrap();
        assert_eq!(bench.closed().len(), 1);
    }

    #[test]
    fn what_all_hold_is_forgotten_when_all_have_gone() {
        let mut bench = Bench::new();
        let peers = [Peer::User(7), Peer::ROOT, Peer::Loopback, Peer::User(7)];
        let all: Vec<_> = (0..1000)
            .filter_map(|at| bench.enters(peers[at % 4]).ok())
            .collect();
        for one in all {
            one.meter.active_ns.fetch_add(1000, Relaxed);
            bench.connections.remove(one.number);
        }
        let table = bench.connections.table.lock();
        assert!(table.open.is_empty() && table.holders.is_empty() && table.ranks.is_empty());
    }

    #[test]
    fn counts_that_grow_while_they_are_put_in_order_do_no_harm() {
        let mut bench = Bench::new();
        let enter = |_| bench.enters(Peer::ROOT).unwrap().meter;
        let meters: Vec<_> = (0..200).map(enter).collect();
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
                (0..5000).all(|_| bench.connections.greatest(50).len() == 50)
            }));
            has_ended.store(true, Relaxed);
            assert!(in_order.is_ok_and(|all| all));
        });
    }
}
