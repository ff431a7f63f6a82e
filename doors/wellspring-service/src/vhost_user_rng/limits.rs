//! The limits of guests: how many connections and how much memory the users other than root may have, together and each.
//!
//! The rest is for root: mappings (vm.max_map_count is 65,530 by default, and a guest has at most 32), addresses
//! (128 TiB) and descriptors.

use crate::config::GuestsSection;
use crate::descriptors::Descriptors;
use crate::users::Peer;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

/// The memory of guests is counted in bytes, and configured in GiB.
const GIB: u64 = 1 << 30;

/// The limits in force; SIGHUP replaces them. Guests that are connected stay.
#[derive(Debug)]
pub(crate) struct GuestLimits {
    section: RwLock<GuestsSection>,
    all: Taken,
    by_user: Mutex<BTreeMap<Peer, Arc<Taken>>>,
}

/// The part that one user has, or that all users other than root have together.
#[derive(Debug, Default)]
struct Taken {
    connections: AtomicU64,
    bytes: AtomicU64,
}

/// Adds `more` unless that exceeds `most`.
fn take(taken: &AtomicU64, more: u64, most: u64) -> bool {
    let add = |taken: u64| taken.checked_add(more).filter(|sum| *sum <= most);
    taken.fetch_update(Relaxed, Relaxed, add).is_ok()
}

/// Adds `more` to what the user has and to what all have, unless that exceeds a limit.
fn take_both(user: (&AtomicU64, u64), all: (&AtomicU64, u64), more: u64) -> bool {
    if !take(user.0, more, user.1) {
        return false;
    }
    let is_taken = take(all.0, more, all.1);
    if !is_taken {
        user.0.fetch_sub(more, Relaxed);
    }
    is_taken
}

impl GuestLimits {
    /// Limits of these values.
    pub(crate) fn new(section: &GuestsSection) -> Self {
        Self {
            section: RwLock::new(section.clone()),
            all: Taken::default(),
            by_user: Mutex::default(),
        }
    }

    /// Replaces the limits.
    pub(crate) fn set(&self, section: &GuestsSection) {
        *self.section.write().unwrap_or_else(PoisonError::into_inner) = section.clone();
    }

    fn section(&self) -> RwLockReadGuard<'_, GuestsSection> {
        self.section.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The most connections of all users, as far as the descriptors of the process allow them, and of one user: who leaves
    /// half of them to the others, also where few descriptors allow few.
    fn connections(&self) -> (u64, u64) {
        let section = self.section();
        let all = section.connections.get();
        let all = all.min(Descriptors::of_process().guests);
        let of_user = section.connections_per_user.get();
        (all, of_user.min(all.div_ceil(2)))
    }

    /// Counts a guest of a user. `None`: a limit is reached. Root has none.
    pub(super) fn enter(self: &Arc<Self>, peer: Peer) -> Option<Pass> {
        let mut by_user = self.by_user.lock().unwrap_or_else(PoisonError::into_inner);
        by_user.retain(|_, taken| Arc::strong_count(taken) > 1);
        let user = by_user.entry(peer).or_default().clone();
        drop(by_user);
        let is_limited = peer != Peer::User(0);
        if is_limited {
            let (all, of_user) = self.connections();
            let all = (&self.all.connections, all);
            if !take_both((&user.connections, of_user), all, 1) {
                return None;
            }
        }
        Some(Pass {
            limits: self.clone(),
            user,
            is_limited,
        })
    }
}

/// One guest that counts until this is dropped.
#[derive(Debug)]
pub(super) struct Pass {
    limits: Arc<GuestLimits>,
    user: Arc<Taken>,
    is_limited: bool,
}

impl Pass {
    /// Counts bytes of the guest's memory. `None`: a limit is reached.
    pub(super) fn take(self: &Arc<Self>, bytes: u64) -> Option<Part> {
        let limits = &self.limits;
        let section = limits.section();
        let of_user = (&self.user.bytes, section.memory_per_user_gib.get() * GIB);
        let of_all = (&limits.all.bytes, section.memory_gib.get() * GIB);
        let is_free = !self.is_limited || take_both(of_user, of_all, bytes);
        is_free.then(|| Part {
            pass: self.clone(),
            bytes,
        })
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        if self.is_limited {
            self.user.connections.fetch_sub(1, Relaxed);
            self.limits.all.connections.fetch_sub(1, Relaxed);
        }
    }
}

/// A part of a guest's memory that counts until this is dropped.
#[derive(Debug)]
pub(super) struct Part {
    pass: Arc<Pass>,
    bytes: u64,
}

impl Drop for Part {
    fn drop(&mut self) {
        if self.pass.is_limited {
            self.pass.user.bytes.fetch_sub(self.bytes, Relaxed);
            self.pass.limits.all.bytes.fetch_sub(self.bytes, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Bounded;
    use crate::meters::get;

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
        assert_eq!(get(&limits.all.connections), 0);
    }

    #[test]
    fn memory_beyond_a_limit_is_refused_and_comes_back() {
        let limits = limits();
        let pass = |user| Arc::new(limits.enter(Peer::User(user)).unwrap());
        let (first, second) = (pass(7), pass(8));
        let part = first.take(3 * GIB).unwrap();
        assert!(first.take(1).is_none());
        assert!(second.take(GIB + 1).is_none());
        assert!(second.take(u64::MAX).is_none());
        assert!(pass(0).take(u64::MAX).is_some());
        drop(part);
        let part = second.take(3 * GIB).unwrap();
        drop((part, first, second));
        assert_eq!(get(&limits.all.bytes), 0);
    }
}
