//! Functions that run before and after fork(3).

/// From now on fork(3) calls the first function in the parent before, the second in the parent after, and the third in
/// the child. Returns `false` if libc has no memory for that.
pub(crate) fn at_fork(
    before: extern "C" fn(),
    in_parent: extern "C" fn(),
    in_child: extern "C" fn(),
) -> bool {
    // SAFETY: the three functions may be called by any thread that forks. Unloading this library removes them.
    unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) == 0 }
}
