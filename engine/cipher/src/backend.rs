//! An implementation of a function, as a table of data.

use crate::features::Features;
use crate::schedule::Schedule;
use crate::{KEY_BYTES, Prf};
use core::hash::{Hash, Hasher};
use core::{fmt, ptr};

/// An implementation of a [`Prf`]. [`Backend::ALL`] lists them.
#[derive(Clone, Copy)]
pub struct Backend(pub(crate) &'static Implementation);

/// The data of a backend. Each has a file of its own in the folder of its machine, with one static of this type.
///
/// No branch and no address depends on the key. The functions are `#[inline(never)]`: a wipe of the stack covers the frames
/// below its own. The vector registers hold neither key nor keystream after a call; the
/// stack may, and is wiped by the caller.
pub(crate) struct Implementation {
    /// In reports, `function-instructions`.
    pub(crate) name: &'static str,
    pub(crate) prf: Prf,
    /// These must be there for `expand` and `fill`.
    pub(crate) features: Features,
    pub(crate) expand: Expand,
    /// How much of the stack `expand` takes in optimised code.
    pub(crate) expand_stack_bytes: usize,
    pub(crate) fill: Fill,
    /// How much of the stack `fill` takes in optimised code; 0 if what it stores there is no secret.
    pub(crate) fill_stack_bytes: usize,
}

/// Sets up a key. Safe where the CPU has the features of the backend.
pub(crate) type Expand = unsafe fn(&[u8; KEY_BYTES]) -> Schedule;

/// Overwrites a destination with the blocks from a counter on: (schedule, rounds of ChaCha, counter, destination). The
/// low 32 bits of the counter do not wrap before the last block. AES-256 has 14 rounds and ignores the number.
///
/// Safe where the CPU has the features of the backend.
pub(crate) type Fill = unsafe fn(&Schedule, usize, u128, &mut [u8]);

impl Backend {
    /// The function this backend implements.
    #[must_use]
    pub const fn prf(self) -> Prf {
        self.0.prf
    }

    /// The name in reports, `function-instructions`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0.name
    }
}

impl PartialEq for Backend {
    fn eq(&self, other: &Self) -> bool {
        ptr::eq(self.0, other.0)
    }
}

impl Eq for Backend {}

impl Hash for Backend {
    fn hash<H: Hasher>(&self, state: &mut H) {
        ptr::hash(self.0, state);
    }
}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
