//! A read on the hot path.

use super::Epoch;
use crate::slots::Place;
use crate::thread::ReadGuard;
use core::marker::PhantomData;
use core::sync::atomic::{Ordering, compiler_fence};

/// A read of a current outermost state, until it ends, by a panic too: meanwhile no other read on this thread finds that
/// state.
///
/// By values and not by closures, since the compiler decides by their size whether to inline a closure.
pub struct CurrentRead<'a, O> {
    pub(super) guard: ReadGuard<'a>,
    pub(super) slot: Place,
    pub(super) epoch: Epoch,
    pub(super) states: PhantomData<&'a mut O>,
}

impl<O> CurrentRead<'_, O> {
    /// The state. In a child that was forked under the read (in a signal handler) it may be `O::ZERO`, from which nothing
    /// must be taken.
    #[inline(always)]
    pub fn state(&mut self) -> &mut O {
        // SAFETY: in bounds and aligned, as `ThreadStates::new` asserts; zeros, which it starts as, are an `O`. No other code
        // uses it: the slot is this thread's, and its depth is taken.
        unsafe { &mut *self.slot.states().cast::<O>() }
    }

    /// Ends the read, and returns the epoch in which the state was current.
    ///
    /// `None` if the process forked under the read (in a signal handler): it is then to be made again, by way of
    /// [`try_with`](super::ThreadStates::try_with), which erases what this read wrote.
    #[inline(always)]
    pub fn end(self) -> Option<Epoch> {
        compiler_fence(Ordering::SeqCst);
        if !self.slot.is_ours() {
            self.guard.end_after_fork();
            return None;
        }
        Some(self.epoch)
    }
}
