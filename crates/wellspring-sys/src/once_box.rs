//! A value made once for a process, without a lock.

use crate::signals::Blocked;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

/// A value that the first thread to ask for it makes.
///
/// With `std`'s `OnceLock` the other threads wait for the first. A child process that was forked meanwhile, or a signal
/// handler that interrupts the first thread, would wait for ever. Here each thread that finds no value makes one, and
/// all but one are dropped. `once_cell::race::OnceBox` does the same, without blocking signals while it allocates.
pub struct OnceBox<T: 'static>(AtomicPtr<T>);

impl<T: Send + Sync> OnceBox<T> {
    /// Nothing yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// The value, if there is one. It lives as long as the process.
    #[inline(always)]
    pub fn get(&self) -> Option<&'static T> {
        // SAFETY: null, or a value that `make` leaked and that never changes.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    /// The value, made by `make` if there is none.
    #[inline(always)]
    pub fn get_or_init(&self, make: fn() -> T) -> &'static T {
        match self.get() {
            Some(value) => value,
            None => self.make(make),
        }
    }

    #[cold]
    #[inline(never)]
    fn make(&self, make: fn() -> T) -> &'static T {
        let _signals = Blocked::new();
        let mine = Box::into_raw(Box::new(make()));
        let null = ptr::null_mut();
        let first = match self
            .0
            .compare_exchange(null, mine, Ordering::AcqRel, Ordering::Acquire)
        {
            Ok(_) => mine,
            Err(first) => {
                // SAFETY: made a moment ago, and not published.
                drop(unsafe { Box::from_raw(mine) });
                first
            }
        };
        // SAFETY: published, hence never freed or changed.
        unsafe { &*first }
    }
}

impl<T: Send + Sync> Default for OnceBox<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::AtomicU32;

    #[test]
    fn every_thread_gets_the_same_value() {
        static MADE: AtomicU32 = AtomicU32::new(0);
        static ONCE: OnceBox<u32> = OnceBox::new();
        let get = || *ONCE.get_or_init(|| MADE.fetch_add(1, Ordering::Relaxed));
        let values: Vec<u32> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(get)).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        assert!(values.iter().all(|&value| value == get()));
    }
}
