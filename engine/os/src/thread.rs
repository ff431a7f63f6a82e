//! The data of one thread: how many reads it is in, its slots, and the generation of its state; and what a signal handler of
//! the thread may interrupt.
//!
//! ```text
//! signals  a stretch of code that no signal handler interrupts
//! lock     a lock that a child process never waits for; it is held in such a stretch alone
//! ```

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

pub mod signals {
    //! A stretch of code that no signal handler interrupts.

    use crate::system::signal_mask;
    use crate::system::signal_mask::Mask;
    use crate::{sandbox, thread};
    use core::marker::PhantomData;

    pub use crate::system::signal_mask::block_for_good;

    /// Until this is dropped, no signal handler runs on this thread.
    ///
    /// To take one of our locks, block signals first. A handler that draws random bytes would otherwise wait for a lock
    /// that the code it interrupted holds; and a handler that is left by siglongjmp would never unlock it. Two
    /// system calls, on slow paths only.
    ///
    /// After [`sandbox::prepare`] it makes no system call but marks the thread. Handlers do run then, and
    /// [`try_new`](Self::try_new) tells them.
    #[derive(Debug)]
    pub struct SignalsBlocked {
        before: Before,
        /// The mask belongs to this thread.
        _thread: PhantomData<*mut ()>,
    }

    /// The state before signals were blocked.
    #[derive(Debug)]
    enum Before {
        Mask(Mask),
        Mark(usize),
    }

    impl SignalsBlocked {
        /// Blocks all signals of this thread.
        #[must_use]
        pub fn new() -> Self {
            let before = if sandbox::is_prepared() {
                let local = thread::local();
                Before::Mark(local.blocked_at.replace(local.depth() + 1))
            } else {
                Before::Mask(signal_mask::block_all())
            };
            Self {
                before,
                _thread: PhantomData,
            }
        }

        /// The same for a read that may be in a handler. `None`, after [`sandbox::prepare`], if the code that the handler
        /// interrupted has blocked signals: it may hold any of our locks, so take none.
        ///
        /// The two are told apart by the depth of the read, so that this is certain during a
        /// [`ThreadRead`](crate::thread_state::ThreadRead), and not outside one.
        #[must_use]
        pub fn try_new() -> Option<Self> {
            let local = thread::local();
            let blocked_at = local.blocked_at.get();
            let is_held_below = blocked_at != 0 && blocked_at != local.depth() + 1;
            (!is_held_below).then(Self::new)
        }

        /// Like [`try_new`](Self::try_new), but for code whose caller holds no [`SignalsBlocked`]. Returns `None`, after
        /// [`sandbox::prepare`], if this thread holds a [`SignalsBlocked`] at any depth. This is certain outside a
        /// [`ThreadRead`](crate::thread_state::ThreadRead) as well.
        #[must_use]
        pub fn try_first() -> Option<Self> {
            (thread::local().blocked_at.get() == 0).then(Self::new)
        }
    }

    impl SignalsBlocked {
        /// Whether no handler runs: not after [`sandbox::prepare`].
        pub(crate) fn stops_handlers(&self) -> bool {
            matches!(self.before, Before::Mask(_))
        }
    }

    impl Default for SignalsBlocked {
        fn default() -> Self {
            Self::new()
        }
    }

    impl Drop for SignalsBlocked {
        fn drop(&mut self) {
            match self.before {
                Before::Mask(mask) => signal_mask::restore(mask),
                Before::Mark(blocked_at) => thread::local().blocked_at.set(blocked_at),
            }
        }
    }

    /// Whether the calling code may be in a signal handler: in one, at least its own signal is blocked, unless the
    /// program asked for `SA_NODEFER`. Makes a system call; "yes" where system calls are forbidden.
    pub(crate) fn may_be_handler() -> bool {
        sandbox::is_prepared() || {
            let mask = signal_mask::block_all();
            signal_mask::restore(mask);
            !signal_mask::is_empty(mask)
        }
    }
}

pub mod lock {
    //! A lock that a child process never waits for.

    use crate::memory::Zeroed;
    use crate::sandbox;
    use crate::signals::SignalsBlocked;
    use crate::system::futex;
    use crate::wipe_at_fork;
    use core::cell::UnsafeCell;
    use core::ops::{Deref, DerefMut};
    use core::sync::atomic::{AtomicU32, Ordering};

    const FREE: u32 = 0;
    const TAKEN: u32 = 1;
    const AWAITED: u32 = 2;

    /// How often a waiting thread looks before it sleeps: for about 10 microseconds. The lock is held for less than one
    /// microsecond, and for a few at a reseed with cold caches. A thread that sleeps gets a CPU back after 20 microseconds
    /// at best, and behind all others where there are many threads. With 64 threads on 2 busy CPUs, 10 to 29 of 30,000
    /// readers slept at a reseed after 100 looks, and 0 to 6 after 400.
    const LOOKS: u32 = 400;

    /// How long a waiting thread sleeps before it looks again.
    const MAX_SLEEP_MS: u32 = 100;

    /// A value behind a lock, for memory that is wiped on fork.
    ///
    /// Zeroed memory is the free lock around `T::ZERO`. So in a child process the lock is free and its value is
    /// `T::ZERO`, even if a thread that does not exist there was changing it; the torn value is never looked at,
    /// nor dropped.
    ///
    /// To take it, block signals first; they stay blocked for as long as the lock is held.
    ///
    /// The word has 64 bytes for itself: a thread that waits for the lock does not take the value's cache line from
    /// the thread that has it, and no `T` of an alignment up to 64 leaves padding between them.
    #[repr(C)]
    pub struct Lock<T> {
        word: AtomicU32,
        _reserved: [u32; 15],
        value: UnsafeCell<T>,
    }

    impl<T: Zeroed> Zeroed for Lock<T> {
        const ZERO: Self = Self {
            word: AtomicU32::new(FREE),
            _reserved: [0; 15],
            value: UnsafeCell::new(T::ZERO),
        };
    }

    // SAFETY: the lock lets one thread at a time reach the value.
    unsafe impl<T: Send> Sync for Lock<T> {}

    impl<T: Send> Lock<T> {
        /// Waits for the lock.
        #[must_use]
        pub fn lock<'a>(&'a self, signals: &'a SignalsBlocked) -> Guard<'a, T> {
            wipe_at_fork::look();
            if !take_free(&self.word) {
                wait(&self.word);
            }
            self.guard(signals)
        }

        /// Takes the lock if it is free.
        #[must_use]
        pub fn try_lock<'a>(&'a self, signals: &'a SignalsBlocked) -> Option<Guard<'a, T>> {
            wipe_at_fork::look();
            take_free(&self.word).then(|| self.guard(signals))
        }

        fn guard<'a>(&'a self, signals: &'a SignalsBlocked) -> Guard<'a, T> {
            Guard {
                lock: self,
                _signals: signals,
            }
        }
    }

    /// The lock is held until this is dropped.
    pub struct Guard<'a, T> {
        lock: &'a Lock<T>,
        _signals: &'a SignalsBlocked,
    }

    impl<T> Deref for Guard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            // SAFETY: the guard holds the lock.
            unsafe { &*self.lock.value.get() }
        }
    }

    impl<T> DerefMut for Guard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            // SAFETY: as above, and the guard is borrowed for as long.
            unsafe { &mut *self.lock.value.get() }
        }
    }

    impl<T> Drop for Guard<'_, T> {
        fn drop(&mut self) {
            let is_awaited = self.lock.word.swap(FREE, Ordering::Release) == AWAITED;
            if is_awaited {
                wake(&self.lock.word);
            }
        }
    }

    fn take_free(word: &AtomicU32) -> bool {
        let taken = word.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed);
        taken.is_ok()
    }

    /// Waits for the lock with this word, and takes it.
    #[cold]
    fn wait(word: &AtomicU32) {
        for _ in 0..LOOKS {
            core::hint::spin_loop();
            if word.load(Ordering::Relaxed) == FREE && take_free(word) {
                return;
            }
        }
        while sandbox::is_prepared() {
            core::hint::spin_loop();
            if word.load(Ordering::Relaxed) == FREE && take_free(word) {
                return;
            }
        }
        while word.swap(AWAITED, Ordering::Acquire) != FREE {
            // Woken, late or interrupted: look again in any case. After `sandbox::prepare` no thread wakes this one,
            // and `MAX_SLEEP_MS` ends the wait.
            futex::wait(word, AWAITED, MAX_SLEEP_MS);
        }
    }

    #[cold]
    fn wake(word: &AtomicU32) {
        if !sandbox::is_prepared() {
            futex::wake_one(word);
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use crate::memory::Wiped;

        #[test]
        fn threads_that_share_a_lock_lose_no_update() {
            let counter = Wiped::<Lock<u64>>::new(None).unwrap();
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        for _ in 0..20_000 {
                            *counter.lock(&SignalsBlocked::new()) += 1;
                        }
                    });
                }
            });
            assert_eq!(*counter.lock(&SignalsBlocked::new()), 80_000);
        }

        #[test]
        fn a_taken_lock_is_not_taken_twice() {
            let lock = Wiped::<Lock<u64>>::new(None).unwrap();
            let signals = SignalsBlocked::new();
            let held = lock.lock(&signals);
            assert!(lock.try_lock(&signals).is_none());
            drop(held);
            assert!(lock.try_lock(&signals).is_some());
        }
    }
}
