//! A lock that a child process never waits for.

use crate::signals::Blocked;
use bytemuck::Zeroable;
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicU32, Ordering};
use rustix::thread::futex;

const FREE: u32 = 0;
const TAKEN: u32 = 1;
const AWAITED: u32 = 2;

/// How often a waiting thread looks before it sleeps: for some 10 microseconds. What the lock protects takes a
/// fraction of one, and a reseed with cold caches a few; who sleeps gets a CPU back after 20 at best, and behind all
/// others where threads are many. After 100 looks 10 to 29 of 30 000 readers slept at a reseed of 64 threads on 2 busy
/// CPUs; after 400, 0 to 6.
const LOOKS: u32 = 400;

/// A value behind a lock, for memory that is wiped on fork.
///
/// All zeros is a free lock whose value does not exist yet; it is made by `T::default()` when the lock is next
/// taken. In a child process the lock is therefore free and its value new, even if a thread that does not
/// exist there was changing it; nothing of the torn value is looked at, nor dropped.
///
/// Whoever takes it has blocked signals before, and keeps them blocked for as long as the lock is held.
pub struct Lock<T> {
    word: AtomicU32,
    made: AtomicU32,
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: the words are atomics, of which zero is a value, and the rest need not be initialised.
unsafe impl<T> Zeroable for Lock<T> {}

// SAFETY: the lock lets one thread at a time reach the value.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T: Default + Send> Lock<T> {
    /// Waits for the lock.
    #[must_use]
    pub fn lock<'a>(&'a self, signals: &'a Blocked) -> Guard<'a, T> {
        if !self.take_free() {
            self.wait();
        }
        self.guard(signals)
    }

    /// Takes the lock if it is free.
    #[must_use]
    pub fn try_lock<'a>(&'a self, signals: &'a Blocked) -> Option<Guard<'a, T>> {
        self.take_free().then(|| self.guard(signals))
    }

    fn take_free(&self) -> bool {
        let taken = self
            .word
            .compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed);
        taken.is_ok()
    }

    #[cold]
    fn wait(&self) {
        for _ in 0..LOOKS {
            core::hint::spin_loop();
            if self.word.load(Ordering::Relaxed) == FREE && self.take_free() {
                return;
            }
        }
        while self.word.swap(AWAITED, Ordering::Acquire) != FREE {
            // Woken, too late, or interrupted: look again in any case.
            let _ = futex::wait(&self.word, futex::Flags::PRIVATE, AWAITED, None);
        }
    }

    fn guard<'a>(&'a self, signals: &'a Blocked) -> Guard<'a, T> {
        if self.made.load(Ordering::Relaxed) == 0 {
            // SAFETY: we hold the lock. What is there, if anything, is overwritten without being looked at.
            unsafe { (*self.value.get()).write(T::default()) };
            self.made.store(1, Ordering::Relaxed);
        }
        Guard {
            lock: self,
            _signals: signals,
        }
    }
}

/// The lock is held while this lives.
pub struct Guard<'a, T> {
    lock: &'a Lock<T>,
    _signals: &'a Blocked,
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard holds the lock, and its maker saw to it that the value was made.
        unsafe { (*self.lock.value.get()).assume_init_ref() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the guard is borrowed for as long.
        unsafe { (*self.lock.value.get()).assume_init_mut() }
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        if self.lock.word.swap(FREE, Ordering::Release) == AWAITED {
            let _ = futex::wake(&self.lock.word, futex::Flags::PRIVATE, 1);
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
                        *counter.lock(&Blocked::new()) += 1;
                    }
                });
            }
        });
        assert_eq!(*counter.lock(&Blocked::new()), 80_000);
    }

    #[test]
    fn a_taken_lock_is_not_taken_twice() {
        let lock = Wiped::<Lock<u64>>::new(None).unwrap();
        let signals = Blocked::new();
        let held = lock.lock(&signals);
        assert!(lock.try_lock(&signals).is_none());
        drop(held);
        assert!(lock.try_lock(&signals).is_some());
    }
}
