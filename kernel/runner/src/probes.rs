//! Calls that no well-behaved program makes, as the kernel sees them: addresses and lengths are numbers here, so that
//! they can be wrong.

use rustix::fd::{AsRawFd, BorrowedFd};
use std::ffi::c_void;
use std::ptr::{self, null_mut};
use std::{fmt, io};

/// The result of a system call: a number, or the name of an error.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Returned(pub(crate) Result<i64, i32>);

impl Returned {
    fn new(returned: i64) -> Self {
        match returned {
            -1 => Self(Err(io::Error::last_os_error().raw_os_error().unwrap_or(0))),
            number => Self(Ok(number)),
        }
    }
}

impl fmt::Display for Returned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Ok(number) => write!(f, "{number}"),
            Err(error) => write!(f, "{}", io::Error::from_raw_os_error(error)),
        }
    }
}

pub(crate) fn read(file: BorrowedFd<'_>, address: usize, length: usize) -> Returned {
    let address = ptr::without_provenance_mut::<c_void>(address);
    // SAFETY: the callers give addresses of their own memory, to which nothing else refers, or unmapped addresses, which
    // the kernel refuses.
    Returned::new(unsafe { libc::read(file.as_raw_fd(), address, length) } as i64)
}

pub(crate) fn write(file: BorrowedFd<'_>, address: usize, length: usize) -> Returned {
    let address = ptr::without_provenance::<c_void>(address);
    // SAFETY: the kernel reads from the address or refuses it.
    Returned::new(unsafe { libc::write(file.as_raw_fd(), address, length) } as i64)
}

/// Reads into the same memory 1024 times by one vector: 1024 times its length, without so much memory.
pub(crate) fn read_again_and_again(file: BorrowedFd<'_>, memory: &mut [u8]) -> Returned {
    const MOST: usize = 1024;
    let piece = libc::iovec {
        iov_base: memory.as_mut_ptr().cast(),
        iov_len: memory.len(),
    };
    let vector = [piece; MOST];
    // SAFETY: every piece is all of `memory`, which is ours alone; any bytes are a value of it.
    let returned = unsafe { libc::readv(file.as_raw_fd(), vector.as_ptr(), MOST as i32) };
    Returned::new(returned as i64)
}

/// A read that must not wait, at no position.
pub(crate) fn read_at_once(file: BorrowedFd<'_>, memory: &mut [u8]) -> Returned {
    let piece = libc::iovec {
        iov_base: memory.as_mut_ptr().cast(),
        iov_len: memory.len(),
    };
    // SAFETY: the piece is all of `memory`, which is ours alone.
    let returned = unsafe { libc::preadv2(file.as_raw_fd(), &piece, 1, -1, libc::RWF_NOWAIT) };
    Returned::new(returned as i64)
}

/// Any number, any argument. The callers' arguments are addresses of memory that is large enough for this number, or
/// unmapped addresses.
pub(crate) fn control(file: BorrowedFd<'_>, number: u64, argument: usize) -> Returned {
    // SAFETY: as said above.
    let returned = unsafe { libc::ioctl(file.as_raw_fd(), number as _, argument) };
    Returned::new(returned.into())
}

pub(crate) fn seek(file: BorrowedFd<'_>, offset: i64) -> Returned {
    // SAFETY: has no memory in its arguments.
    Returned::new(unsafe { libc::lseek64(file.as_raw_fd(), offset, libc::SEEK_SET) })
}

/// Whether the file can be mapped; what could be is unmapped at once.
pub(crate) fn map(file: BorrowedFd<'_>) -> Returned {
    // SAFETY: the kernel chooses the address; nothing refers to what is there.
    let address = unsafe {
        libc::mmap(
            null_mut(),
            4096,
            libc::PROT_READ,
            libc::MAP_PRIVATE,
            file.as_raw_fd(),
            0,
        )
    };
    if address == libc::MAP_FAILED {
        return Returned::new(-1);
    }
    // SAFETY: it was mapped above, and nothing refers to it.
    Returned::new(unsafe { libc::munmap(address, 4096) }.into())
}

/// Memory whose first pages alone can be written to: accessible pages, and behind them pages without access.
pub(crate) struct Cliff {
    address: usize,
    length: usize,
}

impl Cliff {
    pub(crate) fn new(good: usize, bad: usize, protection: i32) -> io::Result<Self> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: fresh memory where the kernel has room.
        let start = unsafe { libc::mmap(null_mut(), good + bad, libc::PROT_NONE, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let cliff = Self {
            address: start as usize,
            length: good + bad,
        };
        // SAFETY: a part of what was mapped above, to which nothing refers.
        if good == 0 || unsafe { libc::mprotect(start, good, protection) } == 0 {
            Ok(cliff)
        } else {
            Err(io::Error::last_os_error())
        }
    }

    pub(crate) fn address(&self) -> usize {
        self.address
    }
}

impl Drop for Cliff {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`; addresses are numbers to everyone else.
        unsafe { libc::munmap(ptr::without_provenance_mut(self.address), self.length) };
    }
}

/// Runs `probe` while a signal comes every `period_ms`, to a handler that does nothing and restarts nothing.
pub(crate) fn under_signals<T>(period_ms: i64, probe: impl FnOnce() -> T) -> T {
    extern "C" fn ignore(_: libc::c_int) {}
    let action = |handler: libc::sighandler_t| {
        // SAFETY: all zeros is a value of this struct: no flags, no signals masked.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = handler;
        // SAFETY: the handler does nothing, or is the default one.
        unsafe { libc::sigaction(libc::SIGALRM, &action, null_mut()) };
    };
    let timer = |period_ms: i64| {
        let period = libc::timeval {
            tv_sec: 0,
            // It has 32 bits on a 32-bit processor.
            tv_usec: (period_ms * 1000) as _,
        };
        let timer = libc::itimerval {
            it_interval: period,
            it_value: period,
        };
        // SAFETY: reads one `itimerval`.
        unsafe { libc::setitimer(libc::ITIMER_REAL, &timer, null_mut()) };
    };
    action(ignore as extern "C" fn(libc::c_int) as libc::sighandler_t);
    timer(period_ms);
    let result = probe();
    timer(0);
    action(libc::SIG_DFL);
    result
}

/// Runs `probe` in a thread that has no privilege. `None` if this process cannot give any up.
pub(crate) fn without_privilege<T: Send>(probe: impl FnOnce() -> T + Send) -> Option<T> {
    const OTHER_USER: libc::uid_t = 65534;
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            // SAFETY: no memory in its arguments. The raw call, unlike libc's, is for this thread alone.
            let dropped =
                unsafe { libc::syscall(libc::SYS_setresuid, OTHER_USER, OTHER_USER, OTHER_USER) };
            (dropped == 0).then(probe)
        });
        thread.join().ok().flatten()
    })
}
