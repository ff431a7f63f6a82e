//! Faults of system calls: which there are, and what the runs with them share.

use libc::c_long;
use std::path::Path;

/// Returns the errors that a call may give. Calls that cannot fail with correct arguments have none. Nor have the calls of
/// malloc(3), whose failure ends a Rust program.
#[allow(non_upper_case_globals, reason = "libc writes them so")]
fn errors(call: c_long) -> &'static [i32] {
    #[cfg(target_arch = "aarch64")]
    use absent::*;
    use libc::*;
    match call {
        SYS_mmap => &[ENOMEM, EAGAIN],
        SYS_madvise => &[ENOMEM, EINVAL, EAGAIN],
        SYS_mlock | SYS_mlock2 => &[ENOMEM, EPERM, EAGAIN, ENOSYS],
        SYS_mbind => &[ENOSYS, EPERM, ENOMEM, EIO],
        SYS_getrandom => &[ENOSYS, EPERM, EAGAIN, EINTR],
        SYS_openat => &[ENOENT, EACCES, EMFILE, ENFILE, ENOMEM, EINTR],
        SYS_read | SYS_pread64 => &[EIO, EINTR, EISDIR],
        SYS_write | SYS_pwrite64 => &[EIO, ENOSPC, EINTR, EDQUOT],
        SYS_fstat | SYS_newfstatat | SYS_statx => &[EACCES, ENOMEM, ENOSYS],
        SYS_fsync | SYS_fdatasync => &[EIO, ENOSPC, EROFS],
        SYS_rename | SYS_renameat | SYS_renameat2 => &[EACCES, ENOSPC, EROFS, EXDEV],
        SYS_unlink | SYS_unlinkat => &[ENOENT, EACCES, EROFS],
        SYS_fchmod | SYS_fchmodat => &[EPERM, EROFS],
        SYS_flock | SYS_fcntl => &[EINTR, ENOLCK, EWOULDBLOCK],
        SYS_futex => &[EINTR, EAGAIN],
        SYS_mkdir | SYS_mkdirat => &[EACCES, ENOSPC, EROFS],
        SYS_ftruncate => &[EIO, EINTR, EPERM],
        SYS_eventfd2 | SYS_pipe2 | SYS_socket => &[EMFILE, ENFILE, ENOMEM, EPERM],
        SYS_clone | SYS_clone3 | SYS_vfork | SYS_fork => &[EAGAIN, ENOMEM],
        SYS_bind => &[EADDRINUSE, EPERM],
        SYS_recvfrom => &[EAGAIN, EINTR, ENOBUFS],
        SYS_poll | SYS_ppoll => &[EINTR, ENOMEM],
        SYS_nanosleep | SYS_clock_nanosleep | SYS_restart_syscall => &[EINTR],
        SYS_clock_gettime | SYS_uname => &[],
        SYS_geteuid | SYS_getuid | SYS_getpid | SYS_gettid | SYS_rt_sigprocmask => &[],
        // They fail only for a child that is gone.
        SYS_kill | SYS_wait4 | SYS_waitid => &[],
        // `close` closes the file even if it returns an error, and `brk` belongs to malloc. Errors of the others are
        // ignored.
        SYS_close | SYS_brk | SYS_munmap | SYS_exit | SYS_exit_group => &[],
        _ => &[EPERM, ENOSYS],
    }
}

/// Calls that arm64 does not have.
#[cfg(target_arch = "aarch64")]
#[allow(non_upper_case_globals, reason = "libc writes them so")]
mod absent {
    use libc::c_long;

    pub(super) const SYS_rename: c_long = -1;
    pub(super) const SYS_unlink: c_long = -2;
    pub(super) const SYS_mkdir: c_long = -3;
    pub(super) const SYS_vfork: c_long = -4;
    pub(super) const SYS_fork: c_long = -5;
    pub(super) const SYS_poll: c_long = -6;
}

/// A call that fails, the how many-th of its kind it is, from 0 on, and how it fails.
#[derive(Clone, Copy)]
pub struct Fault {
    call: c_long,
    nth: usize,
    error: i32,
}

impl Fault {
    /// Tells the tracer to make this fault.
    pub fn make(self) -> impl FnMut(c_long) -> Option<i32> {
        let mut seen = 0;
        move |call| {
            if call != self.call {
                return None;
            }
            seen += 1;
            (seen == self.nth + 1).then_some(self.error)
        }
    }
}

impl core::fmt::Display for Fault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { call, nth, error } = self;
        write!(
            f,
            "call {call}, number {nth} of its kind, fails with {error}"
        )
    }
}

/// Every fault of these calls.
#[must_use]
pub fn of(calls: &[c_long]) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (number, &call) in calls.iter().enumerate() {
        let nth = calls[..number].iter().filter(|&&other| other == call);
        let nth = nth.count();
        let errors = errors(call).iter();
        faults.extend(errors.map(|&error| Fault { call, nth, error }));
    }
    faults
}

/// Every kind of these calls with each of four errors, for faults at each call of the kind. Left out are calls that give back,
/// end, only ask, or make what the test needs.
#[must_use]
pub fn of_each_kind(calls: &[c_long]) -> Vec<(c_long, i32)> {
    const NEEDED: [c_long; 10] = [
        libc::SYS_brk,
        libc::SYS_close,
        libc::SYS_munmap,
        libc::SYS_rt_sigprocmask,
        libc::SYS_getpid,
        libc::SYS_gettid,
        libc::SYS_geteuid,
        libc::SYS_exit,
        libc::SYS_exit_group,
        libc::SYS_clone,
    ];
    let mut kinds = calls.to_vec();
    kinds.sort_unstable();
    kinds.dedup();
    kinds.retain(|call| !NEEDED.contains(call));
    let errors = [libc::EPERM, libc::ENOSYS, libc::EINVAL, libc::ENOMEM];
    let pair = |call| errors.map(|error| (call, error));
    kinds.into_iter().flat_map(pair).collect()
}

/// From one fault to the next that is made: so that there are at most `max` runs, or with `WELLSPRING_LONG=1` all.
#[must_use]
pub fn step(faults: &[Fault], max: usize) -> usize {
    if crate::programs::is_long("a part of the faults") {
        1
    } else {
        faults.len().div_ceil(max)
    }
}

/// The number of files that this process has open.
#[must_use]
pub fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// A folder, empty before each run.
pub struct Folder(std::path::PathBuf);

impl Folder {
    /// A folder of this process, below the system's one for temporary files.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let name = format!("wellspring-{name}-{}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    /// Makes it new, and returns its path.
    #[must_use]
    pub fn empty(&self) -> &Path {
        use std::os::unix::fs::DirBuilderExt;
        let _ = std::fs::remove_dir_all(&self.0);
        let mut builder = std::fs::DirBuilder::new();
        builder.mode(0o700).create(&self.0).unwrap();
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
