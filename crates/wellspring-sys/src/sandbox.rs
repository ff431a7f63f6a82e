//! Reads without a system call.

use crate::{os, system_calls, vdso};

/// From now on, and in every child, no part of this crate that a read uses makes a system call: for a process that is
/// about to forbid them all (seccomp). There is no way back.
///
/// - [`Blocked`](crate::signals::Blocked) marks the thread instead of changing its signal mask. A handler does run
///   then; [`Blocked::try_new`](crate::signals::Blocked::try_new) tells it that locks may be held.
/// - [`Lock`](crate::lock::Lock) spins for as long as another thread has it.
/// - [`VdsoRandom`](crate::vdso::VdsoRandom) has nothing: the vDSO makes a system call whenever the kernel's own
///   generator was reseeded, once a minute. [`os_random`](os::os_random) fails with `ENOSYS`.
/// - A thread or an owned state gets a slot only if one is mapped and free:
///   [`ThreadStates::reserve`](crate::thread_state::ThreadStates::reserve) and
///   [`OwnedState::reserve`](crate::owned::OwnedState::reserve) map them before.
/// - [`current_cpu`](os::current_cpu) is 0 where the system has no vDSO function for it: everywhere but on x86-64.
/// - [`now_ms`](os::now_ms) stands still where the system has no vDSO function for clocks.
pub fn prepare() {
    // These calls look up the vDSO's functions, which may open a file.
    let (now_ms, _) = (os::now_ms(), os::current_cpu());
    system_calls::forbid((!vdso::has_clock()).then_some(now_ms));
}

/// Whether [`prepare`] was called.
#[must_use]
pub fn is_prepared() -> bool {
    system_calls::are_forbidden()
}
