//! The descriptors of the process: those that are kept back for root and for the service itself, and the share of guests.

use crate::connections::Room;
use crate::doors::Door;
use crate::meters::{add, get, subtract};
use crate::users::Peer;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use rustix::event::{EventfdFlags, eventfd};
use rustix::process::{Resource, getrlimit};
use std::os::fd::{AsFd, AsRawFd};

/// Kept for the service itself, which opens files and sockets while it runs: seed files, sources, messages to systemd.
const FOR_SERVICE: u64 = 16;

/// Kept for connections of root.
const FOR_ROOT: u64 = 48;

/// The descriptors of a guest: its connection twice, its kick and its call. Its memory keeps none.
const OF_A_GUEST: u64 = 4;

/// The descriptors of a user who has guests: those of the thread, and 32 that come with one message.
const OF_A_USER_WITH_GUESTS: u64 = 40;

/// The most users who have guests, if there are enough descriptors: each has a thread.
const MOST_USERS_WITH_GUESTS: u64 = 64;

/// The numbers from which on descriptors are kept back, and the share of guests.
#[derive(Debug)]
pub(crate) struct Descriptors {
    of_users: u64,
    of_root: u64,
    limit: u64,
    /// The number of those that were open at the start.
    at_start: u64,
    /// The number of those of connections.
    of_connections: AtomicU64,
    /// The most guests of all users but root together.
    guests: u64,
    /// The most users but root who have guests.
    pub(crate) users_with_guests: u64,
    /// From this time on the log may say again that too few are left.
    next_line_ns: AtomicU64,
}

fn limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// The least time between two lines of the log that say so.
const LOG_PAUSE_NS: u64 = 60_000_000_000;

impl Descriptors {
    /// Those of this process, under the limit that it has now. Call it before there are connections.
    pub(crate) fn of_process() -> Self {
        // All that is open has a lower number than what is opened next.
        let next = eventfd(0, EventfdFlags::CLOEXEC);
        Self {
            at_start: next.map_or(0, |next| next.as_raw_fd() as u64),
            ..Self::under(limit())
        }
    }

    /// The most guests of all users but root together, under the limit that the process has now.
    pub(crate) fn guests() -> u64 {
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
