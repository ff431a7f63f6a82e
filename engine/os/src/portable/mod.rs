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

pub mod vdso {
    //! The stand-in for the vDSO of Linux: these systems have no generator that needs no system call.

    use crate::os_error::OsError;
    use core::marker::PhantomData;
    use core::ptr;

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
