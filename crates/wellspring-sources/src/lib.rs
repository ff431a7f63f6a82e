//! The sources of noise, one file each.
//!
//! | source | what it is | claim |
//! |---|---|---|
//! | [`Os`] | getrandom(2) | full: the kernel's generator, once seeded, is as good as its key |
//! | [`Cpu`] | RDSEED, else RDRAND, behind a self-test | none: nobody outside can assess it |
//!
//! Each keeps the contract of [`wellspring_core::source::Source`].

#![forbid(unsafe_code)]

mod clock;
mod cpu;
mod interrupts;
mod jitter;
mod os;
mod wakeups;

pub use cpu::Cpu;
pub use interrupts::Interrupts;
pub use jitter::Jitter;
pub use os::Os;
pub use wakeups::Wakeups;
