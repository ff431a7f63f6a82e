//! Calls to guests, and a way out of a call that waits.
//!
//! A call is a write to an eventfd, which waits while its counter is full. A call is made only when there is room, but
//! the other end may fill the counter in between, and would stop the thread that serves all guests. So another thread
//! looks once a second whether a call takes longer than that, and interrupts it by a signal.

use crate::process::signals::{signal_thread, this_thread};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::OnceLock;

/// The signal that interrupts a call. Its handler does nothing.
const SIGNAL: libc::c_int = libc::SIGUSR2;

/// The calls of one thread.
#[derive(Debug, Default)]
pub(super) struct GuestCalls {
    thread: OnceLock<libc::pid_t>,
    /// Odd during a call; each call adds 2.
    calls: AtomicU64,
    /// The number of calls when [`Self::interrupt_if_stuck`] looked last.
    seen: AtomicU64,
}

extern "C" fn ignore(_signal: libc::c_int) {}

impl GuestCalls {
    /// Makes this thread the one that calls.
    pub(super) fn answer_here(&self) -> io::Result<()> {
        // SAFETY: an action of zeros is one without flags: no SA_RESTART, so that the signal ends a wait. The handler
        // has the type of a handler without SA_SIGINFO.
        unsafe {
            let mut action: libc::sigaction = core::mem::zeroed();
            libc::sigemptyset(&raw mut action.sa_mask);
            action.sa_sigaction = ignore as *const () as usize;
            if libc::sigaction(SIGNAL, &raw const action, core::ptr::null_mut()) != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        let _ = self.thread.set(this_thread());
        Ok(())
    }

    /// Tells a guest that requests are completed. Returns `false` if that had to be interrupted. If the counter is full,
    /// the guest was told often enough.
    pub(super) fn call(&self, guest: BorrowedFd<'_>) -> bool {
        let now = Timespec::default();
        let mut polled = [PollFd::from_borrowed_fd(guest, PollFlags::OUT)];
        let has_room =
            poll(&mut polled, Some(&now)) == Ok(1) && polled[0].revents().contains(PollFlags::OUT);
        !has_room || self.write(guest)
    }

    fn write(&self, guest: BorrowedFd<'_>) -> bool {
        self.calls.fetch_add(1, Relaxed);
        let written = rustix::io::write(guest, &1_u64.to_ne_bytes());
        self.calls.fetch_add(1, Relaxed);
        written.is_ok()
    }

    /// Interrupts a call that was under way at the last look already. Called about once a second, while the thread of
    /// that calls runs.
    pub(super) fn interrupt_if_stuck(&self) {
        let calls = self.calls.load(Relaxed);
        let is_stuck = calls % 2 == 1 && self.seen.swap(calls, Relaxed) == calls;
        if let Some(thread) = self.thread.get().filter(|_| is_stuck) {
            signal_thread(*thread, SIGNAL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::sandbox::restrict_calls;
    use rustix::event::{EventfdFlags, eventfd};
    use std::os::fd::AsFd;
    use std::sync::Arc;
    use std::time::Duration;

    #[test]
    fn a_call_that_waits_is_interrupted_and_a_full_counter_is_not_called() {
        restrict_calls().unwrap();
        let full = eventfd(0, EventfdFlags::empty()).unwrap();
        rustix::io::write(&full, &(u64::MAX - 1).to_ne_bytes()).unwrap();
        let calls = Arc::new(GuestCalls::default());
        assert!(calls.call(full.as_fd()), "it waited for room");
        let caller = calls.clone();
        let thread = std::thread::spawn(move || {
            caller.answer_here().unwrap();
            // As if the counter had become full after the look at it.
            caller.write(full.as_fd())
        });
        while !thread.is_finished() {
            calls.interrupt_if_stuck();
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(!thread.join().unwrap());
    }
}
