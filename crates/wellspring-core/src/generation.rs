//! The one number that ties every tap to its parent.
//!
//! A reseed of the root, a clone, a resume and an operator's command all do one thing: they bump the
//! generation. A tap compares it with its own on every read, one load and one comparison, and takes a
//! fresh key from its node when they differ. There is no list of taps and no lock.
//!
//! # The protocol
//!
//! Whoever bumps has *first* made the new seed visible (in the mailbox of the node). Whoever fetches a
//! key reads the generation *before* the fetch. So a tap that carries generation g has a key that was
//! drawn after every seed announced by g; a bump during the fetch leaves the tap with the older number,
//! and it fetches again.

use crate::sync::{AtomicU64, Ordering};

/// The generation that no engine ever has: what a new tap carries, and what a tap reads in a child
/// process, where its memory was wiped.
pub const NEVER: u64 = 0;

/// The generation of an engine.
///
/// Lives in ordinary memory, which a `fork` copies: the child's taps, wiped to [`NEVER`], cannot match
/// the copy.
#[derive(Debug)]
pub struct Generation(AtomicU64);

impl Generation {
    /// The first generation.
    #[must_use]
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        Self(AtomicU64::new(NEVER + 1))
    }

    /// The first generation, where loom watches.
    #[must_use]
    #[cfg(loom)]
    pub fn new() -> Self {
        Self(AtomicU64::new(NEVER + 1))
    }

    /// The number now. A fetch that goes by it sees every seed announced by it.
    #[must_use]
    #[inline(always)]
    pub fn current(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// Moves on, after what the new generation announces was made visible; returns the new number.
    ///
    /// At a bump every nanosecond 64 bits last 584 years.
    pub fn bump(&self) -> u64 {
        self.0.fetch_add(1, Ordering::AcqRel) + 1
    }
}

impl Default for Generation {
    fn default() -> Self {
        Self::new()
    }
}
