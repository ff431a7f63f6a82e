//! The streams of `wellspring run --repeat`, by which a program draws the same bytes in every run: one stream for each library,
//! process and thread. The command puts the seed on a page of shared memory, the libraries that it sets up count processes
//! there.
//!
//! Processes are counted when their parent calls fork(3); others, such as a program after execve(2), when they first draw.
//! Threads are counted when they first draw.
//!
//! Nothing repeats after the command has ended: otherwise a service that it started would make its keys from a seed that others
//! know. A word of the page shows the end: the word of a lock that a thread takes with it (set_robust_list(2)), which the
//! kernel changes even when SIGKILL ends the command. So a draw costs no system call, and the program has no descriptor.

use crate::run_page;
use core::cell::Cell;
use core::ffi::CStr;
use core::mem::ManuallyDrop;
use core::ptr;
use core::sync::atomic::{AtomicU64, Ordering, compiler_fence};
use rustix::fd::AsFd;
use rustix::thread::gettid;
use std::io;
use wellspring_os::memory::Wiped;
use wellspring_os::os_error::OsError;
use wellspring_os::shared::OnceBox;
use wellspring_os::shared_page::{SharedPage, SharedPageMut};
use wellspring_os::users::effective_user;
use wellspring_pseudo::{Algorithm, Stream};

/// The environment variable that holds the path of the page.
pub const VARIABLE: &str = "WELLSPRING_REPEAT";

/// The word that marks a page with a seed, and its place.
const MARK: u64 = u64::from_le_bytes(*b"repeated");
const MARK_OFFSET: usize = 32;

/// A library that draws. The numbers are in the names of streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// The library for LD_PRELOAD.
    Preload = 0,
    /// The OpenSSL provider.
    Provider = 1,
}

/// The word that shows whether the command lives. Its lower 32 bits are the number of a thread of the command, or have
/// `FUTEX_OWNER_DIED`, or are 0.
const HOLDER_OFFSET: usize = 40;

const THREAD_BITS: u64 = libc::FUTEX_TID_MASK as u64;
const DIED: u64 = libc::FUTEX_OWNER_DIED as u64;

/// The page of a command that lives. Draws follow from its seed until this is dropped, or the thread that made it has ended.
#[derive(Debug)]
pub struct HeldSeed(ManuallyDrop<SharedPageMut>);

impl HeldSeed {
    /// Writes the seed to a new page of an open file.
    ///
    /// # Errors
    ///
    /// The system's error; `ENOSYS` if the kernel does not follow the locks of threads that end, as QEMU's user mode.
    pub fn new(file: impl AsFd, seed: u128) -> Result<Self, OsError> {
        let page = SharedPage::map_to_write(file)?;
        page.store(0, seed as u64);
        page.store(8, (seed >> 64) as u64);
        take_along(page.lower_half_address(HOLDER_OFFSET))?;
        let thread = gettid().as_raw_nonzero().get();
        page.store(HOLDER_OFFSET, thread as u64 & THREAD_BITS);
        page.store(MARK_OFFSET, MARK);
        // It stays mapped: the kernel looks at the word when the thread ends.
        Ok(Self(ManuallyDrop::new(page)))
    }
}

impl Drop for HeldSeed {
    fn drop(&mut self) {
        self.0.store(HOLDER_OFFSET, 0);
        self.0.store(0, 0);
        self.0.store(8, 0);
    }
}

/// The list of locks that a thread takes with it, as the kernel reads it: a head and one entry, which points back to it.
#[repr(C)]
struct Locks {
    first: *const Locks,
    /// From an entry to its word.
    to_word: isize,
    pending: *const Locks,
}

/// Has the kernel mark the 32 bits at `word` when this thread ends, if they are its number then. This replaces the C library's
/// own list, for mutexes that a thread leaves locked: the command has none. A second call replaces the first.
fn take_along(word: *const u32) -> Result<(), OsError> {
    let entry = Box::leak(Box::new(Locks {
        first: ptr::null(),
        to_word: 0,
        pending: ptr::null(),
    }));
    let head = Box::leak(Box::new(Locks {
        first: entry,
        to_word: (word.addr() as isize).wrapping_sub(ptr::from_ref(entry).addr() as isize),
        pending: ptr::null(),
    }));
    entry.first = head;
    // SAFETY: the list stays as it is for as long as the process lives, and the kernel looks at the word only where it is mapped.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_set_robust_list,
            ptr::from_ref(head),
            size_of::<Locks>(),
        )
    };
    if answer == 0 {
        return Ok(());
    }
    let number = io::Error::last_os_error().raw_os_error();
    Err(OsError::new(number.unwrap_or(libc::ENOSYS)))
}

/// Opens the page with the seed. `EINVAL` for any other file: to count in it would change it.
fn open_page(path: &CStr) -> Result<SharedPageMut, OsError> {
    let page = run_page::open(path)?;
    let is_ours = page.word(MARK_OFFSET) == MARK;
    is_ours.then_some(page).ok_or(OsError::new(libc::EINVAL))
}

/// The next bytes of a thread's stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Draw {
    /// The seed of all streams.
    seed: u128,
    /// The numbers of the library, of the process and of the thread.
    path: [u32; 3],
    /// The place of the first byte.
    position: u64,
}

struct Streams {
    page: SharedPageMut,
    library: Library,
    /// The number of this process, or 0; and of its threads that drew. A fork of any kind wipes both.
    process: Wiped<[AtomicU64; 2]>,
}

static STREAMS: OnceBox<Streams> = OnceBox::new();

struct Thread {
    process: Cell<u64>,
    number: Cell<u64>,
    position: AtomicU64,
    /// The number of the child that the thread is about to fork.
    next_child: Cell<u64>,
}

thread_local! {
    static THREAD: Thread = const {
        Thread {
            process: Cell::new(0),
            number: Cell::new(0),
            position: AtomicU64::new(0),
            next_child: Cell::new(0),
        }
    };
}

/// From now on [`fill`] makes the bytes of this process, from the page at `path`; not if the command that made the page has
/// ended, which stderr then says.
///
/// # Errors
///
/// `EPERM` if this process is root's, whose keys protect others, or the file is another user's; `EINVAL` if the file has no seed;
/// the errors of open(2) and mmap(2); `ENOMEM`.
pub fn start(path: &CStr, library: Library) -> Result<(), OsError> {
    if STREAMS.get().is_some() {
        return Ok(());
    }
    if is_for_root() {
        return Err(OsError::new(libc::EPERM));
    }
    let page = match open_page(path) {
        Ok(page) if is_held(&page) => page,
        Err(error) if !error.is_not_found() => return Err(error),
        _ => {
            let after = b" draws fresh random bytes: the command with --repeat has ended";
            run_page::say(b"wellspring: process ", after);
            return Ok(());
        }
    };
    let process = Wiped::new(None).map_err(|_| OsError::new(libc::ENOMEM))?;
    let streams = Streams {
        page,
        library,
        process,
    };
    // Several threads may load the provider at once, and two handlers would number a child twice.
    let set = STREAMS.set(streams);
    if set.map_err(|_| OsError::new(libc::ENOMEM))?.is_some() {
        // SAFETY: any thread that forks may call the three functions. Unloading this library removes them.
        unsafe { libc::pthread_atfork(Some(before_fork), Some(after_fork), Some(in_child)) };
    }
    Ok(())
}

/// Whether the command that made the page lives.
fn is_held(page: &SharedPageMut) -> bool {
    let holder = page.word(HOLDER_OFFSET);
    holder & THREAD_BITS != 0 && holder & DIED == 0
}

/// Whether this process has root's rights. Not as fakeroot(1) says: packages are built in that.
#[must_use]
pub fn is_for_root() -> bool {
    effective_user() == 0
}

/// Ends the process with a line on stderr: bytes that cannot be repeated would look like bytes that can.
pub fn refuse() -> ! {
    let reason = if is_for_root() {
        b"wellspring: --repeat is not for processes of root, whose keys protect others\n".as_slice()
    } else {
        b"wellspring: --repeat: the page with the seed cannot be opened, is another user's, or is another file\n"
    };
    // SAFETY: it writes this text, and ends the process without any code of the program.
    unsafe {
        libc::write(libc::STDERR_FILENO, reason.as_ptr().cast(), reason.len());
        libc::_exit(126)
    }
}

/// Whether [`fill`] fills.
#[must_use]
pub fn is_on() -> bool {
    STREAMS.get().is_some_and(|streams| is_held(&streams.page))
}

/// Fills `bytes` with the next ones of this thread's stream. Returns `false`, and fills nothing, if [`start`] was not called,
/// or failed, or if the command has ended.
#[inline]
pub fn fill(bytes: &mut [u8]) -> bool {
    let draw = STREAMS.get().and_then(|streams| streams.draw(bytes.len()));
    let Some(draw) = draw else {
        return false;
    };
    let stream = Stream::new(Algorithm::ChaCha20, draw.seed, &draw.path);
    stream.at(draw.position.into()).fill(bytes);
    true
}

impl Streams {
    fn new_process(&self) -> u64 {
        self.page.add(16 + 8 * self.library as usize, 1)
    }

    fn process(&self) -> u64 {
        let number = &self.process[0];
        if number.load(Ordering::Relaxed) == 0 {
            let new = self.new_process();
            // Another thread may be faster.
            let _ = number.compare_exchange(0, new, Ordering::Relaxed, Ordering::Relaxed);
        }
        number.load(Ordering::Relaxed)
    }

    #[cold]
    fn draw(&self, length: usize) -> Option<Draw> {
        let seed = u128::from(self.page.word(8)) << 64 | u128::from(self.page.word(0));
        // After the seed: a command that ends erases it last.
        if !is_held(&self.page) {
            return None;
        }
        let process = self.process();
        let draw = THREAD.with(|thread| {
            if thread.process.get() != process {
                let number = self.process[1].fetch_add(1, Ordering::Relaxed);
                thread.begin(process, number);
            }
            Draw {
                seed,
                path: [
                    self.library as u32,
                    process as u32,
                    thread.number.get() as u32,
                ],
                // A signal handler that interrupts this takes other bytes.
                position: thread.position.fetch_add(length as u64, Ordering::Relaxed),
            }
        });
        Some(draw)
    }
}

impl Thread {
    /// Begins a stream of a process. The process is set last: a signal handler in between finds another process, and begins the
    /// next stream. The thread then goes on in its own stream or in the handler's, behind what the handler took.
    fn begin(&self, process: u64, number: u64) {
        self.position.store(0, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        self.number.set(number);
        compiler_fence(Ordering::SeqCst);
        self.process.set(process);
    }
}

extern "C" fn before_fork() {
    if let Some(streams) = STREAMS.get() {
        THREAD.with(|thread| thread.next_child.set(streams.new_process()));
    }
}

extern "C" fn after_fork() {}

extern "C" fn in_child() {
    if let Some(streams) = STREAMS.get() {
        let number = THREAD.with(|thread| thread.next_child.get());
        streams.process[0].store(number, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_page::tests::{file, name};
    use std::fs::File;
    use std::path::Path;

    fn opened(path: &Path) -> File {
        let mut options = File::options();
        options.read(true).write(true).open(path).unwrap()
    }

    /// A page that is held without the kernel's help, which a process gets once.
    fn held_page(path: &Path) -> SharedPageMut {
        let page = SharedPage::map_to_write(opened(path)).unwrap();
        page.store(MARK_OFFSET, MARK);
        page.store(HOLDER_OFFSET, 1);
        page
    }

    #[test]
    fn a_file_without_a_seed_is_refused_and_stays_as_it_was() {
        let is_opened = |path: &Path| open_page(&name(path)).is_ok();
        assert!(!is_opened(&file("empty", &[])), "an empty file");
        assert!(!is_opened(&file("short", b"Dear reader")), "a short file");
        let letter = b"Dear reader".repeat(500);
        let path = file("letter", &letter);
        assert!(!is_opened(&path), "another file");
        assert_eq!(std::fs::read(&path).unwrap(), letter);
        assert!(open_page(c"/dev/zero").is_err() && open_page(c"/tmp").is_err());
        let path = file("seed", &[0; 4096]);
        held_page(&path);
        assert!(is_opened(&path));
    }

    /// The command is a child here, which SIGKILL ends.
    #[test]
    fn a_seed_is_held_until_its_command_is_killed() {
        let path = file("held", &[0; 4096]);
        let page = SharedPage::map_to_write(opened(&path)).unwrap();
        assert!(!is_held(&page));
        let (mut ready, writer) = std::io::pipe().unwrap();
        // SAFETY: the child calls what a handler may call, and allocates: glibc resets that lock in
        // a child.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let held = HeldSeed::new(opened(&path), 7 << 64 | 9);
            let answer = [u8::from(held.is_ok())];
            let _ = rustix::io::write(&writer, &answer);
            loop {
                std::thread::park();
            }
        }
        let mut answer = [0];
        std::io::Read::read_exact(&mut ready, &mut answer).unwrap();
        let (is_held_before, seed) = (is_held(&page), [page.word(0), page.word(8)]);
        // SAFETY: the child was not waited for.
        unsafe {
            libc::kill(child, libc::SIGKILL);
            libc::waitpid(child, ptr::null_mut(), 0);
        }
        if answer == [0] {
            return testkit::skipped("the kernel follows no locks of threads that end");
        }
        assert!(is_held_before);
        assert_eq!(seed, [9, 7]);
        assert!(!is_held(&page), "after SIGKILL");
        assert!(open_page(&name(&path)).is_ok());
    }

    /// Draws a byte as a new thread's first, with a handler at one step that draws too. `None` for the handler: there are
    /// fewer steps.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    fn first_draw_with_handler_at(streams: &Streams, at_step: usize) -> [Option<Draw>; 3] {
        use testkit::stepping::{Next, step};
        let work = || {
            let mut in_handler = None;
            let mut on_step = |number| {
                if number < at_step {
                    return Next::Step;
                }
                in_handler = streams.draw(1);
                Next::Run
            };
            let first = step(&mut on_step, || streams.draw(1));
            [in_handler, first, streams.draw(1)]
        };
        std::thread::scope(|scope| scope.spawn(work).join().unwrap())
    }

    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[test]
    fn a_handler_at_any_instruction_of_a_first_draw_takes_other_bytes() {
        let streams = Streams {
            page: held_page(&file("steps", &[0; 4096])),
            library: Library::Preload,
            process: Wiped::new(None).unwrap(),
        };
        let mut drawn = std::collections::HashSet::new();
        for at_step in 1.. {
            let draws = first_draw_with_handler_at(&streams, at_step);
            for draw in draws.iter().flatten() {
                let is_new = drawn.insert((draw.path, draw.position));
                assert!(is_new, "{draw:?} twice, at step {at_step}");
            }
            if draws[0].is_none() {
                assert!(at_step > 10, "{at_step} steps");
                break;
            }
        }
    }
}
