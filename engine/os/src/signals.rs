//! A stretch of code that no signal handler interrupts.

use crate::system::signal_mask::{self, Mask};
use crate::{sandbox, thread};
use core::marker::PhantomData;

pub use crate::system::signal_mask::block_for_good;

/// Until this is dropped, no signal handler runs on this thread.
///
/// To take one of our locks, block signals first. A handler that draws random bytes would otherwise wait for a lock
/// that the code it interrupted holds; and a handler that is left by siglongjmp would never unlock it. Two
/// system calls, on slow paths only.
///
/// After [`sandbox::prepare`] it makes no system call but marks the thread. Handlers do run then, and
/// [`try_new`](Self::try_new) tells them.
#[derive(Debug)]
pub struct SignalsBlocked {
    before: Before,
    /// The mask belongs to this thread.
    _thread: PhantomData<*mut ()>,
}

/// The state before signals were blocked.
#[derive(Debug)]
enum Before {
    Mask(Mask),
    Mark(usize),
}

impl SignalsBlocked {
    /// Blocks all signals of this thread.
    #[must_use]
    pub fn new() -> Self {
        let before = if sandbox::is_prepared() {
            let local = thread::local();
            Before::Mark(local.blocked_at.replace(local.depth() + 1))
        } else {
            Before::Mask(signal_mask::block_all())
        };
        Self {
            before,
            _thread: PhantomData,
        }
    }

    /// The same for a read that may be in a handler. `None`, after [`sandbox::prepare`], if the code that the handler
    /// interrupted has blocked signals: it may hold any of our locks, so take none.
    ///
    /// The two are told apart by the depth of the read, so that this is certain during a
    /// [`ThreadRead`](crate::thread_state::ThreadRead), and not outside one.
    #[must_use]
    pub fn try_new() -> Option<Self> {
        let local = thread::local();
        let blocked_at = local.blocked_at.get();
        let is_held_below = blocked_at != 0 && blocked_at != local.depth() + 1;
        (!is_held_below).then(Self::new)
    }

    /// Like [`try_new`](Self::try_new), but for code whose caller holds no [`SignalsBlocked`]. Returns `None`, after
    /// [`sandbox::prepare`], if this thread holds a [`SignalsBlocked`] at any depth. This is certain outside a
    /// [`ThreadRead`](crate::thread_state::ThreadRead) as well.
    #[must_use]
    pub fn try_first() -> Option<Self> {
        (thread::local().blocked_at.get() == 0).then(Self::new)
    }
}

impl SignalsBlocked {
    /// Whether no handler runs: not after [`sandbox::prepare`].
    pub(crate) fn stops_handlers(&self) -> bool {
        matches!(self.before, Before::Mask(_))
    }
}

impl Default for SignalsBlocked {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for SignalsBlocked {
    fn drop(&mut self) {
        match self.before {
            Before::Mask(mask) => signal_mask::restore(mask),
            Before::Mark(blocked_at) => thread::local().blocked_at.set(blocked_at),
        }
    }
}

/// Whether the calling code may be in a signal handler: in one, at least its own signal is blocked, unless the
/// program asked for `SA_NODEFER`. Makes a system call; "yes" where system calls are forbidden.
pub(crate) fn may_be_handler() -> bool {
    sandbox::is_prepared() || {
        let mask = signal_mask::block_all();
        signal_mask::restore(mask);
        !signal_mask::is_empty(mask)
    }
}
