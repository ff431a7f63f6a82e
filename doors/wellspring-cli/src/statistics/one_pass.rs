//! All statistics of some bytes, in one pass.

use super::compression::Compression;
use super::counts::Counts;
use super::fips::Fips;
use super::monte_carlo_pi::MonteCarloPi;
use super::serial::Serial;

/// The statistics of the bytes so far.
#[derive(Default)]
pub(crate) struct Statistics {
    pub(super) counts: Counts,
    pub(super) fips: Fips,
    pub(super) serial: Serial,
    pub(super) monte_carlo_pi: MonteCarloPi,
    pub(super) compression: Compression,
}

impl Statistics {
    /// Adds the next bytes. It does not matter how the bytes are cut into pieces.
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.counts.update(bytes);
        self.fips.update(bytes);
        self.serial.update(bytes);
        self.monte_carlo_pi.update(bytes);
        self.compression.update(bytes);
    }

    /// How many bytes there were.
    pub(crate) fn bytes(&self) -> u64 {
        self.counts.bytes()
    }
}
