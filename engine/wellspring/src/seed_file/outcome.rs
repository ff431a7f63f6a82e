//! The results of reading a seed file, and the reasons why one was not written.

use core::fmt;
use std::path::PathBuf;
use wellspring_core::seed_file::{Damage, Uncredited};
use wellspring_os::trusted_file::FileFault;

/// The result of reading an engine's seed file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SeedFound {
    /// No file: as on a first start.
    Nothing,
    /// A seed, mixed in, with this credit in bits.
    Credited(u32),
    /// A seed, mixed in without credit.
    Mixed(Uncredited),
    /// Something that is no seed, or no longer one; mixed in without credit.
    Damaged(Damage),
    /// Something that was not read and stays as it is.
    Refused(SeedFileError),
}

impl SeedFound {
    /// Whether an operator should look at it.
    #[must_use]
    pub fn is_fault(self) -> bool {
        match self {
            SeedFound::Nothing | SeedFound::Credited(_) => false,
            SeedFound::Mixed(reason) => {
                matches!(reason, Uncredited::Exposed | Uncredited::NotReplaced)
            }
            SeedFound::Damaged(_) | SeedFound::Refused(_) => true,
        }
    }
}

impl fmt::Display for SeedFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SeedFound::Nothing => f.write_str("no file"),
            SeedFound::Credited(bits) => write!(f, "a seed, credited {bits} bits"),
            SeedFound::Mixed(reason) => write!(f, "a seed, not credited: {reason}"),
            SeedFound::Damaged(damage) => write!(f, "damaged: {damage}"),
            SeedFound::Refused(reason) => write!(f, "refused: {reason}"),
        }
    }
}

/// The reason why a seed file was not written or not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SeedFileError {
    /// The engine has no seed file.
    Absent,
    /// The engine is not seeded: it has no secret to keep.
    NotSeeded,
    /// A file of another kind is there. It stays as it is.
    NotASeedFile,
    /// The file cannot be believed or replaced: `System` with `ENOSPC` for a full disk, with `EROFS` for a read-only one.
    File(FileFault),
}

impl fmt::Display for SeedFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SeedFileError::Absent => f.write_str("the engine has no seed file"),
            SeedFileError::NotSeeded => f.write_str("the engine is not seeded"),
            SeedFileError::NotASeedFile => f.write_str("not a seed file; it stays as it is"),
            SeedFileError::File(fault) => fault.fmt(f),
        }
    }
}

impl core::error::Error for SeedFileError {}

impl From<FileFault> for SeedFileError {
    fn from(fault: FileFault) -> Self {
        Self::File(fault)
    }
}

/// The seed file of an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SeedFileStats {
    /// The path.
    pub path: PathBuf,
    /// The result of reading the file when the engine was built.
    pub found: SeedFound,
    /// Whether an unfinished file of a process that was killed was found and removed.
    pub removed_unfinished: bool,
    /// How often this engine has written it. The replacement at the start counts.
    pub writes: u64,
    /// The reason why the last attempt to write it failed, if it did.
    pub last_error: Option<SeedFileError>,
}
