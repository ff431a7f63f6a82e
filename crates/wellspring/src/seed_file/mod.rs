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
//! outcome   what an engine found, and why a file was not written
//! file      a seed file as it lies on the disk
//! store     the seed file of an engine: read, replace, write again
//! ```

mod file;
mod identity;
mod outcome;
mod store;

pub use identity::Identity;
pub use outcome::{SeedFileError, SeedFileStats, SeedFound};
pub use wellspring_core::seed_file::{Damage, Uncredited};

pub(crate) use store::{SAVE_INTERVAL_MS, SeedStore};

use std::path::Path;
use wellspring_core::seed_file::{SeedFile, UNKNOWN_FILE};

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
