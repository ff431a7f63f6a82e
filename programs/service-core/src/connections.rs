//! The connections that are open now: who is behind them, what they have drawn, and which of them gives way when there are
//! too many; and the descriptors that are kept back for root, for guests and for the service itself.
//!
//! When there is no room, the user with the most connections loses the connection that has been idle for the longest time, and
//! a user who holds fewer gets its place. So no number of users can keep out a user without a connection. Root's connections
//! and guests never give way: a virtual machine does not connect again.

use crate::config::LimitsSection;
use crate::doors::{Door, add, get, greatest, subtract};
use crate::users::Peer;
use core::cmp::Reverse;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use parking_lot::Mutex;
use rustix::event::{EventfdFlags, eventfd};
use rustix::process::{Resource, getrlimit};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;
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
    /// When it began, and later when it last had an answer or a part of one: nanoseconds since the start of the service.
    /// What it sends does not count: half a request keeps no place.
    pub active_ns: AtomicU64,
    /// Learns that it has to close the connection. `None`: this connection never gives way.
    pub closer: Option<Arc<Closer>>,
}

/// The connections that a thread has to close, to make room for others.
#[derive(Debug)]
pub struct Closer {
    /// The descriptor to wait for: each connection adds 1.
    pub told: OwnedFd,
    numbers: Mutex<Vec<u64>>,
}

impl Closer {
    /// No connection has to be closed.
    ///
    /// # Errors
    ///
    /// Without a descriptor.
    pub fn new() -> io::Result<Self> {
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
    /// There is no descriptor for a new connection.
    Nothing,
}

/// The connections of a user that may give way.
#[derive(Debug, Default)]
struct Holder {
    /// By the time of their activity as it was when they were put here, which is never too late; with their numbers.
    by_activity: BTreeSet<(u64, u64)>,
    /// The number of the newest connection.
    newest: u64,
    /// All of the user's connections, even if they never give way.
    all: u64,
}

impl Holder {
    /// If two users have as many connections, the one whose newest connection is older gives way first.
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

    /// The user who has to give way to a new connection of `peer`. `None` if no user has to.
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
pub struct Connections {
    last: AtomicU64,
    table: Mutex<Table>,
    /// The connections that gave way and are not closed yet: other threads close them.
    closing: AtomicU64,
}

/// The most connections that gave way and are still open. Then the thread that accepts leaves the others time to close them:
/// the descriptors that are kept back have room for 24.
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
    pub fn close_with(&self, closer: &Closer, close: impl FnMut(u64)) {
        let numbers = core::mem::take(&mut *closer.numbers.lock());
        let count = numbers.len() as u64;
        numbers.into_iter().for_each(close);
        subtract(&self.closing, count);
    }

    /// Whether too many that gave way are still open.
    pub fn are_closing(&self) -> bool {
        get(&self.closing) >= MOST_CLOSING
    }

    /// Removes one, if it did not give way before.
    pub(crate) fn remove(&self, number: u64) {
        self.table.lock().remove(number);
    }

    /// The connections that have drawn most, at most `most` of them.
    pub fn greatest(&self, most: usize) -> Vec<(u64, Arc<ConnectionMeter>)> {
        let table = self.table.lock();
        let all = table
            .open
            .iter()
            .map(|(number, open)| (*number, open.meter.clone()))
            .collect();
        drop(table);
        greatest(all, |meter| &meter.bytes, most)
    }

    /// The connections that came by this door.
    pub fn of_door(&self, door: Door) -> Vec<(u64, Arc<ConnectionMeter>)> {
        let table = self.table.lock();
        let all = table.open.iter();
        all.filter(|(_, open)| open.meter.door == door)
            .map(|(number, open)| (*number, open.meter.clone()))
            .collect()
    }
}

// The descriptors of the process: some are kept back for root and for the service itself, and guests have a share.

/// Kept for the service itself, which opens files and sockets while it runs: seed files, sources, messages to systemd.
const FOR_SERVICE: u64 = 16;

/// Kept for connections of root.
const FOR_ROOT: u64 = 48;

/// The descriptors of a guest: its connection twice, its kick and its call. Its memory keeps none.
const OF_A_GUEST: u64 = 4;

/// The descriptors of a user who has guests: the thread's, and 32 that come with one message.
const OF_A_USER_WITH_GUESTS: u64 = 40;

/// The most users who have guests, if there are enough descriptors: each has a thread.
const MOST_USERS_WITH_GUESTS: u64 = 64;

/// The numbers from which on descriptors are kept back, and the share of guests.
#[derive(Debug)]
pub struct Descriptors {
    of_users: u64,
    of_root: u64,
    limit: u64,
    /// The number of descriptors that were open at the start.
    at_start: u64,
    /// The number of descriptors that connections hold.
    of_connections: AtomicU64,
    /// The most guests of all users but root together.
    guests: u64,
    /// The most users but root who have guests.
    pub users_with_guests: u64,
    /// From this time on the log may say again that too few are left.
    next_line_ns: AtomicU64,
}

fn limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// The least time between two lines of the log that say so.
const LOG_PAUSE_NS: u64 = 60_000_000_000;

impl Descriptors {
    /// The descriptors of this process, under the limit that it has now. Call it before there are connections.
    pub(crate) fn of_process() -> Self {
        // All open descriptors have a lower number than the next one.
        let next = eventfd(0, EventfdFlags::CLOEXEC);
        Self {
            at_start: next.map_or(0, |next| next.as_raw_fd() as u64),
            ..Self::under(limit())
        }
    }

    /// The most guests of all users but root together, under the limit that the process has now.
    pub fn guests() -> u64 {
        Self::under(limit()).guests
    }

    /// Half of a very low limit is for users; half of what is for users is for guests.
    fn under(limit: u64) -> Self {
        let of_root = limit - FOR_SERVICE.min(limit / 8);
        let of_users = of_root - FOR_ROOT.min(limit / 8 * 3);
        Self {
            of_users,
            of_root,
            limit,
            at_start: 0,
            of_connections: AtomicU64::new(0),
            guests: of_users / 4 / OF_A_GUEST,
            users_with_guests: (of_users / 4 / OF_A_USER_WITH_GUESTS).min(MOST_USERS_WITH_GUESTS),
            next_line_ns: AtomicU64::new(0),
        }
    }

    /// Logs that too few are left, at most once a minute.
    pub(crate) fn log_refusal(&self, now_ns: u64) {
        let next_ns = now_ns.saturating_add(LOG_PAUSE_NS);
        let claim = |at_ns| (at_ns <= now_ns).then_some(next_ns);
        if self
            .next_line_ns
            .fetch_update(Relaxed, Relaxed, claim)
            .is_ok()
        {
            log::warn!(
                "connections are refused: {} descriptors are open, the rest is kept for root and the service itself",
                self.of_users
            );
        }
    }

    /// Whether a connection may keep its descriptor, the newest of the process. The kernel gives the lowest number that is
    /// free: if that is N, at least N descriptors are open, whatever they are for. Half of what is kept back is for connections
    /// in exchange for others, which their threads close a moment later.
    pub(crate) fn room_for(&self, peer: Peer, newest: &impl AsFd) -> Room {
        let (own, next) = if peer == Peer::ROOT {
            (self.of_root, self.limit)
        } else {
            (self.of_users, self.of_root)
        };
        let number = newest.as_fd().as_raw_fd() as u64;
        if number.max(self.at_start + get(&self.of_connections)) < own {
            Room::Enough
        } else if number < own.midpoint(next) {
            Room::InExchange
        } else {
            Room::Nothing
        }
    }

    /// Counts the descriptors of a connection, until [`give_back`](Self::give_back).
    pub(crate) fn take(&self, door: Door) {
        add(&self.of_connections, of_a_connection(door));
    }

    /// Ends what [`take`](Self::take) began.
    pub(crate) fn give_back(&self, door: Door) {
        subtract(&self.of_connections, of_a_connection(door));
    }
}

fn of_a_connection(door: Door) -> u64 {
    if door == Door::VhostUser {
        OF_A_GUEST
    } else {
        1
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
        // 7 and 8 have two each. Of users with as many connections, the one who connected least lately gives way.
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

    #[test]
    fn the_last_descriptors_are_for_root_and_then_for_the_service_alone() {
        for (limit, of_users, of_root) in [(1024, 960, 1008), (64, 32, 56), (0, 0, 0)] {
            let descriptors = Descriptors::under(limit);
            let found = (descriptors.of_users, descriptors.of_root);
            assert_eq!(found, (of_users, of_root), "{limit}");
        }
        // Guests leave half to the sockets, whatever the limit is.
        for limit in [0, 1, 64, 512, 1024, 1 << 19, u64::MAX] {
            let of = Descriptors::under(limit);
            let taken = of.guests * OF_A_GUEST + of.users_with_guests * OF_A_USER_WITH_GUESTS;
            assert!(taken <= of.of_users / 2, "{limit}");
        }
        let newest = rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC).unwrap();
        let newest = rustix::io::fcntl_dupfd_cloexec(&newest, 20).unwrap();
        let number = newest.as_raw_fd() as u64;
        let room = |of_users, of_root, taken: u64| {
            let descriptors = Descriptors {
                of_users,
                of_root,
                limit: of_root + 8,
                at_start: 3,
                of_connections: taken.into(),
                ..Descriptors::under(0)
            };
            let peers = [Peer::ROOT, Peer::User(7), Peer::LoopbackWeb];
            peers.map(|peer| descriptors.room_for(peer, &newest))
        };
        let (enough, exchange, nothing) = (Room::Enough, Room::InExchange, Room::Nothing);
        assert_eq!(room(number + 1, number + 9, 0), [enough, enough, enough]);
        assert_eq!(room(number, number + 8, 0), [enough, exchange, exchange]);
        assert_eq!(room(number - 4, number + 4, 0), [enough, nothing, nothing]);
        assert_eq!(room(number - 8, number, 0), [exchange, nothing, nothing]);
        assert_eq!(
            room(number - 12, number - 4, 0),
            [nothing, nothing, nothing]
        );
        // A low number that a connection gave back does not make more of them.
        let all = |of_users| room(of_users, of_users + 8, number + 20);
        assert_eq!(all(number + 24), [enough, enough, enough]);
        assert_eq!(all(number + 23), [enough, exchange, exchange]);
        assert_eq!(all(number + 15), [exchange, exchange, exchange]);
    }
}
