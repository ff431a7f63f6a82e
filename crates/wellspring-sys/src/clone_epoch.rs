//! Whether this machine was cloned: words that another process or a hypervisor changes.

use crate::shared_page::SharedPage;
use core::hint::black_box;
use core::ptr::{self, NonNull};
use core::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering, compiler_fence, fence,
};

/// How many pages are kept for a word: a reader may be about to load the word of a page that was replaced a moment
/// ago. The 17th page takes the place of the first, so a reader that stood still between two instructions for 16
/// replacements would be ended. An engine looks for a new page once a minute.
const KEPT_PAGES: usize = 16;

/// The page that is watched if there is no other: zeros, on their own cache line. Never written.
#[repr(align(64))]
struct Still {
    _zeros: [u64; 8],
}

static STILL: Still = Still { _zeros: [0; 8] };

/// Up to two words that others change, and the sum of them that was last acted upon.
///
/// A read that must not be repeated in a clone loads [`handled`](Self::handled) first, then makes its bytes, and then
/// compares [`current`](Self::current). Code that acts on a change does so *before* it calls
/// [`mark_handled`](Self::mark_handled): a reader that sees the new number then sees what was done.
///
/// There is no lock: a child that was forked while another thread was in [`watch`](Self::watch) can watch as well.
#[derive(Debug)]
pub struct CloneEpoch {
    words: [Word; 2],
    handled: AtomicU64,
    is_watching: AtomicBool,
}

/// A word, and the pages that it was on.
#[derive(Debug)]
struct Word {
    /// On the last page, or [`STILL`].
    address: AtomicPtr<AtomicU64>,
    pages: [AtomicPtr<u8>; KEPT_PAGES],
    next_page: AtomicUsize,
}

impl Word {
    const fn new() -> Self {
        Self {
            address: AtomicPtr::new((&raw const STILL).cast_mut().cast()),
            pages: [const { AtomicPtr::new(ptr::null_mut()) }; KEPT_PAGES],
            next_page: AtomicUsize::new(0),
        }
    }

    fn watch(&self, page: SharedPage, offset: usize) {
        let address = page.address(offset);
        let place = self.next_page.fetch_add(1, Ordering::Relaxed) % KEPT_PAGES;
        let replaced = self.pages[place].swap(page.into_raw().as_ptr(), Ordering::AcqRel);
        self.address.store(address, Ordering::Release);
        unmap(replaced);
    }

    #[inline(always)]
    fn load(&self) -> u64 {
        let address = self.address.load(Ordering::Acquire);
        // SAFETY: `STILL`, or a word of a page in `pages`. It is only loaded from, as `STILL` requires. The page cannot be
        // written by this process, and of such memory Rust defines relaxed loads alone: so the fence comes extra. On
        // x86-64 it is no instruction.
        let word = unsafe { (*address).load(Ordering::Relaxed) };
        fence(Ordering::Acquire);
        word
    }
}

impl Drop for Word {
    fn drop(&mut self) {
        // The compiler must not write the loop out: 16 times.
        for page in self.pages.iter().take(black_box(KEPT_PAGES)) {
            unmap(page.load(Ordering::Relaxed));
        }
    }
}

fn unmap(page: *mut u8) {
    if let Some(page) = NonNull::new(page) {
        // SAFETY: it was taken out of `pages`, where `watch` put it, or `pages` is no more.
        drop(unsafe { SharedPage::from_raw(page) });
    }
}

impl CloneEpoch {
    /// Nothing is watched yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            words: [const { Word::new() }; 2],
            handled: AtomicU64::new(0),
            is_watching: AtomicBool::new(false),
        }
    }

    /// Whether a word is watched. If none is, [`current`](Self::current) never changes, and no read has to ask for it.
    #[must_use]
    #[inline(always)]
    pub fn is_watching(&self) -> bool {
        self.is_watching.load(Ordering::Relaxed)
    }

    /// Watches the word at `offset` of `page` as the first or second (0 or 1), in place of the one watched before.
    ///
    /// # Panics
    ///
    /// When `number` is above 1, or `offset` is no multiple of 8 within the page.
    pub fn watch(&self, number: usize, page: SharedPage, offset: usize) {
        self.words[number].watch(page, offset);
        self.is_watching.store(true, Ordering::Relaxed);
    }

    /// The sum that was last acted upon.
    #[must_use]
    #[inline(always)]
    pub fn handled(&self) -> u64 {
        self.handled.load(Ordering::Acquire)
    }

    /// The sum of the words at this moment: after everything before it in the program, where a snapshot of the
    /// machine may be taken between any two instructions.
    #[must_use]
    #[inline(always)]
    pub fn current(&self) -> u64 {
        compiler_fence(Ordering::SeqCst);
        self.words[0].load().wrapping_add(self.words[1].load())
    }

    /// Says that `sum` was acted upon.
    #[inline]
    pub fn mark_handled(&self, sum: u64) {
        self.handled.store(sum, Ordering::Release);
    }
}

impl Default for CloneEpoch {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_page::{PAGE_BYTES, SharedPageMut};
    use std::fs::{File, OpenOptions};
    use std::path::PathBuf;

    /// A file of one page, and the mapping by which it is written.
    fn page(name: &str) -> (PathBuf, SharedPageMut) {
        let name = format!("wellspring-epoch-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, [0; PAGE_BYTES]).unwrap();
        let file = OpenOptions::new().read(true).write(true).open(&path);
        (path, SharedPage::map_to_write(file.unwrap()).unwrap())
    }

    #[test]
    fn what_another_mapping_stores_is_seen_at_once() {
        let (path, writer) = page("seen");
        let epoch = CloneEpoch::new();
        assert_eq!(epoch.current(), epoch.handled());
        assert!(!epoch.is_watching());
        epoch.watch(0, SharedPage::map(File::open(&path).unwrap()).unwrap(), 64);
        assert!(epoch.is_watching());
        assert_eq!(epoch.current(), epoch.handled());
        writer.store(64, 7);
        assert_eq!((epoch.current(), epoch.handled()), (7, 0));
        epoch.mark_handled(7);
        assert_eq!(epoch.current(), epoch.handled());
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn the_hundredth_page_is_watched_and_the_other_word_still_is() {
        let (path, writer) = page("hundred");
        let map = || SharedPage::map(File::open(&path).unwrap()).unwrap();
        let epoch = CloneEpoch::new();
        epoch.watch(1, map(), 8);
        for _ in 0..100 {
            epoch.watch(0, map(), 64);
        }
        writer.store(64, 5);
        writer.store(8, 1000);
        assert_eq!(epoch.current(), 1005);
        std::fs::remove_file(path).unwrap();
    }
}
