//! The parts of an operating system that wellspring uses, as safe functions and types.
//!
//! ```text
//! wipe_at_fork  wipes the memory of a child where the kernel does not; registers handlers of fork(3)
//! memory        pages that are locked, left out of core dumps, and wiped in a child process; types for which memory full of
//!               zeros is a valid value; wipes a call's bytes from the stack
//! slots         8 KiB of such memory, identified by a serial number
//! thread        the data of one thread: its depth, its slots, its generation
//!   signals       a stretch of code that no signal handler interrupts
//!   lock          a lock that a child process never waits for
//! thread_exit   releases slots when a thread ends or the library is unloaded
//! thread_state  a state per thread and nesting depth, a state that a value owns, and how much secret memory may be swapped out
//! process       the marks of a process:
//!   fork_stamp    a number that a fork changes
//!   clone_words   words on pages of others, whose sum changes when this machine was cloned
//!   sandbox       reads without a system call
//!   thread_words  four words per thread without a secret, which no child and no handler repeats
//! fork          what fork(3) calls
//!   inheritance   a secret that fork(3) takes from a parent to its child
//! vdso          getrandom without a system call
//! shared_page   a page of a file that another process or a device writes
//! users         of this process, and users without a number
//! trusted_file  files that are trusted because root or this user owns them; replaced atomically
//! descriptor    files that are opened by raw system calls
//! waker         wakes a thread that sleeps
//! shared        a value with several owners, and a value made once for a process, without a lock
//! os            getrandom(2), clocks, small files, the CPU this thread runs on
//! os_error      the error for the operating system's numbers, why a file is not trusted, whether system calls are forbidden
//! cpu           cycle counter, the processor's random numbers, hexadecimal digits and texts of ASCII
//! ```
//!
//! # Systems
//!
//! All above is written once, on top of a module for each system: `linux` (3.17 or later), `portable/unix` (macOS, the
//! BSDs) and `portable/windows`. Each has the same modules, which keep this contract:
//!
//! - `pages`: `map` gives zeroed memory that is in no core dump where the system can leave it out, and returns whether the
//!   kernel zeroes it in a child. Pages that `lock` and `lock_when_touched` lock are not swapped out; else they return `false`.
//!   `renew` puts zeroed memory in the place of old memory, or returns `false`. `prefer_node` is a wish.
//! - `signal_mask`: between `block_all` and `restore` no signal handler runs on the thread.
//! - `futex`: `wait` returns after a while, also for no reason; `wake_one` may do nothing.
//! - `threads`: the `number` of a thread, or 0. `is_gone` is true only if it is certain. After `order_all` every thread sees
//!   earlier stores before later ones; else it returns `false`.
//! - `os`: `os_random` gives up to 256 bytes of the system's generator, once that is seeded, or an error. Clocks.
//! - `vdso`: the system's output without a system call, or none.
//! - `shared_page`, `trusted_file`, `descriptor`, `waker`: as on Linux; or types without a value, and
//!   [`OsError::UNSUPPORTED`](os_error::OsError::UNSUPPORTED).
//!
//! A function that a read calls neither allocates nor locks nor changes `errno`: it may run in a signal handler. Where
//! `exit_key::set` may allocate, `may_allocate` says so (`thread_exit.rs`).
//!
//! # Why raw system calls
//!
//! On Linux a program may replace libc's `getrandom` or `open` by functions that use this library. A call through libc's
//! symbols, or through `std`'s collections, environment and files, could call this library again, without end. So rustix issues
//! the system calls itself.
//!
//! # Fork
//!
//! Every state is in memory that a child finds zeroed. Linux (`MADV_WIPEONFORK`, from 4.14 on) and the BSDs
//! (`INHERIT_ZERO`) do so for every kind of fork: fork(3), a raw clone(2), a fork in a signal handler. Where the system has
//! no such memory (macOS, gVisor), a handler of fork(3) wipes it. So zeroed memory must be a valid, unused state.
//! [`memory::Zeroed`] says so for a type; [`lock::Lock`] and [`thread_state::ThreadStates`] need it.
//!
//! # Miri
//!
//! Miri runs an engine that has a seed and no sources, so that programs with wellspring in them can be checked. It has no
//! fork, no signals, no vDSO and few system calls. Where a function would need one, `cfg!(miri)` says what it does instead.

#![deny(clippy::undocumented_unsafe_blocks)]

#[cfg(target_family = "wasm")]
compile_error!(
    "on WebAssembly take wellspring-pseudo for numbers without secrecy, and getrandom for secrets"
);

#[cfg(not(any(
    target_os = "linux",
    target_os = "macos",
    target_os = "freebsd",
    target_os = "netbsd",
    windows,
    target_family = "wasm"
)))]
compile_error!("wellspring runs on Linux, macOS, FreeBSD, NetBSD and Windows");

#[cfg(not(target_has_atomic = "64"))]
compile_error!("wellspring needs a processor with 64-bit atomic operations");

/// Leaves the modules out after an error above, so that the compiler prints that error alone. The name must be `cfg_if`, or
/// rustfmt skips these modules.
macro_rules! cfg_if {
    (if #[$condition:meta] { $($item:item)* }) => {
        $(#[$condition] $item)*
    };
}

cfg_if! {
    if #[cfg(all(target_has_atomic = "64", any(unix, windows)))] {
        // The one place that chooses the system.
        #[cfg(all(target_os = "linux", not(wellspring_test_portable)))]
        mod linux;
        #[cfg(all(target_os = "linux", not(wellspring_test_portable)))]
        use linux as system;
        #[cfg(any(not(target_os = "linux"), wellspring_test_portable))]
        mod portable;
        #[cfg(any(not(target_os = "linux"), wellspring_test_portable))]
        use portable as system;

        pub mod cpu;
        #[cfg(unix)]
        pub mod descriptor;
        pub mod fork;
        pub mod memory;
        pub mod os_error;
        pub mod shared;
        mod process;
        mod slots;
        mod thread;
        mod thread_exit;
        pub mod thread_state;
        #[cfg(unix)]
        pub mod trusted_file;
        mod wipe_at_fork;

        pub use system::{os, shared_page, vdso, waker};
        #[cfg(windows)]
        pub use system::{descriptor, trusted_file};
        #[cfg(unix)]
        pub use system::users;

        pub use fork::inheritance;
        use os_error::system_calls;
        pub use process::{clone_words, fork_stamp, sandbox, thread_words};
        pub use thread::{lock, signals};
    }
}
