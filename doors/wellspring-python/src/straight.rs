//! Uniform floats that are made where they are wanted, without a copy.

use std::slice;
use wellspring_pseudo::{ElementError, Elements};

/// Arrays whose uniform numbers of the type `T` go straight into memory.
pub(crate) trait Straight<T> {
    /// Like [`Elements::uniform`], but the words go straight into `out`.
    fn uniform_straight(&self, first: u64, out: &mut [T]) -> Result<(), ElementError>;
}

impl Straight<f64> for Elements {
    fn uniform_straight(&self, first: u64, out: &mut [f64]) -> Result<(), ElementError> {
        // SAFETY: the same memory. Eight bytes are as long as an f64 and ask for no alignment, any bits are an f64,
        // and `out` is not used until the slice of bytes is gone.
        let out = unsafe { slice::from_raw_parts_mut(out.as_mut_ptr().cast(), out.len()) };
        self.uniform_f64_bytes(first, out)
    }
}

impl Straight<f32> for Elements {
    fn uniform_straight(&self, first: u64, out: &mut [f32]) -> Result<(), ElementError> {
        // SAFETY: as above, with four bytes.
        let out = unsafe { slice::from_raw_parts_mut(out.as_mut_ptr().cast(), out.len()) };
        self.uniform_f32_bytes(first, out)
    }
}
