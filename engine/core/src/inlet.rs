//! The part of a node that the owner of the pools uses: the mailbox for its seeds, and its remaining credit.

use crate::mailbox::Mailbox;
use crate::seed::Seed;
use crate::sync::{AtomicU32, Ordering};

/// The credit of a full node in bits: the capacity of Linux's nonblocking pool.
pub const CAPACITY_BITS: u32 = 1024;

/// A node's mailbox and the credit that is left of what went through it.
///
/// The credit decides which node is served next, and nothing else: Fortuna does not count its output. All zeros
/// is the inlet of a node that never got a seed.
#[derive(Debug)]
#[repr(C)]
pub struct Inlet {
    mailbox: Mailbox,
    credit_bits: AtomicU32,
    _reserved: AtomicU32,
}

impl Inlet {
    /// The value of zeroed memory: an empty mailbox and no credit.
    #[cfg(not(loom))]
    #[allow(
        clippy::declare_interior_mutable_const,
        reason = "a value to begin with: each use is a new inlet"
    )]
    pub const ZERO: Self = Self {
        mailbox: Mailbox::ZERO,
        credit_bits: AtomicU32::new(0),
        _reserved: AtomicU32::new(0),
    };

    /// The credit left, in bits, at most [`CAPACITY_BITS`].
    #[must_use]
    #[inline]
    pub fn credit_bits(&self) -> u32 {
        self.credit_bits.load(Ordering::Relaxed)
    }

    /// Whether the node has taken the last posted seed.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.mailbox.is_empty()
    }

    /// Counts `bytes` that a reader drew from the node.
    #[inline]
    pub fn spend(&self, bytes: usize) {
        let bits = u32::try_from(bytes.saturating_mul(8)).unwrap_or(u32::MAX);
        self.update(|credit| credit.saturating_sub(bits));
    }

    /// Posts a copy of a seed and counts its credit. Returns whether there was room, like [`Mailbox::post`].
    #[must_use]
    #[inline(never)]
    pub fn post(&self, seed: &Seed) -> bool {
        let posted = self.mailbox.post(seed);
        if posted {
            let bits = seed.credit_bits();
            self.update(|credit| credit.saturating_add(bits).min(CAPACITY_BITS));
        }
        posted
    }

    /// Moves the posted seed to `seed`, like [`Mailbox::take_into`].
    #[must_use]
    pub(crate) fn take_into(&self, seed: &mut Seed) -> bool {
        self.mailbox.take_into(seed)
    }

    fn update(&self, change: impl Fn(u32) -> u32) {
        let relaxed = Ordering::Relaxed;
        let _ = self
            .credit_bits
            .fetch_update(relaxed, relaxed, |credit| Some(change(credit)));
    }
}
