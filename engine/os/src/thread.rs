//! The data of one thread: how many reads it is in, its slots, and the generation of its state.

use crate::slots::{DEPTHS, Slot};
use core::cell::Cell;
use core::ptr;
use core::sync::atomic::{AtomicU64, Ordering, compiler_fence};

/// How many [`ThreadStates`](crate::thread_state::ThreadStates) a thread uses at once; a further one takes the
/// place of another, which loses its states. 32 bytes each.
pub(crate) const ENTRIES: usize = 16;

/// The value of [`ThreadData::generation`] if the first entry's state is not current.
pub(crate) const STALE: u64 = 0;
/// Its value in a child that was forked under an outermost read on the hot path: the first entry's state may hold what that
/// read wrote after the fork had wiped it, and is erased before its next use.
pub(crate) const FORKED: u64 = 1;
/// Its value during an outermost read.
pub(crate) const BUSY: u64 = u64::MAX;

/// A generation of some states: a stretch of time in which nothing happened to them, see
/// [`ThreadStates`](crate::thread_state::ThreadStates).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generation {
    number: u64,
    /// The owner of the states. States of another owner must not be marked with this generation.
    pub(crate) owner: u64,
}

impl Generation {
    pub(crate) fn new(number: u64, owner: u64) -> Self {
        Self { number, owner }
    }

    /// The unique number of a new generation that has no states yet. A generation every nanosecond takes 584 years to use
    /// them up.
    pub(crate) fn next_number() -> u64 {
        /// In ordinary memory: a child goes on from where its parent was.
        static NEXT: AtomicU64 = AtomicU64::new(FORKED + 1);
        NEXT.fetch_add(1, Ordering::Relaxed)
    }

    /// Its number. No other generation of any states in this process has it. It is never 0.
    #[must_use]
    #[inline(always)]
    pub fn number(self) -> u64 {
        self.number
    }

    /// Its number, if it is of the states of `owner`.
    #[inline(always)]
    pub(crate) fn of(self, owner: u64) -> Option<u64> {
        (self.owner == owner).then_some(self.number)
    }
}

/// The data of one thread. The fields of the hot path come first, on one cache line.
#[repr(C, align(64))]
pub(crate) struct ThreadData {
    /// [`BUSY`] during an outermost read; [`STALE`]; [`FORKED`]; else the generation in which the outermost state of the
    /// first entry was made current. If it equals the generation of some
    /// [`ThreadStates`](crate::thread_state::ThreadStates), then no read runs, the first entry belongs to these states,
    /// and they have not changed since.
    pub(crate) generation: Cell<u64>,
    /// The sum of the watched words that was handled before that state was made current.
    pub(crate) handled: Cell<u64>,
    pub(crate) entries: [Entry; ENTRIES],
    /// The number of unfinished reads that interrupted another read.
    nested: Cell<usize>,
    /// The depth plus 1 at which [`SignalsBlocked`](crate::signals::SignalsBlocked) marks the thread; 0 for no mark.
    pub(crate) blocked_at: Cell<usize>,
    /// Whether the thread's slots will be released when it ends.
    pub(crate) exit_is_armed: Cell<bool>,
    /// Whether they were released: the thread gets no slot any more.
    pub(crate) is_leaving: Cell<bool>,
    /// See [`CurrentThread::last_id`].
    last_id: Cell<u64>,
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
            generation: Cell::new(STALE),
            handled: Cell::new(0),
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
            last_id: Cell::new(0),
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
/// A shared library finds its thread by a call of the loader. A library that can do better keeps the address.
#[derive(Clone, Copy, Debug)]
pub struct CurrentThread(*const ThreadData);

impl CurrentThread {
    /// Finds the calling thread.
    #[must_use]
    #[inline(always)]
    pub fn find() -> Self {
        Self(local())
    }

    /// The address of its data: not null, and the same as long as the thread lasts, even in a child process that this
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
        self.local().generation.get() > FORKED
    }

    /// The number of reads that have begun and not ended. Each but the first interrupted the one before.
    #[must_use]
    pub fn depth(self) -> usize {
        self.local().depth()
    }

    /// A word without a secret, which orders the identifiers of this thread. 0 at first; a child process has a copy.
    #[must_use]
    #[inline(always)]
    pub fn last_id(self) -> u64 {
        self.local().last_id.get()
    }

    /// Stores the word.
    #[inline(always)]
    pub fn set_last_id(self, word: u64) {
        self.local().last_id.set(word);
    }

    /// The sum of the watched words that was handled before the last
    /// [`mark_current`](crate::thread_state::ThreadRead::mark_current).
    #[must_use]
    #[inline(always)]
    pub fn handled(self) -> u64 {
        self.local().handled.get()
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
        if self.generation.get() == BUSY {
            1 + self.nested.get()
        } else {
            0
        }
    }

    /// A number that identifies the thread while it runs.
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
    /// The value of [`ThreadData::generation`] after the outermost read.
    generation: Cell<u64>,
}

impl<'a> DepthGuard<'a> {
    /// Takes the next depth, if it is below `limit`. Inlined, as `slot_of` is, and for the same reason.
    #[inline(always)]
    pub(crate) fn next(local: &'a ThreadData, limit: usize) -> Option<Self> {
        let generation = local.generation.get();
        let depth = if generation == BUSY {
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
            local.generation.set(BUSY);
        } else {
            local.nested.set(depth);
        }
        compiler_fence(Ordering::SeqCst);
        Some(Self {
            local,
            depth,
            generation: Cell::new(generation),
        })
    }

    /// Whether this is an outermost read, after one under which the process forked: see [`FORKED`].
    #[inline(always)]
    pub(crate) fn follows_fork(&self) -> bool {
        self.generation.get() == FORKED
    }

    /// Sets the thread's generation for the time after this read, if it is an outermost one.
    pub(crate) fn end_in(&self, generation: u64) {
        self.generation.set(generation);
    }
}

impl Drop for DepthGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        if self.depth == 0 {
            self.local.generation.set(self.generation.get());
        } else {
            self.local.nested.set(self.depth - 1);
        }
    }
}

/// An outermost read on the hot path, until it ends, by a panic too. It stays in two registers, because its address is
/// not taken; the address of a [`DepthGuard`] is.
pub(crate) struct HotGuard<'a> {
    local: &'a ThreadData,
    generation: u64,
}

impl<'a> HotGuard<'a> {
    /// Begins a read. Call it while none runs; `generation` is the present value of the thread's generation.
    #[inline(always)]
    pub(crate) fn new(local: &'a ThreadData, generation: u64) -> Self {
        local.generation.set(BUSY);
        compiler_fence(Ordering::SeqCst);
        Self { local, generation }
    }

    /// Ends the read, under which the process forked, in the child.
    #[inline(always)]
    pub(crate) fn end_after_fork(mut self) {
        self.generation = FORKED;
    }
}

impl Drop for HotGuard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        self.local.generation.set(self.generation);
    }
}
