//! A state that someone owns.

use crate::signals::Blocked;
use crate::slots::{self, Header, Kind, Request, Slot};
use crate::thread_state::ThreadStates;
use crate::vdso::VdsoRandom;
use crate::zeroed::{Zeroed, assert_zeroed};
use core::marker::PhantomData;
use core::sync::atomic::{Ordering, compiler_fence};

/// A state that someone owns: not tied to a thread, not shared, wiped on fork all the same.
#[derive(Debug)]
pub struct OwnedState<T> {
    owner: u64,
    slot: Slot,
    state: PhantomData<T>,
}

impl<T: Zeroed> OwnedState<T> {
    /// A new state for the owner of `threads`; it takes memory when first used.
    #[must_use]
    pub fn new<O: Zeroed, I: Zeroed>(threads: &ThreadStates<O, I>) -> Self {
        const {
            assert_zeroed::<T>();
            assert!(
                size_of::<T>() <= Kind::Owned.states_bytes(),
                "the state fits into a slot"
            );
            assert!(align_of::<T>() <= align_of::<Header>());
        };
        Self {
            owner: threads.owner(),
            slot: Slot::NONE,
            state: PhantomData,
        }
    }

    /// The hot path: as [`ThreadStates::try_outermost`].
    #[inline(always)]
    pub fn try_with<R>(&mut self, read: impl FnOnce(&mut T) -> R) -> Option<R> {
        let slot = Some(self.slot).filter(Slot::is_ours)?;
        // SAFETY: in bounds and aligned, as `new` asserts; all zeros, which it starts as, is a `T`. Nobody else
        // has it: the slot is ours, and we are borrowed.
        let result = read(unsafe { &mut *slot.states().cast::<T>() });
        compiler_fence(Ordering::SeqCst);
        Some(result).filter(|_| slot.is_ours())
    }

    /// As [`ThreadStates::try_with`]; there is no depth to run out of.
    pub fn with<R>(
        &mut self,
        node: impl Fn() -> u32,
        mut read: impl FnMut(&mut T, VdsoRandom<'_>) -> R,
    ) -> Option<R> {
        loop {
            if !self.slot.is_ours() {
                self.acquire(node())?;
            }
            let fresh = VdsoRandom::new(self.slot.vdso_state(0));
            let read = |state: &mut T| read(state, fresh);
            if let Some(result) = self.try_with(read) {
                return Some(result);
            }
        }
    }
}

impl<T> OwnedState<T> {
    /// Acquires a slot, if there is none or a fork took it: then the same one again, erased.
    #[cold]
    fn acquire(&mut self, node: u32) -> Option<()> {
        let _signals = Blocked::new();
        let request = Request {
            owner: self.owner,
            kind: Kind::Owned,
            node,
            used_bytes: size_of::<T>(),
            thread: 0,
        };
        self.slot = slots::acquire(&request, self.slot)?;
        Some(())
    }

    /// Sees to it that `count` more states find memory of that node without a system call. `false`: the system has
    /// none.
    pub fn reserve(node: u32, count: usize) -> bool {
        let _signals = Blocked::new();
        slots::reserve(Kind::Owned, node, count)
    }
}

impl<T> Drop for OwnedState<T> {
    /// Erases the state.
    fn drop(&mut self) {
        if self.slot.is_ours_or_lost() {
            let _signals = Blocked::new();
            slots::release(self.slot);
        }
    }
}

// SAFETY: an `OwnedState<T>` is the only way to its state, as a `Box<T>` is.
unsafe impl<T: Send> Send for OwnedState<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owned_state_moves_between_threads() {
        let threads = ThreadStates::<u64, u64>::new();
        let mut owned = OwnedState::<u64>::new(&threads);
        let mut next = move || {
            owned.with(
                || 0,
                |value, _| {
                    *value += 1;
                    *value
                },
            )
        };
        assert_eq!(next(), Some(1));
        let mut next = std::thread::spawn(move || {
            assert_eq!(next(), Some(2));
            next
        })
        .join()
        .unwrap();
        assert_eq!(next(), Some(3));
    }
}
