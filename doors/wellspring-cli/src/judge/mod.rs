//! Statistics of bytes: what `ent` and `rngtest` measure, and estimates of SP 800-90B, in one pass.
//!
//! ```text
//! bytes --+-- counts        how often each byte value and each bit occurs
//!         +-- fips          FIPS 140-2: blocks of 20,000 bits
//!         +-- serial        neighbouring bytes and bits
//!         +-- circle        points in a circle, for pi
//!         +-- compression   distances between equal blocks of 6 bits
//!                |
//!                v
//!             verdict       values, what is expected of good data, and the probability of such values
//! ```
//!
//! The memory is a few KiB for any number of bytes. Bits are taken from the highest of each byte to the lowest.

mod circle;
mod compression;
mod counts;
mod fips;
mod serial;
mod verdict;

pub(crate) use fips::FipsFailures;
pub(crate) use verdict::{MIN_PROBABILITY, Test, Verdict};

use circle::Circle;
use compression::Compression;
use counts::Counts;
use fips::Fips;
use serial::Serial;

/// The statistics of the bytes so far.
#[derive(Default)]
pub(crate) struct Judge {
    counts: Counts,
    fips: Fips,
    serial: Serial,
    circle: Circle,
    compression: Compression,
}

impl Judge {
    /// Adds the next bytes. It does not matter how the bytes are cut into pieces.
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.counts.update(bytes);
        self.fips.update(bytes);
        self.serial.update(bytes);
        self.circle.update(bytes);
        self.compression.update(bytes);
    }

    /// How many bytes there were.
    pub(crate) fn bytes(&self) -> u64 {
        self.counts.bytes()
    }

    /// What the statistics say.
    pub(crate) fn verdict(&self) -> Verdict {
        verdict::of(self)
    }
}

#[cfg(test)]
mod tests;
