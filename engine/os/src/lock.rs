//! A lock that a child process never waits for.

use crate::memory::Zeroed;
use crate::sandbox;
use crate::signals::SignalsBlocked;
use crate::system::{futex, pages};
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
