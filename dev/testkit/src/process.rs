//! Children: made in two ways, answer through shared memory, never waited for without end.

use core::fmt::{self, Write};
use core::ptr;
use libc::pid_t;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A child that runs for longer hangs.
const CHILD_TIME: Duration = Duration::from_secs(180);

/// The system call that makes a child.
#[derive(Clone, Copy, Debug)]
pub enum Fork {
    /// fork(3), with what libc hangs on it.
    Library,
    /// clone(2), without libc's knowledge.
    RawClone,
}

impl Fork {
    /// Both.
    pub const BOTH: [Fork; 2] = [Fork::Library, Fork::RawClone];

    /// Forks; 0 in the child.
    #[must_use]
    pub fn call(self) -> pid_t {
        end_children_that_panic();
        // SAFETY: the children of these tests do nothing but draw, write to memory of theirs, and exit.
        let pid = unsafe {
            match self {
                Fork::Library => libc::fork(),
                // As macOS wipes a child, fork(3) alone is promised all: see SECURITY.md.
                #[cfg(any(wellspring_test_at_fork, not(target_os = "linux")))]
                Fork::RawClone => libc::fork(),
                #[cfg(all(target_os = "linux", not(wellspring_test_at_fork)))]
                Fork::RawClone => {
                    libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) as pid_t
                }
            }
        };
        assert!(pid >= 0, "no child: {}", std::io::Error::last_os_error());
        if pid == 0 {
            IS_CHILD.store(true, Ordering::Relaxed);
        }
        pid
    }
}

/// Runs `work` in a child, which then ends.
pub fn start(fork: Fork, work: impl FnOnce()) -> Child {
    match fork.call() {
        0 => run_and_exit(work),
        pid => Child(pid),
    }
}

/// Runs `work` in a child and ends it.
pub fn run_and_exit(work: impl FnOnce()) -> ! {
    work();
    // SAFETY: _exit may be called in any child.
    unsafe { libc::_exit(0) }
}

static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// Makes a panic in a child print its reason and end the child: standard error may stay locked there, by a thread
/// that does not exist.
fn end_children_that_panic() {
    struct StandardError;

    impl Write for StandardError {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            // SAFETY: the pointer and the length of `text`.
            unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
            Ok(())
        }
    }

    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let otherwise = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if IS_CHILD.load(Ordering::Relaxed) {
                let _ = writeln!(StandardError, "in a child: {panic}");
                // SAFETY: as above.
                unsafe { libc::_exit(1) };
            }
            otherwise(panic);
        }));
    });
}

/// A child that runs, by its number.
#[must_use]
pub struct Child(pub pid_t);

impl Child {
    /// Waits for its end, which has to be a good one, and ends it where it hangs: with all signals blocked, as a
    /// rule, so that no alarm would.
    pub fn join(self) {
        let begin = Instant::now();
        let (mut status, mut pause) = (0, Duration::from_micros(50));
        // SAFETY: the pointer is to the status, and the child is ours.
        while unsafe { libc::waitpid(self.0, &raw mut status, libc::WNOHANG) } != self.0 {
            if begin.elapsed() > CHILD_TIME {
                // SAFETY: as above.
                unsafe {
                    libc::kill(self.0, libc::SIGKILL);
                    libc::waitpid(self.0, &raw mut status, 0);
                }
                panic!("the child hung for {CHILD_TIME:?}");
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(10));
        }
        assert_eq!(status, 0, "the child failed");
    }
}

/// Memory that parent and children share.
pub struct Shared {
    start: *mut u8,
    bytes: usize,
}

impl Shared {
    /// Maps `bytes`, all zeros.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        // SAFETY: a new mapping where the kernel likes.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        assert_ne!(start, libc::MAP_FAILED);
        let start = start.cast();
        Self { start, bytes }
    }

    /// All of it. A child has written what it had to when it was joined.
    pub fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the mapping is ours and initialised; in every process one reference is in use at a time,
        // and the processes write to different parts.
        unsafe { core::slice::from_raw_parts_mut(self.start, self.bytes) }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: no reference to the mapping is left in this process.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}

/// How many mappings this process has.
#[must_use]
pub fn mappings() -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines().count()
}

/// A number of `/proc/self/status`, in KiB.
#[must_use]
pub fn status_kib(name: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Runs `code` in a child, which ends with what it returns. Returns its [`exit_status`].
pub fn in_child(code: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child runs `code`, which the tests keep simple, and ends without returning.
    unsafe {
        let pid = libc::fork();
        assert!(pid >= 0);
        if pid == 0 {
            let run = std::panic::AssertUnwindSafe(code);
            libc::_exit(std::panic::catch_unwind(run).unwrap_or(101));
        }
        exit_status(pid)
    }
}

/// Waits for a child. Returns what it ended with, or 1000 and the signal that ended it.
#[must_use]
pub fn exit_status(pid: pid_t) -> i32 {
    let mut status = 0;
    // SAFETY: the pointer is to the status.
    unsafe { libc::waitpid(pid, &raw mut status, 0) };
    if libc::WIFEXITED(status) {
        libc::WEXITSTATUS(status)
    } else {
        1000 + libc::WTERMSIG(status)
    }
}
