//! All systems but Linux. They share the modules here, and each has a file with the same modules.
//!
//! ```text
//! unix          macOS and the BSDs; Linux too where tests say so
//! windows       Windows
//! os            the system's generator, clocks
//! waker         wakes a thread that sleeps
//! vdso          a stand-in: no generator without a system call
//! shared_page   a stand-in without pages
//! ```

#[cfg(unix)]
mod unix;
#[cfg(unix)]
use unix as native;

#[cfg(windows)]
mod windows;
#[cfg(windows)]
use windows as native;

#[cfg(windows)]
pub(crate) use native::exit_key;
#[cfg(unix)]
pub use native::users;
#[cfg(windows)]
pub use native::{descriptor, trusted_file};
pub(crate) use native::{futex, pages, signal_mask, threads};

pub mod vdso {
    //! The stand-in for the vDSO of Linux: these systems have no generator that needs no system call.

    use crate::os_error::OsError;
    use core::marker::PhantomData;
    use core::ptr;

    /// There is no image that could change.
    pub fn forget_if_changed() {}

    /// The distance between states.
    pub(crate) fn stride_bytes() -> usize {
        0
    }

    /// No states.
    pub(crate) struct States;

    impl States {
        /// The state of that number: null.
        pub(crate) fn get(&self, _: usize) -> *mut u8 {
            ptr::null_mut()
        }

        /// Gives back states that were never used.
        pub(crate) fn unmap(self) {}
    }

    /// Maps `count` states.
    pub(crate) fn map_states(_: usize) -> Result<States, OsError> {
        Ok(States)
    }

    /// Output of the operating system without a system call.
    pub struct VdsoRandom<'a>(PhantomData<&'a mut ()>);

    impl VdsoRandom<'_> {
        pub(crate) fn new(_: *mut u8) -> Self {
            Self(PhantomData)
        }

        /// Fills `destination`, if the system can do it without a system call. Returns whether it did.
        pub fn fill(&mut self, _: &mut [u8]) -> bool {
            false
        }
    }

    /// Whether the system has a function that reads the coarse clocks without a system call.
    pub(crate) fn has_clock() -> bool {
        false
    }
}

pub mod os {
    //! The system's generator, clocks, and the number of this process.

    use super::native::{clock, random};
    use crate::os_error::OsError;
    use crate::system_calls;
    use std::time::{Duration, SystemTime};

    #[cfg(unix)]
    pub(crate) use super::native::limits::locked_memory_limit;
    #[cfg(unix)]
    pub use super::native::limits::may_write_file;
    #[cfg(unix)]
    pub use super::native::process_groups::{kill_process_group, process_group_exists};
    pub use crate::descriptor::{Descriptor, open_device, read_file};

    /// Fills up to 256 bytes from the system's generator.
    ///
    /// # Errors
    ///
    /// The system's error; [`OsError::UNSUPPORTED`] after [`prepare`](crate::sandbox::prepare).
    pub fn os_random(destination: &mut [u8]) -> Result<usize, OsError> {
        if system_calls::are_forbidden() {
            return Err(OsError::UNSUPPORTED);
        }
        let length = destination.len().min(256);
        random::fill(&mut destination[..length])?;
        Ok(length)
    }

    /// The time since boot in milliseconds, without the time spent asleep where the system can tell. It stands still after
    /// [`prepare`](crate::sandbox::prepare).
    #[must_use]
    pub fn now_ms() -> u64 {
        system_calls::stopped_ms().unwrap_or_else(|| now_ns() / 1_000_000)
    }

    /// The time this thread has spent on a CPU, in microseconds.
    #[must_use]
    pub fn thread_cpu_time_us() -> u64 {
        clock::of_thread_ns() / 1000
    }

    /// How often a thread left its CPU.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ContextSwitches {
        /// To wait for something.
        pub voluntary: u64,
        /// Because another thread was to run.
        pub involuntary: u64,
    }

    /// How often this thread has left its CPU: not counted here, always 0.
    #[must_use]
    pub fn context_switches() -> ContextSwitches {
        ContextSwitches {
            voluntary: 0,
            involuntary: 0,
        }
    }

    /// The time since boot in nanoseconds, without the time spent asleep where the system can tell.
    #[must_use]
    pub fn now_ns() -> u64 {
        clock::awake_ns()
    }

    /// The time since boot in nanoseconds, with the time spent asleep where the system can tell.
    #[must_use]
    pub fn now_with_sleep_ns() -> u64 {
        clock::with_sleep_ns()
    }

    /// The time since 1970 in nanoseconds.
    #[must_use]
    pub fn wall_clock_ns() -> u64 {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        now.map_or(0, |now| now.as_nanos() as u64)
    }

    /// The time since 1970 in milliseconds.
    #[must_use]
    pub fn wall_clock_ms() -> u64 {
        wall_clock_ns() / 1_000_000
    }

    /// The CPU this thread runs on: always 0, as a machine has one node on these systems.
    #[must_use]
    pub fn current_cpu() -> usize {
        0
    }

    /// The number of CPUs.
    #[must_use]
    pub fn cpu_count() -> usize {
        std::thread::available_parallelism().map_or(1, usize::from)
    }

    /// Lets other threads run for about a millisecond. After [`prepare`](crate::sandbox::prepare) it returns at once.
    pub fn pause() {
        if system_calls::are_forbidden() {
            return core::hint::spin_loop();
        }
        sleep_ns(1_000_000);
    }

    /// Sleeps for less than a second.
    pub fn sleep_ns(nanoseconds: u32) {
        std::thread::sleep(Duration::from_nanos(nanoseconds.min(999_999_999).into()));
    }

    /// The system's number of this process.
    #[must_use]
    pub fn process_number() -> u32 {
        std::process::id()
    }

    /// `None`: Windows locks what it can.
    #[cfg(windows)]
    pub(crate) fn locked_memory_limit() -> Option<u64> {
        None
    }
}

pub mod shared_page {
    //! The stand-in for pages that another process or a device writes: no value of these types exists.

    use crate::os_error::OsError;
    use core::convert::Infallible;
    use core::ptr::NonNull;
    use core::sync::atomic::AtomicU64;

    /// The size of a page that does not exist: tests on Linux build code that uses it.
    #[cfg(all(test, target_os = "linux"))]
    pub(crate) const PAGE_BYTES: usize = 4096;

    /// The first page of a file, shared with all processes that map it.
    #[derive(Debug)]
    pub struct SharedPage(Infallible);

    impl SharedPage {
        /// Maps the page, to be read.
        ///
        /// # Errors
        ///
        /// [`OsError::UNSUPPORTED`].
        pub fn map<F>(_: F) -> Result<Self, OsError> {
            Err(OsError::UNSUPPORTED)
        }

        /// Maps the page, to be read and written.
        ///
        /// # Errors
        ///
        /// [`OsError::UNSUPPORTED`].
        pub fn map_to_write<F>(_: F) -> Result<SharedPageMut, OsError> {
            Err(OsError::UNSUPPORTED)
        }

        /// The word at an offset.
        #[must_use]
        pub fn word(&self, _: usize) -> u64 {
            match self.0 {}
        }

        pub(crate) fn into_raw(self) -> NonNull<u8> {
            match self.0 {}
        }

        /// # Safety
        ///
        /// `start` is from [`into_raw`](Self::into_raw), which never returns.
        pub(crate) unsafe fn from_raw(_: NonNull<u8>) -> Self {
            unreachable!("no page was mapped")
        }

        /// # Safety
        ///
        /// None.
        pub(crate) unsafe fn take_the_place_of(self, _: *mut u8) -> Result<NonNull<u8>, OsError> {
            match self.0 {}
        }

        pub(crate) fn has_word(_: usize) -> bool {
            true
        }

        pub(crate) fn address(&self, _: usize) -> *mut AtomicU64 {
            match self.0 {}
        }
    }

    /// A [`SharedPage`] that is ours to write.
    #[derive(Debug)]
    pub struct SharedPageMut(Infallible);

    impl SharedPageMut {
        /// The word at an offset.
        #[must_use]
        pub fn word(&self, _: usize) -> u64 {
            match self.0 {}
        }

        /// Stores a word.
        pub fn store(&self, _: usize, _: u64) {
            match self.0 {}
        }

        /// Adds to a word. Returns the sum.
        pub fn add(&self, _: usize, _: u64) -> u64 {
            match self.0 {}
        }

        /// Wakes every thread that waits for a change of the word.
        pub fn wake_waiters(&self, _: usize) {
            match self.0 {}
        }
    }
}

pub mod waker {
    //! How a thread that sleeps is woken.

    use std::sync::{Condvar, Mutex, PoisonError};
    use std::time::{Duration, Instant};

    /// The reason why a sleep ended.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum WakeReason {
        /// The time was over.
        Timeout,
        /// Another thread called [`Waker::wake`].
        Woken,
        /// A descriptor has something to read. Not on this system, which has no descriptor that reports a clone.
        Descriptor,
    }

    /// Wakes one sleeping thread.
    #[derive(Debug)]
    pub struct Waker {
        is_woken: Mutex<bool>,
        changed: Condvar,
    }

    impl Waker {
        /// A new waker.
        #[must_use]
        #[allow(clippy::unnecessary_wraps)] // Linux may have no descriptor left.
        pub fn new() -> Option<Self> {
            Some(Self {
                is_woken: Mutex::new(false),
                changed: Condvar::new(),
            })
        }

        /// Wakes the waiting thread, or the next thread to wait. Any number of calls wake it once.
        pub fn wake(&self) {
            *self.is_woken.lock().unwrap_or_else(PoisonError::into_inner) = true;
            self.changed.notify_one();
        }

        /// Sleeps for at most `timeout_ms` milliseconds, until [`wake`](Self::wake) is called.
        pub fn wait<T>(&self, _: impl Iterator<Item = T>, timeout_ms: u64) -> WakeReason {
            let end = Instant::now().checked_add(Duration::from_millis(timeout_ms));
            let mut is_woken = self.is_woken.lock().unwrap_or_else(PoisonError::into_inner);
            while !core::mem::take(&mut *is_woken) {
                // Without an end: the longest that Linux waits, 24 days.
                let left = end.map_or(Duration::from_millis(1 << 31), |end| {
                    end.saturating_duration_since(Instant::now())
                });
                if left.is_zero() {
                    return WakeReason::Timeout;
                }
                let woken = self.changed.wait_timeout(is_woken, left);
                is_woken = woken.unwrap_or_else(PoisonError::into_inner).0;
            }
            WakeReason::Woken
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_wake_before_the_sleep_ends_one_sleep() {
            let waker = Waker::new().unwrap();
            waker.wake();
            waker.wake();
            let none = std::iter::empty::<()>;
            assert_eq!(waker.wait(none(), 60_000), WakeReason::Woken);
            assert_eq!(waker.wait(none(), 1), WakeReason::Timeout);
        }

        #[test]
        fn a_sleeper_is_woken_by_another_thread() {
            let waker = Waker::new().unwrap();
            std::thread::scope(|scope| {
                scope.spawn(|| waker.wake());
                let woken = waker.wait(std::iter::empty::<()>(), 60_000);
                assert_eq!(woken, WakeReason::Woken);
            });
        }
    }
}
