//! A number. When it changes, every tap fetches a new key from its node.
//!
//! A reseed of the root, a clone, a resume and an operator's command all do one thing: they bump the
//! generation. A tap compares it with its own on every read, one load and one comparison, and takes a
//! fresh key from its node when they differ. There is no list of taps and no lock.
//!
//! # The protocol
//!
//! A bump comes *after* the new seed was made visible (in the mailbox of the node). A fetch of a key reads the
//! generation *before* it fetches. So a tap that carries generation g has a key that was
//! drawn after every seed announced by g; a bump during the fetch leaves the tap with the older number,
//! and it fetches again.

use crate::sync::{AtomicGeneration, GenerationNumber as Number, Ordering};

/// The generation that no engine ever has. A new tap has it, and so has a tap in a child process, where its memory was
/// wiped.
pub const NEVER: u64 = 0;

/// The number a new engine starts with, and the largest one.
const FIRST: Number = 1;
const LAST: Number = Number::MAX;

/// The generation of an engine.
///
/// It is in ordinary memory, which a `fork` copies: the child's taps, wiped to [`NEVER`], cannot match
/// the copy.
#[derive(Debug)]
pub struct Generation(AtomicGeneration);

impl Generation {
    /// The first generation.
    #[must_use]
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        Self(AtomicGeneration::new(FIRST))
    }

    /// The first generation: loom's atomics cannot be constants.
    #[must_use]
    #[cfg(loom)]
    pub fn new() -> Self {
        Self(AtomicGeneration::new(FIRST))
    }

    /// The number now. A fetch that starts after this load sees every seed that was posted before the bump.
    #[must_use]
    #[inline(always)]
    #[allow(
        clippy::useless_conversion,
        reason = "the number has 32 bits where no atomics of 64 bits exist"
    )]
    pub fn current(&self) -> u64 {
        self.0.load(Ordering::Acquire).into()
    }

    /// Adds one and returns the new number. Post the seed first, then call this.
    ///
    /// At a bump every nanosecond 64 bits last 584 years. On targets without 64-bit atomics 32 bits last 13 years at
    /// ten bumps a second, and then start again at 1, past [`NEVER`]. A tap would miss a bump only if exactly
    /// 2^32 - 1 bumps happened between two of its reads.
    #[allow(
        clippy::useless_conversion,
        reason = "the number has 32 bits where no atomics of 64 bits exist"
    )]
    #[inline]
    pub fn bump(&self) -> u64 {
        let next = |number| match number {
            LAST => FIRST,
            number => number + 1,
        };
        let moved = self
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, |number| {
                Some(next(number))
            });
        // The closure never refuses, so both arms are the number before.
        let (Ok(before) | Err(before)) = moved;
        next(before).into()
    }
}

impl Default for Generation {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    #[allow(
        clippy::useless_conversion,
        reason = "the number has 32 bits where no atomics of 64 bits exist"
    )]
    fn no_bump_ever_gives_the_number_of_wiped_memory() {
        let generation = Generation(AtomicGeneration::new(LAST - 1));
        assert_eq!(generation.bump(), u64::from(LAST));
        assert_ne!(generation.bump(), NEVER);
        assert_ne!(generation.current(), NEVER);
    }
}
