//! Four words for each thread: the state of a generator that keeps no secret, and that neither a child process nor a
//! signal handler must repeat.

use crate::fork_stamp;
use core::cell::Cell;
use core::ptr;
use core::sync::atomic::{AtomicU64, Ordering, compiler_fence};

/// The stamp of a thread whose words were never stored.
const UNSET: u64 = u64::MAX - 1;
/// The stamp of a thread whose words are in use.
const IN_USE: u64 = u64::MAX;

/// The words of a thread.
#[repr(C, align(64))]
struct ThreadWords {
    /// The [`fork_stamp`] of the process in which the words were stored; or [`UNSET`], or [`IN_USE`].
    stamp: Cell<u64>,
    /// Atomic, only so that the compiler loads all words first and keeps their order. Without that it loaded the last two
    /// exchanged, and a draw of xoshiro256++ took 1.7 ns in place of 1.4 on Sapphire Rapids.
    words: [AtomicU64; 4],
}

thread_local! {
    static WORDS: ThreadWords = const {
        ThreadWords {
            stamp: Cell::new(UNSET),
            words: [const { AtomicU64::new(0) }; 4],
        }
    };
}

/// The words of the calling thread, in use until this ends, by a panic too.
///
/// A signal handler meanwhile finds them in use, and has to do without. A handler that leaves by siglongjmp leaves them
/// in use for good.
pub struct Words<'a> {
    /// `None`: a stand-in, which stores nothing.
    thread: Option<&'a ThreadWords>,
    process: u64,
    /// The thread's stamp after this.
    after: u64,
}

impl Words<'_> {
    /// Takes the words that this thread stored in this process. `None` if it has stored none, or if they are in use.
    #[must_use]
    #[inline(always)]
    pub fn take() -> Option<Self> {
        let (thread, process) = (thread_words(), fork_stamp::current());
        (thread.stamp.get() == process).then(|| Self::new(thread, process, process))
    }

    /// Takes the place of the words, to store new ones. If they are in use, or if the system has no memory that a fork wipes,
    /// the result is a stand-in, which stores nothing.
    #[must_use]
    pub fn take_to_store() -> Self {
        let (thread, process) = (thread_words(), fork_stamp::get_or_make());
        if thread.stamp.get() == IN_USE || process == fork_stamp::NONE {
            return Self {
                thread: None,
                process,
                after: UNSET,
            };
        }
        Self::new(thread, process, UNSET)
    }

    #[inline(always)]
    fn new(thread: &'static ThreadWords, process: u64, after: u64) -> Self {
        thread.stamp.set(IN_USE);
        compiler_fence(Ordering::SeqCst);
        Self {
            thread: Some(thread),
            process,
            after,
        }
    }

    /// The words; zeros in a stand-in.
    #[must_use]
    #[inline(always)]
    pub fn load(&self) -> [u64; 4] {
        let load = |thread: &ThreadWords| {
            let words = thread.words.each_ref();
            words.map(|word| word.load(Ordering::Relaxed))
        };
        self.thread.map_or([0; 4], load)
    }

    /// Stores words in their place.
    #[inline(always)]
    pub fn store(&mut self, words: [u64; 4]) {
        if let Some(thread) = self.thread {
            for (place, word) in thread.words.iter().zip(words) {
                place.store(word, Ordering::Relaxed);
            }
            self.after = self.process;
        }
    }

    /// Ends the use. Returns `false` if the process forked meanwhile, in a signal handler, and this is the child: then the
    /// parent has the same words.
    #[must_use]
    #[inline(always)]
    pub fn end(self) -> bool {
        fork_stamp::is_current(self.process)
    }
}

impl Drop for Words<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        if let Some(thread) = self.thread {
            thread.stamp.set(self.after);
        }
    }
}

/// Returns a reference, because the compiler does not inline a hot path inside `WORDS.with`.
#[inline(always)]
fn thread_words() -> &'static ThreadWords {
    let words = WORDS.with(ptr::from_ref);
    // SAFETY: they have no destructor and last as long as the thread, and this reference never leaves the thread: it is
    // private, and `Words`, which keeps it, is neither `Send` nor `Sync`.
    unsafe { &*words }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored() -> Option<[u64; 4]> {
        let words = Words::take()?;
        let found = words.load();
        words.end().then_some(found)
    }

    fn store(new: [u64; 4]) {
        let mut words = Words::take_to_store();
        words.store(new);
        assert!(words.end());
    }

    #[test]
    fn words_are_of_the_thread_that_stored_them() {
        assert_eq!(stored(), None);
        store([1, 2, 3, 4]);
        assert_eq!(stored(), Some([1, 2, 3, 4]));
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(stored(), None));
        });
        store([5; 4]);
        assert_eq!(stored(), Some([5; 4]));
    }

    #[test]
    fn words_in_use_are_given_to_no_other_use_on_the_thread() {
        store([1; 4]);
        let words = Words::take().unwrap();
        assert!(Words::take().is_none());
        store([2; 4]);
        assert!(words.end());
        assert_eq!(stored(), Some([1; 4]));
    }

    #[test]
    fn words_that_were_not_stored_to_the_end_are_not_used() {
        store([1; 4]);
        drop(Words::take_to_store());
        assert_eq!(stored(), None);
    }

    #[cfg(unix)]
    #[test]
    #[cfg_attr(miri, ignore = "it knows no fork")]
    fn a_child_has_no_words_of_its_parent_and_notices_a_fork_under_their_use() {
        store([1; 4]);
        let words = Words::take().unwrap();
        // SAFETY: the child ends at once.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            let is_new = !words.end() && Words::take().is_none();
            // SAFETY: ends the child.
            unsafe { libc::_exit(i32::from(!is_new)) };
        }
        assert!(words.end());
        let mut status = -1;
        // SAFETY: the pointer is to the status.
        unsafe { libc::waitpid(pid, &raw mut status, 0) };
        assert_eq!(status, 0);
        assert_eq!(stored(), Some([1; 4]));
    }
}
