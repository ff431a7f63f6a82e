//! A state for every thread at every nesting depth.
//!
//! A read that interrupts a read on the same thread (in a signal handler) is one level deeper and has a state of its
//! own, so that the interrupted read's state never changes under it. The depth is marked before a state is looked at,
//! and the mark is cleared after the last change to the state. So the marks are right at every instruction boundary. A
//! handler that is left by siglongjmp leaves the mark of the read it interrupted: that state is never used again.

mod epoch;
mod state_ref;
mod state_slots;

pub use crate::slots::DEPTHS;
pub use crate::thread::CurrentThread;
pub use epoch::Epoch;
pub use state_ref::{State, StateRef};

use crate::signals::Blocked;
use crate::slots::{self, Header, Kind, Place, Slot};
use crate::thread::{Level, Local, Mark, local};
use crate::thread_exit;
use crate::zeroed::{Zeroed, assert_zeroed};
use core::marker::PhantomData;
use core::sync::atomic::{AtomicU64, Ordering, compiler_fence};
use epoch::{AtomicEpoch, next_epoch};
use state_ref::States;
use state_slots::{StateSlots, slot_of};

/// Why the hot path gave nothing, for [`ThreadStates::settle`]. Apart from the hot path, which would otherwise have to
/// keep its caller's registers over a call.
#[derive(Debug)]
#[must_use = "the thread may count as reading until it is settled"]
pub struct Miss(Option<Place>);

impl Miss {
    /// The state was not current: nothing was done.
    pub const NONE: Self = Self(None);
}

/// States for every thread: an `O` for the outermost depth, an `I` for each deeper one.
///
/// `ZERO` is a state that was never used: what a thread starts with, and what it finds in a child process.
///
/// # The hot path
///
/// [`try_current`](Self::try_current) reads from an outermost state that an earlier read has made *current*, by
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
            epoch: AtomicEpoch::new(next_epoch()),
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

    /// Whether the present epoch has this number.
    #[inline(always)]
    pub(crate) fn is_in(&self, number: u64) -> bool {
        self.epoch.load(Ordering::Relaxed) == number
    }

    /// Begins a new epoch: no state is current any more. To be called after what makes the states out of date.
    ///
    /// A swap, not a store: where two threads do so at the same time, a reader that sees the epoch of the later one
    /// also sees what made the states out of date for the other.
    pub fn begin_epoch(&self) {
        self.epoch.swap(next_epoch(), Ordering::AcqRel);
    }

    /// The hot path: runs `read` on this thread's outermost state, if that is current and no read is at work on this
    /// thread.
    ///
    /// `Err`: it is not, or the process forked under `read` (in a signal handler): whatever `read` did is then to be
    /// done again by way of [`try_with`](Self::try_with), after [`settle`](Self::settle). In a child `read` may find
    /// `O::ZERO`, and must take nothing from it.
    #[inline(always)]
    pub fn try_current<R>(&self, read: impl FnOnce(&mut O) -> R) -> Result<R, Miss> {
        self.try_current_on(CurrentThread::find(), read)
    }

    /// Like [`try_current`](Self::try_current), on a thread that the caller has found.
    ///
    /// # Errors
    ///
    /// Like [`try_current`](Self::try_current).
    #[inline(always)]
    pub fn try_current_on<R>(
        &self,
        thread: CurrentThread,
        read: impl FnOnce(&mut O) -> R,
    ) -> Result<R, Miss> {
        let local = thread.local();
        let epoch = self.epoch.load(Ordering::Relaxed);
        if local.epoch.get() != epoch {
            return Err(Miss::NONE);
        }
        let mark = Mark::new(local, epoch);
        // The first entry is of these states: no handler gives it to others while they live, also not one that runs
        // between the comparison and the mark. A handler in a forked child may take the slot again under another
        // serial; so the serial is loaded before the state is looked at.
        // SAFETY: it has a slot, since it was made current.
        let place = unsafe { local.entries[0].slot.get().place_of_some() };
        compiler_fence(Ordering::SeqCst);
        // SAFETY: in bounds and aligned, as `new` asserts; zeros, which it starts as, are an `O`. No other code uses
        // it: the slot is this thread's, and the level is marked.
        let result = read(unsafe { &mut *place.states().cast::<O>() });
        compiler_fence(Ordering::SeqCst);
        if place.is_ours() {
            return Ok(result);
        }
        core::mem::forget(mark);
        Err(Miss(Some(place)))
    }

    /// Ends an outermost read on the hot path under which the process forked, in the child: erases what it wrote. Until
    /// then its thread counts as reading.
    pub fn settle(&self, miss: Miss) {
        if let Some(place) = miss.0 {
            self.start_over_outermost(place);
        }
    }

    #[cold]
    #[inline(never)]
    fn start_over_outermost(&self, place: Place) {
        let local = local();
        // A read at a deeper level is at work: the caller is in it, and was to settle before. The mark stays, as that of
        // a read that a handler left: the outermost state is not used any more.
        if local.depth() != 1 {
            return;
        }
        let level = Level::marked(local);
        // The first entry still names the same memory: no handler replaces an entry whose slot a fork took.
        let slot = local.entries[0].slot.get().under(place);
        self.start_over(local, slot, &level, &|| 0);
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
        let local = local();
        let level = Level::next(local, DEPTHS)?;
        let mut slot = match slot_of(local, self.owner) {
            Some(slot) => slot,
            None => self.slots().acquire(local, &level, node(), Slot::NONE)?,
        };
        if !local.exit_is_armed.get() {
            thread_exit::arm(local, level.number);
        }
        loop {
            let mut state = StateRef {
                slot,
                depth: level.number,
                current: None,
                states: PhantomData,
            };
            let result = read(&mut state);
            if let Some(number) = state.current.and_then(|epoch| epoch.of(self.owner))
                && local.entries[0].slot.get().is_same_place(&slot)
            {
                level.end_in(number);
            }
            // Last: a fork after this look is one after the read.
            compiler_fence(Ordering::SeqCst);
            if slot.is_ours() {
                return Some(result);
            }
            slot = self.start_over(local, slot, &level, &node)?;
        }
    }

    /// In a child that was forked under `read`: erases the state that `read` used, in `slot`. It went on with what it
    /// knew from before and may have written that to the state after the wipe; the parent's future output could be
    /// made of it. Returns the slot to start over with.
    #[cold]
    #[inline(never)]
    fn start_over(
        &self,
        local: &Local,
        slot: Slot,
        level: &Level<'_>,
        node: &dyn Fn() -> u32,
    ) -> Option<Slot> {
        let found = self.slots().find_again(local, slot, level, node)?;
        if found.is_same_place(&slot) {
            let mut state = StateRef::<O, I> {
                slot: found,
                depth: level.number,
                current: None,
                states: PhantomData,
            };
            match state.state() {
                State::Outermost(state) => *state = O::ZERO,
                State::Nested(state) => *state = I::ZERO,
            }
            compiler_fence(Ordering::SeqCst);
        }
        Some(found)
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
        let _signals = Blocked::new();
        slots::reclaim(local().address());
        slots::count(self.owner)
    }

    /// Sees to it that `threads` more threads find memory of that node for their states without a system call. `false`:
    /// the system has none.
    pub fn reserve(&self, node: u32, threads: usize) -> bool {
        let _signals = Blocked::new();
        slots::reserve(Kind::Thread, node, threads)
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
        let _signals = Blocked::new();
        slots::release_all(self.owner);
    }
}

#[cfg(test)]
mod tests;
