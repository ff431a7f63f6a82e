//! The signals that a thread blocks, as libc sees them.

use core::fmt;
use core::mem::MaybeUninit;

/// The signals.
#[derive(Clone, Copy)]
pub(crate) struct Mask(libc::sigset_t);

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mask")
    }
}

/// Blocks all signals of this thread. Returns the mask before.
pub(crate) fn block_all() -> Mask {
    let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    // SAFETY: both pointers are to sets, which the two functions fill in. `pthread_sigmask` does not fail with them, and
    // neither sets errno.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        Mask(before.assume_init())
    }
}

/// Sets the mask of this thread.
pub(crate) fn restore(mask: Mask) {
    // SAFETY: the pointer is to a set.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const mask.0, core::ptr::null_mut()) };
}

/// Whether no signal is blocked.
pub(crate) fn is_empty(mask: Mask) -> bool {
    // SAFETY: the pointer is to a set.
    (1..32).all(|signal| unsafe { libc::sigismember(&raw const mask.0, signal) } == 0)
}

/// Blocks all signals of this thread until it ends: for a thread that the program did not start, and that
/// must not run the program's handlers.
pub fn block_for_good() {
    block_all();
}
