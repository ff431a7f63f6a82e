//! The slot of a thread's states: found, acquired, and found again after a fork. Compiled once, since no type of a state
//! is in it.

use crate::signals::SignalsBlocked;
use crate::slots::{self, Kind, Request, Slot};
use crate::thread::{DepthGuard, ENTRIES, Entry, STALE, ThreadData};
use core::ptr;

/// This thread's slot for the states of `owner`.
///
/// Inlined: a slot that a call returns in memory is loaded at once, in another width than it was stored in, which costs
/// 5 ns. The first entry is that of the engine which the thread read first, usually of the only one.
#[inline(always)]
pub(super) fn slot_of(local: &ThreadData, owner: u64) -> Option<Slot> {
    let first = &local.entries[0];
    match first.slot() {
        Some(slot) if first.owner.get() == owner => Some(slot),
        _ => other_entry_of(local, owner)?.slot(),
    }
}

/// An entry but the first that has a slot for the states of `owner`.
#[inline(never)]
fn other_entry_of(local: &ThreadData, owner: u64) -> Option<&Entry> {
    // The slot before the owner: no handler replaces the entry of a slot that was found to be ours.
    let is_of_owner = |entry: &&Entry| entry.slot().is_some() && entry.owner.get() == owner;
    local.entries.iter().skip(1).find(is_of_owner)
}

/// The owner of slots for states, and what of a slot they use.
#[derive(Clone, Copy)]
pub(super) struct StateSlots {
    pub(super) owner: u64,
    pub(super) used_bytes: usize,
}

impl StateSlots {
    /// Finds the slot again that a fork took, in the child. If it is another one, the one before is released.
    pub(super) fn find_again(
        self,
        local: &ThreadData,
        before: Slot,
        guard: &DepthGuard<'_>,
        node: &dyn Fn() -> u32,
    ) -> Option<Slot> {
        guard.end_in(STALE);
        // A handler in the child may have taken the slot again, under another serial. Else it is still lost, and
        // only this read takes it: all of it is erased then.
        let found = self.find(local);
        let found = found.or_else(|| self.acquire(local, guard, node(), before));
        if !found.is_some_and(|found| found.is_same_place(&before)) {
            let _signals = SignalsBlocked::new();
            slots::release(before);
        }
        found
    }

    /// This thread's slot, off the hot path.
    #[inline(never)]
    fn find(self, local: &ThreadData) -> Option<Slot> {
        slot_of(local, self.owner)
    }

    /// Acquires a slot; `lost` again, if that is given and a fork took it from this thread.
    #[cold]
    #[inline(never)]
    pub(super) fn acquire(
        self,
        local: &ThreadData,
        guard: &DepthGuard<'_>,
        node: u32,
        lost: Slot,
    ) -> Option<Slot> {
        // A handler must not see an entry half written.
        let _signals = SignalsBlocked::try_new()?;
        // A handler that ran before may have acquired what we want.
        if let Some(slot) = self.find(local) {
            return Some(slot);
        }
        if local.is_leaving.get() {
            return None;
        }
        let entry = self.entry(local, guard.depth)?;
        if ptr::eq(entry, &local.entries[0]) {
            guard.end_in(STALE);
        }
        let before = entry.slot.get();
        let lost = if entry.owner.get() == self.owner {
            before
        } else {
            slots::release(before);
            lost
        };
        let request = Request {
            owner: self.owner,
            kind: Kind::Thread,
            node,
            used_bytes: self.used_bytes,
            thread: local.address(),
        };
        let slot = slots::acquire(&request, lost);
        entry.slot.set(slot.unwrap_or(Slot::NONE));
        entry.owner.set(slot.map_or(0, |_| self.owner));
        slot
    }

    /// The entry for a slot that is about to be acquired: the one that these states had, or one that is free.
    fn entry(self, local: &ThreadData, depth: usize) -> Option<&Entry> {
        let entries = || local.entries.iter();
        let is_own = |entry: &&Entry| entry.owner.get() == self.owner;
        // Not one whose slot a fork took: a read that a handler interrupted may still use it.
        let is_free = |entry: &&Entry| !entry.slot.get().is_ours_or_lost();
        let found = entries().find(is_own).or_else(|| entries().find(is_free));
        // At the outermost depth no read is interrupted that has marked it. One on the hot path may be about to: the
        // first entry stays with its states.
        let another = || &local.entries[1 + self.owner as usize % (ENTRIES - 1)];
        found.or_else(|| (depth == 0).then(another))
    }
}
