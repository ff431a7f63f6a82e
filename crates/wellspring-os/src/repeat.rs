//! The names of streams for `wellspring run --repeat`, by which a program draws the same bytes in every run: one stream for
//! each library, process and thread. The command puts the seed on a page of shared memory, the libraries that it sets up
//! count processes there.
//!
//! Processes are counted when their parent calls fork(3); others, such as a program after execve(2), when they first draw.
//! Threads are counted when they first draw.

use crate::descriptor::open_at;
use crate::memory::Wiped;
use crate::once_box::OnceBox;
use crate::os_error::OsError;
use crate::shared_page::{SharedPage, SharedPageMut};
use crate::system::fork;
use crate::system::users::effective_user;
use core::cell::Cell;
use core::ffi::CStr;
use core::sync::atomic::{AtomicU64, Ordering, compiler_fence};
use rustix::fd::AsFd;
use rustix::fs::{CWD, Mode, OFlags};

/// The environment variable that holds the path of the page.
pub const VARIABLE: &str = "WELLSPRING_REPEAT";

/// The word of a page with a seed that tells it from other files, and its place.
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

/// Writes the seed to a new page of an open file.
///
/// # Errors
///
/// The system's error.
pub fn write_seed(file: impl AsFd, seed: u128) -> Result<(), OsError> {
    let page = SharedPage::map_to_write(file)?;
    page.store(0, seed as u64);
    page.store(8, (seed >> 64) as u64);
    page.store(MARK_OFFSET, MARK);
    Ok(())
}

/// Opens the page with the seed. `EINVAL` for any other file: to count in it would change it.
fn open_page(path: &CStr) -> Result<SharedPageMut, OsError> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    let page = SharedPage::map_to_write(open_at(CWD, path.to_bytes(), flags, Mode::empty())?)?;
    let is_ours = page.word(MARK_OFFSET) == MARK;
    is_ours.then_some(page).ok_or(OsError::new(libc::EINVAL))
}

/// The next bytes of a thread's stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draw {
    /// The seed of all streams.
    pub seed: u128,
    /// The numbers of the library, of the process and of the thread.
    pub path: [u32; 3],
    /// The place of the first byte.
    pub position: u64,
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

/// From now on [`draw`] names the bytes of this process, from the page at `path`.
///
/// # Errors
///
/// `EPERM` if this process is root's, whose keys protect others; `EINVAL` if the file has no seed; the errors of open(2) and
/// mmap(2); `ENOMEM`.
pub fn start(path: &CStr, library: Library) -> Result<(), OsError> {
    if STREAMS.get().is_some() {
        return Ok(());
    }
    if is_for_root() {
        return Err(OsError::new(libc::EPERM));
    }
    let page = open_page(path)?;
    let process = Wiped::new(None).map_err(|_| OsError::new(libc::ENOMEM))?;
    let streams = Streams {
        page,
        library,
        process,
    };
    // Several threads may load the provider at once, and two handlers would number a child twice.
    let set = STREAMS.set(streams);
    if set.map_err(|_| OsError::new(libc::ENOMEM))?.is_some() {
        fork::at_fork(before_fork, after_fork, in_child);
    }
    Ok(())
}

/// Whether this process has root's rights. Not as fakeroot(1) says: packages are built in that.
#[must_use]
pub fn is_for_root() -> bool {
    effective_user() == 0
}

/// Ends the process with a line on stderr: bytes that cannot be repeated would look like those that can.
pub fn refuse(error: OsError) -> ! {
    let reason = if error == OsError::new(libc::EPERM) {
        b"wellspring: --repeat is not for processes of root, whose keys protect others\n".as_slice()
    } else {
        b"wellspring: --repeat: the page with the seed cannot be opened, or is another file\n"
    };
    // SAFETY: it writes this text, and ends the process without any code of the program.
    unsafe {
        libc::write(libc::STDERR_FILENO, reason.as_ptr().cast(), reason.len());
        libc::_exit(126)
    }
}

/// Takes the next `length` bytes of this thread's stream. `None` if [`start`] was not called, or failed.
#[must_use]
#[inline]
pub fn draw(length: usize) -> Option<Draw> {
    STREAMS.get().map(|streams| streams.draw(length))
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
    fn draw(&self, length: usize) -> Draw {
        let process = self.process();
        THREAD.with(|thread| {
            if thread.process.get() != process {
                let number = self.process[1].fetch_add(1, Ordering::Relaxed);
                thread.begin(process, number);
            }
            Draw {
                seed: u128::from(self.page.word(8)) << 64 | u128::from(self.page.word(0)),
                path: [
                    self.library as u32,
                    process as u32,
                    thread.number.get() as u32,
                ],
                // A signal handler that interrupts this takes other bytes.
                position: thread.position.fetch_add(length as u64, Ordering::Relaxed),
            }
        })
    }
}

impl Thread {
    /// Begins a stream of a process. The process is set last: a signal handler in between finds another one, and begins the
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
    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
    use rustix::io::write;
    use std::ffi::CString;
    use std::os::fd::AsRawFd;

    #[test]
    fn a_file_without_a_seed_is_refused_and_stays_as_it_was() {
        let file = memfd_create("letter", MemfdFlags::CLOEXEC).unwrap();
        let path = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap();
        let is_opened = || open_page(&path).is_ok();
        assert!(!is_opened(), "an empty file");
        write(&file, b"Dear reader").unwrap();
        assert!(!is_opened(), "a short file");
        ftruncate(&file, 5000).unwrap();
        assert!(!is_opened(), "another file");
        assert!(open_page(c"/dev/zero").is_err() && open_page(c"/tmp").is_err());
        write_seed(&file, 7 << 64 | 9).unwrap();
        let page = open_page(&path).unwrap();
        assert_eq!([page.word(0), page.word(8)], [9, 7]);
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
                in_handler = Some(streams.draw(1));
                Next::Run
            };
            let first = step(&mut on_step, || streams.draw(1));
            [in_handler, Some(first), Some(streams.draw(1))]
        };
        std::thread::scope(|scope| scope.spawn(work).join().unwrap())
    }

    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[test]
    fn a_handler_at_any_instruction_of_a_first_draw_takes_other_bytes() {
        let file = memfd_create("page", MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&file, 4096).unwrap();
        write_seed(&file, 7).unwrap();
        let streams = Streams {
            page: SharedPage::map_to_write(&file).unwrap(),
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
