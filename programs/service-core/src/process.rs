//! The process of the service: orders by signals, panics, bounds, its code, and memory that is wiped after its use.

use core::panic::AssertUnwindSafe;
use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit,
};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::panic::catch_unwind;

/// The order that a signal gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
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
pub fn this_thread() -> libc::pid_t {
    // SAFETY: it takes nothing and cannot fail.
    unsafe { libc::gettid() }
}

/// Signals a thread of this process by tgkill(2), which names the process. abort(3) and pthread_kill(3) of musl use tkill(2),
/// which does not, so that the sandbox refuses it.
pub fn signal_thread(thread: libc::pid_t, signal: libc::c_int) {
    // SAFETY: the arguments are numbers. If there is no such thread the kernel says so.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, signal) };
}

/// The signals, blocked in this thread and in all that it starts.
#[derive(Debug)]
pub struct Signals(OwnedFd);

impl Signals {
    /// Blocks the signals. Call it before any other thread starts.
    pub fn block() -> io::Result<Self> {
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
    pub fn next(&self) -> Option<Order> {
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

// A panic ends a part that others can be without, or the process. Never a thread alone: its clients would wait without end.

/// Does work that the rest of the service can be without, such as that for one connection. `None`: it panicked.
pub(crate) fn isolated<R>(work: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}

/// Does work that the service cannot be without. A panic in it ends the process by SIGABRT: the manager of services starts
/// it again.
pub fn ends_process<R>(work: impl FnOnce() -> R) -> R {
    isolated(work).unwrap_or_else(|| {
        signal_thread(this_thread(), libc::SIGABRT);
        std::process::abort()
    })
}

// Limits of the process: open files, locked memory, core dumps.

/// Switches core dumps off, locks all memory where that is allowed, and raises the limit of open files to the hard
/// limit. Returns a sentence for each of these that failed.
pub fn set_bounds() -> Vec<String> {
    let mut missing = Vec::new();
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    let dumps = setrlimit(Resource::Core, none);
    // The limit does not stop dumps that go to a program (core(5)). Without this flag they could be written, and other
    // processes of the same user could read the memory.
    let dumps = dumps.and_then(|()| set_dumpable_behavior(DumpableBehavior::NotDumpable));
    if let Err(error) = dumps {
        missing.push(format!("core dumps are not off: {error}"));
    }
    let files = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: files.maximum,
        maximum: files.maximum,
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        missing.push(format!("the limit of open files stays: {error}"));
    }
    if let Err(reason) = lock_memory() {
        missing.push(format!(
            "only keys are locked in memory, not all of it: {reason}"
        ));
    }
    missing
}

/// Locks all memory that the process has and will have, each page when it is first used. Does so only without a limit:
/// with one, later allocations would fail.
fn lock_memory() -> Result<(), String> {
    let unlimited = Rlimit {
        current: None,
        maximum: None,
    };
    let limit = getrlimit(Resource::Memlock);
    if limit.current.is_some() && setrlimit(Resource::Memlock, unlimited).is_err() {
        let bytes = limit.current.unwrap_or_default();
        return Err(format!(
            "the limit is {bytes} bytes (LimitMEMLOCK=infinity lifts it)"
        ));
    }
    let flags = MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT;
    mlockall(flags).map_err(|error| error.to_string())
}

// The code of the program, in memory and in its file. No relocation changes it: it is the same at every address.

/// The code that the process runs, and its file.
#[derive(Debug)]
pub struct Code {
    file: File,
    /// Each mapping, and its place in the file.
    parts: Vec<(&'static [u8], u64)>,
}

impl Code {
    /// The code of this process. It keeps the file open: an upgrade puts another file in its place.
    ///
    /// # Errors
    ///
    /// There is no /proc, or it names no code.
    pub fn of_process() -> io::Result<Self> {
        let name = fs::read_link("/proc/self/exe")?;
        let mappings = fs::read_to_string("/proc/self/maps")?;
        let name = name.to_string_lossy();
        let parts = mappings.lines().filter_map(|line| mapped_code(line, &name));
        let parts: Vec<_> = parts.collect();
        if parts.is_empty() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let file = File::open("/proc/self/exe")?;
        Ok(Self { file, parts })
    }

    /// Whether the code is that of the file, which must still be readable. A breakpoint and a uprobe are differences.
    #[must_use]
    pub fn is_intact(&self) -> bool {
        let mut expected = vec![0; 1 << 16];
        self.parts.iter().all(|(code, start)| {
            let mut place = *start;
            code.chunks(expected.len()).all(|chunk| {
                let expected = &mut expected[..chunk.len()];
                let is_read = self.file.read_exact_at(expected, place).is_ok();
                place += chunk.len() as u64;
                is_read && expected == chunk
            })
        })
    }
}

/// The code that a line of /proc/self/maps tells of, and its place in the file, if it is of the file of this name.
fn mapped_code(line: &str, name: &str) -> Option<(&'static [u8], u64)> {
    let (fields, path) = line.split_once('/')?;
    if path != name.strip_prefix('/')? {
        return None;
    }
    let mut fields = fields.split_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    if fields.next()? != "r-xp" {
        return None;
    }
    let number = |digits| usize::from_str_radix(digits, 16).ok();
    let (start, end, place) = (number(start)?, number(end)?, number(fields.next()?)?);
    let address = core::ptr::with_exposed_provenance(start);
    // SAFETY: the program's code is mapped and readable until the process ends, and nothing in the process writes to it.
    let code = unsafe { core::slice::from_raw_parts(address, end.checked_sub(start)?) };
    Some((code, place as u64))
}

// Memory for bytes on their way out, which is wiped at once.

/// Wipes `bytes` as fast as memory can be written. The barrier may read them for all that the compiler knows, so it keeps
/// the zeros. `Zeroize` stores byte by byte: for 1 MiB that took longer than to make the bytes.
pub fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    zeroize::optimization_barrier(bytes);
}

/// The bytes of an answer begin at a page. The kernel copies an answer page by page; with the 16 bytes that malloc puts
/// before its memory, each page of the reader would get parts of two.
const PAGE_BYTES: usize = 4096;

/// A buffer in which a thread makes bytes before it hands them out. It is wiped after every use. Pages that are never used
/// take no memory.
pub struct Scratch {
    memory: Vec<u8>,
    /// The place of the first byte.
    start: usize,
}

impl Scratch {
    /// Room for this number of bytes.
    pub fn new(bytes: usize) -> Self {
        let mut memory = vec![0; bytes + PAGE_BYTES];
        let start = memory.as_ptr().align_offset(PAGE_BYTES).min(PAGE_BYTES);
        memory.truncate(start + bytes);
        Self { memory, start }
    }

    /// The first `length` bytes: all zeros, unless they were not wiped after their last use.
    pub fn bytes(&mut self, length: usize) -> &mut [u8] {
        &mut self.memory[self.start..self.start + length]
    }

    /// Wipes all of it.
    pub fn wipe(&mut self) {
        wipe(&mut self.memory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::restrict_calls;
    use std::env::{current_exe, var_os};
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    const SIGABRT: i32 = 6;

    #[test]
    fn a_panic_in_a_thread_ends_the_process_and_one_that_is_isolated_does_not() {
        const NAME: &str = "process::tests::a_panic_in_a_thread_ends_the_process_and_one_that_is_isolated_does_not";
        const MARK: &str = "WELLSPRING_PANIC_ENDS_PROCESS";
        if var_os(MARK).is_some() {
            restrict_calls().unwrap();
            assert_eq!(isolated(|| -> u32 { panic!("isolated") }), None);
            assert_eq!(ends_process(|| isolated(|| 7)), Some(7));
            println!("goes on");
            let thread = std::thread::spawn(|| ends_process(|| panic!("not isolated")));
            let _ = thread.join();
            println!("the process goes on without the thread");
            return;
        }
        let mut child = Command::new(current_exe().unwrap());
        child.args(["--exact", NAME, "--nocapture"]).env(MARK, "1");
        let output = child.output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(printed.contains("goes on"), "{printed}");
        assert_eq!(output.status.signal(), Some(SIGABRT), "{printed}");
    }

    #[test]
    fn a_difference_between_code_and_file_is_found_wherever_it_is() {
        let mut code = Code::of_process().unwrap();
        assert!(code.is_intact());
        let (part, place) = code.parts[0];
        assert!(part.len() > 2 * (1 << 16), "{}", part.len());
        for wrong in [0, 1 << 16, part.len() - 1] {
            let mut changed = part.to_vec();
            changed[wrong] ^= 1;
            code.parts[0] = (changed.leak(), place);
            assert!(!code.is_intact(), "{wrong}");
        }
        code.parts[0] = (part, place + 1);
        assert!(!code.is_intact(), "another place");
    }

    #[test]
    fn a_buffer_that_is_used_again_holds_nothing_of_its_last_answer() {
        let mut scratch = Scratch::new(1024);
        scratch.bytes(1000).fill(7);
        scratch.wipe();
        assert_eq!(scratch.bytes(1024), [0; 1024]);
    }

    #[test]
    fn every_length_begins_at_a_page() {
        for length in [1, 4096, 5000, 1 << 20] {
            let mut scratch = Scratch::new(length);
            let bytes = scratch.bytes(length);
            assert_eq!(bytes.as_ptr().align_offset(PAGE_BYTES), 0);
            assert_eq!(bytes.len(), length);
        }
    }
}
