//! Runs the program to its end, and passes on the signals that other processes send to this command.
//!
//! This command stays while the program runs: the pages of --report and --repeat go with it. Who stops or reloads a service
//! knows the number of this command alone, and must reach the program by it. So this command does not end before the
//! program, whatever the program does with the signal.

use libc::{
    SIGALRM, SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH,
    SIGXFSZ, siginfo_t, sigset_t,
};
use std::io;
use std::mem::zeroed;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::ptr::null_mut;

/// The signals that are passed on. Those that stop a process are not: they stop this command as any other.
const PASSED_ON: [i32; 9] = [
    SIGALRM, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH,
];

/// The signals that a terminal sends to this command and to the program at the same time. Where it comes from the kernel, the
/// program has it already.
const OF_A_TERMINAL: [i32; 4] = [SIGCONT, SIGINT, SIGQUIT, SIGWINCH];

/// Has a write beyond the largest size of a file (RLIMIT_FSIZE) fail, instead of ending this command by a signal. The program
/// gets the signal as this command did.
pub(super) fn outlive_size_limit(command: &mut Command) {
    // SAFETY: to ignore a signal runs no code.
    let before = unsafe { libc::signal(SIGXFSZ, libc::SIG_IGN) };
    let restore = move || {
        // SAFETY: the disposition of before, which is none of this command's functions.
        unsafe { libc::signal(SIGXFSZ, before) };
        Ok(())
    };
    // SAFETY: between fork and exec it makes one call, which a signal handler may make too.
    unsafe { command.pre_exec(restore) };
}

/// Starts the program and waits for its end.
pub(super) fn run(command: &mut Command) -> io::Result<ExitStatus> {
    let waited_for = wait_for_signals(command)?;
    let mut child = command.spawn()?;
    loop {
        let Some((signal, info)) = next_signal(&waited_for)? else {
            continue;
        };
        if signal != SIGCHLD {
            pass_on(signal, &info, &child);
        } else if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
    }
}

/// Blocks the signals, so that they wait for [`next_signal`], and has the program start without that.
///
/// A signal that this command was told to ignore stays ignored, here and in the program.
fn wait_for_signals(command: &mut Command) -> io::Result<sigset_t> {
    // SAFETY: an empty set is a valid value; every call gets pointers to sets and actions that are on the stack.
    let (set, before, of_children) = unsafe {
        let (mut set, mut before): (sigset_t, sigset_t) = (zeroed(), zeroed());
        // If the end of a child were ignored, the kernel would not keep its status.
        let of_children = libc::signal(SIGCHLD, libc::SIG_DFL);
        libc::sigaddset(&raw mut set, SIGCHLD);
        for signal in PASSED_ON {
            let mut action: libc::sigaction = zeroed();
            libc::sigaction(signal, null_mut(), &raw mut action);
            if action.sa_sigaction != libc::SIG_IGN {
                libc::sigaddset(&raw mut set, signal);
            }
        }
        match libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, &raw mut before) {
            0 => (set, before, of_children),
            error => return Err(io::Error::from_raw_os_error(error)),
        }
    };
    let restore = move || {
        // SAFETY: neither call runs code of this command: what it blocked was not handled, and the disposition was
        // there before this command started.
        unsafe {
            libc::signal(SIGCHLD, of_children);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, null_mut());
        }
        Ok(())
    };
    // SAFETY: between fork and exec it makes two calls, which a signal handler may make too.
    unsafe { command.pre_exec(restore) };
    Ok(set)
}

/// Waits for the next signal. `None` if a stop and a continuation interrupted the wait.
fn next_signal(waited_for: &sigset_t) -> io::Result<Option<(i32, siginfo_t)>> {
    // SAFETY: both pointers are to values of the right type, and zeros are a valid `siginfo_t`.
    let (signal, info) = unsafe {
        let mut info: siginfo_t = zeroed();
        (libc::sigwaitinfo(waited_for, &raw mut info), info)
    };
    if signal > 0 {
        return Ok(Some((signal, info)));
    }
    match io::Error::last_os_error() {
        error if error.kind() == io::ErrorKind::Interrupted => Ok(None),
        error => Err(error),
    }
}

/// Sends the program a signal that came to this command.
fn pass_on(signal: i32, info: &siginfo_t, child: &Child) {
    let program = child.id() as i32;
    let is_from_kernel = info.si_code > 0;
    // SAFETY: a signal that a process sent has the number of its sender.
    let is_from_program = !is_from_kernel && unsafe { info.si_pid() } == program;
    if is_from_program || is_from_kernel && OF_A_TERMINAL.contains(&signal) {
        return;
    }
    // SAFETY: it has no pointers. The program was not waited for, so no other process has its number. It may have ended.
    unsafe { libc::kill(program, signal) };
}
