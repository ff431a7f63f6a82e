//! The state of a read at its depth.

use crate::signals::SignalsBlocked;
use crate::slots::{self, DEPTHS, Slot};
use crate::thread::{DeeperGuard, Epoch, STALE, local};
use crate::vdso::VdsoRandom;
use crate::zeroed::Zeroed;
use core::marker::PhantomData;
use core::sync::atomic::{Ordering, compiler_fence};

/// The states of a thread: one for the outermost depth, where almost all reads are, and smaller ones for the
/// depths of signal handlers.
#[repr(C)]
pub(super) struct States<O, I> {
    pub(super) outermost: O,
    pub(super) nested: [I; DEPTHS - 1],
}

/// The states of a depth, for the read that is at this depth.
pub struct StateRef<'a, O, I> {
    pub(super) slot: Slot,
    pub(super) depth: usize,
    pub(super) owner: u64,
    /// The thread's epoch after this read, if it was marked, and the sum that was handled.
    pub(super) marked: Option<(u64, u64)>,
    pub(super) states: PhantomData<&'a mut (O, I)>,
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
        let states = self.slot.states::<States<O, I>>();
        // SAFETY: in bounds and aligned, as `ThreadStates::new` asserts; zeros, which it starts as, are a state. No
        // other code uses it: the slot is this thread's, and its depth is taken.
        unsafe {
            match self.depth {
                0 => State::Outermost(&mut (*states).outermost),
                deeper => State::Nested(&mut (*states).nested[deeper - 1]),
            }
        }
    }

    /// The number of depths from this one on.
    #[must_use]
    pub fn depths_from_here(&self) -> usize {
        DEPTHS - self.depth
    }

    /// Runs `work` on the states of this depth and all deeper ones: the outermost, if this is it, and nested ones. Until
    /// `work` returns, a read that it makes finds no state.
    ///
    /// It is the state of this depth alone where a deeper one may be in use: after
    /// [`sandbox::prepare`](crate::sandbox::prepare), since handlers run then, and in a read within this one.
    pub fn with_states<R>(
        &mut self,
        signals: &SignalsBlocked,
        work: impl FnOnce(Option<&mut O>, &mut [I]) -> R,
    ) -> R {
        let states = self.slot.states::<States<O, I>>();
        let deeper = if signals.stops_handlers() {
            DeeperGuard::new(local(), self.depth)
        } else {
            None
        };
        let end = if deeper.is_some() {
            DEPTHS - 1
        } else {
            self.depth
        };
        let first = self.depth.saturating_sub(1);
        // SAFETY: as above, for the depths up to `end` too: no read is at one of them, and none begins while `deeper`
        // lives. References to no others: shallower states are in use.
        let (outermost, nested) = unsafe {
            let nested = (&raw mut (*states).nested).cast::<I>().add(first);
            let nested = core::slice::from_raw_parts_mut(nested, end - first);
            let outermost = (self.depth == 0).then(|| &mut (*states).outermost);
            (outermost, nested)
        };
        let result = work(outermost, nested);
        drop(deeper);
        result
    }

    /// Says that the outermost state was made current in an epoch: it is ready for
    /// [`try_current`](super::ThreadStates::try_current) until the next one begins. Ask for the epoch before what makes
    /// the state current. At other depths, and with an epoch of other states, this does nothing. `handled` is the sum of the
    /// [watched words](crate::clone_words::CloneWords) that was handled before this read.
    pub fn mark_current(&mut self, epoch: Epoch, handled: u64) {
        if self.depth == 0
            && let Some(number) = epoch.of(self.owner)
        {
            self.marked = Some((number, handled));
        }
    }

    /// Says that the next read is to take the long way, even if the outermost state was current before.
    pub fn mark_stale(&mut self) {
        if self.depth == 0 {
            self.marked = Some((STALE, 0));
        }
    }

    /// Makes the state one that was never used.
    pub(super) fn erase(&mut self) {
        match self.state() {
            State::Outermost(state) => *state = O::ZERO,
            State::Nested(state) => *state = I::ZERO,
        }
        compiler_fence(Ordering::SeqCst);
    }

    /// The state, and the operating system's output to be mixed into it.
    pub fn state_and_vdso(&mut self) -> (State<'_, O, I>, VdsoRandom<'_>) {
        let vdso = VdsoRandom::new(slots::vdso_state(&self.slot, self.depth));
        (self.state(), vdso)
    }
}
