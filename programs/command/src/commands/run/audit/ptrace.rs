//! ptrace(2): stops of the program, its registers and its memory.

use libc::{c_int, c_long, pid_t, user_regs_struct};
use std::fs::{File, OpenOptions};
use std::io;
use std::mem::zeroed;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::ptr::{null_mut, without_provenance_mut};

/// Forks, threads and exec stop the program; it ends if this command ends.
const OPTIONS: c_int = libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEEXEC
    | libc::PTRACE_O_EXITKILL;

/// The reason why a thread is stopped, or that it ended.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stop {
    Ended(ExitStatus),
    /// It made another one, of this number.
    Forked(pid_t),
    Executed,
    /// At the start of a system call, with its number and first three arguments.
    Call([u64; 4]),
    /// At its end.
    Return,
    /// After one instruction, or in a breakpoint.
    Trap,
    Signal(c_int),
}

/// Starts the program, which stops after its exec. Returns its number.
pub(super) fn spawn(command: &mut Command) -> io::Result<pid_t> {
    // SAFETY: between fork and exec it makes one system call without pointers.
    unsafe { command.pre_exec(|| result(libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0))) };
    let child = command.spawn()?;
    // Ctrl-C reaches the program as well, which decides.
    for signal in [libc::SIGINT, libc::SIGQUIT] {
        // SAFETY: no function of this command is called.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    Ok(child.id() as pid_t)
}

/// Waits for the next stop of any thread. `None` when all have ended.
pub(super) fn next_stop() -> io::Result<Option<(pid_t, Stop)>> {
    let mut status = 0;
    // SAFETY: the pointer is to a number on the stack.
    let thread = match unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL) } {
        -1 => match io::Error::last_os_error() {
            error if error.raw_os_error() == Some(libc::ECHILD) => return Ok(None),
            error => return Err(error),
        },
        thread => thread,
    };
    if !libc::WIFSTOPPED(status) {
        return Ok(Some((thread, Stop::Ended(ExitStatus::from_raw(status)))));
    }
    let stop = match (libc::WSTOPSIG(status), status >> 16) {
        (_, libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE) => {
            let mut new: c_long = 0;
            // SAFETY: the thread is stopped, and the pointer is to a number on the stack.
            let got = unsafe {
                libc::ptrace(
                    libc::PTRACE_GETEVENTMSG,
                    thread,
                    null_mut::<u8>(),
                    &raw mut new,
                )
            };
            // It may have been killed, by another thread that ends the program: its end comes next.
            result(got).map_or(Stop::Return, |()| Stop::Forked(new as pid_t))
        }
        (_, libc::PTRACE_EVENT_EXEC) => Stop::Executed,
        (signal, _) if signal == libc::SIGTRAP | 0x80 => system_call(thread),
        (libc::SIGTRAP, _) => Stop::Trap,
        (signal, _) => Stop::Signal(signal),
    };
    Ok(Some((thread, stop)))
}

/// The system call at whose start or end a thread is stopped.
fn system_call(thread: pid_t) -> Stop {
    const START: u8 = 1;
    // SAFETY: zeros are valid, and the kernel writes no more than the length that it gets.
    let info = unsafe {
        let mut info: libc::ptrace_syscall_info = zeroed();
        let length = without_provenance_mut::<u8>(size_of_val(&info));
        libc::ptrace(libc::PTRACE_GET_SYSCALL_INFO, thread, length, &raw mut info);
        info
    };
    if info.op != START {
        return Stop::Return;
    }
    // SAFETY: the kernel says that this is a start.
    let entry = unsafe { info.u.entry };
    Stop::Call([entry.nr, entry.args[0], entry.args[1], entry.args[2]])
}

/// Lets a thread go on to its next system call, or for one instruction, with a signal or 0. It may have been killed.
pub(super) fn go_on(thread: pid_t, is_step: bool, signal: c_int) {
    let request = if is_step {
        libc::PTRACE_SINGLESTEP
    } else {
        libc::PTRACE_SYSCALL
    };
    let signal = without_provenance_mut::<u8>(signal as usize);
    // SAFETY: both requests take no pointer.
    unsafe { libc::ptrace(request, thread, null_mut::<u8>(), signal) };
}

/// Sets what stops the threads of the program, which is stopped.
pub(super) fn set_options(thread: pid_t) {
    let options = without_provenance_mut::<u8>(OPTIONS as usize);
    // SAFETY: the request takes no pointer.
    unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, thread, null_mut::<u8>(), options) };
}

/// The registers of a stopped thread; `None` if it was killed.
pub(super) fn registers(thread: pid_t) -> Option<user_regs_struct> {
    // SAFETY: zeros are valid, and the pointer is to registers on the stack.
    unsafe {
        let mut registers: user_regs_struct = zeroed();
        let to = &raw mut registers;
        result(libc::ptrace(
            libc::PTRACE_GETREGS,
            thread,
            null_mut::<u8>(),
            to,
        ))
        .ok()?;
        Some(registers)
    }
}

pub(super) fn set_registers(thread: pid_t, registers: &user_regs_struct) {
    // SAFETY: the pointer is to registers, which the kernel reads.
    unsafe { libc::ptrace(libc::PTRACE_SETREGS, thread, null_mut::<u8>(), registers) };
}

/// The memory of a process: reads and writes at addresses, also where the process itself cannot write.
pub(super) fn memory(thread: pid_t) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    options.open(format!("/proc/{thread}/mem"))
}

fn result(value: c_long) -> io::Result<()> {
    match value {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
