//! A signal handler at every instruction of a piece of code.
//!
//! With the trap flag the CPU itself raises SIGTRAP after each instruction. What a timer hits once in a million reads
//! is hit here in each run. A step takes up to 1 ms in a virtual machine, so code that has blocked all signals runs at
//! full speed: no handler would run there.

use core::arch::asm;
use core::cell::Cell;
use core::ffi::{c_int, c_void};
use core::ptr;
use std::sync::Once;

const TRAP_FLAG: i64 = 0x100;

/// Sent by a thread to itself while it blocks all signals: it arrives when the thread unblocks them.
const UNBLOCKED: c_int = libc::SIGSTKFLT;

/// The action after a step.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The next step.
    Step,
    /// The rest of the code at full speed.
    Run,
}

struct Stepper<'a> {
    on_step: &'a mut dyn FnMut(usize) -> Next,
    steps: usize,
    /// The code has blocked all signals: no handler would run here.
    is_blocked: bool,
}

thread_local! {
    static STEPPER: Cell<*mut Stepper<'static>> = const { Cell::new(ptr::null_mut()) };
}

/// Runs `code` with `on_step` in a signal handler before each of its instructions that a signal could interrupt;
/// `on_step` is told the number of the step.
pub fn step<R>(on_step: &mut dyn FnMut(usize) -> Next, code: impl FnOnce() -> R) -> R {
    install();
    let mut stepper = Stepper {
        on_step,
        steps: 0,
        is_blocked: false,
    };
    let before = STEPPER.replace((&raw mut stepper).cast());
    // SAFETY: the flags keep their values but for the trap flag, whose handler is installed; the stack is as it was.
    unsafe { asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq") };
    let result = code();
    stop();
    STEPPER.set(before);
    result
}

/// Ends the stepping of this thread.
pub fn stop() {
    // SAFETY: the flags keep their values but for the trap flag; the stack is as it was.
    unsafe { asm!("pushfq", "and qword ptr [rsp], -0x101", "popfq") };
}

fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // SAFETY: all zeros is an empty sigaction; the handler has the type that SA_SIGINFO asks for.
        unsafe {
            let mut action: libc::sigaction = core::mem::zeroed();
            action.sa_sigaction = on_trap as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER | libc::SA_RESTART;
            // A handler may step through code itself.
            assert_eq!(libc::sigaction(libc::SIGTRAP, &action, ptr::null_mut()), 0);
            action.sa_sigaction = on_unblocked as *const () as usize;
            assert_eq!(libc::sigaction(UNBLOCKED, &action, ptr::null_mut()), 0);
        }
    });
}

unsafe extern "C" fn on_trap(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes the interrupted context, and `step` keeps the stepper alive while the flag is set; the
    // code it runs does not touch it.
    let (registers, stepper) = unsafe {
        let context = &mut *context.cast::<libc::ucontext_t>();
        (&mut context.uc_mcontext.gregs, &mut *STEPPER.get())
    };
    if stepper.is_blocked {
        registers[libc::REG_EFL as usize] &= !TRAP_FLAG;
        // SAFETY: a signal to this thread, which has a handler.
        unsafe { libc::raise(UNBLOCKED) };
        return;
    }
    // SAFETY: the registers belong to code about to run.
    unsafe { keep_traps_unblocked(registers, &mut stepper.is_blocked) };
    stepper.steps += 1;
    if (stepper.on_step)(stepper.steps) == Next::Run {
        registers[libc::REG_EFL as usize] &= !TRAP_FLAG;
    }
}

/// The code has unblocked signals: goes on with its steps.
unsafe extern "C" fn on_unblocked(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: as in `on_trap`.
    unsafe {
        if let Some(stepper) = STEPPER.get().as_mut() {
            stepper.is_blocked = false;
            let context = &mut *context.cast::<libc::ucontext_t>();
            context.uc_mcontext.gregs[libc::REG_EFL as usize] |= TRAP_FLAG;
        }
    }
}

/// The kernel ends a process that traps while it blocks traps. So where the code is about to block all signals, all
/// but this one.
///
/// # Safety
///
/// The next instruction, and what it points at if it is a system call, can be read; the signal mask that it sets can
/// be written.
unsafe fn keep_traps_unblocked(registers: &[libc::greg_t], is_blocked: &mut bool) {
    const SYSCALL: [u8; 2] = [0x0f, 0x05];
    let bit = |signal: c_int| 1u64 << (signal - 1);
    let register = |number: c_int| registers[number as usize];
    // SAFETY: the caller's promise.
    unsafe {
        let instruction = *(register(libc::REG_RIP) as *const [u8; 2]);
        let sets_mask = instruction == SYSCALL
            && register(libc::REG_RAX) == libc::SYS_rt_sigprocmask
            && register(libc::REG_RDI) == i64::from(libc::SIG_SETMASK);
        let mask = register(libc::REG_RSI) as *mut u64;
        if sets_mask && !mask.is_null() {
            *is_blocked = *mask & bit(libc::SIGTERM) != 0;
            *mask &= !bit(libc::SIGTRAP);
        }
    }
}
