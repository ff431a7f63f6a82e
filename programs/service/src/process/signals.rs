//! SIGHUP, SIGUSR1, SIGTERM and SIGINT as a descriptor for poll(2), and signals to threads of this process.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

/// The order that a signal gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// SIGHUP: read the configuration again.
    Reload,
    /// SIGUSR1: change the generation, so that all processes take new keys.
    Diverge,
    /// SIGTERM, SIGINT: end.
    End,
}

const SIGNALS: [(libc::c_int, Order); 4] = [
    (libc::SIGHUP, Order::Reload),
    (libc::SIGUSR1, Order::Diverge),
    (libc::SIGTERM, Order::End),
    (libc::SIGINT, Order::End),
];

/// The kernel's number of this thread.
pub(crate) fn this_thread() -> libc::pid_t {
    // SAFETY: it takes nothing and cannot fail.
    unsafe { libc::gettid() }
}

/// Signals a thread of this process by tgkill(2), which names the process. abort(3) and pthread_kill(3) of musl use tkill(2),
/// which does not, so that the sandbox refuses it.
pub(crate) fn signal_thread(thread: libc::pid_t, signal: libc::c_int) {
    // SAFETY: the arguments are numbers. If there is no such thread the kernel says so.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, signal) };
}

/// The signals, blocked in this thread and in all that it starts.
#[derive(Debug)]
pub(crate) struct Signals(OwnedFd);

impl Signals {
    /// Blocks the signals. Call it before any other thread starts.
    pub(crate) fn block() -> io::Result<Self> {
        // SAFETY: sigemptyset fills the set before it is read; the descriptor is new, and this alone owns it.
        unsafe {
            let mut set = core::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            for (signal, _) in SIGNALS {
                libc::sigaddset(&raw mut set, signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, core::ptr::null_mut());
            match libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
                -1 => Err(io::Error::last_os_error()),
                descriptor => Ok(Self(OwnedFd::from_raw_fd(descriptor))),
            }
        }
    }

    /// The next order, without waiting for one.
    pub(crate) fn next(&self) -> Option<Order> {
        let mut signal = [0; size_of::<libc::signalfd_siginfo>()];
        let length = rustix::io::read(&self.0, &mut signal).ok()?;
        if length != signal.len() {
            return None;
        }
        // The first field is the signal's number.
        let number = i32::from_ne_bytes([signal[0], signal[1], signal[2], signal[3]]);
        let found = SIGNALS.into_iter().find(|(one, _)| *one == number);
        found.map(|(_, order)| order)
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
