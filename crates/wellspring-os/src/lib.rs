//! The parts of Linux that wellspring uses, as safe functions and types. Linux 4.14 or later.
//!
//! ```text
//! zeroed        types for which memory full of zeros is a valid value
//! memory        pages that are locked, left out of core dumps, and wiped in a child process
//! signals       a stretch of code that no signal handler interrupts
//! lock          a lock that a child process never waits for
//! locked_memory how much secret memory may be swapped out
//! slots         8 KiB of such memory, identified by a serial number
//! thread        the data of one thread: its depth, its slots
//! thread_exit   releases slots when a thread ends or the library is unloaded
//! thread_state  a state per thread and nesting depth
//! owned         a state that a value owns
//! fork_stamp    a number that a fork changes
//! thread_words  four words per thread without a secret, which no child and no handler repeats
//! inheritance   a secret that fork(3) takes from a parent to its child
//! sandbox       reads without a system call
//! system_calls  whether this process may still make them
//! vdso          getrandom without a system call
//! shared_page   a page of a file that another process or a device writes
//! door_counters the bytes that programs drew through each door, on such a page
//! clone_words   words on such pages, whose sum changes when this machine was cloned
//! trusted_file  files that are trusted because root or this user owns them; replaced atomically
//! kernel_messages  the kernel's messages about devices
//! vsock         sockets between a virtual machine and its host
//! unix_socket   connections to Unix sockets that do not wait without end
//! kernel_module the seeds of the kernel module
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
//! A program may replace libc's `getrandom` or `open` by functions that use this library. A call through libc's
//! symbols, or through `std`'s collections, environment and files, could call this library again, without end. So rustix issues
//! the system calls itself.
//!
//! # Fork
//!
//! Every state is in memory that the kernel zeroes in a child (`MADV_WIPEONFORK`), for every kind of fork:
//! fork(3), a raw clone(2), a fork in a signal handler. So zeroed memory must be a valid state, one that was never
//! used. [`zeroed::Zeroed`] says so for a type; [`lock::Lock`] and [`thread_state::ThreadStates`] need it.
//!
//! # Miri
//!
//! Miri runs an engine that has a seed and no sources, so that programs with wellspring in them can be checked. It has no
//! fork, no signals, no vDSO and few system calls. Where a function would need one, `cfg!(miri)` says what it does instead.

#![deny(clippy::undocumented_unsafe_blocks)]

#[cfg(not(target_os = "linux"))]
compile_error!("wellspring runs on Linux; other operating systems are not supported");

#[cfg(all(target_os = "linux", not(target_has_atomic = "64")))]
compile_error!("wellspring needs a processor with 64-bit atomic operations");

/// On other systems the compiler prints only the two errors above. The name must be `cfg_if`, or rustfmt skips these
/// modules.
macro_rules! cfg_if {
    (if #[$condition:meta] { $($item:item)* }) => {
        $(#[$condition] $item)*
    };
}

cfg_if! {
    if #[cfg(all(target_os = "linux", target_has_atomic = "64"))] {
        pub mod clone_words;
        pub mod cpu;
        pub mod door_counters;
        mod fork_stamp;
        pub mod inheritance;
        pub mod kernel_messages;
        pub mod kernel_module;
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
        mod system_calls;
        pub mod thread_state;
        pub mod thread_words;
        pub mod trusted_file;
        pub mod unix_socket;
        pub mod vdso;
        pub mod vsock;
        pub mod waker;
        pub mod zeroed;
    }
}
