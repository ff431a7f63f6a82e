//! A stretch of code that no signal handler interrupts.

use crate::{sandbox, thread};
use core::marker::PhantomData;

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
    Mask(u64),
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
            Before::Mask(set_mask(u64::MAX))
        };
        Self {
            before,
            _thread: PhantomData,
        }
    }

    /// The same for a read that may be in a handler. `None`, after [`sandbox::prepare`], if the code that the handler
    /// interrupted has blocked signals: it may hold any of our locks, so take none.
    ///
    /// The two are told apart by the depth of the read, so that this is certain in what
    /// [`ThreadStates::try_with`](crate::thread_state::ThreadStates::try_with) runs, and not outside of it.
    #[must_use]
    pub fn try_new() -> Option<Self> {
        let local = thread::local();
        let blocked_at = local.blocked_at.get();
        let is_held_below = blocked_at != 0 && blocked_at != local.depth() + 1;
        (!is_held_below).then(Self::new)
    }

    /// Like [`try_new`](Self::try_new), but for code whose caller holds no [`SignalsBlocked`]. Returns `None`, after
    /// [`sandbox::prepare`], if this thread holds a [`SignalsBlocked`] at any depth. This is certain outside of
    /// [`ThreadStates::try_with`](crate::thread_state::ThreadStates::try_with) as well.
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
            Before::Mask(mask) => {
                set_mask(mask);
            }
            Before::Mark(blocked_at) => thread::local().blocked_at.set(blocked_at),
        }
    }
}

/// Blocks all signals of this thread until it ends: for a thread that the program did not start, and that
/// must not run the program's handlers.
///
/// Unlike [`SignalsBlocked`], by way of libc, which leaves out the signals that it keeps for itself: setuid(3) sends one to
/// every thread and waits until each has answered.
pub fn block_for_good() {
    // SAFETY: an empty set is a valid value, which sigfillset fills in.
    unsafe {
        let mut all = core::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, core::ptr::null_mut());
    }
}

/// Whether the calling code may be in a signal handler: in one, at least its own signal is blocked, unless the
/// program asked for `SA_NODEFER`. A system call; "yes" where none may be made.
pub(crate) fn may_be_handler() -> bool {
    sandbox::is_prepared() || {
        let mask = set_mask(u64::MAX);
        set_mask(mask);
        mask != 0
    }
}

/// Replaces the thread's signal mask (the kernel's, 64 bits) and returns the old mask.
fn set_mask(mask: u64) -> u64 {
    let mut before = 0u64;
    if cfg!(miri) {
        return before; // It knows no signals.
    }
    // SAFETY: both pointers are to 8 bytes, as the last argument says. Libc's own function would leave
    // out two signals that it keeps for itself, and their handlers could run here.
    unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &raw const mask,
            &raw mut before,
            size_of::<u64>(),
        )
    };
    before
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The signals that the thread blocks, as libc says.
    fn blocked() -> Vec<i32> {
        // SAFETY: an empty set is a valid value, and pthread_sigmask fills it in.
        unsafe {
            let mut set = core::mem::zeroed();
            libc::pthread_sigmask(libc::SIG_BLOCK, core::ptr::null(), &raw mut set);
            let is_blocked = |signal: &i32| libc::sigismember(&raw const set, *signal) == 1;
            (1..65).filter(is_blocked).collect()
        }
    }

    #[test]
    fn the_mask_is_as_before_afterwards() {
        let before = blocked();
        let outer = SignalsBlocked::new();
        assert!(blocked().len() > 50);
        drop(SignalsBlocked::new());
        assert!(blocked().len() > 50, "still blocked by the outer one");
        drop(outer);
        assert_eq!(blocked(), before);
    }

    #[test]
    fn a_thread_without_signals_still_answers_libc() {
        let blocked = std::thread::spawn(|| {
            block_for_good();
            let before = set_mask(0);
            set_mask(before);
            before
        });
        let mask = blocked.join().unwrap();
        let is_blocked = |signal: i32| mask >> (signal - 1) & 1 == 1;
        let stoppable = |signal: &i32| ![libc::SIGKILL, libc::SIGSTOP].contains(signal);
        let usual = (1..32).chain(libc::SIGRTMIN()..=libc::SIGRTMAX());
        assert!(usual.filter(stoppable).all(is_blocked), "{mask:x}");
        assert!(!is_blocked(33), "glibc's SIGSETXID, musl's SIGCANCEL");
    }
}
