//! The limits of guests: how many connections and how much memory the users other than root may have, together and each.
//!
//! The rest is for root: mappings (vm.max_map_count is 65,530 by default, and a guest has at most 32), addresses
//! (128 TiB) and descriptors.

use parking_lot::{Mutex, RwLock};
use std::collections::BTreeMap;
use std::sync::Arc;
use wellspring_service_core::config::GuestsSection;
use wellspring_service_core::connections::Descriptors;
use wellspring_service_core::users::Peer;

/// The memory of guests is counted in bytes, and configured in GiB.
const GIB: u64 = 1 << 30;

/// The limits in force; SIGHUP replaces them. Guests that are connected stay.
#[derive(Debug)]
pub(super) struct GuestLimits {
    section: RwLock<GuestsSection>,
    connections: Arc<Taken>,
    bytes: Arc<Taken>,
}

/// The amount that each user other than root has taken. A user who has taken nothing is not in the table.
#[derive(Debug, Default)]
struct Taken(Mutex<BTreeMap<Peer, u64>>);

impl Taken {
    /// Adds `more` to the part of a user. `None`: the user or all users together would have more than these limits. Root
    /// has none, and is not counted.
    fn take(
        self: &Arc<Self>,
        peer: Peer,
        more: u64,
        (of_user, of_all): (u64, u64),
    ) -> Option<Part> {
        let part = || Part {
            of: self.clone(),
            peer,
            amount: more,
        };
        if peer == Peer::ROOT {
            return Some(part());
        }
        let mut by_user = self.0.lock();
        let user = by_user.get(&peer).copied().unwrap_or_default();
        let all: u64 = by_user.values().sum();
        let is_free = |taken: u64, most| taken.checked_add(more).is_some_and(|sum| sum <= most);
        if !is_free(user, of_user) || !is_free(all, of_all) {
            return None;
        }
        by_user.insert(peer, user + more);
        Some(part())
    }
}

/// An amount that counts until this is dropped.
#[derive(Debug)]
pub(super) struct Part {
    of: Arc<Taken>,
    peer: Peer,
    amount: u64,
}

impl Drop for Part {
    fn drop(&mut self) {
        let mut by_user = self.of.0.lock();
        if let Some(user) = by_user.get_mut(&self.peer) {
            *user -= self.amount;
        }
        by_user.retain(|_, taken| *taken > 0);
    }
}

impl GuestLimits {
    /// Limits of these values.
    pub(super) fn new(section: &GuestsSection) -> Self {
        Self {
            section: RwLock::new(section.clone()),
            connections: Arc::default(),
            bytes: Arc::default(),
        }
    }

    pub(super) fn set(&self, section: &GuestsSection) {
        *self.section.write() = section.clone();
    }

    /// The most connections of one user, and of all users as far as the descriptors of the process allow them: one user leaves
    /// half of them to the others, also where few descriptors allow few.
    fn of_connections(&self) -> (u64, u64) {
        let section = self.section.read();
        let all = section.connections.get();
        let all = all.min(Descriptors::guests());
        let of_user = section.connections_per_user.get();
        (of_user.min(all.div_ceil(2)), all)
    }

    /// The most bytes of one user, and of all.
    fn of_bytes(&self) -> (u64, u64) {
        let section = self.section.read();
        let of_user = section.memory_per_user_gib.get() * GIB;
        (of_user, section.memory_gib.get() * GIB)
    }

    /// Counts a guest of a user. `None`: a limit is reached. Root has none.
    pub(super) fn enter(self: &Arc<Self>, peer: Peer) -> Option<Pass> {
        let connection = self.connections.take(peer, 1, self.of_connections())?;
        Some(Pass {
            limits: self.clone(),
            connection,
        })
    }
}

/// One guest that counts until this is dropped.
#[derive(Debug)]
pub(super) struct Pass {
    limits: Arc<GuestLimits>,
    connection: Part,
}

impl Pass {
    /// Counts bytes of the guest's memory. `None`: a limit is reached.
    pub(super) fn take(&self, bytes: u64) -> Option<Part> {
        let limits = self.limits.of_bytes();
        self.limits.bytes.take(self.connection.peer, bytes, limits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wellspring_service_core::config::Bounded;

    fn limits() -> Arc<GuestLimits> {
        Arc::new(GuestLimits::new(&GuestsSection {
            connections: Bounded::clamped(4),
            connections_per_user: Bounded::clamped(2),
            memory_gib: Bounded::clamped(4),
            memory_per_user_gib: Bounded::clamped(3),
        }))
    }

    #[test]
    fn a_user_with_too_many_guests_is_refused_and_others_and_root_are_not() {
        let limits = limits();
        let enter = |user| limits.enter(Peer::User(user));
        let mut first = [enter(7), enter(7)];
        assert!(first.iter().all(Option::is_some));
        assert!(enter(7).is_none());
        let others = [enter(8), enter(9)];
        assert!(others.iter().all(Option::is_some));
        assert!(enter(10).is_none());
        assert!(enter(0).is_some());
        first[0] = None;
        assert!(enter(10).is_some());
        drop((first, others));
        assert!(limits.connections.0.lock().is_empty());
    }

    #[test]
    fn memory_beyond_a_limit_is_refused_and_comes_back() {
        let limits = limits();
        let pass = |user| limits.enter(Peer::User(user)).unwrap();
        let (first, second) = (pass(7), pass(8));
        let part = first.take(3 * GIB).unwrap();
        assert!(first.take(1).is_none());
        assert!(second.take(GIB + 1).is_none());
        assert!(second.take(u64::MAX).is_none());
        assert!(pass(0).take(u64::MAX).is_some());
        drop(part);
        let part = second.take(3 * GIB).unwrap();
        drop((part, first, second));
        assert!(limits.bytes.0.lock().is_empty());
    }
}
