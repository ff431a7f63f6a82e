//! The signals that a thread blocks: the kernel's mask, not libc's.

use crate::os_error::raw_call;

/// The signals, a bit for each.
pub(crate) type Mask = u64;

/// Blocks all signals of this thread. Returns the mask before.
pub(crate) fn block_all() -> Mask {
    set_mask(u64::MAX)
}

/// Sets the mask of this thread.
pub(crate) fn restore(mask: Mask) {
    set_mask(mask);
}

/// Whether no signal is blocked.
pub(crate) fn is_empty(mask: Mask) -> bool {
    mask == 0
}

/// Blocks all signals of this thread until it ends: for a thread that the program did not start, and that
/// must not run the program's handlers.
///
/// Unlike `block_all`, by way of libc, which leaves out the signals that it keeps for itself: setuid(3) sends one to
/// every thread and waits until each has answered.
pub fn block_for_good() {
    // SAFETY: an empty set is a valid value, which sigfillset fills in.
    unsafe {
        let mut all = core::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, core::ptr::null_mut());
    }
}

/// Replaces the thread's signal mask (the kernel's, 64 bits) and returns the old mask.
fn set_mask(mask: u64) -> u64 {
    let mut before = 0u64;
    if cfg!(miri) {
        return before; // It knows no signals.
    }
    // SAFETY: both pointers are to 8 bytes, as the last argument says. Libc's own function would leave
    // out two signals that it keeps for itself, and their handlers could run here. A filter of system calls may refuse:
    // then handlers run, and errno must not tell.
    let _ = raw_call(|| unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &raw const mask,
            &raw mut before,
            size_of::<u64>(),
        )
    });
    before
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signals::SignalsBlocked;

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
