//! The file that carries seeds over a reboot: how engines use it, and how to show one without its secrets.
//!
//! [`EngineBuilder::seed_file`](crate::EngineBuilder::seed_file) gives an engine one. While the engine is built, the file
//! is read, replaced, and only then mixed in: no content is used twice. It is written again every ten minutes by an
//! engine with a harvester, by [`Engine::save_seed`](crate::Engine::save_seed), and when the last handle of the engine
//! is dropped, if the engine has reseeded since the last write of its own output. The format, and the credit of a seed
//! case by case: [`wellspring_core::seed_file`].
//!
//! The content of a file is mixed in, credited or not, unless the file is refused. A link, a device, a file of another
//! user, and a file that does not begin as a seed file does, are refused and not changed. [`SeedFound`] is the result. An
//! engine fails because of its seed file only if it
//! [requires](crate::EngineBuilder::require_seed_file) it.
//!
//! ```text
//! identity  the identity of a file: a copy has another one
//! outcome   the result of reading a file, and the reason why a file was not written
//! file      a seed file on the disk
//! store     the seed file of an engine: read, replace, write again
//! ```

mod file;
mod identity;
mod outcome;
mod store;

pub use identity::Identity;
pub use outcome::{SeedFileError, SeedFileStats, SeedFound};
pub use wellspring_core::seed_file::{Damage, Uncredited};

pub(crate) use store::SAVE_INTERVAL_MS;
#[doc(hidden)]
pub use store::SeedStore;

use std::path::Path;
use wellspring_core::seed_file::{SeedFile, UNKNOWN_FILE};

/// The content of a seed file, without its secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The sections: one for each node of the engine that wrote it.
    pub sections: usize,
    /// How often the file has been written. An engine writes it at least twice: before its first use, and at its end.
    pub counter: u64,
    /// The credit that its writer claims, in bits.
    pub claimed_bits: u32,
    /// Whether this boot wrote it.
    pub is_of_this_boot: bool,
    /// Whether the file differs from its copies: the machine and the file system have an identity.
    pub has_file_id: bool,
    /// The result that an engine would get now.
    pub found: SeedFound,
}

/// Returns the content of a seed file, without its secrets. Does not change the file.
///
/// # Errors
///
/// [`SeedFound::Nothing`] if there is no file, [`SeedFound::Refused`] or [`SeedFound::Damaged`].
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
