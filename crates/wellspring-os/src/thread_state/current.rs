//! When a state is current, and a read of one that is.

use crate::slots::SlotRef;
use crate::thread::{BUSY, FIRST_EPOCH, FORKED, ThreadData};
use core::marker::PhantomData;
use core::sync::atomic::{AtomicU64, Ordering, compiler_fence};

#[cfg(not(loom))]
pub(super) use core::sync::atomic::AtomicU64 as AtomicEpoch;
#[cfg(loom)]
pub(super) use loom::sync::atomic::AtomicU64 as AtomicEpoch;

/// A stretch of time in which nothing happened to some states, see
/// [`ThreadStates`](super::ThreadStates).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch {
    pub(crate) number: u64,
    /// Of which states. Those of others must not be marked with it.
    pub(crate) owner: u64,
}

/// The number of a new epoch, which no other has. In ordinary memory: a child goes on from where its parent was.
pub(super) fn next_epoch() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(FIRST_EPOCH);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Epoch {
    /// Its number, if it is of the states of `owner`.
    #[inline(always)]
    pub(crate) fn of(self, owner: u64) -> Option<u64> {
        (self.owner == owner).then_some(self.number)
    }
}

/// A read of a current outermost state, until it ends, by a panic too: meanwhile no other read on this thread finds that
/// state.
///
/// By values and not by closures, since the compiler decides by their size whether to inline a closure.
pub struct CurrentRead<'a, O> {
    pub(super) guard: ReadGuard<'a>,
    pub(super) slot: SlotRef,
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

/// An outermost read on the hot path, until it ends, by a panic too. It stays in two registers, because its address is
/// not taken, unlike that of `DepthGuard`.
pub(super) struct ReadGuard<'a> {
    local: &'a ThreadData,
    epoch: u64,
}

impl<'a> ReadGuard<'a> {
    /// Begins a read. Call it while none runs; `epoch` is the present value of the thread's epoch.
    #[inline(always)]
    pub(super) fn new(local: &'a ThreadData, epoch: u64) -> Self {
        local.epoch.set(BUSY);
        compiler_fence(Ordering::SeqCst);
        Self { local, epoch }
    }

    /// Ends the read, under which the process forked, in the child.
    #[inline(always)]
    fn end_after_fork(mut self) {
        self.epoch = FORKED;
    }
}

impl Drop for ReadGuard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        self.local.epoch.set(self.epoch);
    }
}
