//! The limit of the files that this process writes.

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
