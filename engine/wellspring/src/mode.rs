//! The four read modes.

use core::fmt;
use core::str::FromStr;

/// The way in which an engine serves reads.
///
/// No lock is held while the output of a read is made, except in `Canonical`, for at most 4096 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Mode {
    /// The root's lock is held while bytes are made, up to 4096 at a time, with a new key after each chunk:
    /// FS&K, and FreeBSD's random(4) with `concurrent_read=0`.
    Canonical,
    /// Under the root's lock the output is only reserved (copy K and C, step C, new K), and then made without the lock:
    /// random(4) with `concurrent_read=1`.
    Concurrent,
    /// Like `Concurrent`, on the generator of the reader's own NUMA node: Linux's per-node pools.
    PerNode,
    /// From the thread's tap. A node's lock is taken only to fetch a new tap key.
    #[default]
    PerThread,
}

impl Mode {
    /// All modes, from the slowest to the fastest.
    pub const ALL: [Mode; 4] = [
        Mode::Canonical,
        Mode::Concurrent,
        Mode::PerNode,
        Mode::PerThread,
    ];

    /// The name on the command line and in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Mode::Canonical => "canonical",
            Mode::Concurrent => "concurrent",
            Mode::PerNode => "per-node",
            Mode::PerThread => "per-thread",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text that names no mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownMode;

impl fmt::Display for UnknownMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected canonical, concurrent, per-node or per-thread")
    }
}

impl core::error::Error for UnknownMode {}

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = |mode: &Mode| mode.name() == text;
        Mode::ALL.into_iter().find(named).ok_or(UnknownMode)
    }
}
