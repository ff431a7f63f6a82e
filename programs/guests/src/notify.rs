//! Everything that the service sends to the other end: calls to guests, a way out of a call that waits, and answers without
//! sendmsg(2).
//!
//! A call is a write to an eventfd, which waits while its counter is full. A call is made only when there is room, but
//! the other end may fill the counter in between, and would stop the thread that serves all guests. So another thread
//! looks once a second whether a call takes longer than that, and interrupts it by a signal.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use libc::{c_int, msghdr, ssize_t};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::OnceLock;
use wellspring_service_core::process::{signal_thread, this_thread};

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
    /// Makes this thread the caller, and lets the signal interrupt its calls.
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

    /// Notifies a guest that requests are completed. Returns `false` if that had to be interrupted. If the counter is full,
    /// the guest has enough notifications.
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

// Answers to hypervisors, without sendmsg(2).
//
// The crate `vhost` answers by sendmsg(2), also where no descriptor goes with an answer. The sandbox refuses that call: its
// arguments are in memory, where a filter does not see them. An attacker inside could hand out the listening sockets, send
// to any socket that has a name, and connect by TCP (MSG_FASTOPEN). So the program has a sendmsg of its own, which the
// linker prefers to the C library's. It uses writev(2) where that is enough; the rest is the kernel's to refuse.

/// sendmsg(2). A broken connection raises no SIGPIPE: Rust's runtime ignores that signal.
///
/// # Safety
///
/// The message and all that it points to are valid, as for the C library's function.
#[unsafe(no_mangle)]
unsafe extern "C" fn sendmsg(socket: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
    // SAFETY: the caller's promise.
    let parts = unsafe { &*message };
    let is_plain = parts.msg_name.is_null() && parts.msg_control.is_null();
    if is_plain && flags == libc::MSG_NOSIGNAL {
        // SAFETY: the caller's promise for the parts. C libraries have their number as an int or as a size.
        return unsafe { libc::writev(socket, parts.msg_iov, parts.msg_iovlen as c_int) };
    }
    // SAFETY: the caller's promise.
    unsafe { libc::syscall(libc::SYS_sendmsg, socket, message, flags) as ssize_t }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{EventfdFlags, eventfd};
    use std::io::{ErrorKind, Read};
    use std::os::fd::{AsFd, AsRawFd};
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;
    use std::time::Duration;
    use vmm_sys_util::sock_ctrl_msg::ScmSocket;
    use wellspring_service_core::sandbox::restrict_calls;

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

    /// By the trait that the crate `vhost` uses.
    #[test]
    fn in_the_sandbox_answers_arrive_and_descriptors_do_not() {
        let (mut client, service) = UnixStream::pair().unwrap();
        let sent = std::thread::spawn(move || {
            restrict_calls().unwrap();
            let parts: [&[u8]; 2] = [b"head", b"body"];
            let sent = service.send_with_fds(&parts, &[]).unwrap();
            let refused = service.send_with_fds(&parts, &[service.as_raw_fd()]);
            (sent, std::io::Error::from(refused.unwrap_err()).kind())
        });
        assert_eq!(sent.join().unwrap(), (8, ErrorKind::PermissionDenied));
        let mut bytes = Vec::new();
        client.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, b"headbody");
    }
}
