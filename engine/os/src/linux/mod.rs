//! Linux 3.17 or later: the first one with getrandom(2). Before 4.14 no kernel wipes a child, and `wipe_at_fork` does.
//!
//! ```text
//! pages         memory that a child finds wiped
//! signal_mask   the signals that a thread blocks
//! futex         sleep until a word changes
//! threads       their numbers; whether one is gone
//! exit_key      calls a function when a thread ends
//! load          calls a function when the library is loaded, and another one when it is unloaded
//! fork          calls functions before and after fork(3)
//! users         of this process, and those without a number
//! decimal       numbers in the files of the system
//! vdso          getrandom and clocks without a system call
//! os            getrandom(2), clocks, the CPU this thread runs on
//! shared_page   a page of a file that another process or a device writes
//! waker         wakes a thread that sleeps
//! ```

pub mod os;
pub(crate) mod pages;
pub mod shared_page;
pub(crate) mod signal_mask;
pub mod vdso;
pub mod waker;

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

    /// Where libc keeps the number of the last error of this thread.
    pub(crate) fn errno() -> *mut i32 {
        // SAFETY: it has no precondition.
        unsafe { libc::__errno_location() }
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

mod load {
    //! Runs [`load`](crate::fork_handlers::load) when the library is loaded, and [`unload`](crate::thread_exit::unload) when it
    //! is unloaded, or the process ends.

    use crate::fork_handlers::load;
    use crate::thread_exit::unload;

    #[used]
    #[cfg_attr(not(miri), unsafe(link_section = ".init_array"))]
    static LOAD: extern "C" fn() = load;

    #[used]
    #[cfg_attr(not(miri), unsafe(link_section = ".fini_array"))]
    static UNLOAD: extern "C" fn() = unload;
}

pub(crate) mod fork {
    //! Functions that run before and after fork(3).

    /// From now on fork(3) calls the first function in the parent before, the second in the parent after, and the third in
    /// the child. Returns `false` if libc has no memory for that.
    pub(crate) fn at_fork(
        before: extern "C" fn(),
        in_parent: extern "C" fn(),
        in_child: extern "C" fn(),
    ) -> bool {
        // SAFETY: the three functions may be called by any thread that forks. Unloading this library removes them.
        unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) == 0 }
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
