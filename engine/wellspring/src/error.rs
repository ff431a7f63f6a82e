//! The one error of an engine.

use crate::seed_file::SeedFileError;
use core::fmt;
use wellspring_core::self_test::SelfTest;
use wellspring_os::memory::MemoryError;

/// The reason why a call of an engine failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Error {
    /// Fewer than 128 bits of noise are credited so far, and the call does not wait.
    NotSeeded,
    /// The system has no memory for it.
    Memory,
    /// More sources than the 16 that an engine takes.
    TooManySources,
    /// The system has no thread, or no descriptor, for a harvester.
    Thread,
    /// A source read the engine that draws on it: it would wait for itself.
    SourceReadsEngine,
    /// The seed file that the engine [requires](crate::EngineBuilder::require_seed_file) cannot be used.
    /// An error is `Copy` and holds no path: print the path that you named.
    SeedFile(SeedFileError),
    /// A self-test failed: this process computes wrong answers, and no byte of it is fit for use.
    SelfTest(SelfTest),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Error::NotSeeded => {
                "not seeded yet: the sources have yielded less than 128 bits of credited noise"
            }
            Error::Memory => "out of memory",
            Error::TooManySources => "more than 16 sources",
            Error::Thread => "no thread for a harvester (too many threads or open files)",
            Error::SourceReadsEngine => "a source reads the engine that draws on it",
            Error::SelfTest(test) => return write!(f, "a self-test failed: {test}"),
            Error::SeedFile(error) => return write!(f, "the seed file cannot be used: {error}"),
        })
    }
}

impl core::error::Error for Error {}

impl From<MemoryError> for Error {
    fn from(_: MemoryError) -> Self {
        Self::Memory
    }
}
