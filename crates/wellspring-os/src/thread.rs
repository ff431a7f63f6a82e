//! The data of one thread: how many reads it is in, and its slots.

use crate::slots::{DEPTHS, Slot};
use core::cell::Cell;
use core::hint::black_box;
use core::ptr;
use core::sync::atomic::{Ordering, compiler_fence};

/// How many [`ThreadStates`](crate::thread_state::ThreadStates) a thread uses at once; one more takes the place of
/// another, which loses its states. 32 bytes each.
pub(crate) const ENTRIES: usize = 16;

/// The value of [`Local::epoch`] if the first entry's state is not current.
pub(crate) const STALE: u64 = 0;
/// Its value during an outermost read.
pub(crate) const BUSY: u64 = u64::MAX;

/// The data of one thread. The fields of the hot path come first, on one cache line.
#[repr(C, align(64))]
pub(crate) struct Local {
    /// One of three values: [`BUSY`] during an outermost read; [`STALE`]; else the epoch in which the outermost state
    /// of the first entry was made current. If it equals the epoch of some
    /// [`ThreadStates`](crate::thread_state::ThreadStates), then no read runs, the first entry belongs to these states,
    /// and they have not changed since.
    pub(crate) epoch: Cell<u64>,
    pub(crate) entries: [Entry; ENTRIES],
    /// The number of unfinished reads that interrupted another read.
    nested: Cell<usize>,
    /// The depth plus 1 at which [`Blocked`](crate::signals::Blocked) marks the thread; 0 for no mark.
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
    static LOCAL: Local = const {
        Local {
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
pub(crate) fn local<'a>() -> &'a Local {
    let local = LOCAL.with(ptr::from_ref);
    // SAFETY: it has no destructor and lasts as long as the thread, and this reference never leaves the thread:
    // a `Local` is not `Sync`, and nothing here keeps one.
    unsafe { &*local }
}

/// The calling thread, found. It never leaves this thread, because it is neither `Send` nor `Sync`.
///
/// A shared library finds its thread by a call of the loader. One that can do better keeps the address.
#[derive(Clone, Copy, Debug)]
pub struct CurrentThread(*const Local);

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
    pub fn is_marked(self) -> bool {
        self.local().epoch.get() != STALE
    }

    #[inline(always)]
    pub(crate) fn local<'a>(self) -> &'a Local {
        // SAFETY: as in `local`: the value never leaves the thread.
        unsafe { &*self.0 }
    }
}

impl Local {
    /// The number of unfinished reads of the thread. Each runs in a handler that interrupted the one before.
    pub(crate) fn depth(&self) -> usize {
        if self.epoch.get() == BUSY {
            1 + self.nested.get()
        } else {
            0
        }
    }

    /// All entries. The compiler does not know how many: it would write out each loop over them 16 times.
    pub(crate) fn entries(&self) -> &[Entry] {
        self.entries.get(..black_box(ENTRIES)).unwrap_or(&[])
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

/// The mark of the outermost level on the hot path, until it ends, by a panic too. It stays in two registers,
/// because its address is not taken, unlike that of [`Level`].
pub(crate) struct Mark<'a> {
    local: &'a Local,
    epoch: u64,
}

impl<'a> Mark<'a> {
    /// Marks the level. Call it while no read runs; `epoch` is the present value of the thread's epoch.
    #[inline(always)]
    pub(crate) fn new(local: &'a Local, epoch: u64) -> Self {
        local.epoch.set(BUSY);
        compiler_fence(Ordering::SeqCst);
        Self { local, epoch }
    }
}

impl Drop for Mark<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        self.local.epoch.set(self.epoch);
    }
}

/// The mark of all levels that are deeper than the present one, until it is dropped: no read begins at them.
pub(crate) struct Deeper<'a> {
    local: &'a Local,
    before: usize,
}

impl<'a> Deeper<'a> {
    /// Marks them. `None` if `level` is not the deepest one at work.
    pub(crate) fn mark(local: &'a Local, level: usize) -> Option<Self> {
        if local.depth() != level + 1 {
            return None;
        }
        let before = local.nested.replace(DEPTHS - 1);
        compiler_fence(Ordering::SeqCst);
        Some(Self { local, before })
    }
}

impl Drop for Deeper<'_> {
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        self.local.nested.set(self.before);
    }
}

/// One level of nesting, from its mark until it ends, by a panic too.
pub(crate) struct Level<'a> {
    local: &'a Local,
    pub(crate) number: usize,
    /// The value of [`Local::epoch`] after the outermost level.
    epoch: Cell<u64>,
}

impl<'a> Level<'a> {
    /// The outermost level, which is marked already; afterwards the state is stale.
    pub(crate) fn marked(local: &'a Local) -> Self {
        Self {
            local,
            number: 0,
            epoch: Cell::new(STALE),
        }
    }

    /// Marks the next level, if it is below `limit`. Inlined, for a reason that is beside `ThreadStates::mine`.
    #[inline(always)]
    pub(crate) fn next(local: &'a Local, limit: usize) -> Option<Self> {
        let epoch = local.epoch.get();
        if epoch != BUSY {
            // A handler that was left by siglongjmp may have left its mark.
            local.nested.set(0);
            local.epoch.set(BUSY);
            compiler_fence(Ordering::SeqCst);
            let level = Self::marked(local);
            level.end_in(epoch);
            return Some(level);
        }
        let number = 1 + local.nested.get();
        if number >= limit {
            return None;
        }
        local.nested.set(number);
        compiler_fence(Ordering::SeqCst);
        Some(Self {
            local,
            number,
            epoch: Cell::new(STALE),
        })
    }

    /// Sets the thread's epoch for the time after this level, if it is the outermost.
    pub(crate) fn end_in(&self, epoch: u64) {
        self.epoch.set(epoch);
    }
}

impl Drop for Level<'_> {
    #[inline]
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        if self.number == 0 {
            self.local.epoch.set(self.epoch.get());
        } else {
            self.local.nested.set(self.number - 1);
        }
    }
}
