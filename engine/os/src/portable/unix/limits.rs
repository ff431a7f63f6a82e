//! The limits of this process.

/// Whether this process may make a file of `bytes`. Beyond its limit, `RLIMIT_FSIZE`, write(2) ends the process by a
/// signal.
#[must_use]
pub fn may_write_file(bytes: u64) -> bool {
    // SAFETY: all zeros is an `rlimit`, and the pointer is to one.
    let (answer, limit) = unsafe {
        let mut limit: libc::rlimit = core::mem::zeroed();
        (libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit), limit)
    };
    answer != 0 || i128::from(bytes) <= i128::from(limit.rlim_cur)
}

/// How many bytes this process may lock in memory, `RLIMIT_MEMLOCK`; `None` if there is no limit.
pub(crate) fn locked_memory_limit() -> Option<u64> {
    // SAFETY: all zeros is an `rlimit`, and the pointer is to one.
    let (answer, limit) = unsafe {
        let mut limit: libc::rlimit = core::mem::zeroed();
        (libc::getrlimit(libc::RLIMIT_MEMLOCK, &raw mut limit), limit)
    };
    let is_limited = answer == 0 && limit.rlim_cur != libc::RLIM_INFINITY;
    is_limited.then(|| u64::try_from(limit.rlim_cur).unwrap_or(u64::MAX))
}
