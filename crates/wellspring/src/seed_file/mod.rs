//! The file that carries seeds over a reboot: what engines do with it, and what can be said about one.
//!
//! [`EngineBuilder::seed_file`](crate::EngineBuilder::seed_file) gives an engine one. While the engine is built, the
//! file is read, replaced by another, and only then mixed in: no content is ever used twice. It is written again every
//! ten minutes by an engine with a harvester, by [`Engine::save_seed`](crate::Engine::save_seed), and when the last
//! handle of the engine goes. The format and what a seed is worth, case by case: [`wellspring_core::seed_file`].
//!
//! Whatever a file holds is mixed in, credited or not; what is no seed file of ours (a link, a device, somebody
//! else's) is left alone. [`SeedFound`] says which it was. No engine fails for its seed file.
//!
//! ```text
//! place    what tells a file from its copies
//! folder   reading it safely, and replacing it at one instant
//! keeper   what an engine does with it
//! ```

mod folder;
mod keeper;
mod place;

pub use place::Identity;
pub use wellspring_core::seed_file::{Damage, Uncredited};

pub(crate) use keeper::{Keeper, SAVE_INTERVAL_MS};

use core::fmt;
use folder::Folder;
use rustix::io::Errno;
use std::path::{Path, PathBuf};
use wellspring_core::seed_file::{SeedFile, UNPLACED};

/// What an engine found where its seed file should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SeedFound {
    /// No file: as on a first start.
    Nothing,
    /// A seed, mixed in and credited with so many bits.
    Credited(u32),
    /// A seed, mixed in without credit.
    Mixed(Uncredited),
    /// Something that is no seed (any more), mixed in without credit.
    Damaged(Damage),
    /// Something that was not read, and is left as it is.
    Refused(SeedFileError),
}

impl SeedFound {
    /// Whether an operator should look after it.
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
    /// The engine is not seeded: it has nothing worth keeping.
    NotSeeded,
    /// A symbolic link: it is not followed.
    SymbolicLink,
    /// A folder, a device, a pipe.
    NotAFile,
    /// It belongs to another user.
    Owner,
    /// Another process has been writing it for more than a second.
    Busy,
    /// An error number of the system: `ENOSPC` for a full disk, `EROFS` for one that is read-only.
    System(i32),
}

impl fmt::Display for SeedFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SeedFileError::Absent => "the engine has none",
            SeedFileError::NotSeeded => "the engine is not seeded",
            SeedFileError::SymbolicLink => "a symbolic link",
            SeedFileError::NotAFile => "not a regular file",
            SeedFileError::Owner => "it belongs to another user",
            SeedFileError::Busy => "another process is writing it",
            SeedFileError::System(number) => {
                return write!(f, "{}", std::io::Error::from_raw_os_error(*number));
            }
        })
    }
}

impl core::error::Error for SeedFileError {}

impl From<Errno> for SeedFileError {
    fn from(error: Errno) -> Self {
        Self::System(error.raw_os_error())
    }
}

/// What became of an engine's seed file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SeedFileStats {
    /// Where it is.
    pub path: PathBuf,
    /// What was there when the engine was built.
    pub found: SeedFound,
    /// Whether the next file of someone who was killed while writing it was found, and removed.
    pub removed_unfinished: bool,
    /// How often this engine has written it.
    pub writes: u64,
    /// Why it was not written when it was last tried, if it was not.
    pub last_error: Option<SeedFileError>,
}

/// What a seed file says, without a secret. It is read, and stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The sections: one for each node of the engine that wrote it.
    pub sections: usize,
    /// How often the file has been written.
    pub counter: u64,
    /// What its writer was worth, in bits.
    pub claimed_bits: u32,
    /// Whether this boot wrote it.
    pub is_of_this_boot: bool,
    /// Whether it says where it was written: the machine and the file system tell copies apart.
    pub is_placed: bool,
    /// What an engine that is built now would find.
    pub found: SeedFound,
}

/// Says what is in a seed file.
///
/// # Errors
///
/// What an engine would find, where that is no seed.
pub fn inspect(path: &Path, identity: &Identity) -> Result<Report, SeedFound> {
    let found = Folder::open(path).and_then(|folder| folder.read(identity));
    let found = found
        .map_err(SeedFound::Refused)?
        .ok_or(SeedFound::Nothing)?;
    let file = SeedFile::parse(&found.bytes).map_err(SeedFound::Damaged)?;
    Ok(Report {
        sections: file.sections(),
        counter: file.counter,
        claimed_bits: file.claimed_bits(),
        is_of_this_boot: file.boot == identity.boot,
        is_placed: file.place != UNPLACED,
        found: match keeper::worth(&file, &found, identity) {
            Ok(bits) => SeedFound::Credited(bits),
            Err(reason) => SeedFound::Mixed(reason),
        },
    })
}
