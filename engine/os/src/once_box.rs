//! A value made once for a process, without a lock; a reference that is set later.

use crate::memory::{MemoryError, try_box};
use crate::signals::SignalsBlocked;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

/// A value that the first thread to ask for it makes.
///
/// With `std`'s `OnceLock` the other threads wait for the first. A child process that was forked meanwhile, or a signal
/// handler that interrupts the first thread, would wait without end. Here each thread that finds no value makes one, and
/// all but one are dropped. `once_cell::race::OnceBox` does the same, without blocking signals while it allocates.
pub struct OnceBox<T: 'static>(AtomicPtr<T>);

impl<T: Send + Sync> OnceBox<T> {
    /// Nothing yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// The value, if it was made. It is never dropped.
    #[must_use]
    #[inline(always)]
    pub fn get(&self) -> Option<&'static T> {
        // SAFETY: null, or a value that `make` leaked and that never changes.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    /// The value. The first caller makes it by `make`; it is never dropped.
    ///
    /// # Errors
    ///
    /// The error of `make`, or no memory for the value; then the next caller tries again.
    #[inline(always)]
    pub fn get_or_try_init<E: From<MemoryError>>(
        &self,
        make: fn() -> Result<T, E>,
    ) -> Result<&'static T, E> {
        match self.get() {
            Some(value) => Ok(value),
            None => self.try_make(make),
        }
    }

    /// Keeps this value if none was set before. Otherwise drops it and returns `None`.
    ///
    /// # Errors
    ///
    /// There is no memory for the value.
    pub fn set(&self, value: T) -> Result<Option<&'static T>, MemoryError> {
        let _signals = SignalsBlocked::new();
        Ok(self.publish(value)?.ok())
    }

    #[cold]
    #[inline(never)]
    fn try_make<E: From<MemoryError>>(&self, make: fn() -> Result<T, E>) -> Result<&'static T, E> {
        let _signals = SignalsBlocked::new();
        let published = self.publish(make()?)?;
        Ok(published.unwrap_or_else(|faster| faster))
    }

    /// Keeps the value, unless another thread was faster: then the inner error is that thread's.
    fn publish(&self, value: T) -> Result<Result<&'static T, &'static T>, MemoryError> {
        let mine = Box::into_raw(try_box(value)?);
        let null = ptr::null_mut();
        let published = self
            .0
            .compare_exchange(null, mine, Ordering::AcqRel, Ordering::Acquire);
        if published.is_err() {
            // SAFETY: made a moment ago, and not published.
            drop(unsafe { Box::from_raw(mine) });
        }
        // SAFETY: published, so neither is ever freed or changed.
        Ok(unsafe { published.map(|_| &*mine).map_err(|faster| &*faster) })
    }
}

impl<T: Send + Sync> Default for OnceBox<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// A reference that is set later. To follow it takes one load; a [`OnceBox`] of references takes two.
pub struct OnceRef<T: 'static>(AtomicPtr<T>);

impl<T: Sync> OnceRef<T> {
    /// Not set yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// The reference, if it was set.
    #[must_use]
    #[inline(always)]
    pub fn get(&self) -> Option<&'static T> {
        // SAFETY: null, or from the `&'static T` of `set`, and nothing is written by way of it.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    /// Sets it.
    pub fn set(&self, value: &'static T) {
        self.0
            .store(ptr::from_ref(value).cast_mut(), Ordering::Release);
    }
}

impl<T: Sync> Default for OnceRef<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::AtomicU32;
    use std::sync::Arc;

    #[test]
    fn every_thread_gets_the_same_value() {
        static MADE: AtomicU32 = AtomicU32::new(0);
        static ONCE: OnceBox<u32> = OnceBox::new();
        let get = || {
            let made: Result<_, MemoryError> =
                ONCE.get_or_try_init(|| Ok(MADE.fetch_add(1, Ordering::Relaxed)));
            *made.unwrap()
        };
        let values: Vec<u32> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(get)).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        assert!(values.iter().all(|&value| value == get()));
    }

    #[test]
    fn the_first_value_stays_and_a_later_one_is_dropped() {
        static ONCE: OnceBox<Arc<u32>> = OnceBox::new();
        let (first, second) = (Arc::new(1), Arc::new(2));
        assert_eq!(ONCE.set(first.clone()), Ok(Some(&first)));
        assert_eq!(ONCE.set(second.clone()), Ok(None));
        assert_eq!(ONCE.get(), Some(&first));
        assert_eq!(Arc::strong_count(&second), 1);
    }

    #[test]
    fn a_reference_is_found_on_every_thread_once_it_was_set() {
        static REFERENCE: OnceRef<u32> = OnceRef::new();
        static VALUE: u32 = 7;
        assert!(REFERENCE.get().is_none());
        REFERENCE.set(&VALUE);
        let found = std::thread::spawn(|| REFERENCE.get()).join().unwrap();
        assert!(found.is_some_and(|found| core::ptr::eq(found, &VALUE)));
    }

    #[test]
    fn a_failure_leaves_nothing_and_the_next_caller_tries_again() {
        static TRIES: AtomicU32 = AtomicU32::new(0);
        static ONCE: OnceBox<u32> = OnceBox::new();
        let get = || {
            ONCE.get_or_try_init(|| match TRIES.fetch_add(1, Ordering::Relaxed) {
                0 => Err(MemoryError),
                tries => Ok(tries),
            })
        };
        assert_eq!(get(), Err(MemoryError));
        assert_eq!(get(), Ok(&1));
        assert_eq!(get(), Ok(&1));
    }
}
