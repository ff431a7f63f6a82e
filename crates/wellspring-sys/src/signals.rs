//! A stretch of code that no signal handler interrupts.

use core::marker::PhantomData;

/// While this lives, no signal handler runs on this thread.
///
/// Whoever holds a lock of ours blocks signals first. A handler that draws random bytes would otherwise
/// wait for a lock that the code it interrupted holds; and one that leaves by siglongjmp would leave it
/// locked for ever. Two system calls, on slow paths only.
#[derive(Debug)]
pub struct Blocked {
    before: u64,
    /// The mask belongs to this thread.
    _thread: PhantomData<*mut ()>,
}

impl Blocked {
    /// Blocks all signals of this thread.
    #[must_use]
    pub fn new() -> Self {
        Self {
            before: set_mask(u64::MAX),
            _thread: PhantomData,
        }
    }
}

impl Default for Blocked {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        set_mask(self.before);
    }
}

/// Blocks all signals of this thread for as long as it lives: for a thread that the program does not know of, and
/// whose signals are for others.
///
/// Unlike [`Blocked`], by way of libc, which leaves out the signals that it keeps for itself: setuid(3) sends one
/// to every thread and waits until each has heard it.
pub fn block_for_good() {
    // SAFETY: an empty set is a valid value, which sigfillset fills in.
    unsafe {
        let mut all = core::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, core::ptr::null_mut());
    }
}

/// Replaces the thread's signal mask (the kernel's, 64 bits) and returns what it was.
fn set_mask(mask: u64) -> u64 {
    let mut before = 0u64;
    // SAFETY: both pointers are to 8 bytes, as the last argument says. Libc's own wrapper would leave two
    // signals out that it keeps for itself, and whose handlers may fork no less.
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

    /// The signals that the thread blocks, by libc's account.
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
        let outer = Blocked::new();
        assert!(blocked().len() > 50);
        drop(Blocked::new());
        assert!(blocked().len() > 50, "still blocked by the outer one");
        drop(outer);
        assert_eq!(blocked(), before);
    }

    #[test]
    fn a_thread_without_signals_still_hears_what_libc_tells_every_thread() {
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
