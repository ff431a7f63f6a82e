//! The reads of the modes other than the default one. A program that calls no [`EngineBuilder::mode`] is linked without
//! them.
//!
//! [`EngineBuilder::mode`]: crate::EngineBuilder::mode

use super::modes;
use super::parts::{OtherRead, Parts};
use super::phase::Phase;
use crate::error::Error;
use crate::mode::Mode;
use wellspring_os::signals::Blocked;

impl Parts {
    /// The function that reads in a mode. `None` for [`Mode::PerThread`], which every read has built in.
    pub(super) fn other_read(mode: Mode) -> Option<OtherRead> {
        match mode {
            Mode::Canonical => Some(Self::read_canonical),
            Mode::Concurrent => Some(Self::read_root),
            Mode::PerNode => Some(Self::read_local_node),
            Mode::PerThread => None,
        }
    }

    fn read_canonical(&self, destination: &mut [u8]) -> Result<(), Error> {
        let seed_engine = |need, signals: &Blocked| self.seed_engine(need, signals);
        modes::read_canonical(&self.nodes, Phase::Ready, &seed_engine, destination)
    }

    fn read_root(&self, destination: &mut [u8]) -> Result<(), Error> {
        let seed_engine = |need, signals: &Blocked| self.seed_engine(need, signals);
        modes::read_reserved(&self.nodes, 0, Phase::Ready, &seed_engine, destination)
    }
}
