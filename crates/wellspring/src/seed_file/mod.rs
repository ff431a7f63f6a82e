//! The file that carries seeds over a reboot: what engines do with it, and what can be said about one.
//!
//! [`EngineBuilder::seed_file`](crate::EngineBuilder::seed_file) gives an engine one. While the engine is built, the file
//! is read, replaced, and only then mixed in: no content is used twice. It is written again every ten minutes by an
//! engine with a harvester, by [`Engine::save_seed`](crate::Engine::save_seed), and when the last handle of the engine
//! goes. The format, and the credit of a seed case by case: [`wellspring_core::seed_file`].
//!
//! The content of a file is always mixed in, credited or not. A link, a device, or a file of another user is left alone.
//! [`SeedFound`] says what it was. No engine fails because of its seed file.
//!
//! ```text
//! identity  what tells a file from its copies
//! file      a seed file as it lies on the disk
//! store     the seed file of an engine: read, replace, write again
//! ```

mod file;
mod identity;
mod store;

pub use identity::Identity;
pub use wellspring_core::seed_file::{Damage, Uncredited};

pub(crate) use store::{SAVE_INTERVAL_MS, SeedStore};

use core::fmt;
use std::path::{Path, PathBuf};
use wellspring_core::seed_file::{SeedFile, UNKNOWN_FILE};
use wellspring_sys::trusted_file::FileFault;

/// What an engine found where its seed file should be.
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

/// Why a seed file was not written or not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SeedFileError {
    /// The engine has no seed file.
    Absent,
    /// The engine is not seeded: it has no secret to keep.
    NotSeeded,
    /// The file cannot be believed or replaced: `System` with `ENOSPC` for a full disk, with `EROFS` for a read-only one.
    File(FileFault),
}

impl fmt::Display for SeedFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SeedFileError::Absent => f.write_str("the engine has no seed file"),
            SeedFileError::NotSeeded => f.write_str("the engine is not seeded"),
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
    /// Where it is.
    pub path: PathBuf,
    /// What was there when the engine was built.
    pub found: SeedFound,
    /// Whether an unfinished file of a process that was killed was found and removed.
    pub removed_unfinished: bool,
    /// How often this engine has written it. The replacement at the start counts.
    pub writes: u64,
    /// Why the last attempt to write it failed, if it did.
    pub last_error: Option<SeedFileError>,
}

/// What a seed file says, without a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The sections: one for each node of the engine that wrote it.
    pub sections: usize,
    /// How often the file has been written.
    pub counter: u64,
    /// The credit that its writer claims, in bits.
    pub claimed_bits: u32,
    /// Whether this boot wrote it.
    pub is_of_this_boot: bool,
    /// Whether it can be told from its copies: the machine and the file system have an identity.
    pub has_file_id: bool,
    /// What an engine would find now.
    pub found: SeedFound,
}

/// Says what is in a seed file, which stays as it is.
///
/// # Errors
///
/// What an engine would find, where that is no seed.
pub fn inspect(path: &Path, identity: &Identity) -> Result<Report, SeedFound> {
    let found = file::read(path, identity);
    let found = found
        .map_err(SeedFound::Refused)?
        .ok_or(SeedFound::Nothing)?;
    let file = SeedFile::parse(&found.bytes).map_err(SeedFound::Damaged)?;
    Ok(Report {
        sections: file.sections(),
        counter: file.counter,
        claimed_bits: file.claimed_bits(),
        is_of_this_boot: file.boot == identity.boot,
        has_file_id: file.file_id != UNKNOWN_FILE,
        found: match found.credit(&file, identity) {
            Ok(bits) => SeedFound::Credited(bits),
            Err(reason) => SeedFound::Mixed(reason),
        },
    })
}
