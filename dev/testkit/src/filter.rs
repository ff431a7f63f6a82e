//! seccomp filters: which system calls a thread may make, how a forbidden one ends, and calls that a test answers itself.

use std::io::{Error, Read, Result, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread;

/// The effect of a call that a filter forbids.
#[derive(Clone, Copy, Debug)]
pub enum Forbidden {
    /// The call ends the process.
    Kills,
    /// The call fails with this error.
    Fails(i32),
}

impl Forbidden {
    fn action(self) -> u32 {
        match self {
            Self::Kills => libc::SECCOMP_RET_KILL_PROCESS,
            Self::Fails(error) => libc::SECCOMP_RET_ERRNO | error as u32,
        }
    }
}

/// Restricts this thread to these calls from now on. Returns `false` if the system accepts no filter.
pub fn allow_only(calls: &[libc::c_long], otherwise: Forbidden) -> bool {
    install(calls, libc::SECCOMP_RET_ALLOW, otherwise.action())
}

/// Forbids these calls to this thread from now on. Returns `false` if the system accepts no filter.
pub fn forbid(calls: &[libc::c_long], how: Forbidden) -> bool {
    install(calls, how.action(), libc::SECCOMP_RET_ALLOW)
}

/// Answers a call of this thread from now on if its argument of this number, from 0 on, has this value. Returns `false` if
/// the system accepts no filter.
pub fn forbid_argument(call: libc::c_long, argument: u32, value: u32, how: Forbidden) -> bool {
    set(with_argument(call, argument, value, how.action()), 0) >= 0
}

/// The steps of a filter with this action for a call whose argument of this number has this value.
fn with_argument(
    call: libc::c_long,
    argument: u32,
    value: u32,
    action: u32,
) -> Vec<libc::sock_filter> {
    /// The place of the arguments in the kernel's `struct seccomp_data`.
    const ARGUMENTS_OFFSET: u32 = 16;
    let low_half = if cfg!(target_endian = "little") { 0 } else { 4 };
    let place = ARGUMENTS_OFFSET + 8 * argument + low_half;
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let answer = libc::BPF_RET | libc::BPF_K;
    vec![
        step(load, [0, 0], 0),
        step(equal, [0, 3], call as u32),
        step(load, [0, 0], place),
        step(equal, [0, 1], value),
        step(answer, [0, 0], action),
        step(answer, [0, 0], libc::SECCOMP_RET_ALLOW),
    ]
}

/// Has a program run as on a kernel that does not wipe a child: gVisor, Linux before 4.14. It does not start where the system
/// accepts no filter.
pub fn without_wipes(command: &mut Command) -> &mut Command {
    under(command, || {
        let (advice, how) = (libc::MADV_WIPEONFORK as u32, Forbidden::Fails(libc::EINVAL));
        forbid_argument(libc::SYS_madvise, 2, advice, how)
    })
}

/// Has a program run as on file systems without locks of files. It does not start where the system accepts no filter.
pub fn without_locks(command: &mut Command) -> &mut Command {
    under(command, || {
        forbid(&[libc::SYS_flock], Forbidden::Fails(libc::ENOLCK))
    })
}

/// Has a program run under the filter that `install` installs.
fn under(command: &mut Command, install: fn() -> bool) -> &mut Command {
    let refuse = move || {
        install()
            .then_some(())
            .ok_or(std::io::ErrorKind::Unsupported.into())
    };
    // SAFETY: it calls prctl(2) and malloc(3), whose locks libc frees in a child.
    unsafe { command.pre_exec(refuse) }
}

/// Whether a program can run so; says so if a test has to do without.
#[must_use]
pub fn is_possible() -> bool {
    let is_possible = without_wipes(&mut Command::new("true")).status().is_ok();
    if !is_possible {
        crate::skipped("no seccomp filter can be installed here");
    }
    is_possible
}

/// A step of a filter, with the distances that it jumps if its comparison is true or false.
fn step(code: u32, [jt, jf]: [u8; 2], k: u32) -> libc::sock_filter {
    libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    }
}

/// Has getrandom(2) fail from now on, so that no engine has a seed.
///
/// # Errors
///
/// The system accepts no filter.
pub fn refuse_random() -> Result<()> {
    refuse(libc::SYS_getrandom, libc::EPERM)
}

/// The answer to an engine that asks the system for random bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Random {
    /// The kernel's.
    Given,
    /// An error.
    Refused,
    /// Success, though no byte was written: the same bytes again and again.
    Repeats,
}

/// Has a program and its children get these answers from getrandom(2) where they call it without waiting, as engines do:
/// OpenSSL still gets the system's seed. `answer` is told the number of the thread that asks. It does not start where the system
/// accepts no filter.
///
/// # Errors
///
/// There is no socket.
pub fn answer_random(
    command: &mut Command,
    answer: impl Fn(u32) -> Random + Send + 'static,
) -> Result<()> {
    let (ours, mut theirs) = UnixStream::pair()?;
    thread::spawn(move || serve(ours, answer));
    let install = move || {
        let action = libc::SECCOMP_RET_USER_NOTIF;
        let steps = with_argument(libc::SYS_getrandom, 2, libc::GRND_NONBLOCK, action);
        let listener = set(steps, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER) as i32;
        if listener < 0 {
            return Err(Error::last_os_error());
        }
        theirs.write_all(&(std::process::id() as i32).to_ne_bytes())?;
        theirs.write_all(&listener.to_ne_bytes())?;
        // The listener closes at exec(2): by then the other side has a copy.
        theirs.read_exact(&mut [0])
    };
    // SAFETY: it makes system calls, and calls malloc(3), whose locks libc frees in a child.
    unsafe { command.pre_exec(install) };
    Ok(())
}

/// Answers until all processes under the filter have ended.
fn serve(mut socket: UnixStream, answer: impl Fn(u32) -> Random) -> Result<()> {
    let mut number = || {
        let mut bytes = [0; 4];
        socket
            .read_exact(&mut bytes)
            .map(|()| i32::from_ne_bytes(bytes))
    };
    let (process, listener) = (number()?, number()?);
    let opened = |descriptor: libc::c_long| match descriptor {
        // SAFETY: the kernel has just opened it.
        0.. => Ok(unsafe { OwnedFd::from_raw_fd(descriptor as i32) }),
        _ => Err(Error::last_os_error()),
    };
    // SAFETY: calls with numbers.
    let process = opened(unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) })?;
    let process = process.as_raw_fd();
    // SAFETY: as above.
    let listener = opened(unsafe { libc::syscall(libc::SYS_pidfd_getfd, process, listener, 0) })?;
    socket.write_all(&[0])?;
    let mut wait = libc::pollfd {
        fd: listener.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    loop {
        // SAFETY: one entry, which lives for the call.
        unsafe { libc::poll(&raw mut wait, 1, -1) };
        if wait.revents & libc::POLLIN == 0 {
            return Ok(());
        }
        // SAFETY: numbers, for which zeros are valid, and which the kernel wants.
        let mut request: libc::seccomp_notif = unsafe { core::mem::zeroed() };
        // SAFETY: as above.
        let mut response: libc::seccomp_notif_resp = unsafe { core::mem::zeroed() };
        // SAFETY: the kernel writes a struct of this size.
        if unsafe { libc::ioctl(wait.fd, libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut request) } != 0 {
            // The process has ended meanwhile.
            continue;
        }
        response.id = request.id;
        match answer(request.pid) {
            Random::Given => response.flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32,
            Random::Refused => response.error = -libc::EPERM,
            Random::Repeats => response.val = request.data.args[1] as i64,
        }
        // SAFETY: the kernel reads a struct of this size. An error says that the process has ended.
        unsafe { libc::ioctl(wait.fd, libc::SECCOMP_IOCTL_NOTIF_SEND, &raw const response) };
    }
}

/// Has madvise(2) fail from now on, so that no memory is wiped in a child.
///
/// # Errors
///
/// The system accepts no filter.
pub fn refuse_advice() -> Result<()> {
    refuse(libc::SYS_madvise, libc::EINVAL)
}

fn refuse(call: libc::c_long, error: i32) -> Result<()> {
    let is_set = forbid(&[call], Forbidden::Fails(error));
    is_set.then_some(()).ok_or_else(Error::last_os_error)
}

/// Installs a filter with one action for these calls, and another action for all others. Returns `false` if the system
/// accepts no filter.
fn install(calls: &[libc::c_long], listed: u32, others: u32) -> bool {
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let answer = libc::BPF_RET | libc::BPF_K;
    let mut steps = vec![step(load, [0, 0], 0)];
    for (number, &call) in calls.iter().enumerate() {
        // To the last step.
        let distance = (calls.len() - number) as u8;
        steps.push(step(equal, [distance, 0], call as u32));
    }
    steps.push(step(answer, [0, 0], others));
    steps.push(step(answer, [0, 0], listed));
    set(steps, 0) >= 0
}

/// Has the kernel run a filter on this thread's calls. Returns the listener if the flags ask for one, below 0 an error.
fn set(mut steps: Vec<libc::sock_filter>, flags: libc::c_ulong) -> libc::c_long {
    let program = libc::sock_fprog {
        len: steps.len() as u16,
        filter: steps.as_mut_ptr(),
    };
    // SAFETY: the program and its steps live for the call.
    let answer = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            flags,
            &raw const program,
        )
    };
    // The kernel has copied the program. To free it later could be a call that is forbidden.
    core::mem::forget(steps);
    answer
}
