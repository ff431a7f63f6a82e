//! Makes a chosen system call of a traced process fail.

use crate::process::run_and_exit;
use core::ptr;
use libc::{c_long, pid_t};
use std::collections::HashMap;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// A call that does not exist: from here on, and until the next one, the calling thread's calls are counted.
const MARKER: c_long = 100_000;

/// Another one: from here on, and until the next one, the calling thread may make no call.
const SILENCE: c_long = 100_001;

/// Another one: the calling thread may make calls from here on, and until the next one, but not after each of them.
const SILENCE_ONCE: c_long = 100_002;

/// Which of the counted calls fails, and how: `choose` gets the number of each.
pub type Choose<'a> = &'a mut dyn FnMut(c_long) -> Option<i32>;

/// Runs `work` with its system calls counted, and made to fail as the tracer says.
pub fn counted<R>(work: impl FnOnce() -> R) -> R {
    begin_or_end_counting();
    let result = work();
    begin_or_end_counting();
    result
}

/// The calling thread's calls are counted from here on, or not any more.
pub fn begin_or_end_counting() {
    // SAFETY: there is no such call.
    unsafe { libc::syscall(MARKER) };
}

/// Runs `work`, which must make no system call.
pub fn silent(work: impl FnOnce()) {
    // SAFETY: there is no such call.
    unsafe { libc::syscall(SILENCE) };
    work();
    // SAFETY: as above.
    unsafe { libc::syscall(SILENCE) };
}

/// Runs `prepare` and `work` 50 times. At least one `work` must make no system call: any read may have to make a step of a
/// harvest, and on a slow machine these come often.
pub fn silent_once<T>(with: &mut T, prepare: impl Fn(&mut T), work: impl Fn(&mut T)) {
    for _ in 0..50 {
        prepare(with);
        // SAFETY: there is no such call.
        unsafe { libc::syscall(SILENCE_ONCE) };
        work(with);
        // SAFETY: as above.
        unsafe { libc::syscall(SILENCE_ONCE) };
    }
}

/// How a traced process ended.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// All went well in it and in its children.
    Good,
    /// It or a child of it ended with this status, as wait(2) writes it.
    Bad(i32),
    /// It made this call where it had to make none.
    NotSilent(c_long),
    /// It made more calls than any run makes.
    Endless,
    /// Tracing is not permitted here.
    Untraceable,
}

const MAX_STOPS: usize = 100_000;

/// A traced process that runs for longer hangs: it is killed, which is a bad end.
const TRACEE_TIME: Duration = Duration::from_secs(180);

/// The tracer's notes on a process or thread.
#[derive(Default)]
struct Tracee {
    is_counted: bool,
    is_silent: bool,
    /// The first call after the last `SILENCE_ONCE` that began a piece of work, and whether one piece made none.
    first_call: Option<c_long>,
    is_in_piece: bool,
    was_silent: bool,
    /// Whether it is in a call.
    is_inside: bool,
    /// The result that the tracer gives to the call that it is in, if any.
    answer: Option<i32>,
}

/// Runs a program that is traced. The child is made by fork(3), and has nothing to allocate before it becomes the program: after
/// a raw clone(2) it would wait without end for a lock of malloc(3) that another thread held.
pub fn run_program(command: &mut Command, choose: Choose<'_>) -> End {
    let ask = || {
        // SAFETY: asks to be traced by the parent, which waits for the stop that execve(2) makes then.
        let error = unsafe {
            libc::setpgid(0, 0);
            libc::ptrace(libc::PTRACE_TRACEME, 0, ptr::null_mut::<u8>(), 0)
        };
        if error == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    };
    // SAFETY: between fork and exec it makes two system calls.
    unsafe { command.pre_exec(ask) };
    match command.spawn() {
        Ok(child) => trace(child.id() as pid_t, choose),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS)) => {
            End::Untraceable
        }
        Err(error) => panic!("{command:?}: {error}"),
    }
}

/// Runs `work` in a traced child, a raw copy of the calling thread: no other thread may allocate meanwhile.
pub fn run(work: impl FnOnce(), choose: Choose<'_>) -> End {
    let pid = match crate::process::Fork::RawClone.call() {
        0 => run_and_exit(|| {
            // SAFETY: asks to be traced by the parent, which waits for the stop.
            unsafe {
                libc::setpgid(0, 0);
                if libc::ptrace(libc::PTRACE_TRACEME, 0, ptr::null_mut::<u8>(), 0) != 0 {
                    libc::_exit(0);
                }
                libc::raise(libc::SIGSTOP);
            }
            work();
        }),
        pid => pid,
    };
    trace(pid, choose)
}

/// Traces a child that stops, from its first stop on.
fn trace(pid: pid_t, choose: Choose<'_>) -> End {
    let mut status = 0;
    // SAFETY: the pointer is to the status, and the child is ours.
    unsafe { libc::waitpid(pid, &raw mut status, 0) };
    if !libc::WIFSTOPPED(status) {
        return End::Untraceable;
    }
    let options = libc::PTRACE_O_TRACESYSGOOD
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_EXITKILL;
    // SAFETY: the child is stopped and ours to trace.
    unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, pid, 0, c_long::from(options)) };
    resume(pid, 0);
    let (end, ended) = channel::<()>();
    let watch = thread::spawn(move || {
        if ended.recv_timeout(TRACEE_TIME) == Err(RecvTimeoutError::Timeout) {
            // SAFETY: the group is ours until `follow` has returned, and then `end` is gone.
            unsafe { libc::kill(-pid, libc::SIGKILL) };
        }
    });
    let result = follow(pid, choose);
    drop(end);
    // The next child must not be a copy of this process while the thread frees its memory.
    watch.join().expect("a watch does not panic");
    result
}

/// Follows a process and all that it makes to their ends.
fn follow(first: pid_t, choose: Choose<'_>) -> End {
    let mut tracees = HashMap::from([(first, Tracee::default())]);
    let (mut stops, mut end) = (0, End::Good);
    while !tracees.is_empty() {
        let mut status = 0;
        // SAFETY: the pointer is to the status; the group has what this function traces alone.
        let pid = unsafe { libc::waitpid(-first, &raw mut status, libc::__WALL) };
        if pid < 0 {
            break;
        }
        if !libc::WIFSTOPPED(status) {
            let tracee = tracees.remove(&pid).unwrap_or_default();
            if status != 0 && end == End::Good {
                end = End::Bad(status);
            }
            if let (Some(call), false) = (tracee.first_call, tracee.was_silent) {
                end = End::NotSilent(call);
            }
            continue;
        }
        stops += 1;
        if stops > MAX_STOPS {
            // SAFETY: the group is ours.
            unsafe { libc::kill(-first, libc::SIGKILL) };
            end = End::Endless;
        }
        let tracee = tracees.entry(pid).or_default();
        let signal = libc::WSTOPSIG(status);
        if signal == libc::SIGTRAP | 0x80 {
            if let Some(call) = stop_at_call(pid, tracee, choose) {
                end = End::NotSilent(call);
            }
            resume(pid, 0);
        } else if [libc::SIGSTOP, libc::SIGTRAP].contains(&signal) {
            // It is new, or made a new one.
            resume(pid, 0);
        } else {
            resume(pid, signal);
        }
    }
    end
}

fn resume(pid: pid_t, signal: i32) {
    // SAFETY: the child is stopped and ours to trace.
    unsafe { libc::ptrace(libc::PTRACE_SYSCALL, pid, 0, c_long::from(signal)) };
}

/// A call begins or ends. Returns a call that was to be silent.
fn stop_at_call(pid: pid_t, tracee: &mut Tracee, choose: Choose<'_>) -> Option<c_long> {
    let mut registers = Registers::of(pid);
    tracee.is_inside = !tracee.is_inside;
    if tracee.is_inside {
        let call = registers.call();
        if call == MARKER {
            tracee.is_counted = !tracee.is_counted;
        } else if call == SILENCE {
            tracee.is_silent = !tracee.is_silent;
        } else if call == SILENCE_ONCE {
            tracee.was_silent |= tracee.is_in_piece && tracee.first_call.is_none();
            tracee.is_in_piece = !tracee.is_in_piece;
            if tracee.is_in_piece {
                tracee.first_call = None;
            }
        } else if tracee.is_in_piece {
            tracee.first_call.get_or_insert(call);
        } else if tracee.is_silent {
            return Some(call);
        } else if tracee.is_counted {
            tracee.answer = choose(call);
        }
        tracee.answer?;
        registers.make_no_call();
    } else {
        registers.answer(-tracee.answer.take()?);
    }
    None
}

/// The registers of a stopped thread.
pub struct Registers {
    pid: pid_t,
    words: libc::user_regs_struct,
}

#[cfg(target_arch = "x86_64")]
impl Registers {
    /// Reads them.
    #[must_use]
    pub fn of(pid: pid_t) -> Self {
        // SAFETY: all zeros is a value of the registers, which the call fills in; the child is stopped.
        let words = unsafe {
            let mut words: libc::user_regs_struct = core::mem::zeroed();
            libc::ptrace(libc::PTRACE_GETREGS, pid, 0, &raw mut words);
            words
        };
        Self { pid, words }
    }

    /// The number of the system call.
    #[must_use]
    pub fn call(&self) -> c_long {
        self.words.orig_rax as c_long
    }

    fn make_no_call(&mut self) {
        self.words.orig_rax = u64::MAX;
        self.set();
    }

    fn answer(&mut self, answer: i32) {
        self.words.rax = i64::from(answer) as u64;
        self.set();
    }

    fn set(&self) {
        // SAFETY: the child is stopped, and it had these registers.
        unsafe { libc::ptrace(libc::PTRACE_SETREGS, self.pid, 0, &raw const self.words) };
    }
}

#[cfg(target_arch = "aarch64")]
impl Registers {
    /// Reads them.
    #[must_use]
    pub fn of(pid: pid_t) -> Self {
        // SAFETY: all zeros is a value of the registers.
        let mut words: libc::user_regs_struct = unsafe { core::mem::zeroed() };
        transfer(pid, libc::PTRACE_GETREGSET, libc::NT_PRSTATUS, &mut words);
        Self { pid, words }
    }

    /// The number of the system call.
    #[must_use]
    pub fn call(&self) -> c_long {
        self.words.regs[8] as c_long
    }

    fn make_no_call(&mut self) {
        /// From the kernel's `linux/elf.h`: the number of the call, which is no register any more when a call begins.
        const NT_ARM_SYSTEM_CALL: libc::c_int = 0x404;
        transfer(
            self.pid,
            libc::PTRACE_SETREGSET,
            NT_ARM_SYSTEM_CALL,
            &mut -1i32,
        );
    }

    fn answer(&mut self, answer: i32) {
        self.words.regs[0] = i64::from(answer) as u64;
        transfer(
            self.pid,
            libc::PTRACE_SETREGSET,
            libc::NT_PRSTATUS,
            &mut self.words,
        );
    }
}

/// Reads or writes a set of registers, which `T` has the form of.
#[cfg(target_arch = "aarch64")]
fn transfer<T>(pid: pid_t, request: libc::c_uint, set: libc::c_int, value: &mut T) {
    let mut place = libc::iovec {
        iov_base: (&raw mut *value).cast(),
        iov_len: size_of::<T>(),
    };
    // SAFETY: the child is stopped; the set has no more bytes than the value.
    unsafe { libc::ptrace(request, pid, c_long::from(set), &raw mut place) };
}
