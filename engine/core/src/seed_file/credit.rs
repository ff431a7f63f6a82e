//! The credit of a file's seed, on this machine and in this boot.
//!
//! A seed is credited once. So it is credited only if its writer was seeded, if it was written in
//! another boot, and if the file is the file that was written, not a copy.

use super::format::{Boot, FileId, SeedFile, UNKNOWN_BOOT, UNKNOWN_FILE};
use core::fmt;

/// The reason why a whole seed is mixed without credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Uncredited {
    /// Its writer was not seeded itself.
    Unseeded,
    /// It was written in this boot. A restart of the program needs no credit, since the generator of the operating
    /// system is seeded. And a machine restored twice from a snapshot would credit the seed twice.
    SameBoot,
    /// It has another identity than it was written under: the file was copied, or the machine was.
    Elsewhere,
    /// The file or the boot has no identity: a copy cannot be distinguished from its original, or one boot from
    /// another.
    Unplaced,
    /// Other users could read or replace it.
    Exposed,
    /// It could not be replaced, so the next start finds the same seed again.
    NotReplaced,
}

impl fmt::Display for Uncredited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Uncredited::Unseeded => "its writer was not seeded",
            Uncredited::SameBoot => "written in this boot",
            Uncredited::Elsewhere => "a copy, or from another machine",
            Uncredited::Unplaced => "its file or this boot has no identity",
            Uncredited::Exposed => "other users could read or replace it",
            Uncredited::NotReplaced => "it could not be replaced",
        })
    }
}

impl SeedFile {
    /// The credit of the seed, in bits: `file` is the file that it was read from, `boot` this boot.
    ///
    /// | what happened | written in | its identity | credit |
    /// |---|---|---|---|
    /// | a reboot, a crash, a loss of power | another boot | the same | its credit |
    /// | the writer had no seed | | | none |
    /// | a restart; a snapshot restored, once or twice | this boot | | none |
    /// | `cp`, `tar`, `rsync`, a backup put back | another boot | another file | none |
    /// | a disk image, cloned | another boot | another machine | none |
    /// | a container's layer | another boot | unknown | none |
    /// | a machine without an identity | another boot | unknown | none |
    ///
    /// No identity shows one case: a disk that is put back to an earlier state under the same machine.
    ///
    /// # Errors
    ///
    /// The reason why it gets no credit.
    pub fn judge(&self, file: &FileId, boot: &Boot) -> Result<u32, Uncredited> {
        if self.claimed_bits() == 0 {
            Err(Uncredited::Unseeded)
        } else if [*boot, self.boot].contains(&UNKNOWN_BOOT) {
            Err(Uncredited::Unplaced)
        } else if self.boot == *boot {
            Err(Uncredited::SameBoot)
        } else if [*file, self.file_id].contains(&UNKNOWN_FILE) {
            Err(Uncredited::Unplaced)
        } else if self.file_id != *file {
            Err(Uncredited::Elsewhere)
        } else {
            Ok(self.claimed_bits())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: FileId = [7; 32];
    const NOW: Boot = [8; 16];
    const BEFORE: Boot = [9; 16];

    fn file(credit_bits: u32) -> SeedFile {
        let mut file = SeedFile::successor(None, &[[1; 32]], credit_bits);
        (file.file_id, file.boot) = (HERE, BEFORE);
        file
    }

    #[test]
    fn a_seed_is_credited_in_another_boot_in_its_own_file_and_nowhere_else() {
        let mut file = file(256);
        assert_eq!(file.judge(&HERE, &NOW), Ok(256));
        assert_eq!(file.judge(&HERE, &BEFORE), Err(Uncredited::SameBoot));
        assert_eq!(file.judge(&[6; 32], &NOW), Err(Uncredited::Elsewhere));
        assert_eq!(file.judge(&UNKNOWN_FILE, &NOW), Err(Uncredited::Unplaced));
        assert_eq!(file.judge(&HERE, &UNKNOWN_BOOT), Err(Uncredited::Unplaced));
        file.file_id = UNKNOWN_FILE;
        assert_eq!(file.judge(&UNKNOWN_FILE, &NOW), Err(Uncredited::Unplaced));
        assert_eq!(self::file(0).judge(&HERE, &NOW), Err(Uncredited::Unseeded));
    }
}
