//! What wellspring needs of Linux, made safe to use. Linux 4.14 or later.
//!
//! ```text
//! zeroed        types of which zeroed memory is a value
//! memory        pages that are locked, left out of core dumps, and wiped in a child process
//! signals       a stretch of code that no signal handler interrupts
//! lock          a lock that a child process never waits for
//! locked_memory how much secret memory may be swapped out
//! slots         8 KiB of such memory, found again by a serial number
//! thread        what a thread knows: its depth, its slots
//! thread_exit   gives slots back when a thread ends or the library is unloaded
//! thread_state  a state per thread and nesting depth
//! owned         a state that a value owns
//! inheritance   a secret that fork(3) takes from a parent to its child
//! sandbox       reads without a system call
//! vdso          getrandom without a system call
//! shared_page   a page of a file that another process or a device writes
//! clone_epoch   whether this machine was cloned: words on such pages
//! trusted_file  files that are believed by their owner, and replaced at one instant
//! waker         wakes a thread that sleeps
//! once_box      a value made once for a process, without a lock
//! os            getrandom(2), clocks, small files, the CPU this thread runs on
//! os_error      the error for the operating system's numbers
//! cpu           cycle counter, RDRAND, RDSEED
//! stack         wipes what a call left on the stack
//! ```
//!
//! # Why raw system calls
//!
//! The library may stand behind an interposed `getrandom` or `open`. A call that goes through libc's symbols, or
//! through `std`'s collections, environment and files, could come back to us and recurse for ever. So rustix issues
//! the system calls itself.
//!
//! # Fork
//!
//! Every state lives in memory that the kernel zeroes in a child (`MADV_WIPEONFORK`), whatever made the child:
//! fork(3), a raw clone(2), a fork in a signal handler. So zeroed memory must be a state, and the state of something
//! that was never used: that is what [`zeroed::Zeroed`] says, and what [`lock::Lock`] and
//! [`thread_state::ThreadStates`] build on.

#![deny(clippy::undocumented_unsafe_blocks)]

#[cfg(not(target_os = "linux"))]
compile_error!("wellspring runs on Linux; other operating systems are not supported");

#[cfg(all(target_os = "linux", not(target_has_atomic = "64")))]
compile_error!("wellspring needs a processor with 64-bit atomic operations");

/// So that the sentences above are all that a compiler says elsewhere. Under this name rustfmt finds the modules in it.
macro_rules! cfg_if {
    (if #[$condition:meta] { $($item:item)* }) => {
        $(#[$condition] $item)*
    };
}

cfg_if! {
    if #[cfg(all(target_os = "linux", target_has_atomic = "64"))] {
        pub mod clone_epoch;
        pub mod cpu;
        pub mod inheritance;
        pub mod lock;
        pub mod locked_memory;
        pub mod memory;
        pub mod once_box;
        pub mod os;
        pub mod os_error;
        pub mod owned;
        pub mod sandbox;
        pub mod shared_page;
        pub mod signals;
        mod slots;
        pub mod stack;
        mod thread;
        mod thread_exit;
        pub mod thread_state;
        pub mod trusted_file;
        pub mod vdso;
        pub mod waker;
        pub mod zeroed;
    }
}
