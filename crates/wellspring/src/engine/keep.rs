//! The seed file in an engine's life.

use super::chore::Chore;
use super::{Phase, Shared};
use crate::seed_file::{SAVE_INTERVAL_MS, SeedFileError};
use wellspring_core::KEY_BYTES;
use wellspring_core::generator::Reservation;
use wellspring_core::pool::Seed;
use wellspring_core::seed_file::FULL_CREDIT_BITS;
use wellspring_sys::signals::Blocked;
use zeroize::Zeroizing;

/// How soon a save that failed is tried again, and how often an engine looks whether it has become worth saving.
const RETRY_MS: u64 = 10_000;

impl Shared {
    /// Has node 0 take a seed, after the one that is there for it already.
    pub(super) fn mix_into_root(&self, seed: &Seed) {
        let signals = Blocked::new();
        self.receive_root(&signals);
        let _ = self.nodes[0].inlet.post(seed);
        self.receive_root(&signals);
    }

    pub(super) fn save_seed(&self) -> Result<(), SeedFileError> {
        let keeper = self.seed_file.as_ref().ok_or(SeedFileError::Absent)?;
        // Other nodes exist for readers, and have something of their own, when the first is ready.
        let (nodes, credit_bits) = match self.phase() {
            Phase::Ready => (self.nodes.len(), FULL_CREDIT_BITS),
            Phase::Early => (1, 0),
            Phase::Empty => return Err(SeedFileError::NotSeeded),
        };
        let mut secrets = Zeroizing::new(vec![[0; KEY_BYTES]; nodes]);
        for (number, secret) in secrets.iter_mut().enumerate() {
            let signals = Blocked::new();
            let mut reservation = Reservation::default();
            self.reserve(number, secret.len(), &signals, &mut reservation)
                .map_err(|_| SeedFileError::NotSeeded)?;
            reservation.generate(self.backend, secret);
        }
        keeper.save(&secrets, credit_bits)
    }
}

impl Drop for Shared {
    /// The orderly end of an engine writes its seed file, if it has one and this is not a child's copy.
    fn drop(&mut self) {
        if self
            .seed_file
            .as_ref()
            .is_some_and(|keeper| keeper.is_ours())
        {
            // There is nobody left to tell; the file that stands was never used.
            let _ = self.save_seed();
        }
    }
}

/// Writes the seed file every ten minutes; and as soon as it is worth something, where it was not.
#[derive(Default)]
pub(super) struct Save {
    next_ms: Option<u64>,
}

impl Chore for Save {
    fn run(&mut self, engine: &Shared, now_ms: u64) -> u64 {
        let Some(keeper) = &engine.seed_file else {
            return u64::MAX;
        };
        // The file was written a moment ago, when the engine was built.
        let next_ms = *self.next_ms.get_or_insert(now_ms + SAVE_INTERVAL_MS);
        let first = engine.phase() == Phase::Ready && !keeper.is_worth_something();
        if first || now_ms >= next_ms {
            let pause_ms = match engine.save_seed() {
                Ok(()) => SAVE_INTERVAL_MS,
                Err(_) => RETRY_MS,
            };
            self.next_ms = Some(now_ms + pause_ms);
            return now_ms + pause_ms;
        }
        match keeper.is_worth_something() {
            true => next_ms,
            false => next_ms.min(now_ms + RETRY_MS),
        }
    }
}
