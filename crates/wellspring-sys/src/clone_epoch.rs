//! Whether this machine or process was cloned: words that another process or a hypervisor changes.

use crate::shared_page::SharedPage;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering, compiler_fence};
use std::sync::Mutex;

/// How often what is watched can be replaced.
const MAX_PAGES: usize = 16;

/// What is watched where there is nothing to watch. On a cache line of its own.
#[repr(align(64))]
struct Still(AtomicU64);

static STILL: Still = Still(AtomicU64::new(0));

/// Up to two words of others, and the sum of them that was last acted upon.
///
/// Who makes something that must not be made again when the words change reads [`handled`](Self::handled) first, then makes
/// it, and then asks whether [`current`](Self::current) is still the same. Who acts on a change does so *before* he says so
/// by [`mark_handled`](Self::mark_handled): whoever sees the new number then sees what was done.
#[derive(Debug)]
pub struct CloneEpoch {
    words: [AtomicPtr<AtomicU64>; 2],
    handled: AtomicU64,
    /// All that was ever watched: a reader may be about to look at a page that was replaced.
    pages: Mutex<Vec<SharedPage>>,
}

impl CloneEpoch {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            words: [
                AtomicPtr::new((&raw const STILL.0).cast_mut()),
                AtomicPtr::new((&raw const STILL.0).cast_mut()),
            ],
            handled: AtomicU64::new(0),
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
    pub fn handled(&self) -> u64 {
        self.handled.load(Ordering::Acquire)
    }

    /// The sum of the words at this moment: after everything before it in the program, where a snapshot of the
    /// machine may be taken between any two instructions.
    #[must_use]
    #[inline(always)]
    pub fn current(&self) -> u64 {
        compiler_fence(Ordering::SeqCst);
        let word = |number: usize| {
            let word = self.words[number].load(Ordering::Acquire);
            // SAFETY: the static, or a word of a page in `pages`, which only grows while we live.
            unsafe { (*word).load(Ordering::Acquire) }
        };
        word(0).wrapping_add(word(1))
    }

    /// Says that `sum` was acted upon.
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
    const PAGE_BYTES: usize = 4096;
    use std::fs::{File, OpenOptions};

    #[test]
    fn what_another_mapping_stores_is_seen_at_once() {
        let path = std::env::temp_dir().join(format!("wellspring-epoch-{}", std::process::id()));
        std::fs::write(&path, [0; PAGE_BYTES]).unwrap();
        let file = OpenOptions::new().read(true).write(true).open(&path);
        let writer = SharedPage::map_to_write(file.unwrap()).unwrap();
        let epoch = CloneEpoch::new();
        assert_eq!(epoch.current(), epoch.handled());
        let page = SharedPage::map(File::open(&path).unwrap()).unwrap();
        assert!(epoch.watch(0, page, 64));
        assert_eq!(epoch.current(), epoch.handled());
        writer.store(64, 7);
        assert_eq!((epoch.current(), epoch.handled()), (7, 0));
        epoch.mark_handled(7);
        assert_eq!(epoch.current(), epoch.handled());
        std::fs::remove_file(path).unwrap();
    }
}
