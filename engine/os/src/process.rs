//! The marks of one process: a number that a fork changes, words that a clone of the machine changes, whether it may still make
//! system calls, and words of its threads that no child repeats.

pub mod fork_stamp {
    //! A number that a fork of any kind changes: of this process, and in the memory of others.

    use crate::memory::Pages;
    use crate::system_calls;
    use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering, compiler_fence};

    /// No number yet. A fork wipes the number to this as well.
    pub(crate) const NONE: u64 = 0;

    /// A number in memory that a fork wipes. The child makes another one, which no process before it had.
    #[repr(transparent)]
    pub struct ForkStamp(AtomicU64);

    impl ForkStamp {
        /// No number yet.
        #[allow(
            clippy::declare_interior_mutable_const,
            reason = "zeroed memory holds it; nothing reads the constant itself"
        )]
        pub const ZERO: Self = Self(AtomicU64::new(NONE));

        /// The number. Makes it if needed.
        pub fn get_or_make(&self) -> u64 {
            /// In ordinary memory: a child goes on from where its parent was.
            static NEXT: AtomicU64 = AtomicU64::new(NONE + 1);

            match self.0.load(Ordering::Acquire) {
                NONE => {
                    let new = NEXT.fetch_add(1, Ordering::Relaxed);
                    let made =
                        self.0
                            .compare_exchange(NONE, new, Ordering::AcqRel, Ordering::Acquire);
                    made.map_or_else(|present| present, |_| new)
                }
                present => present,
            }
        }

        /// Whether it has this number still, after all before it in the program.
        #[inline(always)]
        pub fn is(&self, number: u64) -> bool {
            compiler_fence(Ordering::SeqCst);
            self.0.load(Ordering::Relaxed) == number
        }
    }

    /// The place of the process's stamp until a page is mapped.
    static NO_PAGE: ForkStamp = ForkStamp::ZERO;

    /// The stamp of the process, on a page that a fork wipes.
    static PROCESS: AtomicPtr<ForkStamp> = AtomicPtr::new((&raw const NO_PAGE).cast_mut());

    #[inline(always)]
    fn process() -> &'static ForkStamp {
        // SAFETY: `NO_PAGE`, or a word of a page that is never unmapped; only shared references to either are made.
        unsafe { &*PROCESS.load(Ordering::Acquire) }
    }

    /// The number of the process; [`NONE`] if it has none yet.
    #[inline(always)]
    pub(crate) fn current() -> u64 {
        process().0.load(Ordering::Relaxed)
    }

    /// Whether the process has this number, after all before it in the program.
    #[inline(always)]
    pub(crate) fn is_current(number: u64) -> bool {
        process().is(number)
    }

    /// The number of the process. Makes it if needed; [`NONE`] if the system has no memory that a fork wipes.
    pub(crate) fn get_or_make() -> u64 {
        if core::ptr::eq(process(), &raw const NO_PAGE) {
            if system_calls::are_forbidden() {
                return NONE;
            }
            let Ok(page) = Pages::map(4096) else {
                return NONE;
            };
            let (old, new) = ((&raw const NO_PAGE).cast_mut(), page.start().cast());
            let relaxed = Ordering::Relaxed;
            if PROCESS
                .compare_exchange(old, new.as_ptr(), Ordering::AcqRel, relaxed)
                .is_ok()
            {
                page.leak();
            }
        }
        process().get_or_make()
    }
}

pub mod clone_words {
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
}

pub mod sandbox {
    //! The switch after which reads make no system call, for a process that forbids them (seccomp).

    use crate::{fork_stamp, os, system_calls, vdso};
    use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

    /// Stops all system calls of reads: from now on, in this process and in every child, no part of this crate that a read
    /// uses makes one. A process calls it before it forbids them all (seccomp). A filter that is installed stays; if the
    /// system accepted none, [`undo`] takes this call back.
    ///
    /// - [`SignalsBlocked`](crate::signals::SignalsBlocked) marks the thread instead of changing its signal mask. A handler does
    ///   run then; [`SignalsBlocked::try_new`](crate::signals::SignalsBlocked::try_new) tells it that locks may be held.
    /// - [`Lock`](crate::lock::Lock) spins while another thread holds it.
    /// - [`VdsoRandom`](crate::vdso::VdsoRandom) yields no bytes: the vDSO makes a system call after each reseed of the
    ///   kernel's own generator, once a minute. [`os_random`](os::os_random) fails with `ENOSYS`.
    /// - A thread or an owned state gets a slot only if one is mapped and free:
    ///   [`ThreadStates::reserve`](crate::thread_state::ThreadStates::reserve) and
    ///   [`OwnedState::reserve`](crate::thread_state::OwnedState::reserve) map slots in advance.
    /// - [`current_cpu`](os::current_cpu) returns 0 if the system has no vDSO function for it. Only x86-64 has one.
    /// - [`cycles`](crate::cpu::cycles) is a clock of milliseconds on x86, where strict seccomp(2) takes the cycle counter.
    /// - [`now_ms`](os::now_ms) returns the time of this call from then on if the system has no vDSO function for clocks.
    pub fn prepare() {
        // The first call of each looks up the vDSO's functions and may open a file, so call both now.
        let (now_ms, _) = (os::now_ms(), os::current_cpu());
        // A generator of `thread_words` that is first used later finds the page mapped.
        let _ = fork_stamp::get_or_make();
        system_calls::forbid((!vdso::has_clock()).then_some(now_ms));
    }

    /// Takes back one call of [`prepare`]: the system accepted no filter. Code that another thread began in between may have
    /// done without a system call; it does nothing wrong. A thread that waits for a lock meanwhile is woken up to 100 ms late.
    ///
    /// Each call belongs to one of [`prepare`], so that a thread whose filter was refused does not take back what another
    /// thread prepared.
    pub fn undo() {
        system_calls::allow_again();
    }

    static STAMP: AtomicU64 = AtomicU64::new(fork_stamp::NONE);
    static OWNER: AtomicU32 = AtomicU32::new(0);

    /// In a child of fork(3), whose parent had said that its memory is its own: the child's is too. Otherwise a child that it
    /// makes by vfork(2) would be the first to say so.
    pub(crate) fn in_child() {
        if STAMP.load(Ordering::Relaxed) != fork_stamp::NONE && !is_prepared() {
            let _ = owns_memory();
        }
    }

    /// Whether this process owns its memory. A child of vfork(2) uses its parent's memory, and its filter does not bind the
    /// parent. The first call of a process, or of a copy that a fork made, says that it is; make it early.
    #[must_use]
    pub fn owns_memory() -> bool {
        let (stamp, process) = (fork_stamp::get_or_make(), os::process_number());
        if stamp != fork_stamp::NONE && STAMP.load(Ordering::Acquire) == stamp {
            return OWNER.load(Ordering::Relaxed) == process;
        }
        OWNER.store(process, Ordering::Relaxed);
        STAMP.store(stamp, Ordering::Release);
        true
    }

    /// Returns whether [`prepare`] was called, and not taken back.
    #[must_use]
    #[inline]
    pub fn is_prepared() -> bool {
        system_calls::are_forbidden()
    }
}

pub mod thread_words {
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
    pub struct StoredWords<'a> {
        /// `None`: a stand-in, which stores nothing.
        thread: Option<&'a ThreadWords>,
        process: u64,
        /// The thread's stamp after this.
        after: u64,
    }

    impl StoredWords<'_> {
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

    impl Drop for StoredWords<'_> {
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
            let words = StoredWords::take()?;
            let found = words.load();
            words.end().then_some(found)
        }

        fn store(new: [u64; 4]) {
            let mut words = StoredWords::take_to_store();
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
            let words = StoredWords::take().unwrap();
            assert!(StoredWords::take().is_none());
            store([2; 4]);
            assert!(words.end());
            assert_eq!(stored(), Some([1; 4]));
        }

        #[test]
        fn words_that_were_not_stored_to_the_end_are_not_used() {
            store([1; 4]);
            drop(StoredWords::take_to_store());
            assert_eq!(stored(), None);
        }

        #[cfg(unix)]
        #[test]
        #[cfg_attr(miri, ignore = "it knows no fork")]
        fn a_child_has_no_words_of_its_parent_and_notices_a_fork_under_their_use() {
            store([1; 4]);
            let words = StoredWords::take().unwrap();
            // SAFETY: the child ends at once.
            let pid = unsafe { libc::fork() };
            if pid == 0 {
                let is_new = !words.end() && StoredWords::take().is_none();
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
}
