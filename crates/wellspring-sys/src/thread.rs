//! What a thread knows of itself: how deep it is in reads, and which slots are its own.

use crate::slots::Slot;
use core::cell::Cell;
use core::ptr;
use core::sync::atomic::{Ordering, compiler_fence};

/// How many [`ThreadStates`](crate::thread_state::ThreadStates) a thread uses at once; one more takes the place of
/// another, which loses its states. 32 bytes each.
pub(crate) const ENTRIES: usize = 16;

/// What a thread knows.
pub(crate) struct Local {
    /// How many reads the thread is in, each in a handler that interrupted the one before.
    pub(crate) depth: Cell<usize>,
    pub(crate) entries: [Entry; ENTRIES],
    /// The depth, and one, at which [`Blocked`](crate::signals::Blocked) marks the thread; 0 for no mark.
    pub(crate) blocked_at: Cell<usize>,
    /// Whether the thread's slots will be released when it ends.
    pub(crate) exit_is_armed: Cell<bool>,
    /// Whether they have been: the thread gets no slot any more.
    pub(crate) is_leaving: Cell<bool>,
}

/// A [`ThreadStates`](crate::thread_state::ThreadStates) that the thread uses.
pub(crate) struct Entry {
    pub(crate) owner: Cell<u64>,
    pub(crate) slot: Cell<Slot>,
}

thread_local! {
    static LOCAL: Local = const {
        Local {
            depth: Cell::new(0),
            entries: [const {
                Entry {
                    owner: Cell::new(0),
                    slot: Cell::new(Slot::NONE),
                }
            }; ENTRIES],
            blocked_at: Cell::new(0),
            exit_is_armed: Cell::new(false),
            is_leaving: Cell::new(false),
        }
    };
}

/// What the calling thread knows.
///
/// A reference that leaves the closure: the body of a hot path inside it would be left out of line.
#[inline(always)]
pub(crate) fn local<'a>() -> &'a Local {
    let local = LOCAL.with(ptr::from_ref);
    // SAFETY: it has no destructor and lasts as long as the thread, and this reference never leaves the thread:
    // a `Local` is not `Sync`, and nothing here keeps one.
    unsafe { &*local }
}

impl Local {
    /// What tells this thread from all others that live.
    pub(crate) fn address(&self) -> usize {
        ptr::from_ref(self).addr()
    }
}

impl Entry {
    /// The slot, if it is still this thread's: one comparison.
    #[inline(always)]
    pub(crate) fn slot(&self) -> Option<Slot> {
        Some(self.slot.get()).filter(Slot::is_ours)
    }
}

/// One level of nesting, from its mark until it ends, by a panic too.
pub(crate) struct Depth<'a> {
    local: &'a Local,
    pub(crate) level: usize,
}

impl<'a> Depth<'a> {
    #[inline(always)]
    pub(crate) fn enter(local: &'a Local, level: usize) -> Self {
        local.depth.set(level + 1);
        compiler_fence(Ordering::SeqCst);
        Self { local, level }
    }
}

impl Drop for Depth<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        self.local.depth.set(self.level);
    }
}
