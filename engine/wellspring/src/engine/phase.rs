//! How far an engine is seeded.

use core::fmt;
use core::sync::atomic::{AtomicU32, Ordering};

/// How far an engine is seeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// No seed yet. Every read waits, or says [`Error::NotSeeded`](crate::Error::NotSeeded).
    Empty,
    /// Node 0 has a seed, and none had 128 bits of credit. Only [`Engine::fill_early`](crate::Engine::fill_early) reads,
    /// from node 0. An engine whose sources yield less than that at once gets here by its first `fill_early`.
    Early,
    /// One seed brought node 0 128 bits of credit or more, and every node has a seed of its own.
    Ready,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Phase::Empty => "empty",
            Phase::Early => "early",
            Phase::Ready => "ready",
        })
    }
}

/// The phase of an engine, in memory that a fork wipes: a child process begins as [`Phase::Empty`].
pub(super) struct PhaseWord(AtomicU32);

impl PhaseWord {
    #[allow(
        clippy::declare_interior_mutable_const,
        reason = "zeroed memory holds it; nothing reads the constant itself"
    )]
    pub(super) const ZERO: Self = Self(AtomicU32::new(Phase::Empty as u32));

    pub(super) fn get(&self) -> Phase {
        match self.0.load(Ordering::Acquire) {
            0 => Phase::Empty,
            1 => Phase::Early,
            _ => Phase::Ready,
        }
    }

    /// Announces a phase, after everything that it promises was done.
    pub(super) fn set(&self, phase: Phase) {
        self.0.store(phase as u32, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_come_back_as_they_were_set() {
        let word = PhaseWord::ZERO;
        assert_eq!(word.get(), Phase::Empty);
        for phase in [Phase::Early, Phase::Ready, Phase::Empty] {
            word.set(phase);
            assert_eq!(word.get(), phase);
        }
    }
}
