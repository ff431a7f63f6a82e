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
