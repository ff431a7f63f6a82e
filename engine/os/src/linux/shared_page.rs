//! A page that others write: another process, through a file, or a hypervisor, through a device.

use crate::os_error::OsError;
use core::ffi::c_void;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use rustix::fd::AsFd;
use rustix::fs::{FileType, fstat};
use rustix::mm::{MapFlags, MremapFlags, ProtFlags};
use rustix::thread::futex;

/// The bytes of a mapping: one page.
pub(crate) const PAGE_BYTES: usize = 4096;

/// The first page of a file, shared with all processes that map it.
///
/// If another process truncates the file below the bytes that are read here, the kernel ends this process with a
/// SIGBUS. So map only a file that no other user can write, and that its owner replaces and never truncates.
#[derive(Debug)]
pub struct SharedPage(NonNull<u8>);

impl SharedPage {
    /// Maps the page, to be read.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub fn map(file: impl AsFd) -> Result<Self, OsError> {
        Self::map_for(file, ProtFlags::READ)
    }

    /// Maps the page, to be read and written.
    ///
    /// # Errors
    ///
    /// The system's error; `EINVAL` for anything but a regular file of at least one page, whose use would end this process.
    pub fn map_to_write(file: impl AsFd) -> Result<SharedPageMut, OsError> {
        let status = fstat(&file)?;
        let is_file = FileType::from_raw_mode(status.st_mode) == FileType::RegularFile;
        if !is_file || status.st_size < PAGE_BYTES as _ {
            return Err(OsError::new(libc::EINVAL));
        }
        Self::map_for(file, ProtFlags::READ | ProtFlags::WRITE).map(SharedPageMut)
    }

    fn map_for(file: impl AsFd, access: ProtFlags) -> Result<Self, OsError> {
        // SAFETY: a new mapping at an address that the kernel chooses; no other code of this process uses it.
        let start = unsafe {
            rustix::mm::mmap(
                ptr::null_mut(),
                PAGE_BYTES,
                access,
                MapFlags::SHARED,
                file,
                0,
            )
        };
        let start = start?;
        Ok(Self(
            NonNull::new(start.cast()).ok_or(OsError::new(libc::EINVAL))?,
        ))
    }

    /// The word at an offset, in this machine's byte order.
    ///
    /// # Panics
    ///
    /// When the offset is not a multiple of 8 within the page.
    #[must_use]
    pub fn word(&self, offset: usize) -> u64 {
        // SAFETY: in bounds and aligned, see `address`; mapped for as long as `self` lives. Every change writes the
        // whole word at once, and every value is a valid word. Rust defines only relaxed loads of memory that this
        // process cannot write: so the fence is separate.
        let word = unsafe { (*self.address(offset)).load(Ordering::Relaxed) };
        fence(Ordering::Acquire);
        word
    }

    /// The lower 32 bits of a word. The system calls alone use the reference, as an address.
    fn lower_half(&self, offset: usize) -> &AtomicU32 {
        let lower = if cfg!(target_endian = "big") { 4 } else { 0 };
        // SAFETY: within the mapping and aligned, see `address`.
        unsafe {
            let address = self.address(offset).cast::<u8>().add(lower);
            &*address.cast::<AtomicU32>()
        }
    }

    /// Gives the mapping away, for [`from_raw`](Self::from_raw).
    pub(crate) fn into_raw(self) -> NonNull<u8> {
        let start = self.0;
        core::mem::forget(self);
        start
    }

    /// Takes a mapping back.
    ///
    /// # Safety
    ///
    /// `start` is from [`into_raw`](Self::into_raw), and taken back once.
    pub(crate) unsafe fn from_raw(start: NonNull<u8>) -> Self {
        Self(start)
    }

    /// Maps the page in place of another one, which it unmaps. The addresses stay mapped at all times: the kernel does
    /// both under the lock that page faults wait for.
    ///
    /// # Safety
    ///
    /// A page is mapped at `place`, and no code minds that its bytes change.
    pub(crate) unsafe fn take_the_place_of(self, place: *mut u8) -> Result<NonNull<u8>, OsError> {
        let flags = MremapFlags::MAYMOVE;
        // SAFETY: this page is ours, and the caller's promise for the other one.
        let moved = unsafe {
            let (start, place) = (self.0.as_ptr().cast(), place.cast());
            rustix::mm::mremap_fixed(start, PAGE_BYTES, PAGE_BYTES, flags, place)
        }?;
        core::mem::forget(self);
        NonNull::new(moved.cast()).ok_or(OsError::new(libc::EINVAL))
    }

    /// Whether a word can be at an offset: a multiple of 8 within the page.
    pub(crate) fn has_word(offset: usize) -> bool {
        offset.is_multiple_of(8) && offset <= PAGE_BYTES - 8
    }

    pub(crate) fn address(&self, offset: usize) -> *mut AtomicU64 {
        assert!(Self::has_word(offset));
        // SAFETY: within the mapping.
        unsafe { self.0.as_ptr().add(offset).cast() }
    }
}

impl Drop for SharedPage {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours alone and ends here.
        let _ = unsafe { rustix::mm::munmap(self.0.as_ptr().cast::<c_void>(), PAGE_BYTES) };
    }
}

// SAFETY: the page is read and written by atomic words only, from any thread.
unsafe impl Send for SharedPage {}
// SAFETY: as above.
unsafe impl Sync for SharedPage {}

/// A [`SharedPage`] that is ours to write.
#[derive(Debug)]
pub struct SharedPageMut(SharedPage);

impl SharedPageMut {
    /// The word at an offset, as [`SharedPage::word`].
    #[must_use]
    pub fn word(&self, offset: usize) -> u64 {
        self.0.word(offset)
    }

    /// Stores a word, after everything stored before.
    pub fn store(&self, offset: usize, value: u64) {
        // SAFETY: as in `SharedPage::word`; the mapping was made to be written.
        unsafe { (*self.0.address(offset)).store(value, Ordering::Release) };
    }

    /// Adds to a word, which other processes may do at the same time. Returns the sum.
    pub fn add(&self, offset: usize, number: u64) -> u64 {
        // SAFETY: as above.
        let before = unsafe { (*self.0.address(offset)).fetch_add(number, Ordering::AcqRel) };
        before.wrapping_add(number)
    }

    /// The address of the lower 32 bits of a word, for the kernel.
    #[must_use]
    pub fn lower_half_address(&self, offset: usize) -> *const u32 {
        core::ptr::from_ref(self.0.lower_half(offset)).cast()
    }

    /// Wakes every thread, of any process, that waits by futex(2) for a change of the word's lower 32 bits.
    pub fn wake_waiters(&self, offset: usize) {
        let lower = self.0.lower_half(offset);
        let _ = futex::wake(lower, futex::Flags::empty(), i32::MAX as u32);
    }
}
