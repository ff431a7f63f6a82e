//! A state for every thread at every nesting depth.
//!
//! A read that interrupts a read on the same thread (in a signal handler) is one level deeper and has a
//! state of its own, so that nothing of the interrupted read's state ever moves under it. The depth is
//! marked before anything of a state is looked at and cleared after the last change to it, so that the marks
//! are right at every instruction boundary. A handler left by siglongjmp leaves the mark of what it
//! interrupted: that state is never used again.

use crate::signals::Blocked;
use crate::slots::{self, Header, STATES_BYTES, Slot};
use crate::thread::{Depth, ENTRIES, Entry, Local, local, release_at_exit};
use crate::vdso::VdsoRandom;
use crate::zeroed::{Zeroed, assert_zeroed};
use core::marker::PhantomData;
use core::sync::atomic::{AtomicU64, Ordering, compiler_fence};

pub use crate::slots::DEPTHS;

/// The states of a thread: one for the outermost depth, where almost all reads are, and smaller ones for the
/// depths of signal handlers.
#[repr(C)]
struct States<O, I> {
    outermost: O,
    nested: [I; DEPTHS - 1],
}

/// States for every thread: an `O` for the outermost depth, an `I` for each deeper one.
///
/// All zeros is a state that was never used; it is what a thread starts with and what it finds in a child
/// process.
#[derive(Debug)]
pub struct ThreadStates<O, I> {
    owner: u64,
    states: PhantomData<fn() -> (O, I)>,
}

impl<O: Zeroed, I: Zeroed> ThreadStates<O, I> {
    /// A new threads; every thread's states are zero.
    #[must_use]
    pub fn new() -> Self {
        const {
            assert_zeroed::<O>();
            assert_zeroed::<I>();
            assert!(
                size_of::<States<O, I>>() <= STATES_BYTES,
                "a thread's states fit into a slot"
            );
            assert!(align_of::<States<O, I>>() <= align_of::<Header>());
        };
        static NEXT_OWNER: AtomicU64 = AtomicU64::new(1);
        Self {
            owner: NEXT_OWNER.fetch_add(1, Ordering::Relaxed),
            states: PhantomData,
        }
    }

    /// The hot path: runs `read` on this thread's outermost state, if the thread is at that depth and has states.
    ///
    /// `None`: it is not or has none, or the process forked under `read` (in a signal handler); whatever `read`
    /// did is then to be done again by way of [`with`](Self::with).
    #[inline(always)]
    pub fn try_outermost<R>(&self, read: impl FnOnce(&mut O) -> R) -> Option<R> {
        let local = local();
        if local.depth.get() != 0 {
            return None;
        }
        let depth = Depth::enter(local, 0);
        let entry = &local.entries[0];
        let slot = entry.slot().filter(|_| entry.owner.get() == self.owner)?;
        // SAFETY: in bounds and aligned, as `new` asserts; all zeros, which it starts as, is an `O`. Nobody else
        // has it: the slot is this thread's, and the depth is marked.
        let result = read(unsafe { &mut *slot.states().cast::<O>() });
        compiler_fence(Ordering::SeqCst);
        if slot.is_ours() {
            return Some(result);
        }
        self.start_over(local, depth.level, &|| 0);
        None
    }

    /// Runs `read` on this thread's state at its present depth.
    ///
    /// `None`: the thread is [`DEPTHS`] deep already, or the system has no memory; `read` did not run then.
    /// When the process forked under `read` (in a signal handler), the child finds the state wiped, and
    /// `read` runs again there: whatever it did before is to be overwritten.
    ///
    /// `node` says which node's memory a new state shall be in.
    pub fn try_with<R>(
        &self,
        node: impl Fn() -> u32,
        mut read: impl FnMut(&mut StateRef<'_, O, I>) -> R,
    ) -> Option<R> {
        let local = local();
        let level = local.depth.get();
        if level >= DEPTHS {
            return None;
        }
        let depth = Depth::enter(local, level);
        loop {
            let slot = self.find(local, depth.level, &node)?;
            let result = read(&mut StateRef {
                slot,
                depth: depth.level,
                states: PhantomData,
            });
            compiler_fence(Ordering::SeqCst);
            if slot.is_ours() {
                return Some(result);
            }
            self.start_over(local, depth.level, &node)?;
        }
    }

    /// Erases this level's state in a child that was forked under `read`, which went on with what it knew
    /// from before and may have written that to the state after the wipe.
    #[cold]
    #[inline(never)]
    fn start_over(&self, local: &Local, depth: usize, node: &impl Fn() -> u32) -> Option<()> {
        let slot = self.find(local, depth, node)?;
        let mut level = StateRef::<O, I> {
            slot,
            depth,
            states: PhantomData,
        };
        match level.state() {
            State::Outermost(state) => *state = O::ZERO,
            State::Nested(state) => *state = I::ZERO,
        }
        Some(())
    }

    /// What the slots of this threads are held by.
    pub(crate) fn owner(&self) -> u64 {
        self.owner
    }

    /// How many threads have states.
    #[must_use]
    pub fn count(&self) -> usize {
        slots::count(self.owner)
    }

    /// Finds this thread's slot, or claims one.
    fn find(&self, local: &Local, depth: usize, node: &impl Fn() -> u32) -> Option<Slot> {
        self.mine(local)
            .or_else(|| self.acquire(local, depth, node()))
    }

    /// This thread's slot.
    fn mine(&self, local: &Local) -> Option<Slot> {
        // The slot before the owner: no handler replaces the entry of a slot that was found to be ours.
        let is_mine = |entry: &Entry| entry.slot().filter(|_| entry.owner.get() == self.owner);
        local.entries.iter().find_map(is_mine)
    }

    #[cold]
    #[inline(never)]
    fn acquire(&self, local: &Local, depth: usize, node: u32) -> Option<Slot> {
        // A handler that found an entry half written would be lost.
        let _signals = Blocked::new();
        // One that came before may have claimed what we want.
        if let Some(slot) = self.mine(local) {
            return Some(slot);
        }
        let lost = |entry: &&Entry| entry.owner.get() == self.owner;
        let unused = |entry: &&Entry| entry.slot().is_none();
        let mut entries = local.entries.iter();
        let entry = match entries.clone().find(lost).or_else(|| entries.find(unused)) {
            Some(entry) => entry,
            // What a shallower level uses cannot be taken away.
            None if depth > 0 => return None,
            None => &local.entries[self.owner as usize % ENTRIES],
        };
        let before = entry.slot.get();
        let used_bytes = size_of::<Header>() + size_of::<States<O, I>>();
        let slot = if entry.owner.get() == self.owner {
            slots::acquire(self.owner, node, used_bytes, before)?
        } else {
            if depth == 0 {
                slots::release(before);
            }
            slots::acquire(self.owner, node, used_bytes, Slot::NONE)?
        };
        entry.owner.set(self.owner);
        entry.slot.set(slot);
        release_at_exit();
        Some(slot)
    }
}

impl<O: Zeroed, I: Zeroed> Default for ThreadStates<O, I> {
    fn default() -> Self {
        Self::new()
    }
}

impl<O, I> Drop for ThreadStates<O, I> {
    /// Erases every thread's states.
    fn drop(&mut self) {
        slots::release_all(self.owner);
    }
}

/// A depth's states, held by whoever reads at it.
pub struct StateRef<'a, O, I> {
    slot: Slot,
    depth: usize,
    states: PhantomData<&'a mut (O, I)>,
}

/// The state of a depth.
pub enum State<'a, O, I> {
    /// Of a read that interrupts none.
    Outermost(&'a mut O),
    /// Of a read that interrupts another.
    Nested(&'a mut I),
}

impl<O: Zeroed, I: Zeroed> StateRef<'_, O, I> {
    /// The state.
    pub fn state(&mut self) -> State<'_, O, I> {
        let states = self.slot.states().cast::<States<O, I>>();
        // SAFETY: in bounds and aligned, as `ThreadStates::new` asserts; all zeros, which it starts as, is a state.
        // Nobody else has it: the slot is this thread's, and the depth is marked.
        unsafe {
            match self.depth {
                0 => State::Outermost(&mut (*states).outermost),
                deeper => State::Nested(&mut (*states).nested[deeper - 1]),
            }
        }
    }

    /// The states of this depth and all deeper ones: the outermost, if this is it, and nested ones. No handler
    /// runs, so nobody uses those.
    pub fn states(&mut self, _signals: &Blocked) -> (Option<&mut O>, &mut [I]) {
        let states = self.slot.states().cast::<States<O, I>>();
        // SAFETY: as above, for all depths from this one on.
        unsafe {
            match self.depth {
                0 => (Some(&mut (*states).outermost), &mut (*states).nested),
                deeper => (None, &mut (&mut (*states).nested)[deeper - 1..]),
            }
        }
    }

    /// The state, and the operating system's output for whoever changes it.
    pub fn state_and_vdso(&mut self) -> (State<'_, O, I>, VdsoRandom<'_>) {
        let fresh = VdsoRandom::new(self.slot.vdso_state(self.depth));
        (self.state(), fresh)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value<'a>(level: &'a mut StateRef<'_, u64, u64>) -> &'a mut u64 {
        match level.state() {
            State::Outermost(value) | State::Nested(value) => value,
        }
    }

    fn next(threads: &ThreadStates<u64, u64>) -> Option<u64> {
        threads.try_with(
            || 0,
            |level| {
                *value(level) += 1;
                *value(level)
            },
        )
    }

    #[test]
    fn every_thread_starts_from_zero_and_keeps_its_state() {
        let threads = ThreadStates::<u64, u64>::new();
        assert_eq!((next(&threads), next(&threads)), (Some(1), Some(2)));
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!((next(&threads), next(&threads)), (Some(1), Some(2))));
        });
        assert_eq!(next(&threads), Some(3));
    }

    #[test]
    fn a_nested_use_never_sees_the_state_it_interrupts() {
        let threads = ThreadStates::<u64, u64>::new();
        fn descend(threads: &ThreadStates<u64, u64>, depth: usize) -> usize {
            let below = threads.try_with(
                || 0,
                |level| {
                    assert_eq!(*value(level), 0);
                    *value(level) = 1;
                    let below = descend(threads, depth + 1);
                    assert_eq!(*value(level), 1);
                    below
                },
            );
            below.unwrap_or(depth)
        }
        assert_eq!(descend(&threads, 0), DEPTHS, "the fifth level is refused");
    }

    #[test]
    fn a_panic_costs_no_depth() {
        let threads = ThreadStates::<u64, u64>::new();
        for _ in 0..2 * DEPTHS {
            let panics =
                std::panic::AssertUnwindSafe(|| threads.try_with(|| 0, |_| panic!("in a read")));
            assert!(std::panic::catch_unwind(panics).is_err());
        }
        assert_eq!(next(&threads), Some(1));
    }

    #[test]
    fn more_nests_than_a_thread_keeps_lose_states_and_nothing_else() {
        let all: [ThreadStates<u64, u64>; 3 * ENTRIES] =
            core::array::from_fn(|_| ThreadStates::new());
        for _ in 0..3 {
            for threads in &all {
                assert!(next(threads).is_some());
            }
        }
        assert!(all.iter().map(ThreadStates::count).sum::<usize>() <= ENTRIES);
    }

    #[test]
    fn slots_of_ended_threads_and_dropped_nests_are_used_again() {
        let threads = ThreadStates::<u64, u64>::new();
        for _ in 0..200 {
            std::thread::scope(|scope| {
                let first = scope.spawn(|| next(&threads)).join().unwrap();
                assert_eq!(first, Some(1), "a slot comes back erased");
            });
        }
        assert_eq!(threads.count(), 0);
        next(&threads);
        let owner = threads.owner;
        assert_eq!(slots::count(owner), 1);
        drop(threads);
        assert_eq!(slots::count(owner), 0);
    }
}
