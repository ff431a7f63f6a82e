//! An implementation of the compression function, as a table of data.

use super::constants::BLOCK_BYTES;
use crate::features::Features;
use core::{fmt, ptr};

/// An implementation of the compression function. [`Compression::ALL`] lists them; all give the same digests.
#[derive(Clone, Copy)]
pub struct Compression(pub(crate) &'static Implementation);

/// The data of a compression function. Each has a file of its own in the folder of its machine, with one static of this type.
///
/// No branch and no address depends on the message.
pub(crate) struct Implementation {
    /// In reports, `function-instructions`.
    pub(crate) name: &'static str,
    /// These must be there for `compress`.
    pub(crate) features: Features,
    /// Compresses blocks into a state. Safe where the CPU has the features.
    pub(crate) compress: unsafe fn(&mut [u32; 8], &[[u8; BLOCK_BYTES]]),
    /// How much of the stack `compress`, and a copy of bytes, take in optimised code.
    pub(crate) stack_bytes: usize,
}

impl Compression {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0.name
    }
}

impl PartialEq for Compression {
    fn eq(&self, other: &Self) -> bool {
        ptr::eq(self.0, other.0)
    }
}

impl Eq for Compression {}

impl fmt::Debug for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
