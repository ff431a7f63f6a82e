//! A lock that a child process never waits for, and the stretch of code in which it is held: no signal handler interrupts it.

use crate::memory::Zeroed;
use crate::sandbox;
use crate::system::{futex, pages};
use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicU32, Ordering};
use signals::SignalsBlocked;

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
        pages::look_for_fork();
        if !take_free(&self.word) {
            wait(&self.word);
        }
        self.guard(signals)
    }

    /// Takes the lock if it is free.
    #[must_use]
    pub fn try_lock<'a>(&'a self, signals: &'a SignalsBlocked) -> Option<Guard<'a, T>> {
        pages::look_for_fork();
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
