//! Gives up privileges, and closes the sandbox: what the configuration needs stays allowed, and nothing else.
//!
//! An attacker who takes the process over after that can start no program and no other process, open no file outside the list
//! below, reach no other process, and make no memory executable. Landlock decides by files and folders, the filter by system
//! calls and their arguments. Where the kernel has no Landlock, the filter and the rights of the service's user are left.

use crate::config::Config;
use crate::listener::PASS_RIGHTS;
use landlock::{
    ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus,
    Scope, path_beneath_rules,
};
use rustix::fs::Mode;
use rustix::process::{
    DumpableBehavior, Gid, Uid, geteuid, getgid, getuid, set_dumpable_behavior, umask,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_keep_capabilities,
    set_no_new_privs, set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};
use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use wellspring_module::{RNDADDENTROPY, RNDRESEEDCRNG, device};

/// Becomes `user`, gives up capabilities, and closes the sandbox. Call it before another thread starts.
///
/// # Errors
///
/// The reason why the process is not enclosed.
pub fn enclose(config: &Config, user: User) -> Result<(), String> {
    if user.uid.is_root() && geteuid().is_root() && config.service.user.is_empty() {
        log::warn!(
            "there is no user {DEFAULT_USER}: the service stays root, without capabilities. systemd-sysusers makes the \
             user; [service] user names another one, or root"
        );
    }
    let gives_credit = config.kernel_pool.feed && config.kernel_pool.credit_bits.get() > 0;
    let has_module = !config.kernel_module.seed_file.as_os_str().is_empty();
    let kept = if gives_credit || has_module {
        CapabilitySet::SYS_ADMIN
    } else {
        CapabilitySet::empty()
    };
    give_up(user, kept).map_err(|error| format!("privileges cannot be given up: {error}"))?;
    if !config.service.sandbox {
        log::warn!("there is no sandbox: the configuration says so");
        return Ok(());
    }
    // Files that it makes from here on are its user's alone, as the filter of system calls asks.
    umask(Mode::RWXG | Mode::RWXO);
    if let Err(reason) = restrict_files(&reach(config)) {
        log::warn!("files are not restricted: {reason}");
    }
    restrict_calls().map_err(|reason| format!("no filter of system calls: {reason}"))
}

/// The files that a service with this configuration reaches.
pub fn reach(config: &Config) -> Reach {
    let seed_files = [&config.engine.seed_file, &config.kernel_module.seed_file];
    let page = config.runtime_path(&config.page.path);
    Reach {
        replaces: seed_files
            .into_iter()
            .filter_map(|path| folder(path))
            .collect(),
        removes: vec![config.service.runtime_dir.clone()],
        reads: folder(&page).into_iter().collect(),
    }
}

/// The folder of a file, if there is a path. A path of one name is in the working folder: its parent is empty.
fn folder(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    path.parent().map(Path::to_owned)
}

// Privileges that the service gives up once everything is open.

/// The user that the service becomes when the configuration names none: `packaging/sysusers.d` makes it.
pub const DEFAULT_USER: &str = "wellspring";

/// A user and its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    /// The number of the user.
    pub uid: Uid,
    /// The number of its group.
    pub gid: Gid,
}

impl User {
    /// The user of this process.
    fn now() -> Self {
        Self {
            uid: getuid(),
            gid: getgid(),
        }
    }

    /// The user that this process becomes: the user of this name in /etc/passwd. Without a name it is [`DEFAULT_USER`], or root
    /// where there is no such user. A process that is not root stays who it is.
    pub fn named(name: &str) -> io::Result<Self> {
        if !geteuid().is_root() {
            return Ok(Self::now());
        }
        let table = fs::read_to_string("/etc/passwd");
        let no_user = || io::Error::new(io::ErrorKind::NotFound, format!("no user {name}"));
        match name {
            "root" => Ok(Self::now()),
            "" => Ok(table
                .ok()
                .and_then(|table| find(&table, DEFAULT_USER))
                .unwrap_or_else(Self::now)),
            name => find(&table?, name).ok_or_else(no_user),
        }
    }
}

/// Becomes `user`, and keeps no capabilities except the permitted ones in `kept`. Call it before another thread starts: each
/// thread has its own capabilities, which it inherits from the thread that starts it.
pub fn give_up(user: User, kept: CapabilitySet) -> io::Result<()> {
    set_no_new_privs(true)?;
    if !geteuid().is_root() {
        return Ok(());
    }
    let kept = kept & capabilities(None)?.permitted;
    if !user.uid.is_root() {
        // Without this, all capabilities go with the change of user.
        set_keep_capabilities(!kept.is_empty())?;
        set_thread_groups(&[])?;
        set_thread_res_gid(user.gid, user.gid, user.gid)?;
        set_thread_res_uid(user.uid, user.uid, user.uid)?;
        // The change of user makes it what /proc/sys/fs/suid_dumpable says. Other processes of the user could then read its
        // memory.
        set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    }
    let sets = CapabilitySets {
        effective: kept,
        permitted: kept,
        inheritable: CapabilitySet::empty(),
    };
    // systemd may have taken all other capabilities already, and forbidden the call.
    if capabilities(None)? == sets {
        return Ok(());
    }
    set_capabilities(None, sets)?;
    Ok(())
}

/// Keeps CAP_SYS_ADMIN alone. systemd may have taken the others already, and forbidden the call.
pub(crate) fn give_up_for_reseeder() {
    let _ = give_up(User::now(), CapabilitySet::SYS_ADMIN);
}

/// A user in the text of /etc/passwd.
fn find(table: &str, user: &str) -> Option<User> {
    table.lines().find_map(|line| {
        let mut fields = line.split(':');
        if fields.next() != Some(user) {
            return None;
        }
        let uid = fields.nth(1)?.parse().ok()?;
        let gid = fields.next()?.parse().ok()?;
        Some(User {
            uid: Uid::from_raw(uid),
            gid: Gid::from_raw(gid),
        })
    })
}

// The sandbox, which closes after the start.

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

/// Allows only the system calls that the service makes: any other fails with EPERM. Applies to this thread and all that it
/// starts.
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

/// Restricts the process that reseeds the kernel to its two requests to open devices, its pipes, and its end: it opens no file,
/// starts no process and sends no signal.
pub(crate) fn confine_reseeder() -> Result<(), Fault> {
    // Where the kernel has no Landlock, the filter refuses the calls.
    let _ = forbid_files();
    let mut rules: Rules = RESEEDER_CALLS
        .iter()
        .map(|call| (*call, Vec::new()))
        .collect();
    rules.insert(libc::SYS_read, one_of(0, ALL, &[libc::STDIN_FILENO])?);
    let requests = [RNDADDENTROPY, RNDRESEEDCRNG].map(|one| one as libc::c_int);
    rules.insert(libc::SYS_ioctl, one_of(1, ALL, &requests)?);
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let allowed = program(rules, refused, SeccompAction::Allow)?;
    // A process that aborts or faults sends itself a signal, or asks for the signal's default action. If that were refused, it
    // would fault again without end.
    let ends = [
        libc::SYS_rt_sigaction,
        libc::SYS_tgkill,
        libc::SYS_tkill,
        libc::SYS_kill,
    ];
    let ends = ends.map(|call| (call, Vec::new())).into();
    apply_filter(&program(
        ends,
        SeccompAction::Allow,
        SeccompAction::KillProcess,
    )?)?;
    Ok(apply_filter(&allowed)?)
}

/// No file, no connection, no signal.
fn forbid_files() -> Result<(), Fault> {
    let ruleset = Ruleset::default()
        .handle_access(AccessFs::from_all(LANDLOCK))?
        .handle_access(AccessNet::from_all(LANDLOCK))?
        .scope(Scope::from_all(LANDLOCK))?;
    ruleset.create()?.restrict_self()?;
    Ok(())
}

/// The calls of that process with all arguments: answers and bytes for the kernel's pool, and its end.
const RESEEDER_CALLS: [i64; 6] = [
    libc::SYS_write,
    libc::SYS_munmap,
    libc::SYS_sigaltstack,
    libc::SYS_rt_sigreturn,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

fn program(rules: Rules, others: SeccompAction, these: SeccompAction) -> Result<BpfProgram, Fault> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    Ok(SeccompFilter::new(rules, others, these, arch)?.try_into()?)
}

/// Calls by number, each with the arguments that are allowed. No arguments: all are.
type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// A condition on one 32-bit argument.
fn that(argument: u8, operator: SeccompCmpOp, value: u32) -> Result<SeccompCondition, Fault> {
    let length = SeccompCmpArgLen::Dword;
    Ok(SeccompCondition::new(
        argument,
        length,
        operator,
        value.into(),
    )?)
}

/// Exactly `set` are set of these bits of an argument.
fn bits(argument: u8, of: libc::c_int, set: libc::c_int) -> Result<SeccompCondition, Fault> {
    let mask = u64::from(of as u32);
    that(argument, SeccompCmpOp::MaskedEq(mask), set as u32)
}

/// An argument that points nowhere.
fn nowhere(argument: u8) -> Result<SeccompCondition, Fault> {
    let length = SeccompCmpArgLen::Qword;
    Ok(SeccompCondition::new(
        argument,
        length,
        SeccompCmpOp::Eq,
        0,
    )?)
}

/// A rule that allows a call if all of these hold.
fn if_all<const N: usize>(
    conditions: [Result<SeccompCondition, Fault>; N],
) -> Result<SeccompRule, Fault> {
    let conditions: Result<Vec<_>, _> = conditions.into_iter().collect();
    Ok(SeccompRule::new(conditions?)?)
}

/// Rules that allow these values of one 32-bit argument, under this mask.
fn one_of(
    argument: u8,
    mask: libc::c_int,
    values: &[libc::c_int],
) -> Result<Vec<SeccompRule>, Fault> {
    let values = values.iter();
    values
        .map(|value| if_all([bits(argument, mask, *value)]))
        .collect()
}

/// All bits of an argument.
const ALL: libc::c_int = -1;

/// The bits of open(2) that make or cut a file. The upper one of `O_TMPFILE` alone: the other is `O_DIRECTORY`.
const MAKES: libc::c_int = libc::O_CREAT | libc::O_TRUNC | (libc::O_TMPFILE & !libc::O_DIRECTORY);

/// A new file is for its owner to read and to write.
const MODE: libc::c_int = 0o600;

/// Opens a file that is there, or makes one for the service's user alone. `flags` is the place of the flags; the mode comes
/// after them.
fn opens(flags: u8) -> Result<Vec<SeccompRule>, Fault> {
    let is_new = libc::O_CREAT | libc::O_EXCL;
    Ok(vec![
        if_all([bits(flags, MAKES, 0)])?,
        if_all([
            bits(flags, MAKES | libc::O_EXCL, is_new),
            bits(flags + 1, !MODE, 0),
        ])?,
    ])
}

fn rules() -> Result<Rules, Fault> {
    let mut rules: Rules = CALLS.iter().map(|call| (*call, Vec::new())).collect();
    let process = std::process::id() as libc::c_int;
    let flags_of_messages = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    let thread = libc::CLONE_THREAD;
    let limited = [
        // No memory becomes executable.
        (libc::SYS_mmap, vec![if_all([bits(2, libc::PROT_EXEC, 0)])?]),
        (
            libc::SYS_mprotect,
            vec![if_all([bits(2, libc::PROT_EXEC, 0)])?],
        ),
        // No page is shared with others, or taken from them.
        (libc::SYS_madvise, one_of(2, ALL, &ADVICE)?),
        (libc::SYS_mbind, one_of(5, ALL, &[0])?),
        // Threads, and no process or namespace.
        (
            libc::SYS_clone,
            vec![if_all([bits(0, thread | NAMESPACES, thread)])?],
        ),
        // Without the commands that give a priority, or change a word.
        (libc::SYS_futex, one_of(1, FUTEX_COMMAND, &FUTEX_COMMANDS)?),
        // Without the command that waits for every CPU.
        (libc::SYS_membarrier, one_of(0, ALL, &BARRIERS)?),
        // Signals to its own threads: abort(3) sends one, and the engine asks whether a thread lives.
        (libc::SYS_tgkill, one_of(0, ALL, &[process])?),
        // Its own limits, to read.
        (
            libc::SYS_prlimit64,
            vec![if_all([bits(0, ALL, 0), nowhere(2)])?],
        ),
        (
            libc::SYS_prctl,
            one_of(0, ALL, &[libc::PR_SET_NAME, libc::PR_SET_VMA])?,
        ),
        // The clock of another process has a negative number.
        (
            libc::SYS_clock_gettime,
            vec![if_all([bits(0, libc::c_int::MIN, 0)])?],
        ),
        (
            libc::SYS_clock_getres,
            vec![if_all([bits(0, libc::c_int::MIN, 0)])?],
        ),
        (
            libc::SYS_clock_nanosleep,
            vec![if_all([bits(0, libc::c_int::MIN, 0)])?],
        ),
        // Files.
        (libc::SYS_openat, opens(2)?),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_open, opens(1)?),
        (libc::SYS_renameat2, one_of(4, ALL, &[0])?),
        (libc::SYS_unlinkat, one_of(2, ALL, &[0])?),
        (
            libc::SYS_pipe2,
            vec![if_all([bits(1, !(libc::O_CLOEXEC | libc::O_NONBLOCK), 0)])?],
        ),
        // Without F_SETOWN, by which the kernel would signal another process, and without flags of descriptors that others
        // have, too; without commands for terminals.
        (libc::SYS_fcntl, one_of(1, ALL, &DESCRIPTOR_COMMANDS)?),
        (
            libc::SYS_ioctl,
            one_of(1, ALL, &DEVICE_COMMANDS.map(|one| one as libc::c_int))?,
        ),
        // Messages to the other end of a connection alone: without an address. sendmsg(2), whose address is in memory, is
        // refused: it would also hand out descriptors, and connect.
        (
            libc::SYS_sendto,
            vec![if_all([
                bits(3, !flags_of_messages, 0),
                nowhere(4),
                bits(5, ALL, 0),
            ])?],
        ),
        (
            libc::SYS_getsockopt,
            vec![if_all([
                bits(1, ALL, libc::SOL_SOCKET),
                bits(2, ALL, libc::SO_PEERCRED),
            ])?],
        ),
        (
            libc::SYS_setsockopt,
            vec![
                if_all([bits(1, ALL, libc::SOL_SOCKET), bits(2, ALL, PASS_RIGHTS)])?,
                if_all([
                    bits(1, ALL, libc::IPPROTO_TCP),
                    bits(2, ALL, libc::TCP_NODELAY),
                ])?,
            ],
        ),
    ];
    rules.extend(limited);
    Ok(rules)
}

const NAMESPACES: libc::c_int = libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET;

/// The allowed advice of madvise(2): of the engine, and of the heaps and stacks of C libraries.
const ADVICE: [libc::c_int; 6] = [
    libc::MADV_DONTNEED,
    libc::MADV_FREE,
    libc::MADV_DONTDUMP,
    libc::MADV_WIPEONFORK,
    MADV_GUARD_INSTALL,
    MADV_GUARD_REMOVE,
];
/// From asm-generic/mman-common.h (Linux 6.13), for the stacks of threads from glibc 2.42 on.
const MADV_GUARD_INSTALL: libc::c_int = 102;
const MADV_GUARD_REMOVE: libc::c_int = 103;

/// The bits of a command of futex(2) without its flags.
const FUTEX_COMMAND: libc::c_int = !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
const FUTEX_COMMANDS: [libc::c_int; 6] = [
    libc::FUTEX_WAIT,
    libc::FUTEX_WAKE,
    libc::FUTEX_REQUEUE,
    libc::FUTEX_CMP_REQUEUE,
    libc::FUTEX_WAIT_BITSET,
    libc::FUTEX_WAKE_BITSET,
];

/// From linux/membarrier.h: the question, the barrier between the threads of one process, and the order for it.
const BARRIERS: [libc::c_int; 3] = [0, 1 << 3, 1 << 4];

/// The allowed commands of fcntl(2).
const DESCRIPTOR_COMMANDS: [libc::c_int; 5] = [
    libc::F_GETFD,
    libc::F_SETFD,
    libc::F_GETFL,
    libc::F_DUPFD_CLOEXEC,
    libc::F_GET_SEALS,
];

/// The allowed commands of ioctl(2): of sockets, of the kernel's pool, and of the kernel module.
const DEVICE_COMMANDS: [libc::Ioctl; 5] = [
    libc::FIONREAD,
    libc::TIOCOUTQ,
    RNDADDENTROPY,
    device::SAVE,
    device::RESTORE,
];

/// The calls that are allowed with all arguments. Without exec, kill, ptrace, mount, bpf, io_uring_setup, chmod, socket,
/// connect, sendmsg, setuid, and calls for modules, keys and other processes.
#[rustfmt::skip]
const CALLS: &[i64] = &[
    // Memory.
    libc::SYS_brk, libc::SYS_munmap, libc::SYS_mremap, libc::SYS_mlock, libc::SYS_mlock2,
    libc::SYS_munlock, libc::SYS_get_mempolicy,
    // Threads, and the end of the service's helpers.
    libc::SYS_clone3, libc::SYS_set_robust_list, libc::SYS_rseq, libc::SYS_exit,
    libc::SYS_exit_group, libc::SYS_gettid, libc::SYS_getpid, libc::SYS_sched_getaffinity, libc::SYS_sched_yield,
    libc::SYS_wait4, libc::SYS_waitid, libc::SYS_set_tid_address, libc::SYS_getcpu,
    // Signals.
    libc::SYS_rt_sigaction, libc::SYS_rt_sigprocmask, libc::SYS_rt_sigreturn, libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    // Time.
    libc::SYS_nanosleep, libc::SYS_gettimeofday, libc::SYS_getrusage,
    // User, machine, the kernel's generator.
    libc::SYS_getuid, libc::SYS_geteuid, libc::SYS_getgid, libc::SYS_getegid, libc::SYS_uname, libc::SYS_sysinfo,
    libc::SYS_getrandom,
    // Files.
    libc::SYS_close, libc::SYS_close_range, libc::SYS_read, libc::SYS_readv,
    libc::SYS_pread64, libc::SYS_write, libc::SYS_writev, libc::SYS_pwrite64, libc::SYS_lseek,
    libc::SYS_fstat, libc::SYS_newfstatat, libc::SYS_statx, libc::SYS_fstatfs, libc::SYS_statfs,
    libc::SYS_getdents64, libc::SYS_readlinkat, libc::SYS_getcwd, libc::SYS_faccessat, libc::SYS_faccessat2,
    libc::SYS_fsync, libc::SYS_fdatasync, libc::SYS_renameat, libc::SYS_flock,
    // Waiting.
    libc::SYS_ppoll, libc::SYS_pselect6, libc::SYS_epoll_create1, libc::SYS_epoll_ctl, libc::SYS_epoll_pwait,
    libc::SYS_eventfd2,
    // Sockets that are open.
    libc::SYS_accept4, libc::SYS_recvfrom, libc::SYS_recvmsg, libc::SYS_getsockname, libc::SYS_getpeername,
    // Calls that exist on x86-64 alone.
    #[cfg(target_arch = "x86_64")] libc::SYS_poll,
    #[cfg(target_arch = "x86_64")] libc::SYS_epoll_wait,
    #[cfg(target_arch = "x86_64")] libc::SYS_stat,
    #[cfg(target_arch = "x86_64")] libc::SYS_lstat,
    #[cfg(target_arch = "x86_64")] libc::SYS_access,
    #[cfg(target_arch = "x86_64")] libc::SYS_readlink,
    #[cfg(target_arch = "x86_64")] libc::SYS_unlink,
    #[cfg(target_arch = "x86_64")] libc::SYS_rename,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_its_whole_name() {
        let table =
            "root:x:0:0::/:/bin/sh\nlimited2:x:1:1::/:\nlimited:x:65534:65533:n:/:/x\nbad:x\n";
        let user = find(table, "limited").unwrap();
        assert_eq!((user.uid.as_raw(), user.gid.as_raw()), (65534, 65533));
        assert!(find(table, "limit").is_none());
        assert!(find(table, "bad").is_none());
    }
}
