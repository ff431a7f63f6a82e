//! Restricts the process after its start. An attacker who takes it over can start no program and no other process, open
//! no file outside of the list below, reach no other process, and make no memory executable.
//!
//! Landlock decides by files and folders, the filter by system calls and their arguments. Where the kernel has no
//! Landlock, the filter and the rights of the service's user are left.

use crate::kernel_pool::RNDADDENTROPY;
use landlock::{
    ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus,
    Scope, path_beneath_rules,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};
use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use wellspring_os::kernel_module;

/// The newest version of Landlock that is used. An older kernel applies the part that it knows: signals and abstract
/// sockets from Linux 6.12, TCP from 6.7. From 7.1 on it also refuses messages to sockets that have a name in a folder.
const LANDLOCK: ABI = ABI::V9;

/// The files that are read after the start: by the source of interrupts, the search for NUMA nodes, and the look at owners
/// of files. `/proc/self` is the folder of this process alone.
const READ: [&str; 5] = [
    "/proc/self",
    "/proc/stat",
    "/proc/sys/kernel/overflowuid",
    "/sys/devices/system/node",
    "/sys/devices/system/cpu/possible",
];

/// The folders of the service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// The folders of seed files, which it makes, replaces and removes.
    pub replaces: Vec<PathBuf>,
    /// The folder of sockets, which it reads, and from which it removes its sockets.
    pub removes: Vec<PathBuf>,
    /// The files and folders that it reads.
    pub reads: Vec<PathBuf>,
}

/// The reason why the process is not restricted.
type Fault = Box<dyn Error + Send + Sync>;

/// Restricts files to `reach` and what sources read. No connection, no signal and no trace reaches a process outside.
/// Applies to this thread and all that it starts.
///
/// # Errors
///
/// The reason why files are not restricted, for instance that the kernel has no Landlock.
pub fn restrict_files(reach: &Reach) -> Result<(), Fault> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let remove = read | AccessFs::RemoveFile;
    let replace = remove | AccessFs::WriteFile | AccessFs::MakeReg | AccessFs::Truncate;
    let status = Ruleset::default()
        .handle_access(AccessFs::from_all(LANDLOCK))?
        .handle_access(AccessNet::from_all(LANDLOCK))?
        .scope(Scope::from_all(LANDLOCK))?
        .create()?
        .add_rules(path_beneath_rules(READ, read))?
        .add_rules(path_beneath_rules(&reach.reads, read))?
        .add_rules(path_beneath_rules(&reach.removes, remove))?
        .add_rules(path_beneath_rules(&reach.replaces, replace))?
        .restrict_self()?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err("this kernel has no Landlock".into());
    }
    Ok(())
}

/// Forbids all system calls but those that the service makes: any other fails with EPERM. Applies to this thread and
/// all that it starts.
///
/// # Errors
///
/// The reason why system calls are not restricted.
pub fn restrict_calls() -> Result<(), Fault> {
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let allowed = program(rules()?, refused, SeccompAction::Allow)?;
    // The flags of clone3(2) are in memory, out of reach of a filter. Where it is absent, the C library starts a thread by
    // clone(2). The other filter lets it pass: of two answers the stricter one counts.
    let absent = SeccompAction::Errno(libc::ENOSYS as u32);
    let clone3 = [(libc::SYS_clone3, Vec::new())].into();
    apply_filter(&program(clone3, SeccompAction::Allow, absent)?)?;
    Ok(apply_filter(&allowed)?)
}

fn program(rules: Rules, others: SeccompAction, these: SeccompAction) -> Result<BpfProgram, Fault> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    Ok(SeccompFilter::new(rules, others, these, arch)?.try_into()?)
}

/// Calls by number, each with the arguments that are allowed. No arguments: all are.
type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// A rule for one 32-bit argument.
fn only(argument: u8, operator: SeccompCmpOp, value: u32) -> Result<SeccompRule, Fault> {
    let length = SeccompCmpArgLen::Dword;
    let condition = SeccompCondition::new(argument, length, operator, value.into())?;
    Ok(SeccompRule::new(vec![condition])?)
}

/// Rules that allow these values of one 32-bit argument.
fn one_of(argument: u8, values: &[u32]) -> Result<Vec<SeccompRule>, Fault> {
    let rules = values.iter();
    rules
        .map(|value| only(argument, SeccompCmpOp::Eq, *value))
        .collect()
}

fn rules() -> Result<Rules, Fault> {
    let mut rules: Rules = CALLS.iter().map(|call| (*call, Vec::new())).collect();
    // No memory becomes executable.
    let executable = libc::PROT_EXEC as u32;
    let never_executable = only(2, SeccompCmpOp::MaskedEq(executable.into()), 0)?;
    rules.insert(libc::SYS_mmap, vec![never_executable.clone()]);
    rules.insert(libc::SYS_mprotect, vec![never_executable]);
    // Threads, and no process or namespace.
    let thread = libc::CLONE_THREAD as u32;
    let mask = thread | NAMESPACES as u32;
    let threads = only(0, SeccompCmpOp::MaskedEq(mask.into()), thread)?;
    rules.insert(libc::SYS_clone, vec![threads]);
    // Signals to its own threads: abort(3) sends one, and the engine asks whether a thread lives.
    let process = std::process::id();
    rules.insert(libc::SYS_tgkill, one_of(0, &[process])?);
    rules.insert(libc::SYS_prlimit64, one_of(0, &[0])?);
    // Messages to the other end of a connection alone: without an address.
    let nowhere = vec![
        SeccompCondition::new(4, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, 0)?,
        SeccompCondition::new(5, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, 0)?,
    ];
    rules.insert(libc::SYS_sendto, vec![SeccompRule::new(nowhere)?]);
    // Without F_SETOWN, by which the kernel would signal another process; and without commands for terminals.
    let of_descriptors: Vec<u32> = DESCRIPTOR_COMMANDS.map(|one| one as u32).into();
    rules.insert(libc::SYS_fcntl, one_of(1, &of_descriptors)?);
    let of_devices: Vec<u32> = DEVICE_COMMANDS.map(|one| one as u32).into();
    rules.insert(libc::SYS_ioctl, one_of(1, &of_devices)?);
    let of_process = [libc::PR_SET_NAME, libc::PR_SET_VMA].map(|one| one as u32);
    rules.insert(libc::SYS_prctl, one_of(0, &of_process)?);
    Ok(rules)
}

const NAMESPACES: libc::c_int = libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET;

/// The allowed commands of fcntl(2).
const DESCRIPTOR_COMMANDS: [libc::c_int; 6] = [
    libc::F_GETFD,
    libc::F_SETFD,
    libc::F_GETFL,
    libc::F_SETFL,
    libc::F_DUPFD_CLOEXEC,
    libc::F_GET_SEALS,
];

/// The allowed commands of ioctl(2): of sockets, of the kernel's pool, and of the kernel module.
const DEVICE_COMMANDS: [libc::Ioctl; 7] = [
    libc::FIONREAD,
    libc::FIONBIO,
    libc::TIOCOUTQ,
    libc::FIOCLEX,
    RNDADDENTROPY,
    kernel_module::SAVE,
    kernel_module::RESTORE,
];

/// The calls that are allowed with all arguments. Without exec, kill, ptrace, mount, bpf, io_uring_setup, chmod, socket,
/// connect, setuid, and calls for modules, keys and other processes.
#[rustfmt::skip]
const CALLS: &[i64] = &[
    // Memory.
    libc::SYS_brk, libc::SYS_munmap, libc::SYS_mremap, libc::SYS_madvise, libc::SYS_mlock, libc::SYS_mlock2,
    libc::SYS_munlock, libc::SYS_mincore, libc::SYS_msync, libc::SYS_get_mempolicy, libc::SYS_mbind,
    // Threads, and the end of the service's helpers.
    libc::SYS_clone3, libc::SYS_set_robust_list, libc::SYS_rseq, libc::SYS_futex, libc::SYS_exit,
    libc::SYS_exit_group, libc::SYS_gettid, libc::SYS_getpid, libc::SYS_sched_getaffinity, libc::SYS_sched_yield,
    libc::SYS_membarrier, libc::SYS_wait4, libc::SYS_waitid, libc::SYS_set_tid_address, libc::SYS_getcpu,
    // Signals.
    libc::SYS_rt_sigaction, libc::SYS_rt_sigprocmask, libc::SYS_rt_sigreturn, libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    // Time.
    libc::SYS_clock_gettime, libc::SYS_clock_getres, libc::SYS_clock_nanosleep, libc::SYS_nanosleep,
    libc::SYS_gettimeofday, libc::SYS_getrusage,
    // User, machine, the kernel's generator.
    libc::SYS_getuid, libc::SYS_geteuid, libc::SYS_getgid, libc::SYS_getegid, libc::SYS_uname, libc::SYS_sysinfo,
    libc::SYS_getrandom,
    // Files.
    libc::SYS_openat, libc::SYS_openat2, libc::SYS_close, libc::SYS_close_range, libc::SYS_read, libc::SYS_readv,
    libc::SYS_pread64, libc::SYS_write, libc::SYS_writev, libc::SYS_pwrite64, libc::SYS_lseek, libc::SYS_dup,
    libc::SYS_dup3, libc::SYS_fstat, libc::SYS_newfstatat, libc::SYS_statx, libc::SYS_fstatfs, libc::SYS_statfs,
    libc::SYS_getdents64, libc::SYS_readlinkat, libc::SYS_getcwd, libc::SYS_faccessat, libc::SYS_faccessat2,
    libc::SYS_fsync, libc::SYS_fdatasync, libc::SYS_renameat, libc::SYS_renameat2, libc::SYS_unlinkat,
    libc::SYS_fchmod, libc::SYS_flock,
    // Waiting.
    libc::SYS_ppoll, libc::SYS_pselect6, libc::SYS_epoll_create1, libc::SYS_epoll_ctl, libc::SYS_epoll_pwait,
    libc::SYS_eventfd2, libc::SYS_signalfd4, libc::SYS_timerfd_create, libc::SYS_timerfd_settime, libc::SYS_pipe2,
    // Sockets that are open.
    libc::SYS_accept4, libc::SYS_recvfrom, libc::SYS_recvmsg, libc::SYS_sendmsg, libc::SYS_getsockopt,
    libc::SYS_setsockopt, libc::SYS_getsockname, libc::SYS_getpeername, libc::SYS_shutdown,
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
];
