//! The generation page has one word; when it changes, all taps of all processes take fresh keys. The page of the
//! hypervisor's clock changes before a clone of the machine runs.
//!
//! Both have the layout of Linux's vmclock, version 1. Magic number, size, flags and offsets come from
//! `include/uapi/linux/vmclock-abi.h`. All fields are little endian.

use crate::fresh_entropy::FreshEntropy;
use core::fmt;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use wellspring_os::descriptor::AsFd;
use wellspring_os::os;
use wellspring_os::os_error::OsError;
use wellspring_os::shared_page::{SharedPage, SharedPageMut};
use wellspring_os::trusted_file::{Access, Directory, FileFault, FileLock, TrustedFile};

/// The default path of the page.
pub const DEFAULT_PATH: &str = "/run/wellspring/generation";

/// Readers of all users map the page. Its writer alone can write it.
const PAGE_MODE: u32 = 0o644;

/// The reason why a page cannot be written, or is not trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PageError {
    /// Another process serves it. The lock file says that it has this id.
    Held(u32),
    /// It does not have the format of a page.
    NotAPage,
    /// It is not a file that can be trusted; `System` with `ENOENT` if it does not exist.
    File(FileFault),
}

impl PageError {
    /// Whether there is no page.
    #[must_use]
    pub fn is_absent(self) -> bool {
        matches!(self, Self::File(FileFault::System(error)) if error.is_not_found())
    }

    /// Whether this system has no such pages.
    pub(super) fn is_unsupported(self) -> bool {
        self == Self::File(FileFault::System(OsError::UNSUPPORTED))
    }
}

impl fmt::Display for PageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Held(process) => write!(f, "process {process} is its writer"),
            Self::NotAPage => f.write_str("not a generation page"),
            Self::File(fault) => fault.fmt(f),
        }
    }
}

impl core::error::Error for PageError {}

impl From<FileFault> for PageError {
    fn from(fault: FileFault) -> Self {
        Self::File(fault)
    }
}

impl From<OsError> for PageError {
    fn from(error: OsError) -> Self {
        Self::File(FileFault::System(error))
    }
}

/// The page, served by one process. It stays where it is when that process ends: nothing happens then, and the next
/// process takes it over.
#[derive(Debug)]
pub struct GenerationPage {
    page: SharedPageMut,
    /// The right to serve. Its file, `.NAME.lock`, is for its owner alone: a user who can open a file can lock it.
    _lock: FileLock,
}

impl GenerationPage {
    /// Serves the page at `path`, makes it if it is missing, and bumps it: a clone may have happened while no process
    /// served it. Makes the directory if it is missing and its parent is there.
    ///
    /// # Errors
    ///
    /// [`PageError::Held`] while another process serves it; [`PageError::File`].
    pub fn create(path: &Path) -> Result<Self, PageError> {
        let _ = path.parent().map(std::fs::create_dir);
        let (directory, name) = Directory::of(path)?;
        let lock_name = [".".as_ref(), name, ".lock".as_ref()].into_iter();
        let lock_name: OsString = lock_name.collect();
        let lock = match directory.lock(&lock_name) {
            Err(FileFault::Busy) => return Err(PageError::Held(holder(&directory, &lock_name))),
            lock => lock?,
        };
        // For messages to others only.
        let process = std::process::id().to_string();
        lock.note(&process);
        let served = Self {
            page: open_or_make(path)?,
            _lock: lock,
        };
        served.bump();
        Ok(served)
    }

    /// Changes the word: every tap of every process takes a fresh key at its next read. Returns the new word.
    pub fn bump(&self) -> u64 {
        self.bump_after(KernelReseed::NotTried)
    }

    /// The same, and says what became of the kernel's generator before.
    pub fn bump_after(&self, kernel: KernelReseed) -> u64 {
        change(&self.page, kernel)
    }

    /// Says of the word `number` that the kernel's generator could not take new keys, unless another process has changed the
    /// word since.
    pub fn note_failure(&self, number: u64) {
        note_kernel(&self.page, number, KernelReseed::Failed);
    }

    /// Whether the page says that the kernel's generator took new keys for the present word, or could not.
    #[must_use]
    pub fn is_kernel_noted(&self) -> bool {
        let (number, noted) = (self.current(), self.page.word(KERNEL_OFFSET));
        noted == number || noted == !number
    }

    /// The word now.
    #[must_use]
    pub fn current(&self) -> u64 {
        self.page.word(CLONES_OFFSET)
    }
}

/// The fate of the kernel's own generator before the page changed. Without new keys getrandom(2) may return the same in two
/// copies for a minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KernelReseed {
    /// It was not tried. A process that serves the page makes up for it, and changes the page once more.
    NotTried,
    /// It took new keys, by order or since the kernel had the notice itself.
    Done,
    /// It could not be done.
    Failed,
}

/// Changes the word of the page at `path`, whether a process serves it or not, and makes the page if it is missing.
/// Returns the new word.
///
/// # Errors
///
/// The reason why it cannot be written.
pub fn bump(path: &Path) -> Result<u64, PageError> {
    bump_after(path, KernelReseed::NotTried)
}

/// The same, and says what became of the kernel's generator before.
///
/// # Errors
///
/// The reason why it cannot be written.
pub fn bump_after(path: &Path, kernel: KernelReseed) -> Result<u64, PageError> {
    let _ = path.parent().map(std::fs::create_dir);
    Ok(change(&open_or_make(path)?, kernel))
}

/// Changes the word, says what became of the kernel, and wakes the threads that wait for a change. Returns the new word.
fn change(page: &SharedPageMut, kernel: KernelReseed) -> u64 {
    let number = page.add(CLONES_OFFSET, 1);
    note_kernel(page, number, kernel);
    page.wake_waiters(CLONES_OFFSET);
    number
}

/// The word for the kernel: the number, or its complement. If another process changes the number between the two steps, no
/// reader believes this word; the process that serves the page then notes the new number.
fn note_kernel(page: &SharedPageMut, number: u64, kernel: KernelReseed) {
    let noted = match kernel {
        KernelReseed::NotTried => return,
        KernelReseed::Done => number,
        KernelReseed::Failed => !number,
    };
    if page.word(CLONES_OFFSET) == number {
        page.store(KERNEL_OFFSET, noted);
    }
}

/// The word of the page at `path`.
///
/// # Errors
///
/// The reason why an engine does not trust it.
pub fn current(path: &Path) -> Result<u64, PageError> {
    map(path).map(|(page, _)| page.word(CLONES_OFFSET))
}

/// Maps the page to be watched; also returns what distinguishes it from a page that replaces it.
pub(super) fn map(path: &Path) -> Result<(SharedPage, u64), PageError> {
    let file = TrustedFile::open(path, Access::Read)?;
    if file.bytes() != PAGE_BYTES as u64 {
        return Err(PageError::NotAPage);
    }
    let page = SharedPage::map(&file)?;
    counter(&page).ok_or(PageError::NotAPage)?;
    Ok((page, file.identity().inode))
}

/// Maps the page to be written, and makes it if it is missing. A file that is not a page stays as it is; only a page that
/// was cut, or an empty file, is replaced.
fn open_or_make(path: &Path) -> Result<SharedPageMut, PageError> {
    const TRIES: usize = 10;
    for _ in 0..TRIES {
        match map(path) {
            Ok(_) => {
                let file = TrustedFile::open(path, Access::ReadWrite)?;
                return Ok(SharedPage::map_to_write(&file)?);
            }
            Err(PageError::File(FileFault::Busy)) => os::pause(),
            Err(error) if error.is_absent() => make(path)?,
            Err(PageError::NotAPage) if is_cut(path)? => make(path)?,
            Err(error) => return Err(error),
        }
    }
    Err(PageError::File(FileFault::Busy))
}

/// Whether the file is the beginning of a page, or empty.
fn is_cut(path: &Path) -> Result<bool, PageError> {
    let mut start = [0; MAGIC.len()];
    let length = TrustedFile::open(path, Access::Read)?.read(&mut start)?;
    Ok(start[..length] == MAGIC[..length])
}

/// Puts a new page at `path`, in one step.
fn make(path: &Path) -> Result<(), PageError> {
    // Not the word of a page that was here before: a process that watches the old page must see a new word.
    let (mut entropy, mut number) = (FreshEntropy::EMPTY, [0; 8]);
    number.copy_from_slice(&entropy.gather()[..8]);
    let (directory, name) = Directory::of(path)?;
    let mut next = directory.begin_next(name)?;
    // Another process may have made a page while this one waited for its turn.
    if map(path).is_ok() {
        return Ok(());
    }
    next.write(&new_page(number))?;
    Ok(next.replace(PAGE_MODE)?)
}

/// The process that the lock file names. For the message only: nothing is sent to a stored number.
fn holder(directory: &Directory, lock_name: &OsStr) -> u32 {
    let mut buffer = [0; 16];
    let file = directory.open_file(lock_name, Access::Read);
    let length = file.and_then(|file| file.read(&mut buffer)).unwrap_or(0);
    let text = core::str::from_utf8(&buffer[..length]).unwrap_or_default();
    text.parse().unwrap_or(0)
}

/// `VCLK`.
const MAGIC: [u8; 4] = *b"VCLK";
const VERSION: u16 = 1;
/// The page contains no time.
const COUNTER_INVALID: u8 = 0xff;
/// `VMCLOCK_FLAG_VM_GEN_COUNTER_PRESENT`.
const COUNTS_CLONES: u64 = 1 << 8;
const DISRUPTION_OFFSET: usize = 16;
const FLAGS_OFFSET: usize = 24;
/// `vm_generation_counter`: the word that a clone changes.
pub(super) const CLONES_OFFSET: usize = 104;
/// Past all fields of a vmclock: the number for which the kernel's generator took new keys; its complement if that failed.
const KERNEL_OFFSET: usize = 2048;
const PAGE_BYTES: usize = 4096;

/// A generation page: the counter alone is in use, and begins with `number`.
fn new_page(number: [u8; 8]) -> [u8; PAGE_BYTES] {
    let mut page = [0; PAGE_BYTES];
    page[..4].copy_from_slice(&MAGIC);
    page[4..8].copy_from_slice(&(PAGE_BYTES as u32).to_le_bytes());
    page[8..10].copy_from_slice(&VERSION.to_le_bytes());
    page[10] = COUNTER_INVALID;
    page[FLAGS_OFFSET..][..8].copy_from_slice(&COUNTS_CLONES.to_le_bytes());
    page[CLONES_OFFSET..][..8].copy_from_slice(&number);
    page
}

/// The offset of the word that changes when the machine is cloned, or `None` if this is not such a page.
fn counter(page: &SharedPage) -> Option<usize> {
    let size = size(page)?;
    let counts_clones = u64::from_le(page.word(FLAGS_OFFSET)) & COUNTS_CLONES != 0;
    (counts_clones && size >= CLONES_OFFSET + 8).then_some(CLONES_OFFSET)
}

/// The offset of the word that changes when the machine is cloned or moved, the only event that older hypervisors
/// count.
fn disruption_marker(page: &SharedPage) -> Option<usize> {
    size(page).map(|_| DISRUPTION_OFFSET)
}

/// How many bytes count, as the page says itself.
fn size(page: &SharedPage) -> Option<usize> {
    let head = page.word(0).to_ne_bytes();
    let size = u32::from_le_bytes([head[4], head[5], head[6], head[7]]) as usize;
    let version = u64::from_le(page.word(8)) as u16;
    (head[..4] == MAGIC && version == VERSION && size >= FLAGS_OFFSET + 8).then_some(size)
}

/// The path of the hypervisor's clock in Linux 6.13 and later.
pub const VMCLOCK_PATH: &str = "/dev/vmclock0";

/// Maps the page. Also returns the offset of the word that changes when the machine is cloned; on older hypervisors
/// that word also changes when the machine is moved.
pub(super) fn map_vmclock(device: impl AsFd) -> Option<(SharedPage, usize)> {
    let page = SharedPage::map(device).ok()?;
    let offset = counter(&page).or_else(|| disruption_marker(&page))?;
    Some((page, offset))
}
