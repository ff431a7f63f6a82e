//! A value with several owners on the heap, like `std`'s `Arc`, and a value that is made once for a process. An allocation that
//! fails is an error. `Arc` would end the process, and its fallible constructor is not in stable Rust.

use crate::memory::{MemoryError, try_box};
use crate::signals::SignalsBlocked;
use core::mem::ManuallyDrop;
use core::ops::Deref;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering, fence};
use core::{fmt, ptr};

/// A handle of an owner. The last one drops the value.
pub struct Shared<T>(NonNull<Inner<T>>);

/// A handle of one who does not own the value.
pub struct Weak<T>(NonNull<Inner<T>>);

#[repr(C)]
struct Inner<T> {
    /// The owners.
    strong: AtomicUsize,
    /// The other handles, and one for all owners together. The last handle frees the memory.
    weak: AtomicUsize,
    value: ManuallyDrop<T>,
}

// SAFETY: as for `Arc`: each handle gives `&T` on its thread, and the last one drops the value on its own.
unsafe impl<T: Send + Sync> Send for Shared<T> {}
// SAFETY: as above: with `&Shared<T>` another thread can make a handle of its own.
unsafe impl<T: Send + Sync> Sync for Shared<T> {}
// SAFETY: as above, by way of `upgrade`.
unsafe impl<T: Send + Sync> Send for Weak<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Weak<T> {}

/// Only a program that leaks handles in a loop exceeds this count, which must not wrap.
const MAX_HANDLES: usize = isize::MAX as usize;

impl<T> Shared<T> {
    /// Moves the value to the heap.
    ///
    /// # Errors
    ///
    /// There is no memory.
    pub fn try_new(value: T) -> Result<Self, MemoryError> {
        let inner = try_box(Inner {
            strong: AtomicUsize::new(1),
            weak: AtomicUsize::new(1),
            value: ManuallyDrop::new(value),
        })?;
        Ok(Self(NonNull::from(Box::leak(inner))))
    }

    /// A handle that does not own the value.
    #[must_use]
    pub fn downgrade(this: &Self) -> Weak<T> {
        // SAFETY: the memory lasts as long as `this`.
        add(unsafe { &this.0.as_ref().weak });
        Weak(this.0)
    }
}

fn add(count: &AtomicUsize) {
    if count.fetch_add(1, Ordering::Relaxed) > MAX_HANDLES {
        std::process::abort();
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the value lasts as long as its owners, and is only shared.
        unsafe { &self.0.as_ref().value }
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        // SAFETY: the memory lasts as long as `self`.
        add(unsafe { &self.0.as_ref().strong });
        Self(self.0)
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        // SAFETY: the memory lasts as long as this handle.
        let strong = unsafe { &self.0.as_ref().strong };
        if strong.fetch_sub(1, Ordering::Release) != 1 {
            return;
        }
        // All that other owners did with the value happens before its drop.
        fence(Ordering::Acquire);
        // The handle of all owners together; dropped by a panic of the value's drop too.
        let _memory = Weak(self.0);
        // SAFETY: no owner is left, and none comes back: `upgrade` fails at a count of 0.
        unsafe { ManuallyDrop::drop(&mut (*self.0.as_ptr()).value) };
    }
}

impl<T> Weak<T> {
    /// A handle of an owner, if there is still an owner.
    #[must_use]
    pub fn upgrade(&self) -> Option<Shared<T>> {
        // SAFETY: the memory lasts as long as `self`. Nothing refers to the value here, which its last owner may be dropping.
        let strong = unsafe { &(*self.0.as_ptr()).strong };
        let more = |count: usize| (count != 0 && count <= MAX_HANDLES).then(|| count + 1);
        let upgraded = strong.fetch_update(Ordering::Acquire, Ordering::Relaxed, more);
        upgraded.is_ok().then(|| Shared(self.0))
    }
}

impl<T> Clone for Weak<T> {
    fn clone(&self) -> Self {
        // SAFETY: the memory lasts as long as `self`.
        add(unsafe { &(*self.0.as_ptr()).weak });
        Self(self.0)
    }
}

impl<T> Drop for Weak<T> {
    fn drop(&mut self) {
        // SAFETY: the memory lasts as long as this handle.
        let weak = unsafe { &(*self.0.as_ptr()).weak };
        if weak.fetch_sub(1, Ordering::Release) == 1 {
            fence(Ordering::Acquire);
            // SAFETY: from `try_box`, and this was the last handle. The value, which was dropped, is not dropped again.
            drop(unsafe { Box::from_raw(self.0.as_ptr()) });
        }
    }
}

impl<T> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shared")
    }
}

// A value made once for a process, without a lock; a reference that is set later.

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
    use std::sync::{Arc, Mutex, OnceLock};

    #[test]
    fn the_value_is_dropped_with_its_last_owner_and_not_with_other_handles() {
        let counted = Arc::new(());
        let first = Shared::try_new(counted.clone()).unwrap();
        let weak = Shared::downgrade(&first);
        let second = weak.upgrade().unwrap();
        drop(first);
        assert_eq!(Arc::strong_count(&counted), 2);
        assert_eq!(Arc::strong_count(&second), 2);
        drop(second);
        assert_eq!(Arc::strong_count(&counted), 1);
        assert!(weak.upgrade().is_none());
        assert!(weak.clone().upgrade().is_none());
    }

    /// Of a value that refers to itself: Miri sees a handle that reaches for the value which is being dropped.
    struct Knot {
        own: OnceLock<Weak<Knot>>,
        upgraded: Arc<Mutex<Vec<bool>>>,
    }

    impl Drop for Knot {
        fn drop(&mut self) {
            let own = self.own.get().unwrap();
            let found = [own.upgrade(), own.clone().upgrade()].map(|found| found.is_some());
            self.upgraded.lock().unwrap().extend(found);
        }
    }

    #[test]
    fn a_value_that_is_being_dropped_gets_no_owner_by_its_own_handle() {
        let upgraded = Arc::default();
        let knot = Shared::try_new(Knot {
            own: OnceLock::new(),
            upgraded: Arc::clone(&upgraded),
        })
        .unwrap();
        let _ = knot.own.set(Shared::downgrade(&knot));
        assert!(knot.own.get().unwrap().upgrade().is_some());
        drop(knot);
        assert_eq!(*upgraded.lock().unwrap(), [false, false]);
        assert_eq!(Arc::strong_count(&upgraded), 1);
    }

    #[test]
    fn threads_that_drop_and_upgrade_at_the_same_time_drop_the_value_once() {
        for _ in 0..200 {
            let counted = Arc::new(());
            let shared = Shared::try_new(counted.clone()).unwrap();
            let weak = Shared::downgrade(&shared);
            std::thread::scope(|scope| {
                for _ in 0..2 {
                    let (shared, weak) = (shared.clone(), weak.clone());
                    scope.spawn(move || {
                        drop(shared);
                        drop(weak.upgrade());
                    });
                }
                scope.spawn(move || drop(shared));
            });
            assert!(weak.upgrade().is_none());
            assert_eq!(Arc::strong_count(&counted), 1);
        }
    }

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
