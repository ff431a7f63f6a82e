//! Sets of instruction sets that a CPU must have to run an implementation.

/// A set of up to seven instruction sets. Each machine's folder gives the bits their meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Features(pub(crate) u8);

impl Features {
    /// Every CPU has these.
    pub(crate) const NONE: Features = Features(0);

    /// The features of both.
    #[allow(
        dead_code,
        reason = "a machine without implementations of its own joins none"
    )]
    pub(crate) const fn and(self, other: Features) -> Features {
        Features(self.0 | other.0)
    }

    /// Whether every feature of `wanted` is in this set.
    pub(crate) const fn contain(self, wanted: Features) -> bool {
        self.0 & wanted.0 == wanted.0
    }
}
