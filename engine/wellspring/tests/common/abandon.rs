//! Code that is abandoned at one of its instructions, as by siglongjmp from a signal handler.

use super::stepping::{self, Next, step};
use core::cell::Cell;
use core::ptr;

/// The context that a handler jumps to instead of returning, and the context of the code.
struct Contexts {
    back: libc::ucontext_t,
    abandoned: libc::ucontext_t,
    stack: Vec<u8>,
}

struct Work<'a> {
    code: Cell<Option<&'a mut dyn FnMut()>>,
    number: usize,
    back: *const libc::ucontext_t,
    ended: Cell<bool>,
}

thread_local! {
    static WORK: Cell<*const Work<'static>> = const { Cell::new(ptr::null()) };
}

/// Runs `code` on its own stack and abandons it at its step `number`, like siglongjmp from the handler. Returns whether
/// it had ended before.
pub(crate) fn abandon(number: usize, code: &mut dyn FnMut()) -> bool {
    // SAFETY: all zeros is a value of it, which the calls below fill in before they use it.
    let unset = || unsafe { core::mem::zeroed() };
    let mut contexts = Box::new(Contexts {
        back: unset(),
        abandoned: unset(),
        stack: vec![0; 256 << 10],
    });
    let work = Work {
        code: Cell::new(Some(code)),
        number,
        back: &raw const contexts.back,
        ended: Cell::new(false),
    };
    WORK.set((&raw const work).cast());
    // SAFETY: the contexts live until the swap returns, which it does once: when `run` goes back.
    unsafe {
        assert_eq!(libc::getcontext(&raw mut contexts.abandoned), 0);
        contexts.abandoned.uc_stack.ss_sp = contexts.stack.as_mut_ptr().cast();
        contexts.abandoned.uc_stack.ss_size = contexts.stack.len();
        libc::makecontext(&raw mut contexts.abandoned, run, 0);
        libc::swapcontext(&raw mut contexts.back, &raw const contexts.abandoned);
    }
    stepping::stop();
    work.ended.get()
}

extern "C" fn run() {
    // SAFETY: `abandon` set it and waits.
    let work = unsafe { &*WORK.get() };
    let mut leave = |number: usize| {
        if number == work.number {
            // SAFETY: the context was saved by the swap that runs this.
            unsafe { libc::setcontext(work.back) };
        }
        Next::Step
    };
    if let Some(code) = work.code.take() {
        step(&mut leave, code);
    }
    work.ended.set(true);
    // SAFETY: as above.
    unsafe { libc::setcontext(work.back) };
}
