//! All systems but Linux. They share the modules here, and each has a folder with the same modules.
//!
//! ```text
//! unix          macOS and the BSDs; Linux too where tests say so
//! windows       Windows
//! os            the system's generator, clocks
//! waker         wakes a thread that sleeps
//! vdso          a stand-in: no generator without a system call
//! shared_page   a stand-in without pages
//! ```

pub mod os;
pub mod shared_page;
pub mod vdso;
pub mod waker;

#[cfg(unix)]
mod unix;
#[cfg(unix)]
use unix as native;

#[cfg(windows)]
mod windows;
#[cfg(windows)]
use windows as native;

#[cfg(unix)]
pub use native::users;
#[cfg(windows)]
pub use native::{descriptor, trusted_file};
pub(crate) use native::{exit_key, fork, futex, pages, signal_mask, threads};
