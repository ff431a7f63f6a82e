//! The data of one thread: how many reads it is in, and its slots.

use crate::slots::{DEPTHS, Slot};
use core::cell::Cell;
use core::ptr;
use core::sync::atomic::{Ordering, compiler_fence};

/// How many [`ThreadStates`](crate::thread_state::ThreadStates) a thread uses at once; one more takes the place of
/// another, which loses its states. 32 bytes each.
pub(crate) const ENTRIES: usize = 16;

/// The value of [`ThreadData::epoch`] if the first entry's state is not current.
pub(crate) const STALE: u64 = 0;
/// Its value in a child that was forked under an outermost read on the hot path: the first entry's state may hold what that
/// read wrote after the fork had wiped it, and is erased before its next use.
pub(crate) const FORKED: u64 = 1;
/// Its value during an outermost read.
pub(crate) const BUSY: u64 = u64::MAX;
/// The first number of an epoch.
pub(crate) const FIRST_EPOCH: u64 = FORKED + 1;

/// The data of one thread. The fields of the hot path come first, on one cache line.
#[repr(C, align(64))]
pub(crate) struct ThreadData {
    /// [`BUSY`] during an outermost read; [`STALE`]; [`FORKED`]; else the epoch in which the outermost state of the first
    /// entry was made current. If it equals the epoch of some
    /// [`ThreadStates`](crate::thread_state::ThreadStates), then no read runs, the first entry belongs to these states,
    /// and they have not changed since.
    pub(crate) epoch: Cell<u64>,
    pub(crate) entries: [Entry; ENTRIES],
    /// The number of unfinished reads that interrupted another read.
    nested: Cell<usize>,
    /// The depth plus 1 at which [`SignalsBlocked`](crate::signals::SignalsBlocked) marks the thread; 0 for no mark.
    pub(crate) blocked_at: Cell<usize>,
    /// Whether the thread's slots will be released when it ends.
    pub(crate) exit_is_armed: Cell<bool>,
    /// Whether they were released: the thread gets no slot any more.
    pub(crate) is_leaving: Cell<bool>,
}

/// A [`ThreadStates`](crate::thread_state::ThreadStates) that the thread uses.
#[repr(C)]
pub(crate) struct Entry {
    pub(crate) slot: Cell<Slot>,
    pub(crate) owner: Cell<u64>,
}

thread_local! {
    static LOCAL: ThreadData = const {
        ThreadData {
            epoch: Cell::new(STALE),
            entries: [const {
                Entry {
                    slot: Cell::new(Slot::NONE),
                    owner: Cell::new(0),
                }
            }; ENTRIES],
            nested: Cell::new(0),
            blocked_at: Cell::new(0),
            exit_is_armed: Cell::new(false),
            is_leaving: Cell::new(false),
        }
    };
}

/// The data of the calling thread.
///
/// Returns a reference, because the compiler does not inline a hot path inside `LOCAL.with`.
#[inline(always)]
pub(crate) fn local<'a>() -> &'a ThreadData {
    let local = LOCAL.with(ptr::from_ref);
    // SAFETY: it has no destructor and lasts as long as the thread, and this reference never leaves the thread:
    // a `ThreadData` is not `Sync`, and nothing here keeps one.
    unsafe { &*local }
}

/// The calling thread, found. It never leaves this thread, because it is neither `Send` nor `Sync`.
///
/// A shared library finds its thread by a call of the loader. One that can do better keeps the address.
#[derive(Clone, Copy, Debug)]
pub struct CurrentThread(*const ThreadData);

impl CurrentThread {
    /// Finds the calling thread.
    #[must_use]
    #[inline(always)]
    pub fn find() -> Self {
        Self(local())
    }

    /// The address of its data: not null, and the same as long as the thread lasts, also in a child process that this
    /// thread forks.
    #[must_use]
    #[inline(always)]
    pub fn address(self) -> *const () {
        self.0.cast()
    }

    /// The thread with this address.
    ///
    /// # Safety
    ///
    /// This thread got the address from [`address`](Self::address).
    #[must_use]
    #[inline(always)]
    pub unsafe fn from_address(address: *const ()) -> Self {
        Self(address.cast())
    }

    /// Whether the last outermost read made a state current, of any [`ThreadStates`](crate::thread_state::ThreadStates). It
    /// may be out of date since. During a read: `true`.
    #[must_use]
    #[inline(always)]
    pub fn was_current(self) -> bool {
        self.local().epoch.get() > FORKED
    }

    #[inline(always)]
    pub(crate) fn local<'a>(self) -> &'a ThreadData {
        // SAFETY: as in `local`: the value never leaves the thread.
        unsafe { &*self.0 }
    }
}

impl ThreadData {
    /// The number of unfinished reads of the thread. Each runs in a handler that interrupted the one before.
    pub(crate) fn depth(&self) -> usize {
        if self.epoch.get() == BUSY {
            1 + self.nested.get()
        } else {
            0
        }
    }

    /// A number that no other running thread has.
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

/// Takes all depths below the present one, until it is dropped: no read begins at them.
pub(crate) struct DeeperGuard<'a> {
    local: &'a ThreadData,
    before: usize,
}

impl<'a> DeeperGuard<'a> {
    /// `None` if `depth` is not the deepest one at work.
    pub(crate) fn new(local: &'a ThreadData, depth: usize) -> Option<Self> {
        if local.depth() != depth + 1 {
            return None;
        }
        let before = local.nested.replace(DEPTHS - 1);
        compiler_fence(Ordering::SeqCst);
        Some(Self { local, before })
    }
}

impl Drop for DeeperGuard<'_> {
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        self.local.nested.set(self.before);
    }
}

/// A read at its depth of nesting, until it ends, by a panic too.
pub(crate) struct DepthGuard<'a> {
    local: &'a ThreadData,
    pub(crate) depth: usize,
    /// The value of [`ThreadData::epoch`] after the outermost read.
    epoch: Cell<u64>,
}

impl<'a> DepthGuard<'a> {
    /// Takes the next depth, if it is below `limit`. Inlined, as `slot_of` is, and for the same reason.
    #[inline(always)]
    pub(crate) fn next(local: &'a ThreadData, limit: usize) -> Option<Self> {
        let epoch = local.epoch.get();
        let depth = if epoch == BUSY {
            1 + local.nested.get()
        } else {
            // A handler that was left by siglongjmp may have left its depth.
            local.nested.set(0);
            0
        };
        if depth >= limit {
            return None;
        }
        if depth == 0 {
            local.epoch.set(BUSY);
        } else {
            local.nested.set(depth);
        }
        compiler_fence(Ordering::SeqCst);
        Some(Self {
            local,
            depth,
            epoch: Cell::new(epoch),
        })
    }

    /// Whether this is an outermost read, after one under which the process forked: see [`FORKED`].
    #[inline(always)]
    pub(crate) fn follows_fork(&self) -> bool {
        self.epoch.get() == FORKED
    }

    /// Sets the thread's epoch for the time after this read, if it is an outermost one.
    pub(crate) fn end_in(&self, epoch: u64) {
        self.epoch.set(epoch);
    }
}

impl Drop for DepthGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        if self.depth == 0 {
            self.local.epoch.set(self.epoch.get());
        } else {
            self.local.nested.set(self.depth - 1);
        }
    }
}
