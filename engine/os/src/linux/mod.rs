//! Linux 3.17 or later: the first one with getrandom(2). Before 4.14 no kernel wipes a child, and `wipe_at_fork` does.
//!
//! ```text
//! pages         memory that the kernel wipes in a child
//! signal_mask   the signals that a thread blocks
//! futex         sleep until a word changes
//! threads       their numbers; whether one is gone
//! exit_key      calls a function when a thread ends
//! users         of this process, and those without a number
//! decimal       numbers in the files of the system
//! vdso          getrandom and clocks without a system call
//! os            getrandom(2), clocks, the CPU this thread runs on
//! shared_page   a page of a file that another process or a device writes
//! waker         wakes a thread that sleeps
//! ```

pub(crate) mod pages;
pub mod vdso;

pub(crate) mod futex {
    //! Sleep until a word changes, by futex(2).

    use core::sync::atomic::AtomicU32;
    use rustix::thread::futex;
    use rustix::time::Timespec;

    /// Sleeps while the word has this value, until [`wake_one`], a signal, or the end of the time.
    pub(crate) fn wait(word: &AtomicU32, value: u32, timeout_ms: u32) {
        let timeout = Timespec {
            tv_sec: i64::from(timeout_ms / 1000),
            tv_nsec: i64::from(timeout_ms % 1000 * 1_000_000),
        };
        let _ = futex::wait(word, futex::Flags::PRIVATE, value, Some(&timeout));
    }

    /// Wakes a thread that sleeps at the word, if there is one.
    pub(crate) fn wake_one(word: &AtomicU32) {
        let _ = futex::wake(word, futex::Flags::PRIVATE, 1);
    }
}

pub(crate) mod threads {
    //! Threads, by the numbers that the kernel gives them.

    use crate::os_error::{OsError, raw_call};
    use rustix::thread::{MembarrierCommand, membarrier};

    /// The system's number of this thread: the process number for its first thread; 0 where a filter refuses it.
    pub(crate) fn number() -> u32 {
        // SAFETY: gettid(2) takes nothing.
        let answer = raw_call(|| unsafe { libc::syscall(libc::SYS_gettid) });
        answer.map_or(0, |number| number as u32)
    }

    /// Whether the process has no thread of that number.
    pub(crate) fn is_gone(process: u32, thread: u32) -> bool {
        // SAFETY: signal 0 is never sent; the numbers are looked up and nothing else.
        let answer = raw_call(|| unsafe { libc::syscall(libc::SYS_tgkill, process, thread, 0) });
        answer == Err(OsError::new(libc::ESRCH))
    }

    /// Makes every thread of the process see what this thread stored before the call, before what it stores later.
    /// Returns whether the system can.
    pub(crate) fn order_all() -> bool {
        membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok()
            && membarrier(MembarrierCommand::PrivateExpedited).is_ok()
    }
}

pub(crate) mod exit_key {
    //! A thread-specific key of the C library, whose destructor runs when a thread ends.

    use core::ffi::c_void;
    use core::ptr;

    /// In glibc, setting one of the first 32 keys allocates nothing; a later one may call calloc(3).
    const ALWAYS_THERE: u32 = 32;

    /// A new key. `None` if the system has none left.
    pub(crate) fn create(destructor: unsafe extern "C" fn(*mut c_void)) -> Option<u32> {
        let mut key = 0;
        // SAFETY: the pointer is to the key, and the destructor may be called with any argument.
        let answer = unsafe { libc::pthread_key_create(&raw mut key, Some(destructor)) };
        (answer == 0).then_some(key)
    }

    /// Deletes a key. Its destructor is not called any more.
    pub(crate) fn delete(key: u32) {
        // SAFETY: libc checks the number.
        unsafe { libc::pthread_key_delete(key) };
    }

    /// Sees to it that the destructor is called when this thread ends. Returns whether the system agreed.
    pub(crate) fn set(key: u32) -> bool {
        // SAFETY: libc checks the number. Any value but null has the destructor called.
        unsafe { libc::pthread_setspecific(key, ptr::dangling()) == 0 }
    }

    /// Whether [`set`] may allocate memory.
    pub(crate) fn may_allocate(key: u32) -> bool {
        cfg!(target_env = "gnu") && key >= ALWAYS_THERE
    }
}

pub mod users {
    //! Users: of this process, and without a number.

    use super::decimal::take_number;
    use crate::descriptor::read_file;
    use crate::os_error::raw_call;

    /// The user whose rights this process has. Not from libc: fakeroot(1) replaces its answer, but not the owners that
    /// files have.
    #[must_use]
    pub fn effective_user() -> u32 {
        // The older call of these processors knows 16 bits only.
        #[cfg(any(target_arch = "x86", target_arch = "arm"))]
        const GETEUID: libc::c_long = libc::SYS_geteuid32;
        #[cfg(not(any(target_arch = "x86", target_arch = "arm")))]
        const GETEUID: libc::c_long = libc::SYS_geteuid;
        // SAFETY: geteuid(2) takes nothing. Where a filter refuses it, no file is ours.
        raw_call(|| unsafe { libc::syscall(GETEUID) }).map_or(u32::MAX, |user| user as u32)
    }

    /// The user who started this process, whatever rights it has taken since.
    #[must_use]
    pub fn real_user() -> u32 {
        #[cfg(any(target_arch = "x86", target_arch = "arm"))]
        const GETUID: libc::c_long = libc::SYS_getuid32;
        #[cfg(not(any(target_arch = "x86", target_arch = "arm")))]
        const GETUID: libc::c_long = libc::SYS_getuid;
        // SAFETY: getuid(2) takes nothing and cannot fail.
        unsafe { libc::syscall(GETUID) as u32 }
    }

    /// Whether the owner of a file may be any of several users, who share this number.
    #[must_use]
    pub fn has_no_number(owner: u32) -> bool {
        owner == overflow_user() && in_user_namespace()
    }

    /// Whether root has a number in this user namespace. "Yes" where the system does not say.
    pub(crate) fn root_has_number() -> bool {
        let mut buffer = [0; 512];
        let Some(text) = read_file(b"/proc/self/uid_map", &mut buffer) else {
            return true;
        };
        // Each line: the first user inside, the first user outside, and how many.
        let mut lines = text.split(|&byte| byte == b'\n');
        lines.any(|line| take_number(&mut line.trim_ascii_start()) == Some(0))
    }

    /// The number of every user without a number of their own: 65534, unless the administrator chose another.
    fn overflow_user() -> u32 {
        let mut buffer = [0; 16];
        let text = read_file(b"/proc/sys/kernel/overflowuid", &mut buffer);
        text.and_then(|mut text| take_number(&mut text))
            .unwrap_or(65534)
    }

    /// Whether this process sees fewer than all users of the host. "Yes" where the system does not say.
    fn in_user_namespace() -> bool {
        let mut buffer = [0; 64];
        let Some(mut text) = read_file(b"/proc/self/uid_map", &mut buffer) else {
            return true;
        };
        // The first user inside, the first user outside, and how many.
        let all_users = [0, 0, u32::MAX];
        !all_users.iter().all(|&number| {
            text = text.trim_ascii_start();
            take_number(&mut text) == Some(number)
        })
    }
}

mod decimal {
    //! Decimal numbers in the files of a system.

    /// Takes a decimal number off the beginning of a text. `None` if the text does not begin with a number up to
    /// `u32::MAX`.
    #[inline(never)]
    pub(super) fn take_number(text: &mut &[u8]) -> Option<u32> {
        let mut number = None;
        while let Some((digit @ b'0'..=b'9', rest)) = text.split_first() {
            let tens = number.unwrap_or(0_u32).checked_mul(10)?;
            number = Some(tens.checked_add(u32::from(digit - b'0'))?);
            *text = rest;
        }
        number
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_number_ends_before_what_is_no_digit_and_is_none_if_it_does_not_fit() {
            let take = |mut text: &'static [u8]| (take_number(&mut text), text);
            assert_eq!(take(b"0-3"), (Some(0), &b"-3"[..]));
            assert_eq!(take(b"4294967295\n"), (Some(u32::MAX), &b"\n"[..]));
            for wrong in [&b""[..], b"-1", b" 1", b"4294967296", b"99999999999"] {
                assert_eq!(take(wrong).0, None);
            }
        }
    }
}

pub mod os {
    //! getrandom(2), the clock, and the CPU this thread runs on.

    use crate::os_error::{OsError, raw_call};
    use crate::system_calls;
    #[cfg(all(target_pointer_width = "64", not(miri)))]
    use crate::vdso;
    use rustix::io::Errno;
    use rustix::rand::{GetRandomFlags, getrandom};

    pub use crate::descriptor::{Descriptor, open_device, read_file};

    /// Fills up to 256 bytes from getrandom(2), without waiting for the kernel's generator to be seeded.
    ///
    /// # Errors
    ///
    /// `EAGAIN` before the kernel's generator is seeded; `ENOSYS` or `EPERM` in a sandbox that forbids the call; `ENOSYS`
    /// after [`prepare`](crate::sandbox::prepare).
    pub fn os_random(destination: &mut [u8]) -> Result<usize, OsError> {
        if system_calls::are_forbidden() {
            return Err(Errno::NOSYS.into());
        }
        // Up to 256 bytes the call is atomic: never interrupted, never short.
        let length = destination.len().min(256);
        getrandom(&mut destination[..length], GetRandomFlags::NONBLOCK).map_err(OsError::from)
    }

    /// The time since boot in milliseconds, without the time spent asleep. Coarse (about 4 ms) and cheap: no
    /// system call where the system has a vDSO; elsewhere it stands still after [`prepare`](crate::sandbox::prepare).
    #[must_use]
    pub fn now_ms() -> u64 {
        if let Some(stopped_ms) = system_calls::stopped_ms() {
            return stopped_ms;
        }
        clock_ns(libc::CLOCK_MONOTONIC_COARSE) / 1_000_000
    }

    /// The time this thread has spent on a CPU, in microseconds. A system call.
    #[must_use]
    pub fn thread_cpu_time_us() -> u64 {
        clock_ns(libc::CLOCK_THREAD_CPUTIME_ID) / 1000
    }

    /// How often a thread left its CPU.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ContextSwitches {
        /// To wait for something.
        pub voluntary: u64,
        /// Because another thread was to run.
        pub involuntary: u64,
    }

    /// How often this thread has left its CPU. A system call.
    #[must_use]
    pub fn context_switches() -> ContextSwitches {
        // SAFETY: all zeros is a `rusage`, and the pointer is to one.
        let usage = unsafe {
            let mut usage: libc::rusage = core::mem::zeroed();
            libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
            usage
        };
        ContextSwitches {
            voluntary: usage.ru_nvcsw as u64,
            involuntary: usage.ru_nivcsw as u64,
        }
    }

    /// The time since boot in nanoseconds, without the time spent asleep. No system call.
    #[must_use]
    #[inline]
    pub fn now_ns() -> u64 {
        clock_ns(libc::CLOCK_MONOTONIC)
    }

    /// The time since boot in nanoseconds, with the time spent asleep. No system call on most machines.
    #[must_use]
    #[inline]
    pub fn now_with_sleep_ns() -> u64 {
        clock_ns(libc::CLOCK_BOOTTIME)
    }

    /// The time since 1970 in nanoseconds. No system call on most machines.
    #[must_use]
    #[inline]
    pub fn wall_clock_ns() -> u64 {
        clock_ns(libc::CLOCK_REALTIME)
    }

    /// The time since 1970 in milliseconds, up to a tick of the kernel (1 to 10 ms) late. It takes a quarter of the time of the
    /// exact clock. No system call on most machines.
    #[must_use]
    #[inline]
    pub fn wall_clock_ms() -> u64 {
        clock_ns(libc::CLOCK_REALTIME_COARSE) / 1_000_000
    }

    /// Not inlined: each program has it once.
    #[inline(never)]
    fn clock_ns(clock: libc::clockid_t) -> u64 {
        #[cfg(all(target_pointer_width = "64", not(miri)))]
        let time = vdso::clock::time(clock);
        #[cfg(not(all(target_pointer_width = "64", not(miri))))]
        // SAFETY: the pointer is to a `timespec`, and all zeros is a valid one.
        let time = unsafe {
            let mut time: libc::timespec = core::mem::zeroed();
            libc::clock_gettime(clock, &raw mut time);
            time
        };
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }

    /// The CPU this thread ran on a moment ago. No system call on x86-64, one elsewhere; after
    /// [`prepare`](crate::sandbox::prepare) it is 0 there.
    #[must_use]
    pub fn current_cpu() -> usize {
        let asks_kernel = cfg!(not(target_arch = "x86_64")) || system_calls::stopped_ms().is_some();
        if (asks_kernel && system_calls::are_forbidden()) || cfg!(miri) {
            return 0;
        }
        #[cfg(all(target_pointer_width = "64", not(miri)))]
        let cpu = vdso::clock::current_cpu();
        #[cfg(not(all(target_pointer_width = "64", not(miri))))]
        let cpu = rustix::thread::sched_getcpu();
        cpu
    }

    /// Whether this process may make a file of `bytes`. Beyond its limit, `RLIMIT_FSIZE`, write(2) ends the process by a
    /// signal. A system call.
    #[must_use]
    pub fn may_write_file(bytes: u64) -> bool {
        limit(libc::RLIMIT_FSIZE as libc::c_long).is_none_or(|limit| bytes <= limit)
    }

    /// How many bytes this process may lock in memory, `RLIMIT_MEMLOCK`; `None` if there is no limit. A system call.
    pub(crate) fn locked_memory_limit() -> Option<u64> {
        if cfg!(miri) {
            return None;
        }
        limit(libc::RLIMIT_MEMLOCK as libc::c_long)
    }

    fn limit(of: libc::c_long) -> Option<u64> {
        // The present limit, and the highest that the process may set.
        let mut limits = [u64::MAX; 2];
        let none = core::ptr::null::<u64>();
        // SAFETY: the kernel writes two words there. If the call fails, there is no limit.
        let _ = raw_call(|| unsafe {
            let place = limits.as_mut_ptr();
            libc::syscall(libc::SYS_prlimit64, 0, of, none, place)
        });
        (limits[0] != u64::MAX).then_some(limits[0])
    }

    /// Lets other threads run for about a millisecond. After [`prepare`](crate::sandbox::prepare) it returns at once.
    pub fn pause() {
        if system_calls::are_forbidden() {
            return core::hint::spin_loop();
        }
        sleep_ns(1_000_000);
    }

    /// Sleeps for less than a second, or until a signal comes.
    pub fn sleep_ns(nanoseconds: u32) {
        let time = rustix::time::Timespec {
            tv_sec: 0,
            tv_nsec: i64::from(nanoseconds.min(999_999_999)),
        };
        // A sleep that a signal cut short is long enough.
        let _ = rustix::thread::nanosleep(&time);
    }

    /// The system's number of this process; 0 where a filter of system calls refuses it.
    #[must_use]
    pub fn process_number() -> u32 {
        if cfg!(miri) {
            return 1; // It knows no fork.
        }
        // SAFETY: getpid(2) takes nothing.
        let answer = raw_call(|| unsafe { libc::syscall(libc::SYS_getpid) });
        answer.map_or(0, |number| number as u32)
    }

    /// The number of CPUs where /sys does not say it.
    #[must_use]
    pub fn cpu_count() -> usize {
        1
    }

    /// Kills the process group of the process `leader`. Does nothing if it does not exist.
    pub fn kill_process_group(leader: u32) {
        let _ = signal_process_group(leader, libc::SIGKILL);
    }

    /// Whether a process of the group of `leader` exists.
    #[must_use]
    pub fn process_group_exists(leader: u32) -> bool {
        signal_process_group(leader, 0).is_ok()
    }

    fn signal_process_group(leader: u32, signal: libc::c_int) -> Result<(), OsError> {
        let Some(group @ 1..) = i32::try_from(leader).ok() else {
            return Err(OsError::new(libc::ESRCH));
        };
        // SAFETY: kill(2) takes two numbers.
        let answer = raw_call(|| unsafe {
            let group = -libc::c_long::from(group);
            libc::syscall(libc::SYS_kill, group, libc::c_long::from(signal))
        });
        answer.map(|_| ())
    }
}

pub mod shared_page {
    //! A page that others write: another process, through a file, or a hypervisor, through a device.

    use crate::os_error::OsError;
    use core::ffi::c_void;
    use core::ptr;
    use core::ptr::NonNull;
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
        pub(crate) unsafe fn take_the_place_of(
            self,
            place: *mut u8,
        ) -> Result<NonNull<u8>, OsError> {
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
}

pub(crate) mod signal_mask {
    //! The signals that a thread blocks: the kernel's mask, not libc's.

    use crate::os_error::raw_call;

    /// The signals, a bit for each.
    pub(crate) type Mask = u64;

    /// Blocks all signals of this thread. Returns the mask before.
    pub(crate) fn block_all() -> Mask {
        set_mask(u64::MAX)
    }

    /// Sets the mask of this thread.
    pub(crate) fn restore(mask: Mask) {
        set_mask(mask);
    }

    /// Whether no signal is blocked.
    pub(crate) fn is_empty(mask: Mask) -> bool {
        mask == 0
    }

    /// Blocks all signals of this thread until it ends: for a thread that the program did not start, and that
    /// must not run the program's handlers.
    ///
    /// Unlike `block_all`, by way of libc, which leaves out the signals that it keeps for itself: setuid(3) sends one to
    /// every thread and waits until each has answered.
    pub fn block_for_good() {
        // SAFETY: an empty set is a valid value, which sigfillset fills in.
        unsafe {
            let mut all = core::mem::zeroed();
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, core::ptr::null_mut());
        }
    }

    /// Replaces the thread's signal mask (the kernel's, 64 bits) and returns the old mask.
    fn set_mask(mask: u64) -> u64 {
        let mut before = 0u64;
        if cfg!(miri) {
            return before; // It knows no signals.
        }
        // SAFETY: both pointers are to 8 bytes, as the last argument says. Libc's own function would leave
        // out two signals that it keeps for itself, and their handlers could run here. A filter of system calls may refuse:
        // then handlers run, and errno must not tell.
        let _ = raw_call(|| unsafe {
            libc::syscall(
                libc::SYS_rt_sigprocmask,
                libc::SIG_SETMASK,
                &raw const mask,
                &raw mut before,
                size_of::<u64>(),
            )
        });
        before
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use crate::signals::SignalsBlocked;

        /// The signals that the thread blocks, as libc says.
        fn blocked() -> Vec<i32> {
            // SAFETY: an empty set is a valid value, and pthread_sigmask fills it in.
            unsafe {
                let mut set = core::mem::zeroed();
                libc::pthread_sigmask(libc::SIG_BLOCK, core::ptr::null(), &raw mut set);
                let is_blocked = |signal: &i32| libc::sigismember(&raw const set, *signal) == 1;
                (1..65).filter(is_blocked).collect()
            }
        }

        #[test]
        fn the_mask_is_as_before_afterwards() {
            let before = blocked();
            let outer = SignalsBlocked::new();
            assert!(blocked().len() > 50);
            drop(SignalsBlocked::new());
            assert!(blocked().len() > 50, "still blocked by the outer one");
            drop(outer);
            assert_eq!(blocked(), before);
        }

        #[test]
        fn a_thread_without_signals_still_answers_libc() {
            let blocked = std::thread::spawn(|| {
                block_for_good();
                let before = set_mask(0);
                set_mask(before);
                before
            });
            let mask = blocked.join().unwrap();
            let is_blocked = |signal: i32| mask >> (signal - 1) & 1 == 1;
            let stoppable = |signal: &i32| ![libc::SIGKILL, libc::SIGSTOP].contains(signal);
            let usual = (1..32).chain(libc::SIGRTMIN()..=libc::SIGRTMAX());
            assert!(usual.filter(stoppable).all(is_blocked), "{mask:x}");
            assert!(!is_blocked(33), "glibc's SIGSETXID, musl's SIGCANCEL");
        }
    }
}

pub mod waker {
    //! How a thread that sleeps is woken.

    use crate::os_error::raw_call;
    use rustix::io::{read, write};
    use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

    /// The reason why a sleep ended.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum WakeReason {
        /// The time was over, or a signal came.
        Timeout,
        /// Another thread called [`Waker::wake`].
        Woken,
        /// A descriptor has something to read, or is at its end.
        Descriptor,
    }

    /// Wakes one sleeping thread. An eventfd(2).
    ///
    /// A child process shares it with its parent and must not use it: the parent's thread would wake up.
    #[derive(Debug)]
    pub struct Waker(OwnedFd);

    impl Waker {
        /// A new waker; `None` if the system has no descriptor left.
        #[must_use]
        pub fn new() -> Option<Self> {
            let flags = libc::EFD_CLOEXEC | libc::EFD_NONBLOCK;
            // SAFETY: eventfd(2) takes two numbers.
            let descriptor = raw_call(|| unsafe { libc::syscall(libc::SYS_eventfd2, 0, flags) });
            // SAFETY: the descriptor is new, and nothing else owns it.
            let own = |descriptor| unsafe { OwnedFd::from_raw_fd(descriptor as RawFd) };
            descriptor.ok().map(own).map(Self)
        }

        /// Wakes the waiting thread, or the next thread to wait. Any number of calls wake it once.
        pub fn wake(&self) {
            // Fails only after 2^64 - 2 calls without a wait between them.
            let _ = write(&self.0, &1u64.to_ne_bytes());
        }

        /// Sleeps for at most `timeout_ms` milliseconds, until [`wake`](Self::wake) is called or one of `others` has
        /// something to read or is at its end.
        pub fn wait<'a>(
            &'a self,
            others: impl Iterator<Item = BorrowedFd<'a>>,
            timeout_ms: u64,
        ) -> WakeReason {
            let readable = |descriptor: BorrowedFd<'_>| libc::pollfd {
                fd: descriptor.as_raw_fd(),
                events: libc::POLLIN,
                revents: 0,
            };
            let mut polled: Vec<libc::pollfd> = std::iter::once(self.0.as_fd())
                .chain(others)
                .map(readable)
                .collect();
            // The longest that poll(2) takes: 24 days.
            let timeout_ms = libc::c_int::try_from(timeout_ms).unwrap_or(libc::c_int::MAX);
            let count = polled.len() as libc::nfds_t;
            let start = polled.as_mut_ptr();
            // SAFETY: the pointer is to that many structures, and their descriptors are open.
            match raw_call(|| unsafe { libc::poll(start, count, timeout_ms) }.into()) {
                Ok(1..) if polled[0].revents != 0 => {
                    let _ = read(&self.0, &mut [0; 8]);
                    WakeReason::Woken
                }
                Ok(1..) => WakeReason::Descriptor,
                Ok(_) | Err(_) => WakeReason::Timeout,
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use std::time::{Duration, Instant};

        #[test]
        fn a_wake_before_the_sleep_ends_one_sleep() {
            let waker = Waker::new().unwrap();
            waker.wake();
            waker.wake();
            assert_eq!(waker.wait(std::iter::empty(), 60_000), WakeReason::Woken);
            assert_eq!(waker.wait(std::iter::empty(), 1), WakeReason::Timeout);
        }

        #[test]
        fn a_sleeper_is_woken_by_another_thread_and_by_a_descriptor() {
            let (waker, other) = (Waker::new().unwrap(), Waker::new().unwrap());
            let start = Instant::now();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::sleep(Duration::from_millis(20));
                    waker.wake();
                });
                assert_eq!(
                    waker.wait([other.0.as_fd()].into_iter(), 60_000),
                    WakeReason::Woken
                );
            });
            assert!(start.elapsed() >= Duration::from_millis(20));
            other.wake();
            let woken = waker.wait([other.0.as_fd()].into_iter(), 60_000);
            assert_eq!(woken, WakeReason::Descriptor);
        }
    }
}
