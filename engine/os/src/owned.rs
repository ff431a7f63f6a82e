//! A state that a value owns.

use crate::signals::SignalsBlocked;
use crate::slots::{self, Header, Kind, Request, Slot, SlotRef};
use crate::system::pages;
use crate::thread::{Generation, STALE};
use crate::thread_state::ThreadStates;
use crate::vdso::VdsoRandom;
use crate::zeroed::{Zeroed, assert_zeroed};
use core::marker::PhantomData;
use core::sync::atomic::{Ordering, compiler_fence};

/// A state that this value owns: not tied to a thread, not shared, wiped on fork as well.
#[derive(Debug)]
pub struct OwnedState<T> {
    slot: Slot,
    /// The number of the generation in which the state was made current.
    current: u64,
    /// The sum of the watched words that was handled before.
    handled: u64,
    owner: u64,
    state: PhantomData<T>,
}

/// A read of a current state that a value owns.
pub struct OwnedRead<'a, T> {
    slot: SlotRef,
    state: PhantomData<&'a mut T>,
}

impl<T> OwnedRead<'_, T> {
    /// The state. In a child that was forked since the last read it may be `T::ZERO`, from which nothing must be taken.
    #[inline(always)]
    pub fn state(&mut self) -> &mut T {
        // SAFETY: in bounds and aligned, as `OwnedState::new` asserts; the state starts as zeros, a fork wipes it to zeros,
        // and zeros are a `T`. No other code uses it: only its owner takes its slot again or releases it, and the owner is
        // borrowed.
        unsafe { &mut *self.slot.states::<T>() }
    }

    /// Ends the read. `None` if the process forked under it.
    #[inline(always)]
    pub fn end(self) -> Option<()> {
        compiler_fence(Ordering::SeqCst);
        self.slot.is_ours().then_some(())
    }
}

impl<T: Zeroed> OwnedState<T> {
    /// A new state beside the states of `threads`; it may outlive them. Its first use takes 4 KiB of memory.
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
            current: STALE,
            handled: 0,
            state: PhantomData,
        }
    }

    /// A hot path, like [`ThreadStates::try_current`]: begins a read of the state, if that was made current in the generation
    /// that `threads` are in.
    #[inline(always)]
    pub fn try_current<O: Zeroed, I: Zeroed>(
        &mut self,
        threads: &ThreadStates<O, I>,
    ) -> Option<OwnedRead<'_, T>> {
        // The numbers are unique: if they are equal, `new` got the same `threads`.
        let generation = threads.number_to_compare();
        (generation == self.current).then(|| OwnedRead {
            // SAFETY: it has a slot, since `mark_current` marks only states that have one, and it keeps the slot.
            slot: unsafe { self.slot.some_ref() },
            state: PhantomData,
        })
    }

    /// The sum of the watched words that was handled before the last [`mark_current`](OwnedLongRead::mark_current).
    #[must_use]
    #[inline(always)]
    pub fn handled(&self) -> u64 {
        self.handled
    }

    /// Whether the last read made the state current. It may be out of date since.
    #[must_use]
    #[inline(always)]
    pub fn was_current(&self) -> bool {
        self.current != STALE
    }

    /// Begins any read of the state. `None`: it has none yet, or a fork took it, see [`begin_first`](Self::begin_first).
    #[inline(always)]
    pub fn begin(&mut self) -> Option<OwnedLongRead<'_, T>> {
        pages::look_for_fork();
        let place = Some(self.slot.place()).filter(|place| place.is_ours())?;
        Some(OwnedLongRead { place, owned: self })
    }

    /// The same with a state that was never used. `None`: the system has no memory.
    #[cold]
    #[inline(never)]
    pub fn begin_first(&mut self, node: u32) -> Option<OwnedLongRead<'_, T>> {
        self.acquire(node)?;
        let place = self.slot.place();
        Some(OwnedLongRead { place, owned: self })
    }
}

/// Any read of a state that a value owns.
pub struct OwnedLongRead<'a, T> {
    owned: &'a mut OwnedState<T>,
    place: SlotRef,
}

impl<T: Zeroed> OwnedLongRead<'_, T> {
    /// The state, and the operating system's output to be mixed into it.
    #[inline(always)]
    pub fn state_and_vdso(&mut self) -> (&mut T, VdsoRandom<'_>) {
        let vdso = VdsoRandom::new(slots::vdso_state(&self.owned.slot, 0));
        // SAFETY: as in `OwnedRead::state`; `place` is a slot, since it is or was ours.
        (unsafe { &mut *self.place.states::<T>() }, vdso)
    }

    /// The state.
    #[inline(always)]
    pub fn state(&mut self) -> &mut T {
        self.state_and_vdso().0
    }

    /// Says that the state is current in a generation, as
    /// [`ThreadRead::mark_current`](crate::thread_state::ThreadRead::mark_current) does. If a fork takes the slot later, the
    /// child's state is zeros, from which nothing is taken.
    #[inline(always)]
    pub fn mark_current(&mut self, generation: Generation, handled: u64) {
        self.owned.handled = handled;
        self.owned.current = generation.of(self.owned.owner).unwrap_or(STALE);
    }

    /// Makes the next read take the long way.
    #[inline(always)]
    pub fn mark_stale(&mut self) {
        self.owned.current = STALE;
    }

    /// Ends the read. Returns `false` if the process forked under it, and this is the child: make the read again.
    #[must_use]
    #[inline(always)]
    pub fn end(self) -> bool {
        compiler_fence(Ordering::SeqCst);
        let is_ours = self.place.is_ours();
        if !is_ours {
            self.owned.current = STALE;
        }
        is_ours
    }
}

impl<T> OwnedState<T> {
    /// Acquires a slot for a state that has none, or the same slot again, erased, if a fork took it.
    #[cold]
    fn acquire(&mut self, node: u32) -> Option<()> {
        let _signals = SignalsBlocked::new();
        let request = Request {
            owner: self.owner,
            kind: Kind::Owned,
            node: Some(node),
            used_bytes: size_of::<T>(),
            thread: 0,
        };
        self.current = STALE;
        self.slot = slots::acquire(&request, self.slot)?;
        Some(())
    }

    /// Sees to it that `count` more states find memory of that node without a system call. `false`: the system has
    /// none.
    pub fn reserve(node: u32, count: usize) -> bool {
        let _signals = SignalsBlocked::new();
        slots::reserve(Kind::Owned, node, count)
    }
}

impl<T> Drop for OwnedState<T> {
    /// Erases the state.
    fn drop(&mut self) {
        if self.slot.is_ours_or_lost() {
            let _signals = SignalsBlocked::new();
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
            let mut read = match owned.begin() {
                Some(read) => read,
                None => owned.begin_first(0)?,
            };
            *read.state() += 1;
            let value = *read.state();
            read.end().then_some(value)
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
