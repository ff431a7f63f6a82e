//! Reads on a thread that the caller has found: for the C library, which finds its thread sooner than
//! `thread_local!` does in a shared library.

use super::Engine;
use super::taps::{Bytes, Fill};
use crate::error::Error;
use wellspring_os::thread_state::CurrentThread;

#[doc(hidden)]
impl Engine {
    /// `N` bytes as [`fill`](Self::fill) gives them, in registers.
    #[must_use]
    #[inline(always)]
    pub fn bytes_on<const N: usize>(&self, thread: CurrentThread) -> [u8; N] {
        match self.parts.take_on(thread, Bytes) {
            Ok(bytes) => bytes,
            Err(miss) => self.parts.number_when_ready(miss),
        }
    }

    /// Like [`fill`](Self::fill).
    #[inline(always)]
    pub fn fill_on(&self, thread: CurrentThread, destination: &mut [u8]) {
        if let Err(miss) = self.parts.take_on(thread, Fill(&mut *destination)) {
            self.parts.read_when_ready(miss, destination);
        }
    }

    /// Like [`try_fill`](Self::try_fill).
    ///
    /// # Errors
    ///
    /// Like [`try_fill`](Self::try_fill).
    #[inline(always)]
    pub fn try_fill_on(&self, thread: CurrentThread, destination: &mut [u8]) -> Result<(), Error> {
        match self.parts.take_on(thread, Fill(&mut *destination)) {
            Ok(()) => Ok(()),
            Err(miss) => self.parts.read(miss, destination),
        }
    }
}
