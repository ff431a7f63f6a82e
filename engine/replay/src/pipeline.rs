//! The interface that a replay drives: the engine's pipeline, or another implementation of the same design.

use crate::{ReplayError, hex};
use std::fmt;
use wellspring_core::{KEY_BYTES, Prf};

pub use wellspring_core::event::Event;

/// Pools and a generator without clock and sources: the engine's own, or another implementation of the same design.
///
/// # Errors
///
/// [`ReplayError::Refused`] from an implementation that cannot do what it is asked.
pub trait Pipeline {
    /// Starts from nothing: empty pools, no key, counter 0. `concurrent` chooses the read mode: concurrent or
    /// canonical.
    fn begin(&mut self, prf: Prf, concurrent: bool) -> Result<(), ReplayError>;

    /// Sets the generator's key and counter.
    fn force(&mut self, key: [u8; KEY_BYTES], counter: u128) -> Result<(), ReplayError>;

    /// Absorbs an event into its pool.
    fn absorb(&mut self, event: &Event) -> Result<(), ReplayError>;

    /// Reseeds if pool 0 holds 64 bytes, however soon after the last time.
    fn reseed_if_due(&mut self) -> Result<(), ReplayError>;

    /// One read of as many bytes as `bytes` takes, at most 1 GiB.
    fn read(&mut self, bytes: &mut [u8]) -> Result<(), ReplayError>;

    /// The state of the pools and the generator.
    fn state(&mut self) -> Result<State, ReplayError>;
}

/// The state of the pools and the generator. It shows the key: in a replay that is no secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// Reseeds so far.
    pub reseeds: u64,
    /// The length of pool 0 in bytes.
    pub first_pool_bytes: u64,
    /// The generator's counter C.
    pub counter: u128,
    /// The generator's key K: zeros if it was never seeded.
    pub key: [u8; KEY_BYTES],
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (reseeds, length) = (self.reseeds, self.first_pool_bytes);
        let counter = hex::encode(&self.counter.to_le_bytes());
        let key = match (reseeds, self.key == [0; KEY_BYTES]) {
            (0, true) => "none".into(),
            _ => hex::encode(&self.key),
        };
        write!(f, "reseeds={reseeds} len0={length} C={counter} K={key}")
    }
}
