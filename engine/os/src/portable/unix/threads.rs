//! Threads have no number here that another thread could ask about.

/// The system's number of this thread: none.
pub(crate) fn number() -> u32 {
    0
}

/// Whether the process has no thread of that number: not known.
pub(crate) fn is_gone(_: u32, _: u32) -> bool {
    false
}

/// Makes every thread of the process see what this thread stored before the call, before what it stores later:
/// the system cannot.
pub(crate) fn order_all() -> bool {
    false
}

/// Where libc keeps the number of the last error of this thread.
pub(crate) fn errno() -> *mut i32 {
    // SAFETY: they have no precondition.
    unsafe {
        #[cfg(any(target_vendor = "apple", target_os = "freebsd"))]
        return libc::__error();
        #[cfg(target_os = "netbsd")]
        return libc::__errno();
        #[cfg(target_os = "linux")]
        return libc::__errno_location();
    }
}

/// Makes a call, and leaves libc's `errno` as it was: code that a signal handler interrupted may be about to look at it.
pub(super) fn keep_errno<T>(call: impl FnOnce() -> T) -> T {
    let errno = errno();
    // SAFETY: this thread's own number, which lives as long as the thread.
    let before = unsafe { *errno };
    let answer = call();
    // SAFETY: as above.
    unsafe { *errno = before };
    answer
}
