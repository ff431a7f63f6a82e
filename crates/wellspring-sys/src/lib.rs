//! What wellspring needs of Linux, made safe to use. Linux 4.14 or later.
//!
//! ```text
//! memory    pages that are locked, left out of core dumps, and wiped in a child process
//! signals   a stretch of code that no signal handler interrupts
//! lock      a lock that a child process never waits for
//! slots     8 KiB of such memory for whoever asks, found again by a serial number
//! thread    what a thread knows: its depth, its slots
//! nest      a state per thread and nesting depth
//! owned     a state that someone owns
//! system    getrandom(2), clock, files, the CPU this thread runs on
//! vdso      getrandom without a system call
//! watched   words that another process or a hypervisor changes
//! once      a value made once for a process, without a lock
//! bell      how a thread that sleeps is woken
//! cpu       cycle counter, RDRAND, RDSEED
//! ```
//!
//! # Why raw system calls
//!
//! The library may stand behind an interposed `getrandom` or `open`. Whatever went through libc's symbols or
//! through `std`'s collections, environment and files could come back to us and recurse for ever; rustix
//! issues the system calls itself.
//!
//! # Fork
//!
//! Every state lives in memory that the kernel zeroes in a child (`MADV_WIPEONFORK`), whatever made the
//! child: fork(3), a raw clone(2), a fork in a signal handler. So all zeros must be a state, and the state of
//! something that was never used: that is what [`bytemuck::Zeroable`] says here, and what [`lock::Lock`] and
//! [`nest::Nest`] build on.

#![deny(clippy::undocumented_unsafe_blocks)]

pub mod bell;
pub mod cpu;
pub mod lock;
pub mod memory;
pub mod nest;
pub mod once;
mod owned;
pub mod signals;
mod slots;
pub mod system;
mod thread;
mod vdso;
pub mod watched;
