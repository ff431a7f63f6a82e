//! A state for every thread at every nesting depth.
//!
//! A read that interrupts a read on the same thread (in a signal handler) is one level deeper and has a state of its
//! own, so that the interrupted read's state never changes under it. A read takes its depth before it looks at a state,
//! and gives it back after its last change to the state. So depths are right at every instruction boundary. A handler
//! that is left by siglongjmp leaves the depth of the read it interrupted taken: that state is never used again.

mod state_ref;
mod state_slots;

pub use crate::slots::DEPTHS;
pub use crate::thread::{CurrentThread, Epoch};
pub use state_ref::{State, StateRef};

use crate::signals::SignalsBlocked;
use crate::slots::{self, Header, Kind, Slot, SlotRef};
use crate::system::pages;
use crate::thread::{DepthGuard, HotGuard, STALE, ThreadData, local};
use crate::thread_exit;
use crate::zeroed::{Zeroed, assert_zeroed};
use core::marker::PhantomData;
#[cfg(not(loom))]
use core::sync::atomic::AtomicU64 as AtomicEpoch;
use core::sync::atomic::{AtomicU64, Ordering, compiler_fence};
#[cfg(loom)]
use loom::sync::atomic::AtomicU64 as AtomicEpoch;
use state_ref::States;
use state_slots::{StateSlots, slot_of};

/// States for every thread: an `O` for the outermost depth, an `I` for each deeper one.
///
/// `ZERO` is a state that was never used: what a thread starts with, and what it finds in a child process.
///
/// # The hot path
///
/// [`try_current`](Self::try_current) begins a read of an outermost state that an earlier read has made *current*, by
/// [`StateRef::mark_current`], in the [`Epoch`] that the states are still in. All that must send a read the long way
/// begins a new epoch with [`begin_epoch`](Self::begin_epoch): a reseed, a notice of a clone. A thread's epoch is
/// compared with that of the states, once. Epochs are numbers that no two states share, so the comparison fails as
/// well on a thread whose first entry is of other states, or that is in a read already: then its epoch says so.
///
/// It does not notice a fork. In a child the state is wiped: `O::ZERO`, which must have nothing to give. A fork under
/// the read (in a signal handler) is noticed at its end, by the slot's serial.
///
/// # The types of states
///
/// A reference that was put into a state must live as long as the type says:
///
/// ```compile_fail,E0308
/// use wellspring_os::thread_state::ThreadStates;
/// use wellspring_os::zeroed::Zeroed;
/// struct Kept<'a>(Option<&'a u64>);
/// impl Zeroed for Kept<'_> {
///     const ZERO: Self = Self(None);
/// }
/// fn shorter<'a>(states: &'a ThreadStates<Kept<'static>, u64>) -> &'a ThreadStates<Kept<'a>, u64> {
///     states
/// }
/// ```
#[derive(Debug)]
pub struct ThreadStates<O, I> {
    epoch: AtomicEpoch,
    owner: u64,
    /// Threads share no state: so it may be of any type.
    states: PhantomData<Exactly<(O, I)>>,
}

/// Stands for a type that reads take and replace: in place of its lifetimes neither longer nor shorter ones will do.
type Exactly<T> = fn(T) -> T;

impl<O: Zeroed, I: Zeroed> ThreadStates<O, I> {
    /// New states, zero on every thread.
    #[must_use]
    pub fn new() -> Self {
        const {
            assert_zeroed::<O>();
            assert_zeroed::<I>();
            assert!(
                size_of::<States<O, I>>() <= Kind::Thread.states_bytes(),
                "a thread's states fit into a slot"
            );
            assert!(align_of::<States<O, I>>() <= align_of::<Header>());
        };
        static NEXT_OWNER: AtomicU64 = AtomicU64::new(1);
        thread_exit::prepare();
        Self {
            epoch: AtomicEpoch::new(Epoch::next_number()),
            owner: NEXT_OWNER.fetch_add(1, Ordering::Relaxed),
            states: PhantomData,
        }
    }

    /// The present epoch. To be asked before what makes a state current, see
    /// [`mark_current`](StateRef::mark_current).
    #[must_use]
    #[inline(always)]
    pub fn epoch(&self) -> Epoch {
        Epoch {
            number: self.epoch.load(Ordering::Acquire),
            owner: self.owner,
        }
    }

    /// Its number, for a hot path, which only compares it.
    #[inline(always)]
    pub(crate) fn epoch_to_compare(&self) -> u64 {
        self.epoch.load(Ordering::Relaxed)
    }

    /// Begins a new epoch: no state is current any more. To be called after what makes the states out of date.
    ///
    /// A swap, not a store: where two threads do so at the same time, a reader that sees the epoch of the later one
    /// also sees what made the states out of date for the other.
    pub fn begin_epoch(&self) {
        self.epoch.swap(Epoch::next_number(), Ordering::AcqRel);
    }

    /// The hot path: begins a read of the outermost state of `thread`. `None` if that is not current, or if a read is at
    /// work on this thread.
    #[inline(always)]
    pub fn try_current(&self, thread: CurrentThread) -> Option<CurrentRead<'_, O, I>> {
        let local = thread.local();
        let epoch = self.epoch_to_compare();
        if local.epoch.get() != epoch {
            return None;
        }
        let guard = HotGuard::new(local, epoch);
        // The first entry is of these states: no handler gives it to others while they live, also not one that runs
        // between the comparison and the guard. A handler in a forked child may take the slot again under another
        // serial; so the serial is loaded before the state is looked at.
        // SAFETY: it has a slot, since it was made current.
        let slot = unsafe { local.entries[0].slot.get().some_ref() };
        compiler_fence(Ordering::SeqCst);
        Some(CurrentRead {
            guard,
            slot,
            states: PhantomData,
        })
    }

    /// Runs `read` on this thread's state at its present depth.
    ///
    /// `None`: the thread is [`DEPTHS`] deep already, or is ending, or the system has no memory; `read` did not run
    /// then. When the process forked under `read` (in a signal handler), the child finds the state wiped, and `read`
    /// runs again there: it must overwrite whatever it did before.
    ///
    /// `node` says in which NUMA node's memory a new state is wanted.
    ///
    /// Inlined, so that few instructions follow the last look at what a fork takes.
    #[inline(always)]
    pub fn try_with<R>(
        &self,
        node: impl Fn() -> u32,
        mut read: impl FnMut(&mut StateRef<'_, O, I>) -> R,
    ) -> Option<R> {
        pages::look_for_fork();
        let local = local();
        let guard = DepthGuard::next(local, DEPTHS)?;
        let mut slot = match slot_of(local, self.owner) {
            Some(slot) => slot,
            None => self.slots().acquire(local, &guard, node(), Slot::NONE)?,
        };
        if guard.follows_fork() {
            self.erase_after_fork(local, slot, &guard);
        }
        if !local.exit_is_armed.get() {
            thread_exit::arm(local, guard.depth);
        }
        loop {
            let mut state = self.state_ref(slot, &guard);
            let result = read(&mut state);
            if let Some((number, handled)) = state.marked
                && local.entries[0].slot.get().is_same_place(&slot)
            {
                local.handled.set(handled);
                guard.end_in(number);
            }
            // Last: a fork after this look is one after the read.
            compiler_fence(Ordering::SeqCst);
            if slot.is_ours() {
                return Some(result);
            }
            slot = self.start_over(local, slot, &guard, &node)?;
        }
    }

    /// In a child that was forked under `read`: erases the state that `read` used, in `slot`. It went on with what it
    /// knew from before and may have written that to the state after the wipe; the parent's future output could be
    /// made of it. Returns the slot to start over with.
    #[cold]
    #[inline(never)]
    fn start_over(
        &self,
        local: &ThreadData,
        slot: Slot,
        guard: &DepthGuard<'_>,
        node: &dyn Fn() -> u32,
    ) -> Option<Slot> {
        let found = self.slots().find_again(local, slot, guard, node)?;
        if found.is_same_place(&slot) {
            self.state_ref(found, guard).erase();
        }
        Some(found)
    }

    /// In a child that was forked under a read on the hot path: erases what that read wrote, if it was one of these
    /// states. A handler may have acquired the slot before, and so erased it, while that read still went on.
    #[cold]
    #[inline(never)]
    fn erase_after_fork(&self, local: &ThreadData, slot: Slot, guard: &DepthGuard<'_>) {
        if local.entries[0].slot.get().is_same_place(&slot) {
            self.state_ref(slot, guard).erase();
            guard.end_in(STALE);
        }
    }

    fn state_ref(&self, slot: Slot, guard: &DepthGuard<'_>) -> StateRef<'_, O, I> {
        StateRef {
            slot,
            depth: guard.depth,
            owner: self.owner,
            marked: None,
            states: PhantomData,
        }
    }

    fn slots(&self) -> StateSlots {
        StateSlots {
            owner: self.owner,
            used_bytes: size_of::<States<O, I>>(),
        }
    }

    /// Returns the number that marks the slots of these states as theirs.
    pub(crate) fn owner(&self) -> u64 {
        self.owner
    }

    /// How many threads have states. Asks the system which threads are still there: a system call for each.
    #[must_use]
    pub fn count(&self) -> usize {
        let _signals = SignalsBlocked::new();
        slots::reclaim(local().address());
        slots::count(self.owner)
    }

    /// Sees to it that `threads` more threads find memory of that node for their states without a system call. `false`:
    /// the system has none.
    pub fn reserve(&self, node: u32, threads: usize) -> bool {
        let _signals = SignalsBlocked::new();
        slots::reserve(Kind::Thread, node, threads)
    }
}

/// A read of a current outermost state, until it ends, by a panic too: meanwhile no other read on this thread finds that
/// state.
///
/// By values and not by closures, since the compiler decides by their size whether to inline a closure.
pub struct CurrentRead<'a, O, I> {
    guard: HotGuard<'a>,
    slot: SlotRef,
    states: PhantomData<&'a mut (O, I)>,
}

impl<O, I> CurrentRead<'_, O, I> {
    /// The state. In a child that was forked under the read (in a signal handler) it may be `O::ZERO`, from which nothing
    /// must be taken.
    #[inline(always)]
    pub fn state(&mut self) -> &mut O {
        // SAFETY: in bounds and aligned, as `ThreadStates::new` asserts; zeros, which it starts as, are an `O`. No other code
        // uses it: the slot is this thread's, and its depth is taken.
        unsafe { &mut (*self.slot.states::<States<O, I>>()).outermost }
    }

    /// Ends the read.
    ///
    /// `None` if the process forked under the read (in a signal handler): it is then to be made again, by way of
    /// [`try_with`](ThreadStates::try_with), which erases what this read wrote.
    #[inline(always)]
    pub fn end(self) -> Option<()> {
        compiler_fence(Ordering::SeqCst);
        if !self.slot.is_ours() {
            self.guard.end_after_fork();
            return None;
        }
        Some(())
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
        let _signals = SignalsBlocked::new();
        slots::release_all(self.owner);
    }
}

#[cfg(test)]
mod tests;
