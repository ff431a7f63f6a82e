//! The descriptors of the process: those that are kept back for root and for the service itself, and the share of guests.

use crate::users::Peer;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
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
    /// The most guests of all users but root together.
    pub(crate) guests: u64,
    /// The most users but root who have guests.
    pub(crate) users_with_guests: u64,
    /// From this time on the log may say again that too few are left.
    next_line_ns: AtomicU64,
}

/// The least time between two lines of the log that say so.
const LOG_PAUSE_NS: u64 = 60_000_000_000;

impl Descriptors {
    /// Those of this process, under the limit that it has now.
    pub(crate) fn of_process() -> Self {
        Self::under(getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX))
    }

    /// Half of a very low limit is for users; half of what is for users is for guests.
    fn under(limit: u64) -> Self {
        let of_root = limit - FOR_SERVICE.min(limit / 8);
        let of_users = of_root - FOR_ROOT.min(limit / 8 * 3);
        Self {
            of_users,
            of_root,
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
    /// free: if that is N, at least N descriptors are open, whatever they are for.
    pub(crate) fn are_left_for(&self, peer: Peer, newest: &impl AsFd) -> bool {
        let end = if peer == Peer::ROOT {
            self.of_root
        } else {
            self.of_users
        };
        (newest.as_fd().as_raw_fd() as u64) < end
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
        let number = newest.as_raw_fd() as u64;
        let descriptors = Descriptors {
            of_users: number,
            of_root: number + 1,
            ..Descriptors::under(0)
        };
        assert!(descriptors.are_left_for(Peer::ROOT, &newest));
        assert!(!descriptors.are_left_for(Peer::User(7), &newest));
        assert!(!descriptors.are_left_for(Peer::Loopback, &newest));
    }
}
