//! Restricts the process after its start. An attacker who takes it over can start no program, open no file outside the
//! allowed folders, and make no system call that is not in the list below.

use landlock::{
    ABI, Access, AccessFs, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus,
    path_beneath_rules,
};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, SeccompRule, TargetArch};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The newest version of Landlock that is used. An older kernel applies the part that it knows.
const LANDLOCK: ABI = ABI::V5;

/// The folders that the sources and the search for NUMA nodes read.
const READ: [&str; 4] = ["/proc", "/sys", "/dev", "/etc"];

/// Restricts files to `written`, `read` and the folders that sources read. Applies to this thread and all that it
/// starts.
///
/// # Errors
///
/// The reason why files are not restricted, for instance that the kernel has no Landlock.
pub fn restrict_files(written: &[PathBuf], read: &[PathBuf]) -> Result<(), String> {
    let restricted = Ruleset::default()
        .handle_access(AccessFs::from_all(LANDLOCK))
        .and_then(Ruleset::create)
        .and_then(|rules| {
            let access = AccessFs::from_read(LANDLOCK) & !AccessFs::Execute;
            let more = path_beneath_rules(read, access);
            rules.add_rules(path_beneath_rules(READ, access).chain(more))
        })
        .and_then(|rules| {
            // Sockets and their folder; the seed file, its successor and its lock.
            let access = AccessFs::ReadFile
                | AccessFs::ReadDir
                | AccessFs::WriteFile
                | AccessFs::RemoveFile
                | AccessFs::MakeReg
                | AccessFs::MakeSock
                | AccessFs::Truncate
                | AccessFs::Refer;
            rules.add_rules(path_beneath_rules(written, access))
        })
        .and_then(landlock::RulesetCreated::restrict_self);
    match restricted {
        Ok(status) if status.ruleset == RulesetStatus::NotEnforced => {
            Err("this kernel has no Landlock".into())
        }
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

/// Forbids all system calls but those that the service makes: any other fails with EPERM. Applies to this thread and
/// all that it starts.
///
/// # Errors
///
/// The reason why system calls are not restricted.
pub fn restrict_calls() -> Result<(), String> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|error| error.to_string())?;
    let rules: BTreeMap<i64, Vec<SeccompRule>> =
        CALLS.iter().map(|call| (*call, Vec::new())).collect();
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let filter = SeccompFilter::new(rules, refused, SeccompAction::Allow, arch);
    let program: Result<BpfProgram, _> = filter.and_then(TryInto::try_into);
    let program = program.map_err(|error| error.to_string())?;
    seccompiler::apply_filter(&program).map_err(|error| error.to_string())
}

/// The allowed calls. Without exec, fork, ptrace, mount, bpf, io_uring, reboot, setuid, and calls for modules and keys.
#[rustfmt::skip]
const CALLS: &[i64] = &[
    // Memory.
    libc::SYS_brk, libc::SYS_mmap, libc::SYS_munmap, libc::SYS_mremap, libc::SYS_mprotect, libc::SYS_madvise,
    libc::SYS_mlock, libc::SYS_mlock2, libc::SYS_munlock, libc::SYS_mincore, libc::SYS_msync,
    // Threads; clone3 and clone start them, and without exec a child process could do no more than its parent.
    libc::SYS_clone, libc::SYS_clone3, libc::SYS_set_robust_list, libc::SYS_rseq, libc::SYS_futex, libc::SYS_exit,
    libc::SYS_exit_group, libc::SYS_gettid, libc::SYS_getpid, libc::SYS_tgkill, libc::SYS_prctl,
    libc::SYS_sched_getaffinity, libc::SYS_sched_yield, libc::SYS_membarrier, libc::SYS_wait4, libc::SYS_waitid,
    libc::SYS_set_tid_address, libc::SYS_getcpu, libc::SYS_get_mempolicy, libc::SYS_mbind, libc::SYS_kill,
    // Signals.
    libc::SYS_rt_sigaction, libc::SYS_rt_sigprocmask, libc::SYS_rt_sigreturn, libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    // Time.
    libc::SYS_clock_gettime, libc::SYS_clock_getres, libc::SYS_clock_nanosleep, libc::SYS_nanosleep,
    libc::SYS_gettimeofday, libc::SYS_getrusage,
    // User, machine, limits, the kernel's generator.
    libc::SYS_getuid, libc::SYS_geteuid, libc::SYS_getgid, libc::SYS_getegid, libc::SYS_uname, libc::SYS_sysinfo,
    libc::SYS_prlimit64, libc::SYS_getrandom,
    // Files.
    libc::SYS_openat, libc::SYS_openat2, libc::SYS_close, libc::SYS_close_range, libc::SYS_read, libc::SYS_readv,
    libc::SYS_pread64, libc::SYS_write, libc::SYS_writev, libc::SYS_pwrite64, libc::SYS_lseek, libc::SYS_fcntl,
    libc::SYS_dup, libc::SYS_dup3, libc::SYS_fstat, libc::SYS_newfstatat, libc::SYS_statx, libc::SYS_fstatfs,
    libc::SYS_statfs, libc::SYS_getdents64, libc::SYS_readlinkat, libc::SYS_getcwd, libc::SYS_faccessat,
    libc::SYS_faccessat2, libc::SYS_ftruncate, libc::SYS_fsync, libc::SYS_fdatasync, libc::SYS_fallocate,
    libc::SYS_renameat, libc::SYS_renameat2, libc::SYS_unlinkat, libc::SYS_linkat, libc::SYS_mkdirat, libc::SYS_fchmod,
    libc::SYS_fchmodat, libc::SYS_flock, libc::SYS_ioctl, libc::SYS_copy_file_range,
    // Waiting.
    libc::SYS_ppoll, libc::SYS_pselect6, libc::SYS_epoll_create1, libc::SYS_epoll_ctl, libc::SYS_epoll_pwait,
    libc::SYS_eventfd2, libc::SYS_signalfd4, libc::SYS_timerfd_create, libc::SYS_timerfd_settime, libc::SYS_pipe2,
    // Sockets: those that are open, and the one for messages to systemd.
    libc::SYS_socket, libc::SYS_bind, libc::SYS_connect, libc::SYS_accept4, libc::SYS_recvfrom, libc::SYS_recvmsg,
    libc::SYS_sendto, libc::SYS_sendmsg, libc::SYS_getsockopt, libc::SYS_setsockopt, libc::SYS_getsockname,
    libc::SYS_getpeername, libc::SYS_shutdown, libc::SYS_socketpair,
    // Calls that exist on x86-64 alone.
    #[cfg(target_arch = "x86_64")] libc::SYS_poll,
    #[cfg(target_arch = "x86_64")] libc::SYS_epoll_wait,
    #[cfg(target_arch = "x86_64")] libc::SYS_open,
    #[cfg(target_arch = "x86_64")] libc::SYS_stat,
    #[cfg(target_arch = "x86_64")] libc::SYS_lstat,
    #[cfg(target_arch = "x86_64")] libc::SYS_access,
    #[cfg(target_arch = "x86_64")] libc::SYS_readlink,
    #[cfg(target_arch = "x86_64")] libc::SYS_unlink,
    #[cfg(target_arch = "x86_64")] libc::SYS_rename,
    #[cfg(target_arch = "x86_64")] libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")] libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")] libc::SYS_arch_prctl,
];
