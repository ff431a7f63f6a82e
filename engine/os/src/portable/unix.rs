//! macOS and the BSDs. Tests build this on Linux too, by `--cfg wellspring_test_portable`.
//!
//! ```text
//! pages           memory that the kernel wipes in a child, except on macOS
//! signal_mask     the signals that a thread blocks
//! futex           sleep until a word changes
//! threads         they have no numbers here
//! exit_key        calls a function when a thread ends
//! users           of this process
//! random          the system's generator
//! clock           clocks
//! limits          how long a file this process may write
//! process_groups  processes that are killed together
//! ```

pub(crate) mod signal_mask {
    //! The signals that a thread blocks, as libc sees them.

    use core::fmt;
    use core::mem::MaybeUninit;

    /// The signals.
    #[derive(Clone, Copy)]
    pub(crate) struct Mask(libc::sigset_t);

    impl fmt::Debug for Mask {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("Mask")
        }
    }

    /// Blocks all signals of this thread. Returns the mask before.
    pub(crate) fn block_all() -> Mask {
        let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: both pointers are to sets, which the two functions fill in. `pthread_sigmask` does not fail with them, and
        // neither sets errno.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
            Mask(before.assume_init())
        }
    }

    /// Sets the mask of this thread.
    pub(crate) fn restore(mask: Mask) {
        // SAFETY: the pointer is to a set.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const mask.0, core::ptr::null_mut())
        };
    }

    /// Whether no signal is blocked.
    pub(crate) fn is_empty(mask: Mask) -> bool {
        // SAFETY: the pointer is to a set.
        (1..32).all(|signal| unsafe { libc::sigismember(&raw const mask.0, signal) } == 0)
    }

    /// Blocks all signals of this thread until it ends: for a thread that the program did not start, and that
    /// must not run the program's handlers.
    pub fn block_for_good() {
        block_all();
    }
}

pub(crate) mod futex {
    //! Sleep until a word changes. Each of these systems has its own call for that, and Apple's is private. Here the waiting
    //! thread looks again after 50 microseconds: it waits for a lock that is held for less than a microsecond.

    use crate::os_error::keep_errno;
    use core::sync::atomic::{AtomicU32, Ordering};

    /// Sleeps for a short time, if the word has this value.
    pub(crate) fn wait(word: &AtomicU32, value: u32, _timeout_ms: u32) {
        let time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 50_000,
        };
        if word.load(Ordering::Relaxed) == value {
            // SAFETY: the pointer is to a `timespec`.
            keep_errno(|| unsafe { libc::nanosleep(&raw const time, core::ptr::null_mut()) });
        }
    }

    /// Nothing: the thread that waits looks by itself.
    pub(crate) fn wake_one(_: &AtomicU32) {}
}

pub(crate) mod threads {
    //! Threads have no number here that another thread could ask about.

    /// The system's number of this thread: none.
    pub(crate) fn number() -> u32 {
        0
    }

    /// Whether the process has no thread of that number: not known.
    pub(crate) fn is_gone(_: u32, _: u32) -> bool {
        false
    }

    /// Makes every thread of the process see what this thread stored before the call, before what it stores later:
    /// the system cannot.
    pub(crate) fn order_all() -> bool {
        false
    }
}

pub(crate) mod exit_key {
    //! A thread-specific key of the C library, whose destructor runs when a thread ends.

    use core::ffi::c_void;
    use core::ptr;

    /// A new key. `None` if the system has none left.
    pub(crate) fn create(destructor: unsafe extern "C" fn(*mut c_void)) -> Option<u32> {
        let mut key = 0;
        // SAFETY: the pointer is to the key, and the destructor may be called with any argument.
        let answer = unsafe { libc::pthread_key_create(&raw mut key, Some(destructor)) };
        // A key is a small number.
        (answer == 0).then_some(key as u32)
    }

    /// Deletes a key. Its destructor is not called any more.
    pub(crate) fn delete(key: u32) {
        // SAFETY: libc checks the number.
        unsafe { libc::pthread_key_delete(key as libc::pthread_key_t) };
    }

    /// Sees to it that the destructor is called when this thread ends. Returns whether the system agreed.
    pub(crate) fn set(key: u32) -> bool {
        // SAFETY: libc checks the number. Any value but null has the destructor called.
        unsafe { libc::pthread_setspecific(key as libc::pthread_key_t, ptr::dangling()) == 0 }
    }

    /// Whether [`set`] may allocate memory: on macOS each thread has room for all keys.
    pub(crate) fn may_allocate(_: u32) -> bool {
        !cfg!(target_vendor = "apple")
    }
}

pub mod users {
    //! Users.

    /// The user whose rights this process has.
    #[must_use]
    pub fn effective_user() -> u32 {
        // SAFETY: geteuid(2) takes nothing and cannot fail.
        unsafe { libc::geteuid() }
    }

    /// The user who started this process, whatever rights it has taken since.
    #[cfg(target_os = "linux")]
    #[must_use]
    pub fn real_user() -> u32 {
        // SAFETY: getuid(2) takes nothing and cannot fail.
        unsafe { libc::getuid() }
    }

    /// Whether root has a number: always.
    pub(crate) fn root_has_number() -> bool {
        true
    }

    /// Whether the owner of a file may be any of several users, who share this number: not on these systems.
    #[must_use]
    pub fn has_no_number(_: u32) -> bool {
        false
    }
}

pub(crate) mod random {
    //! The system's generator.

    use crate::os_error::{OsError, errno, keep_errno};

    /// Fills up to 256 bytes by getentropy(2), which waits only until the system's generator was seeded once.
    pub(crate) fn fill(destination: &mut [u8]) -> Result<(), OsError> {
        let (start, length) = (destination.as_mut_ptr().cast(), destination.len());
        keep_errno(|| {
            // SAFETY: the range is ours to write.
            match unsafe { libc::getentropy(start, length) } {
                0 => Ok(()),
                // SAFETY: this thread's own number.
                _ => Err(OsError::new(unsafe { *errno() })),
            }
        })
    }
}

pub(crate) mod clock {
    //! Clocks.

    #[cfg(target_vendor = "apple")]
    const AWAKE: libc::clockid_t = libc::CLOCK_UPTIME_RAW;
    #[cfg(not(target_vendor = "apple"))]
    const AWAKE: libc::clockid_t = libc::CLOCK_MONOTONIC;

    /// FreeBSD and NetBSD have one clock for both: there a suspend is not noticed.
    #[cfg(target_os = "linux")]
    const WITH_SLEEP: libc::clockid_t = libc::CLOCK_BOOTTIME;
    #[cfg(not(target_os = "linux"))]
    const WITH_SLEEP: libc::clockid_t = libc::CLOCK_MONOTONIC;

    /// The time since boot in nanoseconds, without the time spent asleep where the system can tell.
    pub(crate) fn awake_ns() -> u64 {
        time_ns(AWAKE)
    }

    /// The same, with the time spent asleep.
    pub(crate) fn with_sleep_ns() -> u64 {
        time_ns(WITH_SLEEP)
    }

    /// The time that this thread has spent on a CPU, in nanoseconds.
    pub(crate) fn of_thread_ns() -> u64 {
        time_ns(libc::CLOCK_THREAD_CPUTIME_ID)
    }

    fn time_ns(clock: libc::clockid_t) -> u64 {
        // SAFETY: all zeros is a `timespec`, and the pointer is to one.
        let time = unsafe {
            let mut time: libc::timespec = core::mem::zeroed();
            libc::clock_gettime(clock, &raw mut time);
            time
        };
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }
}

pub(crate) mod limits {
    //! The limits of this process.

    /// Whether this process may make a file of `bytes`. Beyond its limit, `RLIMIT_FSIZE`, write(2) ends the process by a
    /// signal.
    #[must_use]
    pub fn may_write_file(bytes: u64) -> bool {
        // SAFETY: all zeros is an `rlimit`, and the pointer is to one.
        let (answer, limit) = unsafe {
            let mut limit: libc::rlimit = core::mem::zeroed();
            (libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit), limit)
        };
        answer != 0 || i128::from(bytes) <= i128::from(limit.rlim_cur)
    }

    /// How many bytes this process may lock in memory, `RLIMIT_MEMLOCK`; `None` if there is no limit.
    pub(crate) fn locked_memory_limit() -> Option<u64> {
        // SAFETY: all zeros is an `rlimit`, and the pointer is to one.
        let (answer, limit) = unsafe {
            let mut limit: libc::rlimit = core::mem::zeroed();
            (libc::getrlimit(libc::RLIMIT_MEMLOCK, &raw mut limit), limit)
        };
        let is_limited = answer == 0 && limit.rlim_cur != libc::RLIM_INFINITY;
        is_limited.then(|| u64::try_from(limit.rlim_cur).unwrap_or(u64::MAX))
    }
}

pub(crate) mod process_groups {
    //! Processes that are killed together.

    /// Kills the process group of the process `leader`. Does nothing if it does not exist.
    pub fn kill_process_group(leader: u32) {
        signal_process_group(leader, libc::SIGKILL);
    }

    /// Whether a process of the group of `leader` exists.
    #[must_use]
    pub fn process_group_exists(leader: u32) -> bool {
        signal_process_group(leader, 0)
    }

    fn signal_process_group(leader: u32, signal: libc::c_int) -> bool {
        let Some(group @ 1..) = i32::try_from(leader).ok() else {
            return false;
        };
        // SAFETY: kill(2) takes two numbers.
        unsafe { libc::kill(-group, signal) == 0 }
    }
}

pub(crate) mod pages {
    //! Pages that a child finds zeroed, by mmap(2) and mlock(2).

    use crate::os_error::keep_errno;
    use core::ffi::c_void;
    use core::ptr;
    use core::ptr::NonNull;

    /// Maps zeroed pages, which no core dump has where the system can leave them out. Returns whether a child finds them zeroed
    /// again, after every kind of fork.
    pub(crate) fn map(bytes: usize) -> Option<(NonNull<u8>, bool)> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANON;
        keep_errno(|| {
            // SAFETY: a new mapping where the kernel likes; nothing else uses it.
            let start = unsafe { libc::mmap(ptr::null_mut(), bytes, access, flags, -1, 0) };
            if start == libc::MAP_FAILED {
                return None;
            }
            leave_out_of_dumps(start, bytes);
            // SAFETY: the mapping is new.
            let is_wiped = unsafe { have_wiped(start, bytes) };
            Some((NonNull::new(start.cast::<u8>())?, is_wiped))
        })
    }

    /// Asks the kernel to zero a mapping in each child, by minherit(2), or by madvise(2) on Linux. Returns whether it will: not
    /// on macOS, nor where a test says so.
    ///
    /// # Safety
    ///
    /// The range is a mapping.
    unsafe fn have_wiped(_start: *mut c_void, _bytes: usize) -> bool {
        #[cfg(any(target_vendor = "apple", wellspring_test_at_fork))]
        return false;
        // SAFETY: the advice changes what a child reads, and nothing in this process.
        #[cfg(all(target_os = "linux", not(wellspring_test_at_fork)))]
        return unsafe { libc::madvise(_start, _bytes, libc::MADV_WIPEONFORK) } == 0;
        // SAFETY: as above.
        #[cfg(target_os = "freebsd")]
        return unsafe { libc::minherit(_start, _bytes, libc::INHERIT_ZERO) } == 0;
        // SAFETY: as above.
        #[cfg(target_os = "netbsd")]
        return unsafe { libc::minherit(_start, _bytes, libc::MAP_INHERIT_ZERO) } == 0;
    }

    /// Puts fresh zeroed pages of the same kind in the place of old ones. Returns `false`, and changes nothing, where the
    /// system has no memory.
    ///
    /// # Safety
    ///
    /// The range is from [`map`].
    pub(crate) unsafe fn renew(start: *mut u8, bytes: usize) -> bool {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANON | libc::MAP_FIXED;
        keep_errno(|| {
            // SAFETY: the caller's promise: the mapping is ours to replace.
            let fresh = unsafe { libc::mmap(start.cast(), bytes, access, flags, -1, 0) };
            if fresh != libc::MAP_FAILED {
                leave_out_of_dumps(fresh, bytes);
            }
            fresh != libc::MAP_FAILED
        })
    }

    /// macOS writes no core dumps unless it is told to, and has no such advice; nor has NetBSD.
    fn leave_out_of_dumps(_start: *mut c_void, _bytes: usize) {
        #[cfg(target_os = "freebsd")]
        // SAFETY: the advice changes no byte.
        unsafe {
            libc::madvise(_start, _bytes, libc::MADV_NOCORE);
        }
        #[cfg(target_os = "linux")]
        // SAFETY: as above.
        unsafe {
            libc::madvise(_start, _bytes, libc::MADV_DONTDUMP);
        }
    }

    /// Unmaps pages.
    ///
    /// # Safety
    ///
    /// The range is from [`map`], and no code uses it any more.
    pub(crate) unsafe fn unmap(start: *mut u8, bytes: usize) {
        // SAFETY: the caller's promise.
        keep_errno(|| unsafe { libc::munmap(start.cast(), bytes) });
    }

    /// Locks pages in memory. Returns whether the system agreed.
    ///
    /// # Safety
    ///
    /// The range is from [`map`].
    pub(crate) unsafe fn lock(start: *mut u8, bytes: usize) -> bool {
        // SAFETY: mlock changes no byte, and checks the range itself.
        keep_errno(|| unsafe { libc::mlock(start.cast(), bytes) }) == 0
    }

    /// The same. These systems lock all pages at once, untouched ones too.
    ///
    /// # Safety
    ///
    /// The range is from [`map`].
    pub(crate) unsafe fn lock_when_touched(start: *mut u8, bytes: usize) -> bool {
        // SAFETY: the caller's promise.
        unsafe { lock(start, bytes) }
    }

    /// Nothing: all memory is of one node here.
    ///
    /// # Safety
    ///
    /// None is needed.
    pub(crate) unsafe fn prefer_node(_: *mut u8, _: usize, _: u32) {}
}
