//! Words that somebody else changes: another process, through a file, or a hypervisor, through a device.

use core::ffi::c_void;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering, compiler_fence};
use rustix::fd::AsFd;
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};
use std::sync::Mutex;

/// The bytes of a mapping: one page.
const PAGE_BYTES: usize = 4096;

/// The first page of a file, shared with whoever else has mapped it.
///
/// Whoever truncates the file below what is read here ends this process with a SIGBUS. So map only what nobody else
/// can write, and what its owner replaces and never truncates.
#[derive(Debug)]
pub struct SharedPage(NonNull<u8>);

impl SharedPage {
    /// Maps the page, to be read.
    ///
    /// # Errors
    ///
    /// The system's error number.
    pub fn map(file: impl AsFd) -> Result<Self, i32> {
        Self::map_for(file, ProtFlags::READ)
    }

    /// Maps the page, to be read and written.
    ///
    /// # Errors
    ///
    /// The system's error number.
    pub fn map_to_write(file: impl AsFd) -> Result<SharedPageMut, i32> {
        Self::map_for(file, ProtFlags::READ | ProtFlags::WRITE).map(SharedPageMut)
    }

    fn map_for(file: impl AsFd, access: ProtFlags) -> Result<Self, i32> {
        // SAFETY: a new mapping where the kernel likes; nobody else here knows of it.
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
        let start = start.map_err(Errno::raw_os_error)?;
        Ok(Self(NonNull::new(start.cast()).ok_or(libc::EINVAL)?))
    }

    /// The word at an offset, which is a multiple of 8 within the page. To be loaded, never stored to.
    ///
    /// # Panics
    ///
    /// When it is not.
    #[must_use]
    pub fn word(&self, offset: usize) -> u64 {
        // SAFETY: in bounds and aligned, see `address`; mapped for as long as `self` lives. All changes, whoever
        // makes them, are of the whole word at once, and every value is one.
        unsafe { (*self.address(offset)).load(Ordering::Acquire) }
    }

    fn address(&self, offset: usize) -> *mut AtomicU64 {
        assert!(offset.is_multiple_of(8) && offset <= PAGE_BYTES - 8);
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
}

/// How often what is watched can be replaced.
const MAX_PAGES: usize = 16;

/// What is watched where there is nothing to watch. On a cache line of its own.
#[repr(align(64))]
struct Still(AtomicU64);

static STILL: Still = Still(AtomicU64::new(0));

/// Up to two words of others, and the sum of them that was last acted upon.
///
/// Who makes something that must not be made again when the words change reads [`seen`](Self::seen) first, then makes
/// it, and then asks whether [`now`](Self::now) is still the same. Who acts on a change does so *before* he says so
/// by [`settle`](Self::settle): whoever sees the new number then sees what was done.
#[derive(Debug)]
pub struct Watched {
    words: [AtomicPtr<AtomicU64>; 2],
    seen: AtomicU64,
    /// All that was ever watched: a reader may be about to look at a page that was replaced.
    pages: Mutex<Vec<SharedPage>>,
}

impl Watched {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            words: [
                AtomicPtr::new((&raw const STILL.0).cast_mut()),
                AtomicPtr::new((&raw const STILL.0).cast_mut()),
            ],
            seen: AtomicU64::new(0),
            pages: Mutex::new(Vec::with_capacity(MAX_PAGES)),
        }
    }

    /// Watches the word at `offset` of `page` as the first or second (0 or 1), in place of what was watched before.
    /// `false`: another thread is at it, or was when this process was forked, or there were 16 already.
    pub fn watch(&self, number: usize, page: SharedPage, offset: usize) -> bool {
        let Ok(mut pages) = self.pages.try_lock() else {
            return false;
        };
        // Never grown: this may be a signal handler, which must not allocate.
        if pages.len() == MAX_PAGES {
            return false;
        }
        let word = page.address(offset);
        pages.push(page);
        self.words[number].store(word, Ordering::Release);
        true
    }

    /// The sum that was last acted upon.
    #[must_use]
    #[inline(always)]
    pub fn seen(&self) -> u64 {
        self.seen.load(Ordering::Acquire)
    }

    /// The sum of the words at this moment: after everything before it in the program, where a snapshot of the
    /// machine may be taken between any two instructions.
    #[must_use]
    #[inline(always)]
    pub fn now(&self) -> u64 {
        compiler_fence(Ordering::SeqCst);
        let word = |number: usize| {
            let word = self.words[number].load(Ordering::Acquire);
            // SAFETY: the static, or a word of a page in `pages`, which only grows while we live.
            unsafe { (*word).load(Ordering::Acquire) }
        };
        word(0).wrapping_add(word(1))
    }

    /// Says that `sum` was acted upon.
    pub fn settle(&self, sum: u64) {
        self.seen.store(sum, Ordering::Release);
    }
}

impl Default for Watched {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{File, OpenOptions};

    #[test]
    fn what_another_mapping_stores_is_seen_at_once() {
        let path = std::env::temp_dir().join(format!("wellspring-watched-{}", std::process::id()));
        std::fs::write(&path, [0; PAGE_BYTES]).unwrap();
        let file = OpenOptions::new().read(true).write(true).open(&path);
        let writer = SharedPage::map_to_write(file.unwrap()).unwrap();
        let watched = Watched::new();
        assert_eq!(watched.now(), watched.seen());
        let page = SharedPage::map(File::open(&path).unwrap()).unwrap();
        assert!(watched.watch(0, page, 64));
        assert_eq!(watched.now(), watched.seen());
        writer.store(64, 7);
        assert_eq!((watched.now(), watched.seen()), (7, 0));
        watched.settle(7);
        assert_eq!(watched.now(), watched.seen());
        std::fs::remove_file(path).unwrap();
    }
}
