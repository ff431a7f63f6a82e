//! A seed file on the disk.

use super::identity::Identity;
use super::outcome::SeedFileError;
use std::path::Path;
use wellspring_core::seed_file::{FileId, MAX_BYTES, SeedFile, Uncredited};
use wellspring_os::descriptor::AsFd;
use wellspring_os::trusted_file::{Access, Directory, FileFault};
use zeroize::Zeroizing;

/// A seed file as it was found, not judged yet.
pub(super) struct Found {
    pub(super) bytes: Zeroizing<Vec<u8>>,
    file_id: FileId,
    /// Other users could read it, or put another file in its place.
    is_exposed: bool,
}

/// Reads the file. `None` if it does not exist.
pub(super) fn read(path: &Path, identity: &Identity) -> Result<Option<Found>, SeedFileError> {
    let (directory, name) = Directory::of(path)?;
    let file = match directory.open_file(name, Access::Read) {
        Err(FileFault::System(error)) if error.is_not_found() => return Ok(None),
        file => file?,
    };
    // One byte more than a seed file can have shows that it is not a seed file.
    let mut bytes = Zeroizing::new(vec![0; MAX_BYTES + 1]);
    let length = file.read(&mut bytes)?;
    bytes.truncate(length);
    Ok(Some(Found {
        bytes,
        file_id: identity.file_id(file.as_fd()),
        is_exposed: !file.is_secret() || !directory.is_private()?,
    }))
}

impl Found {
    /// The credit of the seed where it was found, in bits.
    pub(super) fn credit(&self, file: &SeedFile, identity: &Identity) -> Result<u32, Uncredited> {
        match file.judge(&self.file_id, &identity.boot) {
            Ok(_) if self.is_exposed => Err(Uncredited::Exposed),
            credit => credit,
        }
    }
}
