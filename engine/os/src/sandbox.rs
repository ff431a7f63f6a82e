//! The switch after which reads make no system call, for a process that forbids them (seccomp).

use crate::{fork_stamp, os, system_calls, vdso};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Stops all system calls of reads: from now on, in this process and in every child, no part of this crate that a read
/// uses makes one. A process calls it before it forbids them all (seccomp). A filter that is installed stays; if the
/// system accepted none, [`undo`] takes this call back.
///
/// - [`SignalsBlocked`](crate::signals::SignalsBlocked) marks the thread instead of changing its signal mask. A handler does run
///   then; [`SignalsBlocked::try_new`](crate::signals::SignalsBlocked::try_new) tells it that locks may be held.
/// - [`Lock`](crate::lock::Lock) spins while another thread holds it.
/// - [`VdsoRandom`](crate::vdso::VdsoRandom) yields no bytes: the vDSO makes a system call after each reseed of the
///   kernel's own generator, once a minute. [`os_random`](os::os_random) fails with `ENOSYS`.
/// - A thread or an owned state gets a slot only if one is mapped and free:
///   [`ThreadStates::reserve`](crate::thread_state::ThreadStates::reserve) and
///   [`OwnedState::reserve`](crate::thread_state::OwnedState::reserve) map slots in advance.
/// - [`current_cpu`](os::current_cpu) returns 0 if the system has no vDSO function for it. Only x86-64 has one.
/// - [`cycles`](crate::cpu::cycles) is a clock of milliseconds on x86, where strict seccomp(2) takes the cycle counter.
/// - [`now_ms`](os::now_ms) returns the time of this call from then on if the system has no vDSO function for clocks.
pub fn prepare() {
    // The first call of each looks up the vDSO's functions and may open a file, so call both now.
    let (now_ms, _) = (os::now_ms(), os::current_cpu());
    // A generator of `thread_words` that is first used later finds the page mapped.
    let _ = fork_stamp::get_or_make();
    system_calls::forbid((!vdso::has_clock()).then_some(now_ms));
}

/// Takes back one call of [`prepare`]: the system accepted no filter. Code that another thread began in between may have
/// done without a system call; it does nothing wrong. A thread that waits for a lock meanwhile is woken up to 100 ms late.
///
/// Each call belongs to one of [`prepare`], so that a thread whose filter was refused does not take back what another
/// thread prepared.
pub fn undo() {
    system_calls::allow_again();
}

static STAMP: AtomicU64 = AtomicU64::new(fork_stamp::NONE);
static OWNER: AtomicU32 = AtomicU32::new(0);

/// In a child of fork(3), whose parent had said that its memory is its own: the child's is too. Otherwise a child that it
/// makes by vfork(2) would be the first to say so.
pub(crate) fn in_child() {
    if STAMP.load(Ordering::Relaxed) != fork_stamp::NONE && !is_prepared() {
        let _ = owns_memory();
    }
}

/// Whether this process owns its memory. A child of vfork(2) uses its parent's memory, and its filter does not bind the
/// parent. The first call of a process, or of a copy that a fork made, says that it is; make it early.
#[must_use]
pub fn owns_memory() -> bool {
    let (stamp, process) = (fork_stamp::get_or_make(), os::process_number());
    if stamp != fork_stamp::NONE && STAMP.load(Ordering::Acquire) == stamp {
        return OWNER.load(Ordering::Relaxed) == process;
    }
    OWNER.store(process, Ordering::Relaxed);
    STAMP.store(stamp, Ordering::Release);
    true
}

/// Returns whether [`prepare`] was called, and not taken back.
#[must_use]
#[inline]
pub fn is_prepared() -> bool {
    system_calls::are_forbidden()
}
