//! seccomp filters: which system calls a thread may make, and how a forbidden one ends.

use std::os::unix::process::CommandExt;
use std::process::Command;

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
    /// The place of the arguments in the kernel's `struct seccomp_data`.
    const ARGUMENTS_OFFSET: u32 = 16;
    let low_half = if cfg!(target_endian = "little") { 0 } else { 4 };
    let place = ARGUMENTS_OFFSET + 8 * argument + low_half;
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let answer = libc::BPF_RET | libc::BPF_K;
    set(vec![
        step(load, [0, 0], 0),
        step(equal, [0, 3], call as u32),
        step(load, [0, 0], place),
        step(equal, [0, 1], value),
        step(answer, [0, 0], how.action()),
        step(answer, [0, 0], libc::SECCOMP_RET_ALLOW),
    ])
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
pub fn refuse_random() -> std::io::Result<()> {
    refuse(libc::SYS_getrandom, libc::EPERM)
}

/// Has getrandom(2) fail from now on where it is called without waiting, as engines call it: OpenSSL still gets the system's
/// seed.
///
/// # Errors
///
/// The system accepts no filter.
pub fn refuse_random_to_engines() -> std::io::Result<()> {
    let how = Forbidden::Fails(libc::EPERM);
    if forbid_argument(libc::SYS_getrandom, 2, libc::GRND_NONBLOCK, how) {
        Ok(())
    } else {
        Err(std::io::Error::last_os_error())
    }
}

/// Has madvise(2) fail from now on, so that no memory is wiped in a child.
///
/// # Errors
///
/// The system accepts no filter.
pub fn refuse_advice() -> std::io::Result<()> {
    refuse(libc::SYS_madvise, libc::EINVAL)
}

fn refuse(call: libc::c_long, error: i32) -> std::io::Result<()> {
    if forbid(&[call], Forbidden::Fails(error)) {
        Ok(())
    } else {
        Err(std::io::Error::last_os_error())
    }
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
    set(steps)
}

/// Has the kernel run a filter on this thread's calls.
fn set(mut steps: Vec<libc::sock_filter>) -> bool {
    let program = libc::sock_fprog {
        len: steps.len() as u16,
        filter: steps.as_mut_ptr(),
    };
    // SAFETY: the program and its steps live for the call.
    let answer = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::prctl(
            libc::PR_SET_SECCOMP,
            libc::SECCOMP_MODE_FILTER,
            &raw const program,
        )
    };
    // The kernel has copied the program. To free it later could be a call that is forbidden.
    core::mem::forget(steps);
    answer == 0
}
