//! Whether this machine was cloned: words that another process or a hypervisor changes.

use crate::os_error::OsError;
use crate::shared_page::SharedPage;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering, compiler_fence, fence};

/// The page that is used until another is watched: zeros, on their own cache line. Never written.
#[repr(align(64))]
struct Still {
    _zeros: [u64; 8],
}

static STILL: Still = Still { _zeros: [0; 8] };
const STILL_WORD: *const AtomicU64 = (&raw const STILL).cast();

/// Up to two words that others change, and the last sum of them that was acted upon.
///
/// A read that must not be repeated in a clone loads [`handled`](Self::handled) first, then makes its bytes, and then
/// compares [`sum`](Self::sum). Code that acts on a change does so *before* it calls
/// [`set_handled`](Self::set_handled): a reader that sees the new number then sees the result of that action.
///
/// There is no lock: a child that was forked while another thread was in [`watch`](Self::watch) can watch as well.
#[derive(Debug)]
pub struct CloneWords {
    words: [Word; 2],
    handled: AtomicU64,
}

/// A word, and the page that it is on.
#[derive(Debug)]
struct Word {
    /// On the page, or [`STILL`]. Null for the first word until either is watched: so a read with nothing to compare
    /// makes one load.
    address: AtomicPtr<AtomicU64>,
    /// The first page, or null. Later ones take its addresses: a reader may be about to load the word of a page that was
    /// replaced a moment ago.
    page: AtomicPtr<u8>,
}

impl Word {
    const fn new(address: *const AtomicU64) -> Self {
        Self {
            address: AtomicPtr::new(address.cast_mut()),
            page: AtomicPtr::new(ptr::null_mut()),
        }
    }

    fn watch(&self, page: SharedPage, offset: usize) -> Result<(), OsError> {
        let (new, none) = (page.address(0).cast(), ptr::null_mut());
        let first = self
            .page
            .compare_exchange(none, new, Ordering::AcqRel, Ordering::Acquire);
        let place = match first {
            Ok(_) => page.into_raw(),
            // SAFETY: this page is unmapped when this word is dropped, and nothing but the word is loaded from it.
            Err(place) => unsafe { page.take_the_place_of(place) }?,
        };
        let address = place.as_ptr().wrapping_byte_add(offset).cast();
        self.address.store(address, Ordering::Release);
        Ok(())
    }

    /// `None` where the address is null.
    #[inline(always)]
    fn load(&self) -> Option<u64> {
        let address = NonNull::new(self.address.load(Ordering::Acquire))?;
        // SAFETY: `STILL`, or a word of the page, which is unmapped when this is dropped. It is only loaded from, as
        // `STILL` requires. The page cannot be written by this process, and of such memory Rust defines relaxed loads
        // alone: so the fence comes extra. On x86-64 it compiles to no instruction.
        let word = unsafe { address.as_ref().load(Ordering::Relaxed) };
        fence(Ordering::Acquire);
        Some(word)
    }
}

impl Drop for Word {
    fn drop(&mut self) {
        if let Some(page) = NonNull::new(self.page.load(Ordering::Relaxed)) {
            // SAFETY: `watch` put it there, and the word is no more.
            let _page = unsafe { SharedPage::from_raw(page) };
        }
    }
}

impl CloneWords {
    /// Nothing is watched yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            words: [Word::new(ptr::null()), Word::new(STILL_WORD)],
            handled: AtomicU64::new(0),
        }
    }

    /// Watches the word at `offset` of `page` as the first or second (0 or 1), in place of the word watched before.
    ///
    /// # Errors
    ///
    /// The system's error if it cannot map the page in place of the one before, which stays watched.
    ///
    /// # Panics
    ///
    /// When `number` is above 1, or `offset` is not a multiple of 8 within the page.
    pub fn watch(&self, number: usize, page: SharedPage, offset: usize) -> Result<(), OsError> {
        assert!(SharedPage::has_word(offset));
        self.words[number].watch(page, offset)?;
        let (none, still) = (ptr::null_mut(), STILL_WORD.cast_mut());
        let first = &self.words[0].address;
        let _ = first.compare_exchange(none, still, Ordering::AcqRel, Ordering::Acquire);
        Ok(())
    }

    /// The sum that was last acted upon.
    #[must_use]
    #[inline(always)]
    pub fn handled(&self) -> u64 {
        self.handled.load(Ordering::Acquire)
    }

    /// The sum of the words at this moment: after everything before it in the program, where a snapshot of the
    /// machine may be taken between any two instructions. `None` if none is watched.
    #[must_use]
    #[inline(always)]
    pub fn watched_sum(&self) -> Option<u64> {
        compiler_fence(Ordering::SeqCst);
        Some(self.words[0].load()?.wrapping_add(self.words[1].load()?))
    }

    /// The same; 0 if no word is watched.
    #[must_use]
    #[inline(always)]
    pub fn sum(&self) -> u64 {
        self.watched_sum().unwrap_or(0)
    }

    /// Says that `sum` was acted upon.
    #[inline]
    pub fn set_handled(&self, sum: u64) {
        self.handled.store(sum, Ordering::Release);
    }
}

impl Default for CloneWords {
    fn default() -> Self {
        Self::new()
    }
}

// On Linux alone there are such pages.
#[cfg(all(test, target_os = "linux", not(wellspring_test_portable)))]
mod tests {
    use super::*;
    use crate::shared_page::{PAGE_BYTES, SharedPageMut};
    use std::fs::{File, OpenOptions};
    use std::path::PathBuf;

    /// A file of one page, and a mapping to write it.
    fn page(name: &str) -> (PathBuf, SharedPageMut) {
        let name = format!("wellspring-words-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, [0; PAGE_BYTES]).unwrap();
        let file = OpenOptions::new().read(true).write(true).open(&path);
        (path, SharedPage::map_to_write(file.unwrap()).unwrap())
    }

    #[test]
    fn what_another_mapping_stores_is_seen_at_once() {
        let (path, writer) = page("seen");
        let words = CloneWords::new();
        assert_eq!(words.sum(), words.handled());
        assert_eq!(words.watched_sum(), None);
        let mapped = SharedPage::map(File::open(&path).unwrap()).unwrap();
        words.watch(0, mapped, 64).unwrap();
        assert_eq!(words.watched_sum(), Some(0));
        assert_eq!(words.sum(), words.handled());
        writer.store(64, 7);
        assert_eq!((words.sum(), words.handled()), (7, 0));
        words.set_handled(7);
        assert_eq!(words.sum(), words.handled());
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn the_hundredth_page_is_watched_and_the_other_word_still_is() {
        let (path, writer) = page("hundred");
        let map = || SharedPage::map(File::open(&path).unwrap()).unwrap();
        let words = CloneWords::new();
        words.watch(1, map(), 8).unwrap();
        for _ in 0..100 {
            words.watch(0, map(), 64).unwrap();
        }
        writer.store(64, 5);
        writer.store(8, 1000);
        assert_eq!(words.sum(), 1005);
        std::fs::remove_file(path).unwrap();
    }
}
