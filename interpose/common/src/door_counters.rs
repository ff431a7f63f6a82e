//! Counters of the calls that programs make through each door, on a page of shared memory. `wellspring run --report`
//! makes the page, the libraries that it sets up write to it, and the command reads it at the end.

use crate::run_page;
use core::cell::Cell;
use core::ffi::{CStr, c_char};
use core::sync::atomic::{AtomicU64, Ordering};
use rustix::fd::AsFd;
use std::ffi::CString;
use wellspring_os::memory::Wiped;
use wellspring_os::os_error::OsError;
use wellspring_os::shared::OnceBox;
use wellspring_os::shared_page::{SharedPage, SharedPageMut};

/// The environment variable that holds the path of the page.
pub const VARIABLE: &str = "WELLSPRING_REPORT";

/// The environment variable that asks the preload library, by the value 1, to replace RAND_bytes(3) of OpenSSL.
pub const RAND_BYTES_VARIABLE: &str = "WELLSPRING_RAND_BYTES";

/// A function, file or algorithm by which a program that was not written for wellspring gets its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// getrandom(2), as a function of the C library.
    Getrandom,
    /// getentropy(3).
    Getentropy,
    /// arc4random(3) and its family.
    Arc4random,
    /// An opened /dev/random or /dev/urandom that the library replaced by the service's file. The opening counts as one
    /// call. Reads do not pass through the library, so the bytes stay 0.
    File,
    /// RAND_bytes(3) or RAND_priv_bytes(3) of OpenSSL, replaced on request.
    RandBytes,
    /// The generator WELLSPRING of the OpenSSL provider.
    Provider,
    /// The seed source WELLSPRING-SEED of the OpenSSL provider.
    ProviderSeed,
    /// The algorithm of the Java provider.
    Java,
}

impl Door {
    /// Every door, in the order of a report.
    pub const ALL: [Self; 8] = [
        Self::Getrandom,
        Self::Getentropy,
        Self::Arc4random,
        Self::File,
        Self::RandBytes,
        Self::Provider,
        Self::ProviderSeed,
        Self::Java,
    ];

    /// The name in a report.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Getrandom => "getrandom",
            Self::Getentropy => "getentropy",
            Self::Arc4random => "arc4random",
            Self::File => "/dev/urandom",
            Self::RandBytes => "RAND_bytes",
            Self::Provider => "provider WELLSPRING",
            Self::ProviderSeed => "provider WELLSPRING-SEED",
            Self::Java => "Java's SecureRandom",
        }
    }

    /// The offset of the door's four counters in the page, in bytes.
    const fn offset(self) -> usize {
        64 + 32 * self as usize
    }
}

/// The counts of one door.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The number of calls.
    pub calls: u64,
    /// The number of bytes that the calls returned.
    pub bytes: u64,
    /// The number of threads that made the calls. A thread that goes on in a child process after a fork is one more.
    pub threads: u64,
    /// The number of calls that the engine could not serve: the kernel answered them, or the program got an error.
    pub failures: u64,
}

/// The word that marks a page of counters, and its place.
const MARK: u64 = u64::from_le_bytes(*b"counters");
const MARK_OFFSET: usize = 8;

/// The words that count the programs that loaded each library.
const PROGRAMS_OFFSET: usize = 0;
const PROVIDERS_OFFSET: usize = 16;

/// The bytes of a page that are used.
const USED_BYTES: usize = 64 + 32 * Door::ALL.len();

/// The page of counters.
#[derive(Debug)]
pub struct DoorCounters {
    page: SharedPageMut,
    process: &'static Wiped<AtomicU64>,
}

impl DoorCounters {
    /// Maps the page of an open file.
    ///
    /// # Errors
    ///
    /// The system's error; `EINVAL` for anything but a regular file of at least one page.
    pub fn map(file: impl AsFd) -> Result<Self, OsError> {
        Self::of(SharedPage::map_to_write(file)?)
    }

    fn of(page: SharedPageMut) -> Result<Self, OsError> {
        static PROCESS: OnceBox<Wiped<AtomicU64>> = OnceBox::new();
        let process = PROCESS.get_or_try_init(|| Wiped::new(None));
        Ok(Self {
            page,
            process: process.map_err(|_| OsError::new(libc::ENOMEM))?,
        })
    }

    /// A number that neither the parent nor a child of this process has. A fork of any kind wipes it.
    fn process(&self) -> u64 {
        /// In ordinary memory: a child goes on from where its parent was.
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let present = self.process.load(Ordering::Relaxed);
        if present != 0 {
            return present;
        }
        let new = NEXT.fetch_add(1, Ordering::Relaxed);
        let first = self
            .process
            .compare_exchange(0, new, Ordering::Relaxed, Ordering::Relaxed);
        first.map_or_else(|faster| faster, |_| new)
    }

    /// Opens and maps the page that [`VARIABLE`] names: a page of counters, or a new one, which is all zeros.
    ///
    /// # Errors
    ///
    /// `EPERM` if the file's owner, or a user who can write it, is neither root nor the user who started this process; the
    /// errors of open(2) and mmap(2); `EINVAL` for any other file, which counts would change.
    pub fn open(path: &CStr) -> Result<Self, OsError> {
        let counters = Self::of(run_page::open(path)?)?;
        let is_new = (0..USED_BYTES)
            .step_by(8)
            .all(|offset| counters.page.word(offset) == 0);
        if is_new {
            counters.page.store(MARK_OFFSET, MARK);
        }
        // After the look at the counts: another program may have begun to count meanwhile.
        let is_ours = counters.page.word(MARK_OFFSET) == MARK;
        is_ours
            .then_some(counters)
            .ok_or(OsError::new(libc::EINVAL))
    }

    /// Counts a program that loaded the preload library. Returns the number of programs counted so far, with this one.
    pub fn count_program(&self) -> u64 {
        self.page.add(PROGRAMS_OFFSET, 1)
    }

    /// Returns the number of programs that loaded the preload library.
    #[must_use]
    pub fn programs(&self) -> u64 {
        self.page.word(PROGRAMS_OFFSET)
    }

    /// Counts a program that loaded the OpenSSL provider.
    pub fn count_provider(&self) {
        self.page.add(PROVIDERS_OFFSET, 1);
    }

    /// Returns the number of programs that loaded the OpenSSL provider.
    #[must_use]
    pub fn providers(&self) -> u64 {
        self.page.word(PROVIDERS_OFFSET)
    }

    /// Counts a call that the engine could not serve.
    pub fn count_failure(&self, door: Door) {
        self.page.add(door.offset() + 24, 1);
    }

    /// Counts a call that returned this many bytes.
    pub fn count(&self, door: Door, bytes: usize) {
        thread_local! {
            /// A process, and a bit for each door that has counted this thread there.
            static COUNTED: Cell<(u64, u32)> = const { Cell::new((0, 0)) };
        }
        let offset = door.offset();
        self.page.add(offset, 1);
        self.page.add(offset + 8, bytes as u64);
        let (bit, process) = (1 << door as u32, self.process());
        let (counted_in, bits) = COUNTED.get();
        let before = if counted_in == process { bits } else { 0 };
        if before & bit == 0 {
            COUNTED.set((process, before | bit));
            self.page.add(offset + 16, 1);
        }
    }

    /// Returns the counts of a door.
    #[must_use]
    pub fn counts(&self, door: Door) -> Counts {
        let offset = door.offset();
        Counts {
            calls: self.page.word(offset),
            bytes: self.page.word(offset + 8),
            threads: self.page.word(offset + 16),
            failures: self.page.word(offset + 24),
        }
    }
}

unsafe extern "C" {
    /// Like getenv(3), but returns null in a program that has more rights than its caller.
    fn secure_getenv(name: *const c_char) -> *const c_char;
}

/// The value of a variable, unless the program has more rights than its caller.
#[must_use]
pub fn variable(name: &str) -> Option<&'static CStr> {
    let name = CString::new(name).ok()?;
    // SAFETY: a name.
    let value = unsafe { secure_getenv(name.as_ptr()) };
    // SAFETY: a string of the environment.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) })
}

/// The counters of this library, if a report was asked for.
static COUNTERS: OnceBox<DoorCounters> = OnceBox::new();

/// From now on [`count`] counts on the page at `path`. `None` if it counts already, or if the page cannot be opened: stderr then
/// has a line that says why, but if the command has ended, and with it the report.
pub fn start(path: &CStr) -> Option<&'static DoorCounters> {
    if COUNTERS.get().is_some() {
        return None;
    }
    match DoorCounters::open(path) {
        // Several threads may load the provider at once.
        Ok(counters) => COUNTERS.set(counters).ok()?,
        Err(error) => {
            let reason: &[u8] = match error.number() {
                libc::ENOENT => return None,
                libc::EPERM | libc::EACCES => b": the page of counters is another user's",
                _ => b": the page of counters cannot be used",
            };
            run_page::say(b"wellspring: the report leaves out process ", reason);
            None
        }
    }
}

/// Counts a call that returned this many bytes, if [`start`] found a page.
#[inline(always)]
pub fn count(door: Door, bytes: usize) {
    if let Some(counters) = COUNTERS.get() {
        counters.count(door, bytes);
    }
}

/// Counts a call that the engine could not serve, if [`start`] found a page.
#[cold]
pub fn count_failure(door: Door) {
    if let Some(counters) = COUNTERS.get() {
        counters.count_failure(door);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_page::tests::{PAGE_BYTES, file, name};
    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
    use std::fs::File;
    use std::path::Path;
    use std::sync::Barrier;
    use testkit::process::in_child;

    fn map(path: &Path) -> Result<DoorCounters, OsError> {
        let mut options = File::options();
        DoorCounters::map(options.read(true).write(true).open(path).unwrap())
    }

    #[test]
    fn what_one_mapping_counts_another_reads() {
        assert!(map(&file("empty", &[])).is_err(), "an empty file");
        let page = file("counters", &[0; PAGE_BYTES]);
        let reader = map(&page).unwrap();
        let writer = DoorCounters::open(&name(&page)).unwrap();
        assert_eq!(writer.count_program(), 1);
        writer.count_provider();
        writer.count_provider();
        for (index, door) in Door::ALL.into_iter().enumerate() {
            writer.count(door, index);
            writer.count(door, 100);
            writer.count_failure(door);
            std::thread::scope(|scope| {
                scope.spawn(|| writer.count(door, 0));
            });
            let expected = Counts {
                calls: 3,
                bytes: 100 + index as u64,
                threads: 2,
                failures: 1,
            };
            assert_eq!(reader.counts(door), expected);
        }
        assert_eq!((reader.programs(), reader.providers()), (1, 2));
    }

    #[test]
    fn a_library_counts_after_it_has_found_a_page() {
        count(Door::Java, 5);
        count_failure(Door::Java);
        assert!(start(c"/dev/null").is_none());
        let page = file("counters", &[0; PAGE_BYTES]);
        let path = name(&page);
        let together = Barrier::new(8);
        let started = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    together.wait();
                    started.fetch_add(start(&path).is_some().into(), Ordering::Relaxed);
                });
            }
        });
        assert_eq!(
            started.into_inner(),
            1,
            "one of 8 threads that start at once"
        );
        assert!(start(&path).is_none(), "a second start");
        count(Door::Java, 7);
        count_failure(Door::Java);
        let counts = map(&page).unwrap().counts(Door::Java);
        assert_eq!((counts.calls, counts.bytes, counts.failures), (1, 7, 1));
    }

    #[test]
    fn a_device_another_file_and_a_missing_one_are_refused() {
        assert!(DoorCounters::open(c"/dev/null").is_err());
        let letter = file("letter", b"Dear reader".repeat(500).as_slice());
        assert!(DoorCounters::open(&name(&letter)).is_err(), "another file");
        assert!(DoorCounters::open(c"/nonexistent/counters").is_err());
    }

    #[test]
    fn a_thread_that_goes_on_in_a_child_is_counted_there_as_well() {
        let file = memfd_create("counters", MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&file, 4096).unwrap();
        let counters = DoorCounters::map(&file).unwrap();
        let count = || (0..3).for_each(|_| counters.count(Door::Getrandom, 32));
        let threads = || counters.counts(Door::Getrandom).threads;
        count();
        for children in 1..=3 {
            let code = in_child(|| {
                let before = threads();
                count();
                // A child of a child, and again the child.
                let of_child = in_child(|| {
                    count();
                    0
                });
                count();
                of_child + i32::from(threads() != before + 2)
            });
            assert_eq!((code, threads()), (0, 1 + 2 * children));
        }
        count();
        assert_eq!(threads(), 1 + 2 * 3, "the parent is counted once");
    }
}
